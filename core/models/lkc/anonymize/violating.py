"""Minimal violating sequences: knowledge matching fewer than k people, or revealing a value with confidence above c.

Mohammed, Fung, Debbabi 2009, Section 4.1, Algorithm 1. A sequence violates the requirement if it occurs with support
below k, or if a sensitive value's share among the people who match exceeds c. It is minimal if no part of it violates.
Every violating sequence holds a minimal one, and suppressing other pairs everywhere does not change a sequence's
support and shares: once no minimal one is left, no sequence violates.

Support counts people. If people have several trajectories, the paper's confidence has two readings: the share of the
matching people, or of the matching trajectories. Neither may exceed c.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from core.models.lkc.anonymize.levels import Levels, distinct
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Values, allowed_carriers
from core.records.arrays import BoolArray, IntArray, ranges
from core.trajectories.trajectory import Sequences

__all__ = ["Requirement", "alone", "minimal_violating"]


class Requirement:
    """What every sequence of at most l pairs has to meet, in one window.

    Args:
        trajectories: The window.
        values: The values of its people.
        guarantee: l, k and c.
        sensitive: Codes of the sensitive values.
    """

    def __init__(
        self, trajectories: Sequences, values: Values, guarantee: LKCPrivacy, sensitive: Collection[int]
    ) -> None:
        self._k = guarantee.k
        self._allowed = allowed_carriers(guarantee.c, len(trajectories.users))
        counted = np.isin(values.codes, np.array(sorted(sensitive), np.int64)) & (
            guarantee.c < 1
        )  # with 1 all are allowed
        _, self._codes = np.unique(values.codes[counted], return_inverse=True)
        # A user without a trajectory supports nothing.
        self._starts = np.searchsorted(values.users[counted], np.arange(trajectories.n_users + 1))
        self._n_values = int(self._codes.max(initial=0)) + 1
        self.most_values = int(np.diff(self._starts).max(initial=1))
        """Largest number of sensitive values of one person, at least 1."""

    def violated(self, levels: Levels) -> BoolArray:
        """Return which sequences of the current size violate it, shape ``(s,)``."""
        row, user = levels.supporters()
        people = np.bincount(row, minlength=len(levels.table))
        violated: BoolArray = (people < self._k) | self._too_sure(row, user, people)
        holders = levels.holders()
        if holders is not None:
            row, user = holders
            violated |= self._too_sure(row, user, np.bincount(row, minlength=len(levels.table)))
        return violated

    def _too_sure(self, row: IntArray, user: IntArray, of: IntArray) -> BoolArray:
        """Return for which sequences more than the allowed share have one value, shape ``(s,)``.

        Args:
            row: Row of a matched sequence, shape ``(e,)``.
            user: The user that matches it, shape ``(e,)``.
            of: How many match each sequence, shape ``(s,)``.
        """
        counts = np.diff(self._starts)[user]  # (e,) sensitive values that each of them has
        match = np.repeat(np.arange(len(row)), counts)
        fact = ranges(self._starts[user], counts)
        carried = np.sort(row[match] * self._n_values + self._codes[fact])  # (row, value), once for each carrier
        first = np.flatnonzero(np.append(True, carried[1:] != carried[:-1])[: len(carried)])
        carriers = np.diff(np.append(first, len(carried)))
        sequence = carried[first] // self._n_values
        too_sure = np.zeros(len(of), np.bool_)
        too_sure[sequence[carriers > self._allowed[of[sequence]]]] = True
        return too_sure


def minimal_violating(trajectories: Sequences, requirement: Requirement, *, most: int) -> list[IntArray]:
    """List the minimal violating sequences of 2 to ``most`` pairs, a table for each size, shape ``(v, size)``.

    Args:
        trajectories: The window without the pairs that violate the requirement alone.
        requirement: What a sequence has to meet.
        most: Most pairs that the adversary knows.
    """
    found: list[IntArray] = []
    levels = Levels(trajectories)
    for _ in range(most - 1):
        levels.extend()
        if not len(levels.table):
            break
        violated = requirement.violated(levels)
        found.append(levels.table[violated])
        levels.keep(~violated)
    return found


def alone(trajectories: Sequences, requirement: Requirement) -> IntArray:
    """List the pairs that violate the requirement alone, ascending."""
    levels = Levels(trajectories)
    return distinct(levels.table[requirement.violated(levels), 0])
