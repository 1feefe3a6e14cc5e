"""Clusters around pivots: what clustering hands to refinement, and refinement to regrouping."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.kdelta.anonymize.distance.distances import Distances
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands

__all__ = ["PivotClusters"]


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
