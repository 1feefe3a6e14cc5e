"""How alike two sets of journeys are in what studies of mobility use: heat maps, trips, lengths, radii of gyration.

None of these measures pairs people, so they apply to every release with positions. A heat map counts visits per square
cell. Both data sets are in the same coordinates, metres.
"""

from __future__ import annotations

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = [
    "cells_of",
    "ends_of_trips",
    "jensen_shannon",
    "mean_shift",
    "radii_of_gyration_m",
    "trip_lengths_m",
]


def cells_of(xy_m: FloatArray, cell_m: float) -> IntArray:
    """Return the square cell of each position, as its column and row, shape ``(p, 2)``.

    Raises:
        ValueError: The side of a cell is not above 0.
    """
    if not cell_m > 0:
        raise ValueError(f"cell_m is {cell_m}: the side of a cell must be above 0 metres")
    cells: IntArray = np.floor(xy_m / cell_m).astype(np.int64)
    return cells


def ends_of_trips(starts: IntArray, cells: IntArray) -> IntArray:
    """Return the cell in which each journey with at least two visits begins, and that in which it ends.

    Args:
        starts: Where each journey begins, then ``p``, shape ``(n + 1,)``.
        cells: Cell of each visit, shape ``(p, 2)``.

    Returns:
        Shape ``(t, 4)``.
    """
    is_trip = np.diff(starts) >= 2
    return np.column_stack([cells[starts[:-1][is_trip]], cells[starts[1:][is_trip] - 1]])


def jensen_shannon(before: IntArray, after: IntArray) -> float:
    """Return the Jensen-Shannon divergence of two distributions over the same kinds of things (Lin 1991).

    ``JSD(P, Q) = (KL(P || M) + KL(Q || M)) / 2`` with ``M = (P + Q) / 2``, in bits: 0 for equal distributions, 1 if
    nothing occurs in both.

    Args:
        before: What occurs, one row for each occurrence, shape ``(n, d)``.
        after: The same of the other data set, shape ``(m, d)``.

    Returns:
        A value in ``0..1``; NaN if one of both is empty.

    >>> jensen_shannon(np.array([[1], [2]]), np.array([[2], [1], [1], [2]]))
    0.0
    >>> jensen_shannon(np.array([[1]]), np.array([[2]]))
    1.0
    """
    if not len(before) or not len(after):
        return float("nan")
    _, number = np.unique(np.concatenate([before, after]), axis=0, return_inverse=True)
    n_kinds = int(number.max()) + 1
    p, q = (np.bincount(part, minlength=n_kinds) / len(part) for part in (number[: len(before)], number[len(before) :]))
    middle = (p + q) / 2
    parts = [(one[one > 0] * np.log2(one[one > 0] / middle[one > 0])).sum() for one in (p, q)]
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


def trip_lengths_m(starts: IntArray, xy_m: FloatArray) -> FloatArray:
    """Return the length of each journey with at least two visits, straight from visit to visit, metres, shape ``(t,)``.

    Args:
        starts: Where each journey begins, then ``p``, shape ``(n + 1,)``.
        xy_m: Positions, metres, shape ``(p, 2)``.
    """
    steps_m = np.append(np.sqrt((np.diff(xy_m, axis=0) ** 2).sum(axis=1)), 0.0)[: len(xy_m)]
    ends = starts[1:][np.diff(starts) > 0] - 1
    steps_m[ends] = 0.0  # from the last visit of a journey no step leads on
    total_m = np.concatenate(([0.0], np.cumsum(steps_m)))
    lengths_m: FloatArray = (total_m[starts[1:]] - total_m[starts[:-1]])[np.diff(starts) >= 2]
    return lengths_m


def radii_of_gyration_m(starts: IntArray, xy_m: FloatArray) -> FloatArray:
    """Return the radius of gyration of each journey that is not empty, metres, shape ``(j,)``.

    ``r_g = sqrt(avg{|r_i - r_cm|^2})``, the spread of the visits about their mean (González, Hidalgo, Barabási 2008).

    Args:
        starts: Where each journey begins, then ``p``, shape ``(n + 1,)``.
        xy_m: Positions, metres, shape ``(p, 2)``.
    """
    sizes = np.diff(starts)
    sizes = sizes[sizes > 0]
    journey = np.repeat(np.arange(len(sizes)), sizes)
    means_m = np.column_stack([np.bincount(journey, axis, len(sizes)) / sizes for axis in xy_m.T])
    squared = ((xy_m - means_m[journey]) ** 2).sum(axis=1)
    return np.sqrt(np.bincount(journey, squared, len(sizes)) / sizes)
