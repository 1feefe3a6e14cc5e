from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.fragments import attack as kernels
from core.kernels.oracles import attack as oracles


@given(st.integers(0, 6), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([0.0, 3.0, 8.0]))
def test_shares_are_those_of_the_definition(n: int, n_users: int, seed: int, within_m: float) -> None:
    """
    Positions and times lie on a coarse grid, so that points are often exactly at a known position, time or distance.
    """
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, n)
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    times = [np.sort(rng.choice(12, count, replace=False)) for count in counts]
    t_ms = np.concatenate([np.empty(0, dtype=np.int64), *times])
    xy_m = rng.integers(0, 10, (len(t_ms), 2)) + rng.choice([0.0, 1 / 3])
    release = rng.integers(0, n_users, n), rng.integers(0, max(n, 1), n), n_users
    users, known_ms = rng.integers(0, n_users, 4), rng.integers(-1, 13, 4)
    known_m = rng.integers(0, 10, (4, 2)).astype(np.float64)

    by_place = (users, known_m, within_m, starts, xy_m, *release)
    expected = oracles.found_by_place(*by_place)
    np.testing.assert_array_equal(kernels.found_by_place(*by_place), expected)
    np.testing.assert_array_equal(kernels.found_by_place.definition(*by_place), expected)

    by_time = (users, known_ms, known_m, within_m, starts, t_ms, xy_m, *release)
    expected = oracles.found_by_time(*by_time)
    np.testing.assert_array_equal(kernels.found_by_time(*by_time), expected)
    np.testing.assert_array_equal(kernels.found_by_time.definition(*by_time), expected)

    fits = rng.random(n) < 0.5
    share = oracles.share_of(int(users[0]), fits, *release)
    assert kernels.share_of(int(users[0]), fits, *release) == share
