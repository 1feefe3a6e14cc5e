"""Apriori: locations are generalized along a hierarchy, for all people alike (Terrovitis, Mamoulis, Kalnis 2008).

The algorithm AA of the paper. For sizes 1 to ``m``, every set of that size which 1 to k-1 people have is *repaired*:
each of its nodes is replaced by itself or a node above it, so that at least k people have all of the nodes, at the
least loss. A node that is chosen replaces everything below it (full-subtree global recoding).

The loss is the paper's NCP, without its constant divisor: a node with several locations costs the number of its
locations for each pair of a person and a visited location below it; a location as it is costs nothing.

The paper scans its count-tree once for each size. Here the sets of a size are listed in the order in which that tree is
walked (items by support descending, then number), sets with an item that was generalized in the meantime are passed
over, and the list is made anew until it is empty. It ends because each repair moves at least one location up. Sets of
smaller sizes stay frequent: a generalization never lowers a support, and every set of the generalized nodes of a
person comes from a set of as many of the person's nodes before.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.anonymize.labels import NodeSet, rare_sets
from core.trajectories.recoding import Label

__all__ = ["MOST_TRIED", "HierarchyCut"]

MOST_TRIED = 10_000
"""Most candidates that are considered to repair one set. Up to ``m = 3`` there are seldom that many."""


class HierarchyCut:
    """The node that stands for each location; at first every location stands for itself.

    Args:
        visited: The locations of each person, ascending.
        hierarchy: The nodes above the locations.
    """

    def __init__(self, visited: Sequence[Sequence[int]], hierarchy: LocationNodes) -> None:
        self._visited, self._hierarchy = visited, hierarchy
        self._node_of = list(range(hierarchy.n_locations))
        self._people = [0] * len(hierarchy.above)  # per node the people with a location below it, as bits
        visits = [0] * len(hierarchy.above)
        for person, locations in enumerate(visited):
            for location in locations:
                for node in hierarchy.above[location]:
                    self._people[node] |= 1 << person
                    visits[node] += 1
        sizes = map(len, hierarchy.members)
        self._loss = [n * size if size > 1 else 0 for n, size in zip(visits, sizes, strict=True)]
        self._lost_below = [0] * len(hierarchy.above)
        """Loss of what now stands for the locations below each node."""

    def anonymize(self, *, k: int, m: int, top: int | None = None) -> None:
        """Generalize until at least ``k`` people have every set of up to ``m`` nodes that somebody has.

        Args:
            k: Smallest support; no larger than the number of people.
            m: Largest sets.
            top: Consider the locations below this node alone, and generalize no higher. Sets that cannot be repaired
                so stay as they are. None for everything.
        """
        given_up: set[NodeSet] = set()
        for size in range(1, m + 1):
            while True:
                rank = self._ranks()
                rare = [key for _, key in rare_sets(self._nodes(top), size, k, rank) if key not in given_up]
                if not rare:
                    break
                generalized: set[int] = set()
                for key in rare:
                    if not generalized.isdisjoint(key):
                        continue
                    found = self._repair(key, k, top)
                    if found is None:
                        given_up.add(key)
                    else:
                        generalized.update(*map(self._generalize, found))

    def labels(self) -> dict[int, Label]:
        """Return the label of each location: all locations of the window below the node that stands for it."""
        return {x: tuple(self._hierarchy.members[node]) for x, node in enumerate(self._node_of)}

    def _nodes(self, top: int | None) -> list[set[int]]:
        inside = None if top is None else set(self._hierarchy.members[top])
        return [
            {self._node_of[location] for location in locations if inside is None or location in inside}
            for locations in self._visited
        ]

    def _ranks(self) -> dict[int, int]:
        in_use = sorted(set(self._node_of), key=lambda node: (-self._people[node].bit_count(), node))
        return {node: rank for rank, node in enumerate(in_use)}

    def _repair(self, key: NodeSet, k: int, top: int | None) -> list[int] | None:
        """Return the nodes above those of a set that at least k people have, at the least loss.

        Candidates are tried by (loss, levels above the nodes of the set). A node never costs less than those below it,
        so that the first one that suffices is the best. After :data:`MOST_TRIED` of them the search ends with the
        highest nodes, because the number of candidates is the number of levels to the power of the size of the set.
        """
        chains = [self._chain(node, top) for node in key]
        start = (0,) * len(key)
        waiting = [(self._increase(key), start)]
        seen = {start}
        highest = tuple(len(chain) - 1 for chain in chains)
        while True:  # the highest nodes come last
            _, levels = heapq.heappop(waiting) if len(seen) <= MOST_TRIED else (0, highest)
            nodes = self._highest([chain[level] for chain, level in zip(chains, levels, strict=True)])
            people = self._people[nodes[0]]
            for node in nodes[1:]:
                people &= self._people[node]
            if people.bit_count() >= k:
                return nodes
            if levels == highest:
                return None
            for at, chain in enumerate(chains):
                higher = (*levels[:at], levels[at] + 1, *levels[at + 1 :])
                if higher[at] < len(chain) and higher not in seen:
                    seen.add(higher)
                    above = self._highest([one[level] for one, level in zip(chains, higher, strict=True)])
                    heapq.heappush(waiting, (self._increase(above), higher))

    def _chain(self, node: int, top: int | None) -> tuple[int, ...]:
        above = self._hierarchy.above[node]
        return above if top is None else above[: above.index(top) + 1]

    def _highest(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes that are below no other one, each once."""
        chosen = set(nodes)
        return sorted(node for node in chosen if chosen.isdisjoint(self._hierarchy.above[node][1:]))

    def _increase(self, nodes: Sequence[int]) -> int:
        return sum(self._loss[node] - self._lost_below[node] for node in nodes)

    def _generalize(self, node: int) -> set[int]:
        """Let a node stand for all locations below it, and return the other nodes that stood for them."""
        replaced = {self._node_of[location] for location in self._hierarchy.members[node]} - {node}
        for location in self._hierarchy.members[node]:
            self._node_of[location] = node
        more = self._loss[node] - self._lost_below[node]
        for above in self._hierarchy.above[node]:
            self._lost_below[above] += more
        return replaced
