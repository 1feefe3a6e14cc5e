"""Tracks: trajectories as their positions at equally spaced moments, and how far they are from one another."""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["TRACKS", "TrackData", "apart_mm", "distances_mm", "nearest_places", "place", "position_at"]

TrackData = tuple[FloatArray, FloatArray, FloatArray, float, IntArray, FloatArray, FloatArray]
"""``n`` tracks at ``m`` moments: positions, millimetres, shape ``(n, 2, m)``, before its first point a track is there,
after its last as well; 1 where a moment lies inside a track's span, else 0, shape ``(n, m)``; when each track begins
and ends, in moments, shape ``(n, 2)``; what each moment costs by which one track begins, or ends, later than another,
millimetres, at least 0; pairs that are remembered, as many as a power of 2, and the distance of each without that
price; room for ``m`` numbers.

A pair is ``lesser * n + greater``. Pair 0, a track and itself, has distance 0, so a table of zeros remembers nothing
wrong."""

TRACKS = (
    "Tuple((float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64, int64[::1], float64[::1], float64[::1]))"
)


@kernel("float64(int64[::1], float64[:, ::1], int64, int64, float64, int64)")
def position_at(t_ms: IntArray, xy_m: FloatArray, point: int, last: int, at_ms: float, axis: int) -> float:
    """Interpolate a trajectory between a point and the next one, as ``np.interp`` does, metres.

    Args:
        t_ms: Times of all points, shape ``(p,)``.
        xy_m: Their positions, metres, shape ``(p, 2)``.
        point: The last point of the trajectory that is not later than the moment, or the first if none is.
        last: The last point of the trajectory.
        at_ms: The moment.
        axis: 0 for x, 1 for y.
    """
    at = xy_m[point, axis]
    if point < last and t_ms[point] < at_ms:
        slope = (xy_m[point + 1, axis] - at) / (t_ms[point + 1] - t_ms[point])
        at = slope * (at_ms - t_ms[point]) + at
    return float(at)


@kernel("void(int64[::1], float64[:, ::1], int64[::1], float64[::1], float64[:, :, ::1])")
def place(t_ms: IntArray, xy_m: FloatArray, starts: IntArray, at_ms: FloatArray, xy_mm: FloatArray) -> None:
    """Interpolate trajectories at some moments.

    Args:
        t_ms: Times of all points, ascending inside a trajectory, shape ``(p,)``.
        xy_m: Their positions, metres, shape ``(p, 2)``.
        starts: Where each trajectory begins in these columns, and ``p``, shape ``(n + 1,)``; none is empty.
        at_ms: The moments, ascending, shape ``(m,)``.
        xy_mm: Becomes the positions, millimetres, shape ``(n, 2, m)``.
    """
    for i in range(len(starts) - 1):
        point, last = starts[i], starts[i + 1] - 1
        for m in range(len(at_ms)):
            while point < last and t_ms[point + 1] <= at_ms[m]:
                point += 1
            for axis in range(2):
                xy_mm[i, axis, m] = 1000.0 * position_at(t_ms, xy_m, point, last, at_ms[m], axis)


@kernel(f"float64({TRACKS}, int64, int64)")
def apart_mm(tracks: TrackData, i: int, j: int) -> float:
    """Return the distance of two tracks, whole millimetres."""
    xy_mm, _, span, price_mm, remembered, known_mm, _ = tracks
    pair = min(i, j) * len(xy_mm) + max(i, j)
    place = pair & (len(remembered) - 1)
    if remembered[place] != pair:
        remembered[place], known_mm[place] = pair, _measured_mm(tracks, i, j)
    total = known_mm[place]
    for end in range(2):
        total += price_mm * abs(span[i, end] - span[j, end])
    return float(np.rint(total))


@kernel(f"float64({TRACKS}, int64, int64)")
def _measured_mm(tracks: TrackData, i: int, j: int) -> float:
    """Sum up the distance of two tracks over moments in their order; each counts half for one that is under way.

    The processor takes square roots several at once if they are stored before they are added.
    """
    xy_mm, under_way, _, _, _, _, room = tracks
    for m in range(len(room)):
        x, y = xy_mm[i, 0, m] - xy_mm[j, 0, m], xy_mm[i, 1, m] - xy_mm[j, 1, m]
        room[m] = np.sqrt(x * x + y * y) * (under_way[i, m] + under_way[j, m])
    total = 0.0
    for m in range(len(room)):
        total += room[m]
    return total / 2


@kernel(f"float64[:, ::1]({TRACKS}, int64[::1], int64[::1])", allocates=True)
def distances_mm(tracks: TrackData, ones: IntArray, others: IntArray) -> FloatArray:
    """Return the distance of each of ``a`` tracks from each of ``b`` others, shape ``(a, b)``."""
    apart = np.empty((len(ones), len(others)))
    for row in range(len(ones)):
        for column in range(len(others)):
            apart[row, column] = apart_mm(tracks, ones[row], others[column])
    return apart


@kernel("int64[:, ::1](float64[:, ::1], float64[:, ::1], int64)", allocates=True)
def nearest_places(ones: FloatArray, others: FloatArray, q: int) -> IntArray:
    """Return, for each of ``s`` places, the ``q`` nearest of ``c`` others, nearest first, shape ``(s, min(q, c))``.

    Distances are Euclidean in all columns; of equally near places the first is taken.

    Args:
        ones: Shape ``(s, d)``.
        others: Shape ``(c, d)``.
        q: How many are wanted, at least 1.
    """
    q = min(q, len(others))
    nearest = np.full((len(ones), q), -1, np.int64)
    squared = np.empty(q)
    work = np.empty(ones.shape[1])
    for i in range(len(ones)):
        found = 0
        for other in range(len(others)):
            for d in range(len(work)):
                work[d] = (ones[i, d] - others[other, d]) * (ones[i, d] - others[other, d])
            total = 0.0
            for d in range(len(work)):
                total += work[d]
            if found == q and total >= squared[q - 1]:
                continue
            found = min(found + 1, q)
            at = found - 1
            while at > 0 and squared[at - 1] > total:
                nearest[i, at], squared[at] = nearest[i, at - 1], squared[at - 1]
                at -= 1
            nearest[i, at], squared[at] = other, total
    return nearest
