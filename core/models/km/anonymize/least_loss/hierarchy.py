"""The order in which locations are merged: next are always the two whose merge costs least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.utility.distance import pairwise_distances

__all__ = ["MergeHierarchy", "hierarchy"]

_MOST_AT_ONCE = 2_048
"""Most locations whose pairwise distances are held at once: memory grows with the square."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHierarchy:
    """The ``L - 1`` merges that make one generalized location of ``L`` locations."""

    into: IntArray
    """Generalized location that grows with each merge, named by its smallest member's id, shape ``(L - 1,)``."""

    absorbed: IntArray
    """Generalized location that each merge adds to it, shape ``(L - 1,)``."""

    moved_m: FloatArray
    """Distance that all visits together are moved after 0, 1, ..., ``L - 1`` merges, metres, shape ``(L,)``."""

    def group_of(self, merges: int) -> IntArray:
        """Return the generalized location of each location after some merges, shape ``(L,)``."""
        parent = np.arange(len(self.moved_m))
        parent[self.absorbed[:merges]] = self.into[:merges]
        group_of = parent
        while not np.array_equal(group_of, group_of[group_of]):
            group_of = group_of[group_of]  # twice as far up each time, because a chain of merges may be long
        return group_of


def hierarchy(xy_m: FloatArray, visits: IntArray, *, most_at_once: int = _MOST_AT_ONCE) -> MergeHierarchy:
    """Merge the two generalized locations that add least to the distance visits are moved, until one is left.

    A visit is moved by ``D_loc`` of its location (Poulis et al. 2014, Definition 6): the mean distance to the members
    of its generalized location, itself included. Rarely visited locations therefore first merge with others that
    are near and rarely visited: these are the ones in infrequent subtrajectories. Costs are compared in whole
    millimetres; ties are broken by ids.

    With more than ``most_at_once`` locations, the plane is halved across its longer side until no part has more. Each
    part is merged on its own. Then the parts are merged; the distance between two parts' centroids stands for the
    distances between their locations.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``, ``L >= 1``.
        visits: How often each is visited, shape ``(L,)``.
        most_at_once: Most locations of a part, at least 2.
    """
    xy_mm = np.rint(xy_m * 1000)
    counts = visits.astype(np.float64)
    merges: list[_Merge] = []
    parts = sorted(_parts(xy_mm, np.arange(len(xy_m)), most_at_once), key=lambda part: int(part[0]))
    inside_mm = np.zeros(len(parts))
    for number, part in enumerate(parts):
        merging = _Merging(part, np.ones(len(part)), counts[part, None] * _distances(xy_mm[part]))
        merges += merging.run()
        inside_mm[number] = merging.sum_mm
    if len(parts) > 1:
        merges.sort(key=lambda merge: merge.turn_mm)  # stable: a merge stays behind the merges it builds on
        sizes = np.array([len(part) for part in parts], np.float64)
        visited = np.array([visits[part].sum() for part in parts], np.float64)
        moved_mm = visited[:, None] * sizes * _distances(np.array([np.rint(xy_mm[p].mean(axis=0)) for p in parts]))
        np.fill_diagonal(moved_mm, inside_mm)
        merges += _Merging(np.array([part[0] for part in parts]), sizes, moved_mm).run()
    return MergeHierarchy(
        into=np.array([merge.into for merge in merges], np.int64),
        absorbed=np.array([merge.absorbed for merge in merges], np.int64),
        # Where locations lie within millimetres of each other, rounding may make the sum negative.
        moved_m=np.maximum(np.cumsum([0.0, *(merge.added_mm for merge in merges)]), 0.0) / 1000,
    )


class _Merge(NamedTuple):
    into: int
    absorbed: int
    added_mm: float
    """Distance it adds to what all visits are moved; negative where it adds many near members to a far one."""

    turn_mm: float
    """Largest ``added_mm`` of this merge and those before it."""


