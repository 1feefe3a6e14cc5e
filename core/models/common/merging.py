"""Merging: generalized locations grow step by step, in every algorithm that merges the nearest ones."""

from __future__ import annotations

import numpy as np

from core.models.common.merge_cost import MergeCost
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.support.table import subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["GeneralizedLocations", "LocationGroups", "affordable_length", "affordable_visits", "longest_of"]


class LocationGroups:
    """Groups of locations that are merged step by step; each is named by the number of its smallest member.

    Args:
        xy_mm: Position of each location, whole millimetres, shape ``(L, 2)``. At first each is a group of its own.
    """

    def __init__(self, xy_mm: IntArray) -> None:
        self.group_of = list(range(len(xy_mm)))
        """The group of each location."""
        self.members = [[location] for location in self.group_of]
        """The locations of each group, in the order in which they joined it."""
        # Whole millimetres: sums of integers do not depend on the order of merging.
        self._sums_mm = xy_mm.copy()
        self._x_mm, self._y_mm = xy_mm.astype(np.float64).T.copy()  # (L,) centroids; infinite out of use

    def distances_mm(self, group: int) -> FloatArray:
        """Return the distance of every group's centroid from that of one; infinite for itself and groups out of use.

        Returns:
            Whole millimetres, shape ``(L,)``.
        """
        dx, dy = self._x_mm - self._x_mm[group], self._y_mm - self._y_mm[group]
        # A square root is rounded the same on every processor; np.hypot is not.
        distance_mm: FloatArray = np.rint(np.sqrt(dx * dx + dy * dy))
        distance_mm[group] = np.inf
        return distance_mm

    def merge(self, into: int, absorbed: int) -> None:
        """Make one group of two; ``into`` is the smaller number."""
        for member in self.members[absorbed]:
            self.group_of[member] = into
        self.members[into] += self.members[absorbed]
        self._sums_mm[into] += self._sums_mm[absorbed]
        self._x_mm[into], self._y_mm[into] = self._sums_mm[into] / len(self.members[into])
        self.remove(absorbed)

    def remove(self, group: int) -> None:
        """Take a group out of use: its distance from every other becomes infinite."""
        self._x_mm[group] = np.inf


class GeneralizedLocations:
    """The generalized locations in use, each named by its smallest member's id."""

    def __init__(self, visitors: dict[int, set[int]], xy_m: FloatArray, merge_cost: MergeCost) -> None:
        self._merge_cost = merge_cost
        self._visitors = visitors
        self._groups = LocationGroups(np.rint(xy_m * 1000).astype(np.int64))
        for location in set(range(len(xy_m))) - visitors.keys():
            self._groups.remove(location)

    @property
    def group_of(self) -> list[int]:
        """The generalized location of each location."""
        return self._groups.group_of

    def support(self, location: int) -> int:
        """Count the distinct people who visit a generalized location."""
        return len(self._visitors[location])

    def nearest(self, location: int) -> int | None:
        """Find the other generalized location in use that costs least, ties by id; None if none is allowed."""
        cost = self._merge_cost.cost(location, self._groups.distances_mm(location))
        found = int(np.argmin(cost))
        return found if np.isfinite(cost[found]) else None

    def suppress(self, location: int) -> None:
        """Take a generalized location out of use."""
        self._groups.remove(location)

    def merge(self, into: int, absorbed: int) -> None:
        """Make one generalized location of two; ``into`` is the smaller id."""
        self._groups.merge(into, absorbed)
        self._visitors[into] |= self._visitors.pop(absorbed)
        self._merge_cost.merge(into, absorbed)


def affordable_length(trajectories: Sequences, *, k: int, m: int) -> int:
    """Return the most visits of a trajectory that some generalization can release."""
    lengths = np.diff(trajectories.starts)  # (n,)
    longest = np.zeros(trajectories.n_users, np.int64)
    np.maximum.at(longest, trajectories.users, lengths)
    limit = int(np.sort(longest)[-k]) if len(longest) >= k else 0
    return limit if limit < m else int(lengths.max(initial=0))


def affordable_visits(trajectories: Sequences, *, k: int, m: int) -> BoolArray:
    """Return which visits stay when trajectories too long for any generalization are shortened, shape ``(p,)``.

    The visits to the locations with the largest support stay, of equal ones the earlier: a rare location would have
    to be generalized.
    """
    lengths = np.diff(trajectories.starts)  # (n,)
    limit = affordable_length(trajectories, k=k, m=m)
    kept = np.ones(len(trajectories.locations), np.bool_)
    if lengths.max(initial=0) <= limit:
        return kept
    table = subtrajectories(trajectories, 1)
    supports = table.supports[np.searchsorted(table.locations[:, 0], trajectories.locations)]  # (p,)
    order = np.lexsort((-supports, np.repeat(np.arange(len(lengths)), lengths)))
    kept[order] = np.arange(len(order)) - np.repeat(trajectories.starts[:-1], lengths) < limit
    return kept


def longest_of(trajectories: Sequences) -> int:
    """Return the visits of the longest trajectory."""
    return int(np.diff(trajectories.starts).max(initial=0))
