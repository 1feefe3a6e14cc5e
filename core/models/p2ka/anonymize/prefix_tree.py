"""The prefix tree of a window: which sequences its trajectories begin with, and how many people's do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["ROOT", "PrefixTree", "prefix_tree"]

ROOT = 0
"""The fictitious node above all first visits; it stands for the empty sequence."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrefixTree:
    """A tree of ``t`` nodes; each stands for the sequence on the path from the root to it.

    Nodes are numbered by depth, and of one depth in the lexicographic order of what they stand for: a parent comes
    before its children, and the children of a node are neighbours.
    """

    parents: IntArray
    """Parent of each node, ascending, shape ``(t,)``; -1 for the root."""

    locations: IntArray
    """Last location of the sequence of each node, shape ``(t,)``; -1 for the root."""

    depths: IntArray
    """Locations in the sequence of each node, shape ``(t,)``."""

    supports: IntArray
    """Distinct people with a trajectory that begins with the sequence, shape ``(t,)``: never above the parent's."""

    ends: IntArray
    """Node of each whole trajectory, shape ``(n,)``."""

    def frequent(self, k: int) -> BoolArray:
        """Tell which nodes pruning leaves, shape ``(t,)``: the root, and those that ``k`` people's trajectories reach.

        A child's supporters are its parent's, so that what is left is a tree, and cutting each subtree whose root is
        infrequent (Algorithm 4) comes to the same.
        """
        left = self.supports >= k
        left[ROOT] = True
        return left

    def paths(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return the sequences of some nodes.

        Args:
            nodes: Shape ``(q,)``.

        Returns:
            Where each begins, shape ``(q + 1,)``, and the location ids of all.
        """
        starts = np.concatenate(([0], np.cumsum(self.depths[nodes])))
        locations = np.empty(starts[-1], np.int64)
        rows = np.arange(len(nodes))
        while True:
            below = nodes > ROOT
            rows, nodes = rows[below], nodes[below]
            if not len(rows):
                return starts, locations
            locations[starts[rows] + self.depths[nodes] - 1] = self.locations[nodes]
            nodes = self.parents[nodes]


def prefix_tree(trajectories: Sequences) -> PrefixTree:
    """Build the prefix tree of a window (Pensa et al. 2008, Algorithm 3), depth by depth.

    Supports count people, where the paper counts sequences: several trajectories of one person that begin alike are
    one supporter.

    Args:
        trajectories: The window, ``n`` trajectories.
    """
    lengths = np.diff(trajectories.starts)
    n_ids = int(trajectories.locations.max(initial=0)) + 1
    n_users = max(trajectories.n_users, 1)
    at = np.full(len(lengths), ROOT)  # (n,) how far each trajectory has come
    active = np.arange(len(lengths))
    parents, locations = [np.array([-1])], [np.array([-1])]
    depths, supports = [np.array([0])], [np.array([trajectories.n_users])]
    n_nodes = 1
    for depth in range(1, int(lengths.max(initial=0)) + 1):
        active = active[lengths[active] >= depth]
        steps = at[active] * n_ids + trajectories.locations[trajectories.starts[active] + depth - 1]
        distinct, number = np.unique(steps, return_inverse=True)
        people = np.unique(number * n_users + trajectories.users[active]) // n_users  # each (node, user) once
        parents.append(distinct // n_ids)
        locations.append(distinct % n_ids)
        depths.append(np.full(len(distinct), depth))
        supports.append(np.bincount(people, minlength=len(distinct)))
        at[active] = n_nodes + number
        n_nodes += len(distinct)
    return PrefixTree(
        parents=np.concatenate(parents),
        locations=np.concatenate(locations),
        depths=np.concatenate(depths),
        supports=np.concatenate(supports),
        ends=at,
    )
