"""ARE of RT: what COUNT queries over attributes and locations are answered with a release."""

from __future__ import annotations

import numpy as np
import pytest

from core.models.kkm.attributes import CategoricalAttribute, Hierarchy, Interval, NumericAttribute
from core.models.kkm.queries import RTPerson, RTQuery, draw_rt_queries, rt_query_error, value_chance
from core.places.taxonomy import Categories

AGE = NumericAttribute(name="age", low=0, high=99)
PLAN = CategoricalAttribute(
    name="plan",
    hierarchy=Hierarchy(Categories.from_rows([("basic", ""), ("paid", ""), ("gold", "paid"), ("plus", "paid")])),
)
SCHEMA = (AGE, PLAN)


def person(age: int, plan: str, *locations: int) -> RTPerson:
    return RTPerson((Interval(age, age), plan), dict.fromkeys(locations, 1.0))


WINDOW = [person(20, "gold", 1, 2), person(21, "plus", 1, 2), person(20, "basic", 3)]


def test_a_value_is_as_likely_as_the_others_that_are_possible() -> None:
    """
    Of an interval each whole number, of a node each leaf below it; what lies outside has no chance.
    """
    at_20 = Interval(20, 20)
    assert value_chance(AGE, at_20, at_20) == 1
    assert value_chance(AGE, at_20, Interval(20, 23)) == 1 / 4
    assert value_chance(AGE, at_20, Interval(21, 23)) == 0
    assert value_chance(PLAN, "gold", "gold") == 1
    assert value_chance(PLAN, "gold", "paid") == 1 / 2
    assert value_chance(PLAN, "gold", "*") == 1 / 3
    assert value_chance(PLAN, "gold", "basic") == value_chance(PLAN, "paid", "gold") == 0
    with pytest.raises(ValueError, match="attribute age: a value is of the other kind"):
        value_chance(AGE, "gold", at_20)


def test_errors_are_those_of_expected_numbers() -> None:
    """
    The two of the paid plans are released as one group, with one generalized location of two members.
    """
    both = RTPerson((Interval(20, 21), "paid"), {1: 0.5, 2: 0.5})
    released = [both, both, WINDOW[2]]
    age = RTQuery(0, Interval(20, 20), ())
    assert rt_query_error(SCHEMA, WINDOW, released, [age]) == 0  # 2 people; 1/2 + 1/2 + 1 expected
    assert rt_query_error(SCHEMA, WINDOW, released, [RTQuery(None, None, (1, 2))]) == pytest.approx((2 - 0.5) / 2)
    assert rt_query_error(SCHEMA, WINDOW, released, [RTQuery(1, "gold", (1,))]) == pytest.approx(1 - 2 * 0.25)
    assert rt_query_error(SCHEMA, WINDOW, WINDOW, [age, RTQuery(1, "gold", (1,))]) == 0
    assert np.isnan(rt_query_error(SCHEMA, WINDOW, WINDOW, []))


@pytest.mark.parametrize(("attributes", "locations"), [(True, False), (False, True), (True, True)])
def test_queries_are_of_people_who_are_there(attributes: bool, locations: bool) -> None:
    """
    Each has a true answer of one person at least, asks for what it should, and is the same for the same seed.
    """
    queries = draw_rt_queries(WINDOW, np.random.default_rng(1), n=50, attributes=attributes, locations=locations)
    assert len(queries) == 50
    assert queries == draw_rt_queries(
        WINDOW, np.random.default_rng(1), n=50, attributes=attributes, locations=locations
    )
    for query in queries:
        assert (query.attribute is not None) == attributes
        assert (1 <= len(query.locations) <= 2) == locations
        matching = [
            one
            for one in WINDOW
            if (query.attribute is None or one.values[query.attribute] == query.value)
            and set(query.locations) <= set(one.chances)
        ]
        assert matching
    assert {query.locations for query in queries} == ({(1, 2), (3,)} if locations else {()})
    assert draw_rt_queries([], np.random.default_rng(1), n=9, attributes=attributes, locations=locations) == []
