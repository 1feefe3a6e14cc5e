"""An index of the infrequent subtrajectories, updated while locations merge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.kernels.checkins.supports import (
    SUPPORT,
    count_supports,
    fill_slots,
    find_row,
    first_infrequent,
    link_places,
    merge_locations,
    previous_visits,
    remove_location,
)
from core.records.arrays import IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["Subtrajectory", "SupportIndex"]

Subtrajectory = tuple[int, ...]

_FEWEST_ROWS = 16


class SupportIndex:
    """An index of which subtrajectories of one size reach a support of ``k``, updated while locations merge.

    Merging never lowers a support, so people are stored only for supports below ``k``. The memory grows with the
    distinct subtrajectories (some 100 bytes each) and with the people of those that are infrequent.

    Args:
        k: The support to reach.
        size: Number of locations of a subtrajectory.
        n_locations: Locations are in ``0..n_locations - 1``.
        n_rows: Number of subtrajectories for which there is room at first.
    """

    def __init__(self, *, k: int, size: int, n_locations: int, n_rows: int = 0) -> None:
        n_rows = max(n_rows, _FEWEST_ROWS)
        self._k, self._size = k, size
        # See core/kernels/checkins/supports.py for these.
        self._book: IntArray = np.empty((n_rows, size + 3), np.int64)
        self._cells: IntArray = np.empty((n_rows, 2), np.int64)
        self._slots: IntArray = np.full(_slots_for(n_rows), -1, np.int64)
        self._used: IntArray = np.zeros(3, np.int64)
        self._heads: IntArray = np.full(n_locations, -1, np.int64)
        self._links: IntArray = np.empty(0, np.int64)
        self._into: IntArray = np.arange(n_locations)

    @classmethod
    def of(cls, sequences: Sequences, *, size: int, k: int) -> SupportIndex:
        """Count the subtrajectories of one size from scratch."""
        starts, locations = sequences.starts, np.ascontiguousarray(sequences.locations)
        n_locations = int(locations.max(initial=0)) + 1
        index = cls(k=k, size=size, n_locations=n_locations, n_rows=len(locations))
        previous = previous_visits(starts, locations, n_locations)
        columns, begin = (np.ascontiguousarray(sequences.users), starts, locations, previous), 0
        while begin < len(sequences.users):
            begin = count_supports(k, begin, *columns, index._book, index._cells, index._slots, index._used)
            if begin < len(sequences.users):
                index._grow()
        index._link()
        return index

    def _grow(self) -> None:
        n_rows, n_cells, _ = self._used.tolist()
        if n_rows == len(self._book):
            self._book = np.concatenate((self._book, np.empty_like(self._book)))
            self._slots = np.empty(_slots_for(len(self._book)), np.int64)
            fill_slots(self._book, self._slots, self._used)
        if n_cells == len(self._cells):
            self._cells = np.concatenate((self._cells, np.empty_like(self._cells)))

    def _link(self) -> None:
        n_rows = int(self._used[0])
        self._links = np.empty(n_rows * self._size, np.int64)
        link_places(self._book, n_rows, self._heads, self._links)

    def infrequent(self) -> list[tuple[int, Subtrajectory]]:
        """List (support, subtrajectory) where the support is in ``1..k - 1``, ascending."""
        rows = self._infrequent_rows()
        keys: list[Subtrajectory] = list(map(tuple, rows[:, : self._size].tolist()))
        return list(zip(rows[:, SUPPORT].tolist(), keys, strict=True))

    def _infrequent_rows(self) -> IntArray:
        book = self._book[: self._used[0]]
        rows = book[(book[:, 0] >= 0) & (book[:, SUPPORT] < self._k)]
        order = np.lexsort((*rows[:, : self._size].T[::-1], rows[:, SUPPORT]))
        ordered: IntArray = rows[order]
        return ordered

    def unprotected(self) -> Iterator[Subtrajectory]:
        """Yield the subtrajectories that are infrequent now, in the order of :meth:`infrequent`, as they are meanwhile.

        Each is yielded again until it is frequent or does not occur: merge or suppress one of its locations.
        """
        listed, number = np.ascontiguousarray(self._infrequent_rows()[:, : self._size]), 0
        while (number := first_infrequent(self._k, number, listed, self._into, self._book, self._slots)) < len(listed):
            yield tuple(listed[number].tolist())

    def is_infrequent(self, subtrajectory: Subtrajectory) -> bool:
        """Return whether a subtrajectory occurs with support below ``k``."""
        row = find_row(self._book, self._slots, np.array(subtrajectory, np.int64))
        return row >= 0 and bool(self._book[row, SUPPORT] < self._k)

    def suppress(self, location: int) -> None:
        """Remove every subtrajectory that contains a location."""
        self._know(location)
        remove_location(location, self._book, self._heads, self._links)

    def merge(self, kept: int, absorbed: int) -> None:
        """Release two locations as one: every ``absorbed`` becomes ``kept``."""
        self._know(max(kept, absorbed))
        self._into[absorbed] = kept
        arrays = self._book, self._cells, self._slots, self._used, self._heads, self._links
        merge_locations(self._k, kept, absorbed, *arrays)

    def _know(self, location: int) -> None:
        """Make room for a location that no subtrajectory contains."""
        n_known = len(self._into)
        if location >= n_known:
            self._into = np.append(self._into, np.arange(n_known, location + 1))
            self._heads = np.append(self._heads, np.full(location + 1 - n_known, -1))


def _slots_for(n_rows: int) -> int:
    """Return the size of the hash table for that many rows: a power of two, and at least four for each."""
    return 1 << (4 * n_rows - 1).bit_length()
