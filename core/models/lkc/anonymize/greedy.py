"""Which pairs to suppress so that no minimal violating sequence is left (Mohammed, Fung, Debbabi 2009, Section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from core.records.arrays import FloatArray, IntArray, ranges

__all__ = ["choose_pairs", "needed"]


class _Sequences:
    """Sequences of pairs; those that hold a suppressed pair are removed.

    Args:
        tables: Sequences of several sizes, shape ``(s, size)`` each.
        n_pairs: Number of pairs; their ids are below it.
    """

    def __init__(self, tables: Sequence[IntArray], n_pairs: int) -> None:
        sizes = np.concatenate([np.full(len(table), table.shape[1]) for table in tables] or [np.empty(0, np.int64)])
        self._starts = np.concatenate(([0], np.cumsum(sizes)))
        self._members = np.concatenate([table.ravel() for table in tables] or [np.empty(0, np.int64)])
        order = np.argsort(self._members, kind="stable")
        self._holding = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._bounds = np.searchsorted(self._members[order], np.arange(n_pairs + 1))
        self._gone = np.zeros(len(sizes), np.bool_)
        self.count = np.bincount(self._members, minlength=n_pairs)
        """How many sequences that are left hold each pair, shape ``(n_pairs,)``."""

    def holding(self, pair: int) -> IntArray:
        """Return the sequences that hold a pair, including removed ones."""
        return self._holding[self._bounds[pair] : self._bounds[pair + 1]]

    def remove(self, pair: int) -> IntArray:
        """Remove every sequence that holds a pair; return the pairs in them, ascending."""
        rows = self.holding(pair)
        rows = rows[~self._gone[rows]]
        self._gone[rows] = True
        lengths = self._starts[rows + 1] - self._starts[rows]
        touched, times = np.unique(self._members[ranges(self._starts[rows], lengths)], return_counts=True)
        self.count[touched] -= times
        return touched


def choose_pairs(
    violating: Sequence[IntArray], instances: IntArray, *, frequent: Sequence[IntArray] | None = None
) -> list[int]:
    """Choose pairs until each minimal violating sequence holds one: always the pair with the highest score.

    ``Score(p) = PrivGain(p) / (UtilityLoss(p) + 1)``. ``PrivGain`` is the number of remaining minimal violating
    sequences that hold the pair. ``UtilityLoss`` is the number of remaining maximal frequent sequences that hold it, or
    the number of its instances if none are given. Among equal scores the pair with fewer instances is taken, then the
    smaller id.

    A choice changes only the scores of pairs that share a sequence with it. Each sequence is removed once, so all
    updates together are at most as many as the sequences have pairs. A score that falls is updated when the pair is
    next; a score that rises, because the pair's utility loss falls, is updated at once.

    Args:
        violating: Minimal violating sequences, a table for each size, shape ``(v, size)``.
        instances: How many visits of each pair there are, shape ``(n_pairs,)``.
        frequent: Maximal frequent sequences, likewise.

    Returns:
        Ids of pairs, in the order they were chosen.
    """
    gains = _Sequences(violating, len(instances))
    losses = _Sequences(frequent or [], len(instances))
    loss = instances if frequent is None else losses.count

    def scores(pairs: IntArray) -> FloatArray:
        # Equal quotients are equal floats, and unequal ones differ: both numbers are far below 2**26.
        return gains.count[pairs] / (loss[pairs] + 1)

    # Each pair has one valid entry, an upper bound of its score: only a rise needs a new entry at once.
    entered = scores(np.arange(len(instances)))
    heap = [(-float(entered[pair]), int(instances[pair]), int(pair)) for pair in np.flatnonzero(gains.count)]
    heapify(heap)
    chosen: list[int] = []
    while heap:
        negative, _, pair = heappop(heap)
        if -negative != entered[pair] or gains.count[pair] == 0:
            continue
        score = gains.count[pair] / (loss[pair] + 1)
        if score < entered[pair]:
            entered[pair] = score
            heappush(heap, (-float(score), int(instances[pair]), pair))
            continue
        chosen.append(pair)
        gains.remove(pair)
        changed = losses.remove(pair)
        risen = changed[scores(changed) > entered[changed]]
        entered[risen] = scores(risen)
        for other in risen.tolist():
            heappush(heap, (-float(entered[other]), int(instances[other]), other))
    return chosen


def needed(chosen: Sequence[int], violating: Sequence[IntArray], instances: IntArray) -> list[int]:
    """Drop the chosen pairs that are not needed: without any of the returned pairs, a violating sequence would be left.

    Not part of the published algorithm. A pair chosen early may become superfluous, if each of its violating sequences
    holds a pair chosen later. Pairs with many instances are dropped first, among equals the smaller id.

    Args:
        chosen: Pairs; each violating sequence holds at least one of them.
        violating: As for :func:`choose_pairs`.
        instances: As for :func:`choose_pairs`.

    Returns:
        Some of the chosen pairs, in their order.
    """
    sequences = _Sequences(violating, len(instances))
    is_chosen = np.zeros(len(instances), np.int64)
    is_chosen[list(chosen)] = 1
    # Pairs of each sequence that are suppressed.
    n_chosen = np.concatenate([is_chosen[table].sum(axis=1) for table in violating] or [np.empty(0, np.int64)])
    for pair in sorted(chosen, key=lambda pair: (-int(instances[pair]), pair)):
        rows = sequences.holding(pair)
        if np.all(n_chosen[rows] > 1):
            n_chosen[rows] -= 1
            is_chosen[pair] = 0
    return [pair for pair in chosen if is_chosen[pair]]
