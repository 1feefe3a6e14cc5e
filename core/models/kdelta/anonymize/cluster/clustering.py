"""Greedy clustering of trajectories into sets with the number of people that their members demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.kernels.fragments.greedy import greedy_round, place_the_rest
from core.models.kdelta.anonymize.cluster.chunks import Block
from core.models.kdelta.anonymize.cluster.pivot_clusters import PivotClusters
from core.models.kdelta.anonymize.cluster.refinement import refine
from core.models.kdelta.anonymize.cluster.regrouping import regroup
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands

__all__ = ["Clustering", "greedy_clustering"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clustering:
    """Which trajectories form a set: ``c`` clusters over ``n`` trajectories."""

    cluster: IntArray
    """Cluster of each trajectory, in ``0..c - 1``, or -1 for the trash, shape ``(n,)``."""

    pivots: IntArray
    """Pivot of each cluster, in the order of their choice, shape ``(c,)``."""

    radius: int
    """The radius that gave this result: no member is farther than this from its pivot. Whole units of the distance."""

    @property
    def members(self) -> IntArray:
        """Members of all clusters, cluster by cluster, ascending in each, shape ``(r,)``."""
        order = np.argsort(self.cluster, kind="stable")
        return order[np.count_nonzero(self.cluster < 0) :]

    @property
    def sizes(self) -> IntArray:
        """Number of members of each cluster, shape ``(c,)``."""
        return np.bincount(self.cluster[self.cluster >= 0], minlength=len(self.pivots))

    @property
    def of_each(self) -> list[IntArray]:
        """Members of each cluster, ascending."""
        return np.split(self.members, np.cumsum(self.sizes)[:-1])[: len(self.pivots)]


def greedy_clustering(
    chunks: Sequence[Block],
    demands: Demands,
    *,
    max_radius: int,
    largest_radius: int | None = None,
    trash_share: float,
    refined: bool,
    regrouped: bool = False,
) -> Clustering:
    """Cluster trajectories around pivots, each cluster with the distinct users that all its members demand.

    Theodosopoulos 2013, Algorithm 3, with the order of pivots of Abul, Bonchi, Nanni 2008 (Greedy Clustering), to which
    it reduces if all demands are equal. The first pivot is the active trajectory whose mean position is farthest from
    the data set's centre (the mean of those means). Each next pivot is the one farthest from its nearest previous
    pivot. The nearest unvisited trajectories of other users, one each, are added to the pivot until there are as many
    users as the largest ``k`` among them. If none of them is farther than the radius, they form a cluster. Otherwise
    the pivot is given up, but stays available as a member.

    A trajectory left over joins the nearest pivot within the radius whose cluster satisfies it. Such a cluster has at
    least the ``k`` users that the trajectory demands, including its own, and a delta (the smallest of the members') no
    larger than the trajectory's. The least demanding join first, so that clusters have grown when others need their
    size. A trajectory without such a cluster goes into the trash. If more than ``trash_share * n`` trajectories are in
    the trash, the radius grows by half (the papers do not say how much) and everything starts again, until the trash is
    small enough or the radius excluded nothing.

    A trajectory that demands more users than there are, without counting users with such demands, is trash from the
    start. It does not count against the share and is a member of no cluster: otherwise one absurd demand would undo
    every cluster near it.

    Chunks are clustered separately, with one radius and one share of trash for all. Distances are whole numbers; of
    equal ones the trajectory, or pivot, with the smaller number wins.

    Args:
        chunks: The data set, ``n`` trajectories, each in one chunk.
        demands: k and delta to give each of them.
        max_radius: Radius of the first round, whole units of the distance, at least 1.
        largest_radius: Largest radius, however large the trash is; None for no limit.
        trash_share: Largest share of the trajectories in the trash at which the radius does not grow, in ``0..1``.
        refined: Whether local search then improves the clusters by the distances from their pivots
            (:func:`~core.models.kdelta.anonymize.cluster.refinement.refine`), after which trajectories left over are
            placed once more.
        regrouped: Whether refined clusters are improved once more, by the distances between their members
            (:func:`~core.models.kdelta.anonymize.cluster.regrouping.regroup`). This suits sets that are published
            around the mean of their members.
    """
    searches = [_Search(chunk, demands.of(chunk.members)) for chunk in chunks]
    n = len(demands.k)
    radius = max_radius if largest_radius is None else min(max_radius, largest_radius)
    while True:
        for search in searches:
            search.round(radius)
        trash = sum(search.n_trash for search in searches)
        limited = radius != largest_radius and any(search.limited for search in searches)
        if not (trash > trash_share * n and limited):
            break
        radius += max(radius // 2, 1)
        radius = radius if largest_radius is None else min(radius, largest_radius)
    cluster = np.full(n, -1, dtype=np.int64)
    pivots: list[int] = []
    for chunk, search in zip(chunks, searches, strict=True):
        if refined:
            search.refine(radius)
        if refined and regrouped:
            search.regroup(radius)
            if len(chunks) > 1:
                chunk.forget_tracks()
        cluster[chunk.members] = np.where(search.cluster < 0, -1, search.cluster + len(pivots))
        pivots += chunk.members[search.pivots].tolist()
    return Clustering(cluster=cluster, pivots=np.array(pivots, dtype=np.int64), radius=radius)


class _Search:
    """The state of the rounds for one chunk."""

    def __init__(self, chunk: Block, demands: Demands) -> None:
        self._chunk, trajectories = chunk, chunk.trajectories
        self._users = trajectories.users
        self._n = len(self._users)
        self._distances = chunk.distances
        self._demands = demands
        self._k = np.ascontiguousarray(demands.k, dtype=np.int64)
        self._delta_m = np.ascontiguousarray(demands.delta_m, dtype=np.float64)
        self.satisfiable = np.ones(self._n, dtype=np.bool_)
        """Whether each trajectory demands no more users than the satisfiable trajectories have, shape ``(n,)``."""
        while np.any(self._k[self.satisfiable] > (n_users := len(np.unique(self._users[self.satisfiable])))):
            self.satisfiable &= self._k <= n_users
        self.limited = False
        """Whether a larger radius could have changed the last round."""
        self.cluster: IntArray = np.full(self._n, -1, dtype=np.int64)
        """Cluster of each trajectory in the last round, or -1, shape ``(n,)``."""
        self.pivots: IntArray = np.zeros(0, dtype=np.int64)
        """Pivots of these clusters."""
        means = trajectories.mean_positions_m()
        from_centre_m = np.hypot(*(means - means.sum(axis=0) / max(self._n, 1)).T)
        self._from_centre_mm = np.rint(from_centre_m * 1000).astype(np.int64)

    @property
    def n_trash(self) -> int:
        """Number of satisfiable trajectories in no cluster."""
        return int(np.count_nonzero((self.cluster < 0) & self.satisfiable))

    def round(self, radius: int) -> None:
        """Form clusters until no trajectory can be a pivot, then place the rest."""
        if not self._n:
            return
        pivots = np.empty(self._n, dtype=np.int64)
        n_pivots, self.limited = greedy_round(
            self._distances.data,
            self._users,
            self._k,
            self.satisfiable,
            self._from_centre_mm,
            radius,
            self.cluster,
            pivots,
        )
        self.pivots = pivots[:n_pivots].copy()
        self._place_the_rest(radius)

    def refine(self, radius: int) -> None:
        """Improve the clusters of the last round, which had this radius."""
        self._take(refine(self._clusters(radius)))
        self._place_the_rest(radius)

    def regroup(self, radius: int) -> None:
        """Improve the clusters of the last round once more."""
        self._take(regroup(self._chunk.tracks, self._clusters(radius)))

    def _clusters(self, radius: int) -> PivotClusters:
        return PivotClusters(
            users=self._users,
            demands=self._demands,
            distances=self._distances,
            cluster=self.cluster,
            pivots=self.pivots.tolist(),
            radius=radius,
        )

    def _take(self, clusters: PivotClusters) -> None:
        self.cluster, self.pivots = clusters.cluster, np.array(clusters.pivots, dtype=np.int64)

    def _place_the_rest(self, radius: int) -> None:
        """Add trajectories in no cluster to that of the nearest pivot that satisfies them, within the radius."""
        rest = np.flatnonzero((self.cluster < 0) & self.satisfiable)
        by_demand = rest[np.argsort(self._k[rest], kind="stable")]
        could_join = place_the_rest(
            self._distances.data,
            self._users,
            self._k,
            self._delta_m,
            by_demand,
            radius,
            self.cluster,
            self.pivots,
        )
        self.limited = self.limited or could_join
