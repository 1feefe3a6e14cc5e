"""LKC-privacy over a horizon: what several windows reveal together, who is left out, and what leaves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.plan import LKCPlan
from core.models.lkc.released import PairTrajectory
from core.models.registry import family_of
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.windows.history import History, Roster
from stream.formats.schemas import released_schema
from tests.budgets import examples
from tests.builders.json_schemas import complaints
from tests.builders.windows import (
    START_MS,
    WINDOW_MS,
    hash_of,
    messages,
    pair_plan,
    profile_code,
    seal_of,
    visits,
    window_message,
)
from tests.oracles.lkc_horizon import Seen, confidences, crowd_confidences

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)
WARD = {None: profile_code(), "surgery": profile_code(ward="surgery"), "oncology": profile_code(ward="oncology")}

Window = Mapping[int, tuple[tuple[str | None, ...], Sequence[int]]]
"""For each person the wards that the rows state, and the places visited, one a slot."""


class Step(NamedTuple):
    """What became of a window."""

    outcome: Outcome
    people: list[Seen]
    """The people of the release by their numbers; empty if it is withheld."""


def plan_for(horizon: int, **given: object) -> LKCPlan:
    """A plan whose promise spans windows."""
    plan = pair_plan(**{"k": 2, "m": 2, **given})  # type: ignore[arg-type]
    return replace(plan, guarantee=replace(plan.guarantee, horizon=horizon))


def rows_of(window: Window, number: int = 0) -> Rows:
    """The rows of the window with a number."""
    rows = visits(
        *(
            (user, 300 * slot, place, WARD[ward])
            for user, (wards, places) in window.items()
            for slot, place in enumerate(places)
            for ward in wards
        )
    )
    # Rows that differ in the profile alone would be duplicates.
    rows["ts_ms"] += number * WINDOW_MS + np.arange(len(rows))
    return rows


def steps(windows: Sequence[Window | None], plan: LKCPlan) -> list[Step]:
    """Release windows one after the other, each with the history that a worker would have; None is a gap."""
    rosters: list[Roster] = []
    found: list[Step] = []
    for number, window in enumerate(windows):
        if window is None:
            continue
        start_ms = START_MS + number * WINDOW_MS
        first_ms = start_ms - (plan.horizon - 1) * WINDOW_MS
        own = plan.after(History(rosters=tuple(one for one in rosters if one.key.start_ms >= first_ms)))
        rows = rows_of(window, number)
        seal = seal_of(rows, own, start_ms=start_ms)
        outcome = release_window(seal, rows, own)
        people: list[Seen] = []
        if isinstance(outcome, Release):
            assert outcome.roster is not None
            rosters.append(outcome.roster)
            people = people_of(outcome, rows, own, list(window), start_ms)
        found.append(Step(outcome, people))
    return found


def people_of(outcome: Release, rows: Rows, plan: LKCPlan, users: list[int], start_ms: int) -> list[Seen]:
    """Whose the trajectories of a release are; nothing that is published says it."""
    family, seal = family_of("lkc"), seal_of(rows, plan, start_ms=start_ms)
    window = family.assemble(seal, rows, plan)
    candidate = family.candidate(window, family.anonymize(seal, window, plan), plan)
    assert candidate is not None
    number = {hash_of(user): user for user in users}
    people = [number[int(window.hashes[user])] for user in candidate.users]
    ids = {pair: i for i, pair in enumerate(sorted({pair for one in candidate.trajectories for pair in one}))}
    names = plan.sensitive_values
    found = [
        Seen(user, tuple(None if code < 0 else names[code] for code in signature), tuple(ids[pair] for pair in pairs))
        for user, (signature, _), pairs in zip(people, candidate.roles, candidate.trajectories, strict=True)
    ]
    told = [one.one_of for one in outcome.trajectories if isinstance(one, PairTrajectory)]
    assert sorted(map(repr, told)) == sorted(repr(one.signature) for one in found)
    return found


PLACES = st.lists(st.sampled_from([PARK, STATION]), min_size=1, max_size=2).map(tuple)


def worlds(*, changing: bool) -> st.SearchStrategy[list[Window | None]]:
    """Draw people who come and go in up to four windows; if they change, their values do so in each window."""
    ward = st.sampled_from([(None,), (None,), ("surgery",), ("oncology",), ("oncology", "surgery")])

    def windows_of(wards: list[tuple[str | None, ...]]) -> st.SearchStrategy[list[Window | None]]:
        def window_of(its: dict[int, tuple[tuple[str | None, ...], tuple[int, ...]]]) -> Window | None:
            return {user: (its_wards if changing else wards[user], places) for user, (its_wards, places) in its.items()}

        person = st.tuples(ward, PLACES)
        window = st.dictionaries(st.integers(0, len(wards) - 1), person, min_size=4).map(window_of)
        return st.lists(st.one_of(st.none(), window, window, window), min_size=2, max_size=4)

    return st.lists(ward, min_size=5, max_size=8).flatmap(windows_of)


@settings(deadline=None, max_examples=examples(300, least=40))
@given(windows=worlds(changing=False), horizon=st.integers(2, 4), c=st.sampled_from([0.5, 0.4]))
def test_no_windows_of_the_horizon_reveal_a_value_with_more_confidence_than_c(
    windows: list[Window | None], horizon: int, c: float
) -> None:
    """
    Neither by the crowds of what is known in each window, nor if everybody's signature is known in each release.
    """
    plan = plan_for(horizon, c=c)
    done = steps(windows, plan)
    assert not any(isinstance(step.outcome, ReleaseRefused) for step in done)
    numbers = [number for number, window in enumerate(windows) if window is not None]
    for first in range(len(windows)):
        run = [
            step.people
            for number, step in zip(numbers, done, strict=True)
            if first <= number < first + horizon and step.people
        ]
        if not run:
            continue
        allowed = Fraction(str(c))
        found = confidences(run)
        assert found
        for user, values in found.items():
            assert max(values.values(), default=0) <= allowed
            assert max(crowd_confidences(run, user, 2), default=0) <= allowed


@settings(deadline=None, max_examples=examples(300, least=40))
@given(windows=worlds(changing=True), horizon=st.integers(2, 4), c=st.sampled_from([0.5, 0.4]))
def test_people_keep_their_signature_while_they_are_remembered(
    windows: list[Window | None], horizon: int, c: float
) -> None:
    """
    Also across gaps and changes of values; every signature is true of its people, entry by entry of equally many.
    """
    done = steps(windows, plan_for(horizon, c=c))
    last: dict[int, tuple[int, tuple[str | None, ...]]] = {}
    numbers = [number for number, window in enumerate(windows) if window is not None]
    for number, step in zip(numbers, done, strict=True):
        assert not isinstance(step.outcome, ReleaseRefused)
        window = windows[number]
        assert window is not None
        for one in step.people:
            before, signature = last.get(one.user, (-horizon, one.signature))
            assert number - before >= horizon or signature == one.signature
            last[one.user] = (number, one.signature)
            values = set(window[one.user][0]) - {None}
            assert values & set(one.signature) if values else None in one.signature or not one.signature
            assert all(one.signature.count(name) <= c * len(one.signature) for name in values)


def alike(*people: tuple[int, str | None]) -> Window:
    """People who were all at the park."""
    return {user: ((ward,), (PARK,)) for user, ward in people}


def signatures(step: Step) -> dict[int, tuple[str | None, ...]]:
    """The signature of each released person."""
    return {one.user: one.signature for one in step.people}


SICK = ("surgery", None)
FOUR = [(1, "surgery"), (2, None), (3, None), (4, None)]


def test_a_person_with_a_value_is_hidden_by_another_without() -> None:
    """
    One of four people carries a value: two have the signature, nobody is left out, and no message is exact.
    """
    (step,) = steps([alike(*FOUR)], plan_for(2))
    told = signatures(step)
    assert told[1] == SICK
    assert Counter(told.values()) == {(): 2, SICK: 2}
    said = [json.loads(message.value) for message in messages(step.outcome)[:-1]]
    assert Counter(tuple(one["one_of"]) for one in said) == {(): 2, SICK: 2}
    assert not any("sensitive" in one for one in said)
    assert not any(complaints(released_schema(PairTrajectory), one) for one in said)
    about = window_message(step.outcome)
    assert about["parameters"]["horizon"] == 2
    assert about["information_loss"]["highest_confidence"] == 0.25  # a half of two of four


def test_who_hides_somebody_hides_nobody_alone() -> None:
    """
    The person who served as "none" comes back without the other: left out, as a signature true of one entry alone.
    """
    (first,) = steps([alike(*FOUR)], plan_for(2))
    helper = next(user for user, signature in signatures(first).items() if signature == SICK and user != 1)
    others = [(user, None) for user in (2, 3, 4)]
    _, second = steps([alike(*FOUR), alike(*others)], plan_for(2))
    assert helper not in signatures(second)
    assert set(signatures(second)) == {2, 3, 4} - {helper}


def test_a_new_person_takes_the_place_of_one_who_left() -> None:
    """
    The carrier comes back without the helper: those who are remembered as unprotected stay so, somebody new serves.
    """
    windows = [alike(*FOUR), alike((1, "surgery"), (7, None), (8, None))]
    _, second = steps(windows, plan_for(2))
    assert sorted(signatures(second)) == [1, 7, 8]
    assert Counter(signatures(second).values()) == {(): 1, SICK: 2}
    remembered = [(user, ward) for user, ward in FOUR if signatures(steps(windows[:1], plan_for(2))[0])[user] != SICK]
    _, second = steps([windows[0], alike((1, "surgery"), *remembered)], plan_for(2))
    assert set(signatures(second)) == {user for user, _ in remembered}


def test_a_value_outside_the_signature_keeps_a_person_out_until_the_horizon_has_passed() -> None:
    """
    Somebody unprotected who falls ill would show that the others of the signature are not.
    """
    (first,) = steps([alike(*FOUR)], plan_for(3))
    free = next(user for user, signature in signatures(first).items() if not signature)
    then = alike((free, "oncology"), (5, None), (6, None))
    for gap in (0, 1, 2):
        step = steps([alike(*FOUR), *[None] * gap, then], plan_for(3))[-1]
        assert (free in signatures(step)) == (gap == 2)  # two windows between: the first is beyond the horizon


def test_a_change_inside_the_signature_is_no_reason_to_leave_somebody_out() -> None:
    """
    The carrier recovers and the helper falls ill: both are what the signature says, and one of each is left.
    """
    (first,) = steps([alike(*FOUR)], plan_for(2))
    helper = next(user for user, signature in signatures(first).items() if signature == SICK and user != 1)
    _, second = steps([alike(*FOUR), alike((1, None), (helper, "surgery"))], plan_for(2))
    assert signatures(second) == {1: SICK, helper: SICK}


def test_people_with_values_hide_one_another_where_too_few_have_none() -> None:
    """
    Two with one value and two with another share a signature of both; a value that nobody can hide is left out.
    """
    both = ("oncology", "surgery")
    four = alike((1, "surgery"), (2, "surgery"), (3, "oncology"), (4, "oncology"))
    (step,) = steps([four], plan_for(2))
    assert signatures(step) == dict.fromkeys((1, 2, 3, 4), both)
    (step,) = steps([alike((1, "surgery"), (2, "surgery"), (3, None), (4, None))], plan_for(2))
    assert signatures(step) == dict.fromkeys((1, 2, 3, 4), SICK)


def test_nothing_is_left_where_everybody_has_one_value() -> None:
    """
    A window of one value is withheld, with or without a horizon.
    """
    (step,) = steps([alike(*((user, "surgery") for user in range(4)))], plan_for(2))
    assert isinstance(step.outcome, Withheld)
    assert step.outcome.reason is WithholdReason.NOTHING_LEFT


def test_people_left_out_for_their_signature_are_in_no_published_count() -> None:
    """
    One of four is left out: neither the population nor the visits tell that there was somebody.
    """
    (first,) = steps([alike(*FOUR)], plan_for(2))
    helper = next(user for user, signature in signatures(first).items() if signature == SICK and user != 1)
    _, second = steps([alike(*FOUR), alike((helper, None), (5, None), (6, None))], plan_for(2))
    assert isinstance(second.outcome, Release)
    outcome = second.outcome
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (2, None, None)
    assert outcome.account.suppressed == 1


def test_signatures_of_two_cells_that_differ_keep_a_person_out() -> None:
    """
    A roster of several cells may have a person twice; no later release can agree with both.
    """
    plan = plan_for(2)
    (step,) = steps([alike(*FOUR)], plan)
    assert isinstance(step.outcome, Release)
    roster = step.outcome.roster
    assert roster is not None
    other = replace(roster, users=roster.users[:1], groups=np.zeros(1, np.int64), labels=('[["oncology",null],1]',))
    joined = Roster.of_cells(roster.key, [roster, other])
    own = plan.after(History(rosters=(joined,)))
    rows = rows_of(alike(*FOUR, (5, None), (6, None), (7, None)), 1)
    outcome = release_window(seal_of(rows, own, start_ms=START_MS + WINDOW_MS), rows, own)
    assert isinstance(outcome, Release)
    assert outcome.roster is not None
    assert roster.users[0] not in outcome.roster.users


def test_labels_that_mean_nothing_any_more_keep_people_out() -> None:
    """
    Signatures with a value that the settings no longer name, and the groups of another model.
    """
    plan = plan_for(2)
    (step,) = steps([alike(*FOUR)], plan)
    assert isinstance(step.outcome, Release)
    assert step.outcome.roster is not None
    for label in ('[["cardiology",null],0]', "17"):
        roster = replace(step.outcome.roster, groups=np.zeros(4, np.int64), labels=(label,))
        own = plan.after(History(rosters=(roster,)))
        rows = rows_of(alike(*FOUR, (5, None), (6, None)), 1)
        outcome = release_window(seal_of(rows, own, start_ms=START_MS + WINDOW_MS), rows, own)
        assert isinstance(outcome, Release)
        assert outcome.people == 2


def test_windows_depend_on_others_only_if_a_value_is_bounded() -> None:
    """
    Without sensitive values, or with a share of 1, there is nothing that a history could protect.
    """
    assert plan_for(4).horizon == 4
    assert plan_for(4, c=1.0).horizon == 1
    assert plan_for(4, profile=None, sensitive_field=None).horizon == 1
    assert pair_plan().horizon == 1
    with pytest.raises(ValueError, match="horizon is 0"):
        LKCPrivacy(l=1, k=2, c=0.5, horizon=0)


def test_a_window_on_its_own_leaves_no_roster() -> None:
    """
    With a horizon of 1 messages state exact values, as before, and nothing has to be remembered.
    """
    rows = rows_of(alike(*FOUR))
    plan = plan_for(1)
    outcome = release_window(seal_of(rows, plan), rows, plan)
    assert isinstance(outcome, Release)
    assert outcome.roster is None
    assert sorted(json.loads(message.value)["sensitive"] for message in messages(outcome)[:-1]) == [
        [],
        [],
        [],
        ["surgery"],
    ]


@settings(deadline=None, max_examples=examples(60))
@given(windows=worlds(changing=False), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(windows: list[Window | None], seed: int) -> None:
    """
    The same rows and the same history are the same bytes, and the same roster.
    """
    plan = plan_for(3)
    done = steps(windows, plan)
    assume(done and isinstance(done[-1].outcome, Release))
    numbers = [number for number, window in enumerate(windows) if window is not None]
    rosters = [
        (number, step.outcome.roster)
        for number, step in zip(numbers, done, strict=True)
        if isinstance(step.outcome, Release)
    ]
    own = plan.after(
        History(rosters=tuple(roster for number, roster in rosters[:-1] if roster and number > numbers[-1] - 3))
    )
    last = windows[numbers[-1]]
    assert last is not None
    rows = rows_of(last, numbers[-1])
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    outcome = release_window(seal_of(rows, own, start_ms=START_MS + numbers[-1] * WINDOW_MS), rows, own)
    assert messages(outcome) == messages(done[-1].outcome)
