"""A release with attributes: intervals, nodes and sets of places leave as the model gives them, and counts tell of
nobody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import RTOptions, RTResult, published
from core.models.kkm.attributes import Interval
from core.models.kkm.plan import KKmPlan
from core.models.kkm.release import attributes_of
from core.models.kkm.released import AttributeRecord
from core.records.record import Rows
from core.release.outcome import Account, Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import assemble_sequences
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import (
    PROFILE,
    anonymized,
    attribute_plan,
    limits,
    measured,
    messages,
    profile_code,
    release,
    released,
    visits,
    window_message,
)

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)


def person(user: int) -> int:
    """Four young people with a paid plan of either kind, four old ones with the basic one."""
    return profile_code(age=20 + user, plan=("gold", "plus")[user % 2]) if user < 4 else profile_code(age=70 + user)


CROWD = visits(
    *((user, 10, PARK, person(user)) for user in range(8)),
    *((user, 20, CINEMA if user < 4 else STATION, person(user)) for user in range(8)),
    *((user, 30, MARKET, person(user)) for user in (0, 1, 4)),
    (0, 10, PARK, person(0)),
    (0, 40, PARK, person(0)),
)
"""All at the park, the young at the cinema, the old at the station, three at the market; one is at the park again, and
one row is a duplicate."""

DIVERSE = attribute_plan(k=4, l=2, sensitive={"market"}, options=RTOptions(delta=0.5))
"""So that the two groups are not united."""


def said(outcome: Outcome) -> list[dict[str, Any]]:
    """What the messages of people say."""
    return [json.loads(message.value) for message in messages(outcome)[:-1]]


def records(outcome: Release) -> list[AttributeRecord]:
    return [one for one in outcome.trajectories if isinstance(one, AttributeRecord)]


def test_attributes_are_intervals_and_nodes_and_places_a_set() -> None:
    """Two groups of four: ages as an interval, plans as the closest node above, places sorted by name, each once."""
    outcome = released(CROWD, DIVERSE)
    assert outcome.account == Account(duplicates=1, released=20)
    assert (outcome.people, outcome.population, outcome.smallest_support) == (8, 8, 4)
    young: dict[str, Any] = {"attributes": {"age": [20.0, 23.0], "plan": "paid"}, "locations": [["cinema"], ["park"]]}
    old: dict[str, Any] = {"attributes": {"age": [74.0, 77.0], "plan": "basic"}, "locations": [["park"], ["station"]]}
    market = {"sensitive": ["market"]}
    heads = ("schema", "release", "window", "shard", "pseudonym")
    found = [{key: value for key, value in one.items() if key not in heads} for one in said(outcome)]
    for expected, n in ((young | market, 2), (young, 2), (old | market, 1), (old, 3)):
        assert found.count(expected) == n
    assert outcome.points_released == 19  # the park twice is one place


def test_a_window_tells_its_model_parameters_and_measures() -> None:
    """The windows message names them all, and marks what is sensitive."""
    told = window_message(released(CROWD, DIVERSE))
    assert told["model"] == "rum-bound"
    promised = {"k": 4, "m": 2, "l": 2, "sensitive_locations": 1, "horizon": 1}
    assert told["parameters"] == promised | {"max_loss": 0.5, "merge": "rt"}
    assert told["information_loss"].keys() == {"ncp", "ul", "groups"}
    assert told["information_loss"]["groups"] == 2
    assert [place["members"] for place in told["locations"] if place.get("sensitive")] == [["market"]]
    other = released(CROWD, attribute_plan(options=RTOptions(bound="ul", delta=0.9, merge="t")))
    assert other.model == "tum-bound"
    assert other.parameters == {"k": 3, "m": 2, "max_loss": 0.9, "merge": "t", "horizon": 1}
    assert all("sensitive" not in one for one in said(other))


def test_who_says_different_things_has_what_most_rows_say() -> None:
    """Three rows of five say 30, whatever else they tell: the ward, which is not released, does not divide them."""
    tells = [
        profile_code(age=30, ward="surgery"),
        profile_code(age=30, ward="oncology"),
        profile_code(age=30),
        profile_code(age=40),
        profile_code(age=40),
    ]
    rows = visits(
        *((0, i, PARK, code) for i, code in enumerate(tells)), *((u, 0, PARK, profile_code(age=30)) for u in (1, 2, 3))
    )
    assert attributes_of(rows, attribute_plan()).columns[0].tolist() == [30.0] * 4
    assert {tuple(one["attributes"]["age"]) for one in said(released(rows, attribute_plan(k=4)))} == {(30.0, 30.0)}


def test_only_attributes_of_the_schema_leave() -> None:
    """The ward is in the profile and in no message."""
    rows = CROWD.copy()
    rows["profile"] = profile_code(ward="surgery")
    outcome = released(rows, attribute_plan())
    assert all(one["attributes"].keys() == {"age", "plan"} for one in said(outcome))
    assert not [message for message in messages(outcome) if b"surgery" in message.value or b"ward" in message.value]
    assert "ward" in PROFILE.names


def given_by(rows: Rows, plan: KKmPlan) -> Counter[object] | None:
    """What the model gives: of each person attributes, places and sensitive places."""
    window = assemble_sequences(rows, plan.locator, plan.limits)
    result = anonymized(rows, plan)[1]
    if result is None:
        return None
    found = published(result, window.vocabulary.names)
    rows_of = zip(found.attributes, found.locations, found.sensitive, strict=True)
    return Counter((values, frozenset(places), frozenset(hidden)) for values, places, hidden in rows_of)


def read(one: AttributeRecord) -> object:
    """A record that leaves, as the model has it."""
    values = tuple(Interval(*value) if isinstance(value, tuple) else value for value in one.attributes.values())
    return values, frozenset(one.locations), frozenset(one.sensitive)


@settings(max_examples=examples(80))
@given(rows=strategies.told_rows(max_users=8))
def test_what_leaves_is_what_the_model_gives(rows: Rows) -> None:
    """Each person's record leaves as it is given, and every row is somewhere."""
    for plan in (
        attribute_plan(k=2, limits=limits(points_per_user=6, trajectory_length=4)),
        attribute_plan(k=2, l=2, sensitive={"market"}),
        attribute_plan(k=2, options=RTOptions(bound="ul", delta=0.4)),
        attribute_plan(k=2, options=RTOptions(bound="ncp", delta=0.1)),
    ):
        outcome = release(rows, plan)
        account = outcome.account
        assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
        assert not isinstance(outcome, ReleaseRefused)
        if isinstance(outcome, Release):
            assert Counter(map(read, records(outcome))) == given_by(rows, plan)
        elif outcome.reason is WithholdReason.CONSTRAINTS_NOT_SATISFIED:
            assert given_by(rows, plan) is None


