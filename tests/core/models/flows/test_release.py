"""A release of flows: what leaves is counted rightly, every row is accounted for, and figures tell of nobody."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.flows.flows import FlowCandidate
from core.models.flows.guarantee import TripRule
from core.models.flows.plan import FlowPlan
from core.models.flows.release import FlowResult
from core.models.flows.released import PublishedFlow
from core.models.flows.trips import FlowWindow
from core.models.registry import family_of
from core.places.meaning import VenueTaxonomy
from core.places.taxonomy import Categories
from core.records.record import Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from tests.budgets import examples
from tests.builders.windows import (
    PLACES,
    VENUES,
    flow_plan,
    limits,
    measured,
    messages,
    release,
    released,
    seal_of,
    visits,
    window_message,
)
from tests.core.models.flows.test_divide import CELLS, GRID, windows
from tests.oracles import flows as oracles

HOME, SHOP, PARK, LAKE = CELLS[0], CELLS[1], CELLS[10], CELLS[15]


def walks(*ways: tuple[int, tuple[int, ...]]) -> Rows:
    """Visits of people, each with the locations in order."""
    return visits(*((user, 10 * at, place) for user, way in ways for at, place in enumerate(way)))


def flows(outcome: Outcome) -> dict[tuple[str, str], tuple[int, int | None]]:
    """People and trips of each flow."""
    assert isinstance(outcome, Release)
    return {
        (one.origin, one.destination): (one.people, one.trips)
        for one in outcome.trajectories
        if isinstance(one, PublishedFlow)
    }


COMMUTERS = walks(*((user, (HOME, PARK)) for user in range(4)))
"""Four people who go from home to the park."""


def test_a_crowd_that_goes_one_way_is_one_flow() -> None:
    """Its places are locations as they are, and nothing is lost."""
    outcome = released(COMMUTERS, flow_plan(k=4, locator=GRID))
    assert flows(outcome) == {("r0c0", "r2c2"): (4, 4)}
    told = window_message(outcome)
    assert told["parameters"] == {"k": 4, "trips": "successive", "taxonomy": "own", "max_suppressed_trips": 100.0}
    assert (told["population"], told["people"], told["points_released"], told["points_suppressed"]) == (4, 4, 4, 0)
    assert told["information_loss"] == {
        "places": 2,
        "original_locations": 2,
        "radius_m": 0.0,
        "inside_share": 0.0,
        "trips_released": 4,
        "trips_suppressed": 0,
    }
    assert [place["members"] for place in told["locations"]] == [["r0c0"], ["r2c2"]]
    assert outcome.account.released == 8


def test_one_way_is_not_the_other() -> None:
    """A flow has a direction; the way back is a flow of its own, or suppressed."""
    back = walks(*((user, (HOME, PARK)) for user in range(4)), (9, (PARK, HOME)))
    outcome = released(back, flow_plan(k=4, locator=GRID))
    assert flows(outcome) == {("r0c0", "r2c2"): (4, 4)}
    told = window_message(outcome)
    # One person is not released: neither the population nor what was suppressed may say so.
    assert (told["population"], told["people"], told["points_suppressed"]) == (None, 4, None)
    assert told["information_loss"]["trips_suppressed"] is None


def test_a_trip_inside_a_place_is_a_flow_from_the_place_to_itself() -> None:
    """Where places must be large, trips inside them are counted too."""
    around = walks(*((user, (CELLS[user % 2], CELLS[4 + user % 2])) for user in range(4)))
    outcome = released(around, flow_plan(k=4, locator=GRID))
    assert flows(outcome) == {("q1-0-0", "q1-0-0"): (4, 4)}
    (place,) = window_message(outcome)["locations"]
    assert place["members"] == ["q1-0-0"]
    assert place["radius_m"] > 0
    assert window_message(outcome)["information_loss"]["inside_share"] == 1.0


def test_trips_are_not_published_where_few_people_made_several() -> None:
    """Seven trips of five people with k = 3 would reveal that one or two people made more than one."""
    ways = [(user, (HOME, PARK)) for user in range(4)]
    once_more = (4, (HOME, PARK, HOME, PARK, HOME, PARK))
    outcome = released(walks(*ways, once_more), flow_plan(k=3, locator=GRID))
    assert flows(outcome) == {("r0c0", "r2c2"): (5, None)}
    assert "trips" not in json.loads(messages(outcome)[0].value)
    assert window_message(outcome)["information_loss"]["trips_released"] is None
    many = walks(*((user, (HOME, PARK, HOME, PARK)) for user in range(5)))
    assert flows(released(many, flow_plan(k=3, locator=GRID)))["r0c0", "r2c2"] == (5, 10)


def test_people_are_not_published_where_few_are_in_several_flows() -> None:
    """Flows of three and three people, and five people in all, would reveal that one is in both."""
    rows = walks(
        *((user, (HOME, PARK)) for user in (1, 2)),
        *((user, (SHOP, LAKE)) for user in (4, 5)),
        (3, (HOME, PARK, SHOP, LAKE)),
    )
    told = window_message(released(rows, flow_plan(k=3, locator=GRID)))
    assert (told["people"], told["population"], told["points_released"]) == (None, None, 6)


def test_only_the_way_from_the_first_to_the_last_location_counts_where_asked() -> None:
    """Stops on the way are no ends, and a round trip is none."""
    rows = walks(*((user, (HOME, SHOP, PARK)) for user in range(4)), *((user, (HOME, PARK, HOME)) for user in (7, 8)))
    outcome = released(rows, flow_plan(k=4, locator=GRID, trips=TripRule.FIRST_LAST))
    assert flows(outcome) == {("r0c0", "r2c2"): (4, 4)}
    assert (outcome.account.released, outcome.account.suppressed) == (8, 10)


def test_a_long_sequence_that_was_cut_goes_on() -> None:
    """The limit on the length of trajectories cuts no trip."""
    plan = flow_plan(k=4, locator=GRID, limits=limits(trajectory_length=1))
    assert flows(release(COMMUTERS, plan)) == {("r0c0", "r2c2"): (4, 4)}


def test_without_enough_people_nothing_is_released() -> None:
    """People who stay where they are make no flow; where too few people are in the window nothing else is said."""
    staying = release(walks(*((user, (HOME, HOME)) for user in range(4))), flow_plan(k=4, locator=GRID))
    few = release(walks(*((user, (CELLS[user], PARK)) for user in range(3))), flow_plan(k=4, locator=GRID))
    assert isinstance(staying, Withheld)
    assert isinstance(few, Withheld)
    assert (staying.reason, few.reason) == (WithholdReason.NOTHING_LEFT, WithholdReason.TOO_FEW_PEOPLE)


def test_categories_are_places_with_the_centre_of_all_their_venues() -> None:
    """With a taxonomy of venues, flows are between categories; the venue that nobody visits counts for the centre."""
    tree = Categories.from_rows([("food", ""), ("leisure", "")])
    category_of = dict.fromkeys(PLACES, "leisure") | {"bakery": "food", "market": "food"}
    taxonomy = VenueTaxonomy(tree, category_of, "places:1", VENUES)
    bakery, market, park, cinema = (PLACES.index(name) for name in ("bakery", "market", "park", "cinema"))
    rows = walks(*((user, ((bakery, market)[user % 2], (park, cinema)[user % 2])) for user in range(4)))
    outcome = released(rows, flow_plan(k=4, taxonomy=taxonomy))
    assert flows(outcome) == {("/food", "/leisure"): (4, 4)}
    food, leisure = window_message(outcome)["locations"]
    assert (round(food["lat"], 3), round(leisure["lat"], 3)) == (52.51, 52.532)


def test_a_candidate_that_breaks_the_guarantee_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier has the last word."""
    family = family_of("flows")

    def one_more(window: FlowWindow, result: object, plan: FlowPlan) -> FlowCandidate:
        found = family.candidate(window, result, plan)
        assert isinstance(found, FlowCandidate)
        flow = found.flows[0]
        return replace(found, flows=(replace(flow, people=flow.people + 1), *found.flows[1:]))

    monkeypatch.setattr("core.pipeline.family_of", lambda _: replace(family, candidate=one_more))
    outcome = release(COMMUTERS, flow_plan(k=4, locator=GRID))
    assert isinstance(outcome, ReleaseRefused)
    assert outcome.finding == "with k=4: 1 flows have a wrong number of people"


