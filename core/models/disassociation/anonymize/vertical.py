"""Vertical partitioning: the locations of a cluster are divided into chunks (Algorithm VerPart and Lemma 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.models.disassociation.anonymize.growing import grow_chunks
from core.models.disassociation.guarantee import DisassociatedKm

__all__ = ["Leaf", "enough_subrecords", "vertical_partition"]


@dataclass(slots=True, kw_only=True)
class Leaf:
    """A cluster under construction. A set of its people is an int with one bit a person."""

    size: int
    """Number of people."""

    visitors_of: Mapping[int, int]
    """Visitors of each location."""

    chunks: list[list[int]]
    """Locations of each record chunk."""

    terms: set[int]
    """Locations of the term chunk."""

    placed: set[int] = field(default_factory=set)
    """Locations in a record chunk, or in a shared chunk of a joint cluster that contains this one."""

    def __post_init__(self) -> None:
        self.placed |= {location for chunk in self.chunks for location in chunk}


def vertical_partition(visitors_of: Mapping[int, int], size: int, guarantee: DisassociatedKm) -> Leaf:
    """Divide the locations of a cluster into record chunks and a term chunk.

    Locations are taken by (support descending, id). If there are too few subrecords for Lemma 2, the location of the
    record chunks with the least (support, id) moves to the term chunk, which satisfies the lemma.

    Args:
        visitors_of: Visitors of each location in the cluster, as bits; at least one each.
        size: People of the cluster, at least k.
        guarantee: k and m.
    """
    k, m = guarantee.k, guarantee.m
    support = {location: visitors.bit_count() for location, visitors in visitors_of.items()}
    frequent = sorted((location for location in support if support[location] >= k), key=lambda t: (-support[t], t))
    chunks = [chunk.locations for chunk in grow_chunks(frequent, visitors_of, k=k, m=m)]
    leaf = Leaf(size=size, visitors_of=visitors_of, chunks=chunks, terms=set(support) - set(frequent))
    if not leaf.terms and not enough_subrecords(leaf, guarantee):
        rarest = min(frequent, key=lambda t: (support[t], t))
        rest = ([location for location in chunk if location != rarest] for chunk in chunks)
        return Leaf(size=size, visitors_of=visitors_of, chunks=[chunk for chunk in rest if chunk], terms={rarest})
    return leaf


def enough_subrecords(leaf: Leaf, guarantee: DisassociatedKm) -> bool:
    """Return whether a cluster keeps Lemma 2 without a term chunk: its subrecords also suffice for people beyond the k.

    The lemma asks for ``size + k (h - 1)`` subrecords, with ``h = min(m, chunks)``. Without a chunk that would be fewer
    subrecords than people, and some people would have visited nothing, so h is at least 1 here.
    """
    subrecords = 0
    for chunk in leaf.chunks:
        anybody = 0
        for location in chunk:
            anybody |= leaf.visitors_of[location]
        subrecords += anybody.bit_count()
    h = max(1, min(guarantee.m, len(leaf.chunks)))
    return subrecords >= leaf.size + guarantee.k * (h - 1)
