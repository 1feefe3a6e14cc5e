"""Kernels of tracks against their oracle."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.fragments import tracks as kernels
from core.kernels.fragments.tracks import TrackData
from core.kernels.oracles import tracks as oracles
from tests.budgets import examples


def drawn(seed: int, n: int, m: int = 7) -> TrackData:
    """Tracks of which some lie in the same place."""
    rng = np.random.default_rng(seed)
    xy_mm = np.rint(rng.normal(0, 3, (n, 2, m))) * 1234.5
    under_way, span = (rng.random((n, m)) < 0.7).astype(np.float64), rng.random((n, 2)) * m
    # Of the pairs some take the place of others in memory.
    return xy_mm, under_way, span, float(rng.integers(0, 3) * 777), np.zeros(8, np.int64), np.zeros(8), np.zeros(m)


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 9))
def test_trajectories_are_where_numpy_interpolates_them(seed: int, n: int, most: int) -> None:
    """
    Also at the times of points, before the first one and after the last.
    """
    rng = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(rng.integers(1, most, n, endpoint=True))))
    steps = rng.integers(1, 5, starts[-1])
    t_ms = 1_700_000_000_000 + np.concatenate([np.cumsum(steps[a:b]) for a, b in itertools.pairwise(starts)])
    at_ms = 1_700_000_000_000 + np.arange(-2.0, 30.0, 0.5)
    xy_m = rng.normal(0, 1e4, (starts[-1], 2))
    expected, found = np.zeros((n, 2, len(at_ms))), np.zeros((n, 2, len(at_ms)))
    oracles.place(t_ms, xy_m, starts, at_ms, expected)
    for place in (kernels.place, kernels.place.definition):
        place(t_ms, xy_m, starts, at_ms, found)
        assert (found == expected).all()


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_distances_are_summed_in_the_order_of_moments(seed: int, n: int) -> None:
    """
    Symmetric, in whole millimetres, nothing from itself.
    """
    data, numbers = drawn(seed, n), np.arange(n)
    found = kernels.distances_mm(data, numbers, numbers[::2].copy())
    assert (found == oracles.distances_mm(data, numbers, numbers[::2])).all()
    assert (found == kernels.distances_mm.definition(data, numbers, numbers[::2])).all()
    assert (found[::2] == found[::2].T).all()
    assert (np.diag(found[::2]) == 0).all()


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 9), st.integers(1, 10))
def test_of_equally_near_places_the_first_is_taken(seed: int, s: int, c: int, q: int) -> None:
    """
    There are no more than there are.
    """
    rng = np.random.default_rng(seed)
    ones, others = rng.integers(0, 3, (s, 3)).astype(np.float64), rng.integers(0, 3, (c, 3)).astype(np.float64)
    expected = oracles.nearest_places(ones, others, q)
    assert (kernels.nearest_places(ones, others, q) == expected).all()
    assert (kernels.nearest_places.definition(ones, others, q) == expected).all()
