"""Location-time pairs, each a location and a slot of time, and the sensitive values of people.

A trajectory of pairs is a :class:`core.trajectories.trajectory.Sequences` whose entries are ids of pairs, strictly
ascending. Ids grow with the slot, then with the location, so their order is the order of time. The order of two
locations in one slot has no meaning, and a location visited twice in one slot is one pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

import numpy as np

from core.records.arrays import IntArray

__all__ = ["DAY_MS", "Cycle", "Pairs", "Slots", "Values", "allowed_carriers"]

DAY_MS = 86_400_000


class Cycle(StrEnum):
    """When the slots of time start again from 0."""

    WINDOW = "window"
    """At the start of a window: a slot is a span of time that occurs once."""

    DAY = "day"
    """At midnight: a slot is a time of day, shared by all days of a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The granularity of time, both of the adversary's knowledge and of released times.

    Slots are half-open. Finer knowledge of times does not help an adversary: a release holds slots only.

    Raises:
        ValueError: A parameter is out of its range.
    """

    granularity_ms: int
    """Length of a slot, milliseconds. At least a second; with ``Cycle.DAY`` it divides a day."""

    cycle: Cycle = Cycle.WINDOW
    """Whether slots count from the window's start or from midnight."""

    utc_offset_ms: int = 0
    """How far the local time that decides when it is midnight is ahead of UTC, milliseconds; less than a day, and 0
    with ``Cycle.WINDOW``. It is the same all year."""

    def __post_init__(self) -> None:
        if self.granularity_ms < 1000:
            raise ValueError(f"granularity_ms is {self.granularity_ms}: it must be at least 1000, a second")
        if self.cycle is Cycle.DAY and DAY_MS % self.granularity_ms:
            raise ValueError(f"granularity_ms is {self.granularity_ms}: with slots of a day it must divide a day")
        if abs(self.utc_offset_ms) >= DAY_MS or (self.cycle is Cycle.WINDOW and self.utc_offset_ms):
            raise ValueError(
                f"utc_offset_ms is {self.utc_offset_ms}: it must be less than a day, and 0 with slots of a window"
            )

    def of(self, ts_ms: IntArray, *, start_ms: int) -> IntArray:
        """Return the slot of each instant.

        Args:
            ts_ms: Unix milliseconds inside the window, shape ``(n,)``.
            start_ms: When the window starts, Unix milliseconds.

        >>> Slots(granularity_ms=3_600_000).of(np.array([7_200_000, 10_799_999]), start_ms=3_600_000).tolist()
        [1, 1]
        """
        since = (ts_ms + self.utc_offset_ms) % DAY_MS if self.cycle is Cycle.DAY else ts_ms - start_ms
        slots: IntArray = since // self.granularity_ms
        return slots

    def begins_ms(self, slots: IntArray, *, start_ms: int) -> IntArray:
        """Return when each slot begins: Unix milliseconds, or milliseconds after midnight with ``Cycle.DAY``.

        >>> Slots(granularity_ms=3_600_000).begins_ms(np.array([1]), start_ms=3_600_000).tolist()
        [7200000]
        """
        begins: IntArray = slots * self.granularity_ms + (0 if self.cycle is Cycle.DAY else start_ms)
        return begins


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """The location-time pairs that occur in one window; a pair's id is its row, rows ascend by slot, then location."""

    slots: IntArray
    """Slot of each pair, shape ``(P,)``."""

    locations: IntArray
    """Location of each pair, a row of the window's vocabulary, shape ``(P,)``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """The values of people: ``v`` facts, each that a user has a value. Each fact occurs once; some users have none.

    A value belongs to the person: it is released with each of the person's trajectories.

    Raises:
        ValueError: The columns differ in length, facts do not ascend strictly by (user, code), or a code is negative.
    """

    users: IntArray = field(repr=False)
    """Dense user number, as in the trajectories, shape ``(v,)``."""

    codes: IntArray = field(repr=False)
    """Codes of the values, whole numbers from 0 with a meaning of the caller's, shape ``(v,)``."""

    def __post_init__(self) -> None:
        if self.users.shape != self.codes.shape:
            raise ValueError(f"{len(self.users)} users for {len(self.codes)} values: there must be one for each")
        if np.any(self.codes < 0) or np.any(self.users < 0):
            raise ValueError("a value's code or user number is negative: both count from 0")
        again = np.diff(self.users) < 0
        again |= (np.diff(self.users) == 0) & (np.diff(self.codes) <= 0)
        if again.any():
            raise ValueError("values do not ascend strictly by user, then code: sort them, and name each once")

    def of_users(self, n_users: int) -> list[tuple[int, ...]]:
        """Return the codes of each of ``n_users`` users, ascending."""
        bounds = np.searchsorted(self.users, np.arange(n_users + 1)).tolist()
        codes = self.codes.tolist()
        return [tuple(codes[start:end]) for start, end in pairwise(bounds)]


def allowed_carriers(c: float, most: int) -> IntArray:
    """Return how many of 0, 1, ..., ``most`` people may have one sensitive value, shape ``(most + 1,)``.

    Computed with the decimal number that c is written as: with floats 0.29 of 100 would be 28.

    >>> allowed_carriers(0.29, 100)[[3, 4, 100]].tolist()
    [0, 1, 29]
    """
    share = Fraction(str(c))
    return np.array([n * share.numerator // share.denominator for n in range(most + 1)], np.int64)
