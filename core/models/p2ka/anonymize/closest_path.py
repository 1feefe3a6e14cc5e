"""Find the path of the pruned prefix tree that is closest to an infrequent sequence (Pensa et al. 2008, Algorithm 5).

The paper compares a sequence with every sequence of the tree and takes the longest common subsequence. Among equally
long ones it takes the one with the smallest Levenshtein distance to the sequence of the tree that holds it, and
re-appends the sequence to the minimum prefix that holds the common subsequence. Each node stands for a sequence of the
tree. A sequence differs from one of its subsequences by insertions only, so the distance is the number of locations
outside the common subsequence. The choice is therefore the node with the longest common subsequence, and among equals
the one with the shortest path. That path is its own minimum prefix: a shorter one would have been chosen.

The tree is walked once for all sequences, and the walk keeps the common lengths as bits: one bit for each visit of a
sequence, cleared where the row of the dynamic program rises. A few operations on words advance them by one location
(Hyyrö 2004). Going down to a node changes only the sequences that hold its location; going up restores them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.models.p2ka.anonymize.prefix_tree import ROOT, PrefixTree
from core.records.arrays import BoolArray, IntArray

__all__ = ["STEPS_OF_A_NODE", "Closest", "closest_paths", "common_length"]

WordArray = npt.NDArray[np.uint64]

STEPS_OF_A_NODE = 1_000
"""Fixed cost of a node in steps, however few sequences hold its location: the overhead of Python."""

_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closest:
    """Result of the search."""

    nodes: IntArray
    """Closest node of each sequence, shape ``(q,)``; the root if it has nothing in common with any path."""

    searched_support: int | None
    """None if every node was compared. Otherwise the smallest support of the compared nodes; the longest frequent
    prefix of each sequence was considered as well."""


def closest_paths(tree: PrefixTree, frequent: BoolArray, cut: IntArray, *, most_steps: int) -> Closest:
    """Find the closest frequent path of each infrequent sequence.

    The node with the longest common subsequence, then the shortest path, then the largest support, then the
    smallest sequence of ids is chosen.

    A step is one word of 64 visits of one sequence, compared with one node whose location the sequence holds; a node
    costs :data:`STEPS_OF_A_NODE` more. If all nodes would take more than ``most_steps``, only those with the largest
    supports are compared: as many as fit, and all or none with the same support. They form a tree as well.

    Args:
        tree: The prefix tree of the window, ``t`` nodes.
        frequent: Nodes that pruning leaves; they form a tree with the root, shape ``(t,)``.
        cut: Nodes of the sequences to find a path for, distinct, shape ``(q,)``.
        most_steps: Most steps of the comparison.
    """
    if not len(cut):
        return Closest(nodes=cut, searched_support=None)
    left = np.flatnonzero(frequent)
    merit = np.zeros(len(frequent), np.int64)  # (t,) among nodes with equal common length, the largest is chosen
    by_merit = left[np.lexsort((left, -tree.supports[left], tree.depths[left]))][::-1]
    merit[by_merit] = np.arange(len(left))
    own = _nearest_ancestors(tree, frequent, cut)
    best = tree.depths[own] * len(left) + merit[own]  # (q,) common length first, then merit

    words = -(-tree.depths[cut] // _BITS)
    groups = [_Group.of(tree, cut, np.flatnonzero(words == n), n) for n in np.unique(words).tolist()]
    searched_support = _affordable_support(tree, left[left != ROOT], groups, most_steps)
    searched = frequent if searched_support is None else frequent & (tree.supports >= searched_support)
    for group in groups:
        best[group.rows] = np.maximum(best[group.rows], _walk(tree, searched, group, merit, len(left)))
    return Closest(nodes=by_merit[best % len(left)], searched_support=searched_support)


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common subsequence of two sequences.

    >>> common_length((4, 5, 10, 6), (1, 4, 5, 6))
    3
    """
    at: dict[int, int] = {}
    for position, location in enumerate(one):
        at[location] = at.get(location, 0) | 1 << position
    all_visits = (1 << len(one)) - 1
    row = all_visits
    for location in other:
        matched = row & at.get(location, 0)
        row = (row + matched | row - matched) & all_visits
    return len(one) - row.bit_count()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """Sequences with the same number of words, and the positions of every location in them."""

    rows: IntArray
    """Which of all sequences these are, shape ``(g,)``."""

    n_words: int
    bounds: IntArray
    """Where the holders of each location begin, shape ``(L + 1,)``."""

    holders: IntArray
    """Sequences of the group that hold the location, shape ``(h,)``."""

    masks: WordArray
    """A bit for each visit of the holder to the location, shape ``(n_words, h)``."""

    @classmethod
    def of(cls, tree: PrefixTree, cut: IntArray, rows: IntArray, n_words: int) -> _Group:
        starts, locations = tree.paths(cut[rows])
        row = np.repeat(np.arange(len(rows)), np.diff(starts))
        position = np.arange(len(row)) - starts[row]
        pairs, number = np.unique(locations * len(rows) + row, return_inverse=True)
        masks = np.zeros((n_words, len(pairs)), np.uint64)
        bits = np.left_shift(np.uint64(1), (position % _BITS).astype(np.uint64))
        np.bitwise_or.at(masks, (position // _BITS, number), bits)
        n_ids = int(tree.locations.max()) + 1
        bounds = np.searchsorted(pairs, np.arange(n_ids + 1) * len(rows))
        return cls(rows=rows, n_words=n_words, bounds=bounds, holders=pairs % len(rows), masks=masks)


def _nearest_ancestors(tree: PrefixTree, frequent: BoolArray, nodes: IntArray) -> IntArray:
    """Return the longest prefix of each sequence that pruning leaves."""
    while not frequent[nodes].all():
        nodes = np.where(frequent[nodes], nodes, tree.parents[nodes])
    return nodes


def _affordable_support(tree: PrefixTree, nodes: IntArray, groups: Sequence[_Group], most_steps: int) -> int | None:
    """Return the smallest support such that all nodes with at least it can be compared; None if all nodes can."""
    steps = np.full(len(nodes), STEPS_OF_A_NODE)
    for group in groups:
        steps += group.n_words * np.diff(group.bounds)[tree.locations[nodes]]
    supports, number = np.unique(-tree.supports[nodes], return_inverse=True)  # the largest first
    of_support = np.zeros(len(supports), np.int64)
    np.add.at(of_support, number, steps)
    n_affordable = int(np.searchsorted(np.cumsum(of_support), most_steps, side="right"))
    if n_affordable == len(supports):
        return None
    return int(-supports[n_affordable - 1]) if n_affordable else int(-supports[0]) + 1


def _walk(tree: PrefixTree, searched: BoolArray, group: _Group, merit: IntArray, n_merits: int) -> IntArray:
    """Compare the sequences of a group with every node of a tree; return the best of each, shape ``(g,)``."""
    best = np.zeros(len(group.rows), np.int64)
    # One column for each word, earliest visits first; here, take is several times as fast as indexing.
    state = [np.full(len(group.rows), ~np.uint64(0)) for _ in range(group.n_words)]
    trail: list[tuple[int, IntArray, list[WordArray]]] = []  # what to restore, and the depth at which it was changed
    for node in _preorder(tree, searched):
        depth, location = int(tree.depths[node]), int(tree.locations[node])
        while trail and trail[-1][0] >= depth:
            _, rows, before = trail.pop()
            for word, column in zip(before, state, strict=True):
                column[rows] = word
        first, last = group.bounds[location : location + 2]
        if first == last:
            continue
        rows = group.holders[first:last]
        before = [column.take(rows) for column in state]
        after = _advanced(before, [mask[first:last] for mask in group.masks])
        trail.append((depth, rows, before))
        common = np.full(len(rows), _BITS * group.n_words)
        for word, column in zip(after, state, strict=True):
            column[rows] = word
            common -= np.bitwise_count(word)
        best[rows] = np.maximum(best.take(rows), common * n_merits + merit[node])
    return best


def _preorder(tree: PrefixTree, searched: BoolArray) -> Iterator[int]:
    """List the nodes of a tree without its root, a parent before its descendants."""
    nodes = np.flatnonzero(searched)
    nodes = nodes[nodes != ROOT]
    n_nodes = len(searched)
    # Ascending parents: the children of a node are a range.
    first = np.searchsorted(tree.parents[nodes], np.arange(n_nodes + 1)).tolist()
    number = nodes.tolist()
    waiting = [ROOT]
    while waiting:
        node = waiting.pop()
        if node != ROOT:
            yield node
        waiting += number[first[node] : first[node + 1]]


def _advanced(state: Sequence[WordArray], masks: Sequence[WordArray]) -> list[WordArray]:
    """Append one location to the path: ``row' = (row + (row & mask)) | (row & ~mask)`` over all words.

    Args:
        state: Rows of the dynamic program, a word each, the earliest visits first, shape ``(h,)``.
        masks: Where the location stands in each sequence, likewise.
    """
    advanced: list[WordArray] = []
    carry: WordArray | None = None
    for row, mask in zip(state, masks, strict=True):
        matched = row & mask
        total: WordArray = row + matched  # unsigned: the overflow of a word is dropped here, and carried to the next
        if len(state) > 1:
            beyond = total < row
            if carry is not None:
                total += carry
                beyond |= total < carry
            carry = beyond.astype(np.uint64)
        advanced.append(total | (row - matched))
    return advanced
