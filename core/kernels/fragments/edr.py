"""EDR, the number of edits between trajectories: a table in the bits of whole numbers, column by column.

Two points match if x, y and time each differ by at most their tolerance. A pair of points that match costs nothing. A
pair that does not match, and a point that stays alone, cost one edit (Chen, Ozsu, Oria 2005). Entry ``(i, j)`` of the
table is the number of edits between the first ``i`` points of one trajectory and the first ``j`` of the other.

Neighbouring entries differ by at most 1. A column of the table is therefore two rows of bits: where an entry is one
more than the one before it (``up``), and where it is one less (``down``). The next column takes a few operations on
whole words of bits (Myers 1999, as Hyyro 2003 writes it).
"""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["MILLIONTHS", "edits", "edits_a_point", "matched", "near", "next_column", "pairs_with_pivot", "script"]

_WORD = 62  # bits of a word: two words and a carry are added, and a word is shifted by a bit, without overflow
_FULL = (1 << _WORD) - 1

MILLIONTHS = 1_000_000
"""Of an edit a point."""


@kernel("boolean(float64[:, ::1], int64, float64[:, ::1], int64, float64)")
def near(xy_m: FloatArray, i: int, other_xy_m: FloatArray, j: int, space_m: float) -> bool:
    """Return whether two points match if their times do."""
    x_m, y_m = abs(xy_m[i, 0] - other_xy_m[j, 0]), abs(xy_m[i, 1] - other_xy_m[j, 1])
    return bool(x_m <= space_m and y_m <= space_m)


@kernel("UniTuple(int64, 3)(int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64, int64)")
def matched(
    t_ms: IntArray, xy_m: FloatArray, other_t_ms: IntArray, other_xy_m: FloatArray, space_m: float, time_ms: int
) -> tuple[int, int, int]:
    """Return how many points match a point of the other trajectory, and the first and last that do, or -1."""
    count, first, last = 0, -1, -1
    low = 0
    for i in range(len(t_ms)):
        while low < len(other_t_ms) and other_t_ms[low] < t_ms[i] - time_ms:
            low += 1
        j = low
        while j < len(other_t_ms) and other_t_ms[j] <= t_ms[i] + time_ms:
            if near(xy_m, i, other_xy_m, j, space_m):
                first, last = (i if count == 0 else first), i
                count += 1
                break
            j += 1
    return count, first, last


@kernel("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64, int64)")
def next_column(
    matching: IntArray, up: IntArray, down: IntArray, wider: IntArray, same: IntArray, first: int, n_rows: int
) -> int:
    """Compute a column of the table from the column before.

    Args:
        matching: Bit ``i`` is set if point ``i`` matches the point of this column, words of 62 bits.
        up: Bit ``i`` is set if entry ``i + 1`` is one more than entry ``i``: of the column before, then of this one.
        down: The same for one less.
        wider: Receives where an entry is one more than in the column before.
        same: Receives where an entry is the same as its diagonal neighbour, entry ``i - 1`` of the column before.
        first: How much more entry 0 is than in the column before, 0 or 1.
        n_rows: Number of points, at least 1.

    Returns:
        How much more the last entry is than in the column before, -1, 0 or 1.
    """
    carry, wider_before, narrower_before = 0, first, 0
    wide, narrow = 0, 0
    for word in range(len(up)):
        total = (matching[word] & up[word]) + up[word] + carry
        as_diagonal = ((total ^ up[word]) | matching[word] | down[word]) & _FULL
        wide = down[word] | (_FULL & ~(up[word] | as_diagonal))
        narrow = up[word] & as_diagonal
        shifted = (wide << 1) | wider_before
        down[word] = shifted & as_diagonal
        up[word] = ((narrow << 1) | narrower_before | ~(shifted | as_diagonal)) & _FULL
        wider[word], same[word] = wide, as_diagonal
        carry, wider_before, narrower_before = total >> _WORD, wide >> (_WORD - 1), narrow >> (_WORD - 1)
    last = (n_rows - 1) % _WORD
    return (wide >> last & 1) - (narrow >> last & 1)


