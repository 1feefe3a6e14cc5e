"""Demands of users: a default stands in where a record is silent, for k and delta each on its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.demands import NO_DEMANDS, DefaultDemands, allows_delta_m, allows_k

HASHES = st.integers(0, 6) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1])
KS = st.sampled_from([0, 2, 5, 1_000_000])
DELTAS_M = st.sampled_from([math.inf, 2.0, 50.0, 5e6])


def columns(demanded: dict[int, tuple[int, float]]) -> DefaultDemands:
    """What users demand by default, from what each of them does."""
    users = sorted(demanded)
    return DefaultDemands(
        users=np.array(users, dtype=np.uint64),
        k=np.array([demanded[user][0] for user in users], dtype=np.int32),
        delta_m=np.array([demanded[user][1] for user in users], dtype=np.float32),
    )


@given(
    demanded=st.dictionaries(HASHES, st.tuples(KS, DELTAS_M), max_size=6),
    records=st.lists(st.tuples(HASHES, KS, DELTAS_M), max_size=8),
)
def test_a_record_that_says_nothing_says_what_its_user_does(
    demanded: dict[int, tuple[int, float]], records: list[tuple[int, int, float]]
) -> None:
    """
    Looked up one by one it is the same: its own k or its user's, its own delta or its user's, else none.
    """
    users = np.array([user for user, _, _ in records], dtype=np.uint64)
    k = np.array([own for _, own, _ in records], dtype=np.int32)
    delta_m = np.array([own for _, _, own in records], dtype=np.float32)
    found_k, found_m = columns(demanded).complete(users, k, delta_m)
    nothing = (0, math.inf)
    assert found_k.tolist() == [own or demanded.get(user, nothing)[0] for user, own, _ in records]
    assert found_m.tolist() == [own if own < math.inf else demanded.get(user, nothing)[1] for user, _, own in records]
    assert (found_k.dtype, found_m.dtype) == (k.dtype, delta_m.dtype)


def test_nobody_demands_anything_unless_told() -> None:
    """
    Without defaults every record keeps what it says.
    """
    users, k, delta_m = np.array([1, 2], np.uint64), np.array([0, 5], np.int32), np.array([np.inf, 9], np.float32)
    found_k, found_m = NO_DEMANDS.complete(users, k, delta_m)
    assert (found_k.tolist(), found_m.tolist()) == ([0, 5], [math.inf, 9.0])


@pytest.mark.parametrize(
    ("users", "n", "says"),
    [
        ([1, 1], 2, "unique and in ascending order"),
        ([2, 1], 2, "ascending"),
        ([1, 2], 1, "as many"),
        ([], 1, "as many"),
    ],
)
def test_a_user_has_one_place_among_the_defaults(users: list[int], n: int, says: str) -> None:
    """
    Out of order nobody would be found, and of two demands nobody knows which counts.
    """
    with pytest.raises(ValueError, match=says):
        DefaultDemands(
            users=np.array(users, dtype=np.uint64),
            k=np.zeros(n, dtype=np.int32),
            delta_m=np.full(n, np.inf, dtype=np.float32),
        )


def test_the_edges_of_what_may_be_demanded() -> None:
    """
    From two people to a million, and above one metre to below ten thousand kilometres; NaN is out of every range.
    """
    assert [allows_k(k) for k in (1, 2, 1_000_000, 1_000_001, math.nan)] == [False, True, True, False, False]
    assert [allows_delta_m(m) for m in (1, 1.001, 9_999_999, 1e7, math.nan)] == [False, True, True, False, False]
