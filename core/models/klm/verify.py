"""Check of (k,l)^m-anonymity (Select-Organize-Anonymize, Definition 3), from the candidate and its users.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.

A subtrajectory ``s`` is a sequence of at most m nonsensitive labels, as published, in one trajectory. Its supporters
are the people with a trajectory that contains it. Its share of a sensitive location ``x`` is the share of its
supporters with ``x`` in any of their trajectories: an adversary knows a person, not a trajectory. The empty ``s``
counts as well; all people of the release support it. It stands for an adversary who only knows that a person is in the
release.

With local recoding, a location may be in several labels. An adversary knows locations, not labels, and so matches all
people with a label that contains the location: the union of the supporters of several label sequences. If each of these
supports is at least k, so is the union's. But if each share is at most 1/l, the union's may be higher, if a person is
in several of the groups. No person is if any two labels of a person are equal or disjoint, so that is checked as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from core.models.klm.guarantee import KLmDiversity

__all__ = ["KLmReport", "verify_klm"]

_Person = tuple[frozenset[str], list[list[int]]]
"""The sensitive locations of a person, and the rests of the person's trajectories that are left to search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KLmReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest distinct people behind any subtrajectory of at most m nonsensitive labels; None for an empty release."""

    rare: int
    """Such subtrajectories that occur with support below k; the empty one occurs in a release that is not empty."""

    highest_share: Fraction
    """Largest share that a sensitive location has among the supporters of one of them."""

    revealing: int
    """Pairs of such a subtrajectory and a sensitive location whose share is above 1/l."""

    blurred: int
    """Labels that hold a sensitive location beside another one."""

    overlapping: int
    """People with two labels that overlap without being equal."""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds. It does for an empty release."""
        return not (self.rare or self.revealing or self.blurred or self.overlapping)


def verify_klm(
    users: Sequence[int],
    trajectories: Sequence[Sequence[tuple[str, ...]]],
    sensitive: Collection[str],
    guarantee: KLmDiversity,
) -> KLmReport:
    """Count the supporters of every subtrajectory of nonsensitive labels, and those with each sensitive location.

    Args:
        users: User of each trajectory. Equal values are one person.
        trajectories: Labels as they would be published, in order, each the names of its members.
        sensitive: Names of the sensitive locations.
        guarantee: k, l and m.

    Raises:
        ValueError: The numbers of users and trajectories differ.
    """
    if len(users) != len(trajectories):
        raise ValueError(f"{len(users)} users for {len(trajectories)} trajectories: there must be one for each")
    hidden = frozenset(sensitive)
    number: dict[frozenset[str], int] = {}
    pieces: defaultdict[int, list[list[int]]] = defaultdict(list)
    visited: defaultdict[int, set[str]] = defaultdict(set)
    for user, trajectory in zip(users, trajectories, strict=True):
        labels = [frozenset(label) for label in trajectory]
        if labels:
            visited[user].update(*(hidden & label for label in labels))
            pieces[user].append([number.setdefault(label, len(number)) for label in labels if not label & hidden])
    people: list[_Person] = [(frozenset(visited[user]), own) for user, own in pieces.items()]
    smallest: int | None = None
    rare = revealing = 0
    highest = Fraction(0)
    for support, with_places in _groups(people, guarantee.m) if people else ():
        smallest = support if smallest is None else min(smallest, support)
        rare += support < guarantee.k
        for with_place in with_places:
            revealing += with_place * guarantee.l > support
            highest = max(highest, Fraction(with_place, support))
    every = {frozenset(label) for trajectory in trajectories for label in trajectory}
    return KLmReport(
        smallest_support=smallest,
        rare=rare,
        highest_share=highest,
        revealing=revealing,
        blurred=sum(len(label) > 1 and not label.isdisjoint(hidden) for label in every),
        overlapping=_overlapping(users, trajectories),
    )


def _groups(people: list[_Person], size: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the support of each subtrajectory of 0 to ``size`` labels, and its supporters with each sensitive place."""
    yield len(people), list(Counter(place for places, _ in people for place in places).values())
    if size == 0:
        return
    after: defaultdict[int, list[_Person]] = defaultdict(list)
    for places, trajectories in people:
        rests: defaultdict[int, list[list[int]]] = defaultdict(list)
        for trajectory in trajectories:
            # What follows the first visit of a label contains what follows its later visits.
            for first in dict.fromkeys(trajectory):
                rests[first].append(trajectory[trajectory.index(first) + 1 :])
        for first, of_person in rests.items():
            after[first].append((places, of_person))
    for each in after.values():
        yield from _groups(each, size - 1)


def _overlapping(users: Sequence[int], trajectories: Sequence[Sequence[tuple[str, ...]]]) -> int:
    """Count the people with two labels that overlap without being equal."""
    labels: defaultdict[int, set[frozenset[str]]] = defaultdict(set)
    for user, trajectory in zip(users, trajectories, strict=True):
        labels[user].update(map(frozenset, trajectory))
    return sum(len(frozenset().union(*own)) < sum(map(len, own)) for own in labels.values())
