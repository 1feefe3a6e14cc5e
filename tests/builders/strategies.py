"""What hypothesis draws: positions, records with and without faults, and the rows of one window."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from hypothesis import strategies as st

from core.records.arrays import FloatArray
from core.records.record import CheckIn, Fragment, Point, Rows, Timestamp
from tests.builders.windows import START_MS, points, profile_code, visits

LATITUDES = st.floats(-90, 90) | st.sampled_from([-90.0, -0.0, 0.0, 89.9999999, 90.0])
LONGITUDES = st.floats(-180, 180) | st.sampled_from([-180.0, -179.9999999, -0.0, 0.0, 179.9999999, 180.0])


def positions(*, max_size: int = 20) -> st.SearchStrategy[tuple[FloatArray, FloatArray]]:
    """Draw latitudes and longitudes from the whole earth, its poles and the antimeridian."""
    return st.lists(st.tuples(LATITUDES, LONGITUDES), min_size=1, max_size=max_size).map(
        lambda drawn: (np.array([lat for lat, _ in drawn]), np.array([lon for _, lon in drawn]))
    )


_NUMBERS = st.floats() | st.sampled_from([91.0, -90.5, 180.5, math.nan, math.inf, -math.inf])

_MOMENTS = st.builds(
    lambda moment, hours: moment.replace(tzinfo=timezone(timedelta(hours=hours))),
    st.datetimes() | st.sampled_from([datetime(1864, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)]),  # noqa: DTZ001 - zones are drawn
    st.integers(-14, 14),
)
_PLAUSIBLE = st.integers(START_MS // 1000 - 900, START_MS // 1000 + 900)

TIMES: st.SearchStrategy[Timestamp] = (
    _PLAUSIBLE
    | _PLAUSIBLE.map(lambda s: datetime.fromtimestamp(s, UTC))
    | _MOMENTS
    | st.integers()
    | st.sampled_from([10**400, -(10**400), -1, 2**63])
    | st.floats()
)
"""Time stamps of every form, most of them plausible, some absurd."""

USERS = st.sampled_from(["u1", "u2", 17, "17", "", "x" * 10_000, "\ud800", "𝔘"]) | st.text(max_size=5)


def checkins() -> st.SearchStrategy[CheckIn]:
    """Draw check-ins, good and bad."""
    number = st.none() | LATITUDES | _NUMBERS
    venue = st.none() | st.sampled_from(["park", "nowhere", 7])
    return st.builds(CheckIn, user=USERS, ts=TIMES, lat=number, lon=st.none() | LONGITUDES | _NUMBERS, venue=venue)


def fragments() -> st.SearchStrategy[Fragment]:
    """Draw fragments, good and bad, some longer than the ten points that the builders' rules accept."""
    good = st.builds(Point, _PLAUSIBLE, LATITUDES, LONGITUDES)
    anything = st.builds(Point, TIMES, st.none() | LATITUDES | _NUMBERS, st.none() | LONGITUDES | _NUMBERS)
    demands_k = st.none() | st.integers(-2, 12) | st.sampled_from([10**6, 10**6 + 1, 10**30])
    demands_m = st.none() | st.floats() | st.sampled_from([1.0, 50.0, 1e7, 1e39, -1e300, math.nan])
    return st.builds(
        Fragment,
        user=USERS,
        points=st.lists(good, max_size=12) | st.lists(good | anything, min_size=1, max_size=4),
        k=demands_k,
        delta_m=demands_m,
    )


def visit_rows(*, max_users: int = 6, max_rows: int = 24) -> st.SearchStrategy[Rows]:
    """Draw the check-ins of a window: few people, few places, few instants, so that rows often coincide."""
    row = st.tuples(st.integers(1, max_users), st.integers(0, 6), st.integers(0, 5))
    return st.lists(row, max_size=max_rows).map(lambda rows: visits(*rows))


def told_rows(*, max_users: int = 6, max_rows: int = 24) -> st.SearchStrategy[Rows]:
    """Draw the same check-ins with attributes of their people, who contradict themselves now and then."""
    code = st.builds(
        lambda age, plan, ward: profile_code(age=age, plan=plan, ward=ward),
        st.sampled_from([18, 30, 99]),
        st.sampled_from(["basic", "gold", "plus"]),
        st.sampled_from([None, None, "oncology", "surgery"]),
    )
    row = st.tuples(st.integers(1, max_users), st.integers(0, 6).map(lambda step: 100 * step), st.integers(0, 5), code)
    return st.lists(row, max_size=max_rows).map(lambda rows: visits(*rows))


def point_rows(*, max_users: int = 6, max_rows: int = 24, demands: bool = True) -> st.SearchStrategy[Rows]:
    """Draw the points of a window: a few people around one square, some of whom demand more than others."""
    demand = st.sampled_from([(0, np.inf), (0, np.inf), (2, np.inf), (5, np.inf), (0, 50.0), (0, 5000.0)])
    row = st.tuples(
        st.integers(1, max_users),
        st.integers(0, 8).map(lambda step: 30 * step),
        st.integers(0, 5).map(lambda north: 52.5 + 0.0003 * north),
        st.integers(0, 5).map(lambda east: 13.4 + 0.0003 * east),
        demand if demands else st.just((0, np.inf)),
    )
    return st.lists(row, max_size=max_rows).map(
        lambda rows: points(*((user, at_s, lat, lon, *demand) for user, at_s, lat, lon, demand in rows))
    )


def shuffled(rows: st.SearchStrategy[Rows]) -> st.SearchStrategy[tuple[Rows, Rows]]:
    """Draw rows and the same rows in another order."""
    return rows.flatmap(
        lambda drawn: st.permutations(range(len(drawn))).map(lambda order: (drawn, drawn[np.array(order, dtype=int)]))
    )
