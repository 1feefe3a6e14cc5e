from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins import merge_order
from core.kernels.oracles import merge_order as oracle
from tests.budgets import examples

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=examples(200))
@given(seed=SEEDS, n=st.integers(1, 12), side=st.sampled_from([3, 10_000_000]))
def test_merges_and_distances_are_those_of_the_oracle(seed: int, n: int, side: int) -> None:
    """
    Bit for bit, where many distances tie and where few do.
    """
    rng = np.random.default_rng(seed)
    xy_mm = rng.integers(0, side, (n, 2)).astype(np.float64)
    visits, sizes = (rng.integers(1, 9, n).astype(np.float64) for _ in range(2))
    moved_mm = merge_order.distances_between(xy_mm, visits, sizes)
    assert np.array_equal(moved_mm, oracle.distances_between(xy_mm, visits, sizes))
    assert np.array_equal(moved_mm, merge_order.distances_between.definition(xy_mm, visits, sizes))
    expected = oracle.merge_cheapest(moved_mm, sizes)
    for merge in (merge_order.merge_cheapest.definition, merge_order.merge_cheapest):
        found = merge(moved_mm.copy(), sizes.copy())
        assert [column.tolist() for column in found] == [column.tolist() for column in expected]
    into, absorbed, _ = expected
    for merges in range(n):
        groups = merge_order.merged(into, absorbed, n, merges)
        assert np.array_equal(groups, oracle.merged(into, absorbed, n, merges))
        assert np.array_equal(groups, merge_order.merged.definition(into, absorbed, n, merges))


def test_everything_is_merged_into_the_first_number() -> None:
    """
    The first entry ends as the sum over everything.
    """
    moved_mm = np.array([[0.0, 5.0], [7.0, 1.0]])
    merge_order.merge_cheapest(moved_mm, np.ones(2))
    assert moved_mm[0, 0] == 13.0


@settings(max_examples=examples(200))
@given(seed=SEEDS, n=st.integers(1, 12), n_visits=st.integers(0, 12))
def test_groups_are_named_by_kept_locations(seed: int, n: int, n_visits: int) -> None:
    """
    What no kept visit uses is part of none.
    """
    rng = np.random.default_rng(seed)
    visits, kept = rng.integers(0, n, n_visits), rng.random(n_visits) < 0.7
    group_of, ids = rng.integers(0, n, n), np.sort(rng.permutation(2 * n)[:n])
    expected, merges = oracle.named_by_kept(visits, kept, group_of, ids, 2 * n)
    for name in (merge_order.named_by_kept.definition, merge_order.named_by_kept):
        found, n_merges = name(visits, kept, group_of, ids, 2 * n)
        assert (found.tolist(), n_merges) == (expected.tolist(), merges)
