"""Greedy clustering of trajectories into sets of at least ``k`` people (Never Walk Alone, Wait for Me)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.lstd import Lstd
from core.trajectory import IntArray, PointTrajectories

__all__ = ["Clustering", "greedy_clustering"]

_FARTHEST_MM = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clustering:
    """Which trajectories form a set: ``c`` clusters over ``n`` trajectories."""

    cluster: IntArray
    """Cluster of each trajectory, in ``0..c - 1``, or -1 for the trash, shape ``(n,)``."""

    pivots: IntArray
    """Pivot of each cluster, in the order of their choice, shape ``(c,)``."""

    radius_m: float
    """The radius that gave this result: no member is farther than this from its pivot. Metres."""


def greedy_clustering(
    trajectories: PointTrajectories,
    distances: Lstd,
    *,
    k: int,
    max_radius_m: float,
    trash_share: float,
) -> Clustering:
    """Cluster trajectories around pivots, each cluster with at least ``k`` distinct users.

    Abul, Bonchi, Nanni 2008 (Greedy Clustering), as in Theodosopoulos 2013, Algorithm 3, with one ``k`` for all.
    The first pivot is the active trajectory whose mean position is farthest from the data set's centre (the mean of
    those means), each next one is farthest from the nearest previous pivot. It forms a cluster with the nearest
    unvisited trajectories of ``k - 1`` other users, one each, when none of them is farther than the radius; else
    it is no pivot any more, but stays available as a member. What is left goes to the nearest pivot within the
    radius, or into the trash. With more than ``trash_share * n`` trajectories in the trash the radius grows by half
    (the papers leave it open) and everything starts again, until there is little enough trash or the radius
    excluded nothing.

    Distances are compared in whole millimetres; of equal ones the trajectory, or pivot, with the smaller number
    wins.

    Args:
        trajectories: The data set, ``n`` trajectories.
        distances: Distances over the same data set.
        k: Fewest distinct users of a cluster, at least 2.
        max_radius_m: Radius of the first round, metres, above 0.
        trash_share: Largest share of the trajectories in the trash that does not let the radius grow, in ``0..1``.
    """
    search = _Search(trajectories, distances, k)
    radius_mm = max(round(max_radius_m * 1000), 1)
    while True:
        cluster, pivots = search.round(radius_mm)
        too_much = np.count_nonzero(cluster < 0) > trash_share * len(cluster)
        if not (too_much and search.limited):
            return Clustering(cluster=cluster, pivots=np.array(pivots, dtype=np.int64), radius_m=radius_mm / 1000)
        radius_mm += max(radius_mm // 2, 1)


class _Search:
    """The rounds' common state: distances from pivots, measured once and only where they decide something."""

    def __init__(self, trajectories: PointTrajectories, distances: Lstd, k: int) -> None:
        self._users = trajectories.users
        self._n = len(self._users)
        self._distances = distances
        self._k = k
        self._rows: dict[int, _Row] = {}
        self.limited = False
        """Whether a larger radius could have changed the last round."""
        counts = np.diff(trajectories.starts)
        means = np.add.reduceat(trajectories.xy_m, trajectories.starts[:-1], axis=0) / counts[:, None]  # (n, 2)
        from_centre_m = np.hypot(*(means - means.sum(axis=0) / max(self._n, 1)).T)
        self._from_centre_mm = np.rint(from_centre_m * 1000).astype(np.int64)

    def round(self, radius_mm: int) -> tuple[IntArray, list[int]]:
        """Form clusters until no trajectory can be a pivot, then place the rest."""
        self.limited = False
        cluster = np.full(self._n, -1, dtype=np.int64)
        pivots: list[int] = []
        active = np.ones(self._n, dtype=bool)
        gap_mm = np.full(self._n, _FARTHEST_MM)  # from the nearest pivot so far
        while active.any():
            farthest = np.where(active, gap_mm if pivots else self._from_centre_mm, -1)
            pivot = int(farthest.argmax())
            active[pivot] = False
            members = self._nearest(pivot, np.flatnonzero(cluster < 0), radius_mm)
            if members is None:
                continue
            active[members] = False
            cluster[members] = cluster[pivot] = len(pivots)
            pivots.append(pivot)
            nearer = np.flatnonzero(active & (self._row(pivot).at_least_mm < gap_mm))
            gap_mm[nearer] = np.minimum(gap_mm[nearer], self._measure(pivot, nearer))
        self._place_the_rest(cluster, pivots, radius_mm)
        return cluster, pivots

    def _nearest(self, pivot: int, unvisited: IntArray, radius_mm: int) -> IntArray | None:
        """Return the nearest unvisited trajectories of ``k - 1`` other users, if they are within the radius."""
        row = self._row(pivot)
        others = unvisited[self._users[unvisited] != self._users[pivot]]
        while True:
            # Unmeasured trajectories stand at their bound: whoever comes before them is nearer for certain.
            within = others[row.at_least_mm[others] <= radius_mm]
            order = within[np.argsort(row.at_least_mm[within], kind="stable")]
            _, firsts = np.unique(self._users[order], return_index=True)  # nearest trajectory of each user
            if len(firsts) < self._k - 1:
                self.limited = self.limited or self._n_users(others) >= self._k - 1
                return None
            chosen: IntArray = np.sort(firsts)[: self._k - 1]
            looked_at = chosen[-1] + 1
            if row.known[order[:looked_at]].all():
                members: IntArray = order[chosen]
                return members
            self._measure(pivot, order[: 2 * looked_at])  # some more, for fewer turns

    def _place_the_rest(self, cluster: IntArray, pivots: list[int], radius_mm: int) -> None:
        """Add what no cluster took to that of its nearest pivot within the radius."""
        rest = np.flatnonzero(cluster < 0)
        nearest_mm = np.full(self._n, radius_mm + 1)
        for pivot in sorted(pivots):
            nearer = rest[self._row(pivot).at_least_mm[rest] < nearest_mm[rest]]
            its_mm = self._measure(pivot, nearer)
            nearer, its_mm = nearer[its_mm < nearest_mm[nearer]], its_mm[its_mm < nearest_mm[nearer]]
            nearest_mm[nearer] = its_mm
            cluster[nearer] = cluster[pivot]
        self.limited |= bool(pivots) and bool((cluster < 0).any())

    def _n_users(self, trajectories: IntArray) -> int:
        # users ascend with the numbers of trajectories: no sorting is needed to count them.
        users = self._users[np.sort(trajectories)]
        return int(np.count_nonzero(users[1:] != users[:-1])) + (len(users) > 0)

    def _row(self, pivot: int) -> _Row:
        if pivot not in self._rows:
            bounds = self._distances.lower_bounds_mm(pivot)
            self._rows[pivot] = _Row(at_least_mm=bounds, known=np.zeros(self._n, dtype=bool))
        return self._rows[pivot]

    def _measure(self, pivot: int, others: IntArray) -> IntArray:
        """Return the distances of some trajectories from a pivot, measuring those not yet known."""
        row = self._row(pivot)
        unknown = others[~row.known[others]]
        if len(unknown):
            row.at_least_mm[unknown] = self._distances.distances_mm(pivot, unknown)
            row.known[unknown] = True
        return row.at_least_mm[others]


@dataclass(slots=True, eq=False)
class _Row:
    """What is known of the distances of all trajectories from one pivot, shapes ``(n,)``."""

    at_least_mm: IntArray
    """The distance where it is known, a lower bound where it is not."""

    known: npt.NDArray[np.bool_]
