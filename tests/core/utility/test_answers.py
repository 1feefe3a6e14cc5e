"""COUNT queries of raw and released windows, against enumeration of all that may have been."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations, product
from typing import Any

import h3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.plan import Plan
from core.models.flows.flows import CountedFlow, FlowCandidate, FlowPlace
from core.models.flows.measure import FlowAnswers
from core.models.kkm.attribute_queries import share_of_values
from core.models.kkm.attributes import Interval
from core.models.measures import MeasuredWindow, measure_window
from core.models.registry import family_of
from core.places.meaning import OwnTaxonomy
from core.records.record import Rows
from core.utility.answers import PossibleVisits, VisitLabels
from core.utility.queries import expected_count
from core.utility.window_answers import measure_queries
from core.utility.window_measures import MeasureInputs, MeasureOptions
from core.utility.workload import (
    AroundPlace,
    CellPlace,
    CountQuery,
    LocationPlace,
    RectanglePlace,
    Spots,
    TimeOfDay,
    Workload,
)
from tests.budgets import examples
from tests.builders.windows import (
    SCHEMA,
    anonymized,
    attribute_plan,
    cluster_plan,
    flow_plan,
    pair_plan,
    pattern_plan,
    point_plan,
    points,
    profile_code,
    seal_of,
    sequence_plan,
    set_plan,
    visits,
)
from tests.oracles.km import Crowd, as_sequences, crowds

L = 5
NAMES = "abcde"
LABELS = st.lists(
    st.sets(st.integers(0, L - 1), min_size=1, max_size=3).map(lambda its: tuple(sorted(its))), max_size=4
)
PLACES = st.lists(st.integers(0, L - 1), min_size=1, max_size=3)


def spots() -> Spots:
    """Five places on a line, named by letters."""
    return Spots(lat_deg=np.linspace(0.0, 0.04, L), lon_deg=np.zeros(L), names=tuple(NAMES))


def possible(people: list[list[tuple[int, ...]]], *, ordered: bool) -> PossibleVisits:
    """One trajectory of each person."""
    labels = [label for visited in people for label in visited]
    return PossibleVisits(
        users=np.arange(len(people)),
        starts=np.cumsum([0, *map(len, people)]),
        spots=spots(),
        labels=VisitLabels.of(np.arange(len(labels)), labels),
        ordered=ordered,
    )


def query(places: list[int], **more: Any) -> CountQuery:
    """Ask for places by their numbers."""
    return CountQuery(places=tuple(LocationPlace(NAMES[place]) for place in places), **more)


def is_subsequence(wanted: tuple[int, ...], world: tuple[int, ...]) -> bool:
    """Whether a world has all of these places in order."""
    left = iter(world)
    return all(place in left for place in wanted)


@given(people=st.lists(LABELS, min_size=1, max_size=3), places=PLACES)
@settings(max_examples=examples(200))
def test_an_answer_is_the_expected_number_of_people_over_all_worlds(
    people: list[list[tuple[int, ...]]], places: list[int]
) -> None:
    """
    Every visit is at each member of its label in as many worlds. In order or without.
    """
    in_order, together = 0.0, 0.0
    for visited in people:
        worlds = list(product(*visited))
        in_order += sum(is_subsequence(tuple(places), world) for world in worlds) / len(worlds)
        together += sum(set(places) <= set(world) for world in worlds) / len(worlds)
    released = possible(people, ordered=True)
    assert released.count(query(places)) == pytest.approx(in_order)
    assert released.count(query(places, in_order=False)) == pytest.approx(together)
    orderless = possible(people, ordered=False)
    assert orderless.count(query(places, in_order=False)) == pytest.approx(together)
    assert orderless.count(query(places)) == pytest.approx(together / len(list(permutations(places))))


@given(crowd=crowds(n_locations=L), groups=st.lists(st.integers(0, L - 1), min_size=L, max_size=L), places=PLACES)
@settings(max_examples=examples(200))
def test_generalized_sequences_are_answered_as_the_papers_estimate(
    crowd: Crowd, groups: list[int], places: list[int]
) -> None:
    """
    The same numbers as :func:`expected_count`, also of people with several trajectories.
    """
    named = np.array([groups.index(group) for group in groups])
    sequences = as_sequences([(user, tuple(int(named[x]) for x in visited)) for user, visited in crowd])
    members = [tuple(np.flatnonzero(named == location).tolist()) or (location,) for location in range(L)]
    released = PossibleVisits(
        users=sequences.users,
        starts=sequences.starts,
        spots=spots(),
        labels=VisitLabels.of(sequences.locations, members),
    )
    assert released.count(query(places)) == pytest.approx(expected_count(places, sequences, named))


@given(
    begin=st.integers(0, 3 * 1440), length=st.integers(1, 2000), start=st.integers(0, 1439), end=st.integers(0, 1440)
)
@settings(max_examples=examples(200))
def test_a_slot_counts_with_the_share_that_is_in_the_span(begin: int, length: int, start: int, end: int) -> None:
    """
    Minute by minute; a span may go over midnight, and a slot over several days.
    """
    if start == end:
        with pytest.raises(ValueError, match="two different times"):
            TimeOfDay(from_ms=start * 60_000, to_ms=end * 60_000)
        return
    minutes = [(minute % 1440) for minute in range(begin, begin + length)]
    inside = [start <= one < end if start < end else one >= start or one < end for one in minutes]
    span = TimeOfDay(from_ms=start * 60_000, to_ms=end * 60_000)
    share = span.share(np.array([begin * 60_000]), np.array([(begin + length) * 60_000]))
    assert share[0] == pytest.approx(np.mean(inside))


def test_places_are_names_rectangles_discs_and_cells() -> None:
    """
    Each contains the spots it should: a name one, the others all whose position is inside.
    """
    at = spots()
    assert LocationPlace("c").contains(at).tolist() == [False, False, True, False, False]
    assert not LocationPlace("unknown").contains(at).any()
    box = RectanglePlace(south=0.01, west=-1, north=0.03, east=1)
    assert box.contains(at).tolist() == [False, True, True, True, False]
    disc = AroundPlace(lat_deg=0.0, lon_deg=0.0, radius_m=1_200)
    assert disc.contains(at).tolist() == [True, True, False, False, False]
    cell = h3.latlng_to_cell(0.02, 0.0, 5)
    expected = [h3.latlng_to_cell(float(lat), 0.0, 5) == cell for lat in at.lat_deg]
    assert CellPlace(cell).contains(at).tolist() == expected
    for wrong in (lambda: CellPlace("xyz"), lambda: RectanglePlace(south=2, west=0, north=1, east=1)):
        with pytest.raises(ValueError, match=r"H3 cell|rectangle"):
            wrong()


@given(low=st.integers(18, 40), width=st.integers(1, 30), asked=st.tuples(st.integers(18, 80), st.integers(0, 30)))
def test_generalized_attributes_match_with_their_share(low: int, width: int, asked: tuple[int, int]) -> None:
    """
    A number with the share of its interval that is asked for, a value with the share of its leaves; together the
    product.
    """
    people = [(Interval(low, low + width), "paid"), (Interval(low, low), "gold"), (Interval(18, 99), "*")]
    first, last = asked[0], asked[0] + asked[1]
    fine = np.linspace(low, low + width, 20_001)
    of_age = np.mean((fine >= first) & (fine <= last))
    share = share_of_values(SCHEMA, people, {"age": (first, last), "plan": "gold"})
    assert share is not None
    assert share[0] == pytest.approx(of_age / 2, abs=1e-3)
    assert share[1] == float(first <= low <= last)
    assert share_of_values(SCHEMA, people, {"plan": "paid"}) == pytest.approx([1, 1, 2 / 3])
    assert share_of_values(SCHEMA, people, {"height": (1, 2)}) is None
    assert share_of_values(SCHEMA, people, {"plan": "silver"}) is None


ALIKE = visits(*((user, 100 * place, place, profile_code()) for user in range(6) for place in range(3)))
"""Six people who do the same: every model of check-ins can release them as they are."""

PLANS = (sequence_plan, cluster_plan, pattern_plan, pair_plan, attribute_plan, set_plan, flow_plan)


def figures(rows: Rows, plan: Plan, workload: Workload) -> MeasuredWindow:
    """Measure with a workload."""
    taxonomy = None if plan.locator is None else OwnTaxonomy(plan.locator)
    inputs = MeasureInputs(options=MeasureOptions(), taxonomy=taxonomy, workload=workload)
    found = measure_window(seal_of(rows, plan), rows, plan, inputs)
    assert found is not None
    return found


@pytest.mark.parametrize("make_plan", PLANS, ids=lambda make: make.__name__)
def test_people_who_do_the_same_are_released_without_error(make_plan: Any) -> None:
    """
    Of every model: drawn queries have no error where nothing needs to be generalized. Flows answer only what goes
    from one place to another without a third in between.
    """
    plan = make_plan(k=2)
    found = figures(ALIKE, plan, Workload(n_drawn=30)).as_dict()
    if make_plan is flow_plan:
        assert 0 < found["queries_unanswered"] < 1
        names = family_of(plan.model).assemble(seal_of(ALIKE, plan), ALIKE, plan).visits.vocabulary.names
        window, result = anonymized(ALIKE, plan)
        answers = family_of(plan.model).answers(seal_of(ALIKE, plan), ALIKE, window, result, plan)
        order = [names[x] for x in window.visits.sequences.locations[:3].tolist()]
        for first, second in pairwise(order):
            step = CountQuery(places=(LocationPlace(first), LocationPlace(second)))
            assert answers.raw.count(step) == answers.released.count(step) == 6
    else:
        assert found["queries_are"] == pytest.approx(0.0)
        assert found["queries_unanswered"] == 0


def test_fragments_are_answered_by_their_points() -> None:
    """
    Six people who move together are released within delta of where they were, so a disc that holds the whole crowd has
    the right answer and another the answer 0, which is right as well.
    """
    rows = points(*((user, 30 * step, 52.5, 13.4 + 0.001 * step) for user in range(6) for step in range(6)))
    here = AroundPlace(lat_deg=52.5, lon_deg=13.4, radius_m=3_000)
    there = AroundPlace(lat_deg=48.1, lon_deg=11.6, radius_m=3_000)
    asked = CountQuery(places=(here,)), CountQuery(places=(here, here)), CountQuery(places=(there,))
    found = figures(rows, point_plan(), Workload(queries=asked)).as_dict()
    assert found["queries_are"] == 0
    assert found["queries_empty"] == pytest.approx(1 / 3)
    assert math.isfinite(figures(rows, point_plan(), Workload()).as_dict()["queries_are"])


def test_what_a_release_does_not_have_is_not_answered() -> None:
    """
    Times only of pairs, attributes only with attributes: other models leave these queries out, and say how many.
    """
    name = sequence_plan().locator.describe(np.array([0]))[0][0]
    timed = CountQuery(places=(LocationPlace(name),), during=TimeOfDay(from_ms=0, to_ms=86_400_000))
    of_some = CountQuery(places=(LocationPlace(name),), attributes={"age": (18, 99)})
    workload = Workload(queries=(CountQuery(places=(LocationPlace(name),)), timed, of_some))
    unanswered = {make.__name__: figures(ALIKE, make(k=2), workload).as_dict()["queries_unanswered"] for make in PLANS}
    assert unanswered.pop("pair_plan") == pytest.approx(1 / 3)
    assert unanswered.pop("attribute_plan") == pytest.approx(1 / 3)
    assert unanswered.pop("flow_plan") == 1
    assert list(unanswered.values()) == pytest.approx([2 / 3] * len(unanswered))


def test_the_error_is_relative_to_the_bound_where_nobody_matches() -> None:
    """
    Without a match the error is what the release invents over the bound: one person, or a share of the window.
    """
    window, result = anonymized(ALIKE, plan := sequence_plan(k=2))
    answers = family_of(plan.model).answers(seal_of(ALIKE, plan), ALIKE, window, result, plan)
    names = window.vocabulary.names
    first, last = (names[x] for x in window.sequences.locations[[2, 0]].tolist())  # nobody goes back
    backwards = CountQuery(places=(LocationPlace(first), LocationPlace(last)))
    assert answers.raw.count(backwards) == 0
    invented = possible([[(0, 1)]] * 4, ordered=True)
    asked = query([0])
    for percent, bound in ((0.1, 1.0), (50.0, 3.0)):
        planted = type(answers)(
            people=6, raw=possible([[(2,)]] * 6, ordered=True), released=invented, draw=answers.draw
        )
        workload = Workload(queries=(asked,), sanity_percent=percent)
        found = measure_queries(planted, workload, np.random.default_rng(1))
        assert (found.queries_are, found.queries_sanity_bound, found.queries_empty) == (2.0 / bound, bound, 1.0)


def test_raw_answers_do_not_depend_on_the_model() -> None:
    """
    Every model of check-ins is compared with the same answers of the same rows.
    """
    names = anonymized(ALIKE, sequence_plan())[0].vocabulary.names
    asked = [CountQuery(places=(LocationPlace(a), LocationPlace(b))) for a, b in combinations(names, 2)]
    found = set()
    for make in PLANS:
        plan = make(k=2)
        window, result = anonymized(ALIKE, plan)
        answers = family_of(plan.model).answers(seal_of(ALIKE, plan), ALIKE, window, result, plan)
        found.add(tuple(answers.raw.count(one) for one in asked))
    assert len(found) == 1


def test_flows_are_answered_by_the_pairs_of_their_places() -> None:
    """
    Of two places with two locations each, a flow between them is one of four pairs; inside a place, one of two, because
    a trip ends elsewhere.
    """
    places = tuple(FlowPlace(name=name, path=None, members=tuple(name)) for name in ("ab", "cd"))
    flows = (
        CountedFlow(origin="ab", destination="ab", people=6, trips=None),
        CountedFlow(origin="ab", destination="cd", people=8, trips=None),
    )
    candidate = FlowCandidate(users=[], places=places, flows=flows, trips_released=None, trips_suppressed=None)
    answers = FlowAnswers(released=candidate, spots=spots())
    assert [answers.count(query(list(pair))) for pair in ((0, 1), (0, 2), (2, 0), (0, 0), (0, 4))] == [3, 2, 0, 0, 0]
    assert answers.count(query([0])) is None
    assert answers.count(query([0, 1], in_order=False)) is None
