"""Dividing a window: places are disjoint, flows are counted rightly, and no single change would lose less."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.flows.anonymize.divide import divide
from core.models.flows.anonymize.division import Division, price_m
from core.models.flows.guarantee import TripRule
from core.models.flows.tree import PlaceTree, errors_m
from core.models.flows.trips import FlowWindow, trips_of
from core.places.locate import Area, AreaGrid
from core.places.meaning import OwnTaxonomy
from core.records.record import Rows
from core.trajectories.assemble import assemble_sequences
from tests.budgets import examples
from tests.builders.windows import limits, visits
from tests.oracles import flows as oracles

GRID = AreaGrid(Area(south=52.40, west=13.20, north=52.56, east=13.44), rows=4, columns=4)
CELLS = [row << 32 | column for row in range(4) for column in range(4)]
FEW_CELLS = [CELLS[i] for i in (0, 1, 4, 5, 10, 15)]


def windows(cells: list[int] = FEW_CELLS) -> st.SearchStrategy[Rows]:
    """Draw windows of up to eight people."""
    one = st.tuples(st.integers(1, 8), st.integers(0, 30), st.sampled_from(cells))
    return st.lists(one, min_size=2, max_size=40).map(lambda rows: visits(*rows))


def window_of(rows: Rows, rule: TripRule = TripRule.SUCCESSIVE, *, trajectory_length: int = 100) -> FlowWindow:
    return trips_of(assemble_sequences(rows, GRID, limits(trajectory_length=trajectory_length)), rule)


def trips_by_user(window: FlowWindow) -> dict[int, list[tuple[int, int]]]:
    trips = window.trips
    made: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for user, origin, destination in zip(
        trips.users.tolist(), trips.origins.tolist(), trips.destinations.tolist(), strict=True
    ):
        made[user].append((origin, destination))
    return dict(made)


def loss_of(window: FlowWindow, tree: PlaceTree, division: oracles.Division, k: int) -> int:
    """The loss of a division, by its definition."""
    vocabulary, trips = window.visits.vocabulary, trips_by_user(window)
    error_m = {}
    for place in tree.places:
        for location, away_m in zip(place.locations, errors_m(place, vocabulary).tolist(), strict=True):
            if division[location] == place.locations:
                error_m[location] = away_m
    people, price = oracles.flows_of(trips, division), price_m(vocabulary, window.trips)
    return sum(
        error_m[origin] + error_m[destination]
        if len(people[division[origin], division[destination]]) >= k
        else 2 * price
        for made in trips.values()
        for origin, destination in made
    )


def as_places(tree: PlaceTree, division: Division) -> oracles.Division:
    return {location: tree.places[number].locations for location, number in enumerate(division.place_of.tolist())}


@settings(max_examples=examples(200))
@given(rows=windows(), first_last=st.booleans(), length=st.integers(1, 5))
def test_trips_are_those_of_the_definition(rows: Rows, first_last: bool, length: int) -> None:
    """
    Equal successive locations are one; a sequence that was cut goes on, so a trip over the cut is one.
    """
    window = window_of(rows, TripRule.FIRST_LAST if first_last else TripRule.SUCCESSIVE, trajectory_length=length)
    sequences = window.visits.sequences
    expected = {
        user: oracles.trips_of(sequences.locations[sequences.owners == user].tolist(), first_last=first_last)
        for user in range(sequences.n_users)
    }
    assert trips_by_user(window) == {user: made for user, made in expected.items() if made}


@settings(max_examples=examples(150), deadline=None)
@given(rows=windows(), k=st.integers(2, 3))
def test_a_division_is_one_of_all_and_no_single_change_is_better(rows: Rows, k: int) -> None:
    """
    Its loss and kept trips are those of the definition; it is at least as good as one place for everything, and as
    every level of the hierarchy; neither splitting a place nor joining a node's children loses less.
    """
    window = window_of(rows)
    assume(len(window.trips))
    vocabulary = window.visits.vocabulary
    tree = PlaceTree(vocabulary, OwnTaxonomy(GRID))
    found = divide(tree, vocabulary, window.trips, k=k, max_suppressed=len(window.trips))
    paths = GRID.ancestors(vocabulary.ids)
    everything = list(oracles.divisions(paths))
    division = as_places(tree, found)
    assert division in everything
    assert found.loss_m == loss_of(window, tree, division, k)
    assert found.loss_m >= min(loss_of(window, tree, one, k) for one in everything)
    people = oracles.flows_of(trips_by_user(window), division)
    trips = zip(window.trips.origins.tolist(), window.trips.destinations.tolist(), strict=True)
    assert found.kept.tolist() == [len(people[division[o], division[d]]) >= k for o, d in trips]
    for level in range(tree.n_levels + 1):
        ends = [tuple(j for j, other in enumerate(paths) if other[:level] == path[:level]) for path in paths]
        at_level = {i: place if level < tree.n_levels else (i,) for i, place in enumerate(ends)}
        assert found.loss_m <= loss_of(window, tree, at_level, k)
    for number, place in enumerate(tree.places):
        if number in found.cut and place.children:
            assert found.split(number).gain_m <= 0
        if place.children and found.cut.issuperset(place.children):
            assert found.join(number).gain_m <= 0


@settings(max_examples=examples(100), deadline=None)
@given(rows=windows(CELLS), k=st.integers(2, 3), percent=st.sampled_from([0, 10, 50]))
def test_no_more_trips_are_suppressed_than_allowed(rows: Rows, k: int, percent: int) -> None:
    """
    Unless one place for the whole window suppresses more, which then is the division.
    """
    window = window_of(rows)
    assume(len(window.trips))
    vocabulary, n_trips = window.visits.vocabulary, len(window.trips)
    tree = PlaceTree(vocabulary, OwnTaxonomy(GRID))
    most = n_trips * percent // 100
    found = divide(tree, vocabulary, window.trips, k=k, max_suppressed=most)
    assert found.n_suppressed <= max(most, Division(tree, vocabulary, window.trips, k).n_suppressed)


def test_a_node_with_one_branch_is_left_out() -> None:
    """
    The places are named after the smallest node above their locations; a location is named as it is.
    """
    window = window_of(visits((1, 0, CELLS[0]), (1, 1, CELLS[5])))
    tree = PlaceTree(window.visits.vocabulary, OwnTaxonomy(GRID))
    assert [place.name for place in tree.places] == ["q1-0-0", "r0c0", "r1c1"]
    assert [place.radius_m is None for place in tree.places] == [False, True, True]
    assert errors_m(tree.places[1], window.visits.vocabulary).tolist() == [0]


def test_the_place_numbers_of_a_change_are_put_in_use() -> None:
    """
    A split takes the place out of use and its children into use; joining them undoes it.
    """
    window = window_of(visits(*((user, at, CELLS[place]) for user in range(3) for at, place in enumerate((0, 5)))))
    tree = PlaceTree(window.visits.vocabulary, OwnTaxonomy(GRID))
    division = Division(tree, window.visits.vocabulary, window.trips, 3)
    assert (division.cut, division.n_suppressed) == ({0}, 0)
    division.apply(division.split(0))
    assert division.cut == {1, 2}
    assert (division.loss_m, division.n_suppressed) == (0, 0)
    division.apply(division.join(0))
    assert division.cut == {0}
    assert division.loss_m > 0
    assert np.array_equal(division.kept, [True] * 3)
