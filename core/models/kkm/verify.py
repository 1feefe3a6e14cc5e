"""Check of (k,k^m)-anonymity and (k,l^m)-diversity (Poulis et al. 2013), from the published records and their users.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from core.models.kkm.guarantee import KKmAnonymity

__all__ = ["KKmReport", "verify_kkm"]

Location = tuple[str, ...]
"""A released location by the names of its members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KKmReport:
    """What the check found."""

    smallest_group: int | None
    """Fewest distinct people with equal attributes; None for an empty release."""

    smallest_support: int | None
    """Fewest distinct people of a group behind any set of at most m of its locations; None if there is none."""

    largest_share: float | None
    """Largest share of the people behind such a set, or of a group, at one sensitive location; None without l."""

    small_groups: int
    """Groups of fewer than k people."""

    rare_sets: int
    """Sets of at most m locations that occur in a group with support below k."""

    revealing_sets: int
    """Sets of at most m locations, the empty one included, and a sensitive location whose share is above 1/l."""

    ambiguous: int
    """Names in more than one released location of a group, and sensitive ones among the others.

    An adversary who knows such a place of a person could distinguish records that are counted together here.
    """

    repeated: int
    """People with more than one record."""

    @property
    def violations(self) -> int:
        """Number of violations of all kinds."""
        return self.small_groups + self.rare_sets + self.revealing_sets + self.ambiguous + self.repeated

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds. It does for an empty release."""
        return self.violations == 0


def verify_kkm(
    users: Sequence[int],
    attributes: Sequence[Hashable],
    locations: Sequence[Iterable[Location]],
    guarantee: KKmAnonymity,
    *,
    sensitive: Sequence[Iterable[str]] | None = None,
) -> KKmReport:
    """Count the people behind everything that can be known, by the definition.

    Args:
        users: User of each record. Equal values are one person.
        attributes: Generalized attributes of each record as they would be published; equal if published alike.
        locations: Nonsensitive locations of each record as they would be published, in any order.
        guarantee: k, m and l.
        sensitive: Sensitive locations of each record; may be left out if l is None.

    Raises:
        ValueError: The numbers of users, attributes and locations differ, or l comes without sensitive locations.
    """
    shown_at = [frozenset[str]()] * len(users) if sensitive is None else [frozenset(names) for names in sensitive]
    if not len(users) == len(attributes) == len(locations) == len(shown_at):
        found = f"{len(users)} users, {len(attributes)} attributes, {len(locations)} and {len(shown_at)} locations"
        raise ValueError(f"{found}: there must be one of each for each record")
    if sensitive is None and guarantee.l is not None:
        raise ValueError("l is to be checked, but no sensitive locations are given: give those of each record")

    groups: defaultdict[Hashable, dict[int, tuple[set[Location], set[str]]]] = defaultdict(dict)
    for user, values, visited, names in zip(users, attributes, locations, shown_at, strict=True):
        record = groups[values].setdefault(user, (set(), set()))
        record[0].update(tuple(location) for location in visited)
        record[1].update(names)

    hidden = frozenset().union(*shown_at)
    supports: list[int] = []
    shares: list[float] = []
    rare = revealing = ambiguous = 0
    for people in groups.values():
        ambiguous += _ambiguous({location for visited, _ in people.values() for location in visited}, hidden)
        counts, with_sensitive = _counts(list(people.values()), guarantee.m)
        supports += counts.values()
        rare += sum(count < guarantee.k for count in counts.values())
        counts[()] = len(people)
        if guarantee.l is not None:
            for (known, _), count in with_sensitive.items():
                shares.append(count / counts[known])
                revealing += count * guarantee.l > counts[known]
    sizes = [len(people) for people in groups.values()]
    return KKmReport(
        smallest_group=min(sizes, default=None),
        smallest_support=min(supports, default=None),
        largest_share=max(shares, default=0.0) if guarantee.l is not None else None,
        small_groups=sum(size < guarantee.k for size in sizes),
        rare_sets=rare,
        revealing_sets=revealing,
        ambiguous=ambiguous,
        repeated=sum(count > 1 for count in Counter(users).values()),
    )


def _counts(
    people: list[tuple[set[Location], set[str]]], m: int
) -> tuple[Counter[tuple[Location, ...]], Counter[tuple[tuple[Location, ...], str]]]:
    """Count the people of a group behind every set of 1 to m locations, and behind it and a sensitive location.

    The second count includes the empty set: an adversary without locations still knows the attributes.
    """
    counts: Counter[tuple[Location, ...]] = Counter()
    with_sensitive: Counter[tuple[tuple[Location, ...], str]] = Counter()
    for visited, shown_at in people:
        known = [part for size in range(m + 1) for part in combinations(sorted(visited), size)]
        counts.update(known[1:])
        for name in shown_at:
            with_sensitive.update((part, name) for part in known)
    return counts, with_sensitive


def _ambiguous(shown: set[Location], hidden: frozenset[str]) -> int:
    """Count the names that stand in more than one released location, or are sensitive as well."""
    names = Counter(name for location in shown for name in set(location))
    return sum(count > 1 or name in hidden for name, count in names.items())
