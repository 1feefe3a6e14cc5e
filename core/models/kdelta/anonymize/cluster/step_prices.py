"""What it costs if members of a cluster change places with other trajectories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = ["StepPrices"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepPrices:
    """A cluster of ``s`` members, and ``o`` other trajectories: the members of ``q`` near clusters, and near trash.

    Costs are what a step adds to the sum of the distances inside clusters, millimetres.
    """

    members: IntArray
    clusters: IntArray
    """The near clusters, ascending."""

    others: IntArray
    their: IntArray
    """Cluster of each of the others, or ``TRASH``."""

    column: IntArray
    """Position of this cluster among the near ones, or ``q``."""

    apart: FloatArray
    """Distances of members and others, shape ``(s, o)``."""

    own: FloatArray
    """Sum of the distances of each trajectory from the other members of its cluster, shape ``(n,)``."""

    sizes: FloatArray
    """Number of members of each near cluster, shape ``(q,)``."""

    def _row(self, i: int) -> FloatArray:
        row: FloatArray = self.apart[np.searchsorted(self.members, i)]
        return row

    def _sums(self, values: FloatArray) -> FloatArray:
        """Sum up a value of the others by cluster, shape ``(q + 1,)``."""
        sums: FloatArray = np.bincount(self.column, values, len(self.clusters) + 1).astype(np.float64)
        return sums

    def _pairs(self) -> FloatArray:
        return self._sums(self.own[self.others]) / 2

    def replaced(self, i: int) -> FloatArray:
        """Return the cost for the cluster if each of the others takes the place of a member, shape ``(o,)``."""
        cost: FloatArray = (self.apart.sum(axis=0) - self._row(i) - self.own[i]) / len(self.members)
        return cost

    def joined_for(self, i: int) -> FloatArray:
        """Return the cost for their clusters if a member takes the place of each of the others, shape ``(o,)``."""
        to = self._sums(self._row(i))[self.column] - self._row(i) - self.own[self.others]
        return np.where(self.their < 0, 0.0, to / np.append(self.sizes, 1.0)[self.column])

    def left(self, i: int) -> float:
        """Return the cost for the cluster if a member leaves it."""
        s, pairs = len(self.members), float(self.own[self.members].sum()) / 2
        return (pairs - float(self.own[i])) / max(s - 1, 1) - pairs / s

    def joined(self, i: int) -> FloatArray:
        """Return the cost for each near cluster if a member joins it, shape ``(q,)``."""
        pairs = self._pairs()[:-1]
        return (pairs + self._sums(self._row(i))[:-1]) / (self.sizes + 1) - pairs / self.sizes

    def gained(self) -> FloatArray:
        """Return the cost for their clusters if each of the others leaves, shape ``(o,)``."""
        pairs, sizes = self._pairs()[self.column], np.append(self.sizes, 1.0)[self.column]
        cost: FloatArray = (pairs - self.own[self.others]) / np.maximum(sizes - 1, 1) - pairs / sizes
        return cost
