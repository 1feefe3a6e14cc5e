"""The parts of a disassociated release, independent of how it is made (Terrovitis et al. 2012, Section 3).

The people of a window are divided into clusters. Inside a cluster the locations are divided as well: the locations of a
person are cut into subrecords in different chunks, and nothing shows which subrecords belong to one person. Clusters
that share a chunk form a joint cluster; joint clusters may lie inside others.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cluster", "Disassociated", "JointCluster", "RecordChunk", "Subrecord"]

Subrecord = tuple[int, ...]
"""Location ids, ascending and distinct: the locations of a chunk that one person visited. Never empty."""


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """A bag of subrecords, each of a different person; their order means nothing.

    A person in the cluster without a subrecord here visited none of the chunk's locations.
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
    """Number of people."""

    record_chunks: tuple[RecordChunk, ...]
    """Chunks over disjoint sets of locations, sorted by their locations."""

    term_chunk: tuple[int, ...]
    """Locations, ascending, each visited by at least one of these people; by whom or by how many is not released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCluster:
    """The clusters ``first`` to ``end - 1`` of a release, which share chunks."""

    first: int
    end: int
    shared_chunks: tuple[RecordChunk, ...]
    """Chunks over disjoint sets of locations, sorted by their locations.

    A subrecord may belong to a person of any of these clusters, except a cluster that has one of its locations in a
    record chunk or in a shared chunk of a smaller joint cluster. All visits of that cluster's people to the location
    are in that chunk.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Disassociated:
    """One disassociated window. Any two joint clusters are disjoint, or one lies inside the other."""

    clusters: tuple[Cluster, ...]
    """The order means nothing, except that clusters of a joint cluster stand together."""

    joint_clusters: tuple[JointCluster, ...]
    """Sorted by first cluster, a larger one before those inside it."""

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
