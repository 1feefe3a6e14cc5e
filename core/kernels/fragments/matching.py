"""Where a trajectory was when it was nearest to a point, tolerant in time, and LSTD, the distance made of that.

A data set of ``p`` points is a table of shape ``(p, 7)``, its *path*; ``starts``, shape ``(n + 1,)``, tells where each
of ``n`` trajectories begins in it. A row is the time of a point in milliseconds, x and y in millimetres, the
differences of these three to the next point of the same trajectory, and 1 divided by the square of the step in
space. These four are 0 where there is no next point, and the last is 0 where the trajectory stands still.
"""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["far_from", "lay_path", "lstd", "nearest_moment"]

T, X, Y, STEP_T, STEP_X, STEP_Y, PER_SQUARED = range(7)
"""Columns of a path."""

_PATHS = "int64[::1], float64[:, ::1]"


@kernel("void(int64[::1], int64[::1], float64[:, ::1], int64, float64[::1], float64[:, ::1])")
def lay_path(
    starts: IntArray, t_ms: IntArray, xy_m: FloatArray, origin_ms: int, origin_m: FloatArray, path: FloatArray
) -> None:
    """Compute the path of a data set.

    Args:
        starts: Where trajectories begin; none is empty.
        t_ms: Times of all points, shape ``(p,)``.
        xy_m: Their positions, metres, shape ``(p, 2)``.
        origin_ms: The moment at which its time is 0.
        origin_m: The position at which its x and y are 0, metres, shape ``(2,)``.
        path: Becomes the path.
    """
    for i in range(len(starts) - 1):
        for point in range(starts[i + 1] - 1, starts[i] - 1, -1):  # backwards: a step leads to the point behind
            path[point, T] = t_ms[point] - origin_ms
            path[point, X], path[point, Y] = (
                (xy_m[point, 0] - origin_m[0]) * 1000.0,
                (xy_m[point, 1] - origin_m[1]) * 1000.0,
            )
            following = point + 1 if point + 1 < starts[i + 1] else point
            path[point, STEP_T] = path[following, T] - path[point, T]
            path[point, STEP_X] = path[following, X] - path[point, X]
            path[point, STEP_Y] = path[following, Y] - path[point, Y]
            squared = path[point, STEP_X] * path[point, STEP_X] + path[point, STEP_Y] * path[point, STEP_Y]
            path[point, PER_SQUARED] = 1.0 / squared if squared > 0.0 else 0.0


@kernel("UniTuple(float64, 3)(float64[:, ::1], int64, int64, int64, float64, float64, float64, float64)")
def nearest_moment(
    path: FloatArray, begin: int, end: int, first_segment: int, t: float, x: float, y: float, tolerance: float
) -> tuple[float, float, float]:
    """Find when, and where, a trajectory was nearest to a point.

    Times between ``t - tolerance`` and ``t + tolerance`` are looked at, inside the trajectory's span. Distances are
    compared in whole square millimetres; of equally near moments the one nearest to ``t`` wins, of equal shifts the
    earlier. Outside the span it is the nearest end.

    Args:
        path: The data set.
        begin: First point of the trajectory.
        end: Point behind its last one.
        first_segment: Any point of it that is not behind the last one at or before ``t - tolerance``.
        t: Time of the point, ms.
        x: Its position, mm.
        y: The same.
        tolerance: ms, at least 0.

    Returns:
        Time, ms, x and y, mm.
    """
    last = end - 1
    if t < path[begin, T] or begin == last:
        return path[begin, T], path[begin, X], path[begin, Y]
    if t > path[last, T]:
        return path[last, T], path[last, X], path[last, Y]
    from_t, to_t = max(t - tolerance, path[begin, T]), min(t + tolerance, path[last, T])
    segment = first_segment
    while segment < last - 1 and path[segment + 1, T] <= from_t:
        segment += 1
    nearest, nearest_shift = np.inf, np.inf
    best_t, best_x, best_y = 0.0, 0.0, 0.0
    while True:
        off_x, off_y = path[segment, X] - x, path[segment, Y] - y
        step_x, step_y, step_t = path[segment, STEP_X], path[segment, STEP_Y], path[segment, STEP_T]
        if path[segment, PER_SQUARED] == 0.0:
            share = (t - path[segment, T]) / step_t  # it stands still: the nearest time counts
        else:
            share = (off_x * step_x + off_y * step_y) * -path[segment, PER_SQUARED]
        share = min(max(share, 0.0), 1.0)
        if path[segment, T] < from_t:
            share = max(share, (from_t - path[segment, T]) / step_t)
        if path[segment, T] + step_t > to_t:
            share = min(share, (to_t - path[segment, T]) / step_t)
        off_x += step_x * share
        off_y += step_y * share
        squared = off_x * off_x + off_y * off_y
        if squared < nearest + 1.0:  # otherwise it is farther, however it is rounded
            squared = np.rint(squared)
            at_t = path[segment, T] + step_t * share
            shift = abs(at_t - t)
            if squared < nearest or (squared == nearest and shift < nearest_shift):
                nearest, nearest_shift = squared, shift
                best_t, best_x, best_y = at_t, off_x + x, off_y + y
        segment += 1
        if segment >= last or path[segment, T] >= to_t:
            return best_t, best_x, best_y


