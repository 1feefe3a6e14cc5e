"""Stops: found window by window, they are those of the whole track."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.runs import TrackPoint, stops_of_track
from core.places.locate import Area, AreaGrid, Locator, MetricGrid
from core.records.arrays import FloatArray, IntArray
from core.records.record import POINT, RUN, Rows
from core.trajectories.stops import StopRule
from core.windows.history import NO_RUNS
from tests.budgets import examples

MINUTE_MS = 60_000
Track = list[tuple[float, float, float]]
"""Minute, latitude and longitude of each point of somebody."""
RULE = StopRule(radius_m=100.0, min_duration_ms=5 * MINUTE_MS, max_gap_ms=20 * MINUTE_MS)
GRID = MetricGrid(1000.0)
HERE, THERE = (48.2, 16.3), (48.3, 16.4)


def rows_of(people: dict[int, Track]) -> Rows:
    """Points of people: minute, latitude and longitude."""
    found = [(user, round(at * MINUTE_MS), lat, lon) for user, track in people.items() for at, lat, lon in track]
    rows = np.zeros(len(found), POINT)
    for i, (user, ts_ms, lat, lon) in enumerate(found):
        rows[i] = (i, user, ts_ms, lat, lon, 0, np.inf)
    return rows


def visits_of(
    rows: Rows, size_ms: int, *, rule: StopRule = RULE, locator: Locator = GRID, until_ms: int
) -> list[tuple[int, int, int]]:
    """User, time and location of every visit, found window by window; windows without points are left out."""
    carried: Rows = NO_RUNS
    found: list[tuple[int, int, int]] = []
    for start_ms in range(0, until_ms, size_ms):
        part = rows[(rows["ts_ms"] >= start_ms) & (rows["ts_ms"] < start_ms + size_ms)]
        if len(part):
            result = rule.find(part, carried, locator, start_ms=start_ms, end_ms=start_ms + size_ms)
            carried = result.runs
            found += zip(*(result.visits[name].tolist() for name in ("user", "ts_ms", "location")), strict=True)
            assert all(
                start_ms <= ts_ms < start_ms + size_ms for _, ts_ms, _ in found[len(found) - len(result.visits) :]
            )
    return found


def stay(place: tuple[float, float], minutes: Sequence[float]) -> Track:
    return [(minute, *place) for minute in minutes]


@st.composite
def people(draw: st.DrawFn) -> dict[int, Track]:
    """Up to four people who stay and go, in whole minutes up to three hours."""
    found: dict[int, Track] = {}
    for user in range(1, draw(st.integers(1, 4)) + 1):
        minutes = sorted(draw(st.sets(st.integers(0, 179), max_size=40)))
        places = st.sampled_from([HERE, (48.2005, 16.3), (48.2012, 16.3), THERE])
        found[user] = [(minute, *draw(places)) for minute in minutes]
    return found


@settings(max_examples=examples(300))
@given(people=people(), size=st.sampled_from([7, 15, 60, 180]), rng=st.randoms(use_true_random=False))
def test_windows_find_the_stops_of_the_whole_track(
    people: dict[int, Track], size: int, rng: np.random.Generator
) -> None:
    """
    However the feed is cut into windows, each stop is told once, at its place, in the window in which it ends: with the
    first point elsewhere, or when silence is too long. The order of rows changes nothing.
    """
    rows = rows_of(people)
    order = list(range(len(rows)))
    rng.shuffle(order)
    # Somebody is heard of in every window, so that silence can end stops in it.
    clock = rows_of({99: [(minute, -minute / 2.0, 100.0) for minute in range(180)]})
    found = visits_of(np.concatenate((rows[order], clock)), size * MINUTE_MS, until_ms=180 * MINUTE_MS)
    expected = []
    for user, track in people.items():
        whole = [TrackPoint(round(minute * MINUTE_MS), lat, lon, 0) for minute, lat, lon in track]
        until_ms = -(-180 // size) * size * MINUTE_MS
        for stop in stops_of_track(
            whole,
            radius_m=RULE.radius_m,
            min_duration_ms=RULE.min_duration_ms,
            max_gap_ms=RULE.max_gap_ms,
            until_ms=until_ms,
        ):
            place, _ = GRID.locate(np.array([stop.lat]), np.array([stop.lon]), [None])
            expected.append((user, stop.ended_ms, int(place[0])))
    assert sorted(one for one in found if one[0] != 99) == sorted(expected)


def test_a_stop_over_three_windows_is_told_once_where_it_ends() -> None:
    """
    Somebody arrives in one window, stays through the next, and leaves in the third.
    """
    rows = rows_of({1: [*stay(HERE, range(10, 40, 2)), *stay(THERE, [41])]})
    assert [
        (user, ts_ms // MINUTE_MS) for user, ts_ms, _ in visits_of(rows, 15 * MINUTE_MS, until_ms=45 * MINUTE_MS)
    ] == [(1, 41)]


def test_silence_ends_a_stop_in_the_window_in_which_it_is_too_long() -> None:
    """
    A phone falls silent during a stop. Others are still heard of: the stop is told when the gap is too long.
    """
    rows = rows_of({1: stay(HERE, range(0, 12, 2)), 2: stay(THERE, range(0, 60, 5))})
    found = visits_of(rows, 15 * MINUTE_MS, until_ms=60 * MINUTE_MS)
    assert (1, 10 + 20) in [(user, ts_ms // MINUTE_MS) for user, ts_ms, _ in found]


def test_after_windows_without_points_a_stop_is_told_in_the_next_one() -> None:
    """
    Nobody is heard of for hours: there are no windows in between, and the first one after them tells what has ended.
    """
    rows = rows_of({1: stay(HERE, range(0, 12, 2)), 2: stay(THERE, [600])})
    assert visits_of(rows, 15 * MINUTE_MS, until_ms=615 * MINUTE_MS)[0][:2] == (1, 600 * MINUTE_MS)


def test_what_is_carried_does_not_grow_with_the_points_of_a_stop() -> None:
    """
    One row for each person who may be stopping, after ten points or ten thousand; none for those who are silent.
    """
    window = {"start_ms": 0, "end_ms": 60 * MINUTE_MS}
    few = RULE.find(rows_of({1: stay(HERE, range(50, 60))}), NO_RUNS, GRID, **window)
    many = RULE.find(rows_of({1: stay(HERE, np.arange(50, 60, 0.001).tolist())}), NO_RUNS, GRID, **window)
    silent = RULE.find(rows_of({1: stay(HERE, range(5, 15))}), NO_RUNS, GRID, **window)
    assert (len(few.runs), len(many.runs), len(silent.runs)) == (1, 1, 0)
    assert many.runs["n"][0] == 10_000
    assert few.runs.dtype == RUN


class Halves:
    """Two places, west and east of a line, and nowhere in the far north."""

    needs_position = True

    def locate(self, lat: FloatArray, lon: FloatArray, venues: Sequence[str | None]) -> tuple[IntArray, np.ndarray]:
        return (lon >= 16.35).astype(np.int64), lat < 60


def test_by_place_a_stop_lasts_as_long_as_somebody_is_in_one_place() -> None:
    """
    Somebody drives 5 km through the western place, then through the eastern one, and beyond all places. A gap that
    is too long divides a visit; it is told at 45, because nobody is heard of in the window with 41.
    """
    rule = StopRule(radius_m=1.0, min_duration_ms=0, max_gap_ms=20 * MINUTE_MS, by_place=True)
    drive = [(minute, 48.2, 16.3 + minute / 200) for minute in range(20)]
    rows = rows_of({1: [*drive, (20, 70.0, 16.3), (21, 48.2, 16.3), (45, 48.2, 16.3), (46, 70.0, 16.3)]})
    found = visits_of(rows, 15 * MINUTE_MS, rule=rule, locator=Halves(), until_ms=60 * MINUTE_MS)  # type: ignore[arg-type]
    assert [(ts_ms // MINUTE_MS, place) for _, ts_ms, place in found] == [(10, 0), (20, 1), (45, 0), (46, 0)]


def test_stops_outside_all_places_are_counted() -> None:
    """
    A stop outside the area of a grid has no location.
    """
    grid = AreaGrid(Area(south=48.0, west=16.0, north=48.25, east=16.35), rows=4, columns=4)
    rows = rows_of({1: [*stay(THERE, range(10)), *stay(HERE, range(10, 20)), *stay(THERE, [21])]})
    found = RULE.find(rows, NO_RUNS, grid, start_ms=0, end_ms=30 * MINUTE_MS)
    assert (len(found.visits), found.n_nowhere) == (1, 1)


@pytest.mark.parametrize("name", ["radius_m", "min_duration_ms", "max_gap_ms"])
def test_a_rule_is_not_negative(name: str) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        StopRule(**{"radius_m": 1.0, "min_duration_ms": 1, "max_gap_ms": 1} | {name: -1})  # type: ignore[arg-type]