@settings(max_examples=examples(200), deadline=None)
@given(rows=windows(CELLS), k=st.integers(2, 4), first_last=st.booleans())
def test_what_is_published_is_counted_rightly_and_singles_out_nobody(rows: Rows, k: int, first_last: bool) -> None:
    """
    Read from the messages: flows are of at least k people, and no difference of two figures counts 1 to k-1 people.
    """
    rule = TripRule.FIRST_LAST if first_last else TripRule.SUCCESSIVE
    plan = flow_plan(k=k, locator=GRID, trips=rule)
    outcome = release(rows, plan)
    account = outcome.account
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(rows)
    if not isinstance(outcome, Release):
        return
    window = family_of("flows").assemble(seal_of(rows, plan), rows, plan)
    result = family_of("flows").anonymize(seal_of(rows, plan), window, plan)
    assert isinstance(result, FlowResult)
    places = [result.places[number] for number in result.place_of.tolist()]
    division = {location: place.locations for location, place in enumerate(places)}
    name_of = {place.locations: place.name for place in places}
    sequences = window.visits.sequences
    made = {
        user: oracles.trips_of(sequences.locations[sequences.owners == user].tolist(), first_last=first_last)
        for user in range(sequences.n_users)
    }
    trips = {
        (name_of[origin], name_of[destination]): Counter(
            user for user, its in made.items() for o, d in its if (division[o], division[d]) == (origin, destination)
        )
        for origin, destination in oracles.flows_of(made, division)
    }
    shown = flows(outcome)
    assert {ends: count[0] for ends, count in shown.items()} == {
        ends: len(people) for ends, people in trips.items() if len(people) >= k
    }
    told = window_message(outcome)
    figures = told["information_loss"]
    # What an adversary computes, and how many people it stands for.
    stands_for = []
    several = {ends: {user for user, n in trips[ends].items() if n > 1} for ends in shown}
    for ends, (_, n_trips) in shown.items():
        if n_trips is not None:
            assert n_trips == trips[ends].total()
            stands_for.append(len(several[ends]))
    if figures["trips_released"] is not None:
        hidden = [ends for ends, (_, n_trips) in shown.items() if n_trips is None]
        stands_for.append(len({user for ends in hidden for user in several[ends]}))
    left_out = {user for ends, people in trips.items() if ends not in shown for user in people}
    if figures["trips_suppressed"] is not None:
        assert figures["trips_suppressed"] == sum(trips[ends].total() for ends in trips if ends not in shown)
        stands_for.append(len(left_out))
    in_flows = Counter(user for ends in shown for user in trips[ends])
    if told["people"] is not None:
        assert told["people"] == len(in_flows)
        stands_for.append(sum(n > 1 for n in in_flows.values()))
    if told["population"] is not None:
        stands_for.append(sequences.n_users - len(in_flows))
    assert all(n == 0 or n >= k for n in stands_for)


