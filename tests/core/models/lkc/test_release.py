"""A release with slots of time: what leaves is what the model gives, slots are instants or times of day, and counts
tell of nobody."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.anonymize.suppress import LKCOptions, Suppression, suppress_pairs
from core.models.lkc.assemble import PairCandidate, PairWindow
from core.models.lkc.pairs import Cycle
from core.models.lkc.plan import LKCPlan
from core.models.lkc.released import PairTrajectory
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Account, Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.trajectory import Sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    START_MS,
    anonymized,
    hash_of,
    limits,
    measured,
    messages,
    pair_plan,
    profile_code,
    release,
    released,
    seal_of,
    visits,
    window_message,
)

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
NOTHING, SURGERY, ONCOLOGY = profile_code(), profile_code(ward="surgery"), profile_code(ward="oncology")

CROWD = visits(
    *((user, 0, PARK, SURGERY if user < 3 else NOTHING) for user in range(1, 9)),
    *((user, 310, user % 3, NOTHING) for user in range(1, 9)),
    (1, 20, PARK, NOTHING),
)
"""Eight people at the park, then two at the bakery and three each at the cinema and the market in the next five
minutes; two of them say once that they were in surgery. One is at the park twice."""


def said(outcome: Outcome) -> list[dict[str, Any]]:
    """What the messages of trajectories say."""
    return [json.loads(message.value) for message in messages(outcome)[:-1]]


def test_a_visit_that_too_few_share_is_suppressed_with_its_slot() -> None:
    """The bakery of two people goes, everything else stays; a place twice in a slot is one visit, two rows."""
    outcome = released(CROWD, pair_plan())
    assert outcome.account == Account(released=15, suppressed=2)
    assert (outcome.people, outcome.population, outcome.points_released) == (8, 8, 14)
    assert outcome.points_suppressed is None  # two people are behind it
    assert outcome.smallest_support == 3
    visited = Counter(tuple(map(tuple, one["visits"])) for one in said(outcome))
    at, then = "2026-11-27T21:00:00Z", "2026-11-27T21:05:00Z"
    assert visited == {
        ((at, "park"), (then, "cinema")): 3,
        ((at, "park"), (then, "market")): 3,
        ((at, "park"),): 2,
    }
    assert outcome.risks


def test_slots_are_instants_or_times_of_day() -> None:
    """In a window each slot is an instant; of a day it is a time without a date, whatever day the window has."""
    assert {begin for one in said(released(CROWD, pair_plan())) for begin, _ in one["visits"]} == {
        "2026-11-27T21:00:00Z",
        "2026-11-27T21:05:00Z",
    }
    by_day = released(CROWD, pair_plan(cycle=Cycle.DAY))
    assert {begin for one in said(by_day) for begin, _ in one["visits"]} == {"21:00:00", "21:05:00"}
    assert window_message(by_day)["parameters"]["slots_of"] == "day"


def test_an_instant_of_1970_keeps_its_date() -> None:
    """A window of the first day that Unix counts has instants all the same, no times of day."""
    rows = CROWD.copy()
    rows["ts_ms"] -= START_MS
    plan = pair_plan()
    seal = seal_of(rows, plan, start_ms=0)
    begins = {begin for one in said(release_window(seal, rows, plan)) for begin, _ in one["visits"]}
    assert begins == {"1970-01-01T00:00:00Z", "1970-01-01T00:05:00Z"}


def test_a_window_tells_its_model_parameters_and_measures() -> None:
    """The windows message names them all: l is what ``privacy.m`` sets."""
    told = window_message(released(CROWD, pair_plan(m=1, c=0.4, slot_ms=60_000)))
    assert told["model"] == "lkc"
    assert told["parameters"] == {"l": 1, "k": 3, "c": 0.4, "slot_ms": 60_000, "slots_of": "window", "horizon": 1}
    assert told["information_loss"].keys() == {"released_locations", "released_pairs", "highest_confidence"}
    assert told["information_loss"]["highest_confidence"] == 0.333333
    assert {len(place["members"]) for place in told["locations"]} == {1}


def test_a_person_carries_every_sensitive_value_of_their_rows() -> None:
    """Rows that disagree tell two values; what is no sensitive value, or not told, leaves no trace."""
    rows = visits(*((user, 0, PARK, NOTHING) for user in range(8)), (0, 1, PARK, SURGERY), (0, 2, PARK, ONCOLOGY))
    found = sorted(one["sensitive"] for one in said(released(rows, pair_plan())))
    assert found == [[]] * 7 + [["oncology", "surgery"]]
    without = said(released(rows, pair_plan(profile=None, sensitive_field=None)))
    assert [one["sensitive"] for one in without] == [[]] * 8


def test_too_sure_a_value_costs_the_visit_that_tells_it() -> None:
    """Of the three at the cinema two were in surgery: above one half, so the cinema goes."""
    rows = CROWD.copy()
    at_cinema = np.isin(rows["user"], [hash_of(1), hash_of(4)])
    rows["profile"] = NOTHING
    rows["profile"][at_cinema] = SURGERY
    places = {name for one in said(released(rows, pair_plan())) for _, name in one["visits"]}
    assert places == {"park", "market"}
    assert places | {"cinema"} == {name for one in said(released(rows, pair_plan(c=0.7))) for _, name in one["visits"]}


def given_by(rows: Rows, plan: LKCPlan) -> tuple[Counter[tuple[object, ...]], int]:
    """What the model gives: trajectories by name with what comes with them, and the rows that they stand for."""
    window, _ = anonymized(rows, plan)
    kept = suppress_pairs(window.sequences, window.values, plan.guarantee, sensitive=(0, 1), options=plan.options).kept
    found = window.candidate(kept)
    begins = plan.slots.begins_ms
    trajectories = [
        tuple((int(begins(np.array([slot]), start_ms=START_MS)[0]), name) for slot, name in one)
        for one in found.trajectories
    ]
    values = [tuple(plan.sensitive_values[code] for code in codes) for codes in found.values]
    return Counter(zip(trajectories, values, strict=True)), int(window.stands_for[kept].sum())


@settings(max_examples=examples(80))
@given(rows=strategies.told_rows(max_users=8), cycle=st.sampled_from(Cycle))
def test_what_leaves_is_what_the_model_gives(rows: Rows, cycle: Cycle) -> None:
    """Each trajectory leaves as it is given, with the values of its person, and every row is somewhere."""
    plan = pair_plan(k=2, cycle=cycle, limits=limits(points_per_user=6, trajectory_length=4))
    outcome = release(rows, plan)
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    assert not isinstance(outcome, ReleaseRefused)
    if isinstance(outcome, Release):
        left = [one for one in outcome.trajectories if isinstance(one, PairTrajectory)]
        assert (Counter((one.visits, one.sensitive) for one in left), account.released) == given_by(rows, plan)


def everything(sequences: Sequences, *_: object, **__: object) -> Suppression:
    """Suppress nothing."""
    return Suppression(
        kept=np.ones(len(sequences.locations), np.bool_),
        suppressed=(),
        unavoidable=0,
        violating=0,
        frequent=None,
        frequent_kept=None,
        complete=True,
        cut=0,
    )


def backwards(window: PairWindow, kept: np.ndarray, *_: object) -> PairCandidate:
    """Write trajectories down from their ends."""
    found = PUBLISHED(window, kept)
    return PairCandidate(users=found.users, trajectories=[one[::-1] for one in found.trajectories], values=found.values)


PUBLISHED = PairWindow.candidate


@pytest.mark.parametrize(
    ("plan", "name", "broken", "counts"),
    [
        (pair_plan(k=3, m=1), "core.models.lkc.release.suppress_pairs", everything, (1, 0, 0)),  # two at the bakery
        (
            pair_plan(k=2, m=1, c=0.3),
            "core.models.lkc.release.suppress_pairs",
            everything,
            (0, 2, 0),
        ),  # cinema and market
        (pair_plan(k=2, m=1), "core.models.lkc.assemble.PairWindow.candidate", backwards, (0, 0, 8)),
    ],
)
def test_a_candidate_that_breaks_the_guarantee_is_refused(
    plan: LKCPlan, name: str, broken: object, counts: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part of the promise by itself: the finding counts what is broken, and only that the window is withheld
    leaves."""
    monkeypatch.setattr(name, broken)
    outcome = release(CROWD, plan)
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == (
        f"{counts[0]} sequences of at most 1 pairs have support below k={plan.guarantee.k}, {counts[1]} reveal a "
        f"sensitive value with confidence above {plan.guarantee.c:g}, {counts[2]} trajectories are not in order"
    )
    assert [message.topic for message in messages(outcome)] == ["windows"]
    assert outcome.account == Account(withheld=len(CROWD))


