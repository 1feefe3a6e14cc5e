"""Least-loss and the choice between models through a whole window: what is chosen, what it costs, what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.sequences import SequenceTrajectory
from core.models.km.algorithms import Auto, LeastLoss, SDSeqAnon, SeqAnon, SequenceAlgorithm, embeddings
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions
from core.models.km.anonymize.least_loss.prices import Prices, window_loss_m
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.places.meaning import OwnTaxonomy
from core.records.record import Rows
from core.release.outcome import Account, Release, Withheld, WithholdReason
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    VENUES,
    Planted,
    limits,
    messages,
    release,
    released,
    sequence_plan,
    visits,
    window_message,
)
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, as_sequences, crowds

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
PRICES = Prices(suppression=1.0, split=0.25)
LEAST = LeastLoss(LeastLossOptions(prices=PRICES, max_suppressed_percent=20.0, max_split_percent=100.0))
AUTO = Auto((LEAST, SeqAnon(), SDSeqAnon(OwnTaxonomy(VENUES))), PRICES, 10**6)
MODELS: list[SequenceAlgorithm] = [LEAST, AUTO]

Anonymize = Callable[[SequenceWindow, KmAnonymity], Generalization | None]


def there_and_back(back: int) -> Rows:
    """Eight people go from the park to the station, some of another eight back; the rest of these are in the park."""
    there = [(user, 10 * step, place) for user in range(1, 9) for step, place in enumerate((PARK, STATION))]
    others = [(user, 10 * step, place) for user in range(9, 9 + back) for step, place in enumerate((STATION, PARK))]
    return visits(*there, *others, *((user, 0, PARK) for user in range(9 + back, 17)))


ROWS = there_and_back(2)


def window_of(rows: Rows) -> SequenceWindow:
    """Assemble it."""
    return assemble_sequences(rows, VENUES, limits())


def losing(n_suppressed: int, tried: list[int] | None = None) -> Anonymize:
    """Suppress so many visits, and take note of it."""

    def anonymize(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        if tried is not None:
            tried.append(n_suppressed)
        kept = np.arange(len(window.sequences.locations)) >= n_suppressed
        return Generalization(group_of=np.arange(len(window.vocabulary.ids)), kept=kept, merges=0)

    return anonymize


def fails(window: SequenceWindow, guarantee: KmAnonymity) -> None:
    """Find no way."""


def choose(*candidates: SequenceAlgorithm, max_work: int = 10**9, prices: Prices = PRICES) -> Generalization | None:
    """Let candidates compete over the rows."""
    return Auto(candidates, prices, max_work).anonymize(window_of(ROWS), KmAnonymity(k=3, m=2))


# ---------------------------------------------------------------- the choice


@pytest.mark.parametrize("losses", [(3, 1, 2), (1, 2, 3), (2, 3, 1), (2, 1, 1)])
def test_the_one_that_loses_least_is_chosen(losses: tuple[int, ...]) -> None:
    """
    The first of several alike; the comparison tells all by their losses, the chosen one first.
    """
    names = ("a", "b", "c")
    candidates = [Planted(losing(n), model=name) for name, n in zip(names, losses, strict=True)]
    result = choose(*candidates)
    assert result is not None
    assert np.count_nonzero(~result.kept) == min(losses)
    window = window_of(ROWS)
    expected = {}
    for name, n in sorted(zip(names, losses, strict=True), key=lambda one: one[1]):
        other = losing(n)(window, KmAnonymity(k=3, m=2))
        assert other is not None
        expected[name] = window_loss_m(window.sequences, window.vocabulary.xy_m, other, PRICES)
    assert list(result.comparison.items()) == list(expected.items())


@settings(max_examples=examples(60))
@given(rows=strategies.visit_rows(max_users=7), k=st.integers(2, 4), m=st.integers(1, 3))
def test_no_candidate_would_have_lost_less(rows: Rows, k: int, m: int) -> None:
    """
    By the same prices, over any window.
    """
    window, guarantee = window_of(rows), KmAnonymity(k=k, m=m)
    if not window.n_users:
        return
    result = AUTO.anonymize(window, guarantee)
    assert result is not None
    sequences, xy_m = window.sequences, window.vocabulary.xy_m
    lost_m = window_loss_m(sequences, xy_m, result, PRICES)
    for candidate in AUTO.candidates:
        other = candidate.anonymize(window, guarantee)
        assert other is not None
        assert lost_m <= window_loss_m(sequences, xy_m, other, PRICES) == result.comparison[candidate.model]
    assert lost_m == next(iter(result.comparison.values())) == min(result.comparison.values())


def test_a_candidate_that_finds_no_way_is_left_out() -> None:
    """
    Where none does, there is nothing to release.
    """
    result = choose(Planted(fails, model="a"), Planted(losing(1), model="b"))
    assert result is not None
    assert list(result.comparison) == ["b"]
    assert choose(Planted(fails, model="a"), Planted(fails, model="b")) is None
    outcome = release(ROWS, sequence_plan(algorithm=Auto((Planted(fails),), PRICES, 1)))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.CONSTRAINTS_NOT_SATISFIED


def test_as_many_are_tried_as_the_work_allows() -> None:
    """
    The first one always is; each of the others where its embeddings fit in as well.
    """
    work = embeddings(window_of(ROWS).sequences, 2)
    for max_work, expected in [(1, 1), (2 * work - 1, 1), (2 * work, 2), (3 * work - 1, 2), (3 * work, 3), (10**9, 3)]:
        tried: list[int] = []
        candidates = [Planted(losing(n, tried), model=str(n)) for n in (3, 2, 1)]
        choose(*candidates, max_work=max_work)
        assert tried == [3, 2, 1][:expected]


@given(crowd=crowds(), m=st.integers(1, 7))
def test_embeddings_are_counted(crowd: Crowd, m: int) -> None:
    """
    All ways to choose 1 to m visits of a trajectory, and none for an m beyond its length.
    """
    slow = sum(1 for _, trajectory in crowd for size in range(1, m + 1) for _ in combinations(trajectory, size))
    assert embeddings(as_sequences(crowd), m) == slow
    if m > 5:
        assert embeddings(as_sequences(crowd), 10**12) == slow


# ---------------------------------------------------------------- releases


def sent(outcome: Release) -> list[dict[str, Any]]:
    """The messages but for the window's, decoded."""
    return [json.loads(message.value) for message in messages(outcome)[:-1]]


