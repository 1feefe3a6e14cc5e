"""EDR, the number of edits that turn one trajectory into another: tolerant in time and of outliers."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from core.kernels.fragments import edr as kernels
from core.kernels.fragments.trajectory_tree import EDR
from core.models.kdelta.anonymize.distance.distances import Distances
from core.models.kdelta.anonymize.distance.matching import path_of
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["EditPairs", "Edr", "edit_pairs"]

A = TypeVar("A", IntArray, FloatArray)

_LONGEST_MS = 1 << 61  # tolerances are clipped here, so that a time and a tolerance still fit into 64 bits


class EditPairs(NamedTuple):
    """Pairs of points in the scripts that edit the members of a cluster into its pivot, ``q`` in all."""

    rows: IntArray
    """Row of each pair's member among the members, ascending, shape ``(q,)``."""

    own: IntArray
    """The member's point, a number in the data set, shape ``(q,)``."""

    at: IntArray
    """The pivot's point, counted from its first, shape ``(q,)``."""


def edit_pairs(
    trajectories: PointTrajectories,
    members: IntArray,
    pivot: int,
    *,
    space_tolerance_m: float,
    time_tolerance_s: float,
) -> EditPairs:
    """Find the pairs of the optimal EDR scripts (Chen, Ozsu, Oria 2005; time as in Abul, Bonchi, Nanni 2010).

    Two points match when x, y and time each differ by at most their tolerance. A match costs 0; an insertion, a
    deletion and a replacement (a pair that does not match) cost 1.

    If several scripts are optimal, one is chosen, from the end. Two points that match are a pair. Of two that do not
    match, the later one stays alone if that is optimal; else both are a pair if that is optimal; else the earlier one
    stays alone. At equal times they are a pair, or else the pivot's point stays alone. Pairs that do not match are
    therefore at least near in time.

    The table of a member with ``m`` points and a pivot with ``n`` takes ``m * n / 2`` bytes.

    Args:
        trajectories: The data set.
        members: Numbers of the members, ascending, shape ``(s,)``.
        pivot: Number of the trajectory that they are edited into.
        space_tolerance_m: Largest difference of each coordinate, metres.
        time_tolerance_s: Largest difference in time, seconds.
    """
    starts = trajectories.starts
    lengths = starts[members + 1] - starts[members]
    most = int(np.minimum(lengths, starts[pivot + 1] - starts[pivot]).sum())
    rows, own, at = np.empty((3, most), dtype=np.int64)
    n = kernels.pairs_with_pivot(
        _for_kernels(starts),
        _for_kernels(trajectories.t_ms),
        _for_kernels(trajectories.xy_m),
        _for_kernels(members),
        pivot,
        float(space_tolerance_m),
        _whole_ms(time_tolerance_s),
        rows,
        own,
        at,
    )
    return EditPairs(rows[:n], own[:n], at[:n])


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
