"""The prefix tree of a window: the prefixes of its trajectories, and how many people have each."""

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

    Nodes are numbered by depth, and within a depth in the lexicographic order of their sequences: a parent comes
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
        """Return which nodes pruning leaves, shape ``(t,)``: the root, and the nodes with a support of at least ``k``.

        A child's supporters also support its parent, so what is left is a tree. Cutting each subtree whose root is
        infrequent (Algorithm 4) gives the same.
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

    Supports count people; the paper counts sequences. Several trajectories of one person with the same prefix are one
    supporter.

    Args:
        trajectories: The window, ``n`` trajectories.
    """
    lengths = np.diff(trajectories.starts)
    n_ids = int(trajectories.locations.max(initial=0)) + 1
    n_users = max(trajectories.n_users, 1)
    at = np.full(len(lengths), ROOT)  # (n,) the node that each trajectory has reached
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
