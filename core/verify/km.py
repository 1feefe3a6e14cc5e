"""Check of k^m-anonymity (Poulis et al. 2014, Definition 4), from the released trajectories alone.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from core.guarantees import KmAnonymity

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

    Subtrajectories are taken by their first location: only those that share it are in memory at once.

    Args:
        users: Whose each trajectory is. Equal values are one person.
        trajectories: Locations as they would be published, in order: any hashable, equal if published alike.
        guarantee: k and m.

    Raises:
        ValueError: Not as many users as trajectories.
    """
    if len(users) != len(trajectories):
        raise ValueError(f"{len(users)} users for {len(trajectories)} trajectories: there must be one for each")
    number: dict[Hashable, int] = {}
    numbered = [[number.setdefault(location, len(number)) for location in t] for t in trajectories]

    # What can follow the first visit of a location contains what can follow its later visits.
    tails: defaultdict[int, defaultdict[int, list[list[int]]]] = defaultdict(lambda: defaultdict(list))
    for user, trajectory in zip(users, numbered, strict=True):
        for first in dict.fromkeys(trajectory):
            tails[first][user].append(trajectory[trajectory.index(first) + 1 :])

    smallest: int | None = None
    violations = 0
    for tails_of in tails.values():
        supports: Counter[tuple[int, ...]] = Counter()
        for tail, *others in tails_of.values():
            found = _subtrajectories(tail, guarantee.m - 1)
            for other in others:
                found |= _subtrajectories(other, guarantee.m - 1)
            supports.update(found)
        least = min(supports.values())
        smallest = least if smallest is None else min(smallest, least)
        violations += sum(count < guarantee.k for count in supports.values())
    return KmReport(smallest_support=smallest, violations=violations)


def _subtrajectories(trajectory: Sequence[int], size: int) -> set[tuple[int, ...]]:
    """Return the distinct subtrajectories of at most ``size`` locations, the empty one among them."""
    if size == 1:
        return {(), *zip(trajectory)}
    found: set[tuple[int, ...]] = {()}
    if size == 0:
        return found
    for first in dict.fromkeys(trajectory):
        after = trajectory[trajectory.index(first) + 1 :]
        found.update([(first, *rest) for rest in _subtrajectories(after, size - 1)])
    return found
