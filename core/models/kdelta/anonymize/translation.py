"""Spatio-temporal translation: one cluster becomes one (k,delta)-anonymous set.

There are two ways. The exchangeable translation releases no raw point and makes the members of a set indistinguishable.
The minimal translation is the published rule of Wait for Me, which releases the pivot unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.models.kdelta.anonymize.cluster.clustering import Clustering
from core.models.kdelta.anonymize.distance.edr import edit_pairs
from core.models.kdelta.anonymize.distance.matching import Matching
from core.records.arrays import BoolArray, FloatArray, IntArray, changes, ranges, starts_of
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Translated", "in_disc", "nearest_in_disc", "stretches", "translate_exchangeable", "translate_minimal"]

_POINTS_AT_ONCE = 1 << 16
"""About how many published points are computed together; each needs some hundred bytes meanwhile."""


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
    clustering: Clustering,
    *,
    matching: Matching,
    diameters_m: FloatArray,
    time_step_ms: int,
    span_step_ms: int,
    rng: np.random.Generator,
) -> list[Translated]:
    """Publish the members of each cluster as points drawn from common discs at common times.

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
        clustering: Its ``c`` clusters.
        matching: Matching over the same data set.
        diameters_m: Diameter of the discs of each cluster, metres, above 0, shape ``(c,)``; two published points are
            nearer than this.
        time_step_ms: Step of the grid of time stamps, at least 1.
        span_step_ms: Step of the grid of begins and ends, a multiple of ``time_step_ms``.
        rng: Source of the points; ``2 * s * m`` numbers are drawn for each set, set by set.

    Returns:
        The set of each cluster.
    """
    sizes, members = clustering.sizes, clustering.members
    set_starts = starts_of(sizes)
    begins, ends = trajectories.starts[members], trajectories.starts[members + 1] - 1
    first_ms, last_ms = trajectories.t_ms[begins], trajectories.t_ms[ends]
    begin_ms, end_ms = (_medians(bounds_ms, sizes) // span_step_ms * span_step_ms for bounds_ms in (first_ms, last_ms))
    n_times = (end_ms - begin_ms + span_step_ms) // time_step_ms
    translated: list[Translated] = []
    bounds = np.flatnonzero(changes(np.cumsum(sizes * n_times) // _POINTS_AT_ONCE))
    for low, high in pairwise([*bounds.tolist(), len(sizes)]):
        rows = slice(set_starts[low], set_starts[high])
        translated += _translate_sets(
            trajectories,
            matching,
            clustering.pivots[low:high],
            members[rows],
            sizes[low:high],
            np.repeat(begin_ms[low:high], n_times[low:high])
            + time_step_ms * ranges(np.zeros(high - low, np.int64), n_times[low:high]),
            n_times[low:high],
            (first_ms[rows], last_ms[rows]),
            diameters_m[low:high] / 2,
            rng,
        )
    return translated


def _translate_sets(
    trajectories: PointTrajectories,
    matching: Matching,
    pivots: IntArray,
    members: IntArray,
    sizes: IntArray,
    t_ms: IntArray,
    n_times: IntArray,
    spans_ms: tuple[IntArray, IntArray],
    radii_m: FloatArray,
    rng: np.random.Generator,
) -> Iterator[Translated]:
    """Translate some sets, whose members and times stand set by set; ``spans_ms`` are those of the members."""
    set_starts, time_starts = starts_of(sizes), starts_of(n_times)
    matched = matching.represent(pivots, members, set_starts, t_ms, time_starts)
    of_member = np.repeat(n_times, sizes)  # how many points are published for each
    member_starts = starts_of(of_member)
    time = ranges(np.repeat(time_starts[:-1], sizes), of_member)  # of each published point, in t_ms
    xy_m = matched.mean_m[time] + _in_discs(sizes * n_times, radii_m, rng)
    first_ms, last_ms = (np.repeat(bounds_ms, of_member) for bounds_ms in spans_ms)
    created = (t_ms[time] < first_ms) | (t_ms[time] > last_ms)
    moved_m = np.where(created, 0.0, np.hypot(*(xy_m - matched.xy_m).T))
    shifted_s = np.where(created, 0.0, np.abs(t_ms[time] - matched.t_ms) / 1000)
    from_ms, to_ms = (bound.reduceat(matched.t_ms, member_starts[:-1]) for bound in (np.minimum, np.maximum))
    begins, lengths = stretches(trajectories, members, from_ms, to_ms)
    sets, points = set_starts[1:-1], member_starts[set_starts[1:-1]]  # where each set but the first begins
    for shape, own, own_t_ms, own_xy_m, own_created, own_moved_m, own_shifted_s, taking_part in zip(
        zip(sizes.tolist(), n_times.tolist(), strict=True),
        np.split(members, sets),
        np.split(t_ms, time_starts[1:-1]),
        np.split(xy_m, points),
        np.split(created, points),
        np.split(moved_m, points),
        np.split(shifted_s, points),
        np.split(ranges(begins, lengths), starts_of(lengths)[sets]),
        strict=True,
    ):
        yield Translated(
            members=own,
            t_ms=own_t_ms,
            xy_m=own_xy_m.reshape(*shape, 2),
            created=own_created.reshape(shape),
            moved_m=own_moved_m.reshape(shape),
            shifted_s=own_shifted_s.reshape(shape),
            taking_part=taking_part,
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


def _medians(t_ms: IntArray, sizes: IntArray) -> IntArray:
    """Return the median of each set (for an even number, the mean of the middle two, rounded down), exactly."""
    starts = starts_of(sizes)[:-1]
    ordered = t_ms[np.lexsort((t_ms, np.repeat(np.arange(len(sizes)), sizes)))]
    medians: IntArray = (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) // 2
    return medians


def in_disc(shape: tuple[int, int], radius_m: float, rng: np.random.Generator) -> FloatArray:
    """Draw offsets uniformly from the inside of a disc, ``(*shape, 2)``."""
    return _in_discs(np.array([math.prod(shape)]), np.array([radius_m]), rng).reshape(*shape, 2)


def _in_discs(numbers: IntArray, radii_m: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw some offsets from the inside of each of some discs, disc by disc, uniformly, shape ``(q, 2)``."""
    drawn, starts = rng.random(2 * int(numbers.sum())), 2 * starts_of(numbers)[:-1]
    share, turn = drawn[ranges(starts, numbers)], drawn[ranges(starts + numbers, numbers)]
    radius, angle = np.repeat(radii_m, numbers) * np.sqrt(share), 2 * np.pi * turn
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)


