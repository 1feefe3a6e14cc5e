"""Stops through the whole path of a window: released as check-ins would be, and handed on whatever becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.runs import TrackPoint, stops_of_track
from core.models.common.noise import LaplaceNoise
from core.models.common.plan import Plan
from core.pipeline import count_window, release_window
from core.places.locate import MetricGrid
from core.records.record import Kind, Rows
from core.release.outcome import Outcome, Release, WithholdReason
from core.trajectories.stops import StopRule
from core.windows.history import NO_HISTORY, History, Roster
from core.windows.seal import Seal
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders.windows import START_MS, WINDOW_MS, flow_plan, pattern_plan, points, sequence_plan, set_plan, visits

MINUTE_MS = 60_000
GRID = MetricGrid(1000.0)
RULE = StopRule(radius_m=100.0, min_duration_ms=4 * MINUTE_MS, max_gap_ms=30 * MINUTE_MS)
N_WINDOWS = 4
PLACES = [(48.2, 16.3), (48.22, 16.3), (48.2, 16.33)]

PLANS = [
    sequence_plan(k=2, locator=GRID, stop_rule=RULE),
    pattern_plan(k=2, locator=GRID, stop_rule=RULE),
    set_plan(k=2, locator=GRID, stop_rule=RULE),
]

Track = list[tuple[int, int]]
"""Minute and place of each point of somebody, ascending."""


def rows_of(people: dict[int, Track]) -> Rows:
    return points(*((user, 60 * minute, *PLACES[place]) for user, track in people.items() for minute, place in track))


def seal_of(window: int, rows: Rows, plan: Plan, *, kind: Kind = Kind.STOPS) -> Seal:
    start_ms = START_MS + window * WINDOW_MS
    key = WindowKey(start_ms + WINDOW_MS, kind, "all", start_ms)
    return plan.seal(key, last_offset=7, n_rows=len(rows), writer="test")


def released_in_turn(rows: Rows, plan: Plan) -> list[Outcome]:
    """The outcome of every window, each with the history of those before it."""
    found: list[Outcome] = []
    rosters: list[Roster] = []
    for window in range(N_WINDOWS):
        start_ms = START_MS + window * WINDOW_MS
        part = rows[(rows["ts_ms"] >= start_ms) & (rows["ts_ms"] < start_ms + WINDOW_MS)]
        key = WindowKey(start_ms + WINDOW_MS, Kind.STOPS, "all", start_ms)
        after = plan.after(History.of(key, rosters, horizon=1))
        found.append(release_window(seal_of(window, part, after), part, after))
        assert found[-1].account.rows == found[-1].account.condensed == len(part)
        assert found[-1].roster is not None
        rosters.append(found[-1].roster)
    return found


@st.composite
def crowds(draw: st.DrawFn) -> dict[int, Track]:
    """Up to six people who stay at one of three places for some minutes, then go to another one."""
    found: dict[int, Track] = {}
    for user in range(1, draw(st.integers(2, 6)) + 1):
        stays = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=6))
        places = [place for place, minutes in stays for _ in range(minutes)]
        found[user] = list(enumerate(places[: N_WINDOWS * WINDOW_MS // MINUTE_MS]))
    return found


@settings(max_examples=examples(120))
@given(people=crowds(), plan=st.sampled_from(PLANS))
def test_stops_are_released_as_check_ins_at_their_ends_would_be(people: dict[int, Track], plan: Plan) -> None:
    """
    For every window: the release of the stops that the whole track has, found by the oracle, as check-ins.
    """
    check(people, plan)


def test_a_crowd_that_stops_twice_is_released_in_the_window_in_which_it_goes_on() -> None:
    """
    Stops longer than a window, told in the second and in the third one.
    """
    track = [(minute, 0 if minute < 20 else 1 if minute < 40 else 2) for minute in range(50)]
    outcomes = check(dict.fromkeys(range(5), track), PLANS[0])
    assert [outcome.account.released for outcome in outcomes] == [0, 5, 5, 0]


def check(people: dict[int, Track], plan: Plan) -> list[Outcome]:
    """Compare the release of each window with that of check-ins."""
    always_moving = [(minute, minute % 3) for minute in range(N_WINDOWS * WINDOW_MS // MINUTE_MS)]
    people = {**people, 99: always_moving}  # so that every window has points
    rows = rows_of(people)
    end_ms = START_MS + N_WINDOWS * WINDOW_MS
    stops = [
        (user, stop.ended_ms, stop.lat, stop.lon)
        for user, track in people.items()
        for stop in stops_of_track(
            [TrackPoint(START_MS + minute * MINUTE_MS, *PLACES[place], 0) for minute, place in track],
            radius_m=RULE.radius_m,
            min_duration_ms=RULE.min_duration_ms,
            max_gap_ms=RULE.max_gap_ms,
            until_ms=end_ms,
        )
    ]
    outcomes = released_in_turn(rows, plan)
    for window, outcome in enumerate(outcomes):
        start_ms = START_MS + window * WINDOW_MS
        ended = [one for one in stops if start_ms <= one[1] < start_ms + WINDOW_MS]
        as_visits = visits(*((user, (ts_ms - START_MS) // 1000, 0) for user, ts_ms, _, _ in ended))
        lat, lon = np.array([one[2] for one in ended]), np.array([one[3] for one in ended])
        as_visits["location"], _ = GRID.locate(lat, lon, [None] * len(ended))
        if not len(as_visits):
            assert getattr(outcome, "reason", None) is WithholdReason.TOO_FEW_PEOPLE
            continue
        alone = replace(plan, stop_rule=None, history=NO_HISTORY)
        expected = release_window(seal_of(window, as_visits, alone), as_visits, alone)
        assert type(outcome) is type(expected)
        if isinstance(outcome, Release) and isinstance(expected, Release):
            assert [one.content() for one in outcome.trajectories] == [one.content() for one in expected.trajectories]
            assert outcome.locations == expected.locations
            assert outcome.counts == expected.counts
        assert (outcome.account.released, outcome.account.suppressed, outcome.account.withheld) == (
            expected.account.released,
            expected.account.suppressed,
            expected.account.withheld,
        )
    return outcomes


STAY = {user: [(minute, 0) for minute in range(0, 20, 2)] for user in range(1, 6)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"digest": "other"}, WithholdReason.SETTINGS_CHANGED),
        ({"n_rows": 3}, WithholdReason.RECORDS_MISSING),
        ({"history": "other"}, WithholdReason.HISTORY_MISSING),
        ({}, WithholdReason.TOO_FEW_PEOPLE),
    ],
)
def test_a_window_that_is_withheld_hands_on_where_people_are(changes: dict[str, Any], reason: WithholdReason) -> None:
    """
    Otherwise a stop that began before it would begin after it.
    """
    plan = PLANS[0]
    rows = rows_of(STAY)
    rows = rows[rows["ts_ms"] < START_MS + WINDOW_MS]
    outcome = release_window(replace(seal_of(0, rows, plan), **changes), rows, plan)
    assert getattr(outcome, "reason", None) is reason
    assert outcome.roster is not None
    assert sorted(outcome.roster.carried["user"].tolist()) == sorted(set(rows["user"].tolist()))
    assert (outcome.roster.carried["first_ms"] == START_MS).all()


@pytest.mark.parametrize("people", [{}, {1: [(minute, 0) for minute in range(6)] + [(6, 1)]}])
def test_with_noise_a_window_without_stops_is_withheld_as_one_with_few(people: dict[int, Track]) -> None:
    """
    The reason does not tell whether nobody stopped, or somebody did.
    """
    noise = LaplaceNoise(epsilon=1.0, delta=1e-6, most_counts=4)
    plan = flow_plan(k=2, locator=GRID, stop_rule=RULE, noise=noise)
    rows = rows_of({**people, 99: [(minute, minute % 3) for minute in range(10)]})
    seal = seal_of(0, rows, plan)
    counts = count_window(seal, rows, plan)
    outcome = release_window(seal, rows, replace(plan, noisy={}))
    assert counts == {}
    assert getattr(outcome, "reason", None) is WithholdReason.NOTHING_LEFT


def test_nothing_of_a_run_is_shown() -> None:
    """
    A roster can be in a traceback or a log.
    """
    outcome = released_in_turn(rows_of(STAY), PLANS[0])[0]
    assert outcome.roster is not None
    assert len(outcome.roster.carried) == len(STAY)
    assert "48.2" not in repr(outcome.roster)
    assert "48.2" not in repr(outcome)
