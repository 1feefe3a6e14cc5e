"""GeoJSON: the features of a collection, one after the other, none of them decoded before its turn."""

from __future__ import annotations

import re
from typing import Any

from pyproj import CRS
from pyproj.exceptions import CRSError

from stream.formats.files.form_error import FormError
from stream.formats.files.json_values import list_in, top_members
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import json_document

__all__ = ["features", "is_collection"]

_LOOKED_AT = 2**14
"""Bytes at the start in which a collection says what it is."""

_TYPE = re.compile(rb'"FeatureCollection"')


def is_collection(start: bytes) -> bool:
    """Whether a text in JSON begins as a FeatureCollection does, whatever other members come first."""
    if not start.startswith(b"{"):
        return False
    for name, at in top_members(start[:_LOOKED_AT]):
        if name == b'"type"':
            return _TYPE.match(start, at) is not None
        if name == b'"features"':
            return start[at : at + 1] == b"["
    return False


def features(content: bytes) -> tuple[list[bytes], dict[str, Any]]:
    """Return the features of a FeatureCollection, and its other members.

    A feature that is not JSON is returned unchanged, so that it alone is rejected.

    Raises:
        FormError: The collection has no end, or its coordinates are not longitude and latitude.
    """
    found, rest = list_in(content, "features")
    try:
        collection = json_document(rest)
    except UnreadableError:
        collection = {}
    _refuse_metres(collection)
    return found, collection


def _refuse_metres(collection: dict[str, Any]) -> None:
    """Refuse another reference system, which GeoJSON had before RFC 7946: its metres could pass for degrees."""
    crs = collection.get("crs")
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(name, str) and not _is_in_degrees(name):
        raise FormError(
            "is GeoJSON whose crs is not longitude and latitude: write the file in EPSG:4326, as RFC 7946 demands"
        )


def _is_in_degrees(crs: str) -> bool:
    try:
        return bool(CRS.from_user_input(crs).is_geographic)
    except CRSError:
        return False
