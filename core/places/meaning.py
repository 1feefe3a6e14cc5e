"""What locations mean: their place in a tree of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.places.areas import Areas, distance_m
from core.places.geo import mean_position
from core.places.locate import Locator
from core.places.taxonomy import Categories, Path
from core.places.vocabulary import Vocabulary

__all__ = ["OwnTaxonomy", "Taxonomy", "VenueTaxonomy"]


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


@dataclass(frozen=True, slots=True)
class VenueTaxonomy:
    """A publisher's categories, and the category of each venue."""

    categories: Categories = field(repr=False)
    category_of: Mapping[str, str] = field(repr=False)
    name: str
    locator: Locator = field(repr=False)
    """The venues."""

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        return [self.categories.path(self.category_of[name]) for name in vocabulary.names]

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Taxonomy.areas`; around all venues of the category, also those that nobody visits."""
        names = sorted(self.category_of)
        nowhere = np.full(len(names), np.nan)
        ids, _ = self.locator.locate(nowhere, nowhere, names)
        _, lat, lon = self.locator.describe(ids)
        below: dict[Path, list[int]] = {}
        for venue, name in enumerate(names):
            path = self.categories.path(self.category_of[name])
            for depth in range(len(path) + 1):
                below.setdefault(path[:depth], []).append(venue)
        centres = [mean_position(lat[below[path]], lon[below[path]]) for path in paths]
        at = np.array(centres, dtype=np.float64).reshape(-1, 2)
        radius_m = [
            float(distance_m(*centre, lat[below[path]], lon[below[path]]).max())
            for path, centre in zip(paths, centres, strict=True)
        ]
        return Areas(["/" + "/".join(map(str, path)) for path in paths], at[:, 0], at[:, 1], np.array(radius_m))
