"""Slow and obvious counterparts of the GPS trajectory algorithms, and the inputs to compare them on."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from pyproj import Transformer

from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.guarantee import KDelta
from core.models.kdelta.verify import KDeltaReport, verify_kdelta
from core.trajectories.trajectory import Demands, PointTrajectories

Point = tuple[int, float, float]
"""Time in milliseconds, x and y in metres."""


def trajectories_of(*rows: tuple[int, Sequence[Point]]) -> PointTrajectories:
    """Build a data set from ``(user, points)`` rows, users ascending."""
    points = [point for _, its in rows for point in its]
    return PointTrajectories(
        users=np.array([user for user, _ in rows], dtype=np.int64),
        starts=np.cumsum([0, *(len(its) for _, its in rows)], dtype=np.int64),
        t_ms=np.array([t for t, _, _ in points], dtype=np.int64),
        xy_m=np.array([(x, y) for _, x, y in points], dtype=np.float64).reshape(-1, 2),
    )


def points_of(trajectories: PointTrajectories, index: int) -> list[Point]:
    """List the points of one trajectory."""
    at = slice(*trajectories.starts[index : index + 2])
    return [(t, x, y) for t, (x, y) in zip(trajectories.t_ms[at].tolist(), trajectories.xy_m[at].tolist(), strict=True)]


def points(*, max_size: int = 8, extent_m: int = 40, latest_s: int = 60) -> st.SearchStrategy[list[Point]]:
    """Draw trajectories on whole metres and half seconds, so that ties and standstills are common."""
    times = st.lists(st.integers(0, 2 * latest_s), min_size=1, max_size=max_size, unique=True).map(sorted)
    coordinate = st.integers(0, extent_m).map(float)
    return times.flatmap(
        lambda ts: st.tuples(*(st.tuples(st.just(500 * t), coordinate, coordinate) for t in ts)).map(list)
    )


def data_sets(*, min_size: int = 1, max_size: int = 12, extent_m: int = 40) -> st.SearchStrategy[PointTrajectories]:
    """Draw data sets in which some users have several trajectories."""
    same_user = st.booleans()
    rows = st.lists(st.tuples(same_user, points(extent_m=extent_m)), min_size=min_size, max_size=max_size)

    def build(drawn: list[tuple[bool, list[Point]]]) -> PointTrajectories:
        users = np.cumsum([0, *(not same for same, _ in drawn[1:])]).tolist()
        return trajectories_of(*((user, its) for user, (_, its) in zip(users, drawn, strict=True)))

    return rows.map(build)


def nearest_candidates(point: Point, other: Sequence[Point], tolerance_ms: int) -> list[tuple[Fraction, Fraction]]:
    """List where LSTD may match a pivot's point: ``(square millimetres, ms of shift)``, one for each segment.

    Exact arithmetic; a segment on which the other stands still counts at its time nearest to the point's.
    """
    t, *position = (Fraction(value) for value in point)
    first, last = Fraction(other[0][0]), Fraction(other[-1][0])
    if not first <= t <= last or first == last:
        end = other[0] if t < first else other[-1]
        return [(_squared_mm(position, [Fraction(end[1]), Fraction(end[2])]), abs(t - end[0]))]
    found = []
    for (t0, *p0), (t1, *p1) in itertools.pairwise(other):
        low, high = max(Fraction(t0), t - tolerance_ms), min(Fraction(t1), t + tolerance_ms)
        if low > high:
            continue
        way = [Fraction(b) - Fraction(a) for a, b in zip(p0, p1, strict=True)]
        squared = sum(part * part for part in way)
        if squared:
            along = sum((p - Fraction(a)) * part for p, a, part in zip(position, p0, way, strict=True))
            at = Fraction(t0) + along / squared * (t1 - t0)
        else:
            at = t
        at = min(max(at, low), high)
        share = (at - t0) / (t1 - t0)
        place = [Fraction(a) + share * part for a, part in zip(p0, way, strict=True)]
        found.append((_squared_mm(position, place), abs(at - t)))
    return found


def _squared_mm(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum(((a - b) * 1000) ** 2 for a, b in zip(one, other, strict=True)) or Fraction(0)


def position_at(other: Sequence[Point], t_ms: float) -> tuple[float, float]:
    """Interpolate a trajectory, its nearest end outside its span."""
    times = [t for t, _, _ in other]
    return float(np.interp(t_ms, times, [p[1] for p in other])), float(np.interp(t_ms, times, [p[2] for p in other]))


def mean_speed_m_s(trajectories: PointTrajectories) -> float:
    """All path lengths over all durations."""
    length_m = duration_s = 0.0
    for index in range(len(trajectories.users)):
        its = points_of(trajectories, index)
        length_m += sum(float(np.hypot(b[1] - a[1], b[2] - a[2])) for a, b in itertools.pairwise(its))
        duration_s += (its[-1][0] - its[0][0]) / 1000
    return length_m / duration_s if duration_s else 0.0


def is_match(one: Point, other: Point, space_tolerance_m: float, time_tolerance_ms: int) -> bool:
    """Tell whether two points match in EDR."""
    return abs(one[0] - other[0]) <= time_tolerance_ms and all(
        abs(a - b) <= space_tolerance_m for a, b in zip(one[1:], other[1:], strict=True)
    )


def edr_table(one: Sequence[Point], other: Sequence[Point], space_tolerance_m: float, time_tolerance_ms: int) -> int:
    """Fill the canonical table of EDR and return its last entry."""
    table = [[i + j if i == 0 or j == 0 else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, p in enumerate(one, start=1):
        for j, q in enumerate(other, start=1):
            table[i][j] = min(
                table[i - 1][j - 1] + (not is_match(p, q, space_tolerance_m, time_tolerance_ms)),
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
            )
    return table[-1][-1]


def nearest_squared_m(one: Sequence[Point], other: Sequence[Point]) -> Fraction | None:
    """Square of the smallest distance of two segments in their common time; None if that is an instant or nothing."""
    low, high = max(one[0][0], other[0][0]), min(one[1][0], other[1][0])
    if low >= high:
        return None

    def offset(t: int) -> list[Fraction]:
        def place(ends: Sequence[Point], axis: int) -> Fraction:
            share = Fraction(t - ends[0][0], ends[1][0] - ends[0][0])
            return Fraction(ends[0][axis]) + share * (Fraction(ends[1][axis]) - Fraction(ends[0][axis]))

        return [place(one, axis) - place(other, axis) for axis in (1, 2)]

    begin, end = offset(low), offset(high)
    # The offset moves in a straight line: its nearest point to the origin is an end or the foot of the perpendicular.
    way = [b - a for a, b in zip(begin, end, strict=True)]
    length = sum(part**2 for part in way)
    along = -sum(a * part for a, part in zip(begin, way, strict=True))
    at = [Fraction(0), Fraction(1), *([along / length] if length and 0 < along < length else [])]
    return min(sum(((a + s * part) ** 2 for a, part in zip(begin, way, strict=True)), Fraction(0)) for s in at)


def votes_by_user(trajectories: PointTrajectories, sigma_m: float, of: Collection[int] = ()) -> list[list[float]]:
    """Votes of each segment of each trajectory, in order: one number in 0..1 for each user who has one to give.

    ``of`` leaves only some trajectories' segments, which is quicker.
    """
    segments = [
        (index, user, ends)
        for index, user in enumerate(trajectories.users.tolist())
        for ends in itertools.pairwise(points_of(trajectories, index))
    ]
    found = []
    for index, user, ends in segments:
        if of and index not in of:
            continue
        nearest: dict[int, Fraction] = {}
        for _, other_user, other in segments:
            squared = None if other_user == user else nearest_squared_m(ends, other)
            if squared is not None:
                nearest[other_user] = min(squared, nearest.get(other_user, squared))
        found.append([math.exp(-float(squared) / (2 * sigma_m**2)) for squared in nearest.values()])
    return found


def cuts_of(votes: Sequence[int], window: int, threshold: int) -> list[int]:
    """List the points of one trajectory at which a new piece begins; votes and threshold in the same unit."""

    def change(c: int) -> int:
        if not window < c <= len(votes) - window:
            return -1
        return abs(sum(votes[c - window : c]) - sum(votes[c : c + window]))

    return [
        c
        for c in range(len(votes))
        if change(c) >= window * threshold
        and all(change(c) > change(c - step) and change(c) >= change(c + step) for step in range(1, window + 1))
    ]


def path_during(its: Sequence[Point], from_ms: int, to_ms: int) -> list[tuple[Fraction, Fraction]]:
    """List the corners of the way a trajectory took during an interval, its ends there included, exactly."""
    low, high = max(its[0][0], from_ms), min(its[-1][0], to_ms)
    if low > high:
        return []

    def place(t_ms: int) -> tuple[Fraction, Fraction]:
        before = max((point for point in its if point[0] <= t_ms), key=lambda point: point[0])
        after = min((point for point in its if point[0] >= t_ms), key=lambda point: point[0])
        share = Fraction(t_ms - before[0], after[0] - before[0] or 1)
        x, y = (Fraction(a) + share * (Fraction(b) - Fraction(a)) for a, b in zip(before[1:], after[1:], strict=True))
        return x, y

    return [place(t) for t in sorted({low, high, *(t for t, _, _ in its if low <= t <= high)})]


def people_inside(
    trajectories: PointTrajectories,
    centre: tuple[float, float],
    interval_ms: tuple[int, int],
    *,
    possible_m: Fraction,
    certain_m: Fraction,
) -> tuple[set[int], set[int]]:
    """Find who comes within ``possible_m`` of a centre during an interval, and who stays within ``certain_m``.

    No distance is computed: a corner, or a leg that the perpendicular from the centre meets, is inside or not.
    """
    cx, cy = map(Fraction, centre)
    possibly, definitely = set(), set()
    for index, user in enumerate(trajectories.users.tolist()):
        its = points_of(trajectories, index)
        corners = [(x - cx, y - cy) for x, y in path_during(its, *interval_ms)]
        squares = [x * x + y * y for x, y in corners]
        if any(square <= possible_m**2 for square in squares):
            possibly.add(user)
        for (ax, ay), (bx, by) in itertools.pairwise(corners):
            dx, dy = bx - ax, by - ay
            beside = ax * dx + ay * dy < 0 < bx * dx + by * dy
            if beside and (ax * by - ay * bx) ** 2 <= possible_m**2 * (dx * dx + dy * dy):
                possibly.add(user)
        covers = its[0][0] <= interval_ms[0] and interval_ms[1] <= its[-1][0]
        if covers and certain_m >= 0 and all(square <= certain_m**2 for square in squares):
            definitely.add(user)
    return possibly, definitely


@functools.cache
def _projection_at(lat_deg: float, lon_deg: float) -> Transformer:
    return Transformer.from_crs(
        f"+proj=aeqd +lat_0={lat_deg} +lon_0={lon_deg} +ellps=WGS84 +units=m", "EPSG:4326", always_xy=True
    )


def verified(
    trajectories: PointTrajectories,
    result: AnonymitySets,
    guarantee: KDelta,
    place: tuple[float, float],
    demands: Demands | None = None,
) -> KDeltaReport:
    """Check a result as it leaves: from a local projection, rounded to 1e-6 degrees."""
    lon_deg, lat_deg = _projection_at(*place).transform(*result.xy_m.T)
    n, cuts = len(result.sources), result.starts[1:-1]
    t_ms, lats_deg, lons_deg = (
        np.split(column, cuts)[:n] for column in (result.t_ms, np.round(lat_deg, 6), np.round(lon_deg, 6))
    )
    return verify_kdelta(
        result.sets.tolist(),
        trajectories.users[result.sources].tolist(),
        t_ms,
        lats_deg,
        lons_deg,
        guarantee,
        k=None if demands is None else demands.k[result.sources].tolist(),
        delta_m=None if demands is None else demands.delta_m[result.sources].tolist(),
    )


def a_region() -> PointTrajectories:
    """Draw people who stand about somewhere within a hundred kilometres."""
    rng = np.random.default_rng(5)
    rows = []
    for user in range(40):
        start = rng.uniform(-100_000, 100_000, 2)
        rows.append((user, [(t * 10_000, *(start + rng.normal(0, 300, 2))) for t in range(50)]))
    return trajectories_of(*rows)