@pytest.mark.parametrize("algorithm", MODELS)
@settings(max_examples=examples(60))
@given(rows=strategies.visit_rows(max_users=8), k=st.integers(2, 4), m=st.integers(1, 4))
def test_no_window_is_refused(algorithm: SequenceAlgorithm, rows: Rows, k: int, m: int) -> None:
    """
    What is made is verified, or withheld where nothing is left; every row is accounted for, and the same bytes leave
    twice.
    """
    plan = sequence_plan(k=k, m=m, algorithm=algorithm)
    outcome = release(rows, plan)
    assert isinstance(outcome, Release) or outcome.reason in {
        WithholdReason.NOTHING_LEFT,
        WithholdReason.TOO_FEW_PEOPLE,
    }
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    assert messages(outcome) == messages(release(rows[::-1], plan))
    if isinstance(outcome, Release):
        numbers: dict[tuple[str, ...], int] = {}
        alone: Crowd = [
            (i, tuple(numbers.setdefault(tuple(place), len(numbers)) for place in one["locations"]))
            for i, one in enumerate(sent(outcome))
        ]
        # Whoever takes each pseudonym for a person counts no fewer than there are.
        assert oracles.is_km_anonymous(alone, k, m)
        assert all(trajectory for _, trajectory in alone)


@pytest.mark.parametrize("algorithm", MODELS)
def test_the_pieces_of_a_split_trajectory_have_pseudonyms_of_their_own(algorithm: SequenceAlgorithm) -> None:
    """
    Two people go back, which is two fewer than three: both are split, and whose pieces belong together is not told.
    """
    outcome = released(ROWS, sequence_plan(algorithm=algorithm))
    told = sent(outcome)
    assert sorted(one["locations"] for one in told) == sorted(
        8 * [[["park"], ["station"]]] + 2 * [[["station"]], [["park"]]] + 6 * [[["park"]]]
    )
    assert len({one["pseudonym"] for one in told}) == 18
    assert outcome.account == Account(released=len(ROWS))
    assert outcome.points_suppressed == 0
    content = window_message(outcome)
    assert content["verified"] is True
    assert not [name for name in content if "split" in name]


@pytest.mark.parametrize("algorithm", MODELS)
@pytest.mark.parametrize(("k", "back"), [(3, 1), (3, 2), (5, 3), (5, 4)])
def test_fewer_than_k_split_people_are_not_counted(algorithm: SequenceAlgorithm, k: int, back: int) -> None:
    """
    Trajectories can be counted: beside the number of people, that would tell how many were split.
    """
    outcome = released(there_and_back(back), sequence_plan(k=k, algorithm=algorithm))
    assert len(outcome.trajectories) == 16 + back
    content = window_message(outcome)
    assert (content["people"], content["population"], content["smallest_support"]) == (None, None, k)


