"""Frequent sets at all levels of a hierarchy, and COUNT queries over sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trajectories.trajectory import Sequences
from core.utility.multilevel import multilevel_deviation, multilevel_itemsets
from core.utility.set_queries import set_query_error
from tests.budgets import examples

ABOVE = [(0, 4, 6), (1, 4, 6), (2, 5, 6), (3, 5, 6), (4, 6), (5, 6), (6,)]
"""Four locations below two nodes below a root."""


def slow(people: list[set[int]], n: int, largest: int) -> list[tuple[int, ...]]:
    """All sets of nodes that somebody has, without the root and without a node above another one."""
    have = [{x for node in own for x in ABOVE[node]} - {6} for own in people]
    found = [
        (-sum(own.issuperset(one) for own in have), size, one)
        for size in range(1, largest + 1)
        for one in combinations(range(6), size)
        if not any(b in ABOVE[a] or a in ABOVE[b] for a, b in combinations(one, 2))
    ]
    return [one for support, _, one in sorted(found)[:n] if support]


@settings(max_examples=examples(200))
@given(
    people=st.lists(st.sets(st.integers(0, 6), max_size=4), max_size=8),
    n=st.integers(1, 12),
    largest=st.integers(1, 3),
)
def test_the_most_frequent_sets_of_nodes_are_found(people: list[set[int]], n: int, largest: int) -> None:
    """In their order, as by trying all of them."""
    assert multilevel_itemsets(people, ABOVE, n=n, largest=largest) == slow(people, n, largest)


def test_a_set_below_what_is_released_is_lost() -> None:
    """Two people at locations 0 and 2, released at the node above 0, and at 2: what has location 0 is lost."""
    original, other = [[0, 2], [0, 2]], [[4, 2], [4, 2]]
    assert multilevel_deviation(original, original, ABOVE) == 0
    # Of {0}, {2}, {4}, {5}, {0,2}, {0,5}, {2,4}, {4,5} those with 0 are lost.
    assert multilevel_deviation(original, other, ABOVE) == pytest.approx(3 / 8)
    assert np.isnan(multilevel_deviation([], other, ABOVE))


def test_queries_are_answered_by_equal_shares() -> None:
    """Two of three people at 1 and 2; one is released exactly, the others with a location in doubt."""
    sets = Sequences(users=np.arange(3), starts=np.array([0, 2, 4, 5]), locations=np.array([1, 2, 1, 2, 1]))
    released: list[list[tuple[int, ...]]] = [[(1,), (2,)], [(0, 1), (2,)], [(0, 1)]]
    assert set_query_error(sets, released, [(1, 2)]) == pytest.approx(abs(2 - 1.5) / 2)
    assert set_query_error(sets, released, [(1,), (2,)]) == pytest.approx((1 / 3 + 0) / 2)
    assert np.isnan(set_query_error(sets, released, []))