Broken = Callable[[RTResult], RTResult]
# Locations of the crowd's window, by name: cinema, market, park and station. The first group are the young.


def _one_left_out(result: RTResult) -> RTResult:
    group = result.groups[0]
    first = replace(
        group, users=group.users[1:], visited=group.visited[1:], sensitive=tuple(() for _ in group.sensitive[1:])
    )
    return replace(result, groups=(first, *result.groups[1:]))


def _one_more_place(result: RTResult) -> RTResult:
    """One person was at three places, and nobody else of the group anywhere."""
    group = result.groups[0]
    visited: tuple[tuple[int, ...], ...] = ((0, 1, 2), (), (), ())
    first = replace(group, generalized=((0,), (2,), (3,)), visited=visited, sensitive=((),) * 4)
    return replace(result, groups=(first, *result.groups[1:]))


def _all_at_the_market(result: RTResult) -> RTResult:
    group = result.groups[0]
    alone = replace(group, visited=((),) * 4, sensitive=((1,),) * 4)
    return replace(result, groups=(alone, *result.groups[1:]))


def _a_place_twice(result: RTResult) -> RTResult:
    group = result.groups[0]
    first = replace(group, generalized=((2,), (2, 3)), visited=((0,),) * 3 + ((0, 1),), sensitive=((),) * 4)
    return replace(result, groups=(first, *result.groups[1:]))