def test_as_many_as_k_people_may_be_counted() -> None:
    """
    A planted model splits some: that three people have two trajectories singles none of them out.
    """

    def anonymize(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        starts = window.sequences.starts[:-1][np.diff(window.sequences.starts) == 2]
        return Generalization(
            group_of=np.arange(len(window.vocabulary.ids)),
            kept=np.ones(len(window.sequences.locations), np.bool_),
            merges=0,
            splits=starts[:n_splits] + 1,
        )

    for n_splits, people in ((0, 16), (2, None), (3, 16), (5, 16), (8, 16)):
        outcome = released(there_and_back(0), sequence_plan(algorithm=Planted(anonymize)))
        assert (len(outcome.trajectories), outcome.people) == (16 + n_splits, people)


def test_a_split_that_breaks_the_promise_is_refused() -> None:
    """
    The verifier sees the pieces: one of three people is split, and two have the order that is left.
    """

    def anonymize(window: SequenceWindow, guarantee: KmAnonymity) -> Generalization:
        kept = np.ones(len(window.sequences.locations), np.bool_)
        return Generalization(group_of=np.arange(2), kept=kept, merges=0, splits=np.array([1]))

    rows = visits(*((user, 10 * step, place) for user in range(3) for step, place in enumerate((PARK, STATION))))
    outcome = release(rows, sequence_plan(algorithm=Planted(anonymize)))
    assert isinstance(outcome, Withheld)
    assert outcome.reason is WithholdReason.VERIFICATION_FAILED


@pytest.mark.parametrize("algorithm", MODELS)
def test_the_published_loss_is_that_of_the_release(algorithm: SequenceAlgorithm) -> None:
    """
    Two windows, of split people in the one and of others who were at one place each in the other, are released as the
    same trajectories: their figures agree.
    """
    plan = sequence_plan(algorithm=algorithm)
    apart = [(user, 10 * step, place) for user in range(1, 9) for step, place in enumerate((PARK, STATION))]
    apart += [(user, 0, PARK) for user in range(9, 17)] + [(17, 0, STATION), (18, 0, STATION)]
    one, other = released(ROWS, plan), released(visits(*apart), plan)
    told, told_other = (sorted(message["locations"] for message in sent(outcome)) for outcome in (one, other))
    assert told == told_other
    assert one.information_loss == other.information_loss
    assert one.locations == other.locations


@pytest.mark.parametrize("algorithm", [LEAST, AUTO])
def test_where_a_suppressed_visit_was_changes_no_figure(algorithm: SequenceAlgorithm) -> None:
    """
    One visit of 26 goes, to the bakery or far from it: what is published of the release does not tell.
    """
    outcomes = []
    for place in (BAKERY, MUSEUM):
        rows = visits(
            *((user, 10 * step, there) for user in range(12) for step, there in enumerate((PARK, STATION))),
            (12, 0, PARK),
            (12, 10, place),
        )
        outcome = released(rows, sequence_plan(algorithm=algorithm))
        assert outcome.account == Account(released=25, suppressed=1)
        content = window_message(outcome)
        for name in ("release_id", "window"):
            content.pop(name, None)
        outcomes.append(content)
    assert outcomes[0] == outcomes[1]


def test_parameters_tell_prices_and_budgets() -> None:
    """
    All of them, of a window that is withheld as well.
    """
    for rows in (ROWS, ROWS[:1]):
        content = window_message(release(rows, sequence_plan(algorithm=LEAST)))
        assert content["model"] == "least-loss"
        assert content["parameters"] == {
            "k": 3, "m": 2, "suppression_price": 1.0, "split_price": 0.25, "max_suppressed": 20.0, "max_split": 100.0,
        }  # fmt: skip


def test_a_release_by_auto_tells_what_was_compared_and_chosen() -> None:
    """
    The losses are the operator's alone; a withheld window tells the candidates and nothing more.
    """
    plan = sequence_plan(algorithm=AUTO)
    withheld = window_message(release(ROWS[:1], plan))
    assert withheld["model"] == "auto"
    assert withheld["parameters"] == plan.parameters
    assert withheld["parameters"]["candidates"] == "least-loss, seqanon, sd-seqanon"
    told = window_message(released(ROWS, plan))["parameters"]
    assert {name: told[name] for name in plan.parameters} == plan.parameters
    result = AUTO.anonymize(window_of(ROWS), plan.guarantee)
    assert result is not None
    assert told.keys() - plan.parameters.keys() == {"chosen"}
    assert told["chosen"] == "least-loss"
    assert released(ROWS, plan).compared == result.comparison
    assert len(result.comparison) == 3


def test_every_trajectory_is_a_sequence_whatever_is_chosen() -> None:
    """
    The same kind of message as by any model of the family.
    """
    outcome = released(ROWS, sequence_plan(algorithm=AUTO))
    assert all(isinstance(one, SequenceTrajectory) for one in outcome.trajectories)
