"""COAT and PCTA: locations are generalized together within utility constraints, led by the utility loss UL.

COAT is of Loukides, Gkoulalas-Divanis, Malin 2011, PCTA of Gkoulalas-Divanis, Loukides 2012. Neither needs a hierarchy:
any locations of one utility constraint may be generalized together (set-based, for all people alike). The papers'
privacy constraints are sets of locations that an adversary may know; here these are all sets of up to ``m`` locations.
A privacy constraint is satisfied if at least k people, or nobody, have all of its generalized locations.

Both take the unsatisfied constraint with the largest support, and change the release until the constraint is satisfied:

- *COAT* takes, of its generalized locations that can be merged, the one with the smallest support, and merges it with
  the one of the same utility constraint for which the merged one has the least UL.
- *PCTA* takes the merge with the least UL of all merges of one of its generalized locations with another one of the
  same utility constraint.
- Where none of them can be merged, the generalized location with the smallest support is suppressed.

If more locations are suppressed than ``suppression_percent`` allows, the window is not released.

The loss that leads them is the papers' ``UL(u) = (2^|u| - 1) / (2^M - 1) * w(u) * support(u) / N``; the divisors are
the same everywhere and left out. The papers let ``w`` express how unlike the members are in meaning. Here it is their
mean squared distance in metres, so that near locations are merged.

The papers' texts are not at hand. Settled here: sizes of privacy constraints ascend from 1 to ``m``, because a larger
set cannot be satisfied before the smaller ones. Ties: privacy constraints by ids, generalized locations to merge by
(support, id), partners by (UL, id). UL is rounded down to a whole number. A generalized location's id is its smallest
member's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from core.models.km_sets.anonymize.labels import NodeSet, rare_sets
from core.records.arrays import FloatArray
from core.trajectories.recoding import Label

__all__ = ["coat", "pcta"]

Choose = Callable[["_ItemGroups", NodeSet], "tuple[int, int] | None"]


def coat(
    visited: Sequence[Sequence[int]],
    xy_m: FloatArray,
    constraint_of: Sequence[Hashable],
    *,
    k: int,
    m: int,
    max_suppressed_percent: float,
) -> dict[int, Label] | None:
    """Make sets k^m-anonymous by COAT.

    Args:
        visited: The locations of each person, ascending.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        constraint_of: The utility constraint of each of the ``L`` locations.
        k: Smallest support.
        m: Largest sets.
        max_suppressed_percent: Most locations that may be suppressed, percent.

    Returns:
        The label of each location that is not suppressed; None if more would have to be suppressed.
    """
    return _satisfied(_rarest_merge, visited, xy_m, constraint_of, k=k, m=m, percent=max_suppressed_percent)


def pcta(
    visited: Sequence[Sequence[int]],
    xy_m: FloatArray,
    constraint_of: Sequence[Hashable],
    *,
    k: int,
    m: int,
    max_suppressed_percent: float,
) -> dict[int, Label] | None:
    """Make sets k^m-anonymous by PCTA. Arguments and result as for :func:`coat`."""
    return _satisfied(_least_merge, visited, xy_m, constraint_of, k=k, m=m, percent=max_suppressed_percent)


def _rarest_merge(groups: _ItemGroups, key: NodeSet) -> tuple[int, int] | None:
    for group in groups.rarest_first(key):
        if (found := groups.cheapest_partner(group)) is not None:
            return group, found[1]
    return None  # each stands for a whole constraint


def _least_merge(groups: _ItemGroups, key: NodeSet) -> tuple[int, int] | None:
    merges = [(found, group) for group in key if (found := groups.cheapest_partner(group)) is not None]
    if not merges:
        return None
    (_, partner), group = min(merges)
    return group, partner


def _satisfied(
    choose: Choose,
    visited: Sequence[Sequence[int]],
    xy_m: FloatArray,
    constraint_of: Sequence[Hashable],
    *,
    k: int,
    m: int,
    percent: float,
) -> dict[int, Label] | None:
    groups = _ItemGroups(visited, xy_m, constraint_of)
    for size in range(1, m + 1):
        while rare := groups.rare(size, k):
            for _, key in sorted(rare, key=lambda one: (-one[0], one[1])):
                while 0 < groups.support(current := groups.current(key)) < k:
                    merge = choose(groups, current)
                    if merge is None:
                        groups.suppress(groups.rarest_first(current)[0])
                        if groups.suppressed_percent > percent:
                            return None
                    else:
                        groups.merge(*merge)
    return groups.labels()


class _ItemGroups:
    """The generalized locations, each named by its smallest member's id; locations that nobody visited have none."""

    def __init__(self, visited: Sequence[Sequence[int]], xy_m: FloatArray, constraint_of: Sequence[Hashable]) -> None:
        self._visited = visited
        self._people: dict[int, int] = {}  # per generalized location the people who have it, as bits
        for person, locations in enumerate(visited):
            for location in locations:
                self._people[location] = self._people.get(location, 0) | 1 << person
        self._group_of: dict[int, int] = {location: location for location in sorted(self._people)}
        self._members = {location: [location] for location in self._group_of}
        # Whole metres: sums of integers do not depend on the order of merging.
        whole = np.rint(xy_m).astype(np.int64).tolist()
        self._sums = {x: (whole[x][0], whole[x][1], whole[x][0] ** 2 + whole[x][1] ** 2) for x in self._group_of}
        self._constraint_of = constraint_of
        self._together: dict[Hashable, set[int]] = {}
        for location in self._group_of:
            self._together.setdefault(constraint_of[location], set()).add(location)

    @property
    def suppressed_percent(self) -> float:
        """Share of the locations that are suppressed."""
        n_suppressed = len(self._group_of) - sum(map(len, self._members.values()))
        return 100 * n_suppressed / len(self._group_of)

    def rare(self, size: int, k: int) -> list[tuple[int, NodeSet]]:
        """Return the sets of one size that 1 to k-1 people have, and how many have each."""
        have = [{self._group_of[location] for location in locations} for locations in self._visited]
        shown = [[group for group in groups if group in self._members] for groups in have]
        return rare_sets(shown, size, k, {group: group for group in self._members})

    def current(self, key: NodeSet) -> NodeSet:
        """Return a set after the merges so far; two of its generalized locations may have become one."""
        return tuple(sorted({self._group_of[group] for group in key}))  # a group is named by a member

    def support(self, key: NodeSet) -> int:
        """Count the people who have all of a set; nobody has one with a suppressed location."""
        people = -1
        for group in key:
            people &= self._people[group]
        return people.bit_count()

    def rarest_first(self, key: NodeSet) -> list[int]:
        """Return the generalized locations by their support, the smallest first."""
        return sorted(key, key=lambda group: (self._people[group].bit_count(), group))

    def cheapest_partner(self, group: int) -> tuple[int, int] | None:
        """Return the least UL of a merge with another one of the same utility constraint, and the partner."""
        others = self._together[self._constraint_of[group]] - {group}
        return min(((self._merged_loss(group, other), other) for other in others), default=None)

    def _merged_loss(self, group: int, other: int) -> int:
        """Return UL of two generalized locations as one."""
        size = len(self._members[group]) + len(self._members[other])
        x, y, squares = (a + b for a, b in zip(self._sums[group], self._sums[other], strict=True))
        apart = size * squares - x * x - y * y  # half the sum of the squared distances of all pairs of members
        support = (self._people[group] | self._people[other]).bit_count()
        loss: int = ((1 << size) - 1) * 2 * apart * support // (size * size)
        return loss

    def merge(self, one: int, other: int) -> None:
        """Make one generalized location of two."""
        into, absorbed = min(one, other), max(one, other)
        for location in self._members[absorbed]:
            self._group_of[location] = into
        self._members[into] += self._members.pop(absorbed)
        self._people[into] |= self._people.pop(absorbed)
        self._sums[into] = tuple(a + b for a, b in zip(self._sums[into], self._sums.pop(absorbed), strict=True))
        self._together[self._constraint_of[absorbed]].remove(absorbed)

    def suppress(self, group: int) -> None:
        """Suppress all members of a generalized location."""
        del self._members[group]
        self._people[group] = 0
        self._together[self._constraint_of[group]].remove(group)

    def labels(self) -> dict[int, Label]:
        """Return the label of each location that is not suppressed."""
        labels = {group: tuple(sorted(members)) for group, members in self._members.items()}
        return {location: labels[group] for location, group in self._group_of.items() if group in labels}
