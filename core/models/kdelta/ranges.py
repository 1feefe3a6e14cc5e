"""Distortion of spatio-temporal range queries (Abul, Bonchi, Nanni 2008 and 2010, experiments).

A query asks how many people were inside a disc during an interval of time. A trajectory is uncertain: at each time of
its span the person may be anywhere within the uncertainty of the expected position, which moves in a straight line at
constant speed from point to point. Of the six ways to ask (Trajcevski, Wolfson, Hinrichs, Chamberlain 2004) the papers
take the weakest and the strongest:

    PSI     possibly sometime inside: at some time of the interval the person may be inside
    DAI     definitely always inside: at all times of the interval the person is inside for certain

The person may be inside when the expected position is within radius + uncertainty of the centre, and is so for certain
when it is within radius - uncertainty. On a segment clipped to the interval, the point nearest to the centre is an end
or the foot of the perpendicular. The farthest point is an end, because a disc is convex. Both queries are therefore
answered exactly.

Answers count people, not trajectories. Disc, interval, uncertainty and span include their borders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = [
    "RangeDistortion",
    "RangeQueries",
    "RangeQueryOptions",
    "count_inside",
    "draw_range_queries",
    "range_query_distortion",
]

_SEGMENTS_AT_ONCE = 1 << 15  # temporaries of one block stay below some 10 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeQueryOptions:
    """How many queries are drawn, and how large they are.

    Raises:
        ValueError: A number is out of its range, or a range ends before it begins.
    """

    n: int = 100
    """Number of queries. At least 0."""

    smallest_radius_m: float = 500.0
    """Smallest radius of a disc, metres. At least 0. The papers' number."""

    largest_radius_m: float = 750.0
    """Largest radius of a disc, metres. The papers' number."""

    shortest_ms: int = 60_000
    """Shortest interval, milliseconds. At least 0. Windows of a stream are short: an interval longer than most
    trajectories has few definite answers, as only a trajectory that covers it can be always inside."""

    longest_ms: int = 300_000
    """Longest interval, milliseconds."""

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"n is {self.n}: it must be at least 0")
        if not 0 <= self.smallest_radius_m <= self.largest_radius_m < float("inf"):
            raise ValueError(
                f"smallest_radius_m is {self.smallest_radius_m} and largest_radius_m {self.largest_radius_m}: "
                "they must be finite, at least 0 and in this order"
            )
        if not 0 <= self.shortest_ms <= self.longest_ms:
            raise ValueError(
                f"shortest_ms is {self.shortest_ms} and longest_ms {self.longest_ms}: "
                "they must be at least 0 and in this order"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeQueries:
    """Range queries, as columns: ``q`` discs, each with an interval of time.

    Raises:
        ValueError: The columns are not equally long, a radius is below 0, or an interval ends before it begins.
    """

    xy_m: FloatArray
    """Centre of each disc, in the projection of the trajectories, metres, shape ``(q, 2)``."""

    radius_m: FloatArray
    """Radius of each disc, metres, shape ``(q,)``. At least 0."""

    from_ms: IntArray
    """First time of each interval, Unix milliseconds, shape ``(q,)``."""

    to_ms: IntArray
    """Last time of each interval, Unix milliseconds, shape ``(q,)``; it belongs to the interval."""

    def __post_init__(self) -> None:
        q = len(self.radius_m)
        if (self.xy_m.shape, self.from_ms.shape, self.to_ms.shape) != ((q, 2), (q,), (q,)):
            raise ValueError("xy_m, radius_m, from_ms and to_ms must have one entry for each query")
        if not np.all(self.radius_m >= 0):
            raise ValueError("radius_m must be a number of metres, at least 0, for each query")
        if np.any(self.to_ms < self.from_ms):
            raise ValueError("to_ms is before from_ms: an interval ends when it begins, or later")


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDistortion:
    """Distortion of the answers to range queries: means over queries, in ``0..1``."""

    psi: float
    """Distortion of "possibly sometime inside"; NaN if both answers to all queries are 0."""

    dai: float
    """Distortion of "definitely always inside"; NaN if both answers to all queries are 0."""


def draw_range_queries(
    trajectories: PointTrajectories, rng: np.random.Generator, options: RangeQueryOptions
) -> RangeQueries:
    """Draw queries about places and times at which people were.

    For each query a point of the originals is drawn, all with the same probability. The disc is centred on its
    position, and the interval on its time, rounded down to a millisecond. Radius and duration are uniform in their
    ranges. Queries may repeat. The raw answer to PSI is never 0.

    Args:
        trajectories: The originals.
        rng: Source of all random choices.
        options: Number and size of the queries.

    Returns:
        ``options.n`` queries; none if the originals hold no point.
    """
    n = options.n if len(trajectories.t_ms) else 0
    point = rng.integers(0, max(1, len(trajectories.t_ms)), n)
    radius_m = rng.uniform(options.smallest_radius_m, options.largest_radius_m, n)
    duration_ms = rng.integers(options.shortest_ms, options.longest_ms, n, endpoint=True)
    from_ms = trajectories.t_ms[point] - duration_ms // 2
    return RangeQueries(xy_m=trajectories.xy_m[point], radius_m=radius_m, from_ms=from_ms, to_ms=from_ms + duration_ms)


def count_inside(
    trajectories: PointTrajectories, queries: RangeQueries, *, uncertainty_m: float
) -> tuple[IntArray, IntArray]:
    """Answer range queries: count the people who are possibly sometime, and definitely always, inside.

    A person with several trajectories counts once. The person is possibly inside if one of the trajectories may be
    inside at a time of its span, and definitely inside if one of them covers the whole interval and is always inside.
    Nothing is known of the time between two trajectories of a person, so two that cover the interval only together are
    not enough.

    One query is answered at a time, in blocks: the time is linear in points times queries, the memory in points.

    Args:
        trajectories: ``n`` trajectories with ``p`` points; users may be missing and in any order.
        queries: ``q`` queries.
        uncertainty_m: How far from the expected position the person may be, metres, at least 0. The papers' delta is
            a diameter; this is half of it. Above the radius of a disc nobody is definitely inside.

    Returns:
        Distinct users of each query for PSI and for DAI, shapes ``(q,)``; the second is never above the first.

    Raises:
        ValueError: The uncertainty is negative or not finite.

    >>> walk = PointTrajectories(
    ...     users=np.array([0]), starts=np.array([0, 2]), t_ms=np.array([0, 9]), xy_m=np.array([[0.0, 4.0], [9.0, 4.0]])
    ... )
    >>> start = RangeQueries(
    ...     xy_m=np.zeros((2, 2)), radius_m=np.array([5.0, 5.0]), from_ms=np.array([0, 0]), to_ms=np.array([3, 4])
    ... )
    >>> [counts.tolist() for counts in count_inside(walk, start, uncertainty_m=0.0)]
    [[1, 1], [1, 0]]
    """
    if not 0 <= uncertainty_m < float("inf"):
        raise ValueError(f"uncertainty_m is {uncertainty_m}: it must be a finite number of metres, at least 0")
    n_points = np.diff(trajectories.starts)
    owner = np.repeat(np.arange(len(n_points)), n_points)  # (p,)
    # Each point begins a segment to the next one; the last (or only) point of a trajectory, a segment without length.
    following = np.minimum(np.arange(len(owner)) + 1, np.repeat(trajectories.starts[1:] - 1, n_points))  # (p,)
    begin_ms, end_ms = trajectories.t_ms, trajectories.t_ms[following]
    x_m, y_m = np.ascontiguousarray(trajectories.xy_m.T)
    dx_m, dy_m = x_m[following] - x_m, y_m[following] - y_m
    psi, dai = np.zeros((2, len(queries.radius_m)), dtype=np.int64)
    columns = (queries.xy_m, queries.radius_m, queries.from_ms, queries.to_ms)
    for query, (centre_m, radius_m, from_ms, to_ms) in enumerate(zip(*columns, strict=True)):
        possibly, outside, early, late = np.zeros((4, len(n_points)), dtype=np.bool_)
        during = np.flatnonzero((begin_ms <= to_ms) & (end_ms >= from_ms))
        for block in range(0, len(during), _SEGMENTS_AT_ONCE):
            at = during[block : block + _SEGMENTS_AT_ONCE]
            segment_owner = owner[at]
            segment_begin_ms, segment_end_ms = begin_ms[at], end_ms[at]
            nearest_m, farthest_m = _distances(
                (x_m[at] - centre_m[0], y_m[at] - centre_m[1]),
                (dx_m[at], dy_m[at]),
                _share(from_ms, segment_begin_ms, segment_end_ms),
                _share(to_ms, segment_begin_ms, segment_end_ms),
            )
            possibly[segment_owner[nearest_m <= radius_m + uncertainty_m]] = True
            outside[segment_owner[farthest_m > radius_m - uncertainty_m]] = True
            early[segment_owner[segment_begin_ms <= from_ms]] = True
            late[segment_owner[segment_end_ms >= to_ms]] = True
        psi[query] = len(np.unique(trajectories.users[possibly]))
        dai[query] = len(np.unique(trajectories.users[early & late & ~outside]))
    return psi, dai


def _share(at_ms: np.int64, begin_ms: IntArray, end_ms: IntArray) -> FloatArray:
    """Return the share of each segment's duration that has passed at a time, in ``0..1``."""
    share: FloatArray = np.clip((at_ms - begin_ms) / np.maximum(end_ms - begin_ms, 1), 0.0, 1.0)
    return share


def _distances(
    offset_m: tuple[FloatArray, FloatArray],
    step_m: tuple[FloatArray, FloatArray],
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest distance of clipped segments to the origin, metres, shapes ``(s,)``.

    Args:
        offset_m: Where each segment begins, x and y, shapes ``(s,)``.
        step_m: Vector from its beginning to its end, x and y.
        low: Share of the segment at which the clipped one begins, in ``0..1``, shape ``(s,)``.
        high: Share at which it ends.
    """
    (x, y), (dx, dy) = offset_m, step_m
    ends_m = [np.sqrt(np.square(x + share * dx) + np.square(y + share * dy)) for share in (low, high)]
    nearest_m, farthest_m = np.minimum(*ends_m), np.maximum(*ends_m)
    squared = np.square(dx) + np.square(dy)
    along = -(x * dx + y * dy)
    foot = (along > low * squared) & (along < high * squared)  # the foot of the perpendicular is between the ends
    # Computed as a height: the distance to the foot rounds more, and a tangent must touch the disc.
    nearest_m[foot] = np.minimum(nearest_m[foot], np.abs(x * dy - y * dx)[foot] / np.sqrt(squared[foot]))
    return nearest_m, farthest_m


def range_query_distortion(
    raw: PointTrajectories, released: PointTrajectories, queries: RangeQueries, *, uncertainty_m: float
) -> RangeDistortion:
    """Compare the answers that a release gives to range queries with those of the originals.

    ``avg{|Q(D) - Q(D*)| / max(Q(D), Q(D*))}`` over the queries Q; a query that both D and D* answer with 0 is left
    out. 0 when all answers are equal, 1 when for every query one of both is 0. Only numbers of people are compared: one
    person lost from a disc and another moved into it cancel out.

    Args:
        raw: The originals.
        released: The released trajectories, in the same projection and with the true users; suppressed users are
            missing.
        queries: See :func:`draw_range_queries`.
        uncertainty_m: Uncertainty of both; see :func:`count_inside`.

    Raises:
        ValueError: The uncertainty is negative or not finite.
    """
    before = count_inside(raw, queries, uncertainty_m=uncertainty_m)
    after = count_inside(released, queries, uncertainty_m=uncertainty_m)
    psi, dai = (_mean_distortion(*counts) for counts in zip(before, after, strict=True))
    return RangeDistortion(psi=psi, dai=dai)


def _mean_distortion(before: IntArray, after: IntArray) -> float:
    larger = np.maximum(before, after)
    answered = larger > 0
    distortion = np.abs(before - after)[answered] / larger[answered]
    return float(distortion.mean()) if len(distortion) else float("nan")
