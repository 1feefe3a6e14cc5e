"""The supports from which an index starts, counted from scratch or while the window was open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory, SupportIndex
from core.support.table import subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["ClosedSupports", "People", "Recounted", "Supports"]

People = tuple[int, ...] | int
"""The people who support a subtrajectory, or only their number if it is ``k`` or more."""


class Supports(Protocol):
    """The supports of a window before its locations merge. Numbers of people are valid in one such object only."""

    @property
    def n_visits(self) -> int:
        """Number of counted visits."""
        ...

    def visitors(self) -> dict[int, set[int]]:
        """Return the people who visit each visited location; the caller may change the sets."""
        ...

    def index(self, size: int, *, k: int, group_of: IntArray) -> SupportIndex:
        """Start an index of the subtrajectories of one size.

        Args:
            size: Number of locations.
            k: The support to reach.
            group_of: Generalized location of each location, -1 if it is suppressed, shape ``(L,)``.
        """
        ...


class Recounted:
    """Supports counted from scratch at every request."""

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
    """The supports of a window that is closed: see :class:`Supports`."""

    k: int
    m: int
    """The ``k`` and ``m`` of the counts: least frequent support, and most locations."""

    n_visits: int
    """Number of counted visits."""

    row_of: IntArray = field(repr=False)
    """Row in the window's vocabulary of each place, -1 for a place without visitors."""

    visitors_of: Mapping[int, Collection[int]] = field(repr=False)
    """The people who visit each place."""

    people: tuple[Mapping[Subtrajectory, People], ...] = field(repr=False)
    """The people who support each subtrajectory of 2, 3, ..., m places."""

    def visitors(self) -> dict[int, set[int]]:
        """See :meth:`Supports.visitors`."""
        return {int(self.row_of[place]): set(people) for place, people in self.visitors_of.items()}

    def index(self, size: int, *, k: int, group_of: IntArray) -> SupportIndex:
        """See :meth:`Supports.index`.

        People who support a subtrajectory also support the subtrajectory of its generalized locations.

        Raises:
            ValueError: The supports were counted for another k, or for smaller sizes only.
        """
        if k != self.k or not 1 <= size <= self.m:
            raise ValueError(f"size {size}, k={k}: the supports are for k={self.k}, m={self.m}")
        shown = np.append(group_of, -1)[self.row_of].tolist()  # generalized location of each place
        all_shown = -1 not in shown
        together: dict[Subtrajectory, Collection[int] | None] = {}
        for key, people in self._of_size(size):
            new = tuple([shown[place] for place in key])
            if all_shown or -1 not in new:
                few = None if isinstance(people, int) or len(people) >= k else people
                together[new] = _united(few, together[new], k=k) if new in together else few
        return SupportIndex.from_people(together, size=size, k=k)

    def _of_size(self, size: int) -> Iterable[tuple[Subtrajectory, Collection[int] | int]]:
        if size > 1:
            return self.people[size - 2].items()
        return (((place,), people) for place, people in self.visitors_of.items())


def _united(a: Collection[int] | None, b: Collection[int] | None, *, k: int) -> Collection[int] | None:
    """Return the union of two groups of people; None stands for ``k`` people or more."""
    if a is None or b is None:
        return None
    people = {*a, *b}
    return None if len(people) >= k else people
