"""A release by patterns: what leaves is what the model gives, every row is accounted for, and counts tell of nobody."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from core.models.common.sequences import SequenceTrajectory
from core.models.p2ka.anonymize.p2ka import PatternRelease
from core.records.record import Rows
from core.release.outcome import Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.trajectory import Sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import limits, measured, messages, pattern_plan, release, released, visits, window_message

HOME, SHOP, PARK, LAKE = range(4)
TWO_WAYS = visits(
    *((user, 10 * at, place) for user in range(1, 5) for at, place in enumerate((HOME, SHOP))),
    *((user, 10 * at, place) for user in range(5, 9) for at, place in enumerate((HOME, PARK))),
    *((9, 10 * at, place) for at, place in enumerate((HOME, LAKE, PARK))),
)
"""Four people go one way, four another, and one makes a detour on the latter."""


def sequences(outcome: Release) -> list[tuple[tuple[str, ...], ...]]:
    return [one.locations for one in outcome.trajectories if isinstance(one, SequenceTrajectory)]


def test_a_detour_becomes_the_way_that_is_closest() -> None:
    """Who is alone on a path is released on the closest one that enough people share; the visit is suppressed."""
    outcome = released(TWO_WAYS, pattern_plan(k=4))
    found = sequences(outcome)
    assert sorted(found.count(one) for one in set(found)) == [4, 5]
    assert all(len(place) == 1 for one in found for place in one)
    assert (outcome.account.released, outcome.account.suppressed) == (18, 1)
    assert outcome.points_released == 18
    assert outcome.points_suppressed is None  # one person is behind it
    assert outcome.smallest_support == 4


def test_a_window_tells_its_model_and_places() -> None:
    """The windows message names model, parameters and each location as it is."""
    told = window_message(released(TWO_WAYS, pattern_plan(k=4)))
    assert (told["model"], told["parameters"]) == ("p2ka", {"k": 4, "alike": True})
    assert {len(place["members"]) for place in told["locations"]} == {1}
    assert told["information_loss"]["points_added"] == 0


def test_what_nobody_shares_is_not_released() -> None:
    """Where no beginning is shared by k people nothing is left."""
    rows = visits(*((user, 0, user % 4) for user in range(6)))
    outcome = release(rows, pattern_plan(k=5))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.NOTHING_LEFT


def test_a_release_that_breaks_the_guarantee_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier has the last word: sequences as they are, of people who are alone with them, never leave."""

    def as_they_are(sequences: Sequences, *_: object) -> PatternRelease:
        n = sequences.starts[1:] - sequences.starts[:-1]
        return PatternRelease(sequences=sequences, kept=n, suppressed=n * 0, added=n * 0, searched_support=None)

    monkeypatch.setattr("core.models.p2ka.release.p2ka", as_they_are)
    outcome = release(TWO_WAYS, pattern_plan(k=4))
    assert isinstance(outcome, ReleaseRefused)
    assert [message.topic for message in messages(outcome)] == ["windows"]


@settings(max_examples=examples(80))
@given(rows=strategies.visit_rows(max_users=8))
def test_every_row_is_somewhere_and_every_sequence_is_shared(rows: Rows) -> None:
    """Rows are released, suppressed, withheld or duplicates; with ``alike`` no sequence stands for fewer than k."""
    outcome = release(rows, pattern_plan(k=2, limits=limits(points_per_user=6, trajectory_length=4)))
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    if isinstance(outcome, Release):
        found = sequences(outcome)
        assert min(found.count(one) for one in found) >= 2
        assert json.loads(messages(outcome)[-1].value)["points_released"] == sum(map(len, found))


def test_measures_compare_with_the_raw_window() -> None:
    """SIM1, SIM2 and the shares of visits; none where nothing can be released."""
    figures = measured(TWO_WAYS, pattern_plan(k=4))
    assert figures is not None
    assert figures.visits_kept_share == pytest.approx(18 / 19)
    assert figures.visits_added_share == 0
    assert 0 < figures.sim1 <= 1
    assert measured(visits((1, 0, 0), (2, 0, 1)), pattern_plan(k=2)) is None


def test_only_patterns_up_to_the_longest_that_is_set_are_measured() -> None:
    """Three of four frequent locations are left, and the pattern of two of these: SIM2 counts what may be compared."""
    rows = visits(
        *((user, 300 * place, place) for user in range(4) for place in (0, 1)),
        *((user, 600, 2) for user in range(2, 6)),
        *((user, 0, 3) for user in range(4, 8)),
    )
    sizes = [measured(rows, pattern_plan(longest_pattern=n)).sim2 for n in (1, 2)]
    assert sizes == [pytest.approx(3 / 4), pytest.approx(4 / 5)]
