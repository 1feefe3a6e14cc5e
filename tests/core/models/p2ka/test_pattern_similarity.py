"""SIM1 and SIM2 against their formulas (Pensa et al. 2008, Section 5.2)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.p2ka.anonymize.p2ka import p2ka
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.pattern_similarity import pattern_similarity
from core.utility.patterns import frequent_patterns, pattern_supports
from tests.budgets import examples
from tests.oracles.km import Crowd, Trajectory, all_subtrajectories, as_sequences, crowds, support

SMALL = crowds(n_locations=4, max_users=6, max_pieces=2, max_length=4)


def mined(crowd: Crowd, min_support: int, longest: int) -> dict[Trajectory, int]:
    every = {part for size in range(1, longest + 1) for part in all_subtrajectories(crowd, size)}
    return {part: support(part, crowd) for part in every if support(part, crowd) >= min_support}


@settings(deadline=None, max_examples=examples(200))
@given(crowd=SMALL, min_support=st.integers(1, 4), longest=st.integers(1, 3))
def test_patterns_come_with_the_people_who_support_them(crowd: Crowd, min_support: int, longest: int) -> None:
    """
    Counted are people, several trajectories of one or not.
    """
    found = pattern_supports(as_sequences(crowd), min_support=min_support, longest=longest)
    assert found == mined(crowd, min_support, longest)
    assert frequent_patterns(as_sequences(crowd), min_support=min_support, longest=longest) == set(found)


@settings(deadline=None, max_examples=examples(200))
@given(before=SMALL, after=SMALL, min_support=st.integers(1, 3), longest=st.integers(1, 3))
def test_they_are_the_formulas(before: Crowd, after: Crowd, min_support: int, longest: int) -> None:
    """
    SIM1 is over the patterns of the release, by shares of the people who have a visit; SIM2 compares their numbers.
    """
    found = pattern_similarity(as_sequences(before), as_sequences(after), min_support=min_support, longest=longest)
    of_before, of_after = mined(before, min_support, longest), mined(after, min_support, longest)
    n_before, n_after = (len({user for user, t in crowd if t}) for crowd in (before, after))
    ratios = []
    for part, people in of_after.items():
        freq = Fraction(people, n_after), Fraction(support(part, before), n_before) if n_before else Fraction(0)
        ratios.append(min(freq) / max(freq))
    sim1 = float(sum(ratios) / len(ratios)) if ratios else math.nan
    sizes = len(of_before), len(of_after)
    sim2 = min(sizes) / max(sizes) if max(sizes) else math.nan
    assert found.support == pytest.approx(sim1, nan_ok=True)
    assert found.size == pytest.approx(sim2, nan_ok=True)


def test_equal_data_are_alike() -> None:
    """
    Both are 1 where nothing changed.
    """
    window = as_sequences([(user, (0, 1, 2)) for user in range(3)])
    assert pattern_similarity(window, window, min_support=3, longest=3) == (1.0, 1.0)


def test_what_an_example_comes_to() -> None:
    """
    k = 2. (0, 1) of four people and 2 of one; released are four (0, 1) and nothing else: 3 patterns of 3, and each of
    them has a share of 4 / 5 of the people before and of 4 / 4 after.
    """
    crowd: Crowd = [(user, (0, 1)) for user in range(4)] + [(4, (2,))]
    window = as_sequences(crowd)
    result = p2ka(window, PatternPreservingK(k=2))
    found = pattern_similarity(window, result.sequences, min_support=2, longest=2)
    assert found.support == pytest.approx(4 / 5)
    assert found.size == 1.0


def test_without_patterns_there_is_nothing_to_compare() -> None:
    """
    SIM1 needs a pattern in the release, SIM2 one in either.
    """
    some, none = as_sequences([(0, (0,)), (1, (0,))]), as_sequences([(0, ()), (1, ())])
    found = pattern_similarity(some, none, min_support=2, longest=2)
    assert (np.isnan(found.support), found.size) == (True, 0.0)
    assert all(np.isnan(pattern_similarity(none, none, min_support=2, longest=2)))
