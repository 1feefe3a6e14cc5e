"""What the tree over trajectories says of distances, beside the distances."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.distances import bound
from core.kernels.oracles.trajectory_tree import nearest, trajectories_of_node
from core.models.kdelta.anonymize.distance.distances import Distances
from core.records.arrays import IntArray

_NO_LIMIT = 1 << 62


def bounds_of(distances: Distances, pivot: int) -> IntArray:
    """Bound the distance of each trajectory from a pivot."""
    _, _, _, leaves = distances.data[10]
    return np.array([bound(distances.data, pivot, leaf, _NO_LIMIT) for leaf in leaves.tolist()])


def check_bounds(distances: Distances, pivot: int) -> None:
    """Assert that no node has a trajectory nearer than its bound, whatever the limit, and that all are in the tree."""
    tree = distances.data[10]
    n = len(tree[3])
    assert sorted(trajectories_of_node(tree, 0)) == list(range(n))
    for node in range(len(tree[0])):
        least = nearest(distances.data, pivot, node)
        for limit in (_NO_LIMIT, least, 0):
            assert bound(distances.data, pivot, node, limit) <= least
