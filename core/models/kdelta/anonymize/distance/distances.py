"""Distances between trajectories for clustering: whole numbers, with lower bounds where they are not measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Distances", "Euclidean", "Measured", "Row"]


class Distances(Protocol):
    """A symmetric distance over one data set of ``n`` trajectories.

    Distances are whole numbers, so that every processor makes the same choices. ``unit`` of them are one metre, or one
    edit a point.
    """

    unit: int
    in_metres: bool
    """Whether distances are in parts of a metre; otherwise in parts of an edit a point."""

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        """Measure pairs of trajectories, all at once.

        Args:
            ones: Numbers of trajectories, shape ``(o,)``, or one number for all pairs.
            others: Numbers of the trajectories to measure them to, shape ``(o,)``.

        Returns:
            Whole units, shape ``(o,)``.
        """
        ...

    def lower_bounds(self, pivot: int) -> IntArray:
        """Bound the distance of every trajectory from a pivot from below, at a small part of its cost.

        Returns:
            Whole units, never above :meth:`between`, shape ``(n,)``.
        """
        ...


class Euclidean:
    """Mean distance at equal times, of trajectories that share their time stamps (Abul, Bonchi, Nanni 2008).

    Args:
        trajectories: The data set; all ``n`` have the same ``m`` time stamps, one at least.

    Raises:
        ValueError: Their time stamps differ, or there are none.
    """

    unit = 1000
    in_metres = True

    def __init__(self, trajectories: PointTrajectories) -> None:
        n = len(trajectories.users)
        n_points = len(trajectories.t_ms) // max(n, 1)
        if n and (not n_points or np.any(np.diff(trajectories.starts) != n_points)):
            raise ValueError("trajectories must have equally many points, one at least, to be compared at equal times")
        t_ms = trajectories.t_ms.reshape(n, n_points)
        if np.any(t_ms != t_ms[:1]):
            raise ValueError("trajectories must share their time stamps to be compared at equal times")
        self._n = n
        self._xy_m: FloatArray = trajectories.xy_m.reshape(n, n_points, 2)

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        """See :meth:`Distances.between`; millimetres."""
        if not len(others):
            return np.zeros(0, dtype=np.int64)
        apart = self._xy_m[others] - self._xy_m[ones]
        apart_mm: IntArray = np.rint(1000.0 * np.hypot(*np.moveaxis(apart, -1, 0)).mean(axis=-1)).astype(np.int64)
        return apart_mm

    def lower_bounds(self, pivot: int) -> IntArray:
        """See :meth:`Distances.lower_bounds`; these are the exact distances, which cost no more."""
        return self.between(pivot, np.arange(self._n))


@dataclass(slots=True, eq=False)
class Row:
    """What is known of the distances of all trajectories from one pivot, shapes ``(n,)``."""

    at_least: IntArray
    """The distance where it is known, a lower bound where it is not. Whole units."""

    known: BoolArray


class Measured:
    """Distances from pivots, measured once and only where a decision depends on them: ``9 n`` bytes a pivot.

    Args:
        distances: Measures the distances.
        n: Number of trajectories.
    """

    def __init__(self, distances: Distances, n: int) -> None:
        self._distances, self._n = distances, n
        self._rows: dict[int, Row] = {}

    @property
    def per_metre(self) -> int | None:
        """Whole units in a metre; None if distances are not in metres."""
        return self._distances.unit if self._distances.in_metres else None

    def row(self, pivot: int) -> Row:
        """Return what is known of the distances from a pivot; at first that is their lower bounds."""
        if pivot not in self._rows:
            bounds = self._distances.lower_bounds(pivot)
            self._rows[pivot] = Row(at_least=bounds.copy(), known=np.zeros(self._n, dtype=bool))
        return self._rows[pivot]

    def measure(self, pivot: int, others: IntArray) -> IntArray:
        """Return the distances of some trajectories from a pivot, shape ``(o,)``, measuring those not yet known."""
        row = self.row(pivot)
        unknown = others[~row.known[others]]
        if len(unknown):
            row.at_least[unknown] = self._distances.between(pivot, unknown)
            row.known[unknown] = True
        return row.at_least[others]

    def measure_pairs(self, ones: IntArray, others: IntArray) -> IntArray:
        """Return the distances of pairs, shape ``(o,)``, measuring all that are not yet known at once."""
        known = np.zeros(len(ones), dtype=bool)
        distances = np.zeros(len(ones), dtype=np.int64)
        order = np.argsort(ones, kind="stable")
        by_pivot = np.split(order, np.flatnonzero(np.diff(ones[order])) + 1) if len(order) else []
        for same_pivot in by_pivot:
            row = self.row(int(ones[same_pivot[0]]))
            known[same_pivot] = row.known[others[same_pivot]]
            distances[same_pivot] = row.at_least[others[same_pivot]]
        if not known.all():
            distances[~known] = self._distances.between(ones[~known], others[~known])
        for same_pivot in by_pivot:
            row = self.row(int(ones[same_pivot[0]]))
            row.at_least[others[same_pivot]] = distances[same_pivot]
            row.known[others[same_pivot]] = True
        return distances

    def between(self, ones: IntArray, others: IntArray) -> IntArray:
        """Return the distances of pairs, shape ``(o,)``, without remembering them."""
        return self._distances.between(ones, others)
