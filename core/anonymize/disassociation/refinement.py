"""Refining: clusters with the same rare locations become joint clusters, which share chunks (Algorithm Refine).

Each modifying pass leaves fewer clusters than before, and there are :data:`MOST_PASSES` at most, so it terminates. Not
to join is always possible.

Two things go beyond the paper, whose Lemma 3 lets a release through that does not keep Guarantee 1:

- A cluster that keeps Lemma 2 by its term chunk alone must not lose all of it to shared chunks. The least supported
  location that would leave its term chunk last stays in all term chunks of the joint cluster.
- A chunk of k alike subrecords (Property 1) is no use if there is no room to exchange them: every subrecord of such a
  chunk must have a choice among at least as many people as the chunk has subrecords. Then k of a kind can be given to
  any cluster that may have one, and all others still find somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.anonymize.disassociation.growing import GrowingChunk, alike, grow_chunks
from core.anonymize.disassociation.vertical import Leaf, enough_subrecords
from core.guarantees import DisassociatedKm

__all__ = ["MOST_PASSES", "Node", "refine"]

MOST_PASSES = 100
"""Passes over the clusters, at most. Windows that were tried need some ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A cluster, simple or joint."""

    leaves: tuple[int, ...]
    """Numbers of its simple clusters."""

    children: tuple[Node, ...]
    """The two clusters that it joins, or none."""

    shared: tuple[tuple[tuple[int, ...], ...], ...]
    """Subrecords of each of its shared chunks."""

    size: int
    """How many people it has."""

    terms: Mapping[int, tuple[int, tuple[int, ...]]]
    """Its virtual term chunk: of each location, how many people visited it, and in the term chunks of which leaves."""

    placed: frozenset[int]
    """Locations in record and shared chunks of it and everything inside it."""


def refine(leaves: Sequence[Leaf], guarantee: DisassociatedKm) -> list[Node]:
    """Join clusters as long as that tells more (Equation 1), neighbours by their term chunks.

    Args:
        leaves: The simple clusters. Locations that go to a shared chunk leave their ``terms`` for ``placed``.
        guarantee: k and m.

    Returns:
        The clusters that are in no other, in no order that matters.
    """
    nodes = [_single(number, leaf) for number, leaf in enumerate(leaves)]
    join = _Joiner(leaves, guarantee)
    failed: set[tuple[Node, Node]] = set()  # neither changes, so that they can never be joined
    for _ in range(MOST_PASSES):
        in_chunks = Counter(location for node in nodes for location in node.terms)
        rank = {t: at for at, t in enumerate(sorted(in_chunks, key=lambda t: (-in_chunks[t], t)))}
        nodes.sort(key=lambda node: (sorted(map(rank.__getitem__, node.terms)), node.leaves))
        after: list[Node] = []
        at = 0
        while at < len(nodes):
            pair = tuple(nodes[at : at + 2])
            joined = join(*pair) if len(pair) == 2 and pair not in failed else None
            if joined is None:
                failed.add((pair[0], pair[-1]))
            after.append(joined or nodes[at])
            at += 2 if joined else 1
        if len(after) == len(nodes):
            break
        nodes = after
    return nodes


def _single(number: int, leaf: Leaf) -> Node:
    terms = {location: (leaf.visitors_of[location].bit_count(), (number,)) for location in leaf.terms}
    return Node(leaves=(number,), children=(), shared=(), size=leaf.size, terms=terms, placed=frozenset(leaf.placed))


class _Joiner:
    def __init__(self, leaves: Sequence[Leaf], guarantee: DisassociatedKm) -> None:
        self._leaves, self._k, self._m = leaves, guarantee.k, guarantee.m
        self._enough = [enough_subrecords(leaf, guarantee) for leaf in leaves]

    def __call__(self, one: Node, other: Node) -> Node | None:
        """Join two clusters, or return None where Equation 1 does not ask for it."""
        common = one.terms.keys() & other.terms.keys()
        support = {t: one.terms[t][0] + other.terms[t][0] for t in common}
        holders = {t: one.terms[t][1] + other.terms[t][1] for t in common}
        refining = self._without_last_terms({t for t in common if support[t] >= self._k}, support, holders)
        if not refining:
            return None
        order = sorted(refining, key=lambda t: (-support[t], t))
        visitors_of = self._visitors(order, holders)
        everybody = one.leaves + other.leaves
        crossing = one.placed | other.placed
        size = one.size + other.size
        taken = {
            t: sum(self._leaves[leaf].size for leaf in everybody if t in self._leaves[leaf].placed)
            for t in crossing.intersection(order)
        }

        def may_join(chunk: GrowingChunk, location: int) -> bool:
            if crossing.isdisjoint(chunk.locations) and location not in crossing:
                return True
            parts = chunk.stays_k(location, visitors_of[location])
            return parts is not None and self._has_room(parts, everybody, size, taken)

        chunks = grow_chunks(order, visitors_of, k=self._k, m=self._m, may_join=may_join)
        shared = {location for chunk in chunks for location in chunk.locations}
        if not shared or not self._tells_more(shared, support, holders, size):
            return None

        for leaf in everybody:
            self._leaves[leaf].terms -= shared
            self._leaves[leaf].placed |= shared
        terms = {**one.terms, **other.terms} | {t: (support[t], holders[t]) for t in common}
        return Node(
            leaves=everybody,
            children=(one, other),
            shared=tuple(_subrecords(chunk.locations, visitors_of) for chunk in chunks),
            size=size,
            terms={t: its for t, its in terms.items() if t not in shared},
            placed=crossing | shared,
        )

    def _without_last_terms(
        self, refining: set[int], support: Mapping[int, int], holders: Mapping[int, tuple[int, ...]]
    ) -> set[int]:
        """Leave a location in each term chunk that Lemma 2 needs."""
        for leaf in sorted({leaf for t in refining for leaf in holders[t] if not self._enough[leaf]}):
            terms = self._leaves[leaf].terms
            if terms <= refining:
                refining = refining - {min(terms, key=lambda t: (support[t], t))}
        return refining

    def _visitors(self, locations: Sequence[int], holders: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
        """Return who of the term chunks' people visited each location, as bits that number the people anew."""
        first: dict[int, int] = {}
        n_people = 0
        visitors_of: dict[int, int] = {}
        for location in locations:
            visitors = 0
            for leaf in holders[location]:
                if leaf not in first:
                    first[leaf] = n_people
                    n_people += self._leaves[leaf].size
                visitors |= self._leaves[leaf].visitors_of[location] << first[leaf]
            visitors_of[location] = visitors
        return visitors_of

    def _has_room(
        self,
        parts: Mapping[tuple[int, ...], int],
        leaves: tuple[int, ...],
        size: int,
        taken: Mapping[int, int],
    ) -> bool:
        """Tell whether every subrecord of a chunk has a choice among as many people as the chunk has subrecords.

        Args:
            parts: The distinct subrecords, and who has each.
            leaves: The clusters that share the chunk.
            size: Their people.
            taken: For locations that stand in a chunk of some of them, how many people those have.
        """
        n_subrecords = sum(people.bit_count() for people in parts.values())
        for subrecord in parts:
            # Mostly there is room enough even if no two locations stood in chunks of the same cluster.
            if size - sum(taken.get(t, 0) for t in subrecord) >= n_subrecords:
                continue
            room = 0
            for leaf in leaves:
                if self._leaves[leaf].placed.isdisjoint(subrecord):
                    room += self._leaves[leaf].size
                    if room >= n_subrecords:
                        break
            else:
                return False
        return True

    def _tells_more(
        self, shared: set[int], support: Mapping[int, int], holders: Mapping[int, tuple[int, ...]], size: int
    ) -> bool:
        """Equation 1, in whole numbers."""
        told = sum(support[t] for t in shared)
        told_before = sum(len(holders[t]) for t in shared)
        their_size = sum(self._leaves[leaf].size for leaf in {leaf for t in shared for leaf in holders[t]})
        return told * their_size >= told_before * size


def _subrecords(locations: Sequence[int], visitors_of: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    parts = alike(locations, visitors_of)
    return tuple(subrecord for subrecord in sorted(parts) for _ in range(parts[subrecord].bit_count()))
