"""Greedy clustering of trajectories into sets of as many people as their members demand (Wait for Me and its kin)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.lstd import Lstd
from core.trajectory import Demands, IntArray, PointTrajectories

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
    demands: Demands,
    *,
    max_radius_m: float,
    trash_share: float,
) -> Clustering:
    """Cluster trajectories around pivots, each cluster with the distinct users that all its members demand.

    Theodosopoulos 2013, Algorithm 3, with the order of pivots of Abul, Bonchi, Nanni 2008 (Greedy Clustering), which
    is what comes out when everybody demands the same. The first pivot is the active trajectory whose mean position
    is farthest from the data set's centre (the mean of those means), each next one is farthest from the nearest
    previous pivot. The nearest unvisited trajectories of other users, one each, are added to it until there are as
    many users as the largest ``k`` among them. If none of them is farther than the radius, they are a cluster; else
    the pivot is no pivot any more, but stays available as a member.

    What is left joins the nearest pivot whose cluster satisfies it, within the radius: with at least its ``k`` users,
    itself among them, and a delta (the smallest of the members') that is no larger than its own. The least demanding
    join first, so that clusters have grown when others ask for their size. Who finds none goes into the trash. With
    more than ``trash_share * n`` trajectories in the trash the radius grows by half (the papers leave it open) and
    everything starts again, until there is little enough trash or the radius excluded nothing.

    Who demands more users than there are, counted without all who do so, is trash from the start, does not count
    against the share, and is nobody's member: otherwise one absurd demand would undo every cluster near it.

    Distances are compared in whole millimetres; of equal ones the trajectory, or pivot, with the smaller number
    wins.

    Args:
        trajectories: The data set, ``n`` trajectories.
        distances: Distances over the same data set.
        demands: What each of them is to be given.
        max_radius_m: Radius of the first round, metres, above 0.
        trash_share: Largest share of the trajectories in the trash that does not let the radius grow, in ``0..1``.
    """
    search = _Search(trajectories, distances, demands)
    radius_mm = max(round(max_radius_m * 1000), 1)
    while True:
        cluster, pivots = search.round(radius_mm)
        trash = np.count_nonzero((cluster < 0) & search.satisfiable)
        if not (trash > trash_share * len(cluster) and search.limited):
            return Clustering(cluster=cluster, pivots=np.array(pivots, dtype=np.int64), radius_m=radius_mm / 1000)
        radius_mm += max(radius_mm // 2, 1)


class _Search:
    """The rounds' common state: distances from pivots, measured once and only where they decide something."""

    def __init__(self, trajectories: PointTrajectories, distances: Lstd, demands: Demands) -> None:
        self._users = trajectories.users
        self._n = len(self._users)
        self._distances = distances
        self._k, self._delta_m = demands.k, demands.delta_m
        self._rows: dict[int, _Row] = {}
        self.satisfiable = np.ones(self._n, dtype=bool)
        """Trajectories that demand no more users than there are satisfiable ones of, shape ``(n,)``."""
        while np.any(self._k[self.satisfiable] > (n_users := self._n_users(np.flatnonzero(self.satisfiable)))):
            self.satisfiable &= self._k <= n_users
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
        active = self.satisfiable.copy()
        gap_mm = np.full(self._n, _FARTHEST_MM)  # from the nearest pivot so far
        while active.any():
            farthest = np.where(active, gap_mm if pivots else self._from_centre_mm, -1)
            pivot = int(farthest.argmax())
            active[pivot] = False
            members = self._nearest(pivot, np.flatnonzero((cluster < 0) & self.satisfiable), radius_mm)
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
        """Return the nearest unvisited trajectories of other users that satisfy all, if they are within the radius."""
        row = self._row(pivot)
        others = unvisited[self._users[unvisited] != self._users[pivot]]
        while True:
            # Unmeasured trajectories stand at their bound: whoever comes before them is nearer for certain.
            within = others[row.at_least_mm[others] <= radius_mm]
            order = within[np.argsort(row.at_least_mm[within], kind="stable")]
            _, firsts = np.unique(self._users[order], return_index=True)  # nearest trajectory of each user
            firsts.sort()
            demanded = np.maximum(np.maximum.accumulate(self._k[order[firsts]]), self._k[pivot])
            satisfied = np.arange(2, len(firsts) + 2) >= demanded  # with the pivot and one user more each
            if not satisfied.any():
                if len(firsts) + 1 >= self._k[pivot] and not row.known[order].all():
                    self._measure(pivot, order)  # in their true order the less demanding may come first
                    continue
                beyond = len(within) < len(others) and self._n_users(others) + 1 >= self._k[pivot]
                self.limited = self.limited or beyond
                return None
            chosen = firsts[: satisfied.argmax() + 1]
            looked_at = chosen[-1] + 1
            if row.known[order[:looked_at]].all():
                members: IntArray = order[chosen]
                return members
            self._measure(pivot, order[: 2 * looked_at])  # some more, for fewer turns

    def _place_the_rest(self, cluster: IntArray, pivots: list[int], radius_mm: int) -> None:
        """Add what no cluster took to that of the nearest pivot that satisfies it, within the radius."""
        rest = np.flatnonzero((cluster < 0) & self.satisfiable)
        members = [np.flatnonzero(cluster == number) for number in range(len(pivots))]
        users = [set(self._users[its].tolist()) for its in members]
        nearest: dict[int, tuple[int, int]] = {}  # (millimetres, pivot) that satisfies for certain
        contenders: dict[int, list[tuple[int, int]]] = {}  # nearer ones that may grow large enough
        nearest_mm = np.full(self._n, radius_mm + 1)
        for pivot in sorted(pivots):
            number = int(cluster[pivot])
            fine = rest[self._delta_m[members[number]].min() <= self._delta_m[rest]]
            nearer = fine[self._row(pivot).at_least_mm[fine] < nearest_mm[fine]]
            its_mm = self._measure(pivot, nearer)
            nearer, its_mm = nearer[its_mm < nearest_mm[nearer]], its_mm[its_mm < nearest_mm[nearer]]
            large_enough = self._k[nearer] <= len(users[number])
            nearest_mm[nearer[large_enough]] = its_mm[large_enough]
            for i, mm, satisfied in zip(nearer.tolist(), its_mm.tolist(), large_enough.tolist(), strict=True):
                if satisfied:
                    nearest[i] = mm, pivot
                else:
                    contenders.setdefault(i, []).append((mm, pivot))
        for i in rest[np.argsort(self._k[rest], kind="stable")].tolist():
            user, k = int(self._users[i]), int(self._k[i])
            candidates = sorted([*contenders.get(i, []), *([nearest[i]] if i in nearest else [])])
            for number in (int(cluster[pivot]) for _, pivot in candidates):
                if len(users[number]) + (user not in users[number]) >= k:
                    cluster[i] = number
                    users[number].add(user)
                    break
            else:
                self.limited = self.limited or any(
                    len(its_users) + (user not in its_users) >= k and self._delta_m[its].min() <= self._delta_m[i]
                    for its, its_users in zip(members, users, strict=True)
                )

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
