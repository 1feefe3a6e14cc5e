"""The GeoJSON and MF-JSON messages of a release as JSON Schema. Tests compare them with what the encodings write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.release.outcome import Released
from stream.formats.release.mf_json import CRS, TRS
from stream.formats.schemas import released_schema, windows_schema

__all__ = ["geojson_schema", "geojson_windows_schema", "mf_json_schema"]

JSON = dict[str, Any]

_TIME: JSON = {"type": "string", "format": "date-time"}
_POSITION: JSON = {
    "type": "array",
    "prefixItems": [
        {"type": "number", "minimum": -180, "maximum": 180, "description": "Longitude, degrees."},
        {"type": "number", "minimum": -90, "maximum": 90, "description": "Latitude, degrees."},
    ],
    "minItems": 2,
    "maxItems": 2,
}
_FEATURE: JSON = {"const": "Feature", "description": "GeoJSON's name for one object."}


def geojson_schema(released: type[Released]) -> JSON:
    """Return the schema of the messages of one type on the topic ``topics.anonymized`` as GeoJSON."""
    plain = released_schema(released)
    properties = _without_points(plain["properties"])
    if "points" in plain["properties"]:
        times = {"type": "array", "items": _TIME, "minItems": 1, "description": "Time of each position, UTC."}
        properties["times"] = times
        described = "Positions in the order of time. A single one is a Point."
        geometry = {"oneOf": [_geometry("LineString", 2), _geometry("Point")], "description": described}
    elif "origin" in plain["properties"]:
        described = "From the centre of the origin to that of the destination; a Point if they are one place."
        geometry = {"oneOf": [_geometry("LineString", 2), _geometry("Point")], "description": described}
    else:
        described = (
            "Centroids of the generalized locations: of a sequence in the order of the visits, of a set or group each "
            "once, in no order. Null where there is none."
        )
        geometry = {"oneOf": [_geometry("MultiPoint", 1), {"type": "null"}], "description": described}
    members = {
        "type": _FEATURE,
        "geometry": geometry,
        "properties": _object(properties, released.optional, "What the JSON message states beside positions."),
    }
    return _message(plain, f"{plain['title']} as GeoJSON", members)


def mf_json_schema(released: type[Released]) -> JSON:
    """Return the schema of the messages of trajectories of points on the topic ``topics.anonymized`` as MF-JSON."""
    plain = released_schema(released)
    moving = {
        "type": {"const": "MovingPoint", "description": "A point that moves."},
        "datetimes": {"type": "array", "items": _TIME, "minItems": 1, "description": "Time of each position, UTC."},
        "coordinates": {"type": "array", "items": _POSITION, "minItems": 1, "description": "Positions."},
        "interpolation": {"const": "Linear", "description": "Between two positions the point moves evenly."},
    }
    members = {
        "type": _FEATURE,
        "crs": {"const": CRS, "description": "Longitude and latitude in WGS 84."},
        "trs": {"const": TRS, "description": "Times are ISO 8601."},
        "temporalGeometry": _object(moving, frozenset(), "The trajectory."),
        "properties": _object(
            _without_points(plain["properties"]), released.optional, "What the JSON message states beside points."
        ),
    }
    return _message(plain, f"{plain['title']} as MF-JSON", members)


def geojson_windows_schema() -> JSON:
    """Return the schema of the topic ``topics.windows`` as GeoJSON; it is the same in MF-JSON."""
    plain = windows_schema()
    return plain | {"title": "Windows message as GeoJSON", "oneOf": list(map(_collection, plain["oneOf"]))}


def _collection(window: JSON) -> JSON:
    """Return the schema of a released or withheld window whose locations are features."""
    fields = dict(window["properties"])
    locations = fields.pop("locations", None)
    features: JSON = {"type": "array", "maxItems": 0, "description": "A withheld window has no features."}
    if locations is not None:
        features = {"type": "array", "items": _place(locations["items"]), "description": locations["description"]}
    collection = {"const": "FeatureCollection", "description": "GeoJSON's name for a list of features."}
    members = {"type": collection, **fields, "features": features}
    return window | {"properties": members, "required": list(members)}


def _place(location: JSON) -> JSON:
    properties = {name: field for name, field in location["properties"].items() if name not in ("lat", "lon")}
    members = {
        "type": _FEATURE,
        "geometry": _geometry("Point") | {"description": "The members' centroid, or the area's centre."},
        "properties": _object(properties, frozenset({"sensitive", "radius_m"}), "What the location is."),
    }
    return _object(members, frozenset(), "A generalized location.")


def _geometry(name: str, least: int | None = None) -> JSON:
    """Return the schema of a geometry: of one position, or of at least some."""
    coordinates = _POSITION if least is None else {"type": "array", "items": _POSITION, "minItems": least}
    members = {
        "type": {"const": name, "description": "Kind of the geometry."},
        "coordinates": coordinates | {"description": "Longitude and latitude, degrees."},
    }
    return _object(members, frozenset(), None)


def _without_points(fields: Mapping[str, JSON]) -> JSON:
    return {name: field for name, field in fields.items() if name != "points"}


def _message(plain: JSON, title: str, members: JSON) -> JSON:
    return {
        "$schema": plain["$schema"],
        "title": title,
        **_object(members, frozenset(), plain["description"]),
    }


def _object(properties: JSON, optional: frozenset[str], description: str | None) -> JSON:
    return {
        "type": "object",
        **({} if description is None else {"description": description}),
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
