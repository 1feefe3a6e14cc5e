"""Attributes of people: hierarchies, what is refused, and what generalizing them costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.models.kkm.attributes
from core.models.kkm.anonymize.spans import BILLION, Spans
from core.models.kkm.attributes import Attributes, CategoricalAttribute, Hierarchy, Interval, NumericAttribute, Schema
from core.models.kkm.ncp import certainty_penalty, mean_certainty_penalty
from core.places.taxonomy import Categories, TaxonomyError
from core.utility.utility_loss import mean_utility_loss, utility_loss
from tests.oracles.kkm import PARENTS, SCHEMA, leaves, path

TREE = Hierarchy(Categories.from_rows(PARENTS.items()))
NODES = ["", *PARENTS]


def label(node: str) -> str:
    return node or "*"


def test_nodes_are_numbered_by_their_paths() -> None:
    """
    A parent comes before its children and siblings by name, whatever the order of the rows.
    """
    assert TREE.labels == ("*", "af", "dz", "ng", "br", "eu", "at", "de")
    assert Hierarchy(Categories.from_rows(list(PARENTS.items())[::-1])).labels == TREE.labels


@pytest.mark.parametrize("remembered", [0, 2048])
def test_common_ancestors_are_found_as_by_hand(remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of every two nodes the deepest one above both, remembered or not; and leaves are counted below each.
    """
    monkeypatch.setattr(core.models.kkm.attributes, "_REMEMBERED", remembered)
    tree = Hierarchy(Categories.from_rows(PARENTS.items()))
    everything = np.arange(len(tree.labels))
    for one in NODES:
        found = tree.common_with(everything[tree.labels.index(label(one))], everything)
        for other in NODES:
            both = [n for n in NODES if path(one)[: len(path(n))] == path(n) == path(other)[: len(path(n))]]
            expected = max(both, key=lambda n: len(path(n)))
            assert tree.labels[found[tree.labels.index(label(other))]] == label(expected)
    for node in NODES:
        assert tree.leaves[tree.labels.index(label(node))] == len(leaves(node))


def test_a_hierarchy_needs_values_and_a_root_of_its_own() -> None:
    """
    An empty tree, and a value named as the root, are refused; the root may be named otherwise.
    """
    with pytest.raises(TaxonomyError, match="hierarchy is empty"):
        Hierarchy(Categories.from_rows([]))
    with pytest.raises(TaxonomyError, match="named 'eu' as the root"):
        Hierarchy(Categories.from_rows(PARENTS.items()), root="eu")
    assert Hierarchy(Categories.from_rows(PARENTS.items()), root="World").labels[0] == "World"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([(1,)], "a person has 1 values: the schema has 2"),
        ([(21, "at")], "attribute age: a value is no number in 0..20"),
        ([(float("nan"), "at")], "attribute age: a value is no number"),
        ([("1", "at")], "attribute age: a value is no number"),
        ([(1, "fr")], "attribute origin: a value is not in its hierarchy"),
    ],
)
def test_values_that_cannot_be_are_refused(rows: list[tuple[float | str, ...]], says: str) -> None:
    """
    A value outside its attribute's range or hierarchy is named by its attribute, and not repeated.
    """
    with pytest.raises(ValueError, match=says):
        Attributes.of(SCHEMA, rows)


def test_attributes_have_names_of_their_own_and_sensible_ranges() -> None:
    """
    No attribute, two of one name, an empty range and a weight of 0 are refused.
    """
    for schema in ((), (SCHEMA[0], SCHEMA[0])):
        with pytest.raises(ValueError, match="each with a name of its own"):
            Attributes.of(schema, [])
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match="attribute a: the range"):
            NumericAttribute(name="a", low=low, high=high)
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="attribute a: the weight is"):
            NumericAttribute(name="a", low=0, high=1, weight=weight)
        with pytest.raises(ValueError, match="attribute b: the weight is"):
            CategoricalAttribute(name="b", hierarchy=TREE, weight=weight)


WEIGHTED: Schema = (
    NumericAttribute(name="age", low=0, high=20, weight=3),
    CategoricalAttribute(name="origin", hierarchy=TREE, weight=1),
)


def test_the_penalty_is_that_of_the_paper() -> None:
    """
    A range counts by its length, a node by its leaves, a single value and a node of one leaf nothing; weights are
    shares of their sum.
    """
    assert certainty_penalty(WEIGHTED, (Interval(5, 5), "at")) == 0
    assert certainty_penalty(WEIGHTED, (Interval(5, 15), "at")) == 0.75 * 0.5
    assert certainty_penalty(WEIGHTED, (Interval(5, 5), "eu")) == 0.25 * 2 / 5
    assert certainty_penalty(WEIGHTED, (Interval(0, 20), "*")) == 1
    assert mean_certainty_penalty(WEIGHTED, [(Interval(0, 20), "*"), (Interval(1, 1), "br")]) == 0.5
    assert mean_certainty_penalty(WEIGHTED, []) == 0
    with pytest.raises(ValueError, match="attribute age: a generalized value is of the other kind"):
        certainty_penalty(WEIGHTED, ("at", "at"))


def test_the_utility_loss_is_that_of_the_paper() -> None:
    """
    (2^2 - 1 + 2^3 - 1) / (2^6 - 1) for locations of 2, 3 and 1 members, the last of weight 0; and any size will do.
    """
    assert utility_loss([2, 3, 1]) == 10 / 63
    assert utility_loss([5]) == 1
    assert utility_loss([]) == utility_loss([1, 1]) == 0
    assert utility_loss([3000, 3000]) < 1e-300
    assert mean_utility_loss([[2], [1], [], [1, 2]]) == pytest.approx((1 + 3 / 7) / 4)
    assert mean_utility_loss([]) == 0


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(sorted(PARENTS))), min_size=2, max_size=6),
    weight=st.sampled_from([1.0, 3.0]),
)
def test_joined_sets_cost_what_is_released_of_them(rows: list[tuple[int, str]], weight: float) -> None:
    """
    Joining people one by one, or all at once, gives the values that hold all of them, at their NCP.
    """
    schema: Schema = (NumericAttribute(name="age", low=0, high=20, weight=weight), SCHEMA[1])
    people = Spans.of_people(Attributes.of(schema, rows))
    one_by_one = people.part(np.array([0]))
    for number in range(1, len(rows)):
        one_by_one = one_by_one.joined(people, number)
    at_once = people.whole()
    assert one_by_one.values(0) == at_once.values(0)
    interval, node = at_once.values(0)
    assert interval == Interval(min(age for age, _ in rows), max(age for age, _ in rows))
    above = [n for n in NODES if all(path(origin)[: len(path(n))] == path(n) for _, origin in rows)]
    assert node == label(max(above, key=lambda n: len(path(n))))
    expected = Fraction(certainty_penalty(schema, (interval, node))) * BILLION
    assert abs(int(at_once.losses[0]) - expected) <= 1
