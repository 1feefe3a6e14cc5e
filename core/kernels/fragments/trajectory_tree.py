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

from core.kernels.fragments.matching import LARGEST_MM, T, X, Y
from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["EDR", "EUCLIDEAN", "LSTD", "Boxes", "Tree", "at_least", "build_tree", "enclose"]

LSTD, EDR, EUCLIDEAN = range(3)
"""The distances."""

Float32Array = npt.NDArray[np.float32]

Tree = tuple[IntArray, IntArray, IntArray, IntArray]
"""Trajectory of each node, -1 unless it is a leaf; second child of each node; parent of each node, -1 for the root;
leaf of each trajectory. Shapes ``(m,)``, ``(m,)``, ``(m,)``, ``(n,)``."""

TREE = "UniTuple(int64[::1], 4)"

Boxes = tuple[Float32Array, Float32Array, Float32Array, FloatArray, IntArray, float, Float32Array]
"""The boxes of all nodes.

0. Box around what a node's trajectories pass in each cell, shape ``(m, 4, cells)``.
1. Box around their points in each cell, the whole plane where there is none, ``(m, 4, cells)``.
2. Least share of a trajectory's points in each cell, ``(m, cells)``.
3. First and last time, ms, least and largest number of points, and the sum of the least shares, ``(m, 5)``.
4. First cell with a point and the cell behind the last one, ``(m, 2)``.
5. What rounding of boxes may take from a gap, mm.
6. Room for the gaps of each cell, ``(cells,)``.
"""

BOXES = (
    "Tuple((float32[:, :, ::1], float32[:, :, ::1], float32[:, ::1], float64[:, ::1], int64[:, ::1], float64,"
    " float32[::1]))"
)


@kernel("void(float64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1])", allocates=True)
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