@kernel("int64(int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64, int64, int64)", allocates=True)
def edits(
    t_ms: IntArray,
    xy_m: FloatArray,
    other_t_ms: IntArray,
    other_xy_m: FloatArray,
    space_m: float,
    time_ms: int,
    limit: int,
) -> int:
    """Return EDR where it is at most a limit, else a number above the limit and not above EDR.

    Only the box of the table from the first to the last point that matches at all is computed, in rows and in columns.
    Entry ``(i, j)`` outside of it is ``max(i, j)`` if it is before the box. A script that leaves the box at ``(i, j)``
    costs ``max(m - i, n - j)`` more.
    """
    m, n = len(t_ms), len(other_t_ms)
    rows, first_row, last_row = matched(t_ms, xy_m, other_t_ms, other_xy_m, space_m, time_ms)
    if rows == 0 or max(m, n) - rows > limit:
        return max(m, n) - rows
    columns, first_column, last_column = matched(other_t_ms, other_xy_m, t_ms, xy_m, space_m, time_ms)
    least = max(m, n) - min(rows, columns)  # each pair that matches needs a row and a column of its own
    if least > limit:
        return least

    n_rows, rows_after = last_row + 1 - first_row, m - last_row - 1
    bits = np.zeros((5, (n_rows + _WORD - 1) // _WORD), dtype=np.int64)
    matching, up, down, wider, same = bits[0], bits[1], bits[2], bits[3], bits[4]
    for i in range(n_rows):
        if first_row + i >= first_column:
            up[i // _WORD] |= 1 << i % _WORD
    entry = max(last_row + 1, first_column)  # of the last row of the box
    found = max(m, n)  # by the scripts that have left the box so far
    low = first_row
    for j in range(first_column, last_column + 1):
        while low < m and t_ms[low] < other_t_ms[j] - time_ms:
            low += 1
        i, matches = low, False
        while i <= last_row and t_ms[i] <= other_t_ms[j] + time_ms:
            if near(xy_m, i, other_xy_m, j, space_m):
                matching[(i - first_row) // _WORD] |= 1 << (i - first_row) % _WORD
                matches = True
            i += 1
        entry += next_column(matching, up, down, wider, same, 1 if j >= first_row else 0, n_rows)
        found = min(found, entry + max(rows_after, n - j - 1))
        if matches:
            matching[:] = 0
            columns -= 1
            at_least = min(found, entry - columns + rows_after)  # a column without a match makes no entry less
            if at_least > limit:
                return max(at_least, least)
    for i in range(n_rows - 1, -1, -1):
        entry -= (up[i // _WORD] >> i % _WORD & 1) - (down[i // _WORD] >> i % _WORD & 1)
        found = min(found, entry + max(m - first_row - i, n - last_column - 1))
    return found


@kernel(
    "UniTuple(int64, 2)"
    "(int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64, int64, int64[::1], int64[::1])",
    allocates=True,
)
def script(
    t_ms: IntArray,
    xy_m: FloatArray,
    pivot_t_ms: IntArray,
    pivot_xy_m: FloatArray,
    space_m: float,
    time_ms: int,
    own: IntArray,
    pivot: IntArray,
) -> tuple[int, int]:
    """Find the cheapest script that :func:`core.models.kdelta.anonymize.distance.edr.edit_pairs` describes.

    The table takes half a byte an entry.

    Args:
        t_ms: Times of the trajectory, shape ``(m,)``, with positions ``xy_m``.
        xy_m: Its positions, shape ``(m, 2)``.
        pivot_t_ms: Times of the pivot, shape ``(n,)``.
        pivot_xy_m: Its positions, shape ``(n, 2)``.
        space_m: Largest difference of each coordinate of points that match.
        time_ms: Largest difference of their times.
        own: Receives the trajectory's point of each step, or -1, at its end, shape ``(m + n,)``.
        pivot: Receives the pivot's point of each step, or -1, at its end, shape ``(m + n,)``.

    Returns:
        Number of steps, and of those that are edits.
    """
    m, n = len(t_ms), len(pivot_t_ms)
    bits = np.zeros((4, n, (m + _WORD - 1) // _WORD), dtype=np.int64)
    matching, ups, widers, sames = bits[0], bits[1], bits[2], bits[3]
    up, down = np.full(bits.shape[2], _FULL), np.zeros(bits.shape[2], dtype=np.int64)
    low = 0
    for j in range(n):
        while low < m and t_ms[low] < pivot_t_ms[j] - time_ms:
            low += 1
        i = low
        while i < m and t_ms[i] <= pivot_t_ms[j] + time_ms:
            if near(xy_m, i, pivot_xy_m, j, space_m):
                matching[j, i // _WORD] |= 1 << i % _WORD
            i += 1
        next_column(matching[j], up, down, widers[j], sames[j], 1, m)
        ups[j] = up

    i, j, step, n_edits = m - 1, n - 1, m + n, 0
    while i >= 0 or j >= 0:
        matches = False
        if j < 0:
            delete, create = True, False
        elif i < 0:
            delete, create = False, True
        else:
            word, bit = i // _WORD, i % _WORD
            matches = (matching[j, word] >> bit & 1) == 1
            same = (sames[j, word] >> bit & 1) == 1
            delete = not matches and (ups[j, word] >> bit & 1) == 1
            create = not matches and (widers[j, word] >> bit & 1) == 1
            if not matches and not same:  # a replacement is optimal as well
                delete = delete and t_ms[i] > pivot_t_ms[j]
                create = create and t_ms[i] < pivot_t_ms[j]
            elif delete and create:
                delete = t_ms[i] > pivot_t_ms[j]
                create = not delete
        n_edits += 0 if matches else 1
        step -= 1
        own[step], pivot[step] = (-1 if create else i), (-1 if delete else j)
        i -= 0 if create else 1
        j -= 0 if delete else 1
    return m + n - step, n_edits


@kernel(
    "int64(int64[::1], int64[::1], float64[:, ::1], int64[::1], int64, float64, int64,"
    " int64[::1], int64[::1], int64[::1])",
    allocates=True,
)
def pairs_with_pivot(
    starts: IntArray,
    t_ms: IntArray,
    xy_m: FloatArray,
    members: IntArray,
    pivot: int,
    space_m: float,
    time_ms: int,
    rows: IntArray,
    own: IntArray,
    at: IntArray,
) -> int:
    """Find the pairs of points in the :func:`script` of each member of a cluster, edited into the pivot.

    Args:
        starts: Where trajectories begin, shape ``(n + 1,)``.
        t_ms: Times, shape ``(p,)``.
        xy_m: Positions, shape ``(p, 2)``.
        members: Trajectories, shape ``(s,)``; ``q`` is the sum of the shorter lengths of each and the pivot.
        pivot: The trajectory that they are edited into.
        space_m: Largest difference of each coordinate of points that match.
        time_ms: Largest difference of their times.
        rows: Receives the row of each pair's member, shape ``(q,)``.
        own: Receives the member's point in the data set, shape ``(q,)``.
        at: Receives the pivot's point, counted from its first, shape ``(q,)``.

    Returns:
        Number of pairs.
    """
    begin, end = starts[pivot], starts[pivot + 1]
    n = 0
    for row in range(len(members)):
        first, last = starts[members[row]], starts[members[row] + 1]
        steps = np.empty((2, last - first + end - begin), np.int64)
        n_steps, _ = script(
            t_ms[first:last], xy_m[first:last], t_ms[begin:end], xy_m[begin:end], space_m, time_ms, steps[0], steps[1]
        )
        for step in range(steps.shape[1] - n_steps, steps.shape[1]):
            if steps[0, step] >= 0 and steps[1, step] >= 0:
                rows[n], own[n], at[n] = row, first + steps[0, step], steps[1, step]
                n += 1
    return n


@kernel("int64(int64[::1], int64[::1], float64[:, ::1], int64, int64, float64, int64, int64)")
def edits_a_point(
    starts: IntArray, t_ms: IntArray, xy_m: FloatArray, one: int, other: int, space_m: float, time_ms: int, limit: int
) -> int:
    """Return EDR of two trajectories of a data set over the longer length, up to a limit, in whole millionths.

    Above the limit it is a number above the limit and not above EDR.
    """
    begin, end, other_begin, other_end = starts[one], starts[one + 1], starts[other], starts[other + 1]
    n_points = max(end - begin, other_end - other_begin)
    # The most edits whose millionths, rounded down, are at most the limit.
    most = ((min(limit, MILLIONTHS) + 1) * n_points - 1) // MILLIONTHS
    found = edits(
        t_ms[begin:end],
        xy_m[begin:end],
        t_ms[other_begin:other_end],
        xy_m[other_begin:other_end],
        space_m,
        time_ms,
        most,
    )
    return int(found * MILLIONTHS // n_points)
