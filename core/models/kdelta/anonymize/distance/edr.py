"""EDR, the number of edits that turn one trajectory into another: tolerant in time and of outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["EditScript", "Edr", "edr"]

_POINTS_AT_ONCE = 256  # points of the pivot compared at once with all points that may match


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EditScript:
    """One cheapest way to edit a trajectory into a pivot: ``s`` steps in time order.

    Step ``i`` pairs point ``own[i]`` with point ``pivot[i]``. In ``own``, -1 marks a point that only the pivot has (to
    be created). In ``pivot``, -1 marks a point that only the trajectory has (to be deleted).
    """

    distance: int
    """EDR: number of edits of the script, which are all its steps except pairs that match."""

    own: IntArray
    """Point of the trajectory, ascending, or -1, shape ``(s,)``."""

    pivot: IntArray
    """Point of the pivot, ascending, or -1, shape ``(s,)``."""


def edr(
    t_ms: IntArray,
    xy_m: FloatArray,
    pivot_t_ms: IntArray,
    pivot_xy_m: FloatArray,
    *,
    space_tolerance_m: float,
    time_tolerance_s: float,
) -> EditScript:
    """Compute EDR and an optimal edit script (Chen, Ozsu, Oria 2005; time as in Abul, Bonchi, Nanni 2010).

    Two points match when x, y and time each differ by at most their tolerance. A match costs 0; an insertion, a
    deletion and a replacement (a pair that does not match) cost 1; an empty trajectory is as many edits away as
    the other has points. The undivided count is returned.

    If several scripts are optimal, one is chosen, from the end. Two points that match are a pair. Of two that do not
    match, the later one stays alone if that is optimal; else both are a pair if that is optimal; else the earlier one
    stays alone. At equal times they are a pair, or else the pivot's point stays alone. Pairs that do not match are
    therefore at least near in time.

    The table is computed column by column, in the bits of whole numbers (Hyyro 2003): ``m * n / 2`` bytes.

    Args:
        t_ms: Times of the trajectory, Unix milliseconds, shape ``(m,)``.
        xy_m: Its positions, metres, shape ``(m, 2)``.
        pivot_t_ms: Times of the pivot, shape ``(n,)``.
        pivot_xy_m: Its positions, shape ``(n, 2)``.
        space_tolerance_m: Largest difference of each coordinate, metres.
        time_tolerance_s: Largest difference in time, seconds.
    """
    full = (1 << len(t_ms)) - 1
    up, down = full, 0  # bit i is set if entry i + 1 of a column is one more (up) or one less (down) than entry i
    distance = len(t_ms)
    last = full ^ (full >> 1)
    columns = []
    tolerance_ms = round(time_tolerance_s * 1000)
    for matching in _matches((t_ms, xy_m), (pivot_t_ms, pivot_xy_m), space_tolerance_m, tolerance_ms):
        same = ((((matching & up) + up) ^ up) | matching | down) & full  # entry equals its diagonal neighbour
        wider = down | (full & ~(up | same))  # entry is one more than in the column before
        narrower = up & same
        distance += bool(wider & last) - bool(narrower & last)
        shifted = (wider << 1) | 1  # the first row counts 0, 1, 2, ...
        down = shifted & same & full
        up = ((narrower << 1) | ~(shifted | same)) & full
        columns.append((matching, up, wider, same))
    own, pivot = _walk_back(t_ms.tolist(), pivot_t_ms.tolist(), columns)
    return EditScript(distance=distance if len(t_ms) else len(pivot_t_ms), own=own, pivot=pivot)


def _matches(
    points: tuple[IntArray, FloatArray],
    pivot: tuple[IntArray, FloatArray],
    space_tolerance_m: float,
    time_tolerance_ms: int,
) -> Iterator[int]:
    """Yield, for each point of the pivot, the points that match it as bits."""
    (t_ms, xy_m), (pivot_t_ms, pivot_xy_m) = points, pivot
    low = np.searchsorted(t_ms, pivot_t_ms - time_tolerance_ms, side="left")
    high = np.searchsorted(t_ms, pivot_t_ms + time_tolerance_ms, side="right")
    columns = np.arange((high - low).max(initial=0))
    for at in range(0, len(low), _POINTS_AT_ONCE):
        some = slice(at, at + _POINTS_AT_ONCE)
        index = low[some, None] + columns
        near = index < high[some, None]
        index = np.minimum(index, len(t_ms) - 1)
        for axis in (0, 1):
            near &= np.abs(xy_m[index, axis] - pivot_xy_m[some, axis, None]) <= space_tolerance_m
        for start, bits in zip(low[some].tolist(), np.packbits(near, axis=1, bitorder="little"), strict=True):
            yield int.from_bytes(bits.tobytes(), "little") << start


def _walk_back(
    t_ms: list[int], pivot_t_ms: list[int], columns: list[tuple[int, int, int, int]]
) -> tuple[IntArray, IntArray]:
    i, j = len(t_ms) - 1, len(columns) - 1
    own: list[int] = []
    pivot: list[int] = []
    while i >= 0 and j >= 0:
        matching, up, wider, same = (column >> i & 1 for column in columns[j])
        delete, create = bool(up), bool(wider)
        if matching:
            delete = create = False
        elif not same:  # a replacement is optimal as well
            delete &= t_ms[i] > pivot_t_ms[j]
            create &= t_ms[i] < pivot_t_ms[j]
        elif delete and create:
            delete = t_ms[i] > pivot_t_ms[j]
        own.append(-1 if create and not delete else i)
        pivot.append(-1 if delete else j)
        i -= own[-1] >= 0
        j -= pivot[-1] >= 0
    own += range(i, -1, -1)
    pivot += [-1] * (i + 1)
    own += [-1] * (j + 1)
    pivot += range(j, -1, -1)
    return np.array(own[::-1], dtype=np.int64), np.array(pivot[::-1], dtype=np.int64)


class Edr:
    """EDR between the trajectories of one data set, divided by the longer length: edits a point, in ``0..1``.

    The distance of W4M with EDR (Abul, Bonchi, Nanni 2010), in whole millionths. A pivot is compared with all others
    in one pass over its points: the columns of their tables are side by side in the bits of one whole number, and a
    free bit between them stops carries.

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        space_tolerance_m: Largest difference of each coordinate of points that match, metres.
        time_tolerance_s: Largest difference of their times, seconds.

    Raises:
        ValueError: A tolerance is negative or not finite, or a trajectory has no point.
    """

    unit = 1_000_000
    in_metres = False

    def __init__(self, trajectories: PointTrajectories, *, space_tolerance_m: float, time_tolerance_s: float) -> None:
        for name, value in (("space_tolerance_m", space_tolerance_m), ("time_tolerance_s", time_tolerance_s)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value}: it must be a finite number, at least 0")
        self._counts = np.diff(trajectories.starts)  # (n,)
        if np.any(self._counts < 1):
            raise ValueError("a trajectory without points has no distance to another: leave it out")
        self._trajectories = trajectories
        self._space_m, self._time_ms = space_tolerance_m, round(time_tolerance_s * 1000)

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        """See :meth:`core.models.kdelta.anonymize.distance.distances.Distances.between`; millionths of an edit a
        point."""
        ones = np.broadcast_to(np.asarray(ones, dtype=np.int64), others.shape)
        edits = np.zeros(len(others), dtype=np.int64)
        for pivot in np.unique(ones).tolist():
            pairs = np.flatnonzero(ones == pivot)
            edits[pairs] = self._edits(pivot, others[pairs])
        return self._millionths(edits, np.maximum(self._counts[ones], self._counts[others]))

    def lower_bounds(self, pivot: int) -> IntArray:
        """See :meth:`core.models.kdelta.anonymize.distance.distances.Distances.lower_bounds`; the bound is the
        difference in the numbers of points."""
        more = np.abs(self._counts - self._counts[pivot])
        return self._millionths(more, np.maximum(self._counts, self._counts[pivot]))

    def _millionths(self, edits: IntArray, points: IntArray) -> IntArray:
        return (edits * self.unit) // points

    def _edits(self, pivot: int, others: IntArray) -> IntArray:
        """Compute EDR between a pivot and some trajectories, each in a lane of the same bits, shape ``(o,)``."""
        counts = self._counts[others]
        first = np.cumsum(counts + 1) - counts - 1  # (o,) first bit of each lane; a bit stays free behind it
        bit = np.arange(counts.sum()) + np.repeat(np.arange(len(others)), counts)  # of each point
        point = self._trajectories.points_of(others)
        n_bits = int(counts.sum()) + len(others)
        full, begin = _from_bits(bit, n_bits), _from_bits(first, n_bits)
        up, down = full, 0  # bit i of a lane is set if entry i + 1 is one more (up) or one less (down) than entry i
        for matching in self._lanes(pivot, point, bit, n_bits):
            same = ((((matching & up) + up) ^ up) | matching | down) & full
            wider = down | (full & ~(up | same))
            shifted = (wider << 1) | begin  # the first row counts 0, 1, 2, ...
            # A carry, or a bit shifted out of a lane, ends in the free bit behind the lane.
            down = shifted & same & full
            up = (((up & same) << 1) | ~(shifted | same)) & full
        steps = np.concatenate([[0], np.cumsum(_to_bits(up, n_bits) - _to_bits(down, n_bits))])
        edits: IntArray = self._counts[pivot] + steps[first + counts] - steps[first]
        return edits

    def _lanes(self, pivot: int, point: IntArray, bit: IntArray, n_bits: int) -> Iterator[int]:
        """Yield, for each point of a pivot, which bits stand for points that match it."""
        of_pivot = slice(*self._trajectories.starts[pivot : pivot + 2])
        t_ms, xy_m = self._trajectories.t_ms, self._trajectories.xy_m
        order = np.argsort(t_ms[point], kind="stable")
        at_ms, at_m, bit = t_ms[point][order], xy_m[point][order], bit[order]
        low = np.searchsorted(at_ms, t_ms[of_pivot] - self._time_ms, side="left").tolist()
        high = np.searchsorted(at_ms, t_ms[of_pivot] + self._time_ms, side="right").tolist()
        for begin, end, here in zip(low, high, xy_m[of_pivot], strict=True):
            near = (np.abs(at_m[begin:end] - here) <= self._space_m).all(axis=1)
            yield _from_bits(bit[begin:end][near], n_bits)


def _from_bits(bits: IntArray, n_bits: int) -> int:
    """Make a whole number of the bits that are set."""
    flags = np.zeros(n_bits, dtype=np.uint8)
    flags[bits] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _to_bits(number: int, n_bits: int) -> IntArray:
    """Return the bits of a whole number, shape ``(n_bits,)``."""
    octets = np.frombuffer(number.to_bytes(-(-n_bits // 8), "little"), dtype=np.uint8)
    return np.unpackbits(octets, count=n_bits, bitorder="little").astype(np.int64)