@kernel(f"void(int64[::1], float64[:, ::1], float64, float64, {TREE}, {BOXES})", allocates=True)
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
    passed, points, share, ranges, cells, _, _ = boxes
    n_cells = passed.shape[2]
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
                if count == 0:
                    points[node, 0, c] = points[node, 2, c] = -np.inf
                    points[node, 1, c] = points[node, 3, c] = np.inf
        else:
            for child in (node + 1, second[node]):
                is_first = child == node + 1
                ranges[node, 0] = ranges[child, 0] if is_first else min(ranges[node, 0], ranges[child, 0])
                ranges[node, 1] = ranges[child, 1] if is_first else max(ranges[node, 1], ranges[child, 1])
                ranges[node, 2] = ranges[child, 2] if is_first else min(ranges[node, 2], ranges[child, 2])
                ranges[node, 3] = ranges[child, 3] if is_first else max(ranges[node, 3], ranges[child, 3])
                for c in range(n_cells):
                    if is_first:
                        passed[node, :, c] = passed[child, :, c]
                        points[node, :, c] = points[child, :, c]
                        share[node, c] = share[child, c]
                    else:
                        _join(passed, node, child, c)
                        if points[node, 0, c] == -np.inf:
                            points[node, :, c] = points[child, :, c]
                        elif points[child, 0, c] > -np.inf:
                            _join(points, node, child, c)
                        share[node, c] = min(share[node, c], share[child, c])
        ranges[node, 4] = share[node].sum()
        cells[node, 0], cells[node, 1] = int(ranges[node, 0] // cell), int(ranges[node, 1] // cell) + 1


@kernel("void(float32[:, :, ::1], int64, int64)")
def _empty(boxes: Float32Array, node: int, c: int) -> None:
    boxes[node, 0, c] = boxes[node, 2, c] = np.inf
    boxes[node, 1, c] = boxes[node, 3, c] = -np.inf


@kernel("void(float32[:, :, ::1], int64, int64, float64, float64)")
def _widen(boxes: Float32Array, node: int, c: int, x: float, y: float) -> None:
    boxes[node, 0, c] = min(boxes[node, 0, c], np.float32(x))
    boxes[node, 1, c] = max(boxes[node, 1, c], np.float32(x))
    boxes[node, 2, c] = min(boxes[node, 2, c], np.float32(y))
    boxes[node, 3, c] = max(boxes[node, 3, c], np.float32(y))


@kernel("void(float32[:, :, ::1], int64, int64, int64)")
def _join(boxes: Float32Array, node: int, child: int, c: int) -> None:
    boxes[node, 0, c] = min(boxes[node, 0, c], boxes[child, 0, c])
    boxes[node, 1, c] = max(boxes[node, 1, c], boxes[child, 1, c])
    boxes[node, 2, c] = min(boxes[node, 2, c], boxes[child, 2, c])
    boxes[node, 3, c] = max(boxes[node, 3, c], boxes[child, 3, c])


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
        return _edits_at_least(space, tree, boxes, one, node)
    passed, points, share, ranges, cells, slack, gaps = boxes
    own = tree[3][one]
    first, last, fewest, most = ranges[node, 0], ranges[node, 1], ranges[node, 2], ranges[node, 3]
    own_first, own_last, n_own = ranges[own, 0], ranges[own, 1], ranges[own, 2]
    from_c, to_c, node_from_c, node_to_c = cells[own, 0], cells[own, 1], cells[node, 0], cells[node, 1]
    forth, back = _gap_sum(points, own, passed, node, share, from_c, to_c, slack, gaps), 0.0
    if kind == EUCLIDEAN:
        back = forth
    else:
        # Whoever is matched in a cell outside of the span is earlier, or later, by the rest.
        for c in range(from_c, min(node_from_c, to_c)):
            forth += share[own, c] * (first - (c + 1) * cell) * speed
        for c in range(max(node_to_c, from_c), to_c):
            forth += share[own, c] * (c * cell - last) * speed
        if _mean(forth, n_own, 0.0, fewest, most) <= (limit + 3.0) * (1 + 1e-5):
            back = _gap_sum(points, node, passed, own, share, node_from_c, node_to_c, slack, gaps)
            for c in range(node_from_c, min(from_c, node_to_c)):
                back += share[node, c] * (own_first - (c + 1) * cell) * speed
            for c in range(max(to_c, node_from_c), node_to_c):
                back += share[node, c] * (c * cell - own_last) * speed
            if ranges[node, 4] < 0.999999:
                back += (1.0 - ranges[node, 4]) * _least_gap(points, node, passed, own, node_from_c, node_to_c, slack)
    bound = _mean(forth, n_own, back, fewest, most)
    # Rounding must not lift a bound.
    return int(min(max(bound * (1 - 1e-5) - 2, 0.0), LARGEST_MM))


@kernel("float64(float64, float64, float64, float64, float64)")
def _mean(forth: float, n_own: float, back: float, fewest: float, most: float) -> float:
    """Average both ways by points, with the number of points of the other trajectory for which that is least."""
    return min((forth * n_own + back * fewest) / (n_own + fewest), (forth * n_own + back * most) / (n_own + most))


@kernel(f"int64(float64, {TREE}, {BOXES}, int64, int64)")
def _edits_at_least(space: float, tree: Tree, boxes: Boxes, one: int, node: int) -> int:
    """Bound EDR from below: a point that matches no point costs an edit, and so does every point one has more."""
    passed, points, share, ranges, cells, slack, _ = boxes
    own = tree[3][one]
    n_own, fewest, most = ranges[own, 2], ranges[node, 2], ranges[node, 3]
    alone, alone_there = 0.0, 0.0
    for c in range(cells[own, 0], cells[own, 1]):
        if share[own, c] > 0 and _wider_gap(points[own], passed[node], c) - slack > space:
            alone += share[own, c]
    for c in range(cells[node, 0], cells[node, 1]):
        if share[node, c] > 0 and _wider_gap(points[node], passed[own], c) - slack > space:
            alone_there += share[node, c]
    edits = max(alone * n_own, n_own - most, fewest - n_own) / max(n_own, most)
    edits = max(edits, alone_there * fewest / max(n_own, fewest))
    return int(max(edits * (1 - 1e-6) * 1_000_000 - 1, 0.0))


@kernel(
    "float64(float32[:, :, ::1], int64, float32[:, :, ::1], int64, float32[:, ::1], int64, int64, float64,"
    " float32[::1])"
)
def _gap_sum(
    boxes: Float32Array,
    node: int,
    others: Float32Array,
    other: int,
    share: Float32Array,
    from_c: int,
    to_c: int,
    slack: float,
    gaps: Float32Array,
) -> float:
    """Sum up the gaps between two boxes over some cells, each weighted with the share of the points in it, mm.

    Written so that a processor takes several cells at once: with numbers of 32 bits, with indices that cannot be
    negative, and with four sums, which do not wait for one another.
    """
    none, less = np.float32(0.0), np.float32(slack)
    its, theirs, first, last = np.uint64(node), np.uint64(other), np.uint64(from_c), np.uint64(to_c)
    for c in range(first, last):
        west, east = boxes[its, 0, c] - others[theirs, 1, c], others[theirs, 0, c] - boxes[its, 1, c]
        south, north = boxes[its, 2, c] - others[theirs, 3, c], others[theirs, 2, c] - boxes[its, 3, c]
        x = west if west > east else east
        y = south if south > north else north
        x = x if x > none else none
        y = y if y > none else none
        gap = np.sqrt(x * x + y * y) - less
        gaps[c] = (gap if gap > none else none) * share[its, c]
    one, two, three, four = none, none, none, none
    at = from_c
    while at + 3 < to_c:
        one += gaps[at]
        two += gaps[at + 1]
        three += gaps[at + 2]
        four += gaps[at + 3]
        at += 4
    while at < to_c:
        one += gaps[at]
        at += 1
    return float((one + two) + (three + four))


@kernel("float64(float32[:, :, ::1], int64, float32[:, :, ::1], int64, int64, int64, float64)")
def _least_gap(
    boxes: Float32Array, node: int, others: Float32Array, other: int, from_c: int, to_c: int, slack: float
) -> float:
    """Return the least gap between two boxes in a cell that has points, mm."""
    least = np.inf
    for c in range(from_c, to_c):
        if boxes[node, 0, c] > -np.inf:
            x = max(boxes[node, 0, c] - others[other, 1, c], others[other, 0, c] - boxes[node, 1, c], 0.0)
            y = max(boxes[node, 2, c] - others[other, 3, c], others[other, 2, c] - boxes[node, 3, c], 0.0)
            least = min(least, x * x + y * y)
    return float(max(np.sqrt(least) - slack, 0.0))


@kernel("float64(float32[:, ::1], float32[:, ::1], int64)")
def _wider_gap(boxes: Float32Array, others: Float32Array, c: int) -> float:
    """Return the gap between two boxes of a cell in x or in y, whichever is wider, mm; below 0 if they overlap."""
    gap_x = max(boxes[0, c] - others[1, c], others[0, c] - boxes[1, c])
    gap_y = max(boxes[2, c] - others[3, c], others[2, c] - boxes[3, c])
    return float(max(gap_x, gap_y))