def test_one_person_suppressed_is_not_counted_in_public() -> None:
    """Somebody alone at the museum: neither the population nor the visits tell that there was somebody."""
    rows = np.concatenate([CROWD[CROWD["location"] != BAKERY], visits((9, 0, MUSEUM, NOTHING))])
    outcome = released(rows, pair_plan())
    assert outcome.account.suppressed == 1
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (8, None, None)


def test_a_window_where_nothing_is_left_is_withheld() -> None:
    """Too few people, or nobody alike: the reason is told, and no more."""
    for rows, reason in (
        (visits((1, 0, PARK), (2, 0, PARK)), WithholdReason.TOO_FEW_PEOPLE),
        (visits(*((user, 0, user, NOTHING) for user in range(5))), WithholdReason.NOTHING_LEFT),
    ):
        outcome = release(rows, pair_plan())
        assert isinstance(outcome, Withheld)
        assert outcome.reason is reason
        assert outcome.account == Account(withheld=len(rows))


def test_measures_compare_with_the_raw_window() -> None:
    """Shares of the visits, pairs, people and frequent sequences that are left; none where nothing is released."""
    plan = pair_plan()
    figures = measured(CROWD, plan)
    assert figures is not None
    assert figures.visits_kept_share == pytest.approx(15 / 17)
    assert figures.pairs_kept_share == pytest.approx(3 / 4)
    assert figures.people_kept_share == 1.0
    assert figures.sequences_kept_share == 1.0
    few = CROWD[:2]
    assert measured(few, plan) is None


def test_only_sequences_up_to_the_longest_that_is_set_are_measured() -> None:
    """Three of four frequent pairs are left, and a sequence of two; no sequence has a K' of all people."""
    rows = visits(
        *((user, 300 * place, place) for user in range(4) for place in (0, 1)),
        *((user, 600, 2) for user in range(2, 6)),
        *((user, 0, 3) for user in range(4, 8)),
    )
    kept = [measured(rows, pair_plan(longest_sequence=n)).sequences_kept_share for n in (1, 2)]
    assert kept == [pytest.approx(3 / 4), pytest.approx(4 / 5)]
    assert np.isnan(measured(rows, pair_plan(options=LKCOptions(min_support_percent=100))).sequences_kept_share)
