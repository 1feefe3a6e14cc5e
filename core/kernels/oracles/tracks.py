"""Oracle of :mod:`core.kernels.fragments.tracks`: the same in numpy and sorted lists."""

from __future__ import annotations

import itertools

import numpy as np

from core.kernels.fragments.tracks import TrackData
from core.records.arrays import FloatArray, IntArray

__all__ = ["distances_mm", "nearest_places", "place"]


def place(t_ms: IntArray, xy_m: FloatArray, starts: IntArray, at_ms: FloatArray, xy_mm: FloatArray) -> None:
    """Interpolate trajectories at some moments."""
    for i, (start, end) in enumerate(itertools.pairwise(starts)):
        for axis in range(2):
            xy_mm[i, axis] = 1000.0 * np.interp(at_ms, t_ms[start:end], xy_m[start:end, axis])


def distances_mm(tracks: TrackData, ones: IntArray, others: IntArray) -> FloatArray:
    """Return the distances of tracks, shape ``(a, b)``."""
    xy_mm, under_way, span, price_mm, _, _, _ = tracks
    apart = np.zeros((len(ones), len(others)))
    for row, i in enumerate(ones):
        for column, j in enumerate(others):
            x, y = xy_mm[i] - xy_mm[j]
            moments = np.sqrt(x * x + y * y) * (under_way[i] + under_way[j])
            begins, ends = price_mm * np.abs(span[i] - span[j])
            apart[row, column] = np.rint(sum(moments.tolist()) / 2 + begins + ends)
    return apart


def nearest_places(ones: FloatArray, others: FloatArray, q: int) -> IntArray:
    """Return the nearest places, nearest first."""
    squared = [[sum(((one - other) ** 2).tolist()) for other in others] for one in ones]
    return np.array([np.argsort(row, kind="stable")[:q] for row in squared], dtype=np.int64)
