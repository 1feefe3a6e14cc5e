"""Embeddings of a subtrajectory in what is left of one person's trajectories."""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, IntArray

__all__ = ["is_embedded", "most_used_visit", "single_steps"]

_MANY = 1e150
"""Embeddings up to which is counted: products of two counts, and their sums, stay finite."""

# The arguments that all of these share:
#     wanted     Location ids of the subtrajectory, shape (size,).
#     locations  Location id of every visit of the window, shape (p,).
#     kept       False where a visit is suppressed, shape (p,).
#     begins     True where a trajectory begins, shape (p,).
#     first, end The person's visits; a trajectory begins at `first`.


@kernel("int64(boolean[::1], int64, int64)")
def end_of_trajectory(begins: BoolArray, start: int, end: int) -> int:
    """Return where the trajectory ends that begins at ``start``, at most ``end``."""
    stop = start + 1
    while stop < end and not begins[stop]:
        stop += 1
    return stop


@kernel("boolean(int64[::1], int64[::1], boolean[::1], int64, int64, int64[::1])")
def earliest_embedding(
    wanted: IntArray, locations: IntArray, kept: BoolArray, start: int, stop: int, used: IntArray
) -> bool:
    """Find the visits that the earliest embedding in one trajectory uses; return whether there is an embedding."""
    n = 0
    for visit in range(start, stop):
        if kept[visit] and locations[visit] == wanted[n]:
            used[n] = visit
            n += 1
            if n == len(wanted):
                return True
    return False


@kernel("void(int64[::1], int64[::1], boolean[::1], int64, int64, int64[::1])")
def latest_embedding(
    wanted: IntArray, locations: IntArray, kept: BoolArray, start: int, stop: int, used: IntArray
) -> None:
    """Find the visits that the latest embedding in one trajectory uses; there has to be an embedding."""
    n = len(wanted)
    for visit in range(stop - 1, start - 1, -1):
        if kept[visit] and locations[visit] == wanted[n - 1]:
            n -= 1
            used[n] = visit
            if n == 0:
                return


@kernel("boolean(int64[::1], int64[::1], boolean[::1], boolean[::1], int64, int64)")
def is_embedded(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> bool:
    """Return whether a person has a subtrajectory."""
    n = 0
    for visit in range(first, end):
        if begins[visit]:
            n = 0
        if kept[visit] and locations[visit] == wanted[n]:
            n += 1
            if n == len(wanted):
                return True
    return False


@kernel("boolean(int64[::1], int64[::1], boolean[::1], boolean[::1], int64, int64, int64[::1], int64[::1])")
def single_steps(
    wanted: IntArray,
    locations: IntArray,
    kept: BoolArray,
    begins: BoolArray,
    first: int,
    end: int,
    visits: IntArray,
    latest: IntArray,
) -> bool:
    """Find the single steps that remove a subtrajectory from a person; return whether the person has it.

    Every embedding in a trajectory uses a visit if and only if the earliest and the latest embedding use it for the
    same location of the subtrajectory. Otherwise, the beginning of the earliest one and the end of the latest one form
    an embedding without it. Every embedding spans a gap if and only if the earliest one ends after the gap and the
    latest one begins before it. If several trajectories contain the subtrajectory, no single step removes it.

    Args:
        wanted: See above, like all that is not described here.
        locations: Of every visit.
        kept: Of every visit.
        begins: Of every visit.
        first: The person's first visit.
        end: The end of the person's visits.
        visits: Receives the visits whose suppression removes it, -1 instead of a visit that does not, shape
            ``(size,)``; then the first of the visits after which a split removes it, and their end. Shape
            ``(size + 2,)``.
        latest: For intermediate results, shape ``(size,)``.
    """
    size, has = len(wanted), False
    start = first
    while start < end:
        stop = end_of_trajectory(begins, start, end)
        if has:
            if is_embedded(wanted, locations, kept, begins, start, stop):
                visits[:] = -1
                return True
        elif earliest_embedding(wanted, locations, kept, start, stop, visits):
            has = True
            latest_embedding(wanted, locations, kept, start, stop, latest)
            visits[size], visits[size + 1] = latest[0], visits[size - 1]
            for i in range(size):
                if visits[i] != latest[i]:
                    visits[i] = -1
        start = stop
    return has


@kernel("int64(int64[::1], int64[::1], boolean[::1], boolean[::1], int64, int64)", allocates=True)
def most_used_visit(
    wanted: IntArray, locations: IntArray, kept: BoolArray, begins: BoolArray, first: int, end: int
) -> int:
    """Return the visit that most embeddings of a subtrajectory use, the latest among equals.

    The person has to have the subtrajectory. Embeddings are counted as floats, exactly up to 2**53 of them, and no
    further than :data:`_MANY`.
    """
    size, found, most = len(wanted), -1, 0.0
    start = first
    while start < end:
        stop = end_of_trajectory(begins, start, end)
        # (visits, size) embeddings of the first i + 1 locations that end at a visit
        ending = np.zeros((stop - start, size))
        n_before = np.zeros(size + 1)
        n_before[0] = 1.0
        for visit in range(start, stop):
            for i in range(size - 1, -1, -1):
                if kept[visit] and locations[visit] == wanted[i]:
                    ending[visit - start, i] = n_before[i]
                    n_before[i + 1] = min(n_before[i + 1] + n_before[i], _MANY)
        n_after = np.zeros(size + 1)
        n_after[size] = 1.0
        used = np.zeros(stop - start)
        for visit in range(stop - 1, start - 1, -1):
            for i in range(size):
                if kept[visit] and locations[visit] == wanted[i]:
                    used[visit - start] += ending[visit - start, i] * n_after[i + 1]
                    n_after[i] = min(n_after[i] + n_after[i + 1], _MANY)
        for visit in range(start, stop):
            if used[visit - start] > 0 and used[visit - start] >= most:
                found, most = visit, used[visit - start]
        start = stop
    return found
