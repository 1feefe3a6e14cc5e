"""Which path of the pruned prefix tree an infrequent sequence is closest to (Pensa et al. 2008, Algorithm 5).

The paper compares a sequence with every sequence of the tree, takes the longest common subsequence, of several as long
the one nearest by Levenshtein distance to the sequence of the tree that holds it, and re-appends to the minimum prefix
that holds it. Each node stands for a sequence of the tree, and a sequence differs from one of its subsequences by
insertions only, so that this distance is the number of locations that are not of the common subsequence. The choice is
therefore the node, of all whose paths have the longest common subsequence, with the shortest path; that path is its own
minimum prefix, for a shorter one would have been chosen.

Common lengths are kept for all sequences at once while the tree is walked: one bit for each visit of a sequence,
cleared where the row of the dynamic program rises, advanced by one location with a few operations on words (Hyyrö
2004). Going down to a node changes only the sequences that hold its location, and going up restores them.
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
"""Steps that a node costs by itself, however few sequences hold its location: what Python takes, in such steps."""

_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closest:
    """Where the search led."""

    nodes: IntArray
    """Closest node of each sequence, shape ``(q,)``; the root where it has nothing in common with any path."""

    searched_support: int | None
    """None where every node was compared. Otherwise the smallest support of those that were: besides these, each
    sequence's own beginning was considered."""


def closest_paths(tree: PrefixTree, frequent: BoolArray, cut: IntArray, *, most_steps: int) -> Closest:
    """Find the closest frequent path of each infrequent sequence.

    Chosen is the node with the longest common subsequence, then the shortest path, then the largest support, then the
    smallest sequence of ids.

    A step is one word of 64 visits of one sequence, compared with one node whose location the sequence holds; a node
    costs :data:`STEPS_OF_A_NODE` more. Where all nodes would take more than ``most_steps``, only those with the largest
    supports are compared: all of a support or none, as many as fit. They are a tree again.

    Args:
        tree: The prefix tree of the window, ``t`` nodes.
        frequent: Which of them are left, a tree that holds the root, shape ``(t,)``.
        cut: Nodes of the sequences to find a path for, distinct, shape ``(q,)``.
        most_steps: The bound.
    """
    if not len(cut):
        return Closest(nodes=cut, searched_support=None)
    left = np.flatnonzero(frequent)
    merit = np.zeros(len(frequent), np.int64)  # (t,) of two nodes with as much in common the larger is chosen
    by_merit = left[np.lexsort((left, -tree.supports[left], tree.depths[left]))][::-1]
    merit[by_merit] = np.arange(len(left))
    own = _nearest_ancestors(tree, frequent, cut)
    best = tree.depths[own] * len(left) + merit[own]  # (q,) what is common first, then merit

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
    """Sequences of as many words each, and where in them every location stands."""

    rows: IntArray
    """Which of all sequences these are, shape ``(g,)``."""

    n_words: int
    bounds: IntArray
    """Where the holders of each location begin, shape ``(L + 1,)``."""

    holders: IntArray
    """Sequences of the group that hold the location, shape ``(h,)``."""

    masks: WordArray
    """The visits of the holder that are at the location, a bit for each, shape ``(n_words, h)``."""

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
    """Return the longest beginning of each sequence that is left."""
    while not frequent[nodes].all():
        nodes = np.where(frequent[nodes], nodes, tree.parents[nodes])
    return nodes


def _affordable_support(tree: PrefixTree, nodes: IntArray, groups: Sequence[_Group], most_steps: int) -> int | None:
    """Return the smallest support such that all nodes of at least that can be compared; None where all nodes can."""
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
    # One column for each word, the first of the earliest visits; take is several times as fast as an index here.
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
    """List the nodes of a tree but for its root, a parent before what is below it."""
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
        total: WordArray = row + matched  # unsigned: what goes beyond a word is lost here, and carried to the next
        if len(state) > 1:
            beyond = total < row
            if carry is not None:
                total += carry
                beyond |= total < carry
            carry = beyond.astype(np.uint64)
        advanced.append(total | (row - matched))
    return advanced
