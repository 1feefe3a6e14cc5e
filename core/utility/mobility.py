"""How alike two sets of journeys are in what studies of mobility use: heat maps, trips, lengths, radii of gyration.

None of these measures pairs people, so they apply to every release with positions. They are computed from a profile,
which is collected piece by piece: its memory grows with the number of journeys and cells, not with that of visits.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.records.by_user import is_last_of_user, position_in_user

__all__ = ["Histogram", "MobilityProfile", "cells_of", "jensen_shannon", "mean_shift"]


def cells_of(xy_m: FloatArray, cell_m: float) -> IntArray:
    """Return the square cell of each position, as its column and row, shape ``(p, 2)``.

    Raises:
        ValueError: The side of a cell is not above 0.
    """
    if not cell_m > 0:
        raise ValueError(f"cell_m is {cell_m}: the side of a cell must be above 0 metres")
    cells: IntArray = np.floor(xy_m / cell_m).astype(np.int64)
    return cells


class Histogram(NamedTuple):
    """How often different things occur."""

    things: IntArray
    """Different rows, shape ``(n, d)``."""

    counts: IntArray
    """Shape ``(n,)``, at least 1."""

    @classmethod
    def of(cls, rows: IntArray) -> Histogram:
        """Count equal rows, shape ``(m, d)``."""
        things, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(things, counts.astype(np.int64))


def jensen_shannon(before: Histogram, after: Histogram) -> float:
    """Return the Jensen-Shannon divergence of two distributions over the same kinds of things (Lin 1991).

    ``JSD(P, Q) = (KL(P || M) + KL(Q || M)) / 2`` with ``M = (P + Q) / 2``, in bits: 0 for equal distributions, 1 if
    nothing occurs in both.

    Returns:
        A value in ``0..1``; NaN if one of both is empty.

    >>> one, other = Histogram.of(np.array([[1], [2]])), Histogram.of(np.array([[2], [1], [1], [2]]))
    >>> jensen_shannon(one, other), jensen_shannon(one, Histogram.of(np.array([[3]])))
    (0.0, 1.0)
    """
    n = len(before.counts)
    if not n or not len(after.counts):
        return float("nan")
    _, number = np.unique(np.concatenate([before.things, after.things]), axis=0, return_inverse=True)
    number = number.ravel()
    shares = np.zeros((2, int(number.max()) + 1))
    shares[0, number[:n]] = before.counts / before.counts.sum()
    shares[1, number[n:]] = after.counts / after.counts.sum()
    middle = shares.mean(axis=0)
    parts = [(one[one > 0] * np.log2(one[one > 0] / middle[one > 0])).sum() for one in shares]
    return float(np.clip(sum(parts) / 2, 0.0, 1.0))


def mean_shift(before: FloatArray, after: FloatArray) -> float:
    """Return how far one has to move the values of a distribution, on average, to make another of it.

    This is the Wasserstein-1 or earth mover's distance of two samples, ``integral of |F(x) - G(x)| dx``.

    Args:
        before: Values, shape ``(n,)``.
        after: Values, shape ``(m,)``.

    Returns:
        In the unit of the values; NaN if one of both is empty.

    >>> mean_shift(np.array([0.0, 1.0]), np.array([5.0, 6.0]))
    5.0
    """
    if not len(before) or not len(after):
        return float("nan")
    values = np.sort(np.concatenate([before, after]))
    shares = [np.searchsorted(np.sort(one), values[:-1], side="right") / len(one) for one in (before, after)]
    return float((np.abs(shares[0] - shares[1]) * np.diff(values)).sum())


class MobilityProfile:
    """Heat map, trips, lengths and radii of a feed, collected piece by piece.

    Args:
        cell_m: Side of a cell, metres.
    """

    def __init__(self, cell_m: float) -> None:
        self._cell_m = cell_m
        self._cells = Counter[tuple[int, int]]()
        self._visits = np.zeros(0, np.int64)
        self._first = np.zeros((0, 2), np.int64)  # cells
        self._last_m, self._mean_m = np.zeros((0, 2)), np.zeros((0, 2))
        self._length_m, self._squared_m2 = np.zeros(0), np.zeros(0)

    def add(self, journeys: IntArray, xy_m: FloatArray) -> None:
        """Add visits. Those of a journey come in the order of time, also over several calls.

        Args:
            journeys: Number of each visit's journey, in ``0..n - 1``, ascending, shape ``(v,)``.
            xy_m: Positions, metres, shape ``(v, 2)``.
        """
        if not len(journeys):
            return
        self._grow(int(journeys[-1]) + 1)
        cells = cells_of(xy_m, self._cell_m)
        found = Histogram.of(cells)
        for cell, count in zip(map(tuple, found.things.tolist()), found.counts.tolist(), strict=True):
            self._cells[cell] += count
        begins = position_in_user(journeys) == 0
        at = journeys[begins]
        is_new = self._visits[at] == 0
        self._first[at[is_new]] = cells[begins][is_new]
        before_m = np.concatenate([xy_m[:1], xy_m[:-1]])
        before_m[begins] = np.where(is_new[:, None], xy_m[begins], self._last_m[at])
        steps_m = np.sqrt(((xy_m - before_m) ** 2).sum(axis=1))
        self._last_m[at] = xy_m[is_last_of_user(journeys)]
        rank = np.cumsum(begins) - 1
        n = np.bincount(rank)
        self._length_m[at] += np.bincount(rank, steps_m)
        # Means and squared deviations of two parts are joined (Chan, Golub, LeVeque 1983), as sums of squares cancel.
        mean_m = np.column_stack([np.bincount(rank, axis) / n for axis in xy_m.T])
        squared_m2 = np.bincount(rank, ((xy_m - mean_m[rank]) ** 2).sum(axis=1))
        old = self._visits[at]
        apart_m = mean_m - self._mean_m[at]
        self._squared_m2[at] += squared_m2 + (apart_m**2).sum(axis=1) * old * n / (old + n)
        self._mean_m[at] += apart_m * (n / (old + n))[:, None]
        self._visits[at] += n

    @property
    def heat_map(self) -> Histogram:
        """Visits of each cell, which is its column and row."""
        cells = sorted(self._cells)
        return Histogram(
            np.array(cells, np.int64).reshape(-1, 2), np.array([self._cells[one] for one in cells], np.int64)
        )

    @property
    def trips(self) -> Histogram:
        """Cells in which journeys with at least two visits begin and end: two columns and two rows."""
        ends = np.column_stack([self._first, cells_of(self._last_m, self._cell_m)])
        return Histogram.of(ends[self._visits >= 2])

    @property
    def lengths_m(self) -> FloatArray:
        """Length of each journey with at least two visits, straight from visit to visit, metres, shape ``(t,)``."""
        return self._length_m[self._visits >= 2]

    @property
    def radii_m(self) -> FloatArray:
        """Radius of gyration of each journey that is not empty, metres, shape ``(j,)``.

        ``r_g = sqrt(avg{|r_i - r_cm|^2})``, the spread of the visits about their mean (González, Hidalgo, Barabási
        2008).
        """
        has_any = self._visits > 0
        radii_m: FloatArray = np.sqrt(self._squared_m2[has_any] / self._visits[has_any])
        return radii_m

    def _grow(self, n: int) -> None:
        """Make room for journeys, twice as much as there was, so that adding many takes linear time."""
        if n <= len(self._visits):
            return
        more = max(n, 2 * len(self._visits)) - len(self._visits)
        for name in ("_visits", "_first", "_last_m", "_mean_m", "_length_m", "_squared_m2"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)]))
