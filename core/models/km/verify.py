"""Check of k^m-anonymity (Poulis et al. 2014, Definition 4), from the released trajectories alone.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, IntArray, numbered

__all__ = ["KmReport", "verify_km"]

_VISITS_AT_ONCE = 1_000_000
"""Bounds the memory of one step of the search, not its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KmReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest distinct people behind any subtrajectory of at most m locations; None for an empty release."""

    violations: int
    """Distinct subtrajectories of at most m locations that occur with support below k."""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds. It does for an empty release."""
        return self.violations == 0


def verify_km(users: Sequence[int], trajectories: Sequence[Sequence[Hashable]], guarantee: KmAnonymity) -> KmReport:
    """Count the supporters of every subtrajectory that occurs, by its definition.

    Args:
        users: User of each trajectory. Equal values are one person.
        trajectories: Locations as they would be published, in order: any hashable, equal if published alike.
        guarantee: k and m.

    Raises:
        ValueError: The numbers of users and trajectories differ.
    """
    if len(users) != len(trajectories):
        raise ValueError(f"{len(users)} users for {len(trajectories)} trajectories: there must be one for each")
    order = sorted(range(len(users)), key=users.__getitem__)
    person = {user: number for number, user in enumerate(sorted(set(users)))}
    lengths = np.array([len(trajectories[i]) for i in order], np.int64)
    locations, distinct = numbered(chain.from_iterable(trajectories[i] for i in order))
    release = _Release(
        persons=np.repeat(np.array([person[users[i]] for i in order], np.int64), lengths),
        locations=locations,
        n_locations=len(distinct),
        ends=np.repeat(np.cumsum(lengths), lengths),
    )
    smallest: int | None = None
    violations = 0
    for supports in release.supports(guarantee.m):
        smallest = int(supports.min()) if smallest is None else min(smallest, int(supports.min()))
        violations += int((supports < guarantee.k).sum())
    return KmReport(smallest_support=smallest, violations=violations)


@dataclass(frozen=True, slots=True, eq=False)
class _Release:
    """The visits of a release, as columns of shape ``(p,)``: those of a person, and of a trajectory, are together."""

    persons: IntArray
    """Number of each visit's person, ascending."""

    locations: IntArray
    """Number of each visit's location, in ``0..n_locations - 1``."""

    n_locations: int
    ends: IntArray
    """Where the trajectory of each visit ends."""

    def supports(self, size: int) -> Iterator[IntArray]:
        """Yield the supports of all distinct subtrajectories of 1 to ``size`` locations, in several parts."""
        visits = np.arange(len(self.locations))
        if len(visits):
            yield from self._extended(np.zeros_like(visits), visits, size)

    def _extended(self, prefix: IntArray, visits: IntArray, size: int) -> Iterator[IntArray]:
        """Yield the supports of the subtrajectories that consist of a known prefix and 1 to ``size`` locations.

        Args:
            prefix: Number of a prefix, from 0, shape ``(e,)``.
            visits: A visit that can follow this prefix, shape ``(e,)``.
            size: Most locations that follow a prefix, at least 1.
        """
        n_visits = len(self.locations)
        ordered = np.sort((prefix * self.n_locations + self.locations[visits]) * n_visits + visits)
        subtrajectory, visits = np.divmod(ordered, n_visits)
        is_new = _changes(subtrajectory)
        # Of a trajectory's visits that complete a subtrajectory the first is kept: what follows others follows it, too.
        kept = is_new | _changes(self.ends[visits])
        number, visits = (np.cumsum(is_new) - 1)[kept], visits[kept]
        yield np.bincount(number[_changes(number) | _changes(self.persons[visits])])
        if size == 1:
            return
        n_after = self.ends[visits] - visits - 1
        number, visits, n_after = number[n_after > 0], visits[n_after > 0], n_after[n_after > 0]
        # The codes to sort are below 2**63: prefixes are at most as many as visits, unless there is only one.
        most = min(_VISITS_AT_ONCE, 2**62 // (self.n_locations * n_visits))
        for part in _parts(number, n_after, most):
            n = n_after[part]
            following = np.arange(n.sum()) + np.repeat(visits[part] + 1 - (np.cumsum(n) - n), n)
            yield from self._extended(np.repeat(number[part] - number[part][0], n), following, size - 1)


def _changes(column: IntArray) -> BoolArray:
    """Return which entries differ from the entry before; the first does."""
    return np.append(True, column[1:] != column[:-1])[: len(column)]


def _parts(number: IntArray, n_after: IntArray, most: int) -> Iterator[slice]:
    """Cut entries between numbers, ascending, into parts with at most so many visits after them, or with one number."""
    starts = np.append(np.flatnonzero(_changes(number)), len(number))
    total = np.append(0, np.cumsum(n_after))[starts]
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(total, total[first] + most, "right")) - 1)
        yield slice(int(starts[first]), int(starts[last]))
        first = last
