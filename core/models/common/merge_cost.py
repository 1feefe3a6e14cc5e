"""What "nearest" means when locations are generalized together: the only step in which the SeqAnon models differ.

Costs are compared as whole numbers, so that every processor makes the same choice.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from core.places.taxonomy import LocationTree
from core.records.arrays import FloatArray, IntArray

__all__ = ["Constrained", "MergeCost", "Semantic", "Spatial"]


class MergeCost(Protocol):
    """How much it costs to generalize a location together with each other one."""

    def cost(self, location: int, distance_mm: FloatArray) -> FloatArray:
        """Weigh the distances from one generalized location to all.

        Args:
            location: The generalized location, by its smallest member's id.
            distance_mm: Whole millimetres to each location, infinite for locations out of use, shape ``(L,)``.

        Returns:
            Costs, whole numbers, infinite if generalizing together is not allowed, shape ``(L,)``.
        """
        ...

    def merge(self, into: int, absorbed: int) -> None:
        """Record that two generalized locations were merged."""
        ...


class Spatial:
    """Distance alone (SeqAnon, step 7)."""

    def cost(self, location: int, distance_mm: FloatArray) -> FloatArray:
        """See :meth:`MergeCost.cost`."""
        return distance_mm

    def merge(self, into: int, absorbed: int) -> None:
        """See :meth:`MergeCost.merge`."""


class Semantic:
    """Distance times semantic dissimilarity (SD-SeqAnon, step 7): ``d(l1, l2) * SD({l1, l2})``.

    The dissimilarity is a number of leaves; dividing it by the number of all leaves would not change the order.
    """

    def __init__(self, tree: LocationTree) -> None:
        self._tree = tree
        self._paths: IntArray = tree.rows()  # (L, depth) path to the common ancestor of each generalized location

    def cost(self, location: int, distance_mm: FloatArray) -> FloatArray:
        """See :meth:`MergeCost.cost`."""
        together = self._tree.common(self._paths, self._paths[location])
        return distance_mm * self._tree.leaves(together)

    def merge(self, into: int, absorbed: int) -> None:
        """See :meth:`MergeCost.merge`."""
        self._paths[into] = self._tree.common(self._paths[into], self._paths[absorbed])


class Constrained:
    """Distance inside a utility constraint (U-SeqAnon, steps 7 and 8)."""

    def __init__(self, constraint_of: IntArray) -> None:
        self._constraint_of = constraint_of  # (L,) merging never leaves a constraint, so this never changes

    def cost(self, location: int, distance_mm: FloatArray) -> FloatArray:
        """See :meth:`MergeCost.cost`."""
        return np.where(self._constraint_of == self._constraint_of[location], distance_mm, np.inf)

    def merge(self, into: int, absorbed: int) -> None:
        """See :meth:`MergeCost.merge`."""
