"""Voting: the nearest segment of each other user to a segment of a trajectory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["nearest_of_users", "squared_distance"]

_ALL_AXES = 0b1110_0000
_STANDSTILL = 1e-30  # squared m/ms: at a lower relative speed a pair drifts less than a micrometre in eleven days


@kernel("float64(float64[:, ::1], int64[::1], int64, int64)")
def squared_distance(moves: FloatArray, to_ms: IntArray, one: int, other: int) -> float:
    """Return the square of the smallest distance of two segments in their common time, square metres.

    Args:
        moves: Start time of each of ``m`` segments, milliseconds, its x and y there, metres, and its velocity in x and
            y, metres a millisecond, shape ``(m, 5)``.
        to_ms: Time at its end, shape ``(m,)``.
        one: A segment.
        other: Another one, which overlaps it in time.
    """
    t_a, x_a, y_a, vx_a, vy_a = moves[one, 0], moves[one, 1], moves[one, 2], moves[one, 3], moves[one, 4]
    t_b, x_b, y_b, vx_b, vy_b = moves[other, 0], moves[other, 1], moves[other, 2], moves[other, 3], moves[other, 4]
    start = max(t_a, t_b)
    common_ms = min(to_ms[one], to_ms[other]) - start
    x = x_a + (start - t_a) * vx_a - x_b - (start - t_b) * vx_b
    y = y_a + (start - t_a) * vy_a - y_b - (start - t_b) * vy_b
    vx, vy = vx_a - vx_b, vy_a - vy_b
    speed = vx * vx + vy * vy
    nearest_ms = 0.0
    if speed > _STANDSTILL:
        nearest_ms = min(max(-(x * vx + y * vy) / speed, 0.0), common_ms)
    x += nearest_ms * vx
    y += nearest_ms * vy
    squared: float = x * x + y * y
    return squared


@kernel(
    "int64(int64, int64, int64[::1], int64[::1], uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, int64[::1], float64[::1])",
    allocates=True,
)
def nearest_of_users(
    first: int,
    last: int,
    listed: IntArray,
    segment: IntArray,
    lowest: npt.NDArray[np.uint8],
    begin: IntArray,
    size: IntArray,
    order: IntArray,
    user: IntArray,
    from_ms: IntArray,
    to_ms: IntArray,
    moves: FloatArray,
    low_m: FloatArray,
    high_m: FloatArray,
    reach_m: float,
    found: IntArray,
    squared_m2: FloatArray,
) -> int:
    """Find, for some segments, the nearest segment of each other user that overlaps in time.

    Segments that share no cell of a grid are not compared, nor those whose boxes are out of reach.

    Args:
        first: First of the ``m`` segments for which the nearest ones are looked for.
        last: The segment after the last one.
        listed: Where the grid's entries of each segment begin, then ``e``, shape ``(m + 1,)``.
        segment: Segment of each entry, shape ``(e,)``.
        lowest: A bit for each axis on which the entry's cell is the segment's lowest, shape ``(e,)``.
        begin: Where the entries of the same cell begin in ``order``, shape ``(e,)``.
        size: Number of entries of the same cell, shape ``(e,)``.
        order: Entries, cell by cell, shape ``(e,)``.
        user: User of each segment, at least 0, ascending, shape ``(m,)``.
        from_ms: Time at which each begins, shape ``(m,)``.
        to_ms: Time at which it ends.
        moves: As in :func:`squared_distance`.
        low_m: South-west corner of the box around each, x and y, shape ``(2, m)``.
        high_m: Its north-east corner.
        reach_m: Largest distance of two boxes on each axis, metres.
        found: Gets the segment of each result, ascending. It is as long as the cells of all entries together.
        squared_m2: Gets the square of the distance to the nearest segment of one user, as long.

    Returns:
        The number of results.
    """
    n_users = user[-1] + 1
    nearest = np.empty(n_users)
    seen = np.full(n_users, -1)  # the segment for which a user was found last
    neighbours = np.empty(n_users, dtype=np.int64)
    n_found = 0
    for one in range(first, last):
        n_neighbours = 0
        for entry in range(listed[one], listed[one + 1]):
            for at in range(begin[entry], begin[entry] + size[entry]):
                # Two boxes may share several cells; the pair counts in the lowest, where on each axis one begins.
                if lowest[entry] | lowest[order[at]] != _ALL_AXES:
                    continue
                other = segment[order[at]]
                if user[one] == user[other] or from_ms[one] >= to_ms[other] or from_ms[other] >= to_ms[one]:
                    continue
                if max(low_m[0, one] - high_m[0, other], low_m[0, other] - high_m[0, one]) > reach_m:
                    continue
                if max(low_m[1, one] - high_m[1, other], low_m[1, other] - high_m[1, one]) > reach_m:
                    continue
                squared = squared_distance(moves, to_ms, one, other)
                who = user[other]
                if seen[who] != one:
                    seen[who] = one
                    nearest[who] = squared
                    neighbours[n_neighbours] = who
                    n_neighbours += 1
                elif squared < nearest[who]:
                    nearest[who] = squared
        for i in range(n_neighbours):
            found[n_found] = one
            squared_m2[n_found] = nearest[neighbours[i]]
            n_found += 1
    return n_found
