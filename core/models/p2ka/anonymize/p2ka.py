"""BF-P2kA: pattern-preserving k-anonymization of sequences (Pensa, Monreale, Pinelli, Pedreschi 2008, Section 4).

Three steps, as published:

1. The window becomes a prefix tree (:mod:`core.models.p2ka.anonymize.prefix_tree`).
2. Subtrees that fewer than k people reach are cut. Every trajectory in them is replaced by the closest path that is
   left (:mod:`core.models.p2ka.anonymize.closest_path`), or suppressed if it has no location in common with any path.
3. The sequences of the tree are released.

The paths that are left are prefixes of the trajectories of at least k people, and replacing trajectories adds no path.
So every released sequence has a support of at least k in the window (Theorem 1).

No loop here waits for a condition: the tree is built depth by depth and walked once, and ``alike`` adds one pass from
the deepest nodes to the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.models.p2ka.anonymize.closest_path import closest_paths, common_length
from core.models.p2ka.anonymize.prefix_tree import ROOT, PrefixTree, prefix_tree
from core.models.p2ka.guarantee import PatternPreservingK
from core.records.arrays import IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["MOST_STEPS", "PatternRelease", "p2ka"]

MOST_STEPS = 500_000_000
"""Bound of the search for the closest paths, in steps of
:func:`core.models.p2ka.anonymize.closest_path.closest_paths`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatternRelease:
    """What to release for each of ``n`` trajectories, and counts of its visits."""

    sequences: Sequences
    """The sequence released in place of each trajectory, ``n`` of them; empty where nothing is."""

    kept: IntArray
    """Visits of each trajectory that are released, in their order, shape ``(n,)``: the longest subsequence that it
    has in common with its released sequence."""

    suppressed: IntArray
    """Visits of each trajectory that are not released, shape ``(n,)``."""

    added: IntArray
    """Released visits that are not its own, shape ``(n,)``: the person need not have made them."""

    searched_support: int | None
    """None if the search compared every path; the result is then the paper's. Otherwise the search reached its bound:
    paths with a smaller support than this were compared only with trajectories that begin with them."""


def p2ka(trajectories: Sequences, guarantee: PatternPreservingK, *, most_steps: int = MOST_STEPS) -> PatternRelease:
    """Anonymize a window, keeping frequent patterns (Algorithm 1, BF-P2kA).

    Ties among paths with a longest common subsequence: the shortest path (the paper's Levenshtein distance), then the
    largest support, then the smallest sequence of ids.

    Args:
        trajectories: The window. Support counts its distinct people.
        guarantee: k, and whether each sequence is released for at least k people. With fewer than k people everything
            is suppressed.
        most_steps: Bound of the search. If it is reached, the guarantee holds as well, but some trajectories are
            replaced by a path that is not the closest.

    Raises:
        ValueError: The bound is negative.
    """
    if most_steps < 0:
        raise ValueError(f"most_steps is {most_steps}: it must be 0 or more")
    tree = prefix_tree(trajectories)
    frequent = tree.frequent(guarantee.k)
    cut = np.unique(tree.ends[~frequent[tree.ends]])
    closest = closest_paths(tree, frequent, cut, most_steps=most_steps)
    becomes = np.arange(len(frequent))
    becomes[cut] = closest.nodes
    ends = becomes[tree.ends]
    if guarantee.alike:
        ends = _alike(tree, trajectories, ends, guarantee.k)
    starts, locations = tree.paths(ends)
    kept = _kept(tree, ends)
    return PatternRelease(
        sequences=Sequences(users=trajectories.users, starts=starts, locations=locations),
        kept=kept,
        suppressed=np.diff(trajectories.starts) - kept,
        added=np.diff(starts) - kept,
        searched_support=closest.searched_support,
    )


def _alike(tree: PrefixTree, trajectories: Sequences, ends: IntArray, k: int) -> IntArray:
    """Drop the last location of sequences that are released for fewer than k people, until there are none."""
    ends = ends.copy()
    for depth in range(int(tree.depths[ends].max(initial=ROOT)), 0, -1):
        here = np.flatnonzero(tree.depths[ends] == depth)
        nodes, number = np.unique(ends[here], return_inverse=True)
        pairs = np.unique(number * trajectories.n_users + trajectories.users[here])  # each (node, user) once
        people = np.bincount(pairs // trajectories.n_users, minlength=len(nodes))
        few = here[people[number] < k]
        ends[few] = tree.parents[ends[few]]
    return ends


def _kept(tree: PrefixTree, ends: IntArray) -> IntArray:
    """Return the common length of each trajectory and the path that replaces it, shape ``(n,)``."""
    n_nodes = len(tree.parents)
    pairs, number = np.unique(tree.ends * n_nodes + ends, return_inverse=True)
    before, after = (_paths(tree, nodes) for nodes in (pairs // n_nodes, pairs % n_nodes))
    common = [common_length(one, other) for one, other in zip(before, after, strict=True)]
    return np.array(common, np.int64)[number]


def _paths(tree: PrefixTree, nodes: IntArray) -> list[list[int]]:
    starts, locations = tree.paths(nodes)
    ids = locations.tolist()
    return [ids[start:end] for start, end in pairwise(starts.tolist())]
