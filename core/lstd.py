"""LSTD, the distance by which Wait for Me chooses who is alike: tolerant in time, linear in points."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from core.trajectory import FloatArray, IntArray, PointTrajectories

__all__ = ["Lstd", "Matched"]

_PAIRS_AT_ONCE = 1 << 13  # (pivot point, trajectory) pairs whose temporaries stay in a core's second-level cache
_POSITIONS_AT_ONCE = 1 << 20  # matched positions of one call: 100 MB with all temporaries
_CELLS = 256  # most time cells of the lower bound: 8 kB of boxes a trajectory, whatever its sampling and span
_LARGEST_MM = 1 << 62  # distances are clipped here, so that sums of two still fit into 64 bits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matched:
    """Where ``o`` trajectories were when each was nearest to ``m`` reference points."""

    t_ms: FloatArray
    """Time of each matched position on its own trajectory, Unix milliseconds, shape ``(o, m)``."""

    xy_m: FloatArray
    """Matched positions, interpolated, metres, shape ``(o, m, 2)``."""


class Lstd:
    r"""LSTD, the linear space-time distance of Wait for Me (Abul, Bonchi, Nanni 2010), over one data set.

    The papers at hand describe it without a formula; this is the definition used here. Between two of its points a
    trajectory moves in a straight line at constant speed; :math:`q(t)` is the position of trajectory :math:`q` at
    :math:`t`. For a point :math:`(t_j, p_j)` of another trajectory, the matched time :math:`t'_j` is

    * the time in :math:`[t_j - \tau, t_j + \tau]`, inside the span of :math:`q`, at which :math:`q(t)` is nearest
      to :math:`p_j` in space, compared in whole square millimetres; of equally near times the one nearest to
      :math:`t_j`, of equal shifts the earlier. A vehicle that stands still is so matched without a shift;
    * the nearest end of the span of :math:`q`, however far, when :math:`t_j` lies outside it.

    The way from ``p`` to ``q`` is :math:`\frac1m \sum_j \lVert p_j - q(t'_j)\rVert + v\,|t_j - t'_j|`, with ``v``
    the mean speed of the data set (all path lengths over all durations). The distance is the mean of the ways there
    and back, weighted by their points: the mean over all points of both. One way alone would let a short pivot attract
    long trajectories that pass by it, most of which would then be deleted. It is symmetric.

    The part of the other that a point looks at moves forward with the point, so the work for a pair is linear in the
    points of both times the points inside the tolerance.

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        tolerance_s: Tolerance in time, tau, seconds, at least 0.

    Raises:
        ValueError: The tolerance is negative or not finite, or a trajectory has no point.
    """

    def __init__(self, trajectories: PointTrajectories, *, tolerance_s: float) -> None:
        if not 0 <= tolerance_s < float("inf"):
            raise ValueError(f"tolerance_s is {tolerance_s}: it must be a finite number of seconds, at least 0")
        starts = trajectories.starts
        if np.any(np.diff(starts) < 1):
            raise ValueError("a trajectory without points has no distance to another: leave it out")
        self._trajectories = trajectories
        self._tolerance_ms = round(tolerance_s * 1000)
        self._origin_ms = int(trajectories.t_ms.min()) if len(trajectories.t_ms) else 0
        self._t = trajectories.t_ms - self._origin_ms  # (p,) ms since the first point of all
        self._first = self._t[starts[:-1]]  # (n,) span of each trajectory
        self._last = self._t[starts[1:] - 1]
        # One ascending key over all points, so that one binary search serves points of many trajectories.
        self._lane = int(self._last.max()) + 1 if len(self._last) else 1
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._keys = self._t + owner * self._lane
        # Square millimetres are rounded, so positions are kept in millimetres around their own middle.
        self._centre_m = trajectories.xy_m.mean(axis=0) if len(trajectories.t_ms) else np.zeros(2)
        self._xy = (trajectories.xy_m - self._centre_m).T * 1000.0  # (2, p)
        following = np.minimum(np.arange(len(self._t)) + 1, np.repeat(starts[1:] - 1, np.diff(starts)))
        self._t_step = (self._t[following] - self._t).astype(np.float64)  # (p,) from each point to its next
        step = self._xy[:, following] - self._xy  # (2, p)
        squared = np.square(step).sum(axis=0)
        per_squared = np.divide(1.0, squared, out=np.zeros_like(squared), where=squared > 0)
        self._forward = (*self._xy, *step, per_squared)  # segments as seen from their earlier end,
        self._backward = (*self._xy[:, following], *-step, per_squared)  # and from their later one
        driven_ms = int((self._last - self._first).sum())
        self.mean_speed_m_s = float(np.sqrt(squared).sum()) / driven_ms if driven_ms else 0.0
        """Mean speed of the data set, v, metres a second; 0 when nothing lasts."""
        self._n_points = np.diff(starts)  # (n,)
        self._cell_ms = max(self._tolerance_ms // 2, self._lane // _CELLS + 1)
        self._boxes = self._bounding_boxes()
        self._groups = self._point_boxes()

    def distances_mm(self, pivot: int, others: IntArray) -> IntArray:
        """Measure how far some trajectories are from a pivot, all at once.

        Args:
            pivot: Number of the pivot in the data set.
            others: Numbers of the trajectories to measure, shape ``(o,)``.

        Returns:
            LSTD between the pivot and each, whole millimetres, shape ``(o,)``.
        """
        measured = [self._distances_mm(pivot, some) for some in self._blocks(pivot, others)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *measured])

    def _blocks(self, pivot: int, others: IntArray) -> list[IntArray]:
        """Cut trajectories into pieces whose matched positions are held at a time."""
        so_far = np.cumsum(self._n_points[others] + self._n_points[pivot])
        return np.split(others, np.flatnonzero(np.diff(so_far // _POSITIONS_AT_ONCE)) + 1)

    def _distances_mm(self, pivot: int, others: IntArray) -> IntArray:
        starts = self._trajectories.starts
        forth = np.tile(np.arange(*starts[pivot : pivot + 2]), len(others))
        n_forth = np.full(len(others), self._n_points[pivot])
        n_back = self._n_points[others]
        # The points of the others, one range after the other.
        back = np.arange(n_back.sum()) + np.repeat(starts[others] - (np.cumsum(n_back) - n_back), n_back)
        forth_mm = self._one_way_mm(forth, np.repeat(others, n_forth), n_forth)
        back_mm = self._one_way_mm(back, np.full(len(back), pivot), n_back)
        return _whole_mm(self._of_both(pivot, others, forth_mm, back_mm))

    def _of_both(self, pivot: int, others: IntArray, forth_mm: FloatArray, back_mm: FloatArray) -> FloatArray:
        """Average what was found from the pivot and from each other one by their numbers of points, shape ``(o,)``."""
        ours, theirs = self._n_points[pivot], self._n_points[others]
        return np.asarray((forth_mm * ours + back_mm * theirs) / (ours + theirs))

    def _one_way_mm(self, points: IntArray, owner: IntArray, counts: IntArray) -> FloatArray:
        """Average over ``c`` runs of ``counts`` points how far each is from the trajectory that it is measured to."""
        t, xy = self._t[points], self._xy[:, points]
        matched_t, matched = self._match(t, xy, owner)
        away_mm = np.hypot(matched[0] - xy[0], matched[1] - xy[1])
        # A metre a second is a millimetre a millisecond.
        away_mm += np.abs(matched_t - t) * self.mean_speed_m_s
        sums_mm = np.add.reduceat(away_mm, np.cumsum(counts) - counts) if len(counts) else np.zeros(0)
        return np.asarray(sums_mm / counts)

    def lower_bounds_mm(self, pivot: int) -> IntArray:
        """Bound the distance of every trajectory from a pivot from below, at a small part of its cost.

        Cell of time by cell, the box around the points of one is measured against the box around all that the other
        passes in the time these points may be matched with.

        Returns:
            Whole millimetres, never above :meth:`distances_mm`, shape ``(n,)``.
        """
        groups = self._groups
        its = slice(*groups.starts[pivot : pivot + 2])
        gaps_mm = self._gaps_mm(
            groups.box[:, its, None],
            self._boxes[:, groups.cell[its]],
            np.maximum(self._first - groups.end_ms[its, None], groups.begin_ms[its, None] - self._last),
        )  # (cells of the pivot, n)
        forth_mm = groups.count[its] @ gaps_mm / self._n_points[pivot]
        gaps_mm = self._gaps_mm(
            groups.box,
            self._boxes[:, :, pivot][:, groups.cell],
            np.maximum(self._first[pivot] - groups.end_ms, groups.begin_ms - self._last[pivot]),
        )  # (g,)
        back_mm = np.add.reduceat(gaps_mm * groups.count, groups.starts[:-1]) / self._n_points
        bound_mm = self._of_both(pivot, np.arange(len(forth_mm)), forth_mm, back_mm)
        return np.maximum(_whole_mm(bound_mm * (1 - 1e-9)) - 2, 0)  # rounding must not lift a bound

    def _gaps_mm(self, box: FloatArray, passed: FloatArray, outside_ms: IntArray) -> FloatArray:
        """Measure the gaps between boxes, and what the shift in time costs at least where it is above 0."""
        gap = np.maximum(box[0] - passed[1], passed[0] - box[1])
        gap_y = np.maximum(box[2] - passed[3], passed[2] - box[3])
        for one in (gap, gap_y):
            np.maximum(one, 0.0, out=one)
            np.square(one, out=one)
        gap += gap_y
        np.sqrt(gap, out=gap)
        gap += np.maximum(outside_ms, 0) * self.mean_speed_m_s
        return np.asarray(gap)

    def match(self, t_ms: IntArray, xy_m: FloatArray, others: IntArray) -> Matched:
        """Find the position of some trajectories that LSTD compares with each point of a reference.

        Args:
            t_ms: Times of the reference, Unix milliseconds, shape ``(m,)``.
            xy_m: Its positions, metres, shape ``(m, 2)``.
            others: Numbers of the trajectories to match, shape ``(o,)``.
        """
        own = np.repeat(others, len(t_ms))
        own_t, own_xy_m = np.tile(t_ms - self._origin_ms, len(others)), np.tile(xy_m - self._centre_m, (len(others), 1))
        t, xy = self._match(own_t, own_xy_m.T * 1000.0, own)
        return Matched(
            t_ms=t.reshape(len(others), -1) + self._origin_ms,
            xy_m=xy.T.reshape(len(others), len(t_ms), 2) / 1000.0 + self._centre_m,
        )

    def _match(self, t: IntArray, xy: FloatArray, owner: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return matched times ``(q,)`` and positions ``(2, q)`` of points, each on its owner."""
        starts = self._trajectories.starts
        first, last = self._first[owner], self._last[owner]
        ends = np.where(t < first, starts[owner], starts[owner + 1] - 1)
        matched_t = self._t[ends].astype(np.float64)
        matched = self._xy[:, ends]
        inside = np.flatnonzero((t >= first) & (t <= last) & (first < last))
        for at in range(0, len(inside), _PAIRS_AT_ONCE):
            pairs = inside[at : at + _PAIRS_AT_ONCE]
            matched_t[pairs], matched[:, pairs] = self._nearest(t[pairs], xy[:, pairs], owner[pairs])
        return matched_t, matched

    def _nearest(self, t: IntArray, xy: FloatArray, owner: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return matched times ``(q,)`` and positions ``(2, q)`` of points inside the span of their owner."""
        from_t = np.maximum(t - self._tolerance_ms, self._first[owner])
        to_t = np.minimum(t + self._tolerance_ms, self._last[owner])
        # Segment s runs from point s to point s + 1.
        lane = owner * self._lane
        final = self._trajectories.starts[owner + 1] - 2
        here = np.minimum(np.searchsorted(self._keys, t + lane, side="right") - 1, final)
        low = np.minimum(np.searchsorted(self._keys, from_t + lane, side="right") - 1, here)
        high = np.maximum(np.searchsorted(self._keys, to_t + lane, side="left") - 1, here)

        earliest, latest, now = ((at - self._t[here]) / self._t_step[here] for at in (from_t, to_t, t))
        x, y, step_x, step_y, per_squared = (column[here] for column in self._forward)
        share = ((xy[0] - x) * step_x + (xy[1] - y) * step_y) * per_squared
        share = np.where(per_squared == 0, now, np.clip(share, np.maximum(earliest, 0), np.minimum(latest, 1)))
        best_xy = np.stack((x + share * step_x, y + share * step_y))
        best_t = self._t[here] + share * self._t_step[here]
        best = np.rint(np.square(best_xy - xy).sum(axis=0))

        until = (self._t[low + 1] - from_t) / self._t_step[low], (to_t - self._t[high]) / self._t_step[high]
        for way, count, limit in ((-1, here - low, until[0]), (1, high - here, until[1])):
            found, segment, share = self._sweep(xy, here, way, count, limit)
            x, y, step_x, step_y, _ = (column[segment] for column in self._table(way))
            its_t = self._t[segment + (way < 0)] + way * share * self._t_step[segment]
            shorter = np.abs(its_t - t) < np.abs(best_t - t)
            better = (found < best) | ((found == best) & shorter)
            best = np.where(better, found, best)
            best_t = np.where(better, its_t, best_t)
            best_xy = np.where(better, (x + share * step_x, y + share * step_y), best_xy)
        return best_t, best_xy

    def _table(self, way: int) -> tuple[FloatArray, ...]:
        return self._forward if way > 0 else self._backward

    def _sweep(
        self, xy: FloatArray, here: IntArray, way: int, count: IntArray, limit: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Walk ``count`` segments away from ``here``; a later find must be nearer, so the first in time stays.

        Returns:
            Square millimetres (infinite where nothing was walked), segment and share of it, each ``(q,)``.
        """
        order = np.argsort(-count, kind="stable")  # who still walks is then always a front part: no masks
        walking = np.searchsorted(-count[order], -np.arange(count.max(initial=0) + 1), side="left")
        x, y, here, limit = xy[0, order], xy[1, order], here[order], limit[order]
        from_x, from_y, step_x, step_y, per_squared = self._table(way)
        best = np.full(len(order), np.inf)
        best_share = np.zeros(len(order))
        best_segment = here.copy()
        for walked, (n, n_next) in enumerate(itertools.pairwise(walking), start=1):
            segment = here[:n] + way * walked
            along_x, along_y = step_x[segment], step_y[segment]
            off_x = x[:n] - from_x[segment]
            off_y = y[:n] - from_y[segment]
            share = off_x * along_x
            share += off_y * along_y
            share *= per_squared[segment]
            np.clip(share, 0.0, 1.0, out=share)
            np.minimum(share[n_next:], limit[n_next:n], out=share[n_next:])  # the tolerance ends inside these
            along_x *= share
            along_y *= share
            off_x -= along_x
            off_y -= along_y
            off_x *= off_x
            off_y *= off_y
            off_x += off_y
            np.rint(off_x, out=off_x)
            nearer = off_x < best[:n]
            np.copyto(best[:n], off_x, where=nearer)
            np.copyto(best_share[:n], share, where=nearer)
            np.copyto(best_segment[:n], segment, where=nearer)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return best[back], best_segment[back], best_share[back]

    def _bounding_boxes(self) -> FloatArray:
        """Box around what each trajectory passes within the tolerance of each time cell, ``(4, cells, n)``.

        Rows: lowest and highest x, lowest and highest y; the points on both sides of the stretch count in.
        """
        cells = np.arange(-(-self._lane // self._cell_ms)) * self._cell_ms
        first, last = self._first[:, None], self._last[:, None]
        lane = np.arange(len(first))[:, None] * self._lane
        starts = np.clip(cells - self._tolerance_ms, first, last)  # (n, cells)
        stops = np.clip(cells + self._cell_ms + self._tolerance_ms, first, last)
        low = np.searchsorted(self._keys, starts + lane, side="right") - 1
        high = np.searchsorted(self._keys, stops + lane, side="left") + 1
        ranges = np.stack((low, high), axis=-1).ravel()
        padded = np.concatenate((self._xy, np.zeros((2, 1))), axis=1)  # the last range may end at p
        boxes = [
            extreme.reduceat(axis, ranges)[::2].reshape(low.shape).T
            for axis in padded
            for extreme in (np.minimum, np.maximum)
        ]
        return np.ascontiguousarray(boxes)  # a cell's boxes side by side: bounds read them cell by cell

    def _point_boxes(self) -> _Groups:
        """Group the points of each trajectory by time cell."""
        owner = np.repeat(np.arange(len(self._n_points)), self._n_points)
        cell = self._t // self._cell_ms
        new = np.ones(len(self._t), dtype=bool)
        new[1:] = (cell[1:] != cell[:-1]) | (owner[1:] != owner[:-1])
        begin = np.flatnonzero(new)
        count = np.diff(np.append(begin, len(self._t)))
        extremes = (
            [f.reduceat(axis, begin) for axis in self._xy for f in (np.minimum, np.maximum)] if len(begin) else []
        )
        return _Groups(
            starts=np.searchsorted(owner[begin], np.arange(len(self._n_points) + 1)),
            cell=cell[begin],
            count=count,
            begin_ms=self._t[begin],
            end_ms=self._t[begin + count - 1],
            box=np.array(extremes).reshape(4, len(begin)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Groups:
    """The points of all trajectories, ``g`` groups of one trajectory and one time cell each."""

    starts: IntArray
    """Where the groups of each trajectory begin, shape ``(n + 1,)``."""

    cell: IntArray
    count: IntArray
    begin_ms: IntArray
    end_ms: IntArray
    box: FloatArray
    """Lowest and highest x, lowest and highest y, shape ``(4, g)``."""


def _whole_mm(distance_mm: FloatArray) -> IntArray:
    return np.rint(np.minimum(distance_mm, _LARGEST_MM)).astype(np.int64)
