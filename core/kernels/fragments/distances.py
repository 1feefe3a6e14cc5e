"""The distances of one data set of trajectories, each pair measured once as long as it is remembered."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.edr import edits_a_point
from core.kernels.fragments.matching import LARGEST_MM, lstd
from core.kernels.fragments.trajectory_tree import BOXES, EDR, LSTD, TREE, Boxes, Tree, at_least
from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "DATA",
    "ROOM",
    "Data",
    "are_within",
    "bound",
    "euclidean",
    "measure",
    "measure_pairs",
    "next_near",
    "start_search",
]

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
    float,
    Tree,
    Boxes,
    IntArray,
]
"""A data set as kernels see it.

0. Which distance it is.
1. Where trajectories begin, shape ``(n + 1,)``.
2. Its path (:mod:`core.kernels.fragments.matching`), shape ``(p, 7)``.
3. Times, Unix milliseconds, shape ``(p,)``.
4. Positions, metres, shape ``(p, 2)``.
5. Tolerance in time, ms.
6. What a shift in time costs, metres a second (LSTD).
7. Tolerance in space, metres (EDR).
8. What is remembered, as many entries as a power of 2, shape ``(r, 2)``: of which pair, or of which trajectory and node
   of the tree (``lesser * n + greater``, ``n * n + trajectory * (2 * n - 1) + node``, or -1); and the number that is
   known of it, or ``~least`` if only a number is known that it is not below.
9. Length of a cell of the tree, ms.
10. The tree.
11. Its boxes.
12. Room for the nodes that wait in a search, and the bounds of their distances, shape ``(ROOM, 2)``.
"""

ROOM = 256
"""Most nodes that wait in a search: one on each of at most 64 levels, and two on the last."""

DATA = (
    "Tuple((int64, int64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64, float64, float64,"
    f" int64[:, ::1], float64, {TREE}, {BOXES}, int64[:, ::1]))"
)


@kernel("int64(int64[:, ::1], int64, int64)")
def _recall(remembered: IntArray, key: int, limit: int) -> int:
    """Return what is known of something: the number, one that is above the limit and not above it, or -1."""
    place = key & (len(remembered) - 1)
    if remembered[place, 0] != key:
        return -1
    known = remembered[place, 1]
    if known >= 0:
        return int(known)
    return int(~known) if ~known > limit else -1


@kernel("void(int64[:, ::1], int64, int64, int64)")
def _remember(remembered: IntArray, key: int, limit: int, found: int) -> None:
    """Remember a number that was searched up to a limit, instead of whatever has the same place."""
    place = key & (len(remembered) - 1)
    remembered[place, 0] = key
    remembered[place, 1] = found if found <= limit else ~found


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

    Args:
        data: The data set.
        one: A trajectory.
        other: Another one.
        limit: From which distance on no exact one is needed, whole units.

    Returns:
        The distance if it is at most the limit, else a number above the limit and not above the distance.
    """
    kind, starts, path, t_ms, xy_m, tolerance, speed, space_m, remembered, _, _, _, _ = data
    pair = min(one, other) * (len(starts) - 1) + max(one, other)
    distance = _recall(remembered, pair, limit)
    if distance >= 0:
        return distance
    if kind == LSTD:
        distance = lstd(starts, path, one, other, tolerance, speed, limit)
    elif kind == EDR:
        distance = edits_a_point(starts, t_ms, xy_m, one, other, space_m, int(tolerance), limit)
    else:
        distance = euclidean(starts, xy_m, one, other)
    _remember(remembered, pair, limit, distance)
    return distance


@kernel(f"int64({DATA}, int64, int64, int64)")
def bound(data: Data, one: int, node: int, limit: int) -> int:
    """Bound the distance of a trajectory from all trajectories of a node from below (:func:`at_least`)."""
    kind, starts, _, _, _, _, speed, space_m, remembered, cell, tree, boxes, _ = data
    n = len(starts) - 1
    key = n * n + one * (2 * n - 1) + node
    least = _recall(remembered, key, limit)
    if least < 0:
        least = at_least(kind, speed, 1000.0 * space_m, cell, tree, boxes, one, node, limit)
        _remember(remembered, key, limit, least)
    return least


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


@kernel(f"int64({DATA})")
def start_search(data: Data) -> int:
    """Let the root wait, and return how many nodes wait then: one. A data set has room for one search at a time."""
    room = data[12]
    room[0, 0], room[0, 1] = 0, 0
    return 1


@kernel(f"UniTuple(int64, 2)({DATA}, int64[::1], int64, int64, int64)")
def next_near(data: Data, counts: IntArray, one: int, limit: int, n: int) -> tuple[int, int]:
    """Go on with a search for the trajectories that may be near one, those in nearer nodes first.

    Args:
        data: The data set.
        counts: How many trajectories of each node are looked for; a node without any is passed by.
        one: The trajectory.
        limit: Largest distance that is of interest; it may fall from call to call.
        n: How many nodes wait, as the call before returned it, or :func:`start_search`.

    Returns:
        The next trajectory that may be within the limit, or -1 if there is none; and how many nodes wait then.
    """
    (item, second, _, _), room = data[10], data[12]
    while n:
        n -= 1
        node = room[n, 0]
        if room[n, 1] > limit:
            continue
        if item[node] >= 0:
            # It may have waited with the bound of a node above it; measuring takes longer than its own bound.
            if bound(data, one, node, limit) > limit:
                continue
            return item[node], n
        near, far = node + 1, second[node]
        if counts[near] == 0 or counts[far] == 0:
            room[n, 0] = near if counts[near] else far  # the bound of its parent is bound enough
            n += 1
            continue
        near_bound, far_bound = bound(data, one, near, limit), bound(data, one, far, limit)
        if near_bound > far_bound:
            near, far, near_bound, far_bound = far, near, far_bound, near_bound
        room[n, 0], room[n, 1] = far, far_bound
        room[n + 1, 0], room[n + 1, 1] = near, near_bound
        n += 2
    return -1, 0


@kernel(f"boolean[::1]({DATA}, int64, int64[::1], int64)", allocates=True)
def are_within(data: Data, one: int, others: IntArray, radius: int) -> BoolArray:
    """Return which trajectories are no farther from one of them than a radius, whole units, shape ``(o,)``."""
    within = np.ones(len(others), np.bool_)
    for at in range(len(others)):
        within[at] = others[at] == one or measure(data, one, others[at], radius) <= radius
    return within
