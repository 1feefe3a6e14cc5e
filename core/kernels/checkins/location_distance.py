"""The mean distance of each location to the members of its generalized location."""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["mean_distances"]


@kernel("float64(float64[::1], int64, int64)", allocates=True)
def short_sum(numbers: FloatArray, start: int, stop: int) -> float:
    """Add up to 128 numbers in NumPy's order: eight sums side by side, then the sums, then the rest one by one."""
    eighths = start + (stop - start) // 8 * 8
    if eighths == start:
        total = 0.0
    else:
        s = numbers[start : start + 8].copy()
        for i in range(start + 8, eighths, 8):
            for j in range(8):
                s[j] += numbers[i + j]
        total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
    for i in range(eighths, stop):
        total += numbers[i]
    return total


@kernel("float64(float64[::1], int64)", allocates=True)
def numpy_sum(numbers: FloatArray, n: int) -> float:
    """Add ``n`` numbers in NumPy's order: halves are added on their own until they have at most 128."""
    # Each half that a left half is added to: its range, and the sum of the left half once it is known.
    begins, ends, left = np.empty(64, np.int64), np.empty(64, np.int64), np.full(64, np.nan)
    is_known, depth = np.zeros(64, np.bool_), 0
    begin, end = 0, n
    while True:
        while end - begin > 128:
            half = (end - begin) // 2
            begins[depth], ends[depth], is_known[depth] = begin + half - half % 8, end, False
            end = begins[depth]
            depth += 1
        total = short_sum(numbers, begin, end)
        while depth and is_known[depth - 1]:
            depth -= 1
            total = left[depth] + total
        if depth == 0:
            return total
        left[depth - 1], is_known[depth - 1] = total, True
        begin, end = begins[depth - 1], ends[depth - 1]


@kernel("float64[::1](float64[:, ::1], int64[::1], int64[::1])", allocates=True)
def mean_distances(xy_m: FloatArray, group_of: IntArray, order: IntArray) -> FloatArray:
    """Return the mean distance of each location to the members of its group, itself included.

    Args:
        xy_m: Position of each location, metres, shape ``(L, 2)``.
        group_of: Group of each location, shape ``(L,)``.
        order: The locations, those of a group one after the other, shape ``(L,)``. Distances are added in this order,
            as ``numpy.sum`` adds.

    Returns:
        Metres, shape ``(L,)``; 0 for a location that is alone.
    """
    n_locations = len(xy_m)
    mean_m, distance_m = np.zeros(n_locations), np.empty(n_locations)
    start = 0
    while start < n_locations:
        end = start + 1
        while end < n_locations and group_of[order[end]] == group_of[order[start]]:
            end += 1
        n = end - start
        for i in range(start, end if n > 1 else start):
            for j in range(n):
                dx = xy_m[order[i], 0] - xy_m[order[start + j], 0]
                dy = xy_m[order[i], 1] - xy_m[order[start + j], 1]
                distance_m[j] = np.sqrt(dx * dx + dy * dy)
            mean_m[order[i]] = numpy_sum(distance_m, n) / n
        start = end
    return mean_m
