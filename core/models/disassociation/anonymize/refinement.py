"""Refining: clusters with the same rare locations become joint clusters, which share chunks (Algorithm Refine).

Each pass that changes anything leaves fewer clusters than before, and there are :data:`MOST_PASSES` at most, so the
algorithm terminates. Clusters may always stay apart.

Two rules go beyond the paper, because its Lemma 3 admits releases that break Guarantee 1:

- A cluster that keeps Lemma 2 only by its term chunk must not lose all of this chunk to shared chunks. If it would, the
  least supported of these locations stays in all term chunks of the joint cluster.
- A chunk of k equal subrecords (Property 1) does not help if they cannot be exchanged. For every subrecord of such a
  chunk, at least as many people must be able to have it as the chunk has subrecords. Then k equal subrecords can be
  given to any cluster that may have one, and everything else can still be given to somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.models.disassociation.anonymize.growing import GrowingChunk, alike, grow_chunks
from core.models.disassociation.anonymize.vertical import Leaf, enough_subrecords
from core.models.disassociation.guarantee import DisassociatedKm

__all__ = ["MOST_PASSES", "Node", "refine"]

MOST_PASSES = 100
"""Most passes over the clusters. Windows that were tried need about ten."""


class Term(NamedTuple):
    """A location of a virtual term chunk."""

    support: int
    """Number of people who visited it."""

    leaves: tuple[int, ...]
    """Simple clusters that have it in their term chunks."""


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
    """Number of people."""

    terms: Mapping[int, Term]
    """Its virtual term chunk, by location."""

    placed: frozenset[int]
    """Locations in record and shared chunks of it and everything inside it."""


def refine(leaves: Sequence[Leaf], guarantee: DisassociatedKm) -> list[Node]:
    """Join clusters with similar term chunks while that preserves more information (Equation 1).

    Args:
        leaves: The simple clusters. Locations that go to a shared chunk leave their ``terms`` for ``placed``.
        guarantee: k and m.

    Returns:
        The clusters that are in no other; their order means nothing.
    """
    nodes = [_single(number, leaf) for number, leaf in enumerate(leaves)]
    joiner = _Joiner(leaves, guarantee)
    failed: set[tuple[Node, Node]] = set()  # neither changes, so they can never be joined
    for _ in range(MOST_PASSES):
        in_chunks = Counter(location for node in nodes for location in node.terms)
        rank = {t: at for at, t in enumerate(sorted(in_chunks, key=lambda t: (-in_chunks[t], t)))}
        nodes.sort(key=lambda node: (sorted(map(rank.__getitem__, node.terms)), node.leaves))
        after: list[Node] = []
        at = 0
        while at < len(nodes):
            pair = tuple(nodes[at : at + 2])
            joined = joiner.joint(*pair) if len(pair) == 2 and pair not in failed else None
            if joined is None:
                failed.add((pair[0], pair[-1]))
            else:
                joiner.take_from_term_chunks(joined)
            after.append(joined or nodes[at])
            at += 2 if joined else 1
        if len(after) == len(nodes):
            break
        nodes = after
    return nodes


def _single(number: int, leaf: Leaf) -> Node:
    terms = {location: Term(leaf.visitors_of[location].bit_count(), (number,)) for location in leaf.terms}
    return Node(leaves=(number,), children=(), shared=(), size=leaf.size, terms=terms, placed=frozenset(leaf.placed))


class _Pair:
    """Two clusters that may become a joint one."""

    def __init__(self, first: Node, second: Node) -> None:
        self.nodes = first, second
        self.leaves = first.leaves + second.leaves
        self.size = first.size + second.size
        self.placed = first.placed | second.placed
        self.common: dict[int, Term] = {}
        """Locations of both virtual term chunks."""
        for t in first.terms.keys() & second.terms.keys():
            one, other = first.terms[t], second.terms[t]
            self.common[t] = Term(one.support + other.support, one.leaves + other.leaves)

    def joint(self, chunks: Sequence[GrowingChunk], visitors_of: Mapping[int, int]) -> Node:
        """Return the joint cluster with these shared chunks."""
        first, second = self.nodes
        shared = _locations(chunks)
        terms = {**first.terms, **second.terms, **self.common}
        return Node(
            leaves=self.leaves,
            children=self.nodes,
            shared=tuple(_subrecords(chunk.locations, visitors_of) for chunk in chunks),
            size=self.size,
            terms={t: term for t, term in terms.items() if t not in shared},
            placed=self.placed | shared,
        )


class _Joiner:
    """Joins clusters over the same simple clusters; only this class changes them."""

    def __init__(self, leaves: Sequence[Leaf], guarantee: DisassociatedKm) -> None:
        self._leaves, self._k, self._m = leaves, guarantee.k, guarantee.m
        self._enough = [enough_subrecords(leaf, guarantee) for leaf in leaves]

    def joint(self, first: Node, second: Node) -> Node | None:
        """Return the joint cluster of two, or None if Equation 1 does not ask for it. Nothing is changed."""
        pair = _Pair(first, second)
        order = self._refining_terms(pair)
        if not order:
            return None
        visitors_of = self._visitors(order, pair.common)
        chunks = self._shared_chunks(pair, order, visitors_of)
        if not chunks or not self._is_refined_by(_locations(chunks), pair):
            return None
        return pair.joint(chunks, visitors_of)

    def take_from_term_chunks(self, joint: Node) -> None:
        """Remove the locations of a joint cluster's shared chunks from the term chunks of its simple clusters."""
        shared = {location for chunk in joint.shared for subrecord in chunk for location in subrecord}
        for leaf in joint.leaves:
            self._leaves[leaf].terms -= shared
            self._leaves[leaf].placed |= shared

    def _refining_terms(self, pair: _Pair) -> list[int]:
        """Return the locations that shared chunks may take, by (support descending, id).

        These are the locations of both term chunks that at least k people visited, except one location in each term
        chunk that Lemma 2 needs.
        """
        common = pair.common
        refining = {t for t in common if common[t].support >= self._k}
        for leaf in sorted({leaf for t in refining for leaf in common[t].leaves if not self._enough[leaf]}):
            terms = self._leaves[leaf].terms
            if terms <= refining:
                refining = refining - {min(terms, key=lambda t: (common[t].support, t))}
        return sorted(refining, key=lambda t: (-common[t].support, t))

    def _shared_chunks(
        self, pair: _Pair, order: Sequence[int], visitors_of: Mapping[int, int]
    ) -> Sequence[GrowingChunk]:
        """Fill shared chunks; one with a location of a chunk further down is k-anonymous (Property 1)."""
        people_with = {
            t: sum(self._leaves[leaf].size for leaf in pair.leaves if t in self._leaves[leaf].placed)
            for t in pair.placed.intersection(order)
        }

        def may_join(chunk: GrowingChunk, location: int) -> bool:
            if pair.placed.isdisjoint(chunk.locations) and location not in pair.placed:
                return True
            parts = chunk.stays_k(location, visitors_of[location])
            return parts is not None and self._has_room(parts, pair, people_with)

        return grow_chunks(order, visitors_of, k=self._k, m=self._m, may_join=may_join)

    def _visitors(self, locations: Sequence[int], common: Mapping[int, Term]) -> dict[int, int]:
        """Return the visitors of each location among the term chunks' people, as bits that number these people anew."""
        first: dict[int, int] = {}
        n_people = 0
        visitors_of: dict[int, int] = {}
        for location in locations:
            visitors = 0
            for leaf in common[location].leaves:
                if leaf not in first:
                    first[leaf] = n_people
                    n_people += self._leaves[leaf].size
                visitors |= self._leaves[leaf].visitors_of[location] << first[leaf]
            visitors_of[location] = visitors
        return visitors_of

    def _has_room(self, parts: Mapping[tuple[int, ...], int], pair: _Pair, people_with: Mapping[int, int]) -> bool:
        """Return whether at least as many people may have each subrecord of a chunk as the chunk has subrecords.

        Args:
            parts: The distinct subrecords, and the people who have each.
            pair: The clusters that share the chunk.
            people_with: For each location in a chunk further down, the number of people of the simple clusters there.
        """
        n_subrecords = sum(people.bit_count() for people in parts.values())
        for subrecord in parts:
            # Usually there is room even in the worst case: no two locations are in chunks of the same cluster.
            if pair.size - sum(people_with.get(t, 0) for t in subrecord) >= n_subrecords:
                continue
            room = 0
            for leaf in pair.leaves:
                if self._leaves[leaf].placed.isdisjoint(subrecord):
                    room += self._leaves[leaf].size
                    if room >= n_subrecords:
                        break
            else:
                return False
        return True

    def _is_refined_by(self, shared: set[int], pair: _Pair) -> bool:
        """Check Equation 1 for the locations of shared chunks, in whole numbers.

        Left side: the supports of the locations, divided by the people of the joint cluster. Right side: the number of
        term chunks that hold each location now, summed up and divided by the people of these term chunks' clusters.
        """
        common = pair.common
        supports = sum(common[t].support for t in shared)
        in_term_chunks = sum(len(common[t].leaves) for t in shared)
        leaves = {leaf for t in shared for leaf in common[t].leaves}
        return supports * sum(self._leaves[leaf].size for leaf in leaves) >= in_term_chunks * pair.size


def _locations(chunks: Sequence[GrowingChunk]) -> set[int]:
    return {location for chunk in chunks for location in chunk.locations}


def _subrecords(locations: Sequence[int], visitors_of: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    parts = alike(locations, visitors_of)
    return tuple(subrecord for subrecord in sorted(parts) for _ in range(parts[subrecord].bit_count()))
