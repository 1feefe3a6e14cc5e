"""What a release of pairs keeps, against the definitions."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.lkc.anonymize.suppress import LKCOptions, suppress_pairs
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.kept import kept_shares
from tests.budgets import examples
from tests.oracles.km import Crowd, as_sequences, support
from tests.oracles.lkc import as_values, pair_crowds


def test_shares_are_of_rows_pairs_people_and_frequent_sequences() -> None:
    """
    Two people go 0, 1, 2 and a third goes 3; without pair 1 there are 3 of 7 frequent sequences left.
    """
    crowd: Crowd = [(0, (0, 1, 2)), (1, (0, 1, 2)), (2, (3,))]
    kept = np.array([True, False, True, True, False, True, False])
    stands_for = np.array([2, 5, 1, 1, 1, 1, 10])
    shares = kept_shares(as_sequences(crowd), stands_for, kept, min_support=2, longest=3)
    assert shares == (5 / 21, 2 / 4, 2 / 3, 3 / 7)


def test_of_nothing_there_is_no_share() -> None:
    """
    An empty window has no share of anything, which is not 0.
    """
    empty = np.empty(0, np.int64)
    shares = kept_shares(as_sequences([]), empty, empty.astype(np.bool_), min_support=2, longest=3)
    assert all(math.isnan(share) for share in shares)


@settings(deadline=None, max_examples=examples(50))
@given(drawn=pair_crowds(), k=st.integers(2, 3))
def test_global_suppression_keeps_the_supports_of_what_is_left(
    drawn: tuple[Crowd, dict[int, frozenset[int]]], k: int
) -> None:
    """
    Section 3: a frequent sequence without a suppressed pair is as frequent in the release.
    """
    crowd, carried = drawn
    window = as_sequences(crowd)
    options = LKCOptions(min_support_percent=0.0)
    guarantee = LKCPrivacy(l=2, k=k, c=0.5)
    result = suppress_pairs(window, as_values(carried), guarantee, sensitive=(0,), options=options)
    kept = iter(result.kept.tolist())
    left = [(user, tuple([pair for pair in trajectory if next(kept)])) for user, trajectory in crowd]
    for _, trajectory in left:
        for pair in trajectory:
            assert support((pair,), left) == support((pair,), crowd)
        assert support(trajectory, left) == support(trajectory, crowd)
