"""The messages of every topic as JSON Schema, with the meaning of each field: for consumers and documentation.

Tests compare them with what the encoders of this folder write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from core.models.common.plan import ALGORITHMS
from core.models.registry import FAMILIES, models_of
from core.records.record import CheckIn, Fragment, Kind, Reason
from core.release.outcome import SCHEMA, Released, WithholdReason

__all__ = ["dead_letter_schema", "record_schema", "released_schema", "windows_schema"]

JSON = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_HEAD: JSON = {
    "schema": {"const": SCHEMA, "description": "Version of the message's format."},
    "release": {
        "type": "string",
        "pattern": "^[0-9a-f]{16}$",
        "description": "Id of the release. All messages of a window and shard share it.",
    },
    "window": {
        "type": "array",
        "prefixItems": [
            {"type": "string", "format": "date-time", "description": "Start, inclusive, UTC."},
            {"type": "string", "format": "date-time", "description": "End, exclusive, UTC."},
        ],
        "minItems": 2,
        "maxItems": 2,
        "description": "Start and end of the window.",
    },
    "shard": {
        "type": "string",
        "description": "What was anonymized on its own: `all` where `shard.kind` is `single`, an H3 cell, a cell and "
        "a smaller cell in it (`shard.finest_resolution`), or a cohort.",
    },
}

_TIME = "RFC 3339 with an offset, or a Unix time in the unit of `time.unit`"
_RECORD_FIELDS = {
    "user": "Id of the person. It leaves Shoal only as a pseudonym that no other window shares.",
    "ts": f"Time of the visit: {_TIME}.",
    "lat": "Latitude, degrees. Not needed where `location.kind` is `venues`.",
    "lon": "Longitude, degrees. Not needed where `location.kind` is `venues`.",
    "venue": "Venue, needed where `location.kind` is `venues`.",
    "category": "Category of the venue.",
    "points": f"Time ({_TIME}), latitude and longitude of each point. Further values of a point are ignored.",
    "k": "The least number of people that this person demands in a set of trajectories.",
    "delta_m": "The greatest distance, metres, that this person demands between the trajectories of a set.",
}


def record_schema(kind: Kind) -> JSON:
    """Return the schema of the records of an input topic."""
    made = msgspec.json.schema(CheckIn if kind is Kind.CHECKINS else Fragment)
    definitions: JSON = made["$defs"]
    schema: JSON = definitions.pop(made["$ref"].rsplit("/", 1)[1])
    for name, field in schema["properties"].items():
        field["description"] = _RECORD_FIELDS[name]
    if "points" in schema["properties"]:
        schema["properties"]["points"]["items"] = definitions["Point"]
    schema["description"] = f"A record of the topic `topics.{kind}`. Unknown fields are ignored."
    return {"$schema": _DIALECT, **schema}


def released_schema(released: type[Released]) -> JSON:
    """Return the schema of the messages of one type on the topic ``topics.anonymized``."""
    models = ", ".join(f"`{model}`" for family in FAMILIES if family.released is released for model in family.models)
    return _object(
        released.__name__,
        f"A message of the topic `topics.anonymized`, under {models}.",
        _HEAD | dict(released.properties),
        optional=released.optional,
    )


def windows_schema() -> JSON:
    """Return the schema of the topic ``topics.windows``."""
    names = {name for kind in Kind for name in models_of(kind)}
    common: JSON = _HEAD | {
        "kind": {"enum": [kind.value for kind in Kind], "description": "Kind of the feed."},
        "model": {"enum": sorted(names), "description": "`privacy.model`."},
        "parameters": {
            "type": "object",
            "additionalProperties": {"type": ["number", "string", "boolean"]},
            "description": "The promise in numbers, and what else decides about a release. The names are those of the "
            "section `privacy`, where it has them.",
        },
    }
    versions = {
        "versions": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ALGORITHMS},
            "required": list(ALGORITHMS),
            "additionalProperties": False,
            "description": "Versions of what decides the bytes of a release. A replay under the same versions gives "
            "the same bytes.",
        }
    }
    released = _object(
        "Released window",
        "The commit mark of a release: it follows the last trajectory.",
        common
        | {
            "outcome": {"const": "released", "description": "What became of the window."},
            "verified": {"const": True, "description": "The verifier found that the release keeps its promise."},
            **_COUNTS,
            "information_loss": {
                "type": "object",
                "additionalProperties": {"type": ["number", "null"]},
                "description": "What the release lost, computed from the release alone.",
            },
            "locations": _LOCATIONS,
        }
        | versions,
        optional=frozenset({"locations"}),
    )
    withheld = _object(
        "Withheld window",
        "Nothing of the window leaves.",
        common
        | {
            "outcome": {"const": "withheld", "description": "What became of the window."},
            "reason": {"enum": [reason.value for reason in WithholdReason], "description": "Why."},
            "verified": {"const": False, "description": "There is nothing to verify."},
        }
        | versions,
    )
    return {"$schema": _DIALECT, "title": "Windows message", "oneOf": [_bare(released), _bare(withheld)]}


def dead_letter_schema() -> JSON:
    """Return the schema of the topic ``topics.dead_letters``."""
    return _object(
        "Dead letter",
        "Why a record was rejected, and where it stands. It holds no value of the record.",
        {
            "schema": _HEAD["schema"],
            "kind": {"enum": [kind.value for kind in Kind], "description": "Kind of the feed."},
            "reason": {"enum": [reason.value for reason in Reason], "description": "Why, as a closed set."},
            "detail": {"type": "string", "description": "Why, as a sentence: which field, and what is allowed."},
            "topic": {"type": "string", "description": "Input topic of the record."},
            "partition": {"type": "integer", "minimum": 0, "description": "Its partition."},
            "offset": {"type": "integer", "minimum": 0, "description": "Its offset."},
            "element": {
                "type": "integer",
                "minimum": 1,
                "description": "Number of the record in the list of its message, the first is 1. Missing where the "
                "message is one record.",
            },
            "log": {
                "type": "string",
                "description": "Id of the topic that the offset belongs to: a topic that is created again counts from "
                "0 again. Missing where the cluster gives topics no ids.",
            },
        },
        optional=frozenset({"element", "log"}),
    )


_COUNTS: JSON = {
    "population": {
        "type": ["integer", "null"],
        "description": "People in the window; null if it would reveal that 1 to k-1 people were left out.",
    },
    "people": {
        "type": ["integer", "null"],
        "description": "People in the release; null if it would reveal that 1 to k-1 people have several trajectories "
        "or are in several flows.",
    },
    "trajectories": {"type": "integer", "minimum": 1, "description": "Messages of the release on `anonymized`."},
    "points_released": {
        "type": "integer",
        "minimum": 0,
        "description": "Visits or points in the release; for `flows` the sum of the people of all flows.",
    },
    "points_suppressed": {
        "type": ["integer", "null"],
        "description": "Accepted visits or points that the release leaves out; null if they are of 1 to k-1 people.",
    },
    "smallest_support": {
        "type": "integer",
        "minimum": 2,
        "description": "The fewest people that the verifier found behind anything released; at least `parameters.k`.",
    },
}

_LOCATIONS: JSON = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "members": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Names of the locations that were merged, or the name of an area.",
            },
            "lat": {
                "type": "number",
                "description": "Latitude of the members' centroid or of the area's centre, degrees.",
            },
            "lon": {
                "type": "number",
                "description": "Longitude of the members' centroid or of the area's centre, degrees.",
            },
            "sensitive": {"const": True, "description": "Present where the location is sensitive."},
            "radius_m": {
                "type": "number",
                "minimum": 0,
                "description": "Present where the location is an area of the hierarchy, under its own name: distance "
                "of its farthest corner from its centre, metres.",
            },
        },
        "required": ["members", "lat", "lon"],
        "additionalProperties": False,
    },
    "description": "Generalized locations of the release. Missing for fragments, whose releases hold points.",
}


def _object(
    title: str, description: str, properties: Mapping[str, Any], *, optional: frozenset[str] = frozenset()
) -> JSON:
    return {
        "$schema": _DIALECT,
        "title": title,
        "description": description,
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _bare(schema: JSON) -> JSON:
    """Return a schema as a part of another one."""
    return {name: value for name, value in schema.items() if name != "$schema"}
