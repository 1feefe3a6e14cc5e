"""Slow and obvious counterparts of the GPS trajectory algorithms, and the inputs to compare them on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from core.trajectory import IntArray, PointTrajectories

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


def greedy_round(
    users: Sequence[int], from_centre_mm: Sequence[int], d_mm: IntArray, k: int, radius_mm: int
) -> tuple[list[int], list[int]]:
    """Run one round of greedy clustering on the whole matrix of distances; row = pivot."""
    n = len(users)
    cluster, active = [-1] * n, set(range(n))
    pivots: list[int] = []
    while active:
        if pivots:
            pivot = min(active, key=lambda i: (-min(d_mm[p][i] for p in pivots), i))
        else:
            pivot = min(active, key=lambda i: (-from_centre_mm[i], i))
        active.remove(pivot)
        members: list[int] = []
        seen = {users[pivot]}
        for i in sorted((i for i in range(n) if cluster[i] < 0), key=lambda i: (d_mm[pivot][i], i)):
            if len(members) < k - 1 and users[i] not in seen:
                members.append(i)
                seen.add(users[i])
        if len(members) == k - 1 and all(d_mm[pivot][i] <= radius_mm for i in members):
            for i in [pivot, *members]:
                cluster[i] = len(pivots)
                active.discard(i)
            pivots.append(pivot)
    for i in [i for i in range(n) if cluster[i] < 0]:
        near = min(((d_mm[p][i], p) for p in pivots), default=(radius_mm + 1, -1))
        if near[0] <= radius_mm:
            cluster[i] = pivots.index(near[1])
    return cluster, pivots
