"""Hierarchies: all faults are found, and balanced ones keep their promise."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.places.hierarchy import Row, balanced_rows, children_of, faults_of, shape_of
from core.places.taxonomy import Categories, TaxonomyError

NAMES = st.sampled_from("abcdef")
ROWS = st.lists(st.tuples(NAMES, st.sampled_from(["", *"abcdef"])), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "the hierarchy is empty"),
        ([("", "a"), ("a", "")], "a category has no name"),
        ([("r", ""), ("a", "r"), ("b", "r"), ("c", "a"), ("c", "b")], "1 category has two parents: 'c'"),
        ([("a", "x")], "1 parent has no row of its own: 'x'"),
        ([("a", "b"), ("b", "a"), ("c", "b")], "2 categories are their own ancestors: 'a', 'b'"),
        ([("a", ""), ("b", "")], "2 categories have no parent, and only one may: 'a', 'b'"),
        ([("a", ""), *((f"x{i}", "a") for i in range(4))], "1 node has more than 3 children: 'a'"),
        ([("a", ""), ("b", "a"), ("c", "b"), ("d", "c")], "1 category is deeper than 3: 'd'"),
    ],
)
def test_each_fault_has_a_sentence(rows: list[Row], says: str) -> None:
    """
    It counts and names what is wrong, and only that.
    """
    assert any(says in fault for fault in faults_of(rows, max_depth=3, max_fan_out=3, one_top=True))
    assert len(faults_of(rows, max_depth=3, max_fan_out=3, one_top=True)) == 1


def test_all_faults_are_told_at_once() -> None:
    """
    A missing leaf, a cycle and an unknown parent, in one run.
    """
    faults = faults_of([("a", "b"), ("b", "a"), ("c", "x")], wanted=["d", "c"])
    assert len(faults) == 3
    assert "1 name has no row: 'd'" in faults


@given(rows=ROWS)
def test_what_has_no_fault_is_a_tree_and_nothing_else(rows: list[Row]) -> None:
    """
    The same rows pass here and where a feed reads them.
    """
    try:
        tree = Categories.from_rows(rows)
    except TaxonomyError:
        assert faults_of(rows)
        return
    assert faults_of(rows) == []
    shape = shape_of(rows)
    paths = [tree.path(category) for category in tree.parent_of]
    assert (shape.nodes, shape.depth) == (len(paths), max(map(len, paths)))
    assert shape.leaves == sum(category not in tree.parent_of.values() for category in tree.parent_of)


@given(
    people=st.lists(st.frozensets(st.integers(0, 12), max_size=6), max_size=20),
    k=st.integers(1, 6),
    fan_out=st.integers(2, 4),
)
def test_every_group_had_k_people_and_all_leaves_are_in_one(
    people: list[AbstractSet[int]], k: int, fan_out: int
) -> None:
    """
    Distinct people, at every level; each leaf once, in its order; no group of groups has more than the fan-out. Where
    everybody together is fewer than k, there is one group.
    """
    leaves = [f"v{i:02}" for i in range(len(people))]
    rows = balanced_rows(leaves, people, k=k, fan_out=fan_out)
    assert faults_of(rows) == ([] if leaves else ["the hierarchy is empty: it needs at least one row"])
    assert [category for category, _ in rows if category.startswith("v")] == leaves
    children = children_of(rows)

    def visitors(node: str) -> set[int]:
        below = children.get(node, [])
        return set().union(*map(visitors, below)) if below else set(people[leaves.index(node)])

    groups = [category for category, _ in rows if category.startswith("group")]
    everybody = set().union(*people)
    assert all(len(visitors(group)) >= k for group in groups) or (len(groups) == 1 and len(everybody) < k)
    for group in ["", *groups]:
        below = children.get(group, [])
        assert len(below) <= fan_out or all(one.startswith("v") for one in below)


def test_groups_have_about_as_many_people() -> None:
    """
    Of twelve venues, of which one has half of the visits, it is alone or nearly so in its group.
    """
    people = [frozenset(range(100)), *(frozenset({200 + 10 * i + j for j in range(10)}) for i in range(10))]
    rows = balanced_rows([f"v{i}" for i in range(11)], people, k=5, fan_out=2)
    assert children_of(rows)["group 1"] == ["v0"]


def test_group_names_do_not_collide_with_leaves() -> None:
    """
    A venue may be called as a group would be.
    """
    rows = balanced_rows(["group 1", "b"], [frozenset({1}), frozenset({2})], k=2, fan_out=2)
    assert faults_of(rows) == []
    with pytest.raises(ValueError, match="fan_out at least 2"):
        balanced_rows(["a"], [frozenset({1})], k=1, fan_out=1)