def _somebody_twice(result: RTResult) -> RTResult:
    one, other = result.groups
    return replace(
        result,
        groups=(
            one,
            replace(
                other,
                users=(*other.users, one.users[0]),
                visited=(*other.visited, ()),
                sensitive=(*other.sensitive, ()),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("broken", "violations"),
    [
        (_one_left_out, 1 + 3),  # a group of three, and with each of its two places, and with both
        (_one_more_place, 3 + 3),  # each place, and two together
        (_all_at_the_market, 1),
        (_a_place_twice, 1 + 2),  # the park in two places; the second of them and both together are one person's
        (_somebody_twice, 1),
    ],
)
def test_a_candidate_that_breaks_the_guarantee_is_refused(
    broken: Broken, violations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part of the promise by itself: the finding counts what is broken, and only that the window is withheld
    leaves."""

    def planted(*args: Any, **given: Any) -> RTResult:
        result = anonymize_rt(*args, **given)
        assert isinstance(result, RTResult)
        return broken(result)

    monkeypatch.setattr("core.models.kkm.release.anonymize_rt", planted)
    outcome = release(CROWD, DIVERSE)
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == f"{violations} groups, sets of locations, shares or names break the guarantee with k=4"
    assert [message.topic for message in messages(outcome)] == ["windows"]
    assert outcome.account == Account(duplicates=1, withheld=len(CROWD) - 1)


def test_one_persons_visits_suppressed_are_not_counted_in_public() -> None:
    """Somebody who checks in too often: how many visits that cost is not told, as one person is behind it."""
    rows = np.concatenate([CROWD, visits(*((0, 100 + i, PARK, person(0)) for i in range(50)))])
    outcome = released(rows, attribute_plan(k=4, limits=limits(points_per_user=10)))
    assert outcome.account.suppressed > 10
    assert outcome.points_suppressed is None
    assert (outcome.people, outcome.population) == (8, 8)


def test_a_window_that_cannot_be_released_is_withheld_with_the_reason() -> None:
    """Too few people, or attributes that lose more than is allowed."""
    for rows, plan, reason in (
        (CROWD[:3], attribute_plan(k=4), WithholdReason.TOO_FEW_PEOPLE),
        (CROWD, attribute_plan(k=4, options=RTOptions(delta=0.0)), WithholdReason.CONSTRAINTS_NOT_SATISFIED),
    ):
        outcome = release(rows, plan)
        assert isinstance(outcome, Withheld)
        assert outcome.reason is reason
        assert outcome.account.withheld + outcome.account.duplicates == len(rows)


def test_measures_compare_with_the_raw_window() -> None:
    """Losses of attributes and places, and the share of visits that is kept; none where nothing is released."""
    figures = measured(CROWD, DIVERSE)
    assert figures is not None
    assert (figures.groups, figures.visits_kept_share, figures.ul) == (2, 1.0, 0.0)
    # 3 of 81 years, and for the young two leaves of three
    assert figures.ncp == pytest.approx((3 / 81 + 2 / 3 + 3 / 81) / 4)
    # Places are released as they are, and each of a group's ages and plans is that of as many people as expected.
    assert figures.are_locations == figures.are_attributes == 0
    assert figures.are_both > 0  # but people of some ages were at other places than the rest of the group
    assert measured(CROWD[:3], DIVERSE) is None
    assert measured(CROWD, attribute_plan(k=4, options=RTOptions(delta=0.0))) is None
