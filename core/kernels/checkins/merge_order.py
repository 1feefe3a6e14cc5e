"""The order in which locations are merged: next are always the two whose merge costs least."""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["distances_between", "merge_cheapest", "merged", "named_by_kept"]


@kernel("float64[:, ::1](float64[:, ::1], float64[::1], float64[::1])", allocates=True)
def distances_between(xy_mm: FloatArray, visits: FloatArray, sizes: FloatArray) -> FloatArray:
    """Sum the distances between all visits of one (row) and all members of another (column).

    Args:
        xy_mm: Position of each, millimetres, shape ``(g, 2)``.
        visits: Visits of each, shape ``(g,)``.
        sizes: Members of each, shape ``(g,)``.

    Returns:
        Millimetres, shape ``(g, g)``; each distance is rounded to whole ones.
    """
    g = len(xy_mm)
    moved_mm = np.empty((g, g))
    for a in range(g):
        for b in range(g):
            dx, dy = xy_mm[a, 0] - xy_mm[b, 0], xy_mm[a, 1] - xy_mm[b, 1]
            moved_mm[a, b] = visits[a] * sizes[b] * np.rint(np.sqrt(dx * dx + dy * dy))
    return moved_mm


@kernel("float64(float64[:, ::1], float64[::1], float64[::1], int64, int64)")
def added_by_merging(moved_mm: FloatArray, sizes: FloatArray, own_mm: FloatArray, a: int, b: int) -> float:
    """Return the distance that merging two generalized locations adds, whole millimetres."""
    together_mm = moved_mm[a, a] + moved_mm[a, b] + moved_mm[b, a] + moved_mm[b, b]
    return float(np.rint(together_mm / (sizes[a] + sizes[b]) - own_mm[a] - own_mm[b]))


@kernel("Tuple((int64[::1], int64[::1], float64[::1]))(float64[:, ::1], float64[::1])", allocates=True)
def merge_cheapest(moved_mm: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Merge the two generalized locations that add least to the distance visits are moved, until one is left.

    Costs are compared in whole millimetres; ties are broken by the smaller numbers. A merged one keeps the smaller
    number.

    Args:
        moved_mm: Distance, summed over all visits of one (row) and all members of another (column), millimetres, shape
            ``(g, g)``, ``g >= 1``; changed in place. ``moved_mm[0, 0]`` ends as the sum over everything.
        sizes: Members of each, shape ``(g,)``; changed in place.

    Returns:
        The number that grows with each merge, the larger number that it absorbs, and the distance that the merge adds,
        millimetres; shape ``(g - 1,)`` each.
    """
    g = len(sizes)
    into, absorbed, added_mm = np.empty(g - 1, np.int64), np.empty(g - 1, np.int64), np.empty(g - 1)
    there = np.ones(g, np.bool_)
    own_mm = np.empty(g)  # distance that the visits of each are moved
    for a in range(g):
        own_mm[a] = moved_mm[a, a] / sizes[a]
    cost_mm = np.full((g, g), np.inf)
    # For each, the partner that is cheapest to merge with: a merge changes only some of them.
    best, best_mm = np.zeros(g, np.int64), np.full(g, np.inf)
    for a in range(g):
        for b in range(g):
            if a != b:
                cost_mm[a, b] = added_by_merging(moved_mm, sizes, own_mm, a, b)
                if cost_mm[a, b] < best_mm[a]:
                    best[a], best_mm[a] = b, cost_mm[a, b]
    for turn in range(g - 1):
        row = 0
        for a in range(g):
            if best_mm[a] < best_mm[row]:
                row = a
        x, y = min(row, best[row]), max(row, best[row])
        into[turn], absorbed[turn], added_mm[turn] = x, y, best_mm[row]
        for b in range(g):
            moved_mm[x, b] += moved_mm[y, b]
        for a in range(g):
            moved_mm[a, x] += moved_mm[a, y]
        sizes[x] += sizes[y]
        own_mm[x] = moved_mm[x, x] / sizes[x]
        there[y], best_mm[y] = False, np.inf
        for a in range(g):
            cost_mm[a, y] = np.inf
            if there[a] and a != x:
                cost_mm[a, x] = cost_mm[x, a] = added_by_merging(moved_mm, sizes, own_mm, x, a)
        for a in range(g):
            if not there[a]:
                continue
            is_stale = a == x or best[a] == x or best[a] == y
            # If merging with the merged one costs no more than before, it is still the best: nothing else has changed.
            if is_stale and (a == x or cost_mm[a, x] > best_mm[a]):
                best[a], best_mm[a] = 0, np.inf
                for b in range(g):
                    if cost_mm[a, b] < best_mm[a]:
                        best[a], best_mm[a] = b, cost_mm[a, b]
            elif is_stale or cost_mm[a, x] < best_mm[a] or (cost_mm[a, x] == best_mm[a] and x < best[a]):
                best[a], best_mm[a] = x, cost_mm[a, x]
    return into, absorbed, added_mm


@kernel("int64[::1](int64[::1], int64[::1], int64, int64)", allocates=True)
def merged(into: IntArray, absorbed: IntArray, n_locations: int, merges: int) -> IntArray:
    """Return the generalized location of each location after some merges.

    Args:
        into: Number that grows with each merge, smaller than the absorbed one.
        absorbed: Number that each merge absorbs, each once.
        n_locations: Number of locations.
        merges: Number of merges, at most ``len(into)``.

    Returns:
        The smallest member's id, shape ``(n_locations,)``.
    """
    group_of = np.arange(n_locations)
    for merge in range(merges):
        group_of[absorbed[merge]] = into[merge]
    for location in range(n_locations):
        group_of[location] = group_of[group_of[location]]  # smaller ids come first: they are final
    return group_of


@kernel("Tuple((int64[::1], int64))(int64[::1], boolean[::1], int64[::1], int64[::1], int64)", allocates=True)
def named_by_kept(
    visits: IntArray, kept: BoolArray, group_of: IntArray, ids: IntArray, n_ids: int
) -> tuple[IntArray, int]:
    """Name generalized locations by the smallest member that a kept visit uses; other locations stay alone.

    Args:
        visits: Location of each visit, in ``0..L - 1``, shape ``(p,)``.
        kept: Whether each visit is kept, shape ``(p,)``.
        group_of: Generalized location of each location, in ``0..L - 1``, shape ``(L,)``.
        ids: Id of each location, ascending, in ``0..n_ids - 1``, shape ``(L,)``.
        n_ids: Number of ids.

    Returns:
        Generalized location of each id, shape ``(n_ids,)``; the number of merges that make them.
    """
    is_used = np.zeros(len(ids), np.bool_)
    for visit in range(len(visits)):
        if kept[visit]:
            is_used[visits[visit]] = True
    names, name_of, merges = np.arange(n_ids), np.full(len(ids), -1), 0
    for location in range(len(ids)):
        if is_used[location]:
            group = group_of[location]
            if name_of[group] < 0:
                name_of[group] = ids[location]
            else:
                merges += 1
            names[ids[location]] = name_of[group]
    return names, merges
