"""LRA: people who are alike are generalized together, each part by Apriori (Terrovitis, Mamoulis, Kalnis 2011).

People are sorted by their sets of locations as bits, read as a Gray code, so that neighbours differ in few locations,
and cut into parts. A location may have another label in every part. Each part is k^m-anonymous, so all of them together
are.

The paper's text is not at hand. Settled here: the bit of the location with the largest support is the highest, ties by
id; the order of people with equal sets does not matter; the first parts have ``people_per_part`` people, and those left
over are added one by one to the parts, from the last one backwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.anonymize.apriori import HierarchyCut
from core.models.km_sets.anonymize.labels import LabelledParts
from core.records.arrays import IntArray

__all__ = ["gray_rank", "lra"]


def lra(
    visited: Sequence[Sequence[int]], hierarchy: LocationNodes, *, k: int, m: int, people_per_part: int
) -> LabelledParts:
    """Make sets k^m-anonymous in parts of the people.

    Args:
        visited: The locations of each person, ascending.
        hierarchy: The nodes above the locations.
        k: Smallest support; no larger than the number of people.
        m: Largest sets.
        people_per_part: People of a part, at least k.
    """
    part_of = _parts(visited, hierarchy.n_locations, people_per_part)
    labels = []
    for part in range(int(part_of.max()) + 1):
        cut = HierarchyCut([visited[person] for person in np.flatnonzero(part_of == part).tolist()], hierarchy)
        cut.anonymize(k=k, m=m)
        labels.append(cut.labels())
    return LabelledParts(part_of=part_of, labels=labels)


def gray_rank(bits: int) -> int:
    """Return the number for which bits stand in the binary reflected Gray code.

    >>> [gray_rank(bits) for bits in (0b000, 0b001, 0b011, 0b010, 0b110, 0b111, 0b101, 0b100)]
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    shift = 1
    while bits >> shift:
        bits ^= bits >> shift
        shift *= 2
    return bits


def _parts(visited: Sequence[Sequence[int]], n_locations: int, people_per_part: int) -> IntArray:
    """Return the part of each person."""
    supports = Counter(location for locations in visited for location in locations)
    order = sorted(supports, key=lambda location: (supports[location], -location))
    bit_of = {location: 1 << at for at, location in enumerate(order)}
    ranks = [gray_rank(sum(bit_of[location] for location in locations)) for locations in visited]
    by_rank = sorted(range(len(visited)), key=ranks.__getitem__)
    n_parts = max(1, len(visited) // people_per_part)
    rest = len(visited) - n_parts * people_per_part
    sizes = np.full(n_parts, people_per_part)
    if rest > 0:
        sizes += rest // n_parts
        sizes[n_parts - rest % n_parts :] += 1
    part_of = np.empty(len(visited), np.int64)
    part_of[by_rank] = np.repeat(np.arange(n_parts), sizes)[: len(visited)]
    return part_of
