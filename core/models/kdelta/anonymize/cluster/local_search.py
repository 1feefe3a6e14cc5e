"""Local search over clusters: the input and the common state of refinement and regrouping."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from core.models.kdelta.anonymize.distance.distances import Distances
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands

__all__ = ["LocalSearch", "PivotClusters", "members_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PivotClusters:
    """``c`` clusters over ``n`` trajectories, each around a pivot, with the demands of the trajectories."""

    users: IntArray
    """Dense user number of each trajectory, shape ``(n,)``."""

    demands: Demands
    """k and delta to give each trajectory."""

    distances: Distances
    """Distances between the trajectories."""

    cluster: IntArray
    """Cluster of each trajectory, or -1 for the trash, shape ``(n,)``."""

    pivots: list[int]
    """Pivot of each of the ``c`` clusters."""

    radius: int
    """Largest distance of a member from its pivot, whole units."""


class LocalSearch:
    """The clusters of a search as they change. A subclass keeps the members of each cluster."""

    def __init__(self, clusters: PivotClusters) -> None:
        self.cluster, self.pivots = clusters.cluster.copy(), list(clusters.pivots)
        self._distances, self._radius = clusters.distances, clusters.radius
        self._user: list[int] = clusters.users.tolist()
        self._k: list[int] = clusters.demands.k.tolist()

    def _satisfied(self, members: Collection[int]) -> bool:
        """Return whether a cluster of these members has the distinct users that each of them demands."""
        return self._n_users(members) >= max(self._k[j] for j in members)

    def _n_users(self, members: Iterable[int]) -> int:
        return len({self._user[j] for j in members})


def members_of(clusters: PivotClusters) -> list[list[int]]:
    """Return the trajectories of each cluster, ascending."""
    return [np.flatnonzero(clusters.cluster == number).tolist() for number in range(len(clusters.pivots))]
