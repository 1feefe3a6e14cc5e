"""Count the distinct people of each cell of a feed, exactly and with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from core.records.arrays import BoolArray, IntArray, UserHashes, distinct
from core.records.by_user import same_as_before

__all__ = ["CellsOfPeople", "PeopleCounts", "count_people"]

CellsOfPeople = tuple[IntArray, UserHashes]
"""Cells, shape ``(n,)``, and the person who was in each. A pair may occur several times."""

_LEAST_MERGED = 500_000
"""Pairs that are collected before they are merged into the table."""

_MOST_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleCounts:
    """How many people were in each cell of a feed."""

    cells: IntArray = field(repr=False)
    """The cells in which somebody was, ascending, shape ``(c,)``."""

    people: IntArray = field(repr=False)
    """Distinct people of each cell, at least 1."""

    total: int
    """Distinct people of the feed."""

    passes: int
    """How often the feed was read."""

    pairs: CellsOfPeople | None = field(repr=False)
    """Every cell with every person who was in it, once; None if the feed was read several times."""

    def at_least(self, k: int) -> PeopleCounts:
        """Return the counts without the cells that have fewer than ``k`` people.

        What follows from these counts alone, follows from numbers of at least ``k`` people: it is the same whoever
        was in the other cells. ``total`` and ``pairs`` stay those of the whole feed.
        """
        kept = self.people >= k
        return PeopleCounts(
            cells=self.cells[kept],
            people=self.people[kept],
            total=self.total,
            passes=self.passes,
            pairs=self.pairs,
        )


def count_people(batches: Callable[[], Iterable[CellsOfPeople]], *, most_pairs: int) -> PeopleCounts:
    """Count the distinct people of each cell.

    Every distinct pair of a cell and a person takes 16 bytes. If there are more than ``most_pairs``, only the people
    whose hashes end in certain bits are counted, and the feed is read again for the others. People do not overlap, so
    the counts of all passes add up to exact counts.

    Args:
        batches: Reads the feed from its start, with the same people and cells each time.
        most_pairs: Most distinct pairs in memory, at least 1. Merging them takes three times their memory.
    """
    cells, people = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    total = passes = 0
    waiting = [_Pairs(bits=0, ending=0, most=most_pairs)]
    pairs: _Pairs
    while waiting:
        pairs = waiting.pop()
        passes += 1
        for batch in batches():
            waiting += pairs.add(*batch)
        waiting += pairs.merge()
        starts = np.flatnonzero(~same_as_before(pairs.cells))
        cells.append(pairs.cells[starts])
        people.append(np.diff(np.append(starts, len(pairs.cells))))
        total += len(distinct(pairs.users.view(np.int64)))
    found, number = np.unique(np.concatenate(cells), return_inverse=True)
    counts = np.zeros(len(found), np.int64)
    np.add.at(counts, number, np.concatenate(people))
    return PeopleCounts(
        cells=found,
        people=counts,
        total=total,
        passes=passes,
        pairs=(pairs.cells, pairs.users) if passes == 1 else None,
    )


class _Pairs:
    """The distinct pairs of the people whose hashes end in certain bits."""

    def __init__(self, *, bits: int, ending: int, most: int) -> None:
        self._bits, self._ending, self._most = bits, ending, most
        self.cells, self.users = np.empty(0, np.int64), np.empty(0, np.uint64)
        self._new: list[CellsOfPeople] = []
        self._n_new = 0

    def add(self, cells: IntArray, users: UserHashes) -> list[_Pairs]:
        """Add pairs, and return who has to be counted in later passes because there are too many."""
        mine = self._counted(users)
        self._new.append((cells[mine], users[mine]))
        self._n_new += int(mine.sum())
        return self.merge() if self._n_new >= max(min(_LEAST_MERGED, self._most), len(self.cells) // 2) else []

    def merge(self) -> list[_Pairs]:
        """Merge what was added into the table; see :meth:`add`."""
        cells = np.concatenate([self.cells, *(cells for cells, _ in self._new)])
        users = np.concatenate([self.users, *(users for _, users in self._new)])
        self._new, self._n_new = [], 0
        order = np.lexsort((users, cells))
        order = order[~same_as_before(cells[order], users[order])]
        self.cells, self.users = cells[order], users[order]
        later: list[_Pairs] = []
        # People with one hash cannot be divided, so dividing ends at some time.
        while len(self.cells) > self._most and self._bits < _MOST_BITS:
            later.append(_Pairs(bits=self._bits + 1, ending=self._ending | 1 << self._bits, most=self._most))
            self._bits += 1
            mine = self._counted(self.users)
            self.cells, self.users = self.cells[mine], self.users[mine]
        return later

    def _counted(self, users: UserHashes) -> BoolArray:
        counted: BoolArray = (users & np.uint64((1 << self._bits) - 1)) == np.uint64(self._ending)
        return counted
