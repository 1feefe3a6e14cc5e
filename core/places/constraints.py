"""Utility constraints: which locations may be generalized together (Poulis et al. 2014, Definition 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.places.meaning import Taxonomy
from core.places.vocabulary import Vocabulary

__all__ = ["Constraints", "LevelConstraints", "ListedConstraints"]


class Constraints(Protocol):
    """Utility constraints: a partition of the locations; only locations of one part are generalized together."""

    @property
    def name(self) -> str:
        """Named in every release that was made with them."""
        ...

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """Return the constraint of each location of a window."""
        ...


@dataclass(frozen=True, slots=True)
class ListedConstraints:
    """Locations and their constraints as a publisher lists them."""

    constraint_of: Mapping[str, str] = field(repr=False)
    default: str | None
    """Constraint of locations that are not listed; None if all are listed."""

    name: str

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """See :meth:`Constraints.labels`."""
        return [self.constraint_of.get(name, self.default) for name in vocabulary.names]


@dataclass(frozen=True, slots=True)
class LevelConstraints:
    """The nodes of one level of a taxonomy; a location above that level belongs to its own node."""

    taxonomy: Taxonomy
    level: int
    """1 for the nodes below the root."""

    @property
    def name(self) -> str:
        """Named in every release that was made with them."""
        return f"{self.taxonomy.name} level {self.level}"

    def labels(self, vocabulary: Vocabulary) -> list[object]:
        """See :meth:`Constraints.labels`."""
        return [path[: self.level] for path in self.taxonomy.paths(vocabulary)]
