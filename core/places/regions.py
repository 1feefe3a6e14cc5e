"""Regions: divide what one shard holds into small H3 cells, and join neighbours where there are too few people."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import h3.api.basic_int as h3
import numpy as np

from core.places.locate import h3_cells
from core.records.arrays import FloatArray, IntArray, UserHashes, distinct
from core.records.by_user import same_as_before

__all__ = ["RegionRows", "Regions"]


class RegionRows(NamedTuple):
    """Some rows of a shard that are released together."""

    cell: str | None
    """The smallest cell that holds them; None for the shard."""

    rows: IntArray
    """Their numbers, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """The hierarchy of H3 cells inside the cell of a shard.

    Raises:
        ValueError: The resolutions are not ascending.
    """

    finest: int
    """Resolution of the smallest regions, up to 15."""

    coarsest: int
    """Resolution of the shard, at least 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.coarsest <= self.finest <= 15:
            raise ValueError(f"resolutions {self.coarsest} to {self.finest}: they must be ascending, from 0 to 15")

    def divide(self, users: UserHashes, lat_deg: FloatArray, lon_deg: FloatArray, *, k: int) -> list[RegionRows]:
        """Divide the rows of one shard into regions with at least ``k`` people each.

        A cell with at least ``k`` people is a region. The people of all other cells are counted together in the next
        larger cell, which is a region of those who are left if they are at least ``k``, and so on up to the shard. If
        fewer than ``k`` people are left at last, perhaps none, they join the region with the fewest people, which is
        then the shard's: its name does not reveal whether somebody joined.

        A small cell along a shard's border may have a parent beyond it: it belongs to the shard all the same.

        Args:
            users: The person of each row, shape ``(n,)``.
            lat_deg: Latitude of each row.
            lon_deg: Longitude of each row.
            k: Fewest people of a region.

        Returns:
            The shard's region first, then the others by their cells. The shard's has fewer than ``k`` people, and is
            the only one, if the shard has.
        """
        person = np.unique(users, return_inverse=True)[1].astype(np.int64)
        cell = h3_cells(lat_deg, lon_deg, self.finest)
        left = np.arange(len(users))
        regions: list[RegionRows] = []
        for resolution in range(self.finest, self.coarsest, -1):
            cell = _parents(cell, resolution)
            still_left = [np.empty(0, np.int64)]
            for rows in _together(left, cell):
                if len(distinct(person[rows])) >= k:
                    regions.append(RegionRows(h3.int_to_str(int(cell[rows[0]])), rows))
                else:
                    still_left.append(rows)
            left = np.concatenate(still_left)
        if regions and len(distinct(person[left])) < k:
            fewest = min(regions, key=lambda region: (len(distinct(person[region.rows])), region.cell))
            regions.remove(fewest)
            left = np.concatenate((left, fewest.rows))
        return [RegionRows(None, np.sort(left)), *sorted(regions, key=lambda region: str(region.cell))]


def _parents(cell: IntArray, resolution: int) -> IntArray:
    """Return the cells of a coarser resolution, or of the same, that hold some cells."""
    present, number = np.unique(cell, return_inverse=True)
    return np.array([h3.cell_to_parent(one, resolution) for one in present.tolist()], np.int64)[number]


def _together(rows: IntArray, cell: IntArray) -> list[IntArray]:
    """Return those of some rows that are in one cell, each ascending, for every cell."""
    ordered = rows[np.lexsort((rows, cell[rows]))]
    bounds = np.append(np.flatnonzero(~same_as_before(cell[ordered])), len(ordered))
    return [ordered[first:last] for first, last in pairwise(bounds.tolist())]
