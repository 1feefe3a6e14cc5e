"""The subtrajectories of a window as numbers, with those who support each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.support import subtrajectories
from core.trajectory import IntArray, Sequences

__all__ = ["Counted"]

_Numbers = npt.NDArray[np.int64] | npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OneSize:
    """Subtrajectories of one size."""

    locations: IntArray
    """Shape ``(s, size)``."""

    numbers: _Numbers
    """The same as numbers, ascending, shape ``(s,)``."""

    starts: IntArray
    """Where the people of each begin in ``users``, shape ``(s + 1,)``."""

    users: IntArray
    """Who supports each, ascending."""

    @property
    def supports(self) -> IntArray:
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Every subtrajectory of at most ``m`` locations that occurs, and who supports it.

    A subtrajectory is a whole number: its digits, base :attr:`base`, are its locations, each plus one.
    """

    base: int
    n_users: int
    _sizes: Sequence[_OneSize]
    _digits: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, sequences: Sequences, m: int) -> Counted:
        """Count the subtrajectories of at most ``m`` locations, from scratch."""
        base = int(sequences.locations.max(initial=0)) + 2
        sizes = []
        for size in range(1, m + 1):
            table = subtrajectories(sequences, size)
            sizes.append(_one_size(table.locations, base, table.starts, table.users))
        return cls(base=base, n_users=sequences.n_users, _sizes=sizes)

    def merged(self, group_of: IntArray) -> Counted:
        """Return what :meth:`of` would count where each location is another's, ``group_of``, shape ``(L,)``."""
        sizes = []
        for one in self._sizes:
            locations = group_of[one.locations]
            _, first, row = np.unique(_numbers(locations, self.base), return_index=True, return_inverse=True)
            pairs = _distinct(np.repeat(row, one.supports) * self.n_users + one.users)  # each person once
            starts = np.searchsorted(pairs, np.arange(len(first) + 1) * self.n_users)
            sizes.append(_one_size(locations[first], self.base, starts, pairs % self.n_users))
        return Counted(base=self.base, n_users=self.n_users, _sizes=sizes)

    def supports(self) -> dict[int, int]:
        """Return the support of each subtrajectory."""
        supports: dict[int, int] = {}
        for one in self._sizes:
            supports.update(zip(one.numbers.tolist(), one.supports.tolist(), strict=True))
        return supports

    def supporters(self, subtrajectory: int) -> list[int]:
        """Return who supports a subtrajectory that occurs, ascending."""
        one = self._sizes[len(self.digits(subtrajectory)) - 1]
        row = int(np.searchsorted(one.numbers, subtrajectory))
        supporters: list[int] = one.users[one.starts[row] : one.starts[row + 1]].tolist()
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
        """Count the pairs of a person and an infrequent subtrajectory of theirs: what there is to repair."""
        return sum(int(supports[supports < k].sum()) for supports in (one.supports for one in self._sizes))

    def infrequent_where(self, group_of: IntArray, k: int) -> int:
        """Return what :meth:`infrequent` would be of :meth:`merged`, faster: merging never lowers a support."""
        n_pairs = 0
        for one in self._sizes:
            rare = one.supports < k
            frequent = np.unique(_numbers(group_of[one.locations[~rare]], self.base))
            numbers = _numbers(group_of[one.locations[rare]], self.base)
            left = ~np.isin(numbers, frequent)
            row = np.unique(numbers[left], return_inverse=True)[1]
            n_supporters = one.supports[rare][left]
            supporters = one.users[np.repeat(rare, one.supports)][np.repeat(left, one.supports[rare])]
            supports = np.bincount(_distinct(np.repeat(row, n_supporters) * self.n_users + supporters) // self.n_users)
            n_pairs += int(supports[supports < k].sum())
        return n_pairs

    def exposed(self, k: int) -> list[int]:
        """Return who has an infrequent subtrajectory, ascending."""
        found = [one.users[np.repeat(one.supports < k, one.supports)] for one in self._sizes]
        exposed: list[int] = np.unique(np.concatenate(found)).tolist()
        return exposed


def _distinct(codes: IntArray) -> IntArray:
    """Return the distinct codes, ascending."""
    ordered = np.sort(codes)
    distinct: IntArray = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return distinct


def _one_size(locations: IntArray, base: int, starts: IntArray, users: IntArray) -> _OneSize:
    return _OneSize(locations=locations, numbers=_numbers(locations, base), starts=starts, users=users)


def _numbers(locations: IntArray, base: int) -> _Numbers:
    # Many locations to the power of many sizes need more than 64 bits.
    fits = base ** locations.shape[1] < 1 << 63
    numbers: _Numbers = np.zeros(len(locations), np.int64 if fits else object)
    for column in locations.T:
        numbers = numbers * base + (column + 1)
    return numbers
