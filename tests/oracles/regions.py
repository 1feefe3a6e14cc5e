"""Regions of interest on a small grid and drawn regions, slow and obvious."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapely import MultiPolygon, Point, Polygon

Cell = tuple[int, int]
"""Row and column."""

Rectangle = frozenset[Cell]


def rectangles(people: Mapping[Cell, int], least: int, n_rows: int, n_columns: int) -> list[Rectangle]:
    """Pensa et al. 2008, section 5.1, as the product states it; columns go round the earth."""
    found: list[Rectangle] = []
    for cell in sorted(people, key=lambda cell: (-people[cell], cell)):
        if people[cell] < least or any(cell in region for region in found):
            continue
        region: Rectangle = frozenset([cell])
        while larger := [
            region | strip
            for strip in strips(region, n_rows, n_columns)
            if not any(strip & other for other in found) and density(strip, people) >= least
        ]:
            region = max(larger, key=lambda one: density(one, people))  # the first of several
        found.append(region)
    return found


def strips(region: Rectangle, n_rows: int, n_columns: int) -> list[Rectangle]:
    """The cells to the north, east, south and west of a rectangle that are on the grid and not in it."""
    moved = [
        frozenset((row + north, (column + east) % n_columns) for row, column in region) - region
        for north, east in ((1, 0), (0, 1), (-1, 0), (0, -1))
    ]
    # A rectangle all around the earth has no neighbour to the east or west.
    return [strip for strip in moved if strip and all(0 <= row < n_rows for row, _ in strip)]


def density(cells: Rectangle, people: Mapping[Cell, int]) -> float:
    return sum(people.get(cell, 0) for cell in cells) / len(cells)


def drawn_region_of(areas: Sequence[Polygon | MultiPolygon], lat_deg: float, lon_deg: float) -> int:
    """The first region that has a position or another name of it, -1 for none."""
    names = [lon_deg, -lon_deg] if abs(lon_deg) == 180 else [lon_deg]
    for i, area in enumerate(areas):
        if abs(lat_deg) == 90 and lat_deg in (area.bounds[1], area.bounds[3]):
            return i
        if abs(lat_deg) != 90 and any(area.covers(Point(lon, lat_deg)) for lon in names):
            return i
    return -1
