"""Clusters after clustering: what a change costs, and whether the clusters still keep what clustering ensured."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.distances import are_within
from core.kernels.fragments.tracks import distances_mm, nearest_places
from core.models.kdelta.anonymize.cluster.blocks import Block
from core.models.kdelta.anonymize.cluster.regrouping import Tracks
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import Demands

__all__ = ["TRASH", "Neighbours", "Step", "Steps"]

TRASH = -1
_NEAR = 256  # trajectories, about, in the clusters with which a cluster exchanges members
_FROM_MEAN = 0.75  # a member's distance from the mean, divided by its mean distance from all members and itself

Step = tuple[tuple[int, int], ...]
"""Trajectories that go to another cluster at the same time, each with its new cluster or ``TRASH``."""

Steps = list[tuple[float, Step]]
"""Steps and what each adds to the sum of the distances, millimetres, the cheapest first."""


class Neighbours:
    """The clusters of one block of ``n`` trajectories, which are numbered as in the block.

    What regrouping lowers is also the price here: the sum of the distances inside clusters, each divided by the
    cluster's size (:func:`~core.models.kdelta.anonymize.cluster.regrouping.regroup`).

    Args:
        block: The trajectories.
        demands: k and delta of each.
        cluster: Cluster of each, in ``0..c - 1``, or -1, shape ``(n,)``.
        pivots: Pivot of each cluster, shape ``(c,)``.
        radius: Largest distance of a member from its pivot, whole units of the block's distances.
    """

    def __init__(self, block: Block, demands: Demands, cluster: IntArray, pivots: IntArray, radius: int) -> None:
        self._distances, self._users, self._k, self._radius = (
            block.distances,
            block.trajectories.users,
            demands.k,
            radius,
        )
        self.cluster, self.pivots = cluster.copy(), pivots.copy()
        self.members: list[list[int]] = [np.flatnonzero(cluster == c).tolist() for c in range(len(pivots))]
        """Members of each cluster, ascending; none of a dissolved one."""
        tracks = Tracks(block.trajectories)
        self._places = tracks.xy_mm.reshape(len(cluster), -1)
        self._means = np.full((len(pivots), self._places.shape[1]), np.inf)
        self._own = np.zeros(len(cluster))  # sum of a member's distances from the other members
        self._tracks = tracks.priced(0.0)
        for c in range(len(pivots)):
            self._measure(c)
        placed = np.flatnonzero(cluster >= 0)
        sizes = np.bincount(cluster[placed], minlength=len(pivots))
        away_mm = np.sort(_FROM_MEAN * self._own[placed] / sizes[cluster[placed]] / tracks.moments[placed])
        price_mm = float(np.rint(away_mm[len(away_mm) // 2])) if len(away_mm) else 0.0
        self._tracks = tracks.priced(price_mm)
        for c in range(len(pivots)):
            self._measure(c)

    def _measure(self, c: int) -> None:
        """Measure the members of a cluster anew."""
        members = np.array(self.members[c], dtype=np.int64)
        self._own[members] = distances_mm(self._tracks, members, members).sum(axis=1)
        self._means[c] = self._places[members].sum(axis=0) / len(members) if len(members) else np.inf

    def near(self, c: int) -> IntArray:
        """Return the clusters near a cluster, this one not among them, and nearest first."""
        n_near = -(-_NEAR * len(self.members) // max(int((self.cluster >= 0).sum()), 1))
        found = nearest_places(self._means[c : c + 1], self._means, n_near + 1)[0]
        near: IntArray = found[(found >= 0) & (found != c) & np.isfinite(self._means[found, 0])]
        return near

    def _near_members(self, c: int) -> IntArray:
        """Return the members of the clusters near a cluster, then trajectories of the trash that are near."""
        placed = [i for other in self.near(c).tolist() for i in self.members[other]]
        trash = np.flatnonzero(self.cluster < 0)
        if len(trash):
            trash = trash[nearest_places(self._means[c : c + 1], self._places[trash], _NEAR)[0]]
        return np.array([*placed, *trash.tolist()], dtype=np.int64)

    def steps(self, c: int, leaving: list[int]) -> tuple[Steps, Steps]:
        """Return the steps by which one of some members leaves a cluster.

        Args:
            c: The cluster.
            leaving: Those of its members that may leave.

        Returns:
            Steps that suppress nobody: an exchange with a member of a near cluster or with a trajectory of the trash,
            or a move to a near cluster. And steps that do: a member goes to the trash, with or without another
            trajectory in its place.
        """
        members = np.array(self.members[c], dtype=np.int64)
        others = self._near_members(c)
        apart = distances_mm(self._tracks, members, others)  # (s, o)
        whole = apart.sum(axis=0)
        their = self.cluster[others]
        n_clusters = len(self.members)
        sizes = np.array([len(one) for one in self.members])
        pairs = np.bincount(np.where(self.cluster < 0, n_clusters, self.cluster), self._own, n_clusters + 1)[:-1] / 2
        without = self._without(others, their, pairs, sizes)
        moves: Steps = []
        suppressions: Steps = []
        s = len(members)
        for i in leaving:
            row = apart[self.members[c].index(i)]
            here = (whole - row - self._own[i]) / s
            total = np.bincount(np.where(their < 0, n_clusters, their), row, n_clusters + 1)
            there = np.where(their < 0, 0.0, (total[their] - row - self._own[others]) / np.maximum(sizes[their], 1))
            for cost, j, to in zip((here + there).tolist(), others.tolist(), their.tolist(), strict=True):
                moves.append((cost, ((i, to), (j, c))))
            gone = (pairs[c] - self._own[i]) / max(s - 1, 1) - pairs[c] / s
            suppressions.append((gone, ((i, TRASH),)))
            for to in self.near(c).tolist():
                joined = (pairs[to] + total[to]) / (sizes[to] + 1) - pairs[to] / sizes[to]
                moves.append((gone + joined, ((i, to),)))
            for cost, j, to in zip((here + without).tolist(), others.tolist(), their.tolist(), strict=True):
                if to != TRASH:
                    suppressions.append((cost, ((i, TRASH), (j, c))))
        return sorted(moves), sorted(suppressions)

    def _without(self, others: IntArray, their: IntArray, pairs: FloatArray, sizes: IntArray) -> FloatArray:
        """Return what the clusters of some trajectories gain if each leaves; 0 in the trash."""
        rest = np.maximum(sizes[their] - 1, 1)
        gained: FloatArray = (pairs[their] - self._own[others]) / rest - pairs[their] / np.maximum(sizes[their], 1)
        return np.where(their < 0, 0.0, gained)

    def may(self, step: Step) -> bool:
        """Return whether the clusters keep, after a step, the users that members demand and the radius."""
        return all(self._pivot(c, members) is not None for c, members in self._after(step).items())

    def _after(self, step: Step) -> dict[int, list[int]]:
        """Return the members that each changed cluster would have."""
        changed: dict[int, list[int]] = {}
        for i, to in step:
            for c in (int(self.cluster[i]), to):
                if c != TRASH:
                    changed.setdefault(c, list(self.members[c]))
        for i, to in step:
            if self.cluster[i] != TRASH:
                changed[int(self.cluster[i])].remove(i)
            if to != TRASH:
                changed[to].append(i)
        return {c: sorted(members) for c, members in changed.items()}

    def _pivot(self, c: int, members: list[int]) -> int | None:
        """Return the pivot of a cluster with some members; None if it cannot have these."""
        array = np.array(members, dtype=np.int64)
        if not len(array) or len(set(self._users[array].tolist())) < self._k[array].max():
            return None
        pivot = int(self.pivots[c])
        for one in [pivot, *members] if pivot in members else members:
            if are_within(self._distances.data, one, array, self._radius).all():
                return one
        return None

    def take(self, step: Step) -> None:
        """Take a step that may be taken."""
        changed = self._after(step)
        for i, to in step:
            self.cluster[i] = to
        for c, members in changed.items():
            pivot = self._pivot(c, members)
            self.members[c] = members
            self.pivots[c] = TRASH if pivot is None else pivot
            self._measure(c)

    def dissolve(self, c: int) -> None:
        """Send all members of a cluster to the trash."""
        self.cluster[self.members[c]] = TRASH
        self.members[c] = []
        self.pivots[c] = TRASH
        self._measure(c)
