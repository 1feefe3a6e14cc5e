"""Bit-vector transaction distance of clusters, kept while they merge, against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kkm.anonymize.transactions import TransactionDistances
from tests.budgets import examples

SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=5), min_size=2, max_size=10)


def of_sets(sets: list[frozenset[int]], members: list[list[int]]) -> TransactionDistances:
    return TransactionDistances(
        np.cumsum([0, *map(len, sets)]),
        np.array([x for its in sets for x in sorted(its)], dtype=np.int64),
        [np.array(its) for its in members],
    )


def btd(sets: list[frozenset[int]]) -> float:
    return float(max(Fraction(len(a ^ b) + 1, len(a & b) + 1) for a in sets for b in sets))


def test_two_records_are_as_far_apart_as_the_formula_says() -> None:
    """
    Of {a, b, c} and {b, c, d} two locations differ and two are shared: 3 / 3; without anything shared it is 7 / 1.
    """
    sets = [frozenset({0, 1, 2}), frozenset({1, 2, 3}), frozenset({3, 4, 5})]
    distances = of_sets(sets, [[0], [1], [2]])
    assert distances.inside.tolist() == [0.25, 0.25, 0.25]
    assert distances.together(0, np.array([1, 2])).tolist() == [1.0, 7.0]


@settings(deadline=None, max_examples=examples(200))
@given(sets=SETS, draw=st.data())
def test_clusters_stay_as_far_apart_as_their_records_while_they_merge(
    sets: list[frozenset[int]], draw: st.DataObject
) -> None:
    """
    BTD of any two clusters together is the largest of any two records of both, after every merge.
    """
    cuts = sorted(draw.draw(st.sets(st.integers(1, len(sets) - 1))))
    members = [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, len(sets)], strict=True)]
    distances = of_sets(sets, members)
    left = dict(enumerate(members))
    while len(left) > 1:
        asked = draw.draw(st.lists(st.sampled_from(sorted(left)), unique=True))
        for one in asked:
            others = [other for other in left if other != one]
            expected = [btd([sets[i] for i in left[one] + left[other]]) for other in others]
            assert distances.together(one, np.array(others)).tolist() == expected
        for one, its in left.items():
            assert distances.inside[one] == btd([sets[i] for i in its])
        into, absorbed = draw.draw(st.lists(st.sampled_from(sorted(left)), min_size=2, max_size=2, unique=True))
        distances.merge(into, absorbed)
        left[into] = left[into] + left.pop(absorbed)
