"""Locate: map a position or a venue to a location of the vocabulary, an integer id.

Every vocabulary can describe a location by its id alone, so the process that locates a record and the one that releases
it share no table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import h3.api.basic_int as h3
import numpy as np

from core.places.areas import Areas, Extent, h3_areas, quadrant_areas
from core.places.taxonomy import Path
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.records.identity import Names
from core.records.record import Reason

__all__ = ["Area", "AreaGrid", "H3Cells", "Located", "Locator", "MetricGrid", "Venues", "earth_quadrants", "h3_cells"]

EARTH_MERIDIAN_M = 111_194.9
"""Mean length of one degree of latitude, metres."""

PlaceRejection = tuple[Reason, str]

Located = tuple[IntArray, BoolArray]
"""Location ids, shape ``(n,)``, and which rows have one; other rows have a meaningless id."""


class Locator(Protocol):
    """A vocabulary of locations."""

    needs_position: bool
    """Whether a record is located by its position (else by the venue it names)."""

    reads_category: bool
    """Whether it makes use of the category that a record names."""

    refusal: PlaceRejection
    """Reason and detail for a valid record that has no location in this vocabulary."""

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """Find the location of each record.

        Args:
            lat_deg: Latitudes, valid or NaN, shape ``(n,)``.
            lon_deg: Longitudes, valid or NaN.
            venues: The venue that each record names.
            categories: The category that each record names; None where :attr:`reads_category` is false, or if there
                are none.
        """
        ...

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """Return the public name and the centre (degrees north, degrees east) of each location id."""
        ...

    def ancestors(self, locations: IntArray) -> list[Path]:
        """Return the nested larger areas that contain each location, the largest first."""
        ...

    def areas(self, paths: Sequence[Path]) -> Areas:
        """Describe the last area of each path, a path of :meth:`ancestors` or its beginning."""
        ...


class MetricGrid:
    """A grid over the whole earth with cells of about ``cell_m`` by ``cell_m`` metres.

    Rows are equal steps of latitude; each row has a whole number of equal cells around the earth, so that cells keep
    their width towards the poles (three cells surround a pole) and the antimeridian is a border like any other.
    """

    needs_position = True
    reads_category = False
    refusal: PlaceRejection = (Reason.MISSING_FIELD, "lat and lon are needed")

    def __init__(self, cell_m: float) -> None:
        self.cell_m = cell_m
        self.n_rows = max(1, round(180 * EARTH_MERIDIAN_M / cell_m))

    def _row(self, lat_deg: FloatArray) -> IntArray:
        row = np.floor((lat_deg + 90.0) / 180.0 * self.n_rows).astype(np.int64)
        return np.clip(row, 0, self.n_rows - 1)

    def _columns(self, row: IntArray) -> IntArray:
        middle = np.radians((row + 0.5) * 180.0 / self.n_rows - 90.0)
        around_m = 360 * EARTH_MERIDIAN_M * np.cos(middle)
        return np.maximum(1, np.round(around_m / self.cell_m)).astype(np.int64)

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`Locator.locate`."""
        found = np.isfinite(lat_deg) & np.isfinite(lon_deg)
        row = self._row(np.where(found, lat_deg, 0.0))
        columns = self._columns(row)
        turn = (np.where(found, lon_deg, 0.0) + 180.0) / 360.0 % 1.0
        column = np.minimum(np.floor(turn * columns).astype(np.int64), columns - 1)
        return row << 32 | column, found

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`Locator.describe`."""
        row, column = locations >> 32, locations & 0xFFFFFFFF
        lat = (row + 0.5) * 180.0 / self.n_rows - 90.0
        lon = (column + 0.5) * 360.0 / self._columns(row) - 180.0
        names = [f"{r:06d}-{c:06d}" for r, c in zip(row.tolist(), column.tolist(), strict=True)]
        return names, lat, lon

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`Locator.ancestors`: quadrants of the earth, in degrees, down to two cells."""
        _, lat, lon = self.describe(locations)
        return earth_quadrants(lat, lon, levels=self.n_rows.bit_length())

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Locator.areas`."""
        return quadrant_areas(paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A rectangle of degrees; ``west > east`` means that it crosses the antimeridian.

    Raises:
        ValueError: The rectangle is empty or not on the earth.
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        if not (-90 <= self.south < self.north <= 90 and -180 <= self.west <= 180 and -180 <= self.east <= 180):
            raise ValueError("an area is south, west, north, east in degrees, with south < north, all on the earth")
        if self.east - self.west in (0, -360):  # -180 and 180 are both the antimeridian
            raise ValueError("an area needs different west and east borders")

    @property
    def width_deg(self) -> float:
        """Degrees of longitude from the west border to the east border."""
        return (self.east - self.west) % 360.0 or 360.0


class AreaGrid:
    """``rows`` by ``columns`` cells over a rectangle; records outside it are rejected."""

    needs_position = True
    reads_category = False
    refusal: PlaceRejection = (Reason.OUTSIDE_AREA, "the position is outside location.area")

    def __init__(self, area: Area, *, rows: int, columns: int) -> None:
        self.area, self.rows, self.columns = area, rows, columns

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`Locator.locate`."""
        up = (lat_deg - self.area.south) / (self.area.north - self.area.south)
        along = (lon_deg - self.area.west) % 360.0 / self.area.width_deg
        # NaN compares false: a record without a position is not found.
        found = (up >= 0) & (up <= 1) & (along <= 1)
        row = np.minimum(np.floor(np.where(found, up, 0.0) * self.rows).astype(np.int64), self.rows - 1)
        column = np.minimum(np.floor(np.where(found, along, 0.0) * self.columns).astype(np.int64), self.columns - 1)
        return row << 32 | column, found

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`Locator.describe`."""
        row, column = locations >> 32, locations & 0xFFFFFFFF
        lat = self.area.south + (row + 0.5) / self.rows * (self.area.north - self.area.south)
        lon = (self.area.west + (column + 0.5) / self.columns * self.area.width_deg + 180.0) % 360.0 - 180.0
        digits = len(str(max(self.rows, self.columns) - 1))
        names = [f"r{r:0{digits}d}c{c:0{digits}d}" for r, c in zip(row.tolist(), column.tolist(), strict=True)]
        return names, lat, lon

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`Locator.ancestors`: quadrants of the area, down to four cells."""
        row, column = locations >> 32, locations & 0xFFFFFFFF
        levels = self._levels
        side = 2.0 ** (levels + 1)
        return _quadrants(row / side, column / side, levels=levels)

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Locator.areas`."""
        side = 2.0 ** (self._levels + 1)
        height_deg, width_deg = self.area.north - self.area.south, self.area.width_deg
        divided = height_deg * side / self.rows, width_deg * side / self.columns
        return quadrant_areas(paths, Extent(self.area.south, self.area.west, height_deg, width_deg, *divided))

    @property
    def _levels(self) -> int:
        return max(0, (max(self.rows, self.columns) - 1).bit_length() - 1)


def h3_cells(lat_deg: FloatArray, lon_deg: FloatArray, resolution: int) -> IntArray:
    """Return the H3 cell around each position, shape ``(n,)``."""
    positions = zip(lat_deg.tolist(), lon_deg.tolist(), strict=True)
    return np.array([h3.latlng_to_cell(lat, lon, resolution) for lat, lon in positions], dtype=np.int64)


class H3Cells:
    """Hexagonal cells of one H3 resolution (0, a continent, to 15, a square metre)."""

    needs_position = True
    reads_category = False
    refusal: PlaceRejection = (Reason.MISSING_FIELD, "lat and lon are needed")

    def __init__(self, resolution: int) -> None:
        self.resolution = resolution

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`Locator.locate`."""
        found = np.isfinite(lat_deg) & np.isfinite(lon_deg)
        cells = np.zeros(len(found), dtype=np.int64)
        cells[found] = h3_cells(lat_deg[found], lon_deg[found], self.resolution)
        return cells, found

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`Locator.describe`."""
        cells = locations.tolist()
        centres = np.array([h3.cell_to_latlng(cell) for cell in cells]).reshape(-1, 2)
        return [h3.int_to_str(cell) for cell in cells], centres[:, 0], centres[:, 1]

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`Locator.ancestors`: the parents of each cell."""
        return [
            tuple(h3.cell_to_parent(cell, resolution) for resolution in range(self.resolution))
            for cell in locations.tolist()
        ]

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Locator.areas`."""
        return h3_areas(paths)


class Venues:
    """Named places with coordinates; a record names its venue in any spelling, and its own position is not used.

    Raises:
        ValueError: Names are not strictly ascending, or the columns differ in length.
    """

    needs_position = False
    reads_category = False
    refusal: PlaceRejection = (Reason.UNKNOWN_VENUE, "venue is not in location.venues_file")

    def __init__(self, names: Sequence[str], lat_deg: FloatArray, lon_deg: FloatArray) -> None:
        if not len(names) == len(lat_deg) == len(lon_deg):
            raise ValueError("venues: as many names as latitudes and longitudes are needed")
        if any(a >= b for a, b in pairwise(names)):
            raise ValueError("venues: names must be unique and in ascending order")
        self.names, self.lat_deg, self.lon_deg = list(names), lat_deg, lon_deg
        self._names = Names(names)

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`Locator.locate`."""
        ids = np.array([-1 if v is None else self._names.find(v) for v in venues], dtype=np.int64)
        return ids, ids >= 0

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`Locator.describe`."""
        return [self.names[i] for i in locations.tolist()], self.lat_deg[locations], self.lon_deg[locations]

    def positions(self, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return where venues are, by their public names: degrees north and east, shape ``(n,)``."""
        numbers = self.locate(np.empty(0), np.empty(0), names)[0]
        return self.lat_deg[numbers], self.lon_deg[numbers]

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`Locator.ancestors`: quadrants of the earth, down to some 40 m."""
        lat, lon = self.lat_deg[locations], self.lon_deg[locations]
        return earth_quadrants(lat, lon, levels=19)

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Locator.areas`."""
        return quadrant_areas(paths)


def earth_quadrants(lat_deg: FloatArray, lon_deg: FloatArray, *, levels: int) -> list[Path]:
    """Return the quadrants of the earth around positions, level by level, the largest first."""
    return _quadrants((lat_deg + 90.0) / 180.0, (lon_deg + 180.0) / 360.0, levels=levels)


def _quadrants(up: FloatArray, along: FloatArray, *, levels: int) -> list[Path]:
    """Return the quadrants around positions in the unit square, level by level, the largest first."""
    steps = 2.0 ** np.arange(1, levels + 1)
    rows = np.floor(np.clip(up, 0.0, 1.0 - 1e-12)[:, None] * steps).astype(np.int64)  # (n, levels)
    columns = np.floor(np.clip(along, 0.0, 1.0 - 1e-12)[:, None] * steps).astype(np.int64)
    return [tuple(zip(r, c, strict=True)) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