@kernel(f"float64({_PATHS}, int64, int64, float64, float64, float64)")
def far_from(
    starts: IntArray, path: FloatArray, one: int, other: int, tolerance: float, speed: float, limit: float
) -> float:
    """Sum up how far the points of one trajectory are from their nearest moments of another.

    Args:
        starts: Where trajectories begin.
        path: The data set.
        one: The trajectory whose points count.
        other: The trajectory that is matched with them.
        tolerance: ms.
        speed: What a shift in time costs, metres a second.
        limit: The sum ends where it is above this.

    Returns:
        Millimetres: the sum over all points, or over the first ones if that is above the limit already.
    """
    begin, end = starts[other], starts[other + 1]
    segment = begin
    total = 0.0
    for point in range(starts[one], starts[one + 1]):
        t, x, y = path[point, T], path[point, X], path[point, Y]
        while segment < end - 2 and path[segment + 1, T] <= t - tolerance:
            segment += 1
        at_t, at_x, at_y = nearest_moment(path, begin, end, segment, t, x, y, tolerance)
        off_x, off_y = at_x - x, at_y - y
        # A metre a second is a millimetre a millisecond.
        total += np.sqrt(off_x * off_x + off_y * off_y) + abs(at_t - t) * speed
        if total > limit:
            return float(total)
    return total


LARGEST_MM = float(1 << 50)
"""Distances are clipped here, so that sums of thousands still fit into 64 bits: at a thousand million kilometres."""


@kernel(f"int64({_PATHS}, int64, int64, float64, float64, int64)")
def lstd(starts: IntArray, path: FloatArray, one: int, other: int, tolerance: float, speed: float, limit: int) -> int:
    """Measure LSTD, the mean over all points of two trajectories of how far each is from the other trajectory.

    Args:
        starts: Where trajectories begin.
        path: The data set.
        one: A trajectory.
        other: Another one.
        tolerance: ms.
        speed: What a shift in time costs, metres a second.
        limit: From which distance on no exact one is needed, whole millimetres.

    Returns:
        Whole millimetres: the distance if it is at most the limit, else a number above the limit and not above the
        distance.
    """
    n_points = starts[one + 1] - starts[one] + starts[other + 1] - starts[other]
    enough = (limit + 1.0) * n_points  # a mean above limit + 1 is more than the limit however it is rounded
    forth = far_from(starts, path, one, other, tolerance, speed, enough)
    back = 0.0
    if forth <= enough:
        back = far_from(starts, path, other, one, tolerance, speed, enough - forth)
    return int(min(np.rint((forth + back) / n_points), LARGEST_MM))
