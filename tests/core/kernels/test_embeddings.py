from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins import embeddings
from core.kernels.oracles import embeddings as oracle
from tests.budgets import examples

VISITS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 4)), min_size=1, max_size=10)
"""The location of each, whether it is kept, and a number: a trajectory begins at 0."""

WANTED = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@settings(max_examples=examples(500))
@given(visits=VISITS, wanted=WANTED, around=st.integers(0, 2))
def test_what_is_found_is_that_of_all_embeddings(
    visits: list[tuple[int, bool, int]], wanted: list[int], around: int
) -> None:
    """
    Whether there is one, the visits that all of them use, the gaps that all of them span, and the most used visit.
    """
    other = [(wanted[0], True, 0)] * around  # visits of other people before and after
    locations = np.array([location for location, _, _ in [*other, *visits, *other]])
    kept = np.array([is_kept for _, is_kept, _ in [*other, *visits, *other]])
    begins = np.array([number == 0 for _, _, number in [*other, *visits, *other]])
    begins[around] = True
    part = np.array(wanted)
    args = (part, locations, kept, begins, around, around + len(visits))
    steps, expected = np.empty(len(wanted) + 2, np.int64), oracle.single_steps(*args)
    for is_embedded in (embeddings.is_embedded.definition, embeddings.is_embedded):
        assert is_embedded(*args) == oracle.is_embedded(*args) == (expected is not None)
    for single_steps in (embeddings.single_steps.definition, embeddings.single_steps):
        has = single_steps(*args, steps, np.empty(len(wanted), np.int64))
        assert has == (expected is not None)
        if expected:
            used = [visit for visit in steps[:-2].tolist() if visit >= 0]
            assert (used, list(range(steps[-2], steps[-1]))) == expected
    if expected:
        for most_used_visit in (embeddings.most_used_visit.definition, embeddings.most_used_visit):
            assert most_used_visit(*args) == oracle.most_used_visit(*args)


def test_more_embeddings_than_a_float_can_count_are_many() -> None:
    """
    3,000 visits to one location have 10^900 embeddings of 1,500: some visit is found.
    """
    n = 3_000
    begins = np.arange(n) == 0
    found = embeddings.most_used_visit(
        np.zeros(n // 2, np.int64), np.zeros(n, np.int64), ~np.zeros_like(begins), begins, 0, n
    )
    assert 0 <= found < n
