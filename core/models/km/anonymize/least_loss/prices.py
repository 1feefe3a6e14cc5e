"""What a release costs: one loss for merging, suppressing and splitting, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.km.anonymize.seqanon import Generalization
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import Sequences
from core.utility.distance import location_distance

__all__ = ["Prices", "moved_m", "whole_window_m", "window_loss_m"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of suppressions and splits, in multiples of :func:`whole_window_m`.

    A suppressed visit conveys nothing, and a visit generalized to one location for the whole window conveys as little.
    So 1 is the natural price of a suppressed visit.

    Raises:
        ValueError: A price is negative or not finite.
    """

    suppression: float = 1.0
    """Price of a suppressed visit."""

    split: float = 1.0
    """Price of a split."""

    def __post_init__(self) -> None:
        for name in ("suppression", "split"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} is {getattr(self, name)}: a price must be a finite number, 0 or more")


def whole_window_m(trajectories: Sequences, xy_m: FloatArray) -> float:
    """Return the mean distance that visits would be moved if the window were one location, metres; 1 if that is 0.

    Args:
        trajectories: The window, with at least one visit.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
    """
    visited, rows = np.unique(trajectories.locations, return_inverse=True)
    whole_m = moved_m(xy_m[visited], np.zeros(len(visited), np.int64), rows)
    return whole_m / len(rows) or 1.0


def moved_m(xy_m: FloatArray, group_of: IntArray, visits: IntArray) -> float:
    """Sum the distances that visits are moved, ``D_loc`` of Poulis et al. 2014, Definition 6, metres.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        group_of: Generalized location of each, shape ``(L,)``.
        visits: The location of each visit.
    """
    return float((location_distance(xy_m, group_of) * np.bincount(visits, minlength=len(xy_m))).sum())


def window_loss_m(
    trajectories: Sequences,
    xy_m: FloatArray,
    result: Generalization,
    prices: Prices,
    *,
    whole_m: float | None = None,
) -> float:
    """Return the loss of a release: the total cost, divided by the visits of the window.

    A released visit costs the distance that it is moved; a suppressed visit and a split cost their prices.

    Args:
        trajectories: The window, with at least one visit.
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        result: Its release.
        prices: Prices.
        whole_m: :func:`whole_window_m`, if already computed: it needs the distances between all locations.

    Returns:
        Metres per visit.
    """
    kept, n_visits = result.kept, len(trajectories.locations)
    paid = prices.suppression * (n_visits - int(kept.sum())) + prices.split * len(result.splits)
    released_m = moved_m(xy_m, result.group_of, trajectories.locations[kept])
    return (released_m + paid * (whole_window_m(trajectories, xy_m) if whole_m is None else whole_m)) / n_visits
