"""What a tree bounds: the least distance of a trajectory from all trajectories of a node."""

from __future__ import annotations

from core.kernels.fragments.distances import Data
from core.kernels.fragments.trajectory_tree import Tree
from core.kernels.oracles.distances import measure

__all__ = ["nearest", "trajectories_of_node"]


def trajectories_of_node(tree: Tree, node: int) -> list[int]:
    """Return the trajectories below a node."""
    item, second, _, _ = tree
    if item[node] >= 0:
        return [int(item[node])]
    return [i for child in (node + 1, int(second[node])) for i in trajectories_of_node(tree, child)]


def nearest(data: Data, one: int, node: int) -> int:
    """Return the least distance of a trajectory from those of a node, whole units."""
    return min(measure(data, one, other) for other in trajectories_of_node(data[10], node))
