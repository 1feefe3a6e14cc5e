"""Which locations of one cluster are generalized together, and what that costs: T (Poulis et al. 2013).

The paper leaves T open (set-based generalization, by any algorithm). Here it is SeqAnon's loop, with sets instead
of sequences: sizes 1 to m, sets of generalized locations by support, and for each set that is too rare the merging of
its least supported location with the nearest one, until the support is k. Every cluster has a partition of its own.

It ends because every step merges two of finitely many generalized locations, and everybody with a location supports the
last one. If these are fewer than k people, no release may show any location of the cluster: all are suppressed. Merging
never lowers a support. A set of generalized locations that a person holds after a merge comes from a set of the same
size that was checked before, so frequent sets stay frequent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.models.common.merging import LocationGroups
from core.models.kkm.anonymize.diversity import Diversity
from core.models.kkm.anonymize.spans import BILLION
from core.records.arrays import IntArray
from core.utility.utility_loss import utility_loss

__all__ = ["ClusterItems", "generalize_items"]

ItemKey = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterItems:
    """What the locations of a cluster are released as."""

    generalized: tuple[tuple[int, ...], ...]
    """Members of each generalized location, ascending; ordered by the smallest. Empty if all are suppressed."""

    visited: tuple[tuple[int, ...], ...]
    """The generalized locations of each person, as indices into ``generalized``, ascending."""

    sensitive: tuple[tuple[int, ...], ...]
    """The released sensitive locations of each person, ascending."""

    loss: int
    """Sum of UL over the cluster's people, whole billionths; a person whose locations are all suppressed counts 1."""


def generalize_items(
    visited: Sequence[Sequence[int]],
    sensitive: Sequence[Sequence[int]],
    xy_mm: IntArray,
    *,
    k: int,
    m: int,
    l: int | None = None,  # noqa: E741 - the paper's name
) -> ClusterItems:
    """Make the locations of a cluster k^m-anonymous, and (k,l^m)-diverse if l is given.

    Ties: sets by (support, ids), the location to merge by (support, id), its partner by (distance, id), where distances
    are whole millimetres between centroids; a generalized location's id is its smallest member's.

    Args:
        visited: The nonsensitive locations of each person, ascending, each once.
        sensitive: The sensitive locations of each person, ascending, each once.
        xy_mm: Position of each location, whole millimetres, shape ``(L, 2)``.
        k: Smallest support.
        m: Largest sets.
        l: One over the largest share of a sensitive location; None for no limit.
    """
    diversity = Diversity(visited, sensitive, l)
    items = _Items(visited, xy_mm)
    if items.everybody.bit_count() < k:
        items = _Items([()] * len(visited), xy_mm)
    while True:
        n_broken = sum(_work_on(items, size, k, diversity) for size in range(1, m + 1))
        if not n_broken or l is None:  # supports never fall; a merge may raise shares of sensitive locations
            break
    generalized = items.generalized()
    index_of = {location: index for index, members in enumerate(generalized) for location in members}
    shown = tuple(tuple(sorted({index_of[x] for x in locations if x in index_of})) for locations in visited)
    sizes = [len(members) for members in generalized]
    loss = sum(
        _billionths([sizes[index] for index in indices]) if indices else BILLION * bool(locations)
        for indices, locations in zip(shown, visited, strict=True)
    )
    return ClusterItems(generalized=generalized, visited=shown, sensitive=diversity.left(), loss=loss)


def _billionths(sizes: Sequence[int]) -> int:
    return round(utility_loss(sizes) * BILLION)


def _work_on(items: _Items, size: int, k: int, diversity: Diversity) -> int:
    """Merge until no set of one size is broken, and return how many were."""

    def is_broken(people: int) -> bool:
        return people.bit_count() < k or diversity.is_broken(people)

    broken = sorted((people.bit_count(), key) for people, key in items.sets(size) if is_broken(people))
    for _, key in broken:
        while is_broken(people := items.people(current := items.merged(key))):
            if len(items.in_use) == 1:
                diversity.suppress(people)
                break
            items.merge_with_nearest(min(current, key=lambda location: (items.support(location), location)))
    return len(broken)


class _Items:
    """The generalized locations of a cluster, numbered in the order of ids; people are bits."""

    def __init__(self, visited: Sequence[Sequence[int]], xy_mm: IntArray) -> None:
        masks: dict[int, int] = {}
        for person, locations in enumerate(visited):
            bit = 1 << person
            for location in locations:
                masks[location] = masks.get(location, 0) | bit
        self._ids = sorted(masks)
        self._masks = [masks[location] for location in self._ids]
        self._groups = LocationGroups(xy_mm[self._ids])
        self.in_use = dict.fromkeys(range(len(self._ids)))
        self.everybody = 0
        for mask in self._masks:
            self.everybody |= mask

    def support(self, number: int) -> int:
        return self._masks[number].bit_count()

    def people(self, key: ItemKey) -> int:
        people = self._masks[key[0]]
        for number in key[1:]:
            people &= self._masks[number]
        return people

    def merged(self, key: ItemKey) -> ItemKey:
        """Return a set after the merges so far; two of its locations may have become one."""
        return tuple({self._groups.group_of[number]: None for number in key})

    def sets(self, size: int) -> Iterator[tuple[int, ItemKey]]:
        """Yield every set of generalized locations that somebody holds, and the people who hold it."""
        yield from self._walk((), -1, list(self.in_use), size)

    def merge_with_nearest(self, number: int) -> None:
        nearest = int(np.argmin(self._groups.distances_mm(number)))
        into, absorbed = min(number, nearest), max(number, nearest)
        self._groups.merge(into, absorbed)
        self._masks[into] |= self._masks[absorbed]
        del self.in_use[absorbed]

    def generalized(self) -> tuple[tuple[int, ...], ...]:
        members = self._groups.members
        return tuple(tuple(self._ids[number] for number in sorted(members[group])) for group in self.in_use)

    def _walk(self, prefix: ItemKey, people: int, candidates: list[int], size: int) -> Iterator[tuple[int, ItemKey]]:
        masks = self._masks
        for at, number in enumerate(candidates, start=1):
            both = people & masks[number]
            if not both:
                continue
            if size == 1:
                yield both, (*prefix, number)
            else:
                yield from self._walk((*prefix, number), both, candidates[at:], size - 1)
