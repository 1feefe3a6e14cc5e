"""Slow oracles of :mod:`core.kernels.checkins.merge_order`."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["distances_between", "merge_cheapest", "merged", "named_by_kept"]


def distances_between(xy_mm: FloatArray, visits: FloatArray, sizes: FloatArray) -> FloatArray:
    """Visits of the row, times members of the column, times the distance in whole millimetres."""
    dx, dy = (axis[:, None] - axis for axis in xy_mm.T)
    distances_mm: FloatArray = visits[:, None] * sizes * np.rint(np.sqrt(dx * dx + dy * dy))
    return distances_mm


def merge_cheapest(moved_mm: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Merge the cheapest of all pairs, the smallest numbers among equals; what a merge does not change is kept."""
    moved_mm, sizes = moved_mm.copy(), sizes.copy()

    def cost_mm(a: int, b: int) -> float:
        together_mm = moved_mm[a, a] + moved_mm[a, b] + moved_mm[b, a] + moved_mm[b, b]
        own_mm = moved_mm[a, a] / sizes[a], moved_mm[b, b] / sizes[b]
        return float(np.rint(together_mm / (sizes[a] + sizes[b]) - own_mm[0] - own_mm[1]))

    costs = {(a, b): cost_mm(a, b) for a, b in combinations(range(len(sizes)), 2)}
    merges = []
    while costs:
        x, y = min(costs, key=lambda pair: (costs[pair], pair))
        merges.append((x, y, costs[x, y]))
        moved_mm[x] += moved_mm[y]
        moved_mm[:, x] += moved_mm[:, y]
        sizes[x] += sizes[y]
        costs = {pair: cost for pair, cost in costs.items() if y not in pair}
        costs |= {(a, b): cost_mm(x, b if a == x else a) for a, b in costs if x in (a, b)}
    into, absorbed, added_mm = zip(*merges, strict=True) if merges else ((), (), ())
    return np.array(into, np.int64), np.array(absorbed, np.int64), np.array(added_mm, np.float64)


def merged(into: IntArray, absorbed: IntArray, n_locations: int, merges: int) -> IntArray:
    """One merge after the other."""
    group_of = np.arange(n_locations)
    for merge in range(merges):
        group_of[group_of == absorbed[merge]] = into[merge]
    return group_of


def named_by_kept(
    visits: IntArray, kept: BoolArray, group_of: IntArray, ids: IntArray, n_ids: int
) -> tuple[IntArray, int]:
    """The smallest of the members that are left."""
    left = sorted(set(visits[kept].tolist()))
    names = np.arange(n_ids)
    for x in left:
        names[ids[x]] = min(ids[y] for y in left if group_of[y] == group_of[x])
    return names, len(left) - len({int(group_of[x]) for x in left})
