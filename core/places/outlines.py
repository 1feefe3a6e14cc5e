"""Outlines of areas on the earth as polygons of degrees east and north, cut at the antimeridian (RFC 7946, 3.1.9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from shapely import MultiPolygon, Polygon
from shapely.affinity import translate

from core.records.arrays import FloatArray

__all__ = ["box_outline", "cut_outline", "parts_of", "uncut"]

_DIGITS = 7
"""Corners are rounded to a centimetre, so that neighbours have the same corners."""

_EARTH = shapely.box(-180.0, -90.0, 180.0, 90.0)


def box_outline(*, south: float, west: float, north: float, east: float) -> Polygon | MultiPolygon:
    """Return the outline of a rectangle of degrees.

    Args:
        south: Southern border.
        west: Western border, from -180 to 180.
        north: Northern border.
        east: Eastern border, at least ``west``; beyond 180 if the rectangle crosses the antimeridian.
    """
    return _cut([shapely.box(west, south, east, north)])


def cut_outline(rings: Sequence[Sequence[tuple[float, float]]]) -> Polygon | MultiPolygon:
    """Return the outline of the union of areas.

    Args:
        rings: The corners of each area, degrees east and north, not closed. Of the two ways between two corners the
            edge takes the shorter one. A ring that goes round the earth encloses the pole that is nearer to it.
    """
    return _cut([_unwrapped(np.array(ring)) for ring in rings])


def uncut(area: Polygon | MultiPolygon) -> Polygon | MultiPolygon:
    """Return an area whose parts were cut at the antimeridian in one piece; its degrees east may exceed 180."""
    west, _, east, _ = area.bounds
    if not (west == -180.0 and east == 180.0) or len(parts_of(area)) == 1:
        return area
    moved = [translate(part, xoff=360.0) if part.bounds[2] <= 0.0 else part for part in parts_of(area)]
    return shapely.union_all(moved)


def parts_of(area: Polygon | MultiPolygon) -> list[Polygon]:
    """Return the polygons of an area."""
    return [part for part in shapely.get_parts(area).tolist() if isinstance(part, Polygon)]


def _unwrapped(ring: FloatArray) -> Polygon:
    steps = (np.diff(ring[:, 0], append=ring[0, 0]) + 180.0) % 360.0 - 180.0
    lon = ring[0, 0] + np.append(0.0, np.cumsum(steps))
    lat = np.append(ring[:, 1], ring[0, 1])
    if abs(lon[-1] - lon[0]) > 180.0:
        pole = np.copysign(90.0, lat.sum())
        lon, lat = np.append(lon, [lon[-1], lon[0]]), np.append(lat, [pole, pole])
    return Polygon(np.column_stack([lon, lat]))


def _cut(areas: Sequence[Polygon]) -> Polygon | MultiPolygon:
    turned = [translate(area, xoff=turn) for area in areas for turn in (-360.0, 0.0, 360.0)]
    here = [area for area in turned if area.bounds[0] < 180.0 and area.bounds[2] > -180.0]
    found = parts_of(shapely.intersection(shapely.union_all(_rounded(here)), _EARTH))
    parts = shapely.orient_polygons(_rounded(found)).tolist()
    return parts[0] if len(parts) == 1 else MultiPolygon(parts)


def _rounded(areas: Sequence[Polygon]) -> list[Polygon]:
    return [shapely.transform(area, lambda corners: corners.round(_DIGITS)) for area in areas]
