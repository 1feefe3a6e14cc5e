"""EDR, the number of edits that turn one trajectory into another: tolerant in time and of outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.kernels import edr as kernels
from core.kernels.trajectory_tree import EDR
from core.models.kdelta.anonymize.distance.distances import Distances
from core.models.kdelta.anonymize.distance.matching import path_of
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["EditScript", "Edr", "edr"]

A = TypeVar("A", IntArray, FloatArray)

_LONGEST_MS = 1 << 61  # tolerances are clipped here, so that a time and a tolerance still fit into 64 bits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EditScript:
    """One cheapest way to edit a trajectory into a pivot: ``s`` steps in time order.

    Step ``i`` pairs point ``own[i]`` with point ``pivot[i]``. In ``own``, -1 marks a point that only the pivot has (to
    be created). In ``pivot``, -1 marks a point that only the trajectory has (to be deleted).
    """

    distance: int
    """EDR: number of edits of the script, which are all its steps except pairs that match."""

    own: IntArray
    """Point of the trajectory, ascending, or -1, shape ``(s,)``."""

    pivot: IntArray
    """Point of the pivot, ascending, or -1, shape ``(s,)``."""


def edr(
    t_ms: IntArray,
    xy_m: FloatArray,
    pivot_t_ms: IntArray,
    pivot_xy_m: FloatArray,
    *,
    space_tolerance_m: float,
    time_tolerance_s: float,
) -> EditScript:
    """Compute EDR and an optimal edit script (Chen, Ozsu, Oria 2005; time as in Abul, Bonchi, Nanni 2010).

    Two points match when x, y and time each differ by at most their tolerance. A match costs 0; an insertion, a
    deletion and a replacement (a pair that does not match) cost 1; an empty trajectory is as many edits away as
    the other has points. The undivided count is returned.

    If several scripts are optimal, one is chosen, from the end. Two points that match are a pair. Of two that do not
    match, the later one stays alone if that is optimal; else both are a pair if that is optimal; else the earlier one
    stays alone. At equal times they are a pair, or else the pivot's point stays alone. Pairs that do not match are
    therefore at least near in time.

    The table takes ``m * n / 2`` bytes.

    Args:
        t_ms: Times of the trajectory, Unix milliseconds, shape ``(m,)``.
        xy_m: Its positions, metres, shape ``(m, 2)``.
        pivot_t_ms: Times of the pivot, shape ``(n,)``.
        pivot_xy_m: Its positions, shape ``(n, 2)``.
        space_tolerance_m: Largest difference of each coordinate, metres.
        time_tolerance_s: Largest difference in time, seconds.
    """
    m, n = len(t_ms), len(pivot_t_ms)
    own, pivot = np.empty((2, m + n), dtype=np.int64)
    points = (_for_kernels(t_ms), _for_kernels(xy_m), _for_kernels(pivot_t_ms), _for_kernels(pivot_xy_m))
    n_steps, distance = kernels.script(*points, float(space_tolerance_m), _whole_ms(time_tolerance_s), own, pivot)
    return EditScript(distance=distance, own=own[m + n - n_steps :], pivot=pivot[m + n - n_steps :])


class Edr(Distances):
    """EDR between the trajectories of one data set, divided by the longer length: edits a point, in ``0..1``.

    The distance of W4M with EDR (Abul, Bonchi, Nanni 2010), in whole millionths.

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        space_tolerance_m: Largest difference of each coordinate of points that match, metres.
        time_tolerance_s: Largest difference of their times, seconds.

    Raises:
        ValueError: A tolerance is negative or not finite, or a trajectory has no point.
    """

    unit = kernels.MILLIONTHS
    in_metres = False

    def __init__(self, trajectories: PointTrajectories, *, space_tolerance_m: float, time_tolerance_s: float) -> None:
        for name, value in (("space_tolerance_m", space_tolerance_m), ("time_tolerance_s", time_tolerance_s)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value}: it must be a finite number, at least 0")
        super().__init__(
            EDR,
            trajectories,
            path_of(trajectories),
            tolerance_ms=_whole_ms(time_tolerance_s),
            space_tolerance_m=float(space_tolerance_m),
        )


def _for_kernels(array: A) -> A:
    """Return an array as kernels take it: contiguous and writable."""
    return np.require(array, requirements=("C", "W"))


def _whole_ms(time_s: float) -> int:
    return round(min(time_s * 1000, _LONGEST_MS))