@settings(max_examples=examples(150), deadline=None)
@given(rows=windows(CELLS), more=windows(CELLS))
def test_the_description_of_a_place_does_not_depend_on_who_is_there(rows: Rows, more: Rows) -> None:
    """
    Name, centre and radius are those of the hierarchy: an adversary who knows everybody but one person learns nothing
    from them but where the borders of places are.
    """
    plan = flow_plan(k=2, locator=GRID)
    described: dict[str, object] = {}
    for window in (rows, more):
        outcome = release(window, plan)
        for place in outcome.locations or () if isinstance(outcome, Release) else ():
            (name,) = place.members
            assert described.setdefault(name, place) == place


def test_measures_compare_with_the_raw_window() -> None:
    """Shares of trips and people, and distances from the centres of places."""
    figures = measured(
        walks(*((user, (HOME, PARK)) for user in range(4)), (9, (PARK, HOME))), flow_plan(k=4, locator=GRID)
    )
    assert figures is not None
    assert figures.as_dict() == {
        "trips_kept_share": 0.8, "people_kept_share": 0.8, "distance_m": 0.0, "inside_share": 0.0, "flows": 1.0
    }  # fmt: skip
    assert measured(visits((1, 0, HOME), (2, 0, HOME)), flow_plan(k=2, locator=GRID)) is None
