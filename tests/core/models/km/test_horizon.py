"""k^m-anonymity over a horizon: what joined trajectories show, how it is kept, and what later windows remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.common.sequences import PublishedSequence, SequenceCandidate
from core.models.km.algorithms import Auto, LeastLoss, SDSeqAnon, SeqAnon, SequenceAlgorithm, USeqAnon
from core.models.km.anonymize import joined, suppression
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions
from core.models.km.anonymize.least_loss.prices import Prices
from core.models.km.plan import KmPlan
from core.models.registry import family_of
from core.pipeline import release_window
from core.places.constraints import ListedConstraints
from core.places.meaning import OwnTaxonomy
from core.records.record import Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.windows.history import History, Roster
from tests.budgets import examples
from tests.builders.windows import (
    START_MS,
    VENUES,
    WINDOW_MS,
    hash_of,
    limits,
    messages,
    seal_of,
    sequence_plan,
    visits,
    window_message,
)
from tests.oracles.km_horizon import infrequent_in

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

Window = Mapping[int, Sequence[int]]
"""The places that each person visits."""

SPLITTING = LeastLoss(LeastLossOptions(prices=Prices(split=0.1), max_suppressed_percent=20, max_split_percent=100))
ALGORITHMS: tuple[SequenceAlgorithm, ...] = (
    SeqAnon(),
    SDSeqAnon(OwnTaxonomy(VENUES)),
    USeqAnon(ListedConstraints({"bakery": "shop", "market": "shop"}, "others", "listed:12345678"), 100),
    LeastLoss(LeastLossOptions()),
    SPLITTING,
    Auto((LeastLoss(LeastLossOptions()), SeqAnon()), Prices(), 1_000_000),
)


class Step(NamedTuple):
    """What became of a window."""

    outcome: Outcome
    pieces: dict[int, list[PublishedSequence]]
    """The released sequences of each person; nothing that is published says whose they are."""


def plan_for(horizon: int, *, k: int = 2, m: int = 2, length: int = 100, **changes: Any) -> KmPlan:
    """A plan whose promise spans windows."""
    plan = sequence_plan(k=k, m=m, limits=limits(trajectory_length=length), **changes)
    return replace(plan, guarantee=replace(plan.guarantee, horizon=horizon))


def rows_of(window: Window, number: int = 0) -> Rows:
    """The rows of the window with a number."""
    rows = visits(*((user, 10 * at, place) for user, places in window.items() for at, place in enumerate(places)))
    rows["ts_ms"] += number * WINDOW_MS
    return rows


def steps(windows: Sequence[Window | None], plan: KmPlan) -> list[Step]:
    """Release windows one after the other, each with the history that a worker would have; None is a gap."""
    rosters: list[Roster] = []
    found: list[Step] = []
    for number, window in enumerate(windows):
        rows = rows_of(window or {}, number)
        if not len(rows):
            continue
        start_ms = START_MS + number * WINDOW_MS
        first_ms = start_ms - (plan.horizon - 1) * WINDOW_MS
        own = plan.after(History(rosters=tuple(one for one in rosters if one.key.start_ms >= first_ms)))
        seal = seal_of(rows, own, start_ms=start_ms)
        outcome = release_window(seal, rows, own)
        if isinstance(outcome, Release):
            found.append(Step(outcome, _pieces(rows, own, list(window or {}), start_ms)))
            rosters += [] if outcome.roster is None else [outcome.roster]
        else:
            found.append(Step(outcome, {}))
    return found


def _pieces(rows: Rows, plan: KmPlan, users: list[int], start_ms: int) -> dict[int, list[PublishedSequence]]:
    family, seal = family_of(plan.model), seal_of(rows, plan, start_ms=start_ms)
    window = family.assemble(seal, rows, plan)
    candidate = family.candidate(window, family.anonymize(seal, window, plan), plan)
    assert isinstance(candidate, SequenceCandidate)
    number = {hash_of(user): user for user in users}
    pieces: dict[int, list[PublishedSequence]] = {}
    for user, sequence in zip(candidate.users, candidate.sequences, strict=True):
        pieces.setdefault(number[int(window.hashes[user])], []).append(sequence)
    return pieces


def worlds(*, n_users: int = 7, n_places: int = 6, longest: int = 4) -> st.SearchStrategy[list[Window | None]]:
    """Draw people who come and go in up to five windows."""
    places = st.lists(st.integers(0, n_places - 1), min_size=1, max_size=longest).map(tuple)
    window = st.dictionaries(st.integers(0, n_users - 1), places, min_size=2)
    return st.lists(st.one_of(st.none(), window, window, window, window), min_size=2, max_size=5)


PLANS = st.builds(
    lambda algorithm, horizon, k, m, length: plan_for(horizon, k=k, m=m, length=length, algorithm=algorithm),
    st.sampled_from(ALGORITHMS),
    st.integers(2, 3),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from([2, 100]),
)


def holds(windows: Sequence[Window | None], plan: KmPlan) -> None:
    """Release windows, and look at every run of the horizon by the definition."""
    done = iter(steps(windows, plan))
    released = [next(done) if window and any(window.values()) else None for window in windows]
    assert not any(step is not None and isinstance(step.outcome, ReleaseRefused) for step in released)
    for first in range(len(windows)):
        run = [step.pieces if step else {} for step in released[first : first + plan.horizon]]
        assert not infrequent_in(run, plan.guarantee.k, plan.guarantee.m)


@settings(deadline=None, max_examples=examples(800, least=60))
@given(windows=worlds(), plan=PLANS)
def test_every_run_of_the_horizon_is_anonymous(windows: list[Window | None], plan: KmPlan) -> None:
    """
    Whoever links all releases of a person in the horizon and knows m locations finds k people, or nobody.
    """
    holds(windows, plan)


@settings(deadline=None, max_examples=examples(400, least=40))
@given(windows=worlds(n_users=9, n_places=2, longest=5), plan=PLANS)
def test_every_run_of_the_horizon_is_anonymous_where_much_is_released(
    windows: list[Window | None], plan: KmPlan
) -> None:
    """
    The same for more people at fewer places: more of it can be kept, and repeated visits matter.
    """
    holds(windows, plan)


@settings(deadline=None, max_examples=examples(100, least=20))
@given(windows=worlds(n_users=9, n_places=3), plan=PLANS)
def test_the_memory_decides_nothing(windows: list[Window | None], plan: KmPlan) -> None:
    """
    Counted in the smallest parts, and again in each pass, the promise is kept just the same.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined, "_AT_ONCE", 1)
        patch.setattr(suppression, "_MOST_HELD", 0)
        holds(windows, plan)


