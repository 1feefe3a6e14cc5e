"""A disassociated release: what it consists of, and nothing of how it is made (Terrovitis et al. 2012, Section 3).

The people of a window are divided into clusters. Inside a cluster the locations are divided as well: what a person
visited is cut into subrecords, which stand in different chunks without telling which of them belong to one person.
Clusters that share a chunk form a joint cluster; joint clusters may lie inside others.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cluster", "Disassociated", "JointCluster", "RecordChunk", "Subrecord"]

Subrecord = tuple[int, ...]
"""Location ids, ascending and distinct: what one person visited of the locations of a chunk. Never empty."""


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """A bag of subrecords, each of another person; their order means nothing.

    Whoever is in the cluster and has no subrecord here visited none of the chunk's locations.
    """

    subrecords: tuple[Subrecord, ...]

    @property
    def locations(self) -> tuple[int, ...]:
        """The chunk's locations, ascending; each is in a subrecord.

        >>> RecordChunk(((3, 5), (5,))).locations
        (3, 5)
        """
        return tuple(sorted({location for subrecord in self.subrecords for location in subrecord}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Some people of the window."""

    size: int
    """How many people they are."""

    record_chunks: tuple[RecordChunk, ...]
    """Chunks over disjoint sets of locations, by their locations."""

    term_chunk: tuple[int, ...]
    """Locations, ascending, that at least one of them visited, who or how many is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCluster:
    """The clusters ``first`` to ``end - 1`` of a release, which share chunks."""

    first: int
    end: int
    shared_chunks: tuple[RecordChunk, ...]
    """Chunks over disjoint sets of locations, by their locations.

    A subrecord is of a person of any of the clusters, except those that have one of its locations in a record chunk or
    in a shared chunk of a smaller joint cluster: what their people visited of that location stands there, all of it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Disassociated:
    """One disassociated window. Any two joint clusters are disjoint, or one lies inside the other."""

    clusters: tuple[Cluster, ...]
    """The order means nothing, except that clusters of a joint cluster stand together."""

    joint_clusters: tuple[JointCluster, ...]
    """By first cluster, the larger before those inside it."""

    @property
    def people(self) -> int:
        """People in the release."""
        return sum(cluster.size for cluster in self.clusters)

    @property
    def locations(self) -> tuple[int, ...]:
        """Every location that is released, ascending."""
        shown = {location for cluster in self.clusters for location in cluster.term_chunk}
        for chunk in self.chunks:
            shown.update(chunk.locations)
        return tuple(sorted(shown))

    @property
    def chunks(self) -> tuple[RecordChunk, ...]:
        """All record and shared chunks."""
        return (
            *(chunk for cluster in self.clusters for chunk in cluster.record_chunks),
            *(chunk for joint in self.joint_clusters for chunk in joint.shared_chunks),
        )
