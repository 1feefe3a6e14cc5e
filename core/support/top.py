"""The most frequent subtrajectories, however long."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory
from core.trajectories.trajectory import Sequences

__all__ = ["top_subtrajectories"]


def top_subtrajectories(sequences: Sequences, n: int) -> list[tuple[Subtrajectory, int]]:
    """Find the ``n`` subtrajectories with the largest supports.

    Best-first search: an extended subtrajectory never has more support than its prefix, and follows it in the order of
    ids, so the next entry of the heap is always the next result. Each of the ``n`` costs one pass over the visits that
    follow it (the projected database of PrefixSpan, Pei et al. 2004).

    Args:
        sequences: The trajectories. Support counts distinct people.
        n: Number of subtrajectories to find.

    Returns:
        At most ``n`` subtrajectories with their supports, the largest first, ties by ids.

    >>> ids = np.array([1, 2, 1, 2])
    >>> top_subtrajectories(Sequences(users=np.array([0, 1]), starts=np.array([0, 3, 4]), locations=ids), 2)
    [((2,), 2), ((1,), 1)]
    """
    trajectory_of = np.repeat(np.arange(len(sequences.users)), np.diff(sequences.starts))  # (p,)
    user_of = sequences.users[trajectory_of]  # (p,)
    everything = sequences.starts[:-1]
    heap: list[tuple[int, Subtrajectory, IntArray]] = []
    for location, count in _supports_after(sequences, user_of, everything):
        heappush(heap, (-count, (location,), everything))
    found: list[tuple[Subtrajectory, int]] = []
    while heap and len(found) < n:
        negative, pattern, after = heappop(heap)
        found.append((pattern, -negative))
        after = _after(sequences, trajectory_of, after, pattern[-1])
        for location, count in _supports_after(sequences, user_of, after):
            # No two entries have the same pattern, so the arrays of entries are never compared.
            heappush(heap, (-count, (*pattern, location), after))
    return found


def _after(sequences: Sequences, trajectory_of: IntArray, after: IntArray, location: int) -> IntArray:
    """Return the visit after the first one to a location from ``after`` on; the trajectory's end if there is none."""
    at = np.flatnonzero(sequences.locations == location)
    at = at[at >= after[trajectory_of[at]]]
    following = sequences.starts[1:].copy()  # (n,)
    # The earliest visit of a trajectory is written last.
    following[trajectory_of[at[::-1]]] = at[::-1] + 1
    return following


def _supports_after(sequences: Sequences, user_of: IntArray, after: IntArray) -> list[tuple[int, int]]:
    """Count the people at each location from ``after``, shape ``(n,)``, to the ends of their trajectories."""
    follows = np.arange(len(user_of)) >= np.repeat(after, np.diff(sequences.starts))
    n_users = max(sequences.n_users, 1)
    codes = np.unique(sequences.locations[follows] * n_users + user_of[follows])
    locations, counts = np.unique(codes // n_users, return_counts=True)
    return list(zip(locations.tolist(), counts.tolist(), strict=True))
