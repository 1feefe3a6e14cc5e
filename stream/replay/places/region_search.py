"""Finds the regions of files: one or two passes over them, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.places.dense_regions import CellDivision, GridDivision, H3Division, least_people_for
from core.places.found_regions import FoundRegion, find_regions
from core.places.people_counts import CellsOfPeople, count_people
from stream.replay.places.file_positions import FilePositions

__all__ = ["RegionSearch", "RegionSearchError", "RegionsOfFiles"]

MOST_PAIRS = 10_000_000
"""Most pairs of a cell and a person in memory, 160 MB; with more, the files are read several times."""


class RegionSearchError(Exception):
    """No region can be found; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsOfFiles:
    """The regions of files, and how they were found."""

    regions: list[FoundRegion]
    least: int
    """Distinct people of a dense cell."""

    people: int
    """Distinct people of the files."""

    passes: int
    """How often the files were read to count people."""

    division: str
    """The cells, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSearch:
    """What to look for."""

    k: int
    """Fewest people of a region."""

    n_regions: int
    """Wanted number of regions, if there is no ``density``."""

    density: float | None
    """Share of the people of the files that makes a cell dense; None to choose it by ``n_regions``."""

    cell_m: float | None
    """Side of a grid cell, metres; None for H3 cells."""

    h3_resolution: int
    """Resolution of H3 cells, if there is no ``cell_m``."""

    most_pairs: int = MOST_PAIRS

    def run(self, files: FilePositions, progress: Callable[[str], None] = lambda _: None) -> RegionsOfFiles:
        """Read files and find their regions.

        Args:
            files: The files.
            progress: Called with a description of every step.

        Raises:
            RegionSearchError: No cell had ``k`` people, or every record was rejected.
            FileFormatError: A file cannot be read as records, or is damaged.
        """
        division, described = self._division(files)

        def cells_of_people() -> Iterator[CellsOfPeople]:
            progress("counting people")
            for users, lat_deg, lon_deg in files.batches():
                yield division.cells(lat_deg, lon_deg), users

        counts = count_people(cells_of_people, most_pairs=self.most_pairs)
        if (complaint := files.summary.complaint) is not None:
            raise RegionSearchError(complaint)
        counted = counts.at_least(self.k)
        if not len(counted.cells):
            raise RegionSearchError(
                f"no cell had {self.k} people or more: make cells larger (--cell-m, or a smaller --h3-resolution), or "
                "give more records"
            )
        progress("finding regions")
        if self.density is None:
            least = least_people_for(division, counted, self.n_regions, step=self.k) or self.k
        else:
            least = max(self.k, int(np.ceil(self.density * counts.total)))
        regions = find_regions(division, counts, cells_of_people, least=least, k=self.k, most_pairs=self.most_pairs)
        if not regions:
            raise RegionSearchError(
                f"no cell had {least} people or more, a share of {self.density} of {counts.total}: make --density "
                f"smaller; the densest cell had {int(counted.people.max()) // self.k * self.k} or more"
            )
        return RegionsOfFiles(
            regions=regions, least=least, people=counts.total, passes=counts.passes, division=described
        )

    def _division(self, files: FilePositions) -> tuple[CellDivision, str]:
        if self.cell_m is None:
            return H3Division(self.h3_resolution), f"H3 cells of resolution {self.h3_resolution}"
        batches = files.batches()
        first = next((batch.lat_deg for batch in batches if len(batch.users)), np.zeros(1))
        batches.close()
        # Whole degrees: the width of the cells must not tell where somebody was.
        lat_deg = float(np.clip(np.round(np.median(first)), -89.0, 89.0))
        degrees = f"{abs(lat_deg):g}° {'north' if lat_deg >= 0 else 'south'}"
        return GridDivision(self.cell_m, lat_deg), f"cells of {self.cell_m:g} m at {degrees}"
