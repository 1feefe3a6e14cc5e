"""The sequences of pairs that occur, size by size: each size is built from the kept sequences of the one before."""

from __future__ import annotations

import numpy as np

from core.records.arrays import BoolArray, IntArray, ranges
from core.trajectories.trajectory import Sequences

__all__ = ["Levels", "distinct"]


class Levels:
    """The sequences of the current size that occur, and their occurrences; the first size is one pair.

    Pairs ascend strictly in a trajectory, so it holds each sequence at most once and in one order: a sequence is a set.

    Args:
        trajectories: The trajectories to search, ``p`` visits in all; pairs ascend strictly in each.
    """

    def __init__(self, trajectories: Sequences) -> None:
        lengths = np.diff(trajectories.starts)
        self._pairs = trajectories.locations
        self._trajectory_of = np.repeat(np.arange(len(lengths)), lengths)  # (p,)
        self._ends = trajectories.starts[1:][self._trajectory_of]  # (p,)
        self._users = trajectories.users
        self._each_their_own = trajectories.n_users == len(trajectories.users)
        self._n_pairs = int(self._pairs.max(initial=0)) + 1
        codes, number = np.unique(self._pairs, return_inverse=True)
        # For each size: row of the sequence without its last pair, times the number of pairs, plus that pair.
        self._codes: list[IntArray] = [codes]
        self.table = codes[:, None]
        """Sequences, rows ascending lexicographically, shape ``(s, size)``."""

        self._number = number  # (e,) row of each occurrence
        self._at = np.arange(len(self._pairs))  # (e,) visit of its last pair

    @property
    def work(self) -> int:
        """Number of occurrences to examine for the next size."""
        return int((self._ends[self._at] - self._at - 1).sum())

    def supporters(self) -> tuple[IntArray, IntArray]:
        """Return rows and users: one entry for each sequence and each user with a trajectory that contains it."""
        owners = self._users[self._trajectory_of[self._at]]
        if self._each_their_own:
            return self._number, owners
        n_users = int(self._users.max(initial=0)) + 1
        both = distinct(self._number * n_users + owners)
        return both // n_users, both % n_users

    def holders(self) -> tuple[IntArray, IntArray] | None:
        """Return rows and users: one entry for each sequence and each trajectory that contains it.

        None if that equals :meth:`supporters`: everybody has one trajectory.
        """
        return None if self._each_their_own else (self._number, self._users[self._trajectory_of[self._at]])

    def keep(self, stays: BoolArray) -> None:
        """Drop the sequences that do not stay, shape ``(s,)``; rows are renumbered."""
        row = np.cumsum(stays) - 1
        left = stays[self._number]
        self._number, self._at = row[self._number[left]], self._at[left]
        self.table = self.table[stays]
        self._codes[-1] = self._codes[-1][stays]

    def extend(self) -> None:
        """Replace the sequences by those one pair larger that occur and whose parts of the current size are all kept.

        This is the self-join of the paper and the pruning after it, over occurrences.
        """
        n_after = self._ends[self._at] - self._at - 1  # (e,)
        prefix = np.repeat(np.arange(len(self._at)), n_after)
        visit = ranges(self._at + 1, n_after)
        codes, number = np.unique(self._number[prefix] * self._n_pairs + self._pairs[visit], return_inverse=True)
        table = np.column_stack((self.table[codes // self._n_pairs], codes % self._n_pairs))
        whole = np.ones(len(table), np.bool_)
        for without in range(table.shape[1] - 1):  # without the last it is the prefix, which is kept
            whole &= self.find(np.delete(table, without, axis=1)) >= 0
        self._codes.append(codes)
        self.table, self._number, self._at = table, number, visit
        self.keep(whole)

    def find(self, sequences: IntArray) -> IntArray:
        """Return the row of each given sequence among the kept ones of its size, -1 if not kept, shape ``(r,)``.

        Args:
            sequences: Of at most the current size, shape ``(r, size)``.
        """
        row = np.zeros(len(sequences), np.int64)
        for codes, pair in zip(self._codes, sequences.T, strict=False):
            wanted = np.where(row < 0, -1, row * self._n_pairs + pair)
            row = np.searchsorted(codes, wanted)
            row[row == len(codes)] = 0
            row = np.where(codes[row] == wanted, row, -1) if len(codes) else np.full(len(row), -1)
        return row


def distinct(codes: IntArray) -> IntArray:
    """Return the distinct codes, ascending. np.unique hashes here, which is slower."""
    ordered = np.sort(codes)
    first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    found: IntArray = ordered[first]
    return found
