"""Horizontal partitioning: people who visited the same places are put into one cluster (Algorithm HorPart).

As printed, the algorithm makes clusters of any size, down to one person, and does not end if many people have the same
locations. Here a cluster has at least k people: in a smaller one, k people could not share a location of its term chunk
(Lemma 1 assumes k records). A location that all but fewer than k people visited does not divide them. If the most
frequent location left has fewer than k visitors, no location divides, and the people are cut into equal parts in an
order of similar locations.

Every step divides, ignores one more location, or ends, so the algorithm terminates.
"""

from __future__ import annotations

import numpy as np

from core.records.arrays import IntArray, ranges
from core.trajectories.trajectory import Sequences

__all__ = ["horizontal_partition"]


def horizontal_partition(sets: Sequences, *, k: int, largest: int) -> list[IntArray]:
    """Divide people into clusters.

    Of equally frequent locations, the one with the smallest id divides.

    Args:
        sets: The distinct locations of each person, ascending; one trajectory a person.
        k: Fewest people of a cluster.
        largest: Most people of a cluster, at least ``2 k - 1``.

    Returns:
        The people of each cluster, ascending; each person is in one cluster. Empty if there are fewer than k people.
    """
    clusters: list[IntArray] = []
    if sets.n_users < k:
        return clusters
    n_locations = int(sets.locations.max(initial=-1)) + 1
    todo: list[tuple[IntArray, frozenset[int]]] = [(np.arange(sets.n_users), frozenset())]
    while todo:
        people, ignored = todo.pop()
        if len(people) <= largest:
            clusters.append(people)
            continue
        owner, locations = _visits(sets, people)
        supports = np.bincount(locations, minlength=n_locations)
        open_supports = supports.copy()
        open_supports[list(ignored)] = 0
        divides = int(np.argmax(open_supports)) if n_locations else 0
        if not n_locations or open_supports[divides] < k:
            clusters += _cut(sets, people, supports, largest)
            continue
        visited = np.zeros(len(people), np.bool_)
        visited[owner[locations == divides]] = True
        if len(people) - open_supports[divides] < k:
            todo.append((people, ignored | {divides}))
        else:
            todo.append((people[~visited], ignored))
            todo.append((people[visited], ignored | {divides}))
    return clusters


def _visits(sets: Sequences, people: IntArray) -> tuple[IntArray, IntArray]:
    """Return the position in ``people`` and the location of each visit of some people, both of shape ``(v,)``."""
    lengths = np.diff(sets.starts)[people]
    owner = np.repeat(np.arange(len(people)), lengths)
    return owner, sets.locations[ranges(sets.starts[people], lengths)]


def _cut(sets: Sequences, people: IntArray, supports: IntArray, largest: int) -> list[IntArray]:
    """Cut people whom no location divides into the fewest clusters, of sizes that differ by one at most.

    There are more than ``largest`` people, so even the smallest cluster has ``(largest + 1) // 2`` of them, at least k.
    """
    rank = np.empty(len(supports), np.int64)
    rank[np.lexsort((np.arange(len(supports)), -supports))] = np.arange(len(supports))

    def likeness(person: int) -> list[int]:
        locations = sets.locations[sets.starts[person] : sets.starts[person + 1]]
        return sorted(rank[locations].tolist())

    ordered = np.array(sorted(people.tolist(), key=likeness))
    return [np.sort(part) for part in np.array_split(ordered, -(-len(people) // largest))]
