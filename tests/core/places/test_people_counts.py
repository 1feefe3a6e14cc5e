"""Counting people: exact, however little memory there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.places.people_counts import CellsOfPeople, PeopleCounts, count_people
from tests.builders.windows import hash_of

Rows = list[tuple[int, int]]
"""A cell and a person each."""

ROWS = st.lists(st.lists(st.tuples(st.integers(-3, 6), st.integers(0, 20)), max_size=30), max_size=4)


def counted(batches: list[Rows], most_pairs: int) -> tuple[PeopleCounts, int]:
    """Count, and say how often the batches were read."""
    reads = 0

    def read() -> Iterator[CellsOfPeople]:
        nonlocal reads
        reads += 1
        for rows in batches:
            cells, people = [cell for cell, _ in rows], [hash_of(person) for _, person in rows]
            yield np.array(cells, np.int64), np.array(people, np.uint64)

    return count_people(read, most_pairs=most_pairs), reads


@given(batches=ROWS, most_pairs=st.sampled_from([1, 2, 7, 50, 10_000]))
def test_counts_are_those_of_sets(batches: list[Rows], most_pairs: int) -> None:
    """
    A person counts once in a cell, whatever fits in memory and in how many passes.
    """
    counts, reads = counted(batches, most_pairs)
    sets = defaultdict(set)
    for cell, person in chain.from_iterable(batches):
        sets[cell].add(person)
    assert counts.cells.tolist() == sorted(sets)
    assert counts.people.tolist() == [len(sets[cell]) for cell in sorted(sets)]
    assert counts.total == len({person for _, person in chain.from_iterable(batches)})
    assert counts.passes == reads


@given(batches=ROWS)
def test_a_feed_that_fits_is_read_once_and_its_pairs_are_kept(batches: list[Rows]) -> None:
    """
    The pairs are distinct, and complete.
    """
    counts, reads = counted(batches, 10_000)
    assert reads == 1
    assert counts.pairs is not None
    pairs = list(zip(counts.pairs[0].tolist(), counts.pairs[1].tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == {(cell, hash_of(person)) for cell, person in chain.from_iterable(batches)}


def test_a_feed_that_does_not_fit_is_read_again_for_other_people() -> None:
    """
    Each pass holds at most the allowed number of pairs, so a hundred of them need ten passes and more, and no pairs are
    kept.
    """
    counts, reads = counted([[(person % 5, person) for person in range(100)]], 10)
    assert reads >= 10
    assert counts.pairs is None
    assert counts.people.tolist() == [20] * 5


def test_one_person_with_more_cells_than_fit_is_counted_all_the_same() -> None:
    """
    A person cannot be divided: the limit is exceeded, and counting ends.
    """
    counts, _ = counted([[(cell, 1) for cell in range(50)]], 10)
    assert counts.people.tolist() == [1] * 50
    assert counts.total == 1


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_cells_with_fewer_people_are_left_out(k: int) -> None:
    """
    ``at_least`` keeps a cell with exactly k people and none with fewer.
    """
    counts, _ = counted([[(cell, person) for cell in range(5) for person in range(cell)]], 100)
    assert counts.at_least(k).cells.tolist() == [cell for cell in range(1, 5) if cell >= k]
    assert counts.at_least(k).total == 4
