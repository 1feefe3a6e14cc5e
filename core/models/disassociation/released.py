"""The message that releases some people: clusters with their chunks of locations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from core.release.outcome import Released

__all__ = ["ClusterGroup", "NamedChunk", "NamedCluster", "NamedJoint"]

NamedChunk = tuple[tuple[str, ...], ...]
"""Subrecords of a chunk, each of a different person, with the names of locations; their order means nothing."""

_CHUNKS = {
    "type": "array",
    "items": {
        "type": "array",
        "items": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Subrecord: locations that one person visited.",
        },
        "description": "Chunk: subrecords of different people, in no order.",
    },
}


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

    properties: ClassVar = {
        "clusters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 2, "description": "People in the cluster."},
                    "record_chunks": _CHUNKS
                    | {"description": "Chunks of the cluster. Nothing links a subrecord to one of another chunk."},
                    "term_chunk": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Locations that somebody in the cluster visited; by how many people is not "
                        "released.",
                    },
                },
                "required": ["size", "record_chunks", "term_chunk"],
                "additionalProperties": False,
            },
            "minItems": 1,
            "description": "Clusters that share chunks, or one cluster that shares none.",
        },
        "joint_clusters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "first": {"type": "integer", "minimum": 0, "description": "First cluster, counted from 0."},
                    "end": {"type": "integer", "minimum": 1, "description": "One after the last cluster."},
                    "shared_chunks": _CHUNKS | {"description": "Chunks of all these clusters together."},
                },
                "required": ["first", "end", "shared_chunks"],
                "additionalProperties": False,
            },
            "description": "Which of these clusters share chunks, and the chunks.",
        },
    }

    clusters: tuple[NamedCluster, ...]
    joint_clusters: tuple[NamedJoint, ...]

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        return {
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "joint_clusters": [asdict(joint) for joint in self.joint_clusters],
        }
