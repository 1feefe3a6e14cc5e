"""Drawn regions: locations that are polygons, drawn by a person or found by ``shoal regions``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely
from shapely import MultiPolygon, Polygon, STRtree

from core.places.areas import Areas, quadrant_areas
from core.places.locate import EARTH_MERIDIAN_M, Located, PlaceRejection, earth_quadrants
from core.places.outlines import parts_of, uncut
from core.places.taxonomy import Path
from core.records.arrays import BoolArray, FloatArray, IntArray, ranges, starts_of
from core.records.record import Reason

__all__ = ["DrawnRegions", "DrawnRegionsError"]

_LINES, _PIECES = 48, 4
"""Most borders that become lines of the index, and the pieces into which the space between two lines is divided."""

_SHARED_M2 = 1.0
"""Two regions may share a border; this much area, square metres, is a border that was drawn twice."""


class DrawnRegionsError(ValueError):
    """Polygons cannot be a vocabulary; the message names the regions and says what is allowed."""


class DrawnRegions:
    """Disjoint regions with names; a position outside all of them is not found.

    A border belongs to its region; a position on the border of several regions belongs to the first by name. Edges are
    straight in degrees (RFC 7946, 3.1.1). The meridians -180 and 180 are one, and a pole is one place whatever its
    longitude.

    Args:
        names: Strictly ascending.
        polygons: The area of each region, valid, degrees east and north, cut at the antimeridian.

    Raises:
        DrawnRegionsError: Regions overlap.
        ValueError: There are no regions, the names are not strictly ascending, or the columns differ in length.
    """

    needs_position = True
    reads_category = False
    refusal: PlaceRejection = (Reason.OUTSIDE_AREA, "the position is in no region of location.regions_file")

    def __init__(self, names: Sequence[str], polygons: Sequence[Polygon | MultiPolygon]) -> None:
        if not len(names) == len(polygons) > 0:
            raise ValueError("drawn regions: as many names as areas are needed, and at least one")
        if any(a >= b for a, b in pairwise(names)):
            raise ValueError("drawn regions: names must be unique and in ascending order")
        self.names, self.polygons = list(names), list(polygons)
        self._refuse_overlaps()
        centres = [_centre(area) for area in polygons]
        self.lat_deg = np.array([lat for lat, _ in centres])
        self.lon_deg = np.array([lon for _, lon in centres])

    def __reduce__(self) -> tuple[type[DrawnRegions], tuple[list[str], list[Polygon | MultiPolygon]]]:
        """Leave the index out: another process builds its own when it first locates a position."""
        return DrawnRegions, (self.names, self.polygons)

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None] = (),
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`core.places.locate.Locator.locate`; ``venues`` and ``categories`` are not used."""
        ids = self._index.find(lat_deg, lon_deg)
        # The other name of the antimeridian, where a region may end.
        (turned,) = np.nonzero((np.abs(lon_deg) == 180.0) & (np.abs(lat_deg) <= 90.0))
        if len(turned):
            ids[turned] = _first(ids[turned], self._index.find(lat_deg[turned], -lon_deg[turned]))
        for pole in (-90.0, 90.0):
            at_pole = (lat_deg == pole) & (np.abs(lon_deg) <= 180.0)
            if at_pole.any():
                ids[at_pole] = self._at_pole(pole)
        return ids, ids >= 0

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`core.places.locate.Locator.describe`: the centroid if it is in the region, else a point in it."""
        return [self.names[i] for i in locations.tolist()], self.lat_deg[locations], self.lon_deg[locations]

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`core.places.locate.Locator.ancestors`: quadrants of the earth around the centres, to some 40 m."""
        lat, lon = self.lat_deg[locations], self.lon_deg[locations]
        return earth_quadrants(lat, lon, levels=19)

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`core.places.locate.Locator.areas`."""
        return quadrant_areas(paths)

    def border(self, name: str) -> list[tuple[float, float]]:
        """Return the corners of a region's largest part without its holes, degrees north and east, not closed.

        Degrees east may exceed 180, so that a region across the antimeridian is in one piece.

        Raises:
            ValueError: There is no such region.
        """
        largest = max(parts_of(uncut(self.polygons[self.names.index(name)])), key=lambda part: part.area)
        return [(north, east) for east, north in largest.exterior.coords[:-1]]

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.polygons)

    def _at_pole(self, pole: float) -> int:
        """Return the first region that touches a pole, -1 for none."""
        return next((i for i, area in enumerate(self.polygons) if pole in (area.bounds[1], area.bounds[3])), -1)

    def _refuse_overlaps(self) -> None:
        tree = STRtree(self.polygons)
        for i, j in sorted(tree.query(self.polygons, predicate="intersects").T.tolist()):
            shared = shapely.intersection(self.polygons[i], self.polygons[j]) if i < j else Polygon()
            if (shared_m2 := _square_metres(shared)) > _SHARED_M2:
                raise DrawnRegionsError(
                    f"regions {self.names[i]!r} and {self.names[j]!r} overlap by {shared_m2:,.0f} square metres: "
                    "regions may share borders alone, so that a position is in one region"
                )


class _Index:
    """A grid in front of the polygons; its lines are at borders, so they are near where the regions are.

    Most positions are in a cell that one region covers, or that none reaches. Only the others are compared with
    polygons.
    """

    def __init__(self, areas: Sequence[Polygon | MultiPolygon]) -> None:
        self._areas = np.array(areas, dtype=object)
        shapely.prepare(self._areas)
        corners = shapely.get_coordinates(self._areas)
        self._east, self._north = _lines(corners[:, 0]), _lines(corners[:, 1])
        self._columns = len(self._east) - 1
        reached = [self._reached(area) for area in self._areas]
        cells = np.concatenate([cells for cells, _ in reached])
        owner = np.repeat(np.arange(len(areas)), [len(cells) for cells, _ in reached])
        is_whole = np.concatenate([is_whole for _, is_whole in reached])
        order = np.lexsort((owner, cells))
        self._candidates = owner[order]
        n_cells = self._columns * (len(self._north) - 1)
        self._lengths = np.bincount(cells, minlength=n_cells)
        self._starts = starts_of(self._lengths)[:-1]
        # A cell has one owner if nobody else reaches it, not even its border.
        alone = is_whole & (self._lengths[cells] == 1)
        self._owner = np.full(n_cells, -1, np.int64)
        self._owner[cells[alone]] = owner[alone]

    def find(self, lat_deg: FloatArray, lon_deg: FloatArray) -> IntArray:
        """Return the first region that has each position, -1 for none, shape ``(n,)``."""
        ids = np.full(len(lat_deg), -1, np.int64)
        east, north = self._east, self._north
        (inside,) = np.nonzero(
            (lon_deg >= east[0]) & (lon_deg <= east[-1]) & (lat_deg >= north[0]) & (lat_deg <= north[-1])
        )
        lon, lat = lon_deg[inside], lat_deg[inside]
        cell = _interval(north, lat) * self._columns + _interval(east, lon)
        ids[inside] = self._owner[cell]
        (open_,) = np.nonzero((self._owner[cell] < 0) & (self._lengths[cell] > 0))
        lengths = self._lengths[cell[open_]]
        candidate = self._candidates[ranges(self._starts[cell[open_]], lengths)]
        row = np.repeat(open_, lengths)
        hit = shapely.intersects_xy(self._areas[candidate], lon[row], lat[row])
        # Candidates are ascending, and of several regions written to one row the last stays: so write them backwards.
        ids[inside[row[hit]][::-1]] = candidate[hit][::-1]
        return ids

    def _reached(self, area: Polygon | MultiPolygon) -> _Reached:
        """Return the cells that an area touches, ascending, and which of them it covers."""
        west, south, east, north = area.bounds
        # One cell more to each side: a position on a line belongs to the cell after it, and the area has its border.
        columns = np.arange(*_around(self._east, west, east))
        rows = np.arange(*_around(self._north, south, north))
        row, column = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
        boxes = shapely.box(self._east[column], self._north[row], self._east[column + 1], self._north[row + 1])
        touched = shapely.intersects(area, boxes)
        return _Reached((row * self._columns + column)[touched], shapely.covers(area, boxes[touched]))


class _Reached(NamedTuple):
    cells: IntArray
    is_whole: BoolArray


def _lines(values: FloatArray) -> FloatArray:
    """Return the lines of an index along one axis: some of the borders' corners, and even steps between them."""
    found = np.unique(values)
    found = found[np.unique(np.linspace(0, len(found) - 1, _LINES).round().astype(np.int64))]
    steps = np.arange(_PIECES) / _PIECES
    between = (found[:-1, None] + steps * np.diff(found)[:, None]).ravel()
    return np.unique(np.append(between, found))


