"""The Avro schemas of a release: one for each topic, which cover the messages of all models.

A field that a message does not have is null. The text of a schema decides its id at a registry, and with it the bytes
of every message: a change here is a change of the format, also one of a ``doc``.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["AVRO_SCHEMAS", "fingerprint"]

AvroSchema = Any

_NAMESPACE = "shoal.release"
_INSTANT: AvroSchema = {"type": "long", "logicalType": "timestamp-millis"}
_NAMES: AvroSchema = {"type": "array", "items": "string"}
_CHUNKS: AvroSchema = {"type": "array", "items": {"type": "array", "items": _NAMES}}


def _record(name: str, fields: list[AvroSchema], doc: str | None = None) -> AvroSchema:
    described = {} if doc is None else {"doc": doc}
    return {"type": "record", "name": name, "namespace": _NAMESPACE, **described, "fields": fields}


def _field(name: str, schema: AvroSchema, doc: str | None = None) -> AvroSchema:
    return {"name": name, "type": schema} | ({} if doc is None else {"doc": doc})


def _optional(name: str, schema: AvroSchema, doc: str | None = None) -> AvroSchema:
    return {**_field(name, ["null", schema], doc), "default": None}


_HEAD: list[AvroSchema] = [
    _field("schema", "int", "Version of the message's format."),
    _field("release", "string", "Id of the release. All messages of a window and shard share it."),
    _field("window_start", _INSTANT, "Start of the window, inclusive."),
    _field("window_end", _INSTANT, "End of the window, exclusive."),
    _field("shard", "string", "What was anonymized on its own."),
]

_ANONYMIZED: AvroSchema = _record(
    "Anonymized",
    [
        *_HEAD,
        _optional("pseudonym", "string", "Name of this trajectory in this release alone."),
        _optional(
            "points",
            {
                "type": "array",
                "items": _record("Point", [_field("time", _INSTANT), _field("lat", "double"), _field("lon", "double")]),
            },
            "Points of a trajectory in the order of time; degrees.",
        ),
        _optional(
            "locations",
            {"type": "array", "items": _NAMES},
            "Generalized locations by their members: a sequence or, as the model says, a set.",
        ),
        _optional(
            "visits",
            {"type": "array", "items": _record("Visit", [_field("slot", "string"), _field("location", "string")])},
            "Slot of time and location of each visit.",
        ),
        _optional(
            "attributes",
            {
                "type": "map",
                "values": ["string", _record("Range", [_field("least", "double"), _field("most", "double")])],
            },
            "Generalized attributes of the person.",
        ),
        _optional("sensitive", _NAMES, "Sensitive values or locations of the person."),
        _optional(
            "one_of",
            {"type": "array", "items": ["null", "string"]},
            "One of these sensitive values is true of the person, each as likely; null means none of them.",
        ),
        _optional(
            "clusters",
            {
                "type": "array",
                "items": _record(
                    "Cluster",
                    [_field("size", "int"), _field("record_chunks", _CHUNKS), _field("term_chunk", _NAMES)],
                ),
            },
            "Clusters of people that share chunks, or one that shares none.",
        ),
        _optional(
            "joint_clusters",
            {
                "type": "array",
                "items": _record(
                    "JointCluster",
                    [_field("first", "int"), _field("end", "int"), _field("shared_chunks", _CHUNKS)],
                ),
            },
            "Which of the clusters share chunks, and the chunks.",
        ),
        _optional("origin", "string", "Name of the place where the trips of a flow begin."),
        _optional("destination", "string", "Name of the place where they end."),
        _optional("people", "long", "Distinct people of a flow."),
        _optional("trips", "long", "Trips of a flow; null where it would reveal that 1 to k-1 people made several."),
    ],
    "One message of a release: a trajectory, a person, a group or a flow. What its model does not release is null.",
)

_WINDOWS: AvroSchema = _record(
    "Window",
    [
        *_HEAD,
        _field("kind", "string", "Kind of the feed."),
        _field("model", "string", "privacy.model."),
        _field(
            "parameters",
            {"type": "map", "values": ["boolean", "long", "double", "string"]},
            "The promise in numbers, and what else decides about a release.",
        ),
        _field("outcome", "string", "released or withheld."),
        _optional("reason", "string", "Why the window is withheld."),
        _field("verified", "boolean", "Whether the verifier found that the release keeps its promise."),
        _optional("population", "long", "People in the window; null where it would reveal 1 to k-1 people."),
        _optional("people", "long", "People in the release; null where it would reveal 1 to k-1 people."),
        _optional("trajectories", "long", "Messages of the release on the topic of anonymized trajectories."),
        _optional("points_released", "long", "Visits or points in the release."),
        _optional("points_suppressed", "long", "Visits or points left out; null where they are of 1 to k-1 people."),
        _optional("smallest_support", "long", "The fewest people that the verifier found behind anything released."),
        _optional(
            "information_loss",
            {"type": "map", "values": ["null", "long", "double"]},
            "What the release lost, computed from the release alone.",
        ),
        _optional(
            "locations",
            {
                "type": "array",
                "items": _record(
                    "Location",
                    [
                        _field("members", _NAMES),
                        _field("lat", "double"),
                        _field("lon", "double"),
                        {"name": "sensitive", "type": "boolean", "default": False},
                        _optional("radius_m", "double", "Of an area under its own name, metres."),
                    ],
                ),
            },
            "Generalized locations of the release with their centroids; null for points.",
        ),
        _field("versions", {"type": "map", "values": "string"}, "Versions of what decides the bytes of a release."),
    ],
    "What became of one window and shard; it follows the last message of its release.",
)

AVRO_SCHEMAS: dict[str, AvroSchema] = {"anonymized": _ANONYMIZED, "windows": _WINDOWS}
"""The schemas by the setting that names the topic."""


def fingerprint() -> str:
    """Return a digest of the text of both schemas."""
    return hashlib.sha256(json.dumps(AVRO_SCHEMAS).encode()).hexdigest()[:16]
