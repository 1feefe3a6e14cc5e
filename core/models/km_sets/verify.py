"""Check of k^m-anonymity of sets, from the published sets and their users.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.

An adversary knows locations, not generalized ones. Let a released person have visited up to m locations that the
adversary knows. Each of them that is released is in a generalized location of the person's set: these are at most m,
and whoever has all of them matches. So it is enough that every set of up to m generalized locations has k people, also
where a location has another label in another part of the release.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from core.models.km_sets.guarantee import KmSetAnonymity

__all__ = ["KmSetReport", "verify_km_sets"]

SetPlace = tuple[str, ...]
"""A generalized location by the names of its members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KmSetReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest distinct people who have a set of up to m generalized locations; None for an empty release."""

    rare: int
    """Sets of up to m generalized locations that 1 to k-1 people have."""

    repeated: int
    """People with more than one message: together these show more than is checked."""

    overlapping: int
    """Messages that name a location twice."""

    untrue: int
    """Messages with a generalized location none of whose members the person visited, or without any location."""

    untold: int
    """Messages that lack a location which the person visited and which others are shown at."""

    @property
    def violations(self) -> int:
        """Number of violations of all kinds."""
        return self.rare + self.repeated + self.overlapping + self.untrue + self.untold

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds, and the release is true."""
        return self.violations == 0


def verify_km_sets(
    users: Sequence[int],
    sets: Sequence[Sequence[SetPlace]],
    visited: Mapping[int, Collection[str]],
    guarantee: KmSetAnonymity,
) -> KmSetReport:
    """Count the people behind everything that can be known, by the definition.

    Args:
        users: User of each message. Equal values are one person.
        sets: The generalized locations of each message as they would be published.
        visited: Names of the locations that each user visited.
        guarantee: k and m.
    """
    places_of: defaultdict[int, set[SetPlace]] = defaultdict(set)
    for user, places in zip(users, sets, strict=True):
        places_of[user].update(map(tuple, places))
    counts: Counter[tuple[SetPlace, ...]] = Counter()
    for own in places_of.values():
        for size in range(1, guarantee.m + 1):
            counts.update(combinations(sorted(own), size))

    shown = {name for places in sets for place in places for name in place}
    overlapping = untrue = untold = 0
    for user, places in zip(users, sets, strict=True):
        names = [name for place in places for name in place]
        there = set(visited[user])
        overlapping += len(names) > len(set(names))
        untrue += not places or any(there.isdisjoint(place) for place in places)
        untold += not (there & shown).issubset(names)
    return KmSetReport(
        smallest_support=min(counts.values(), default=None),
        rare=sum(count < guarantee.k for count in counts.values()),
        repeated=sum(count > 1 for count in Counter(users).values()),
        overlapping=overlapping,
        untrue=untrue,
        untold=untold,
    )
