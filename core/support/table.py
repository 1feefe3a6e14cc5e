"""Supports counted from scratch, over the columns of a whole window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.records.arrays import IntArray, distinct
from core.trajectories.trajectory import Sequences

__all__ = ["SubtrajectoryTable", "subtrajectories", "support", "supporters", "visitors"]

# Bounds the memory of one step of the enumeration, not its result.
_CANDIDATES_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubtrajectoryTable:
    """Every distinct subtrajectory of one size that occurs, and the people who support it."""

    locations: IntArray
    """Location ids of each subtrajectory, rows ascending lexicographically, shape ``(s, size)``."""

    starts: IntArray
    """Where each subtrajectory's people begin in ``users``, shape ``(s + 1,)``."""

    users: IntArray
    """Distinct user numbers, ascending inside a subtrajectory, shape ``(starts[-1],)``."""

    @property
    def supports(self) -> IntArray:
        """Number of distinct people whose trajectories contain each subtrajectory, at least 1, shape ``(s,)``."""
        return np.diff(self.starts)


def support(subtrajectory: Sequence[int], sequences: Sequences) -> int:
    """Count the people with a trajectory that contains a subtrajectory, order kept, gaps allowed.

    Args:
        subtrajectory: Location ids, ``j >= 1`` of them.
        sequences: The trajectories (Poulis et al. 2014, Definition 3, over people instead of trajectories).

    Returns:
        The support, in ``0..n_users``.

    Raises:
        ValueError: The subtrajectory is empty.

    >>> ids = np.array([1, 2, 3, 3, 1])
    >>> support((1, 3), Sequences(users=np.array([0, 1]), starts=np.array([0, 3, 5]), locations=ids))
    1
    """
    return len(supporters(subtrajectory, sequences))


def supporters(subtrajectory: Sequence[int], sequences: Sequences) -> IntArray:
    """Return the people that :func:`support` counts, ascending; arguments and errors are the same."""
    if len(subtrajectory) == 0:
        raise ValueError("the subtrajectory is empty: it needs at least one location")
    owner = np.arange(len(sequences.users))  # (c,) trajectories that contain all locations so far
    after = sequences.starts[:-1]  # (c,) start of the search for the next location
    for location in subtrajectory:
        visits = np.flatnonzero(sequences.locations == location)
        found = np.searchsorted(visits, after)
        within = found < len(visits)
        owner, found = owner[within], found[within]
        inside = visits[found] < sequences.starts[owner + 1]
        owner, after = owner[inside], visits[found[inside]] + 1
    return np.unique(sequences.users[owner])


def subtrajectories(sequences: Sequences, size: int) -> SubtrajectoryTable:
    """List the distinct subtrajectories of one size, with the people who support each.

    Inside a trajectory each distinct subtrajectory is found once, at its earliest embedding: a prefix that ends
    as early as possible is extended by the first visit to each location after it. So the work depends on the number
    of distinct subtrajectories, not of embeddings, and a long trajectory over few locations is cheap.

    Args:
        sequences: The trajectories.
        size: Number of locations, at least 1.

    Raises:
        ValueError: The size is below 1.
    """
    if size < 1:
        raise ValueError(f"size is {size}: it must be at least 1")
    locations = sequences.locations
    trajectory_of = np.repeat(np.arange(len(sequences.users)), np.diff(sequences.starts))  # (p,)
    ends = sequences.starts[1:][trajectory_of]  # (p,) end of the trajectory around each visit
    n_ids = int(locations.max()) + 1 if len(locations) else 1
    previous = _previous_visits(trajectory_of * n_ids + locations)

    at = np.flatnonzero(previous < 0)  # (e,) last visit of each earliest embedding
    codes, number = np.unique(locations[at], return_inverse=True)  # number: (e,) row in the table
    table = codes[:, None]
    for _ in range(size - 1):
        prefix, at = _next_visits(at, ends, previous)
        codes, number = np.unique(number[prefix] * n_ids + locations[at], return_inverse=True)
        table = np.column_stack((table[codes // n_ids], codes % n_ids))  # rows stay ascending

    n_users = max(sequences.n_users, 1)
    pairs = distinct(number * n_users + sequences.users[trajectory_of[at]])  # each (row, user) once
    starts = np.searchsorted(pairs, np.arange(len(table) + 1) * n_users)
    return SubtrajectoryTable(locations=table, starts=starts, users=pairs % n_users)


def visitors(sequences: Sequences) -> dict[int, set[int]]:
    """Return the people who visit each visited location; the caller may change the sets."""
    table = subtrajectories(sequences, 1)
    users = table.users.tolist()
    bounds = pairwise(table.starts.tolist())
    locations = table.locations[:, 0].tolist()
    return {location: set(users[start:end]) for location, (start, end) in zip(locations, bounds, strict=True)}


def _previous_visits(visits: IntArray) -> IntArray:
    """Return, for each (trajectory, location) code, the index of the previous visit with the same code, or -1."""
    order = np.argsort(visits, kind="stable")
    repeats = visits[order[1:]] == visits[order[:-1]]
    previous = np.full(len(visits), -1)
    previous[order[1:][repeats]] = order[:-1][repeats]
    return previous


def _next_visits(at: IntArray, ends: IntArray, previous: IntArray) -> tuple[IntArray, IntArray]:
    """Pair each visit with the first visit after it, in its trajectory, to each location.

    Returns:
        Rows of ``at``, and the visits reached from them, both of the same length.
    """
    n_after = ends[at] - at - 1  # (e,)
    total = np.concatenate(([0], np.cumsum(n_after)))
    rows, reached = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    first = 0
    while first < len(at):
        last = max(first + 1, int(np.searchsorted(total, total[first] + _CANDIDATES_AT_ONCE, "right")) - 1)
        row = np.repeat(np.arange(first, last), n_after[first:last])
        visit = at[row] + 1 + np.arange(total[first], total[last]) - total[row]
        is_first = previous[visit] <= at[row]
        rows.append(row[is_first])
        reached.append(visit[is_first])
        first = last
    return np.concatenate(rows), np.concatenate(reached)
