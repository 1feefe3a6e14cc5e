"""A tree over trajectories: which of them may be near one of them, in less time than it takes to ask all.

Every node stands for some trajectories; a leaf for one. For each of equally long cells of time, a node has a box around
all that its trajectories pass in that time, widened by the tolerance of the distance, and a box around their points.
The gaps between the boxes of a trajectory and those of a node bound the distances of all its trajectories from below.

Nodes are numbered so that a node's first child follows it, and that children have higher numbers than their parents.
The tree of ``n`` trajectories has ``m = 2 n - 1`` nodes. Boxes are lowest x, highest x, lowest y and highest y, mm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.kernels.kernel import kernel
from core.kernels.matching import LARGEST_MM, T, X, Y
from core.records.arrays import FloatArray, IntArray

__all__ = ["EDR", "EUCLIDEAN", "LSTD", "Boxes", "Tree", "at_least", "build_tree", "enclose"]

LSTD, EDR, EUCLIDEAN = range(3)
"""The distances."""

Float32Array = npt.NDArray[np.float32]

Tree = tuple[IntArray, IntArray, IntArray, IntArray]
"""Trajectory of each node, -1 unless it is a leaf; second child of each node; parent of each node, -1 for the root;
leaf of each trajectory. Shapes ``(m,)``, ``(m,)``, ``(m,)``, ``(n,)``."""

TREE = "UniTuple(int64[::1], 4)"

Boxes = tuple[Float32Array, Float32Array, Float32Array, FloatArray, float]
"""Of each node: box around what is passed in each cell, shape ``(m, cells, 4)``; box around the points in each cell,
``(m, cells, 4)``; least share of its trajectories' points in each cell, ``(m, cells)``; first and last time, ms, and
least and largest number of points, ``(m, 4)``. At last what rounding of boxes may take from a gap, mm."""

BOXES = "Tuple((float32[:, :, ::1], float32[:, :, ::1], float32[:, ::1], float64[:, ::1], float64))"


@kernel("void(float64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def build_tree(places: FloatArray, item: IntArray, second: IntArray, parent: IntArray, leaf: IntArray) -> None:
    """Build a tree: halve the trajectories at the median of the place in which they differ most, again and again.

    Args:
        places: What places trajectories beside one another, shape ``(n, d)``, at least one row.
        item: Becomes the trajectory of each node, or -1.
        second: Becomes the second child of each node, or -1.
        parent: Becomes the parent of each node, or -1.
        leaf: Becomes the leaf of each trajectory.
    """
    order = np.arange(len(places))
    begins, ends, parents = np.empty(128, np.int64), np.empty(128, np.int64), np.empty(128, np.int64)
    begins[0], ends[0], parents[0] = 0, len(places), -1
    waiting, node = 1, 0
    while waiting:
        waiting -= 1
        begin, end = begins[waiting], ends[waiting]
        parent[node], item[node], second[node] = parents[waiting], -1, -1
        if node and parents[waiting] != node - 1:
            second[parents[waiting]] = node
        if end - begin == 1:
            item[node] = order[begin]
            leaf[order[begin]] = node
        else:
            widest, width = 0, -1.0
            for column in range(places.shape[1]):
                lowest, highest = np.inf, -np.inf
                for at in range(begin, end):
                    lowest = min(lowest, places[order[at], column])
                    highest = max(highest, places[order[at], column])
                if highest - lowest > width:
                    widest, width = column, highest - lowest
            values = np.empty(end - begin)
            for at in range(begin, end):
                values[at - begin] = places[order[at], widest]
            order[begin:end] = order[begin:end][np.argsort(values, kind="mergesort")]
            middle = (begin + end) // 2
            # The first child is taken next, so it is pushed last.
            begins[waiting], ends[waiting], parents[waiting] = middle, end, node
            begins[waiting + 1], ends[waiting + 1], parents[waiting + 1] = begin, middle, node
            waiting += 2
        node += 1


@kernel(f"void(int64[::1], float64[:, ::1], float64, float64, {TREE}, {BOXES})")
def enclose(starts: IntArray, path: FloatArray, tolerance: float, cell: float, tree: Tree, boxes: Boxes) -> None:
    """Compute the boxes of all nodes.

    Args:
        starts: Where trajectories begin.
        path: The data set.
        tolerance: How far from its cell a moment may be matched, ms.
        cell: Length of a cell, ms.
        tree: The tree.
        boxes: Becomes the boxes; its last entry is set already.
    """
    item, second, _, _ = tree
    passed, points, share, ranges, _ = boxes
    n_cells = passed.shape[1]
    for node in range(len(item) - 1, -1, -1):
        one = item[node]
        if one >= 0:
            begin, end = starts[one], starts[one + 1]
            ranges[node, 0], ranges[node, 1] = path[begin, T], path[end - 1, T]
            ranges[node, 2] = ranges[node, 3] = end - begin
            low = begin
            for c in range(n_cells):
                # Before its span a trajectory is at its first point, after it at its last.
                from_t = min(max(c * cell - tolerance, path[begin, T]), path[end - 1, T])
                to_t = min(max((c + 1) * cell + tolerance, path[begin, T]), path[end - 1, T])
                while low < end - 1 and path[low + 1, T] <= from_t:
                    low += 1
                _empty(passed, node, c)
                _empty(points, node, c)
                count = 0
                at = low
                while True:
                    _widen(passed, node, c, path[at, X], path[at, Y])
                    if c * cell <= path[at, T] < (c + 1) * cell:
                        _widen(points, node, c, path[at, X], path[at, Y])
                        count += 1
                    if at == end - 1 or path[at, T] >= to_t:
                        break
                    at += 1
                share[node, c] = count / (end - begin)
        else:
            for child in (node + 1, second[node]):
                is_first = child == node + 1
                ranges[node, 0] = ranges[child, 0] if is_first else min(ranges[node, 0], ranges[child, 0])
                ranges[node, 1] = ranges[child, 1] if is_first else max(ranges[node, 1], ranges[child, 1])
                ranges[node, 2] = ranges[child, 2] if is_first else min(ranges[node, 2], ranges[child, 2])
                ranges[node, 3] = ranges[child, 3] if is_first else max(ranges[node, 3], ranges[child, 3])
                for c in range(n_cells):
                    if is_first:
                        passed[node, c] = passed[child, c]
                        points[node, c] = points[child, c]
                        share[node, c] = share[child, c]
                    else:
                        _join(passed, node, child, c)
                        _join(points, node, child, c)
                        share[node, c] = min(share[node, c], share[child, c])


@kernel("void(float32[:, :, ::1], int64, int64)")
def _empty(boxes: Float32Array, node: int, c: int) -> None:
    boxes[node, c, 0] = boxes[node, c, 2] = np.inf
    boxes[node, c, 1] = boxes[node, c, 3] = -np.inf


@kernel("void(float32[:, :, ::1], int64, int64, float64, float64)")
def _widen(boxes: Float32Array, node: int, c: int, x: float, y: float) -> None:
    boxes[node, c, 0] = min(boxes[node, c, 0], np.float32(x))
    boxes[node, c, 1] = max(boxes[node, c, 1], np.float32(x))
    boxes[node, c, 2] = min(boxes[node, c, 2], np.float32(y))
    boxes[node, c, 3] = max(boxes[node, c, 3], np.float32(y))


@kernel("void(float32[:, :, ::1], int64, int64, int64)")
def _join(boxes: Float32Array, node: int, child: int, c: int) -> None:
    boxes[node, c, 0] = min(boxes[node, c, 0], boxes[child, c, 0])
    boxes[node, c, 1] = max(boxes[node, c, 1], boxes[child, c, 1])
    boxes[node, c, 2] = min(boxes[node, c, 2], boxes[child, c, 2])
    boxes[node, c, 3] = max(boxes[node, c, 3], boxes[child, c, 3])


@kernel(f"int64(int64, float64, float64, float64, {TREE}, {BOXES}, int64, int64, int64)")
def at_least(
    kind: int, speed: float, space: float, cell: float, tree: Tree, boxes: Boxes, one: int, node: int, limit: int
) -> int:
    """Bound the distance of a trajectory from all trajectories of a node from below.

    Args:
        kind: Which distance it is.
        speed: What a shift in time costs, metres a second (LSTD).
        space: Largest difference of coordinates of points that match, mm (EDR).
        cell: Length of a cell, ms.
        tree: The tree.
        boxes: Its boxes.
        one: The trajectory.
        node: The node.
        limit: A bound above this need not be larger.

    Returns:
        Whole units, at least 0 and not above any of these distances.
    """
    if kind == EDR:
        return _edits_at_least(space, cell, tree, boxes, one, node)
    passed, points, share, ranges, slack = boxes
    own = tree[3][one]
    first, last, fewest, most = ranges[node]
    own_first, own_last, n_own, _ = ranges[own]
    from_c, to_c = int(own_first // cell), int(own_last // cell)
    node_from_c, node_to_c = int(first // cell), int(last // cell)
    apart = max(first - own_last, own_first - last, 0.0)
    enough = (limit + 3.0) * (1 + 1e-6)
    forth, back, shared, least = 0.0, 0.0, 0.0, np.inf
    for c in range(min(from_c, node_from_c), max(to_c, node_to_c) + 1):
        if share[own, c] > 0:
            gap = _gap(points, own, passed, node, c, slack, False)
            if kind == LSTD:
                gap += max(first - (c + 1) * cell, c * cell - last, 0.0) * speed
            forth += share[own, c] * gap
        if kind == LSTD and points[node, c, 0] <= points[node, c, 1]:
            gap = _gap(points, node, passed, own, c, slack, False)
            gap += max(own_first - (c + 1) * cell, c * cell - own_last, apart) * speed
            least = min(least, gap)
            back += share[node, c] * gap
            shared += share[node, c]
        if c & 3 == 3 and _mean(forth, n_own, back, fewest, most) > enough:
            break
    else:
        back = forth if kind == EUCLIDEAN else back + max(1.0 - shared, 0.0) * least
    bound = _mean(forth, n_own, back, fewest, most)
    # Rounding must not lift a bound.
    return int(min(max(bound * (1 - 1e-6) - 2, 0.0), LARGEST_MM))


@kernel("float64(float64, float64, float64, float64, float64)")
def _mean(forth: float, n_own: float, back: float, fewest: float, most: float) -> float:
    """Average both ways by points, with the number of points of the other trajectory for which that is least."""
    return min((forth * n_own + back * fewest) / (n_own + fewest), (forth * n_own + back * most) / (n_own + most))


@kernel(f"int64(float64, float64, {TREE}, {BOXES}, int64, int64)")
def _edits_at_least(space: float, cell: float, tree: Tree, boxes: Boxes, one: int, node: int) -> int:
    """Bound EDR from below: a point that matches no point costs an edit, and so does every point one has more."""
    passed, points, share, ranges, slack = boxes
    own = tree[3][one]
    first, last, fewest, most = ranges[node]
    own_first, own_last, n_own, _ = ranges[own]
    alone, alone_there = 0.0, 0.0
    for c in range(int(own_first // cell), int(own_last // cell) + 1):
        if share[own, c] > 0 and _gap(points, own, passed, node, c, slack, True) > space:
            alone += share[own, c]
    for c in range(int(first // cell), int(last // cell) + 1):
        if share[node, c] > 0 and _gap(points, node, passed, own, c, slack, True) > space:
            alone_there += share[node, c]
    edits = max(alone * n_own, n_own - most, fewest - n_own) / max(n_own, most)
    edits = max(edits, alone_there * fewest / max(n_own, fewest))
    return int(max(edits * (1 - 1e-6) * 1_000_000 - 1, 0.0))


@kernel("float64(float32[:, :, ::1], int64, float32[:, :, ::1], int64, int64, float64, boolean)")
def _gap(
    boxes: Float32Array, node: int, others: Float32Array, other: int, c: int, slack: float, by_axis: bool
) -> float:
    """Return the gap between two boxes of a cell, or the larger of the gaps of both axes, mm."""
    gap_x = max(boxes[node, c, 0] - others[other, c, 1], others[other, c, 0] - boxes[node, c, 1], 0.0)
    gap_y = max(boxes[node, c, 2] - others[other, c, 3], others[other, c, 2] - boxes[node, c, 3], 0.0)
    gap = max(gap_x, gap_y) if by_axis else np.sqrt(gap_x * gap_x + gap_y * gap_y)
    return float(max(gap - slack, 0.0))
