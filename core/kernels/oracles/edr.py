"""EDR by its table, entry by entry."""

from __future__ import annotations

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["edits", "matches", "script", "table"]


def matches(
    t_ms: IntArray, xy_m: FloatArray, other_t_ms: IntArray, other_xy_m: FloatArray, space_m: float, time_ms: int
) -> BoolArray:
    """Return which points match, shape ``(m, n)``."""
    apart_m = np.abs(xy_m[:, None] - other_xy_m)
    matching: BoolArray = (apart_m <= space_m).all(axis=-1) & (np.abs(t_ms[:, None] - other_t_ms) <= time_ms)
    return matching


def table(matching: BoolArray) -> IntArray:
    """Return the number of edits between the first points of both, shape ``(m + 1, n + 1)``."""
    m, n = matching.shape
    entries = np.add.outer(np.arange(m + 1), np.arange(n + 1))
    for i, j in np.ndindex(m, n):
        entries[i + 1, j + 1] = min(entries[i, j] + (not matching[i, j]), entries[i, j + 1] + 1, entries[i + 1, j] + 1)
    return entries


def edits(matching: BoolArray) -> int:
    """Return the number of edits."""
    return int(table(matching)[-1, -1])


def script(matching: BoolArray, t_ms: IntArray, pivot_t_ms: IntArray) -> list[tuple[int, int]]:
    """Return pairs of points, -1 for none, of the cheapest script that is preferred at each step from the end.

    Points that match are a pair. Otherwise the later point stays alone if that is optimal, else both are a pair if that
    is optimal, else the earlier one stays alone; at equal times a pair comes first and the pivot's point second.
    """
    entries, steps = table(matching), []
    i, j = matching.shape
    while i and j:
        delete, create, pair = (i - 1, j), (i, j - 1), (i - 1, j - 1)
        later_ms = t_ms[i - 1] - pivot_t_ms[j - 1]
        order = (
            [pair, create, delete]
            if later_ms == 0
            else [delete, pair, create]
            if later_ms > 0
            else [create, pair, delete]
        )
        before = pair if matching[pair] else next(entry for entry in order if entries[entry] == entries[i, j] - 1)
        steps.append((i - 1 if before[0] < i else -1, j - 1 if before[1] < j else -1))
        i, j = before
    steps += [(k, -1) for k in range(i)[::-1]] + [(-1, k) for k in range(j)[::-1]]
    return steps[::-1]