def _interval(lines: FloatArray, values: FloatArray) -> IntArray:
    """Return the cell of each value, from 0; one on a line belongs to the cell that begins there."""
    found: IntArray = np.minimum(np.searchsorted(lines, values, side="right") - 1, len(lines) - 2)
    return found


def _around(lines: FloatArray, first: float, last: float) -> tuple[int, int]:
    """Return the first cell that a span reaches, and the one after its last."""
    at = _interval(lines, np.array([first, last]))
    return max(int(at[0]) - 1, 0), min(int(at[1]) + 2, len(lines) - 1)


def _first(ids: IntArray, others: IntArray) -> IntArray:
    """Return the smaller id of each pair that is not -1."""
    either: IntArray = np.where((ids < 0) | ((others >= 0) & (others < ids)), others, ids)
    return either


def _centre(area: Polygon | MultiPolygon) -> tuple[float, float]:
    """Return degrees north and east of the centroid, or of a point inside if the centroid is not."""
    whole = uncut(area)
    point = whole.centroid if whole.contains(whole.centroid) else whole.point_on_surface()
    return point.y, (point.x + 180.0) % 360.0 - 180.0


def _square_metres(area: Polygon | MultiPolygon) -> float:
    """Return the area of polygons of degrees, roughly: as on a plane that touches the earth at their middle."""
    if area.is_empty:
        return 0.0
    _, south, _, north = area.bounds
    return float(area.area) * EARTH_MERIDIAN_M**2 * float(np.cos(np.radians((south + north) / 2)))
