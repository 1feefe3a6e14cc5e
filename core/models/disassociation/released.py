"""What leaves of some people: clusters of sets of locations, in parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from core.release.outcome import Released

__all__ = ["ClusterGroup", "NamedChunk", "NamedCluster", "NamedJoint"]

NamedChunk = tuple[tuple[str, ...], ...]
"""Subrecords of a chunk, each of another person, by the names of their locations; their order means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCluster:
    """See :class:`core.models.disassociation.disassociated.Cluster`."""

    size: int
    record_chunks: tuple[NamedChunk, ...]
    term_chunk: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJoint:
    """See :class:`core.models.disassociation.disassociated.JointCluster`; its clusters are counted within the group."""

    first: int
    end: int
    shared_chunks: tuple[NamedChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGroup(Released):
    """Clusters of a disassociated window that share chunks, or one that shares none."""

    clusters: tuple[NamedCluster, ...]
    joint_clusters: tuple[NamedJoint, ...]

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        return {
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "joint_clusters": [asdict(joint) for joint in self.joint_clusters],
        }
