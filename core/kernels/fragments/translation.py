"""Where the members of sets were (:mod:`core.models.kdelta.anonymize.translation`)."""

from __future__ import annotations

from core.kernels.fragments.matching import T, nearest_moment
from core.kernels.fragments.tracks import position_at
from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = ["represent"]

_MATCHES = 2


@kernel(
    "void(int64[::1], int64[::1], float64[:, ::1], float64[:, ::1], int64, float64[::1], float64, int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1])"
)
def represent(
    starts: IntArray,
    t_ms: IntArray,
    xy_m: FloatArray,
    path: FloatArray,
    origin_ms: int,
    origin_m: FloatArray,
    tolerance: float,
    pivots: IntArray,
    members: IntArray,
    set_starts: IntArray,
    at_ms: IntArray,
    time_starts: IntArray,
    matched_t: FloatArray,
    matched_m: FloatArray,
    mean_m: FloatArray,
) -> None:
    """Find one position for each member of each set at each time of the set, and the means of these positions.

    First members are matched with the pivot, then with the mean of the positions found.

    Args:
        starts: Where trajectories begin, shape ``(n + 1,)``.
        t_ms: Times of all points, Unix milliseconds, shape ``(p,)``.
        xy_m: Their positions, metres, shape ``(p, 2)``.
        path: The same data set (:mod:`core.kernels.fragments.matching`).
        origin_ms: What time 0 is on the path.
        origin_m: What place 0 is on the path, shape ``(2,)``.
        tolerance: ms.
        pivots: Pivot of each set, shape ``(c,)``.
        members: Members of all sets, set by set, shape ``(r,)``.
        set_starts: Where each set begins among them, and ``r``, shape ``(c + 1,)``.
        at_ms: Times of all sets, ascending in each, Unix milliseconds, shape ``(h,)``.
        time_starts: Where each set begins among them, and ``h``, shape ``(c + 1,)``.
        matched_t: Becomes the matched times, ms after the origin, a row of times for each member, shape ``(q,)``.
        matched_m: Becomes the matched positions, metres, shape ``(q, 2)``.
        mean_m: Becomes the mean positions of each set at its times, metres, shape ``(h, 2)``.
    """
    begin = 0
    for c in range(len(pivots)):
        first, last = time_starts[c], time_starts[c + 1]
        size, row_length = set_starts[c + 1] - set_starts[c], last - first
        point, end = starts[pivots[c]], starts[pivots[c] + 1] - 1
        for j in range(first, last):
            while point < end and t_ms[point + 1] <= at_ms[j]:
                point += 1
            for axis in range(2):
                mean_m[j, axis] = position_at(t_ms, xy_m, point, end, float(at_ms[j]), axis)
        for _ in range(_MATCHES):
            for row in range(size):
                other = members[set_starts[c] + row]
                segment, behind = starts[other], starts[other + 1]
                for j in range(first, last):
                    t = float(at_ms[j] - origin_ms)
                    x, y = (mean_m[j, 0] - origin_m[0]) * 1000.0, (mean_m[j, 1] - origin_m[1]) * 1000.0
                    while segment < behind - 2 and path[segment + 1, T] <= t - tolerance:
                        segment += 1
                    at_t, at_x, at_y = nearest_moment(path, starts[other], behind, segment, t, x, y, tolerance)
                    at = begin + row * row_length + j - first
                    matched_t[at] = at_t
                    matched_m[at, 0], matched_m[at, 1] = at_x / 1000.0 + origin_m[0], at_y / 1000.0 + origin_m[1]
            for j in range(row_length):
                for axis in range(2):
                    total = 0.0
                    for row in range(size):
                        total += matched_m[begin + row * row_length + j, axis]
                    mean_m[first + j, axis] = total / size
        begin += size * row_length
