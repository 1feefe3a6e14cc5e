"""Check of pattern-preserving k-anonymity (Pensa et al. 2008, Definition 1, relaxed), from original and release.

The definition refers to both, so this check reads the original window. A person who supports a released sequence also
supports every subtrajectory of it. So if every released sequence has ``k`` supporters in the original, so has every
subtrajectory that occurs in the release, however few people it is released for. The k-frequent patterns of the release
are then among those of the original, and only whole sequences have to be counted.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from core.models.p2ka.guarantee import PatternPreservingK

__all__ = ["PatternReport", "verify_patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest distinct people of the original who support a released sequence; None for an empty release."""

    violations: int
    """Distinct released sequences that fewer than k people of the original support."""

    surplus: int
    """Released sequences beyond the number of trajectories that their person has in the original."""

    smallest_crowd: int | None
    """Fewest distinct people for whom one sequence is released; None for an empty release."""

    lone: int
    """Distinct sequences released for fewer than k people, if the guarantee has ``alike``; else 0."""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds. It does for an empty release."""
        return self.violations == self.surplus == self.lone == 0


def verify_patterns(
    original_users: Sequence[int],
    originals: Sequence[Sequence[Hashable]],
    users: Sequence[int],
    released: Sequence[Sequence[Hashable]],
    guarantee: PatternPreservingK,
) -> PatternReport:
    """Count the supporters of every released sequence, by the definition.

    Args:
        original_users: User of each trajectory of the window. Equal values are one person, here and in ``users``.
        originals: The window: locations in order, any hashable.
        users: User of each released sequence.
        released: Sequences as they would be published, of the same locations; empty ones are not published.
        guarantee: k, and whether each sequence has to be released for at least k people.

    Raises:
        ValueError: The numbers of users and trajectories differ, before or after.
    """
    for whose, what in ((original_users, originals), (users, released)):
        if len(whose) != len(what):
            raise ValueError(f"{len(whose)} users for {len(what)} trajectories: there must be one for each")
    crowds: defaultdict[tuple[Hashable, ...], set[int]] = defaultdict(set)
    may_have = Counter(original_users)
    has: Counter[int] = Counter()
    for user, sequence in zip(users, released, strict=True):
        if len(sequence):
            crowds[tuple(sequence)].add(user)
            has[user] += 1
    supports = list(_supports(list(crowds), original_users, originals))
    alike = [len(crowd) for crowd in crowds.values()]
    return PatternReport(
        smallest_support=min(supports, default=None),
        violations=sum(support < guarantee.k for support in supports),
        surplus=sum(max(n - may_have[user], 0) for user, n in has.items()),
        smallest_crowd=min(alike, default=None),
        lone=sum(n < guarantee.k for n in alike) if guarantee.alike else 0,
    )


def _supports(
    sequences: Sequence[tuple[Hashable, ...]], users: Sequence[int], originals: Sequence[Sequence[Hashable]]
) -> Iterator[int]:
    """Yield the support of each sequence, in no particular order.

    Sequences with a common prefix are searched together: for each prefix, the position after its first embedding in
    each trajectory is kept.
    """
    visits: defaultdict[Hashable, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for trajectory, original in enumerate(originals):
        for position, location in enumerate(original):
            visits[location][trajectory].append(position)
    number = {location: i for i, location in enumerate(dict.fromkeys(x for sequence in sequences for x in sequence))}
    read: list[dict[int, int]] = [dict.fromkeys(range(len(originals)), 0)]
    before: tuple[Hashable, ...] = ()
    for sequence in sorted(sequences, key=lambda locations: [number[location] for location in locations]):
        same = 0
        while same < min(len(before), len(sequence)) and before[same] == sequence[same]:
            same += 1
        del read[same + 1 :]
        for location in sequence[same:]:
            read.append(_read_on(read[-1], visits.get(location, {})))
        before = sequence
        yield len({users[trajectory] for trajectory in read[-1]})


def _read_on(read: dict[int, int], visits: dict[int, list[int]]) -> dict[int, int]:
    """Move on to the next visit of a location, in every trajectory that has one."""
    further: dict[int, int] = {}
    for trajectory in read if len(read) < len(visits) else visits:
        if trajectory in read and trajectory in visits:
            positions = visits[trajectory]
            found = bisect_left(positions, read[trajectory])
            if found < len(positions):
                further[trajectory] = positions[found] + 1
    return further
