"""The subtrajectories of a window as numbers, and the supporters of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.records.arrays import IntArray
from core.support.table import SubtrajectoryTable, distinct_codes, subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["Counted"]

_Numbers = npt.NDArray[np.int64] | npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Every subtrajectory of at most ``m`` locations that occurs, and its supporters.

    A subtrajectory is a whole number: its digits, base :attr:`base`, are its locations, each plus one.
    """

    base: int
    n_users: int
    _tables: Sequence[SubtrajectoryTable]
    _numbers: Sequence[_Numbers]
    """The same subtrajectories as numbers, ascending."""

    _digits: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, sequences: Sequences, m: int) -> Counted:
        """Count the subtrajectories of at most ``m`` locations, from scratch."""
        base = int(sequences.locations.max(initial=0)) + 2
        tables = [subtrajectories(sequences, size) for size in range(1, m + 1)]
        return cls._of_tables(tables, base=base, n_users=sequences.n_users)

    @classmethod
    def _of_tables(cls, tables: Sequence[SubtrajectoryTable], *, base: int, n_users: int) -> Counted:
        numbers = [_numbers(table.locations, base) for table in tables]
        return cls(base=base, n_users=n_users, _tables=tables, _numbers=numbers)

    def merged(self, group_of: IntArray) -> Counted:
        """Return the same as :meth:`of` after each location ``x`` became ``group_of[x]``, shape ``(L,)``."""
        tables = []
        for table in self._tables:
            locations = group_of[table.locations]
            _, first, row = np.unique(_numbers(locations, self.base), return_index=True, return_inverse=True)
            pairs = distinct_codes(np.repeat(row, table.supports) * self.n_users + table.users)  # each person once
            starts = np.searchsorted(pairs, np.arange(len(first) + 1) * self.n_users)
            tables.append(SubtrajectoryTable(locations=locations[first], starts=starts, users=pairs % self.n_users))
        return self._of_tables(tables, base=self.base, n_users=self.n_users)

    def supports(self) -> dict[int, int]:
        """Return the support of each subtrajectory."""
        supports: dict[int, int] = {}
        for numbers, table in zip(self._numbers, self._tables, strict=True):
            supports.update(zip(numbers.tolist(), table.supports.tolist(), strict=True))
        return supports

    def supporters(self, subtrajectory: int) -> list[int]:
        """Return the users that support a subtrajectory that occurs, ascending."""
        size = len(self.digits(subtrajectory)) - 1
        table, row = self._tables[size], int(np.searchsorted(self._numbers[size], subtrajectory))
        supporters: list[int] = table.users[table.starts[row] : table.starts[row + 1]].tolist()
        return supporters

    def digits(self, subtrajectory: int) -> tuple[int, ...]:
        """Return the digits of a subtrajectory."""
        found = self._digits.get(subtrajectory)
        if found is None:
            rest, digits = subtrajectory, []
            while rest:
                rest, digit = divmod(rest, self.base)
                digits.append(digit)
            found = self._digits[subtrajectory] = tuple(reversed(digits))
        return found

    def infrequent(self, k: int) -> int:
        """Count the pairs of a person and an infrequent subtrajectory of the person: each has to be repaired."""
        return sum(int(supports[supports < k].sum()) for supports in (table.supports for table in self._tables))

    def infrequent_where(self, group_of: IntArray, k: int) -> int:
        """Return :meth:`infrequent` of :meth:`merged`, but faster: merging never lowers a support."""
        n_pairs = 0
        for table in self._tables:
            rare = table.supports < k
            frequent = np.unique(_numbers(group_of[table.locations[~rare]], self.base))
            numbers = _numbers(group_of[table.locations[rare]], self.base)
            left = ~np.isin(numbers, frequent)
            row = np.unique(numbers[left], return_inverse=True)[1]
            n_supporters = table.supports[rare][left]
            supporters = table.users[np.repeat(rare, table.supports)][np.repeat(left, table.supports[rare])]
            supports = np.bincount(
                distinct_codes(np.repeat(row, n_supporters) * self.n_users + supporters) // self.n_users
            )
            n_pairs += int(supports[supports < k].sum())
        return n_pairs

    def exposed(self, k: int) -> list[int]:
        """Return the users with an infrequent subtrajectory, ascending."""
        found = [table.users[np.repeat(table.supports < k, table.supports)] for table in self._tables]
        exposed: list[int] = np.unique(np.concatenate(found)).tolist()
        return exposed


def _numbers(locations: IntArray, base: int) -> _Numbers:
    # Long subtrajectories over many locations need more than 64 bits.
    fits = base ** locations.shape[1] < 1 << 63
    numbers: _Numbers = np.zeros(len(locations), np.int64 if fits else object)
    for column in locations.T:
        numbers = numbers * base + (column + 1)
    return numbers
