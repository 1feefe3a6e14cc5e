"""The verifier of the horizon: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import RTOptions
from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.attributes import Interval, Value
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.signature import label_of
from core.models.kkm.verify_horizon import AttributeHorizonReport, PersonAttributes, verify_horizon
from core.pipeline import release_window
from core.records.record import Kind
from core.release.outcome import Release, ReleaseRefused
from core.windows.history import NO_HISTORY, History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders.windows import SCHEMA, START_MS, WINDOW_MS, attribute_plan, profile_code, seal_of, visits
from tests.oracles.kkm_horizon import Shown, is_inside

TWO = KKmAnonymity(k=2, m=1, horizon=3)


def shown(low: int, high: int, plan: str = "basic") -> Shown:
    return Interval(float(low), float(high)), plan


def somebody(user: int, age: int, signature: Shown, released: Shown | None = None) -> PersonAttributes:
    """A person with the basic plan, released as the signature says unless told otherwise."""
    return PersonAttributes(user, shown(age, age), signature, released or signature)


def earlier(*windows: Mapping[int, Shown], k: int = 2) -> History:
    """A history in which each person had a signature."""
    rosters = []
    for number, people in enumerate(windows):
        labels = [label_of(people[user], SCHEMA, k=k) for user in sorted(people)]
        rosters.append(
            Roster(
                key=WindowKey(number + 1, Kind.CHECKINS, "all", number),
                users=np.array(sorted(people), np.uint64),
                groups=np.arange(len(people)),
                labels=tuple(labels),
            )
        )
    return History(rosters=tuple(rosters))


def verify(people: list[PersonAttributes], history: History = NO_HISTORY) -> AttributeHorizonReport:
    return verify_horizon(people, SCHEMA, TWO, history)


TWENTIES, GOOD = shown(20, 24), [somebody(1, 20, shown(20, 24)), somebody(2, 24, shown(20, 24))]


def test_a_signature_that_k_people_have_together_holds() -> None:
    """
    Two people, each with the values of both.
    """
    report = verify(GOOD)
    assert report.holds
    assert report.smallest_crowd == 2
    empty = verify([])
    assert empty.holds
    assert empty.smallest_crowd is None


@pytest.mark.parametrize(
    ("people", "figure"),
    [
        (GOOD[:1], "unshared"),
        ([GOOD[0], somebody(2, 24, shown(20, 25))], "unshared"),
        ([GOOD[0], somebody(2, 30, shown(20, 24), shown(20, 30))], "unshared"),  # it is not true of one of them
        ([*GOOD, somebody(3, 20, shown(19, 20), shown(19, 24))], "unshared"),
        ([*GOOD, somebody(3, 20, TWENTIES, shown(20, 23))], "outside"),
        ([*GOOD, somebody(3, 20, TWENTIES, shown(21, 24))], "outside"),
        ([*GOOD, somebody(3, 20, TWENTIES, shown(20, 24, "gold"))], "outside"),
        ([*GOOD, somebody(3, 30, TWENTIES, shown(20, 30))], "untrue"),
        ([*GOOD, GOOD[0]], "untrue"),
    ],
)
def test_each_rule_by_itself_is_seen(people: list[PersonAttributes], figure: str) -> None:
    """
    Signatures of fewer than k people, records that cut them or the truth, signatures that are not their person's.
    """
    report = verify(people)
    assert getattr(report, figure) > 0
    assert not report.holds


def test_people_who_are_inside_a_signature_share_it() -> None:
    """
    A new person with one who is remembered by a smaller signature: both fit into the new one.
    """
    people = [somebody(1, 20, shown(20, 21), TWENTIES), somebody(2, 24, TWENTIES)]
    assert verify(people, earlier({1: shown(20, 21)})).holds
    assert verify(people).unshared == 1  # if nobody remembers the smaller one
    grown = [people[0]._replace(own=shown(30, 30), released=shown(20, 30)), people[1]]
    assert verify(grown, earlier({1: shown(20, 21)})).unshared == 1  # one does not fit any more


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ([{1: TWENTIES}], 0),
        ([{1: shown(21, 22)}], 0),  # several, of cells of a window: the signature contains them
        ([{1: shown(20, 25)}], 1),
        ([{1: shown(20, 24, "*")}], 1),
        ([{1: shown(20, 25)}, {1: TWENTIES}], 1),  # the older window is in the horizon as well
        ([{1: shown(20, 25)}, {2: shown(20, 25)}], 2),
        ([{7: shown(20, 25)}], 0),
    ],
)
def test_a_smaller_signature_than_before_is_seen(before: list[dict[int, Shown]], changed: int) -> None:
    """
    In any window of the horizon: what was shown once with a signature has to be shown again.
    """
    report = verify(GOOD, earlier(*before))
    assert (report.changed, report.holds) == (changed, not changed)


def test_a_new_person_may_have_a_signature_that_is_remembered() -> None:
    """
    It was checked when it was new; of a smaller k it is no signature today.
    """
    alone = [somebody(5, 22, TWENTIES)]
    assert verify(alone, earlier({1: TWENTIES})).holds
    assert verify(alone, earlier({1: TWENTIES}, k=1)).unshared == 1
    assert verify([somebody(5, 30, TWENTIES, shown(20, 30))], earlier({1: TWENTIES})).untrue == 1


@pytest.mark.parametrize(
    "labels",
    [
        (),
        ("17",),
        ('[2,{"age":[20,24]}]',),
        ('[1,{"age":[20,24],"plan":"basic"}]',),
        ('[2,{"age":[20,24],"plan":"silver"}]',),
        ('[2,{"age":[2,24],"plan":"basic"}]',),
        ('[2,{"age":[24,20],"plan":"basic"}]',),
        ('[2,{"age":"basic","plan":[20,24]}]',),
    ],
)
def test_a_label_of_something_else_is_no_signature(labels: tuple[str, ...]) -> None:
    """
    Nobody can be released in agreement with it.
    """
    roster = earlier({1: TWENTIES}).rosters[0]
    assert verify(GOOD, History(rosters=(replace(roster, labels=labels),))).changed == 1


SHOWN = st.builds(
    lambda ends, plan: shown(min(ends), max(ends), plan),
    st.tuples(st.integers(18, 21), st.integers(18, 21)),
    st.sampled_from(["*", "paid", "basic", "gold", "plus"]),
)
OWN = st.builds(lambda age, plan: shown(age, age, plan), st.integers(18, 21), st.sampled_from(["basic", "gold"]))


@settings(deadline=None, max_examples=examples(400, least=60))
@given(
    told=st.lists(st.tuples(OWN, SHOWN, SHOWN), max_size=5),
    before=st.lists(st.dictionaries(st.integers(0, 6), SHOWN), max_size=2),
)
def test_the_report_is_that_of_the_rules(
    told: list[tuple[Shown, Shown, Shown]], before: list[dict[int, Shown]]
) -> None:
    """
    Counted one by one, person by person.
    """
    people = [PersonAttributes(user, *its) for user, its in enumerate(told)]
    report = verify(people, earlier(*before))
    remembered = {signature for window in before for signature in window.values()}
    new = [one for one in people if not any(one.user in window for window in before)]
    crowds = {
        one.signature: sum(
            is_inside(other.own, one.signature) and is_inside(other.signature, one.signature) for other in people
        )
        for one in new
        if one.signature not in remembered
    }
    assert report.unshared == sum(crowd < 2 for crowd in crowds.values())
    assert report.smallest_crowd == min(crowds.values(), default=None)
    assert report.outside == sum(
        not is_inside(one.own, one.released) or not is_inside(one.signature, one.released) for one in people
    )
    assert report.changed == sum(
        any(one.user in window and not is_inside(window[one.user], one.signature) for window in before)
        for one in people
    )
    assert report.untrue == sum(not is_inside(one.own, one.signature) for one in new)


FIRST = visits(*((user, 10, 4, profile_code(age=18 + user)) for user in range(8)))
"""Eight people of different ages, at one place."""

LATER = visits(*((user, 10, 4, profile_code(age=18 + user)) for user in (1, 2, 5, 6, 8, 9, 10, 11)))


def forgetful(*_: Any, **__: Any) -> dict[int, None]:
    """Remember nobody."""
    return {}


def unmoved(*given: Any, spans: Spans, left_out: Any, **more: Any) -> Any:
    """Do not generalize people to their signatures."""
    return anonymize_rt(*given, **more)


def exact(
    clusters: object, attributes: Any, known: Mapping[int, tuple[Value, ...]], remembered: object
) -> dict[int, tuple[Value, ...]]:
    """Give each new person the own values alone."""
    return {user: attributes.values(user) for user in range(attributes.n_users) if user not in known}


def one_for_all(
    clusters: Any, attributes: Any, known: Mapping[int, tuple[Value, ...]], remembered: object
) -> dict[int, tuple[Value, ...]]:
    """Give each new person the signature of the first cluster."""
    return {user: clusters[0].values for user in range(attributes.n_users) if user not in known}


@pytest.mark.parametrize(
    ("name", "sabotage", "finding"),
    [
        ("returning", forgetful, "4 another signature than before"),
        ("anonymize_rt", unmoved, "people have attributes outside the released ones"),
        ("_new_signatures", exact, "4 signatures are shared by fewer than k=2 people"),
        ("_new_signatures", one_for_all, "one that is not theirs"),
    ],
)
def test_a_release_that_breaks_the_promise_over_the_horizon_is_refused(
    name: str, sabotage: Callable[..., Any], finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Whatever made the signatures: the second of two windows is refused, and nothing of it leaves.
    """
    plan = attribute_plan(k=2, m=1, options=RTOptions(bound="ul", delta=1.0))
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=2))
    first = release_window(seal_of(FIRST, plan), FIRST, plan)
    assert isinstance(first, Release)
    assert first.roster is not None
    own = plan.after(History(rosters=(first.roster,)))
    rows = LATER.copy()
    rows["ts_ms"] += WINDOW_MS
    seal = seal_of(rows, own, start_ms=START_MS + WINDOW_MS)
    assert isinstance(release_window(seal, rows, own), Release)
    monkeypatch.setattr(f"core.models.kkm.anonymize.horizon.{name}", sabotage)
    outcome = release_window(seal, rows, own)
    assert isinstance(outcome, ReleaseRefused)
    assert finding in outcome.finding


def test_a_result_without_signatures_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Later windows could not agree with it.
    """
    plan = attribute_plan(k=2, m=1)
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=2))

    def without(trajectories: Any, users: Any, *given: Any, sensitive: Any) -> Any:
        *rest, _ = given
        return anonymize_rt(trajectories, *rest, sensitive=sensitive)

    monkeypatch.setattr("core.models.kkm.release.anonymize_over_horizon", without)
    with pytest.raises(ValueError, match="zip"):
        release_window(seal_of(FIRST, plan), FIRST, plan)
