"""What locations mean: their place in a tree of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.places.areas import HALF_AROUND_M, Areas, distance_m
from core.places.geo import mean_position
from core.places.locate import Locator
from core.places.taxonomy import Categories, Path
from core.places.vocabulary import Vocabulary
from core.records.arrays import FloatArray

__all__ = ["WITHOUT_CATEGORY", "NamedPlaces", "OwnTaxonomy", "Taxonomy", "VenueTaxonomy"]

WITHOUT_CATEGORY: Path = (None,)
"""Path of the locations without a category, such as cells in which no place is known: a node that no name can mean."""

_NO_NAME = "(without category)"


class Taxonomy(Protocol):
    """The place of each location in a tree of categories."""

    @property
    def name(self) -> str:
        """Named in every release that was made with it."""
        ...

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """Return the nodes above each location of a window, the coarsest first."""
        ...

    def areas(self, paths: Sequence[Path]) -> Areas:
        """Describe the last node of each path, a path of :meth:`paths` or its beginning, whoever is there."""
        ...


@dataclass(frozen=True, slots=True)
class OwnTaxonomy:
    """The locations' own hierarchy: H3 parents, grid quadrants."""

    locator: Locator = field(repr=False)
    name: str = "own"

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        return self.locator.ancestors(vocabulary.ids)

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Taxonomy.areas`."""
        return self.locator.areas(paths)


class NamedPlaces(Protocol):
    """Places that have public names: venues, or points of interest."""

    def positions(self, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return where they are: degrees north and east, shape ``(n,)``."""
        ...


@dataclass(frozen=True, slots=True)
class VenueTaxonomy:
    """A publisher's categories, and the category of each venue or place."""

    categories: Categories = field(repr=False)
    category_of: Mapping[str, str] = field(repr=False)
    """By public name. Locations that it lacks are together, apart from all categories."""

    name: str
    places: NamedPlaces = field(repr=False)
    """Where they are."""

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        found = [self.category_of.get(name) for name in vocabulary.names]
        return [WITHOUT_CATEGORY if one is None else self.categories.path(one) for one in found]

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Taxonomy.areas`; around all venues of the category, also those that nobody visits."""
        names = sorted(self.category_of)
        lat, lon = self.places.positions(names)
        below: dict[Path, list[int]] = {}
        for venue, name in enumerate(names):
            path = self.categories.path(self.category_of[name])
            for depth in range(len(path) + 1):
                below.setdefault(path[:depth], []).append(venue)
        # Locations without a category may be anywhere.
        members = [below.get(path, below[()]) for path in paths]
        centres = [mean_position(lat[some], lon[some]) for some in members]
        at = np.array(centres, dtype=np.float64).reshape(-1, 2)
        radius_m = [
            float(distance_m(*centre, lat[some], lon[some]).max()) if path in below else HALF_AROUND_M
            for path, centre, some in zip(paths, centres, members, strict=True)
        ]
        names = ["/" + "/".join(_NO_NAME if part is None else str(part) for part in path) for path in paths]
        return Areas(names, at[:, 0], at[:, 1], np.array(radius_m))
