"""Check of pattern-preserving k-anonymity (Pensa et al. 2008, Definition 1, relaxed), from original and release.

The definition speaks of both, so that the original window is looked at here. What a released sequence contains, whoever
contains the sequence contains as well: where every released sequence has ``k`` supporters in the original, so has every
subtrajectory that occurs in the release, however few people support it there. The k-frequent patterns of the release
are then some of those of the original, and only whole sequences have to be counted.

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
    """Released sequences of people beyond the number of trajectories that each has in the original."""

    smallest_crowd: int | None
    """Fewest distinct people of whom one and the same sequence is released; None for an empty release."""

    lone: int
    """Distinct sequences released of fewer than k people, where the guarantee asks for k; else 0."""

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
        original_users: Whose each trajectory of the window is. Equal values are one person, here and in ``users``.
        originals: The window: locations in order, any hashable.
        users: Whose each released sequence is.
        released: Sequences as they would be published, of the same locations; what is empty is not published.
        guarantee: k, and whether released sequences are alike.

    Raises:
        ValueError: Not as many users as trajectories, before or after.
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
    """Return the support of each sequence, in an order of its own.

    Sequences that begin alike are looked for together: for each beginning it is noted how far one has to read in each
    trajectory that contains it.
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
    """Go on to the first visit of a location in every trajectory where there is one."""
    further: dict[int, int] = {}
    for trajectory in read if len(read) < len(visits) else visits:
        if trajectory in read and trajectory in visits:
            positions = visits[trajectory]
            found = bisect_left(positions, read[trajectory])
            if found < len(positions):
                further[trajectory] = positions[found] + 1
    return further
