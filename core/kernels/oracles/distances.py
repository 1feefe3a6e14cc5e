"""Distances of one data set, each pair measured when it is asked for."""

from __future__ import annotations

import math

from core.kernels.fragments.distances import Data
from core.kernels.fragments.trajectory_tree import EDR, LSTD
from core.kernels.oracles import edr, matching

__all__ = ["euclidean", "measure"]


def measure(data: Data, one: int, other: int) -> int:
    """Measure a pair by the definition of its distance, whole units."""
    kind, starts, path, t_ms, xy_m, tolerance, speed, space_m, *_ = data
    if kind == LSTD:
        return matching.lstd(starts, path, one, other, tolerance, speed)
    its, theirs = slice(*starts[one : one + 2]), slice(*starts[other : other + 2])
    if kind == EDR:
        matches = edr.matches(t_ms[its], xy_m[its], t_ms[theirs], xy_m[theirs], space_m, int(tolerance))
        return edr.edits(matches) * 1_000_000 // int(max(matches.shape))
    return euclidean(xy_m[its].tolist(), xy_m[theirs].tolist())


def euclidean(its: list[list[float]], theirs: list[list[float]]) -> int:
    """Measure the mean distance at common times, whole millimetres."""
    away_m = [math.sqrt((u - x) ** 2 + (v - y) ** 2) for (x, y), (u, v) in zip(its, theirs, strict=True)]
    return round(1000.0 * (sum(away_m) / len(away_m)))
