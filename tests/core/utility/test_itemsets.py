"""How well sets of locations are found in a disassociated release: the paper's measures, by their definitions."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.disassociation.disassociated import Disassociated
from core.models.disassociation.lost_locations import lost_locations
from core.utility.itemsets import pair_error, top_deviation, top_itemsets
from tests.budgets import examples
from tests.oracles.disassociation import Window, chunk, cluster, sequences, support, windows


def ranked(window: Window, largest: int) -> list[tuple[int, tuple[int, ...]]]:
    held = {part for record in window for size in range(1, largest + 1) for part in combinations(sorted(record), size)}
    found = sorted((-support(part, window), len(part), part) for part in held)
    return [(-count, part) for count, _, part in found]


@settings(max_examples=examples(150))
@given(window=windows(max_users=12), n=st.integers(1, 40), largest=st.integers(1, 3))
def test_the_top_are_the_most_frequent(window: Window, n: int, largest: int) -> None:
    """
    By support, then size, then ids, with their supports; all of them where fewer occur.
    """
    assert top_itemsets(sequences(window), n=n, largest=largest) == ranked(window, largest)[:n]


@settings(max_examples=examples(100))
@given(one=windows(max_users=12), other=windows(max_users=12), n=st.integers(1, 20))
def test_deviation_is_the_share_that_is_missing(one: Window, other: Window, n: int) -> None:
    """
    Equation 2; nothing is missing of what stays the same, and where nothing was there is no share.
    """
    before, after = ({part for _, part in ranked(window, 3)[:n]} for window in (one, other))
    found = top_deviation(sequences(one), sequences(other), n=n)
    assert math.isnan(found) if not before else found == pytest.approx(len(before - after) / len(before))
    assert top_deviation(sequences(one), sequences(one), n=n) == (0 if before else pytest.approx(math.nan, nan_ok=True))


def test_pair_error_is_the_difference_over_the_mean() -> None:
    """
    Equation 3: pairs of 4 and 2, of 1 and 0, of 0 and 2 people are off by 2 / 3, 2 and 2. Pairs of neither, and
    locations outside the range, are left out; several windows are averaged first.
    """
    original = sequences([[0, 1]] * 4 + [[0, 2], [2], [3, 0]])
    other = sequences([[0, 1]] * 2 + [[1, 2]] * 2)
    assert pair_error(original, [other], end=3) == pytest.approx((2 / 3 + 2 + 2) / 3)
    assert pair_error(original, [original, other], end=3) == pytest.approx((1 / 3.5 + 0.5 / 0.75 + 2) / 3)
    assert pair_error(original, [other], first=1, end=3) == pytest.approx(2)
    assert pair_error(original, [original]) == 0
    assert math.isnan(pair_error(original, [other], first=3))


def test_lost_locations_are_in_no_chunk_of_subrecords() -> None:
    """
    tlost: of 0, 1 and 2, which k people visited, 2 is in term chunks only; 3 is rare and does not count.
    """
    release = Disassociated(
        clusters=(cluster(3, chunk([0], [0]), terms=[2]), cluster(3, chunk([1], [1]), terms=[0, 3])), joint_clusters=()
    )
    original = sequences([[0, 1, 2]] * 2 + [[3]])
    assert lost_locations(original, release, k=2) == pytest.approx(1 / 3)
    assert lost_locations(original, release, k=1) == pytest.approx(2 / 4)
    assert math.isnan(lost_locations(original, release, k=3))
    assert np.isnan(lost_locations(sequences([]), release, k=1))