def nearest_in_disc(xy_m: FloatArray, centre_m: FloatArray, radius_m: float) -> FloatArray:
    """Return the points of discs that are nearest to some points, shape ``(..., 2)``, broadcast over the centres."""
    offset = xy_m - centre_m
    length_m = np.hypot(offset[..., 0], offset[..., 1])
    scale = np.minimum(1.0, np.divide(radius_m, length_m, out=np.ones(length_m.shape), where=length_m > 0))
    return np.where(scale[..., None] < 1, centre_m + offset * scale[..., None], xy_m)


def stretches(
    trajectories: PointTrajectories, numbers: IntArray, from_ms: IntArray | FloatArray, to_ms: IntArray | FloatArray
) -> tuple[IntArray, IntArray]:
    """Find the points of some trajectories that bound, or lie inside, a stretch of time within the span of each.

    Returns:
        The first one of each trajectory, and how many there are.
    """
    starts, ends = trajectories.starts[numbers], trajectories.starts[numbers + 1]
    counts = ends - starts
    t_ms = trajectories.t_ms[trajectories.points_of(numbers)]
    begin = np.cumsum(counts) - counts
    low = np.add.reduceat(t_ms <= np.repeat(from_ms, counts), begin, dtype=np.int64) - 1
    high = np.add.reduceat(t_ms < np.repeat(to_ms, counts), begin, dtype=np.int64)
    return starts + low, high - low + 1
