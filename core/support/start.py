"""Where an index starts: supports counted from scratch, or while the window was open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory, SupportIndex, united
from core.support.table import subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["ClosedSupports", "People", "Recounted", "Supports"]

People = tuple[int, ...] | int
"""Who supports a subtrajectory, or only how many they are where that is ``k`` or more."""


class Supports(Protocol):
    """What is known of the supports of a window before its locations merge. People have numbers of its own."""

    @property
    def n_visits(self) -> int:
        """Number of visits that are counted."""
        ...

    def visitors(self) -> dict[int, set[int]]:
        """Return who visits each location that is visited; the sets are the caller's."""
        ...

    def index(self, size: int, *, k: int, group_of: IntArray) -> SupportIndex:
        """Start an index of the subtrajectories of one size.

        Args:
            size: Number of locations.
            k: The support to reach.
            group_of: What each location is released as, -1 where it is not, shape ``(L,)``.
        """
        ...


class Recounted:
    """Supports counted from scratch, whenever they are asked for."""

    def __init__(self, sequences: Sequences) -> None:
        self._sequences = sequences

    @property
    def n_visits(self) -> int:
        """See :attr:`Supports.n_visits`."""
        return len(self._sequences.locations)

    def visitors(self) -> dict[int, set[int]]:
        """See :meth:`Supports.visitors`."""
        table = subtrajectories(self._sequences, 1)
        users = table.users.tolist()
        bounds = pairwise(table.starts.tolist())
        locations = table.locations[:, 0].tolist()
        return {location: set(users[start:end]) for location, (start, end) in zip(locations, bounds, strict=True)}

    def index(self, size: int, *, k: int, group_of: IntArray) -> SupportIndex:
        """See :meth:`Supports.index`."""
        groups = group_of[self._sequences.locations]  # (p,)
        shown = groups >= 0
        starts = np.concatenate(([0], np.cumsum(shown)))[self._sequences.starts]
        left = Sequences(users=self._sequences.users, starts=starts, locations=groups[shown])
        return SupportIndex.of(left, size=size, k=k)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedSupports:
    """The supports of a window that has come to its end: see :class:`Supports`."""

    k: int
    m: int
    """What was counted for: fewest people, and most locations."""

    n_visits: int
    """Number of visits that are counted."""

    row_of: IntArray = field(repr=False)
    """Row in the window's vocabulary of each place, -1 for one that nobody is left at."""

    visitors_of: Mapping[int, Collection[int]] = field(repr=False)
    """Who visits each place."""

    people: tuple[Mapping[Subtrajectory, People], ...] = field(repr=False)
    """Who supports each subtrajectory of 2, 3, ..., m places."""

    def visitors(self) -> dict[int, set[int]]:
        """See :meth:`Supports.visitors`."""
        return {int(self.row_of[place]): set(people) for place, people in self.visitors_of.items()}

    def index(self, size: int, *, k: int, group_of: IntArray) -> SupportIndex:
        """See :meth:`Supports.index`.

        A subtrajectory of generalized locations is supported by whoever supports one that it was made of.

        Raises:
            ValueError: The supports were counted for another k, or for smaller sizes only.
        """
        if k != self.k or not 1 <= size <= self.m:
            raise ValueError(f"size {size}, k={k}: the supports are for k={self.k}, m={self.m}")
        shown = np.append(group_of, -1)[self.row_of].tolist()  # what each place is released as
        all_shown = -1 not in shown
        together: dict[Subtrajectory, tuple[int, ...] | None] = {}
        for key, people in self._of_size(size):
            new = tuple([shown[place] for place in key])
            if all_shown or -1 not in new:
                few = None if isinstance(people, int) or len(people) >= k else tuple(people)
                together[new] = united(few, together[new], k=k) if new in together else few
        return SupportIndex(together, k=k)

    def _of_size(self, size: int) -> Iterable[tuple[Subtrajectory, Collection[int] | int]]:
        if size > 1:
            return self.people[size - 2].items()
        return (((place,), people) for place, people in self.visitors_of.items())
