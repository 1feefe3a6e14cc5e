"""Reads the file of regions that ``location.regions_file`` names: GeoJSON from ``shoal regions`` or any GIS editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import shapely
from shapely import MultiPolygon, Polygon
from shapely.errors import GEOSException

from core.places.drawn_regions import DrawnRegions, DrawnRegionsError
from stream.feeds.csv_tables import written
from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import features, is_collection
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import BOM, json_document
from stream.formats.input.reference_systems import OTHER_SYSTEM, states_other_system
from stream.settings.errors import SettingsError, cannot_be_read

__all__ = ["read_regions"]

_SETTING = "location.regions_file"

_NEEDED = "must be a GeoJSON FeatureCollection whose features are polygons with a property name"

_ANTIMERIDIAN = "a region across the antimeridian is a MultiPolygon of two polygons that end at it (RFC 7946, 3.1.9)"


class _GeometryError(Exception):
    """A geometry is not an area; the message says what it must be, and contains no coordinates."""


def read_regions(file: Path | None) -> DrawnRegions:
    """Read the regions of a file.

    Args:
        file: A FeatureCollection (RFC 7946) of polygons or multi-polygons, each with a property ``name``, a text or a
            whole number. Other properties, altitudes and the direction of rings do not count.

    Raises:
        SettingsError: There is no file, or it cannot be read, or it has anything else. The message names the file and
            the region.
    """
    if file is None:
        raise SettingsError(f"{_SETTING} is not set: location.kind regions needs a GeoJSON of polygons with names")
    area_of: dict[str, Polygon | MultiPolygon] = {}
    for number, feature in enumerate(_features(file), 1):
        where = f"{_SETTING} {file}, feature {number}"
        if states_other_system(feature) or states_other_system(feature.get("geometry")):
            raise SettingsError(f"{where}: {OTHER_SYSTEM}")
        name = _name(feature)
        if not name:
            raise SettingsError(f"{where}: has no name: it needs a property name, a text or a whole number")
        if name in area_of:
            raise SettingsError(f"{where}: the name {name!r} occurs before: give each region its own name")
        try:
            area_of[name] = _area(feature.get("geometry"))
        except _GeometryError as fault:
            raise SettingsError(f"{_SETTING} {file}, region {name!r}: {fault}") from None
    if not area_of:
        raise SettingsError(f"{_SETTING} {file}: needs at least one region")
    names = sorted(area_of)
    try:
        return DrawnRegions(names, [area_of[name] for name in names])
    except DrawnRegionsError as fault:
        raise SettingsError(f"{_SETTING} {file}: {fault}") from None


def _features(file: Path) -> list[Mapping[str, Any]]:
    try:
        content = file.read_bytes().removeprefix(BOM).strip()
    except OSError as fault:
        raise SettingsError(f"{_SETTING} {file}: {cannot_be_read(fault)}") from None
    if not is_collection(content):
        raise SettingsError(f"{_SETTING} {file}: {_NEEDED}")
    try:
        found = [json_document(feature) for feature in features(content)[0]]
    except (FormError, UnreadableError) as fault:
        raise SettingsError(f"{_SETTING} {file}: {fault}; it {_NEEDED}") from None
    if not all(isinstance(feature, dict) for feature in found):
        raise SettingsError(f"{_SETTING} {file}: {_NEEDED}")
    return found


def _name(feature: Mapping[str, Any]) -> str:
    """Return the name of a region, composed and with single spaces; empty if it has none."""
    properties = feature.get("properties")
    name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(name, int) and not isinstance(name, bool):  # editors make numbers of names such as 7
        name = str(name)
    return written(name) if isinstance(name, str) else ""


def _area(geometry: Any) -> Polygon | MultiPolygon:
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    coordinates = geometry.get("coordinates") if isinstance(geometry, dict) else None
    if kind not in ("Polygon", "MultiPolygon") or not isinstance(coordinates, list) or not coordinates:
        raise _GeometryError("its geometry must be a Polygon or a MultiPolygon")
    polygons = [_polygon(rings) for rings in ([coordinates] if kind == "Polygon" else coordinates)]
    area = polygons[0] if len(polygons) == 1 else MultiPolygon(polygons)
    if not area.is_valid:
        reason, _, _ = shapely.is_valid_reason(area).partition("[")  # coordinates follow
        raise _GeometryError(f"is not a valid area ({reason.strip().lower()}): draw it without crossing borders")
    return area


def _polygon(rings: Any) -> Polygon:
    if not isinstance(rings, list) or not rings:
        raise _GeometryError("a polygon is a list of rings, the outer one first")
    outer, *holes = [_ring(ring) for ring in rings]
    try:
        return Polygon(outer, holes)
    except (ValueError, GEOSException):
        raise _GeometryError("a ring needs at least four positions, of which the last equals the first") from None


def _ring(ring: Any) -> list[tuple[float, float]]:
    if not isinstance(ring, list) or not all(_is_position(one) for one in ring):
        raise _GeometryError("a ring is a list of positions, each a list of degrees east and degrees north")
    found = [(float(one[0]), float(one[1])) for one in ring]
    if len(found) < 4 or found[0] != found[-1]:
        raise _GeometryError("a ring needs at least four positions, of which the last equals the first")
    if not all(abs(east) <= 180.0 and abs(north) <= 90.0 for east, north in found):
        raise _GeometryError(
            f"a position must be from -180 to 180 degrees east, then from -90 to 90 degrees north; {_ANTIMERIDIAN}"
        )
    steps = [abs(to[0] - at[0]) for at, to in pairwise(found)]
    if any(180.0 < step < 360.0 for step in steps):
        raise _GeometryError(f"an edge is longer than 180 degrees of longitude; {_ANTIMERIDIAN}")
    return found


def _is_position(value: Sequence[Any]) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and all(isinstance(number, int | float) and not isinstance(number, bool) for number in value[:2])
    )
