"""Taxonomies: what is no tree is refused, and common ancestors are counted as by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.places.taxonomy import Categories, LocationTree, TaxonomyError
from tests.oracles.km import closest_common_ancestor

ROWS = [("food", ""), ("bakery", "food"), ("pizzeria", "food"), ("culture", ""), ("museum", "culture")]


def test_a_path_leads_from_below_the_root_to_the_category() -> None:
    """
    The root has no name; the order of rows does not matter; the same row twice is no contradiction.
    """
    for rows in (ROWS, ROWS[::-1], ROWS + ROWS):
        categories = Categories.from_rows(rows)
        assert categories.path("bakery") == ("food", "bakery")
        assert categories.path("food") == ("food",)
    with pytest.raises(KeyError):
        Categories.from_rows(ROWS).path("zoo")
    assert not Categories.from_rows([]).parent_of


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("a", "a")], "category 'a' is its own ancestor"),
        ([("a", "b"), ("b", "a")], "is its own ancestor: a taxonomy has no cycles"),
        ([("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")], "category 'a' is its own ancestor"),
        ([("a", ""), ("b", ""), ("c", "a"), ("c", "b")], "category 'c' has two parents"),
        ([("a", ""), ("c", "a"), ("c", "")], "category 'c' has two parents"),
        ([("a", ""), ("", "a")], "a category has no name"),
        ([("a", "nowhere")], "category 'nowhere' is a parent but has no row of its own"),
    ],
)
def test_what_is_no_tree_is_refused(rows: list[tuple[str, str]], says: str) -> None:
    """
    Cycles, two parents and unknown parents are named.
    """
    with pytest.raises(TaxonomyError, match=says):
        Categories.from_rows(rows)


@given(st.lists(st.integers(-1, 6), min_size=7, max_size=7))
def test_a_tree_is_a_tree_exactly_where_every_way_up_ends(parents: list[int]) -> None:
    """
    Whether seven categories with any parents (-1 the root) form a tree is found by walking up seven steps.
    """
    ends = []
    for category in range(7):
        at = category
        for _ in range(7):
            at = parents[at] if at >= 0 else -1
        ends.append(at == -1)
    rows = [(str(category), str(parent) if parent >= 0 else "") for category, parent in enumerate(parents)]
    if all(ends):
        paths = [Categories.from_rows(rows).path(str(category)) for category in range(7)]
        for category, path in enumerate(paths):
            above = paths[parents[category]] if parents[category] >= 0 else ()
            assert path == (*above, str(category))
    else:
        with pytest.raises(TaxonomyError, match="cycles"):
            Categories.from_rows(rows)


def test_a_deep_taxonomy_is_walked_without_recursion() -> None:
    """
    Two thousand levels are more than Python's stack has; the deepest pair shares all but its leaves.
    """
    rows = [(str(depth), str(depth - 1) if depth else "") for depth in range(2_000)]
    categories = Categories.from_rows(rows[::-1])
    path = categories.path("1999")
    assert len(path) == 2_000
    tree = LocationTree([path, path, path[:1_000], ()])
    assert tree.dissimilarity(np.array([0, 0, 2, 3])).tolist() == [2 / 4, 2 / 4, 1 / 4, 1 / 4]
    assert tree.dissimilarity(np.array([0, 1, 0, 3])).tolist() == [3 / 4, 1 / 4, 3 / 4, 1 / 4]
    assert tree.dissimilarity(np.array([0, 1, 2, 0])).tolist() == [1, 1 / 4, 1 / 4, 1]


PATHS = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(tuple), min_size=n, max_size=n)
)


@given(paths=PATHS, data=st.data())
def test_a_common_ancestor_has_the_leaves_that_the_definition_counts(
    paths: list[tuple[str, ...]], data: st.DataObject
) -> None:
    """
    Definition 7 for every generalized location of a random partition, locations at inner nodes and at the root too.
    """
    n = len(paths)
    drawn = data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    group_of = [drawn.index(group) for group in drawn]
    expected = [closest_common_ancestor(paths, [x for x in range(n) if group_of[x] == group]) / n for group in group_of]
    assert LocationTree(paths).dissimilarity(np.array(group_of)).tolist() == expected


@given(paths=PATHS)
def test_a_location_alone_is_one_leaf(paths: list[tuple[str, ...]]) -> None:
    """
    It is its own closest common ancestor, whoever shares its category; everything together is the root.
    """
    n = len(paths)
    tree = LocationTree(paths)
    assert tree.n_leaves == n
    assert tree.dissimilarity(np.arange(n)).tolist() == [1 / n] * n
    together = tree.dissimilarity(np.zeros(n, np.int64)).tolist()
    assert together == [closest_common_ancestor(paths, range(n)) / n] * n == [1.0] * n


def test_names_of_categories_and_numbers_of_locations_do_not_meet() -> None:
    """
    The same name below two parents is two nodes.
    """
    tree = LocationTree([("food", "other"), ("culture", "other"), ("food", "other")])
    assert tree.dissimilarity(np.array([0, 0, 2])).tolist() == [1, 1, 1 / 3]
    assert tree.dissimilarity(np.array([0, 1, 0])).tolist() == [2 / 3, 1 / 3, 2 / 3]


def test_a_taxonomy_over_nothing_is_empty() -> None:
    """
    A window without locations has no leaves.
    """
    assert LocationTree([]).n_leaves == 0
    assert LocationTree([]).rows().shape == (0, 1)
