"""What locations mean: their place in a tree of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.places.locate import Locator
from core.places.taxonomy import Categories, Path
from core.places.vocabulary import Vocabulary

__all__ = ["WITHOUT_CATEGORY", "OwnTaxonomy", "Taxonomy", "VenueTaxonomy"]

WITHOUT_CATEGORY: Path = (None,)
"""Path of the locations without a category, such as cells in which no place is known: a node that no name can mean."""


class Taxonomy(Protocol):
    """The place of each location in a tree of categories."""

    @property
    def name(self) -> str:
        """Named in every release that was made with it."""
        ...

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """Return the nodes above each location of a window, the coarsest first."""
        ...


@dataclass(frozen=True, slots=True)
class OwnTaxonomy:
    """The locations' own hierarchy: H3 parents, grid quadrants."""

    locator: Locator = field(repr=False)
    name: str = "own"

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        return self.locator.ancestors(vocabulary.ids)


@dataclass(frozen=True, slots=True)
class VenueTaxonomy:
    """A publisher's categories, and the category of each venue or place."""

    categories: Categories = field(repr=False)
    category_of: Mapping[str, str] = field(repr=False)
    """By public name. Locations that it lacks are together, apart from all categories."""

    name: str

    def paths(self, vocabulary: Vocabulary) -> list[Path]:
        """See :meth:`Taxonomy.paths`."""
        found = [self.category_of.get(name) for name in vocabulary.names]
        return [WITHOUT_CATEGORY if one is None else self.categories.path(one) for one in found]
