"""GeoJSON: the features of a collection, one after the other, none of them decoded before its turn."""

from __future__ import annotations

import re
from typing import Any

from stream.formats.files.form_error import FormError
from stream.formats.files.json_values import list_in, top_members
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import json_document
from stream.formats.input.reference_systems import states_other_system

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
    if states_other_system(collection):
        form = "Esri JSON whose spatialReference" if collection.get("crs") is None else "GeoJSON whose crs"
        raise FormError(
            f"is {form} is not longitude and latitude: write the file in EPSG:4326, as RFC 7946 demands of GeoJSON"
        )
    return found, collection
