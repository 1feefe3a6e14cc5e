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
    :math:`t`. For a point :math:`(t_j, p_j)` of the pivot, the matched time :math:`t'_j` is

    * the time in :math:`[t_j - \tau, t_j + \tau]`, inside the span of :math:`q`, at which :math:`q(t)` is nearest
      to :math:`p_j` in space, compared in whole square millimetres; of equally near times the one nearest to
      :math:`t_j`, of equal shifts the earlier. A vehicle that stands still is so matched without a shift;
    * the nearest end of the span of :math:`q`, however far, when :math:`t_j` lies outside it.

    The distance is :math:`\frac1m \sum_j \lVert p_j - q(t'_j)\rVert + v\,|t_j - t'_j|`, with ``v`` the mean speed
    of the data set (all path lengths over all durations). It is not symmetric.

    The part of ``q`` that a pivot point looks at moves forward with the point, so the work for one trajectory is
    linear in the number of points times the points inside the tolerance.

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
        self._cell_ms = max(self._tolerance_ms // 2, self._lane // _CELLS + 1)
        self._boxes = self._bounding_boxes()

    def distances_mm(self, pivot: int, others: IntArray) -> IntArray:
        """Measure how far some trajectories are from a pivot, all at once.

        Args:
            pivot: Number of the pivot in the data set.
            others: Numbers of the trajectories to measure, shape ``(o,)``.

        Returns:
            LSTD from the pivot to each, whole millimetres, shape ``(o,)``.
        """
        points = slice(*self._trajectories.starts[pivot : pivot + 2])
        t, xy = self._t[points], self._xy[:, points]
        measured = []
        at_once = max(1, _POSITIONS_AT_ONCE // len(t))
        for at in range(0, len(others), at_once):
            matched_t, matched = self._match(t, xy, others[at : at + at_once])
            away_mm = np.hypot(matched[0] - xy[0], matched[1] - xy[1])  # (o, m)
            # A metre a second is a millimetre a millisecond.
            away_mm += np.abs(matched_t - t) * self.mean_speed_m_s
            measured.append(_whole_mm(away_mm.mean(axis=1)))
        return np.concatenate([np.zeros(0, dtype=np.int64), *measured])

    def lower_bounds_mm(self, pivot: int) -> IntArray:
        """Bound the distance of every trajectory from a pivot from below, at a small part of its cost.

        Cell of time by cell, the box around the pivot's points is measured against the box around all that a
        trajectory passes in the time these points may be matched with.

        Returns:
            Whole millimetres, never above :meth:`distances_mm`, shape ``(n,)``.
        """
        points = slice(*self._trajectories.starts[pivot : pivot + 2])
        t, xy = self._t[points], self._xy[:, points]
        cells, begin, count = np.unique(t // self._cell_ms, return_index=True, return_counts=True)
        lowest = np.minimum.reduceat(xy, begin, axis=1)  # (2, cells)
        highest = np.maximum.reduceat(xy, begin, axis=1)
        boxes = self._boxes[:, :, cells]  # (4, n, cells)
        gap_x = np.maximum(np.maximum(lowest[0] - boxes[1], boxes[0] - highest[0]), 0)
        gap_y = np.maximum(np.maximum(lowest[1] - boxes[3], boxes[2] - highest[1]), 0)
        begins, ends = t[begin], t[begin + count - 1]
        outside_ms = np.maximum(np.maximum(self._first[:, None] - ends, begins - self._last[:, None]), 0)
        mean = (np.hypot(gap_x, gap_y) + outside_ms * self.mean_speed_m_s) @ count / len(t)
        return np.maximum(_whole_mm(mean * (1 - 1e-9)) - 2, 0)  # rounding must not lift a bound

    def match(self, t_ms: IntArray, xy_m: FloatArray, others: IntArray) -> Matched:
        """Find the position of some trajectories that LSTD compares with each point of a reference.

        Args:
            t_ms: Times of the reference, Unix milliseconds, shape ``(m,)``.
            xy_m: Its positions, metres, shape ``(m, 2)``.
            others: Numbers of the trajectories to match, shape ``(o,)``.
        """
        t, xy = self._match(t_ms - self._origin_ms, (xy_m - self._centre_m).T * 1000.0, others)
        return Matched(
            t_ms=t + self._origin_ms,
            xy_m=np.moveaxis(xy, 0, -1) / 1000.0 + self._centre_m,
        )

    def _match(self, t: IntArray, xy: FloatArray, others: IntArray) -> tuple[FloatArray, FloatArray]:
        starts = self._trajectories.starts
        first, last = self._first[others][:, None], self._last[others][:, None]
        ends = np.where(t < first, starts[others][:, None], starts[others + 1][:, None] - 1)  # (o, m)
        matched_t = self._t[ends].astype(np.float64)
        matched = self._xy[:, ends]  # (2, o, m)
        rows, columns = np.nonzero((t >= first) & (t <= last) & (first < last))
        for at in range(0, len(rows), _PAIRS_AT_ONCE):
            row, column = rows[at : at + _PAIRS_AT_ONCE], columns[at : at + _PAIRS_AT_ONCE]
            matched_t[row, column], matched[:, row, column] = self._nearest(t[column], xy[:, column], others[row])
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
        """Box around what each trajectory passes within the tolerance of each time cell, ``(4, n, cells)``.

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
        return np.stack(
            [
                extreme.reduceat(axis, ranges)[::2].reshape(low.shape)
                for axis in padded
                for extreme in (np.minimum, np.maximum)
            ]
        )


def _whole_mm(distance_mm: FloatArray) -> IntArray:
    return np.rint(np.minimum(distance_mm, _LARGEST_MM)).astype(np.int64)
