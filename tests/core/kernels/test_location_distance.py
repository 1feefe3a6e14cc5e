from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins.location_distance import mean_distances
from core.kernels.oracles import location_distance as oracle
from tests.budgets import examples


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40), n_groups=st.integers(1, 20))
def test_mean_distances_are_those_of_numpy(seed: int, n: int, n_groups: int) -> None:
    """
    Bit for bit.
    """
    check(np.random.default_rng(seed), n, n_groups)


@pytest.mark.parametrize("n", [7, 8, 127, 128, 129, 136, 255, 257, 300, 520, 1025])
def test_large_groups_are_added_in_numpys_order(n: int) -> None:
    """
    Around the lengths at which that order changes.
    """
    check(np.random.default_rng(n), n, 1)


def check(rng: np.random.Generator, n: int, n_groups: int) -> None:
    """Compare with the oracle."""
    xy_m, group_of = rng.normal(0, 1e4, (n, 2)), rng.integers(0, n_groups, n)
    order = np.argsort(group_of, kind="stable")
    expected = oracle.mean_distances(xy_m, group_of, order)
    assert np.array_equal(mean_distances(xy_m, group_of, order), expected)
    if n < 200:
        assert np.array_equal(mean_distances.definition(xy_m, group_of, order), expected)
