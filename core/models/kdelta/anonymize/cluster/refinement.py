"""Refinement: local search improves clusters and keeps the guarantee.

Not part of the published algorithms. Greedy Clustering takes the outermost trajectories as pivots, so a whole cluster
is then translated to its outermost member. On the trucks of Athens refinement saves a third of the metres.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.kernels.fragments.refinement import refine_clusters
from core.models.kdelta.anonymize.cluster.pivot_clusters import PivotClusters

__all__ = ["refine"]

_MOST_ROUNDS = 10  # rarely more than five change anything


def refine(clusters: PivotClusters) -> PivotClusters:
    """Lower the sum of the members' distances from their pivots, step by step, in ten rounds at most.

    A round makes the medoid of each cluster its pivot. Then, for each other member in the order of their numbers, it
    looks for the nearest pivot that is nearer than the member's own and whose cluster accepts it. The member moves
    there if its own cluster stays satisfied without it. Otherwise it changes places with the member of that cluster for
    which the exchange saves most. If nothing of this helps, a cluster is dissolved if all its members find a place in
    other clusters and that saves anything.

    A member that demands a smaller delta than its new cluster has makes the discs smaller for all. Its joining costs
    half the difference for each member. It is not possible if distances are not in metres.

    Every step keeps what clustering ensured: each cluster has the distinct users that each of its members demands,
    and no member is farther from the pivot than the radius. No trajectory leaves or joins the trash. Everything is
    decided in whole units; of equal choices the smaller number wins.

    Args:
        clusters: The clusters as clustering left them.

    Returns:
        The clusters that are left, numbered anew in the same order.
    """
    if not clusters.pivots:
        return clusters
    cluster, pivots = clusters.cluster.copy(), np.array(clusters.pivots, dtype=np.int64)
    people = (
        clusters.users,
        np.ascontiguousarray(clusters.demands.k, dtype=np.int64),
        np.ascontiguousarray(clusters.demands.delta_m, dtype=np.float64),
        clusters.distances.per_metre or 0,
    )
    refine_clusters(clusters.distances.data, people, clusters.radius, _MOST_ROUNDS, cluster, pivots)
    left = np.flatnonzero(pivots >= 0)
    number = np.full(len(pivots) + 1, -1, dtype=np.int64)
    number[left] = np.arange(len(left))
    return replace(clusters, cluster=number[cluster], pivots=pivots[left].tolist())
