"""Nearby: the points of a table within a distance of positions, exactly, also at the poles and the antimeridian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely

from core.places.geo import geocentric
from core.records.arrays import FloatArray, IntArray

__all__ = ["FARTHEST_M", "NearbyPairs", "NearbyPoints"]

FARTHEST_M = 5_000.0
"""Greatest radius. Up to it a straight line and the way on the ground differ by less than a millimetre."""

_LEAST_DEGREE_M = 110_000.0
"""Less than any degree of latitude, metres, so that a box of degrees is never too small."""

_MARGIN_DEG = 1e-9


class NearbyPairs(NamedTuple):
    """Positions and the points near them, ``p`` pairs in no particular order."""

    positions: IntArray
    """Number of the position, shape ``(p,)``."""

    points: IntArray
    """Number of the point, shape ``(p,)``."""

    distance_m: FloatArray
    """Distance, rounded to a millimetre so that float noise decides nothing, shape ``(p,)``."""


class NearbyPoints:
    """Finds points by position. A tree over boxes of degrees proposes pairs; the distance in space decides.

    Args:
        lat_deg: Latitudes of the points, shape ``(n,)``.
        lon_deg: Longitudes of the points.
        radius_m: Greatest distance, up to :data:`FARTHEST_M`.

    Raises:
        ValueError: The radius is not in range.
    """

    def __init__(self, lat_deg: FloatArray, lon_deg: FloatArray, radius_m: float) -> None:
        if not 0 < radius_m <= FARTHEST_M:
            raise ValueError(f"a radius is more than 0 m and at most {FARTHEST_M:g} m")
        self._tree = shapely.STRtree(shapely.points(lon_deg, lat_deg))
        self._xyz_m = geocentric(lat_deg, lon_deg)
        self._radius_m = radius_m

    def pairs(self, lat_deg: FloatArray, lon_deg: FloatArray) -> NearbyPairs:
        """Return each position with each point at most the radius away; positions are valid degrees, shape ``(n,)``."""
        xyz_m = geocentric(lat_deg, lon_deg)
        up_deg = self._radius_m / _LEAST_DEGREE_M
        # Seen from the earth's axis, a ball around the position is this wide; if it holds the axis, it is all around.
        sine = self._radius_m / np.maximum(np.hypot(xyz_m[:, 0], xyz_m[:, 1]), self._radius_m)
        along_deg = np.where(sine < 1.0, np.degrees(np.arcsin(sine)) + _MARGIN_DEG, 180.0)
        proposed: list[IntArray] = []
        for turn_deg in (0.0, 360.0, -360.0):
            west, east = lon_deg + turn_deg - along_deg, lon_deg + turn_deg + along_deg
            at = np.flatnonzero((west <= 180.0) & (east >= -180.0))
            boxes = shapely.box(west[at], lat_deg[at] - up_deg, east[at], lat_deg[at] + up_deg)
            position, point = self._tree.query(boxes)
            proposed.append(np.array([at[position], point], np.int64))
        positions, points = np.concatenate(proposed, axis=1)
        distance_m = np.sqrt(((xyz_m[positions] - self._xyz_m[points]) ** 2).sum(axis=1)).round(3)
        near = distance_m <= self._radius_m
        return NearbyPairs(positions[near], points[near], distance_m[near])
