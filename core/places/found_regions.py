"""Regions found in a feed, with names and rounded numbers, as they may be published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from shapely import MultiPolygon, Polygon

from core.places.dense_regions import CellDivision
from core.places.locate import EARTH_MERIDIAN_M
from core.places.outlines import uncut
from core.places.people_counts import CellsOfPeople, PeopleCounts, count_people
from core.records.arrays import IntArray

__all__ = ["FoundRegion", "find_regions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRegion:
    """One region. Its border and numbers follow from cells with at least ``k`` people alone."""

    name: str
    """``r01``, ``r02``, ...: from north to south, then from west to east. A name says nothing about people."""

    area: Polygon | MultiPolygon = field(repr=False)
    """Degrees east and north, cut at the antimeridian."""

    n_cells: int
    """Number of its cells, with and without people."""

    people: int
    """Distinct people in its cells that had at least ``k`` each, rounded down to a multiple of ``k``."""

    @property
    def size_m(self) -> tuple[float, float]:
        """Greatest extent from west to east and from south to north, metres, roughly."""
        west, south, east, north = uncut(self.area).bounds
        along_m = EARTH_MERIDIAN_M * float(np.cos(np.radians((south + north) / 2)))
        return (east - west) * along_m, (north - south) * EARTH_MERIDIAN_M


def find_regions(
    division: CellDivision,
    counts: PeopleCounts,
    batches: Callable[[], Iterable[CellsOfPeople]],
    *,
    least: int,
    k: int,
    most_pairs: int,
) -> list[FoundRegion]:
    """Find the regions of a feed around its dense cells.

    Cells with fewer than ``k`` people are treated as if nobody had been there, so a border is where it is whoever was
    in them.

    Args:
        division: Makes regions of cells.
        counts: People of all cells of the feed.
        batches: Reads the feed again; called only if ``counts`` does not have its pairs.
        least: People of a dense cell, at least ``k``.
        k: Fewest people of a region, at least 1.
        most_pairs: See :func:`core.places.people_counts.count_people`.

    Returns:
        The regions, in the order of their names.
    """
    if least < k:
        raise ValueError(f"least is {least}: a dense cell needs at least k = {k} people")
    counted = counts.at_least(k)
    regions = division.regions(counted, least)
    areas = [division.outline(region) for region in regions]
    order = sorted(range(len(regions)), key=lambda i: _reading_order(areas[i]))
    people = _people(regions, counted, batches, most_pairs)
    digits = max(2, len(str(len(regions))))
    return [
        FoundRegion(
            name=f"r{number:0{digits}d}", area=areas[i], n_cells=len(regions[i]), people=int(people[i]) // k * k
        )
        for number, i in enumerate(order, 1)
    ]


def _reading_order(area: Polygon | MultiPolygon) -> tuple[float, float]:
    west, _, _, north = uncut(area).bounds
    return -north, west


def _people(
    regions: Sequence[IntArray],
    counted: PeopleCounts,
    batches: Callable[[], Iterable[CellsOfPeople]],
    most_pairs: int,
) -> IntArray:
    """Return the distinct people of each region, of those in cells that are counted."""
    cells = np.concatenate([np.empty(0, np.int64), *regions])
    owner = np.repeat(np.arange(len(regions)), [len(region) for region in regions])
    held = np.isin(cells, counted.cells)
    order = np.argsort(cells[held])
    cells, owner = cells[held][order], owner[held][order]

    def regions_of_people() -> Iterator[CellsOfPeople]:
        for where, users in [counted.pairs] if counted.pairs is not None else batches():
            at = np.minimum(np.searchsorted(cells, where), max(len(cells) - 1, 0))
            inside = cells[at] == where if len(cells) else np.zeros(len(where), np.bool_)
            yield owner[at[inside]], users[inside]

    found = np.zeros(len(regions), np.int64)
    counts = count_people(regions_of_people, most_pairs=most_pairs)
    found[counts.cells] = counts.people
    return found
