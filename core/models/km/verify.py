"""Check of k^m-anonymity (Poulis et al. 2014, Definition 4), from the released trajectories alone.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from core.models.km.guarantee import KmAnonymity

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
    number: dict[Hashable, int] = {}
    of_user: defaultdict[int, list[list[int]]] = defaultdict(list)
    for user, trajectory in zip(users, trajectories, strict=True):
        of_user[user].append([number.setdefault(location, len(number)) for location in trajectory])
    smallest: int | None = None
    violations = 0
    for support in _supports(list(of_user.values()), guarantee.m):
        smallest = support if smallest is None else min(smallest, support)
        violations += support < guarantee.k
    return KmReport(smallest_support=smallest, violations=violations)


def _supports(people: list[list[list[int]]], size: int) -> Iterator[int]:
    """Yield the support of each distinct subtrajectory of 1 to ``size`` locations.

    Those of one location are counted. Longer ones that begin with a location are searched in what follows it.

    Args:
        people: The trajectories of each person to search.
        size: Most locations.
    """
    yield from Counter(chain.from_iterable(set(chain.from_iterable(each)) for each in people)).values()
    if size == 1:
        return
    after: defaultdict[int, list[list[list[int]]]] = defaultdict(list)
    for trajectories in people:
        rests: defaultdict[int, list[list[int]]] = defaultdict(list)
        for trajectory in trajectories:
            # What follows the first visit of a location contains what follows its later visits.
            for first in dict.fromkeys(trajectory):
                if rest := trajectory[trajectory.index(first) + 1 :]:
                    rests[first].append(rest)
        for first, of_person in rests.items():
            after[first].append(of_person)
    for each in after.values():
        yield from _supports(each, size - 1)
