"""The nodes of a hierarchy of locations as areas: a public name, a centre and a radius, whoever is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import h3.api.basic_int as h3
import numpy as np

from core.places.taxonomy import Path
from core.records.arrays import FloatArray

__all__ = ["EARTH", "HALF_AROUND_M", "Areas", "Extent", "distance_m", "h3_areas", "quadrant_areas"]

_EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the earth."""

HALF_AROUND_M = float(np.ceil(np.pi * _EARTH_RADIUS_M))
"""No two places on the earth are farther from each other."""


class Areas(NamedTuple):
    """``n`` areas."""

    names: list[str]
    lat_deg: FloatArray
    """Centres, degrees north, shape ``(n,)``."""

    lon_deg: FloatArray
    """Centres, degrees east, shape ``(n,)``."""

    radius_m: FloatArray
    """Distance of the farthest corner from the centre, whole metres, shape ``(n,)``."""


class Extent(NamedTuple):
    """A rectangle of degrees, and the larger one that quadrants divide."""

    south: float
    west: float
    height_deg: float
    width_deg: float
    divided_height_deg: float
    divided_width_deg: float


EARTH = Extent(-90.0, -180.0, 180.0, 360.0, 180.0, 360.0)
"""The extent of quadrants of the earth."""


def quadrant_areas(paths: Sequence[Path], extent: Extent = EARTH) -> Areas:
    """Describe the last quadrant of each path, as far as it is in the extent; an empty path is the whole extent.

    Quadrant ``q3-5-2`` is of the third division: row 5 from the south, column 2 from the west, of 8 by 8.

    Args:
        paths: Nested quadrants, each a row and a column.
        extent: What the quadrants divide.
    """
    levels = np.array([len(path) for path in paths], dtype=np.int64)
    cells = np.array([path[-1] if path else (0, 0) for path in paths], dtype=np.int64).reshape(-1, 2)
    height, width = extent.divided_height_deg / 2.0**levels, extent.divided_width_deg / 2.0**levels
    south, west = extent.south + cells[:, 0] * height, extent.west + cells[:, 1] * width
    height = np.minimum(height, extent.south + extent.height_deg - south)
    width = np.minimum(width, extent.west + extent.width_deg - west)
    lat, lon = south + height / 2, west + width / 2
    # The corner that is nearest to the equator is the farthest from the centre, up to half of the earth's width.
    corner = np.where(np.abs(south) < np.abs(south + height), south, south + height)
    radius_m = np.where(width > 180.0, HALF_AROUND_M, distance_m(lat, lon, corner, west))
    names = [f"q{level}-{row}-{column}" for level, (row, column) in zip(levels.tolist(), cells.tolist(), strict=True)]
    return Areas(names, lat, _around(lon), radius_m)


def h3_areas(paths: Sequence[Path]) -> Areas:
    """Describe the last cell of each path; an empty path is the earth."""
    names, centres, radius_m = [], [], []
    for path in paths:
        if not path:
            names.append("earth")
            centres.append((0.0, 0.0))
            radius_m.append(HALF_AROUND_M)
            continue
        cell = path[-1]
        names.append(h3.int_to_str(cell))
        lat, lon = h3.cell_to_latlng(cell)
        corners = np.array(h3.cell_to_boundary(cell))
        centres.append((lat, lon))
        radius_m.append(float(distance_m(lat, lon, corners[:, 0], corners[:, 1]).max()))
    at = np.array(centres, dtype=np.float64).reshape(-1, 2)
    return Areas(names, at[:, 0], at[:, 1], np.array(radius_m, dtype=np.float64))


def _around(lon_deg: FloatArray) -> FloatArray:
    around: FloatArray = (lon_deg + 180.0) % 360.0 - 180.0
    return around


def distance_m(
    lat_deg: FloatArray | float, lon_deg: FloatArray | float, to_lat_deg: FloatArray, to_lon_deg: FloatArray
) -> FloatArray:
    """Return distances on a sphere, metres, rounded up to whole ones; the arguments are broadcast."""
    lat, lon, to_lat, to_lon = map(np.radians, (lat_deg, lon_deg, to_lat_deg, to_lon_deg))
    half = np.sin((to_lat - lat) / 2) ** 2 + np.cos(lat) * np.cos(to_lat) * np.sin((to_lon - lon) / 2) ** 2
    distance: FloatArray = np.ceil(2 * _EARTH_RADIUS_M * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))
    return distance
