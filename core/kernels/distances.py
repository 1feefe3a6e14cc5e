"""The distances of one data set of trajectories, each pair measured once as long as it is remembered."""

from __future__ import annotations

import numpy as np

from core.kernels.edr import edits_a_point
from core.kernels.kernel import kernel
from core.kernels.matching import LARGEST_MM, lstd
from core.kernels.trajectory_tree import BOXES, EDR, LSTD, TREE, Boxes, Tree, at_least
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["DATA", "DEEP", "Data", "are_within", "bound", "euclidean", "measure", "measure_pairs", "next_near"]

Data = tuple[
    int,
    IntArray,
    FloatArray,
    IntArray,
    FloatArray,
    float,
    float,
    float,
    IntArray,
    IntArray,
    float,
    Tree,
    Boxes,
]
"""A data set as kernels see it.

0. Which distance it is.
1. Where trajectories begin, shape ``(n + 1,)``.
2. Its path (:mod:`core.kernels.matching`), shape ``(p, 7)``.
3. Times, Unix milliseconds, shape ``(p,)``.
4. Positions, metres, shape ``(p, 2)``.
5. Tolerance in time, ms.
6. What a shift in time costs, metres a second (LSTD).
7. Tolerance in space, metres (EDR).
8. Pairs that are remembered, as many as a power of 2.
9. What is known of each: its distance, or ``~bound`` if the distance is known to be at least a bound.
10. Length of a cell of the tree, ms.
11. The tree.
12. Its boxes.
"""

DATA = (
    "Tuple((int64, int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64, float64, float64, int64[::1],"
    f" int64[::1], float64, {TREE}, {BOXES}))"
)


@kernel("int64(int64[::1], float64[:, ::1], int64, int64)")
def euclidean(starts: IntArray, xy_m: FloatArray, one: int, other: int) -> int:
    """Measure the mean distance of two trajectories at their common time stamps, in whole millimetres."""
    n_points = starts[one + 1] - starts[one]
    total = 0.0
    for at in range(n_points):
        off_x = xy_m[starts[other] + at, 0] - xy_m[starts[one] + at, 0]
        off_y = xy_m[starts[other] + at, 1] - xy_m[starts[one] + at, 1]
        total += np.sqrt(off_x * off_x + off_y * off_y)
    return int(min(np.rint(1000.0 * (total / n_points)), LARGEST_MM))


@kernel(f"int64({DATA}, int64, int64, int64)")
def measure(data: Data, one: int, other: int, limit: int) -> int:
    """Measure a pair.

    What is known of a pair is remembered in one of many places, where the next pair with the same place replaces it.

    Args:
        data: The data set.
        one: A trajectory.
        other: Another one.
        limit: From which distance on no exact one is needed, whole units.

    Returns:
        The distance if it is at most the limit, else a number above the limit and not above the distance.
    """
    kind, starts, path, t_ms, xy_m, tolerance, speed, space_m, pairs, known, _, _, _ = data
    pair = min(one, other) * (len(starts) - 1) + max(one, other)
    place = pair & (len(pairs) - 1)
    if pairs[place] == pair:
        if known[place] >= 0:
            return int(known[place])
        if ~known[place] > limit:
            return int(~known[place])
    if kind == LSTD:
        distance = lstd(starts, path, one, other, tolerance, speed, limit)
    elif kind == EDR:
        distance = edits_a_point(starts, t_ms, xy_m, one, other, space_m, int(tolerance), limit)
    else:
        distance = euclidean(starts, xy_m, one, other)
    pairs[place] = pair
    known[place] = distance if distance <= limit else ~distance  # a bound is told by its sign
    return distance


@kernel(f"int64({DATA}, int64, int64, int64)")
def bound(data: Data, one: int, node: int, limit: int) -> int:
    """Bound the distance of a trajectory from all trajectories of a node from below (:func:`at_least`)."""
    kind, _, _, _, _, _, speed, space_m, _, _, cell, tree, boxes = data
    return at_least(kind, speed, 1000.0 * space_m, cell, tree, boxes, one, node, limit)


@kernel(f"void({DATA}, int64[::1], int64[::1], int64[::1])")
def measure_pairs(data: Data, ones: IntArray, others: IntArray, distances: IntArray) -> None:
    """Measure pairs exactly.

    Args:
        data: The data set.
        ones: Trajectories, shape ``(o,)``.
        others: The trajectories to measure them to, shape ``(o,)``.
        distances: Becomes the distances, whole units, shape ``(o,)``.
    """
    for at in range(len(ones)):
        distances[at] = measure(data, ones[at], others[at], 1 << 62)


DEEP = 256
"""Most nodes that wait in a search: one on each of at most 64 levels, and two on the last."""


@kernel(f"UniTuple(int64, 2)({DATA}, int64[::1], int64, int64, int64[::1], int64[::1], int64)")
def next_near(
    data: Data, counts: IntArray, one: int, limit: int, waiting: IntArray, bounds: IntArray, n: int
) -> tuple[int, int]:
    """Go on with a search for the trajectories that may be near one, those in nearer nodes first.

    Args:
        data: The data set.
        counts: How many trajectories of each node are looked for; a node without any is passed by.
        one: The trajectory.
        limit: Largest distance that is of interest; it may fall from call to call.
        waiting: Nodes that wait, the next one on top, of which 0, the root, is the first; shape ``(DEEP,)``.
        bounds: Bounds of the distances from the nodes that wait, 0 for the root.
        n: How many nodes wait.

    Returns:
        The next trajectory that may be within the limit, or -1 if there is none; and how many nodes wait then.
    """
    item, second, _, _ = data[11]
    while n:
        n -= 1
        node = waiting[n]
        if bounds[n] > limit:
            continue
        if item[node] >= 0:
            return item[node], n
        near, far = node + 1, second[node]
        if counts[near] == 0 or counts[far] == 0:
            waiting[n] = near if counts[near] else far  # the bound of its parent is bound enough
            n += 1
            continue
        near_bound, far_bound = bound(data, one, near, limit), bound(data, one, far, limit)
        if near_bound > far_bound:
            near, far, near_bound, far_bound = far, near, far_bound, near_bound
        waiting[n], bounds[n] = far, far_bound
        waiting[n + 1], bounds[n + 1] = near, near_bound
        n += 2
    return -1, 0


@kernel(f"boolean[::1]({DATA}, int64, int64[::1], int64)")
def are_within(data: Data, one: int, others: IntArray, radius: int) -> BoolArray:
    """Return which trajectories are no farther from one of them than a radius, whole units, shape ``(o,)``."""
    within = np.ones(len(others), np.bool_)
    for at in range(len(others)):
        within[at] = others[at] == one or measure(data, one, others[at], radius) <= radius
    return within
