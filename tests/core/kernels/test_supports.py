"""The kernels of supports, compiled and interpreted, against sets of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.checkins import supports as kernels
from core.kernels.checkins.supports import PEOPLE, SUPPORT
from core.kernels.oracles import supports as oracles
from core.records.arrays import IntArray
from tests.budgets import examples
from tests.oracles.km import Crowd, as_sequences, crowds

N_LOCATIONS = 5
WAYS = pytest.mark.parametrize(
    "way", [lambda kernel: kernel, lambda kernel: kernel.definition], ids=["machine", "python"]
)
Way = Callable[[Any], Any]


class Book:
    """The arrays of a book, with as little room as they need."""

    def __init__(self, way: Way, size: int, k: int, n_rows: int, n_cells: int) -> None:
        self.way, self.size, self.k = way, size, k
        self.book: IntArray = np.full((n_rows, size + 3), 77, np.int64)
        self.cells: IntArray = np.full((n_cells, 2), 77, np.int64)
        self.slots: IntArray = np.full(1 << (4 * max(n_rows, 1) - 1).bit_length(), -1, np.int64)
        self.used: IntArray = np.zeros(3, np.int64)
        self.heads: IntArray = np.full(N_LOCATIONS, -1, np.int64)
        self.links: IntArray = np.empty(0, np.int64)

    def count(self, crowd: Crowd, begin: int = 0) -> int:
        window = as_sequences(crowd)
        previous = self.way(kernels.previous_visits)(window.starts, window.locations, N_LOCATIONS)
        columns = window.users, window.starts, window.locations, previous
        n_counted = self.way(kernels.count_supports)(
            self.k, begin, *columns, self.book, self.cells, self.slots, self.used
        )
        return int(n_counted)

    def link(self) -> None:
        self.links = np.empty(int(self.used[0]) * self.size, np.int64)
        self.way(kernels.link_places)(self.book, int(self.used[0]), self.heads, self.links)

    def merge(self, kept: int, absorbed: int) -> None:
        arrays = self.book, self.cells, self.slots, self.used, self.heads, self.links
        self.way(kernels.merge_locations)(self.k, kept, absorbed, *arrays)

    def people(self) -> dict[tuple[int, ...], list[int] | None]:
        """The people of each row, greatest first; None for ``k`` or more. Every row is found by its locations."""
        found: dict[tuple[int, ...], list[int] | None] = {}
        for number, row in enumerate(self.book[: self.used[0]].tolist()):
            if row[0] >= 0:
                key = row[: self.size]
                assert self.way(kernels.find_row)(self.book, self.slots, np.array(key, np.int64)) == number
                those, cell = [], row[PEOPLE]
                while cell >= 0:
                    those.append(int(self.cells[cell, 0]))
                    cell = int(self.cells[cell, 1])
                found[tuple(key)] = those if row[SUPPORT] < self.k else None
                assert row[SUPPORT] == (len(those) if row[SUPPORT] < self.k else self.k)
        return found


def expected(people: oracles.Supporters, k: int) -> dict[tuple[int, ...], list[int] | None]:
    return {key: None if len(those) >= k else sorted(those, reverse=True) for key, those in people.items()}


@WAYS
@settings(deadline=None, max_examples=examples(100))
@given(
    crowd=crowds(n_locations=N_LOCATIONS),
    size=st.integers(1, 4),
    k=st.integers(2, 4),
    actions=st.lists(st.tuples(*[st.integers(0, N_LOCATIONS - 1)] * 2), max_size=6),
)
def test_a_book_follows_sets_of_people(
    way: Way, crowd: Crowd, size: int, k: int, actions: list[tuple[int, int]]
) -> None:
    """
    Counted, and after any merges and removals (drawn as pairs of one location), with room for no row too many.
    """
    window = as_sequences(crowd)
    people = oracles.count_supports(size, window.users, window.starts, window.locations)
    book = Book(way, size, k, n_rows=len(people), n_cells=sum(map(len, people.values())))
    assert book.count(crowd) == len(window.users)
    assert list(book.people().items()) == list(expected(people, k).items())
    book.link()
    for kept, absorbed in actions:
        if kept == absorbed:
            way(kernels.remove_location)(kept, book.book, book.heads, book.links)
            people = oracles.remove_location(people, kept)
        else:
            book.merge(kept, absorbed)
            people = oracles.merge_locations(people, kept, absorbed)
        assert book.people() == expected(people, k)


@WAYS
@settings(deadline=None, max_examples=examples(50))
@given(crowd=crowds(n_locations=N_LOCATIONS), size=st.integers(1, 3), k=st.integers(2, 4))
def test_counting_goes_on_where_the_room_ended(way: Way, crowd: Crowd, size: int, k: int) -> None:
    """
    A book that grows by one row and one cell at a time, and counts its last trajectory again, is the same.
    """
    window = as_sequences(crowd)
    people = oracles.count_supports(size, window.users, window.starts, window.locations)
    book, begin = Book(way, size, k, n_rows=0, n_cells=0), 0
    while (begin := book.count(crowd, begin)) < len(window.users):
        book.book = np.concatenate((book.book, np.empty((1, size + 3), np.int64)))
        book.cells = np.concatenate((book.cells, np.empty((1, 2), np.int64)))
        book.slots = np.empty(1 << (4 * len(book.book) - 1).bit_length(), np.int64)
        way(kernels.fill_slots)(book.book, book.slots, book.used)
    assert book.people() == expected(people, k)


@WAYS
@settings(deadline=None, max_examples=examples(50))
@given(
    crowd=crowds(n_locations=N_LOCATIONS),
    size=st.integers(1, 3),
    k=st.integers(2, 4),
    listed=st.lists(st.lists(st.integers(0, N_LOCATIONS - 1), min_size=3, max_size=3), max_size=5),
    into=st.tuples(*[st.integers(0, i) for i in range(N_LOCATIONS)]),
)
def test_the_first_infrequent_subtrajectory_is_found(
    way: Way, crowd: Crowd, size: int, k: int, listed: list[list[int]], into: tuple[int, ...]
) -> None:
    """
    By the names that its locations have after merges; one that does not occur is not infrequent.
    """
    window = as_sequences(crowd)
    people = oracles.count_supports(size, window.users, window.starts, window.locations)
    book = Book(way, size, k, n_rows=len(people), n_cells=sum(map(len, people.values())))
    book.count(crowd)
    keys = np.array([key[:size] for key in listed], np.int64).reshape(-1, size)
    found = way(kernels.first_infrequent)(k, 0, keys, np.array(into, np.int64), book.book, book.slots)
    assert found == oracles.first_infrequent(people, k, [key[:size] for key in listed], into)


@WAYS
@settings(deadline=None, max_examples=examples(50))
@given(crowd=crowds(n_locations=N_LOCATIONS))
def test_previous_visits_stay_inside_a_trajectory(way: Way, crowd: Crowd) -> None:
    """
    The visit before, to the same location, in the same trajectory.
    """
    window = as_sequences(crowd)
    found = way(kernels.previous_visits)(window.starts, window.locations, N_LOCATIONS)
    assert found.tolist() == oracles.previous_visits(window.starts, window.locations, N_LOCATIONS)