class _Merging:
    """Merges generalized locations until one is left.

    Args:
        names: Name of each, its smallest member's id, ascending, shape ``(g,)``.
        sizes: Members of each, shape ``(g,)``.
        moved_mm: Distance, summed over all visits of one (row) and all members of another (column), millimetres, shape
            ``(g, g)``; changed in place.
    """

    def __init__(self, names: IntArray, sizes: FloatArray, moved_mm: FloatArray) -> None:
        self._names, self._sizes, self._moved_mm = names, sizes, moved_mm
        self._own_mm = moved_mm.diagonal() / sizes  # (g,) distance that each one's visits are moved
        self._there = np.ones(len(names), np.bool_)
        self.sum_mm = float(moved_mm[0, 0])
        """After :meth:`run`: the sum of the distances between all visits and all members."""

    def run(self) -> list[_Merge]:
        """Merge until only the first one is left; return the merges."""
        merges: list[_Merge] = []
        g, turn_mm = len(self._names), -np.inf
        # For each, the partner that is cheapest to merge with: a merge changes only some of them.
        added_mm = self._added(np.arange(g))
        best = added_mm.argmin(axis=1) if g else np.zeros(0, np.int64)
        best_mm = added_mm[np.arange(g), best]
        for _ in range(g - 1):
            row = int(best_mm.argmin())
            into, absorbed = sorted((row, int(best[row])))
            turn_mm = max(turn_mm, float(best_mm[row]))
            merges.append(_Merge(int(self._names[into]), int(self._names[absorbed]), float(best_mm[row]), turn_mm))
            self._merge(into, absorbed)
            best_mm[absorbed] = added_mm[absorbed] = added_mm[:, absorbed] = np.inf
            added_mm[into] = added_mm[:, into] = self._added(np.array([into]))[0]
            stale = self._there & ((best == into) | (best == absorbed))
            # If merging with the merged one costs no more than before, it is still the best: other costs are unchanged.
            still = stale & (added_mm[:, into] <= best_mm)
            best[still], best_mm[still] = into, added_mm[still, into]
            stale = np.append(np.flatnonzero(stale & ~still), into)
            best[stale] = added_mm[stale].argmin(axis=1)
            best_mm[stale] = added_mm[stale, best[stale]]
            column_mm = added_mm[:, into]
            nearer = np.flatnonzero((column_mm < best_mm) | ((column_mm == best_mm) & (into < best)))
            best[nearer], best_mm[nearer] = into, column_mm[nearer]
        return merges

    def _merge(self, into: int, absorbed: int) -> None:
        moved_mm = self._moved_mm
        moved_mm[into] += moved_mm[absorbed]
        moved_mm[:, into] += moved_mm[:, absorbed]
        self._sizes[into] += self._sizes[absorbed]
        self._own_mm[into] = moved_mm[into, into] / self._sizes[into]
        self._there[absorbed] = False
        self.sum_mm = float(moved_mm[0, 0])

    def _added(self, rows: IntArray) -> FloatArray:
        """Return the distance that merging each of ``rows`` with each other one adds, whole mm, shape ``(r, g)``."""
        moved_mm, own_mm, own_sum_mm = self._moved_mm, self._own_mm, self._moved_mm.diagonal()
        together_mm = own_sum_mm[rows, None] + moved_mm[rows] + moved_mm[:, rows].T + own_sum_mm
        added_mm: FloatArray = np.rint(
            together_mm / (self._sizes[rows, None] + self._sizes) - own_mm[rows, None] - own_mm
        )
        added_mm[:, ~self._there] = np.inf
        added_mm[np.arange(len(rows)), rows] = np.inf
        return added_mm


def _parts(xy_mm: FloatArray, ids: IntArray, most: int) -> list[IntArray]:
    """Halve locations across their longer side until no part has more than ``most``; ids ascend in each."""
    if len(ids) <= most:
        return [ids]
    axis = int(np.ptp(xy_mm[ids], axis=0).argmax())
    order = ids[np.argsort(xy_mm[ids, axis], kind="stable")]
    half = len(order) // 2
    return [part for side in (order[:half], order[half:]) for part in _parts(xy_mm, np.sort(side), most)]


def _distances(xy_mm: FloatArray) -> FloatArray:
    """Return the distances between positions, whole millimetres, shape ``(n, n)``."""
    distances: FloatArray = np.rint(pairwise_distances(xy_mm, xy_mm))
    return distances
