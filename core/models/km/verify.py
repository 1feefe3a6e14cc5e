"""Check of k^m-anonymity (Poulis et al. 2014, Definition 4), from the released trajectories alone.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from core.models.km.guarantee import KmAnonymity
from core.models.km.occurrences import first_completions, following, supports_of
from core.records.arrays import IntArray, numbered

__all__ = ["KmReport", "verify_km"]


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
        n_locations, n_visits = self.n_locations, len(self.locations)
        number, visits = first_completions(prefix, visits, self.locations, n_locations, self.ends)
        yield supports_of(number, self.persons[visits])
        if size == 1:
            return
        n_after = self.ends[visits] - visits - 1
        for part in following(number, visits + 1, n_after, n_locations=n_locations, n_visits=n_visits):
            yield from self._extended(*part, size - 1)
