"""Regions: divide what one shard holds into small H3 cells, and join neighbours where there are too few people."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import h3.api.basic_int as h3
import numpy as np

from core.records.arrays import FloatArray, IntArray, UserHashes, distinct

__all__ = ["NOWHERE", "Regions"]

NOWHERE = -1
"""The region of rows that are in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """The hierarchy of H3 cells between two resolutions.

    Raises:
        ValueError: The finest resolution is coarser than the coarsest one.
    """

    finest: int
    """Resolution of the smallest regions, up to 15."""

    coarsest: int
    """Resolution of the largest regions, at least 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.coarsest <= self.finest <= 15:
            raise ValueError(f"resolutions {self.coarsest} to {self.finest}: they must be ascending, from 0 to 15")

    def divide(
        self, users: UserHashes, lat_deg: FloatArray, lon_deg: FloatArray, *, k: int
    ) -> tuple[IntArray, list[str]]:
        """Divide rows into regions with at least ``k`` people each.

        A cell with at least ``k`` people is a region. The people of all other cells are counted together in the next
        larger cell, which is a region of those who are left if they are at least ``k``, and so on. Those who are still
        left in a cell of the coarsest resolution join its region with the fewest people, if it has any.

        Args:
            users: The person of each row, shape ``(n,)``.
            lat_deg: Latitude of each row.
            lon_deg: Longitude of each row.
            k: Fewest people of a region.

        Returns:
            The region of each row, shape ``(n,)``, :data:`NOWHERE` if fewer than ``k`` people are in the coarsest cell
            around it; and the name of each region: the smallest cell that holds it.
        """
        person = np.unique(users, return_inverse=True)[1].astype(np.int64)
        cell = _cells(lat_deg, lon_deg, self.finest)
        region, names = np.full(len(users), NOWHERE), list[str]()
        for resolution in range(self.finest, self.coarsest - 1, -1):
            cell = _parents(cell, resolution)
            left = np.flatnonzero(region == NOWHERE)
            for rows in _by_cell(cell[left]):
                if len(distinct(person[left[rows]])) >= k:
                    region[left[rows]] = len(names)
                    names.append(h3.int_to_str(int(cell[left[rows[0]]])))
        self._join_the_rest(region, names, person, cell)
        return region, names

    def _join_the_rest(self, region: IntArray, names: list[str], person: IntArray, cell: IntArray) -> None:
        """Let the rows that are left in a cell of the coarsest resolution join its smallest region.

        The cell's own name is free: had its rows been enough for a region, none would be left.
        """
        for rows in _by_cell(cell):
            others = distinct(region[rows])
            if others[0] != NOWHERE or len(others) == 1:
                continue
            smallest = min(others[1:].tolist(), key=lambda one: (len(distinct(person[region == one])), names[one]))
            region[rows[region[rows] == NOWHERE]] = smallest
            names[smallest] = h3.int_to_str(int(cell[rows[0]]))


def _cells(lat_deg: FloatArray, lon_deg: FloatArray, resolution: int) -> IntArray:
    places, place_of = np.unique(np.column_stack((lat_deg, lon_deg)), axis=0, return_inverse=True)
    cells = [h3.latlng_to_cell(lat, lon, resolution) for lat, lon in places.tolist()]
    return np.array(cells, np.int64)[place_of.reshape(-1)]


def _parents(cell: IntArray, resolution: int) -> IntArray:
    """Return the cells of a coarser resolution, or of the same, that hold some cells."""
    present, number = np.unique(cell, return_inverse=True)
    return np.array([h3.cell_to_parent(one, resolution) for one in present.tolist()], np.int64)[number]


def _by_cell(cell: IntArray) -> list[IntArray]:
    """Return the rows of each cell, cells ascending."""
    order = np.argsort(cell, kind="stable")
    cuts = np.flatnonzero(np.append(True, cell[order][1:] != cell[order][:-1])[: len(cell)])
    return [order[first:last] for first, last in pairwise([*cuts.tolist(), len(cell)])]
