"""Places in GeoJSON: a collection or a list of features, or a feature a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import shapely
from shapely.geometry import shape

from stream.feeds.poi_files.found_place import CATEGORY, ID, NAME, FoundPlace, PoiFileError, category_paths, value_of
from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import features, is_collection
from stream.formats.files.json_values import documents, elements
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import BOM, json_document
from stream.formats.input.reference_systems import OTHER_SYSTEM, states_other_system

__all__ = ["geojson_places"]


def geojson_places(content: bytes) -> Iterator[FoundPlace]:
    """Yield the places of a file; one that is no point is where its representative point is, which lies inside it.

    Raises:
        PoiFileError: It is not GeoJSON in degrees, or a feature has no name or no geometry.
    """
    content = content.removeprefix(BOM).replace(b"\x1e", b"\n")  # marks of a text sequence (RFC 8142)
    try:
        for number, feature in enumerate(_features(content), 1):
            yield _place(f"feature {number}", json_document(feature))
    except (FormError, UnreadableError) as fault:
        raise PoiFileError(f"is no GeoJSON of places: {fault}") from None


def _features(content: bytes) -> Iterable[bytes]:
    start = content.lstrip()
    if is_collection(start):
        return features(content)[0]
    return (one for _, one in elements(content)) if start.startswith(b"[") else documents(content)


def _place(where: str, feature: Any) -> FoundPlace:
    properties = feature.get("properties") if isinstance(feature, dict) else None
    if not isinstance(properties, dict) or feature.get("type") != "Feature":
        raise PoiFileError("must be a Feature with properties", where)
    if states_other_system(feature) or states_other_system(feature.get("geometry")):
        raise PoiFileError(OTHER_SYSTEM, where)
    lat, lon = _position(where, feature.get("geometry"))
    outer = {"id": feature["id"]} if "id" in feature else {}
    return FoundPlace(
        where,
        str(next(value_of(outer | properties, ID), "")),
        str(next(value_of(properties, NAME), "")),
        lat,
        lon,
        category_paths(value_of(properties, CATEGORY)),
    )


def _position(where: str, geometry: Any) -> tuple[float, float]:
    try:
        point = shapely.point_on_surface(shape(geometry))
        return float(point.y), float(point.x)
    except (shapely.errors.ShapelyError, ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise PoiFileError("needs a geometry with coordinates, such as a Point", where) from None
