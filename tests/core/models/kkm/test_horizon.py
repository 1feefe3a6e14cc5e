"""Attributes over a horizon: what several windows show together, who is left out, and what later windows remember."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.kkm.anonymize.result import RTOptions
from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.attributes import Interval, Value
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.plan import KKmPlan
from core.models.kkm.signature import label_of, signature_of_label
from core.models.registry import family_of
from core.pipeline import release_window
from core.records.record import Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.windows.history import History, Roster
from tests.budgets import examples
from tests.builders.windows import (
    SCHEMA,
    START_MS,
    WINDOW_MS,
    attribute_plan,
    hash_of,
    messages,
    profile_code,
    seal_of,
    visits,
    window_message,
)
from tests.oracles.kkm_horizon import Shown, fitting, is_inside

PARK, STATION = 4, 5

Told = tuple[int, str]
"""Age and plan."""

Window = Mapping[int, tuple[Told, Sequence[int]]]
"""For each person what the rows tell, and the places visited."""


class Step(NamedTuple):
    """What became of a window."""

    outcome: Outcome
    shown: dict[int, Shown]
    """What is published of each person; nothing that is published says whose it is."""

    signatures: dict[int, tuple[Value, ...]]


def plan_for(horizon: int, *, k: int = 2, m: int = 1, delta: float = 1.0, **changes: object) -> KKmPlan:
    """A plan whose promise spans windows, and that merges no clusters unless it says so."""
    options = RTOptions(bound="ul", delta=delta)
    plan = attribute_plan(**{"k": k, "m": m, "options": options, **changes})  # type: ignore[arg-type]
    return replace(plan, guarantee=replace(plan.guarantee, horizon=horizon))


def rows_of(window: Window, number: int = 0) -> Rows:
    """The rows of the window with a number."""
    rows = visits(
        *(
            (user, 10 * at, place, profile_code(age=age, plan=plan))
            for user, ((age, plan), places) in window.items()
            for at, place in enumerate(places)
        )
    )
    rows["ts_ms"] += number * WINDOW_MS
    return rows


def steps(windows: Sequence[Window | None], plan: KKmPlan) -> list[Step]:
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
        if isinstance(outcome, Release) and outcome.roster is not None:
            rosters.append(outcome.roster)
            found.append(_released(outcome, rows, own, list(window), start_ms))
        else:
            found.append(Step(outcome, {}, {}))
    return found


def _released(outcome: Release, rows: Rows, plan: KKmPlan, users: list[int], start_ms: int) -> Step:
    family, seal = family_of(plan.model), seal_of(rows, plan, start_ms=start_ms)
    window = family.assemble(seal, rows, plan)
    candidate = family.candidate(window, family.anonymize(seal, window, plan), plan)
    assert candidate is not None
    number = {hash_of(user): user for user in users}
    people = [number[int(window.visits.hashes[user])] for user in candidate.users]
    return Step(
        outcome,
        dict(zip(people, candidate.attributes, strict=True)),
        dict(zip(people, candidate.signatures, strict=True)),
    )


AGES = st.integers(18, 24)
TOLD = st.tuples(AGES, st.sampled_from(["basic", "gold", "plus", "paid"]))
PLACES = st.lists(st.sampled_from([PARK, STATION]), min_size=1, max_size=2).map(tuple)


def worlds(*, changing: bool) -> st.SearchStrategy[list[Window | None]]:
    """Draw people who come and go in up to five windows; if they change, their attributes do so in each window."""

    def windows_of(told: list[Told]) -> st.SearchStrategy[list[Window | None]]:
        def window_of(its: dict[int, tuple[Told, tuple[int, ...]]]) -> Window | None:
            return {user: (now if changing else told[user], places) for user, (now, places) in its.items()}

        person = st.tuples(TOLD, PLACES)
        window = st.dictionaries(st.integers(0, len(told) - 1), person, min_size=3).map(window_of)
        return st.lists(st.one_of(st.none(), window, window, window), min_size=2, max_size=5)

    return st.lists(TOLD, min_size=5, max_size=10).flatmap(windows_of)


PLANS = st.builds(
    lambda horizon, k, bound, delta: plan_for(horizon, k=k, options=RTOptions(bound=bound, delta=delta)),
    st.integers(2, 4),
    st.integers(2, 3),
    st.sampled_from(["ncp", "ul"]),
    st.sampled_from([0.4, 0.7, 1.0]),
)


@settings(deadline=None, max_examples=examples(400, least=60))
@given(windows=worlds(changing=False), plan=PLANS)
def test_whoever_intersects_the_attributes_of_a_horizon_finds_k_people(
    windows: list[Window | None], plan: KKmPlan
) -> None:
    """
    Told which record is a person's in each window: at least k people fit all of them, who were all in one window.
    """
    done = steps(windows, plan)
    assert not any(isinstance(step.outcome, ReleaseRefused) for step in done)
    numbers = [number for number, window in enumerate(windows) if window is not None]
    told = {user: its for window in windows if window is not None for user, (its, _) in window.items()}
    for first in range(len(windows)):
        run = [step.shown for number, step in zip(numbers, done, strict=True) if first <= number < first + plan.horizon]
        for user in {user for shown in run for user in shown}:
            fit = fitting([shown[user] for shown in run if user in shown], told)
            assert user in fit
            assert max(len(fit & step.shown.keys()) for step in done) >= plan.guarantee.k


@settings(deadline=None, max_examples=examples(400, least=60))
@given(windows=worlds(changing=True), plan=PLANS)
def test_people_keep_their_signature_while_they_are_remembered(windows: list[Window | None], plan: KKmPlan) -> None:
    """
    Also across gaps and changes of attributes: nobody is left out, and a record has the signature and the truth in it.
    """
    last: dict[int, tuple[int, tuple[Value, ...]]] = {}
    numbers = [number for number, window in enumerate(windows) if window is not None]
    for number, step in zip(numbers, steps(windows, plan), strict=True):
        assert not isinstance(step.outcome, ReleaseRefused)
        window = windows[number]
        assert window is not None
        assert not step.shown or step.shown.keys() == window.keys()
        for user, signature in step.signatures.items():
            before, earlier = last.get(user, (-plan.horizon, signature))
            assert number - before >= plan.horizon or signature == earlier
            last[user] = (number, signature)
            assert is_inside(signature, step.shown[user])
            assert fitting([step.shown[user]], {user: window[user][0]})


SHOWN = st.builds(
    lambda ages, plan: (Interval(float(min(ages)), float(max(ages))), plan),
    st.tuples(AGES, AGES),
    st.sampled_from(["*", "paid", "basic", "gold", "plus"]),
)


@settings(max_examples=examples(300))
@given(some=st.lists(SHOWN, min_size=1, max_size=6), one=SHOWN)
def test_values_are_inside_and_around_others_as_by_hand(some: list[Shown], one: Shown) -> None:
    """
    Whoever fits the inner values fits the outer ones; and sets made of values have these values.
    """
    spans, alone = Spans.of_values(SCHEMA, some), Spans.of_values(SCHEMA, [one])
    assert spans.within(alone, 0).tolist() == [is_inside(its, one) for its in some]
    assert spans.around(alone, 0).tolist() == [is_inside(one, its) for its in some]
    assert [spans.values(number) for number in range(len(some))] == some


def alike(*people: tuple[int, int] | tuple[int, int, str]) -> Window:
    """People by number, age and plan, who were all at the park."""
    return {user: ((age, plan[0] if plan else "basic"), (PARK,)) for user, age, *plan in people}


YOUNG = [(1, 20), (2, 21)]
OLD = [(3, 60), (4, 64)]


def ages(step: Step) -> dict[int, tuple[float, float]]:
    """The interval of ages that is published of each person."""
    return {user: (age.low, age.high) for user, (age, _) in step.shown.items() if isinstance(age, Interval)}


ANA, BEN, CEM, DIA, EVA, FLO = range(6)
README_WINDOWS = [
    alike((ANA, 20), (BEN, 21), (CEM, 60), (DIA, 64)),
    alike((BEN, 21), (EVA, 23), (CEM, 60), (DIA, 64)),
    alike((ANA, 20), (FLO, 20), (CEM, 60), (DIA, 64)),
]


def test_the_example_of_the_readme() -> None:
    """
    Alone, two windows fit Ben alone; over a horizon three people fit him. Flo takes the signature of Ana and Ben.
    """
    told = {user: its for window in README_WINDOWS for user, (its, _) in window.items()}
    alone = [one for window in README_WINDOWS for one in steps([window], plan_for(2))]  # no window remembers another
    old = {CEM: (60, 64), DIA: (60, 64)}
    assert ages(alone[0]) == {ANA: (20, 21), BEN: (20, 21)} | old
    assert ages(alone[1]) == {BEN: (21, 23), EVA: (21, 23)} | old
    assert fitting([alone[0].shown[BEN], alone[1].shown[BEN]], told) == {BEN}
    first, second, third = steps(README_WINDOWS, plan_for(3))
    assert ages(first) == ages(alone[0])
    assert ages(second) == {BEN: (20, 23), EVA: (20, 23)} | old
    assert fitting([first.shown[BEN], second.shown[BEN]], told) == {ANA, BEN, FLO}
    assert ages(third) == {ANA: (20, 21), FLO: (20, 21)} | old
    assert {user: signature[0] for user, signature in third.signatures.items()} == {
        ANA: Interval(20, 21),
        FLO: Interval(20, 21),
        CEM: Interval(60, 64),
        DIA: Interval(60, 64),
    }


def test_a_signature_is_that_of_the_cluster_before_merging() -> None:
    """
    Everybody is one group, so that places lose less; the next window may show the clusters apart.
    """
    window = {user: ((age, "basic"), (place,)) for (user, age), place in zip(YOUNG + OLD, (0, 2, 0, 2), strict=True)}
    merged, apart = steps([window, alike(*YOUNG, *OLD)], plan_for(2, options=RTOptions(bound="ul", delta=0.0)))
    assert set(ages(merged).values()) == {(20, 64)}
    assert ages(apart) == {1: (20, 21), 2: (20, 21), 3: (60, 64), 4: (60, 64)}


def test_a_person_is_forgotten_when_the_horizon_has_passed() -> None:
    """
    With a horizon of 3, a person of the window before the last two is new.
    """
    then = alike((2, 21), (5, 23), *OLD)
    for gap in (0, 1, 2):
        step = steps([alike(*YOUNG, *OLD), *[None] * gap, then], plan_for(3))[-1]
        assert ages(step)[2] == ((21, 23) if gap == 2 else (20, 23))


def test_who_is_older_by_now_is_shown_with_both_ages() -> None:
    """
    A birthday leaves nobody out: the signature stays, and the record contains today's age too.
    """
    first, second = steps([alike(*YOUNG), alike((1, 20), (2, 22))], plan_for(2))
    assert second.signatures == first.signatures
    assert ages(second) == {1: (20, 22), 2: (20, 22)}


def roster_of(step: Step) -> Roster:
    assert isinstance(step.outcome, Release)
    assert step.outcome.roster is not None
    return step.outcome.roster


def after(roster: Roster, window: Window, plan: KKmPlan) -> Outcome:
    """What becomes of a window after another one."""
    own, rows = plan.after(History(rosters=(roster,))), rows_of(window, 1)
    return release_window(seal_of(rows, own, start_ms=START_MS + WINDOW_MS), rows, own)


def test_signatures_of_two_cells_are_kept_both() -> None:
    """
    A roster of several cells may have a person twice; the next record contains both, and so does the signature.
    """
    plan = plan_for(2)
    roster = roster_of(*steps([alike(*YOUNG)], plan))
    other = label_of((Interval(18.0, 20.0), "basic"), SCHEMA, k=2)
    both = Roster.of_cells(roster.key, [roster, replace(roster, labels=(other,))])
    outcome = after(both, alike(*YOUNG), plan)
    assert isinstance(outcome, Release)
    assert outcome.roster is not None
    assert outcome.roster.labels == (label_of((Interval(18.0, 21.0), "basic"), SCHEMA, k=2),)


FIVE = [(1, 20), (2, 21), (3, 60), (4, 64), (5, 64)]


@pytest.mark.parametrize(
    "label",
    [
        label_of((Interval(20.0, 21.0), "basic"), SCHEMA, k=1),  # of a smaller k
        label_of((Interval(20.0, 21.0),), SCHEMA[:1], k=2),
        label_of((Interval(20.0, 21.0), "silver"), SCHEMA, k=2),
        label_of((Interval(2.0, 21.0), "basic"), SCHEMA, k=2),
        '[2,{"age":"basic","plan":[20,21]}]',
        '[["surgery",null],0]',
        "17",
    ],
)
def test_people_whose_earlier_attributes_mean_less_today_are_left_out(label: str) -> None:
    """
    Nothing can agree with attributes that there are no more, or that fewer than k people shared; nobody counts them.
    """
    plan = plan_for(2)
    roster = roster_of(*steps([alike(*YOUNG)], plan))
    outcome = after(replace(roster, labels=(label,)), alike(*FIVE), plan)
    assert isinstance(outcome, Release)
    assert outcome.people == 3
    assert (outcome.population, outcome.account.suppressed, outcome.points_suppressed) == (5, 2, 2)
    alone = after(replace(roster, labels=(label,)), alike(*YOUNG), plan)
    assert isinstance(alone, Withheld)
    assert alone.reason is WithholdReason.NOTHING_LEFT


def test_who_is_left_out_alone_is_in_no_published_count() -> None:
    """
    One of five: neither the population nor the visits tell that there was somebody.
    """
    plan = plan_for(2)
    roster = roster_of(*steps([alike(*YOUNG)], plan))
    one = replace(roster, users=roster.users[:1], groups=roster.groups[:1], labels=("17",))
    outcome = after(one, alike(*FIVE), plan)
    assert isinstance(outcome, Release)
    assert (outcome.people, outcome.population, outcome.points_suppressed) == (4, None, None)


def test_labels_are_read_as_they_were_written() -> None:
    """
    To the last bit of an end, and whatever the order of the attributes' names.
    """
    signature = (Interval(18.0, 18 + 1 / 3), "paid")
    assert signature_of_label(label_of(signature, SCHEMA, k=3), SCHEMA, k=3) == signature
    assert signature_of_label('[3,{"plan":"*","age":[20,30]}]', SCHEMA, k=2) == (Interval(20.0, 30.0), "*")
    assert signature_of_label(label_of(signature, SCHEMA, k=3), SCHEMA, k=4) is None


def test_a_window_on_its_own_leaves_no_roster() -> None:
    """
    With a horizon of 1 nothing has to be remembered; the windows message says over how many windows the promise holds.
    """
    rows = rows_of(alike(*YOUNG, *OLD))
    for horizon in (1, 2):
        plan = plan_for(horizon)
        outcome = release_window(seal_of(rows, plan), rows, plan)
        assert isinstance(outcome, Release)
        assert (outcome.roster is None) == (horizon == 1)
        assert window_message(outcome)["parameters"]["horizon"] == plan.horizon == horizon
        assert ("2 successive windows" in plan.guarantee.promise) == (horizon == 2)
    with pytest.raises(ValueError, match="horizon is 0"):
        KKmAnonymity(k=2, m=1, horizon=0)


def test_signatures_are_not_published() -> None:
    """
    A message has the attributes of the group, whatever the horizon.
    """
    told = [alike(*YOUNG, *OLD)]
    alone, together = (
        Counter(message.value for message in messages(steps_alone(told[0], horizon))[:-1]) for horizon in (1, 2)
    )
    assert alone == together


def steps_alone(window: Window, horizon: int) -> Outcome:
    """Release one window without a history."""
    rows, plan = rows_of(window), plan_for(horizon)
    return release_window(seal_of(rows, plan), rows, plan)


@settings(deadline=None, max_examples=examples(60))
@given(windows=worlds(changing=True), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(windows: list[Window | None], seed: int) -> None:
    """
    The same rows and the same history are the same bytes, and the same roster.
    """
    plan = plan_for(5)
    done = steps(windows, plan)
    assume(done and isinstance(done[-1].outcome, Release))
    last_number = max(number for number, window in enumerate(windows) if window is not None)
    rosters = [step.outcome.roster for step in done[:-1] if isinstance(step.outcome, Release)]
    own = plan.after(History(rosters=tuple(roster for roster in rosters if roster is not None)))
    last = windows[last_number]
    assert last is not None
    rows = rows_of(last, last_number)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    outcome = release_window(seal_of(rows, own, start_ms=START_MS + last_number * WINDOW_MS), rows, own)
    assert messages(outcome) == messages(done[-1].outcome)
    assert isinstance(outcome, Release)
    assert outcome.roster is not None
    again = roster_of(done[-1])
    assert (outcome.roster.labels, outcome.roster.groups.tolist()) == (again.labels, again.groups.tolist())
