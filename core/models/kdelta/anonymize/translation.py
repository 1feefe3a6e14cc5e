"""Spatio-temporal translation: one cluster becomes one (k,delta)-anonymous set.

There are two ways. The exchangeable translation releases no raw point and makes the members of a set indistinguishable.
The minimal translation is the published rule of Wait for Me, which releases the pivot unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.kdelta.anonymize.distance.edr import edit_pairs
from core.models.kdelta.anonymize.distance.matching import Matching
from core.records.arrays import BoolArray, FloatArray, IntArray, ranges
from core.trajectories.trajectory import PointTrajectories, positions_at

__all__ = ["Translated", "in_disc", "nearest_in_disc", "stretches", "translate_exchangeable", "translate_minimal"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Translated:
    """One set of ``s`` trajectories that share ``m`` time stamps.

    A published point is translated from a point of its trajectory, or created: no point of its trajectory
    corresponds to it.
    """

    members: IntArray
    """Numbers of the trajectories, ascending, shape ``(s,)``."""

    t_ms: IntArray
    """Common time stamps, Unix milliseconds, strictly ascending, shape ``(m,)``."""

    xy_m: FloatArray
    """Published positions, metres, shape ``(s, m, 2)``."""

    created: BoolArray
    """Published points without a counterpart, shape ``(s, m)``."""

    moved_m: FloatArray
    """Distance of each published point from its counterpart, metres, 0 where created, shape ``(s, m)``."""

    shifted_s: FloatArray
    """Time between each published point and its counterpart, seconds, 0 where created, shape ``(s, m)``."""

    taking_part: IntArray
    """Numbers of the input points that the set was made of, each once."""


def translate_exchangeable(
    trajectories: PointTrajectories,
    members: IntArray,
    pivot: int,
    *,
    matching: Matching,
    diameter_m: float,
    time_step_ms: int,
    span_step_ms: int,
    rng: np.random.Generator,
) -> Translated:
    """Publish members as points drawn from common discs at common times.

    Time is divided into intervals of length ``span_step_ms``, aligned to the epoch. A set lasts from the beginning of
    the interval with the median start of its members to the end of the one with their median end; its time stamps are
    the multiples of ``time_step_ms`` in these intervals. So they stay inside a window whose bounds are multiples of
    ``span_step_ms``.

    At each time stamp every member is represented by one of its own positions, which the matching of LSTD finds, even
    if the clusters were formed by EDR. EDR leaves points without a counterpart, and a mean over the members that have
    one would reveal where few people were.

    Members are matched twice: first with the positions of the pivot, then with the mean of the positions found,
    because members are moved towards their mean and not to the pivot. The disc is centred on the mean of the second
    match, and every member's published point is drawn uniformly from it. A raw point therefore affects only the centre,
    by one part in ``s``, and which positions are matched.

    The centre is the mean and not the median, although the sum of distances is smallest from the median: the median
    often is one member's own point, which the release would then reveal. The disc does not shrink to the spread of the
    members: its size would reveal how near to one another they really were.

    A point at a time outside its trajectory's span counts as created. An input point takes part when it bounds, or
    lies inside, the stretch of its trajectory that was represented.

    Args:
        trajectories: The data set.
        members: Numbers of the members, ascending, shape ``(s,)``.
        pivot: Number of the pivot, one of them.
        matching: Matching over the same data set.
        diameter_m: Diameter of the discs, metres, above 0; two published points are nearer than this.
        time_step_ms: Step of the grid of time stamps, at least 1.
        span_step_ms: Step of the grid of begins and ends, a multiple of ``time_step_ms``.
        rng: Source of the points; ``2 * s * m`` numbers are drawn.
    """
    starts, ends = trajectories.starts[members], trajectories.starts[members + 1]
    first, last = trajectories.t_ms[starts], trajectories.t_ms[ends - 1]
    begin_ms, end_ms = (_median(bounds_ms) // span_step_ms * span_step_ms for bounds_ms in (first, last))
    t_ms = np.arange(begin_ms, end_ms + span_step_ms, time_step_ms)

    of_pivot = slice(*trajectories.starts[pivot : pivot + 2])
    reference = positions_at(t_ms, trajectories.t_ms[of_pivot], trajectories.xy_m[of_pivot])
    matched = matching.match(t_ms, reference, members)
    matched = matching.match(t_ms, matched.xy_m.mean(axis=0), members)

    xy_m = matched.xy_m.mean(axis=0) + in_disc((len(members), len(t_ms)), diameter_m / 2, rng)
    created = (t_ms < first[:, None]) | (t_ms > last[:, None])
    moved_m = np.hypot(*np.moveaxis(xy_m - matched.xy_m, -1, 0))
    return Translated(
        members=members,
        t_ms=t_ms,
        xy_m=xy_m,
        created=created,
        moved_m=np.where(created, 0.0, moved_m),
        shifted_s=np.where(created, 0.0, np.abs(t_ms - matched.t_ms) / 1000),
        taking_part=stretches(trajectories, members, matched.t_ms.min(axis=1), matched.t_ms.max(axis=1)),
    )


def translate_minimal(
    trajectories: PointTrajectories,
    members: IntArray,
    pivot: int,
    *,
    diameter_m: float,
    space_tolerance_m: float,
    time_tolerance_s: float,
    rng: np.random.Generator,
) -> Translated:
    """Edit members into a pivot that stays as it is (Theodosopoulos 2013, Algorithm 4, STedit).

    Points are edited along the optimal EDR script. In a pair, the member's point takes the pivot's time and moves the
    shortest way into the disc around the pivot's point. A point that only the pivot has is created at random in the
    disc. A point that only the member has is deleted. Algorithm 4 does not mention pairs that do not match
    (replacements); they are moved like pairs that match.

    Args:
        trajectories: The data set.
        members: Numbers of the members, ascending, shape ``(s,)``.
        pivot: Number of the pivot, one of them; it gives the ``m`` time stamps.
        diameter_m: Diameter of the discs, metres, above 0; no two published points are farther apart.
        space_tolerance_m: Tolerance of EDR in each coordinate, metres.
        time_tolerance_s: Tolerance of EDR in time, seconds.
        rng: Source of the created points; ``2 * s * m`` numbers are drawn, however many points are created.
    """
    of_pivot = slice(*trajectories.starts[pivot : pivot + 2])
    t_ms, pivot_xy_m = trajectories.t_ms[of_pivot], trajectories.xy_m[of_pivot]
    shape = len(members), len(t_ms)
    xy_m = pivot_xy_m + in_disc(shape, diameter_m / 2, rng)
    rows, own, at = edit_pairs(
        trajectories, members, pivot, space_tolerance_m=space_tolerance_m, time_tolerance_s=time_tolerance_s
    )
    paired = rows, at
    xy_m[paired] = nearest_in_disc(trajectories.xy_m[own], pivot_xy_m[at], diameter_m / 2)
    created = np.ones(shape, dtype=bool)
    created[paired] = False
    moved_m, shifted_s = np.zeros(shape), np.zeros(shape)
    moved_m[paired] = np.hypot(*(xy_m[paired] - trajectories.xy_m[own]).T)
    shifted_s[paired] = np.abs(trajectories.t_ms[own] - t_ms[at]) / 1000
    return Translated(
        members=members,
        t_ms=t_ms,
        xy_m=xy_m,
        created=created,
        moved_m=moved_m,
        shifted_s=shifted_s,
        taking_part=own,
    )


def _median(t_ms: IntArray) -> int:
    """Return the median (for an even number, the mean of the middle two, rounded down) in exact whole numbers."""
    ordered = np.sort(t_ms)
    return (int(ordered[(len(ordered) - 1) // 2]) + int(ordered[len(ordered) // 2])) // 2


def in_disc(shape: tuple[int, int], radius_m: float, rng: np.random.Generator) -> FloatArray:
    """Draw offsets uniformly from the inside of a disc, ``(*shape, 2)``."""
    share, turn = rng.random((2, *shape))
    radius, angle = radius_m * np.sqrt(share), 2 * np.pi * turn
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)


def nearest_in_disc(xy_m: FloatArray, centre_m: FloatArray, radius_m: float) -> FloatArray:
    """Return the points of discs that are nearest to some points, shape ``(..., 2)``, broadcast over the centres."""
    offset = xy_m - centre_m
    length_m = np.hypot(offset[..., 0], offset[..., 1])
    scale = np.minimum(1.0, np.divide(radius_m, length_m, out=np.ones(length_m.shape), where=length_m > 0))
    return np.where(scale[..., None] < 1, centre_m + offset * scale[..., None], xy_m)


def stretches(
    trajectories: PointTrajectories, numbers: IntArray, from_ms: IntArray | FloatArray, to_ms: IntArray | FloatArray
) -> IntArray:
    """Return the points of some trajectories that bound, or lie inside, a stretch of time within the span of each."""
    starts, ends = trajectories.starts[numbers], trajectories.starts[numbers + 1]
    counts = ends - starts
    t_ms = trajectories.t_ms[trajectories.points_of(numbers)]
    begin = np.cumsum(counts) - counts
    low = np.add.reduceat(t_ms <= np.repeat(from_ms, counts), begin, dtype=np.int64) - 1
    high = np.add.reduceat(t_ms < np.repeat(to_ms, counts), begin, dtype=np.int64)
    return ranges(starts + low, high - low + 1)
