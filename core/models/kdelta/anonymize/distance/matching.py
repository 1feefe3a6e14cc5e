"""Matching: where one trajectory was when it was nearest to the points of another, tolerant in time.

Both the LSTD distance of Wait for Me (:mod:`core.models.kdelta.anonymize.distance.lstd`) and its exchangeable
translation use this matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.fragments.matching import lay_path
from core.kernels.fragments.translation import represent
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Matched", "Matching", "mean_speed_m_s", "path_of", "tolerance_in_ms"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matched:
    """Where the members of ``c`` sets were at the times of their sets."""

    t_ms: FloatArray
    """Time of each matched position on its own trajectory, Unix milliseconds; set by set, in each of them a row of
    times for each member, shape ``(q,)``."""

    xy_m: FloatArray
    """Matched positions, interpolated, metres, shape ``(q, 2)``."""

    mean_m: FloatArray
    """Mean of the matched positions of each set at its times, metres, shape ``(h, 2)``."""


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
        self._tolerance_ms = float(tolerance_in_ms(tolerance_s))
        self._points = trajectories.columns()
        self._path, (self._origin_ms, self._origin_m) = path_of(trajectories), _origin(trajectories)
        self.mean_speed_m_s = mean_speed_m_s(self._path, trajectories.starts)
        """Mean speed of the data set (:func:`mean_speed_m_s`)."""

    def represent(
        self, pivots: IntArray, members: IntArray, set_starts: IntArray, at_ms: IntArray, time_starts: IntArray
    ) -> Matched:
        """Find one position for each member of each set at each time of the set.

        Members are matched with the positions of the pivot at these times, and then with the mean of the positions
        found.

        Args:
            pivots: Pivot of each set, shape ``(c,)``.
            members: Members of all sets, set by set, shape ``(r,)``.
            set_starts: Where each set begins among them, and ``r``, shape ``(c + 1,)``.
            at_ms: Times of all sets, set by set, ascending in each, Unix milliseconds, shape ``(h,)``.
            time_starts: Where each set begins among them, and ``h``, shape ``(c + 1,)``.
        """
        q = int(np.diff(set_starts) @ np.diff(time_starts))
        matched_t, matched_m, mean_m = np.empty(q), np.empty((q, 2)), np.empty((len(at_ms), 2))
        represent(
            *self._points,
            self._path,
            self._origin_ms,
            self._origin_m,
            self._tolerance_ms,
            pivots,
            members,
            set_starts,
            at_ms,
            time_starts,
            matched_t,
            matched_m,
            mean_m,
        )
        return Matched(t_ms=matched_t + self._origin_ms, xy_m=matched_m, mean_m=mean_m)


def tolerance_in_ms(tolerance_s: float) -> int:
    """Return a tolerance in whole milliseconds.

    Raises:
        ValueError: It is negative or not finite.
    """
    if not 0 <= tolerance_s < float("inf"):
        raise ValueError(f"tolerance_s is {tolerance_s}: it must be a finite number of seconds, at least 0")
    return round(tolerance_s * 1000)


def path_of(trajectories: PointTrajectories) -> FloatArray:
    """Return the path of a data set as kernels read it (:mod:`core.kernels.fragments.matching`), shape ``(p, 7)``.

    Raises:
        ValueError: A trajectory has no point.
    """
    starts, path = trajectories.starts, np.empty((len(trajectories.t_ms), 7))
    if np.any(np.diff(starts) < 1):
        raise ValueError("a trajectory without points cannot be matched: leave it out")
    # Square millimetres are rounded, so positions are kept in millimetres around their own middle.
    lay_path(*trajectories.columns(), *_origin(trajectories), path)
    return path


def mean_speed_m_s(path: FloatArray, starts: IntArray) -> float:
    """Return all lengths of a path over all durations, metres a second; 0 if all durations are 0."""
    driven_ms = int((path[starts[1:] - 1, 0] - path[starts[:-1], 0]).sum())
    return float(np.sqrt(path[:, 4] ** 2 + path[:, 5] ** 2).sum()) / driven_ms if driven_ms else 0.0


def _origin(trajectories: PointTrajectories) -> tuple[int, FloatArray]:
    """Return the first time of all, Unix milliseconds, and the middle of all positions, metres, shape ``(2,)``."""
    if not len(trajectories.t_ms):
        return 0, np.zeros(2)
    return int(trajectories.t_ms.min()), trajectories.xy_m.mean(axis=0)