@settings(deadline=None, max_examples=examples(100, least=20))
@given(windows=worlds(n_users=8, n_places=3), plan=PLANS, seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(windows: list[Window | None], plan: KmPlan, seed: int) -> None:
    """
    The same rows and the same history are the same bytes, and the same roster.
    """
    last = windows[-1]
    done = steps(windows, plan)
    assume(last and done and isinstance(done[-1].outcome, Release))
    assert last is not None
    start_ms = START_MS + (len(windows) - 1) * WINDOW_MS
    rosters = [step.outcome.roster for step in done[:-1] if isinstance(step.outcome, Release)]
    first_ms = start_ms - (plan.horizon - 1) * WINDOW_MS
    own = plan.after(History(rosters=tuple(one for one in rosters if one and one.key.start_ms >= first_ms)))
    rows = rows_of(last, len(windows) - 1)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    outcome = release_window(seal_of(rows, own, start_ms=start_ms), rows, own)
    assert messages(outcome) == messages(done[-1].outcome)
    assert isinstance(outcome, Release)
    again = roster_of(done[-1])
    assert outcome.roster is not None
    assert (outcome.roster.labels, outcome.roster.groups.tolist()) == (again.labels, again.groups.tolist())


ANA, BEN, CEM, DIA, EVA = range(5)
FIRST: Window = {ANA: [PARK], BEN: [PARK], CEM: [STATION], DIA: [STATION]}
SECOND: Window = {ANA: [MARKET], CEM: [MARKET], BEN: [MUSEUM], DIA: [MUSEUM]}


def roster_of(step: Step) -> Roster:
    assert isinstance(step.outcome, Release)
    assert step.outcome.roster is not None
    return step.outcome.roster


def after(roster: Roster, window: Window, plan: KmPlan) -> Outcome:
    """What becomes of a window after another one."""
    own, rows = plan.after(History(rosters=(roster,))), rows_of(window, 1)
    return release_window(seal_of(rows, own, start_ms=START_MS + WINDOW_MS), rows, own)


def test_the_example_of_the_readme() -> None:
    """
    Alone, each window has two people at each place; only Ana went from the park to the market.
    """
    alone = [step.pieces for window in (FIRST, SECOND) for step in steps([window], plan_for(2))]
    assert alone[1][ANA] == [(("market",),)]
    assert infrequent_in(alone, 2, 2)
    first, second = steps([FIRST, SECOND], plan_for(2))
    assert first.pieces == alone[0]
    assert {tuple(pieces) for pieces in second.pieces.values()} == {((("market", "museum"),),)}


def test_people_who_come_back_alone_are_left_out() -> None:
    """
    Ana is the only one of the park who comes again: whatever she is released with, she is alone.
    """
    later: Window = {ANA: [MARKET], CEM: [MARKET], DIA: [MARKET], EVA: [MARKET]}
    _, second = steps([FIRST, later], plan_for(2))
    assert second.pieces.keys() == {CEM, DIA, EVA}
    *_, third = steps([FIRST, None, later], plan_for(2))
    assert third.pieces.keys() == later.keys()


def test_with_one_known_location_every_window_stands_alone() -> None:
    """
    One location is in one window: with m = 1 a horizon adds nothing.
    """
    _, second = steps([FIRST, SECOND], plan_for(2, m=1))
    assert second.pieces[ANA] == [(("market",),)]


def test_a_window_that_is_withheld_leaves_no_roster() -> None:
    """
    Nothing of it was released, so that nothing of it has to agree.
    """
    first, withheld, last = steps([FIRST, {ANA: [PARK]}, SECOND], plan_for(3))
    assert isinstance(withheld.outcome, Withheld)
    assert withheld.outcome.roster is None
    assert isinstance(first.outcome, Release)
    assert {tuple(pieces) for pieces in last.pieces.values()} == {((("market", "museum"),),)}


def test_nothing_is_left_of_people_who_all_come_back_alone() -> None:
    """
    One of each place: the window is withheld, as if it had too few people.
    """
    _, second = steps([FIRST, {ANA: [MARKET], CEM: [MARKET]}], plan_for(2))
    assert isinstance(second.outcome, Withheld)
    assert second.outcome.reason is WithholdReason.NOTHING_LEFT


def test_constraints_hold_over_the_horizon_too() -> None:
    """
    Market and museum may not be one: their visits are suppressed, which the budget must allow.
    """
    for percent, reason in ((100.0, WithholdReason.NOTHING_LEFT), (5.0, WithholdReason.CONSTRAINTS_NOT_SATISFIED)):
        constraints = ListedConstraints({"market": "shop"}, "others", "listed:12345678")
        _, second = steps([FIRST, SECOND], plan_for(2, algorithm=USeqAnon(constraints, percent)))
        assert isinstance(second.outcome, Withheld)
        assert second.outcome.reason is reason


@settings(deadline=None, max_examples=examples(100, least=20))
@given(windows=worlds(n_users=8, n_places=3), algorithm=st.sampled_from(ALGORITHMS), m=st.integers(1, 3))
def test_a_horizon_of_one_window_and_a_first_window_are_as_before(
    windows: list[Window | None], algorithm: SequenceAlgorithm, m: int
) -> None:
    """
    Without a horizon nothing is remembered; and the first window is released as without one.
    """
    first = next(window for window in windows if window) if any(windows) else {}
    assume(first)
    usual, spanning = (steps([first], plan_for(horizon, m=m, algorithm=algorithm))[0] for horizon in (1, 3))
    assert usual.pieces == spanning.pieces
    if isinstance(usual.outcome, Release):
        assert usual.outcome.roster is None
        told, more = window_message(usual.outcome)["parameters"], window_message(spanning.outcome)["parameters"]
        assert "horizon" not in told
        assert more == told | {"horizon": 3, "suppression_price": 1.0}


def test_a_seal_of_a_time_without_this_promise_is_another_one() -> None:
    """
    A horizon of these models once changed nothing; only with a horizon the digest is a new one.
    """
    digests = [plan_for(horizon).digest for horizon in (1, 2)]
    assert digests[0] == sequence_plan(k=2).digest != digests[1]


@pytest.mark.parametrize("labels", [(), ("",), ("4,",), ("4;5",), ('{"age":[20,24]}',), ("-4",), ("４",)])
def test_people_whose_earlier_release_cannot_be_read_are_left_out(labels: tuple[str, ...]) -> None:
    """
    What they were released with is unknown, so that nothing can be promised of them. Dia is then alone at the museum.
    """
    plan = plan_for(2)
    (first,) = steps([{ANA: [PARK], BEN: [PARK]}], plan)
    outcome = after(replace(roster_of(first), labels=labels), {**SECOND, EVA: [MARKET]}, plan)
    assert isinstance(outcome, Release)
    assert (outcome.population, outcome.people, outcome.account.suppressed) == (5, 2, 3)


def test_a_roster_of_nobody_changes_nothing() -> None:
    """
    Of stops, a window without a release has a roster all the same.
    """
    plan = plan_for(2)
    (first,) = steps([FIRST], plan)
    outcome = after(Roster.of_nobody(roster_of(first).key), SECOND, plan)
    assert isinstance(outcome, Release)
    assert outcome.account.suppressed == 0
    assert outcome.locations is not None
    assert [location.members for location in outcome.locations] == [("market",), ("museum",)]


def test_several_cells_of_a_window_are_remembered_together() -> None:
    """
    Labels are those of the vocabulary, so that those of two cells never mean different locations by one number.
    """
    plan = plan_for(2)
    north, south = (steps([one], plan)[0] for one in ({ANA: [PARK], BEN: [PARK]}, {CEM: [STATION], DIA: [STATION]}))
    assert (roster_of(north).labels, roster_of(south).labels) == ((str(PARK),), (str(STATION),))
    both = Roster.of_cells(roster_of(north).key, [roster_of(north), roster_of(south)])
    outcome = after(both, SECOND, plan)
    assert isinstance(outcome, Release)
    assert outcome.locations is not None
    assert [location.members for location in outcome.locations] == [("market", "museum")]
