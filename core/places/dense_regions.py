"""Regions of interest: where many people were, as rectangles of a grid or as connected hexagons.

Pensa et al. 2008, section 5.1, after ``PopularRegions`` of Giannotti et al. 2007 (Trajectory Pattern Mining, KDD). The
papers leave details open; :func:`dense_rectangles` states the definition that is used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import h3.api.basic_int as h3
import numpy as np
from shapely import MultiPolygon, Polygon

from core.places.locate import EARTH_MERIDIAN_M, h3_cells
from core.places.outlines import box_outline, cut_outline
from core.places.people_counts import PeopleCounts
from core.records.arrays import FloatArray, IntArray

__all__ = ["CellDivision", "GridDivision", "H3Division", "dense_rectangles", "least_people_for"]

_MOST_TRIED = 100
"""Most thresholds that are tried to find a wanted number of regions."""


class CellDivision(Protocol):
    """A division of the earth into cells, and how dense cells make regions."""

    def cells(self, lat_deg: FloatArray, lon_deg: FloatArray) -> IntArray:
        """Return the cell around each position, shape ``(n,)``."""
        ...

    def regions(self, counts: PeopleCounts, least: int) -> list[IntArray]:
        """Return disjoint regions around the cells with at least ``least`` people: the cells of each, ascending."""
        ...

    def outline(self, region: IntArray) -> Polygon | MultiPolygon:
        """Return the area of a region: degrees east and north, cut at the antimeridian."""
        ...


class GridDivision:
    """A regular grid whose cells are about ``cell_m`` by ``cell_m`` metres at one latitude.

    Rows and columns are equal steps of degrees, so that a rectangle of cells is a rectangle of degrees. A cell becomes
    narrower towards the nearest pole. The grid covers the whole earth and begins at its south-west corner, so the same
    size and latitude make the same cells for every feed.

    Args:
        cell_m: Side of a cell, metres.
        lat_deg: Latitude at which cells are as wide as high.
    """

    def __init__(self, cell_m: float, lat_deg: float) -> None:
        self.n_rows = max(1, round(180 * EARTH_MERIDIAN_M / cell_m))
        around_m = 360 * EARTH_MERIDIAN_M * np.cos(np.radians(lat_deg))
        self.n_columns = max(1, round(around_m / cell_m))

    def cells(self, lat_deg: FloatArray, lon_deg: FloatArray) -> IntArray:
        """See :meth:`CellDivision.cells`: the row, times 2**32, plus the column."""
        row = np.floor((lat_deg + 90.0) / 180.0 * self.n_rows).astype(np.int64)
        column = np.floor((lon_deg + 180.0) / 360.0 % 1.0 * self.n_columns).astype(np.int64)
        cells: IntArray = np.minimum(row, self.n_rows - 1) << 32 | np.minimum(column, self.n_columns - 1)
        return cells

    def regions(self, counts: PeopleCounts, least: int) -> list[IntArray]:
        """See :meth:`CellDivision.regions`: rectangles, see :func:`dense_rectangles`."""
        return dense_rectangles(counts, least, n_rows=self.n_rows, n_columns=self.n_columns)

    def outline(self, region: IntArray) -> Polygon | MultiPolygon:
        """See :meth:`CellDivision.outline`."""
        rows, columns = np.unique(region >> 32), np.unique(region & 0xFFFFFFFF)
        # Columns go round the earth: the first one of a rectangle has no neighbour to the west in it.
        alone = ~np.isin((columns - 1) % self.n_columns, columns)
        west = int(columns[alone][0]) if alone.any() else 0
        high, wide = 180.0 / self.n_rows, 360.0 / self.n_columns
        return box_outline(
            south=int(rows[0]) * high - 90.0,
            west=west * wide - 180.0,
            north=(int(rows[-1]) + 1) * high - 90.0,
            east=(west + len(columns)) * wide - 180.0,
        )


class H3Division:
    """The H3 cells of one resolution. A region is a connected set of dense cells."""

    def __init__(self, resolution: int) -> None:
        self._resolution = resolution

    def cells(self, lat_deg: FloatArray, lon_deg: FloatArray) -> IntArray:
        """See :meth:`CellDivision.cells`."""
        return h3_cells(lat_deg, lon_deg, self._resolution)

    def regions(self, counts: PeopleCounts, least: int) -> list[IntArray]:
        """See :meth:`CellDivision.regions`."""
        left = set(counts.cells[counts.people >= least].tolist())
        regions: list[IntArray] = []
        while left:
            reached = [left.pop()]
            for cell in reached:  # grows while it is read
                near = left.intersection(h3.grid_disk(cell, 1))
                left -= near
                reached += near
            regions.append(np.array(sorted(reached), np.int64))
        return sorted(regions, key=lambda region: int(region[0]))

    def outline(self, region: IntArray) -> Polygon | MultiPolygon:
        """See :meth:`CellDivision.outline`."""
        rings = [[(lon, lat) for lat, lon in h3.cell_to_boundary(cell)] for cell in region.tolist()]
        return cut_outline(rings)


def dense_rectangles(counts: PeopleCounts, least: int, *, n_rows: int, n_columns: int) -> list[IntArray]:
    """Cover the dense cells of a grid by disjoint rectangles of cells.

    A cell is dense if at least ``least`` people were in it. The density of several cells is their mean number of
    people; a cell that ``counts`` does not have counts 0. The dense cells are taken in descending order of their
    people, then by row and column. One that is in no rectangle yet becomes a rectangle. This is extended by one row or
    column of cells as long as there is a direction in which the new cells are on the grid and in no other rectangle,
    and have a density of at least ``least``. Of several directions the one that gives the rectangle the greatest
    density is taken, then the first of north, east, south and west.

    So the rectangles are disjoint and hold every dense cell; each has a density of at least ``least``, and none can be
    extended by dense cells. Larger rectangles are preferred only if they add dense regions (Pensa et al. 2008): were
    only the density of the whole rectangle compared, a very dense middle would take in a whole city.

    Args:
        counts: People of cells, which are numbered as :meth:`GridDivision.cells` does.
        least: People of a dense cell, at least 1.
        n_rows: Rows of the grid. The first and the last end at the poles.
        n_columns: Columns of the grid. The last is the western neighbour of the first.

    Returns:
        The cells of each rectangle, ascending.
    """
    people = dict(zip(counts.cells.tolist(), counts.people.tolist(), strict=True))
    dense = [cell for cell, n in people.items() if n >= least]
    taken: set[int] = set()
    regions: list[IntArray] = []
    for cell in sorted(dense, key=lambda cell: (-people[cell], cell)):
        if cell in taken:
            continue
        region, total, span = [cell], people[cell], _Span(cell >> 32, cell & 0xFFFFFFFF, 1, 1)
        while True:
            best: tuple[int, list[int], _Span] | None = None
            for larger, strip in span.extensions(n_rows, n_columns):
                added = sum(people.get(one, 0) for one in strip)
                if added < least * len(strip) or not taken.isdisjoint(strip):
                    continue
                # Densities are compared as products of whole numbers, which are exact.
                if best is None or (total + added) * best[2].size > best[0] * larger.size:
                    best = total + added, strip, larger
            if best is None:
                break
            total, strip, span = best
            region += strip
        taken.update(region)
        regions.append(np.array(sorted(region), np.int64))
    return regions


class _Span(NamedTuple):
    """A rectangle of cells."""

    south: int
    west: int
    high: int
    wide: int

    @property
    def size(self) -> int:
        return self.high * self.wide

    def extensions(self, n_rows: int, n_columns: int) -> Iterator[tuple[_Span, list[int]]]:
        """Yield the rectangles that are larger by one row or column, and the new cells of each: N, E, S, W."""
        south, west, high, wide = self
        rows, columns = range(south, south + high), range(west, west + wide)
        if south + high < n_rows:
            yield _Span(south, west, high + 1, wide), _cells([south + high], columns, n_columns)
        if wide < n_columns:
            yield _Span(south, west, high, wide + 1), _cells(rows, [west + wide], n_columns)
        if south > 0:
            yield _Span(south - 1, west, high + 1, wide), _cells([south - 1], columns, n_columns)
        if wide < n_columns:
            yield _Span(south, west - 1, high, wide + 1), _cells(rows, [west - 1], n_columns)


def _cells(rows: Iterable[int], columns: Iterable[int], n_columns: int) -> list[int]:
    return [row << 32 | column % n_columns for row in rows for column in columns]


def least_people_for(division: CellDivision, counts: PeopleCounts, n_regions: int, *, step: int) -> int | None:
    """Find how many people a cell needs to be dense so that there are about as many regions as wanted.

    Few people make few large regions, very many people few small ones. So from the number of people that makes most
    regions upwards, the one whose number of regions is nearest to the wanted one is taken, the smaller of two.

    Args:
        division: Makes regions.
        counts: People of cells.
        n_regions: The wanted number of regions, at least 1.
        step: The result is a multiple of it, so that it is not the number of people of one cell.

    Returns:
        People of a dense cell; None if no cell has ``step`` people.
    """
    steps = np.unique(counts.people // step * step)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    # The smallest numbers are all tried only if there are few: beyond, the steps are in proportion.
    if len(steps) > _MOST_TRIED:
        wanted = np.geomspace(steps[0], steps[-1], _MOST_TRIED)
        steps = np.unique(steps[np.minimum(np.searchsorted(steps, wanted), len(steps) - 1)])
    made = [len(division.regions(counts, least)) for least in steps.tolist()]
    most = made.index(max(made))
    nearest = min(range(most, len(made)), key=lambda i: (abs(made[i] - n_regions), i))
    return int(steps[nearest])
