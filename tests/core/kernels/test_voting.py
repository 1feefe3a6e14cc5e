from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.fragments import voting as kernels
from core.kernels.oracles import voting as oracles


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**32), st.booleans())
def test_the_nearest_are_those_of_the_definition(m: int, n_users: int, seed: int, slow: bool) -> None:
    """
    Every segment is in one of two cells that all share, so all pairs are compared, each once.
    """
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(0, n_users, m))
    from_ms = rng.integers(0, 9, m)
    to_ms = from_ms + rng.integers(1, 6, m)
    begin_m, end_m = rng.integers(0, 20, (2, m, 2)).astype(np.float64)
    end_m = begin_m if slow else end_m
    moves = np.column_stack([from_ms, begin_m, (end_m - begin_m) / (to_ms - from_ms)[:, None]])
    low_m, high_m = np.minimum(begin_m, end_m).T.copy(), np.maximum(begin_m, end_m).T.copy()
    reach_m = 7.3  # boxes are whole metres apart

    for one, other in itertools.combinations(range(m), 2):
        if max(from_ms[one], from_ms[other]) < min(to_ms[one], to_ms[other]):
            expected_m2 = oracles.squared_distance(moves, to_ms, one, other)
            assert kernels.squared_distance(moves, to_ms, one, other) == expected_m2
            assert kernels.squared_distance.definition(moves, to_ms, one, other) == expected_m2

    # Entry 2 s is of segment s in the first cell, 2 s + 1 in the second, which is the lowest on two axes of three.
    cells = (
        np.arange(m + 1) * 2,
        np.repeat(np.arange(m), 2),
        np.tile(np.array([0b1110_0000, 0b1100_0000], dtype=np.uint8), m),
        np.tile([0, m], m),
        np.full(2 * m, m),
        np.concatenate([np.arange(m) * 2, np.arange(m) * 2 + 1]),
    )
    near = oracles.nearest_of_users(user, moves, to_ms, reach_m)
    first = int(rng.integers(0, m))
    for function in (kernels.nearest_of_users, kernels.nearest_of_users.definition):
        found, squared_m2 = np.empty(2 * m * m, dtype=np.int64), np.empty(2 * m * m)
        n = function(first, m, *cells, user, from_ms, to_ms, moves, low_m, high_m, reach_m, found, squared_m2)
        assert np.all(np.diff(found[:n]) >= 0)
        is_near = squared_m2[:n] <= reach_m * reach_m
        for segment in range(first, m):
            assert sorted(squared_m2[:n][is_near & (found[:n] == segment)].tolist()) == near[segment]
        assert set(found[:n].tolist()) <= set(range(first, m))
