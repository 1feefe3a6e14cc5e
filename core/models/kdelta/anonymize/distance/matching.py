"""Matching: where one trajectory was when it was nearest to the points of another, tolerant in time.

Both the LSTD distance of Wait for Me (:mod:`core.models.kdelta.anonymize.distance.lstd`) and its exchangeable
translation use this matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Matched", "Matching"]

_SEGMENTS_AT_ONCE = 1 << 14  # segments compared at once: their temporaries stay in a core's second-level cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matched:
    """Where ``o`` trajectories were when each was nearest to ``m`` reference points."""

    t_ms: FloatArray
    """Time of each matched position on its own trajectory, Unix milliseconds, shape ``(o, m)``."""

    xy_m: FloatArray
    """Matched positions, interpolated, metres, shape ``(o, m, 2)``."""


class Matching:
    r"""Matches points of one trajectory with moments of another, over one data set.

    Between two of its points a trajectory moves in a straight line at constant speed; :math:`q(t)` is the position of
    trajectory :math:`q` at :math:`t`. For a point :math:`(t_j, p_j)`, the matched time :math:`t'_j` is

    * the time in :math:`[t_j - \tau, t_j + \tau]`, inside the span of :math:`q`, at which :math:`q(t)` is nearest
      to :math:`p_j` in space, compared in whole square millimetres; of equally near times the one nearest to
      :math:`t_j`, of equal shifts the earlier. A vehicle that stands still is therefore matched without a shift;
    * the nearest end of the span of :math:`q`, however far, when :math:`t_j` lies outside it.

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
            raise ValueError("a trajectory without points cannot be matched: leave it out")
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
        self._segments = (*self._xy, *step, per_squared)
        driven_ms = int((self._last - self._first).sum())
        self.mean_speed_m_s = float(np.sqrt(squared).sum()) / driven_ms if driven_ms else 0.0
        """Mean speed of the data set, metres a second: all path lengths over all durations, 0 if all durations are."""

    def match(self, t_ms: IntArray, xy_m: FloatArray, others: IntArray) -> Matched:
        """Find where some trajectories were when they were nearest to each point of a reference.

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
        """Return the matched times ``(q,)`` and positions ``(2, q)`` of points, each on the trajectory ``owner``."""
        starts = self._trajectories.starts
        first, last = self._first[owner], self._last[owner]
        ends = np.where(t < first, starts[owner], starts[owner + 1] - 1)
        matched_t = self._t[ends].astype(np.float64)
        matched = self._xy[:, ends]
        inside = np.flatnonzero((t >= first) & (t <= last) & (first < last))
        if len(inside):
            low, high = self._within_tolerance(t[inside], owner[inside])
            widest_first = np.argsort(low - high, kind="stable")
            width = (high - low)[widest_first] + 1
            at = 0
            while at < len(inside):
                some = widest_first[at : at + max(1, _SEGMENTS_AT_ONCE // int(width[at]))]
                pairs = inside[some]
                matched_t[pairs], matched[:, pairs] = self._nearest(
                    t[pairs], xy[:, pairs], owner[pairs], low[some], high[some]
                )
                at += len(some)
        return matched_t, matched

    def _within_tolerance(self, t: IntArray, owner: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first and last segment that points may be matched with; segment s runs from point s to s + 1."""
        lane = owner * self._lane
        final = self._trajectories.starts[owner + 1] - 2
        from_t = np.maximum(t - self._tolerance_ms, self._first[owner])
        to_t = np.minimum(t + self._tolerance_ms, self._last[owner])
        low = np.minimum(np.searchsorted(self._keys, from_t + lane, side="right") - 1, final)
        high = np.maximum(np.searchsorted(self._keys, to_t + lane, side="left") - 1, low)
        return low, high

    def _nearest(
        self, t: IntArray, xy: FloatArray, owner: IntArray, low: IntArray, high: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return matched times ``(q,)`` and positions ``(2, q)`` of points inside the span of their owner."""
        rows, last = np.arange(len(t)), high - low
        segment = low[:, None] + np.arange(int(last.max()) + 1)  # (q, w)
        beyond = segment > high[:, None]
        np.minimum(segment, high[:, None], out=segment)
        x, y, step_x, step_y, per_squared = (column[segment] for column in self._segments)
        begin_t, step_t = self._t[segment], self._t_step[segment]
        x -= xy[0][:, None]
        y -= xy[1][:, None]
        share = x * step_x
        share += y * step_y
        share *= -per_squared
        still = per_squared == 0  # the trajectory stands still there: the nearest moment counts
        if still.any():
            share[still] = ((t[:, None] - begin_t) / step_t)[still]
        np.clip(share, 0.0, 1.0, out=share)
        # The tolerance begins inside the first segment and ends inside the last.
        from_t, to_t = t - self._tolerance_ms - begin_t[:, 0], t + self._tolerance_ms - begin_t[rows, last]
        share[:, 0] = np.maximum(share[:, 0], from_t / step_t[:, 0])
        share[rows, last] = np.minimum(share[rows, last], to_t / step_t[rows, last])
        step_x *= share
        step_y *= share
        x += step_x
        y += step_y
        squared = np.square(x)
        squared += np.square(y)
        np.rint(squared, out=squared)
        squared[beyond] = np.inf
        step_t *= share
        step_t += begin_t
        shift = np.abs(step_t - t[:, None])
        shift[squared != squared.min(axis=1, keepdims=True)] = np.inf
        best = shift.argmin(axis=1)
        return step_t[rows, best], np.stack((x[rows, best] + xy[0], y[rows, best] + xy[1]))
