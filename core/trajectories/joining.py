"""Joining: which points of a user can follow one another, where a gap ends a trajectory, and resampling."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.places.geo import geocentric
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories, positions_at

__all__ = ["Joining", "after_gap", "reachable", "resample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """How the points of one user become trajectories.

    Raises:
        ValueError: A limit is out of its range.
    """

    max_speed_m_s: float | None = None
    """Highest plausible speed, metres a second, above 0; None for no limit."""

    max_gap_ms: int | None = None
    """Longest time between two points of one trajectory, at least 1; None for no limit."""

    step_ms: int | None = None
    """Step of the common time grid on which trajectories are interpolated, at least 1; None for no resampling."""

    def __post_init__(self) -> None:
        if self.max_speed_m_s is not None and not self.max_speed_m_s > 0:
            raise ValueError(f"max_speed_m_s is {self.max_speed_m_s}: it must be above 0")
        for name in ("max_gap_ms", "step_ms"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: it must be at least 1")


def reachable(
    starts: IntArray, t_ms: IntArray, lat_deg: FloatArray, lon_deg: FloatArray, max_speed_m_s: float
) -> BoolArray:
    """Return which points to keep: of each user the largest number that one journey within a speed limit can visit.

    One wrong position costs only that position, even the first one: a rule that compares each point with the last one
    kept would drop the whole journey after it. Of several largest choices the one with the earliest points is taken: of
    two points that exclude each other, the first.

    Distances are straight lines through the earth, in whole millimetres. They are never longer than the way over the
    ground, so a dropped point cannot have been reached. Poles, the antimeridian and the width of the window need no
    special case. The distances are 0.1 % too short over 1,000 km.

    Args:
        starts: Where the points of each of ``n`` users begin, ascending from 0, shape ``(n + 1,)``; the last is ``p``.
        t_ms: Time stamps, milliseconds, strictly ascending inside a user, shape ``(p,)``.
        lat_deg: Degrees north, shape ``(p,)``.
        lon_deg: Degrees east, shape ``(p,)``.
        max_speed_m_s: The limit, metres a second, which is millimetres a millisecond. Above 0.

    Returns:
        Shape ``(p,)``. Takes time linear in the points of users who are never too fast, quadratic in those of others.
    """
    stays = np.ones(len(t_ms), dtype=np.bool_)
    xyz_m = geocentric(lat_deg, lon_deg)  # (p, 3)
    too_fast = ~_can_follow(
        t_ms[:-1], xyz_m[:-1], t_ms[1:], xyz_m[1:], max_speed_m_s
    )  # (p - 1,) each point and its successor
    too_fast[starts[1:-1] - 1] = False  # the last point of a user and the first of the next user
    for user in np.unique(np.searchsorted(starts, np.flatnonzero(too_fast), side="right") - 1).tolist():
        points = slice(starts[user], starts[user + 1])
        stays[points] = _longest_chain(t_ms[points], xyz_m[points], max_speed_m_s)
    return stays


def after_gap(t_ms: IntArray, max_gap_ms: int) -> BoolArray:
    """Return which points are more than ``max_gap_ms`` after their predecessor, shape ``(p,)``; the first is not."""
    return np.diff(t_ms, prepend=t_ms[:1]) > max_gap_ms


def resample(trajectories: PointTrajectories, step_ms: int) -> tuple[PointTrajectories, IntArray]:
    """Interpolate trajectories linearly at the multiples of a step since 1970 that they span.

    A trajectory shorter than a step may span none. It becomes one point: its first position, at the multiple before it.
    So no trajectory is lost, and none leaves a window whose bounds are multiples of the step.

    Exactly one new point of the trajectory stands for each given point: the nearest in time, of two the earlier. The
    given point counts as released if the new one is released. A new point stands for no given point where these are
    sparse, and for several where they are dense.

    Args:
        trajectories: ``n`` trajectories with ``p`` points; none is empty.
        step_ms: The step, milliseconds, at least 1.

    Returns:
        The same ``n`` trajectories with ``q`` new points, and the number of given points that each new one stands for,
        shape ``(q,)``; the sum is ``p``.
    """
    starts, times_ms, positions_m, stands_for = [0], [], [], []
    for begin, end in pairwise(trajectories.starts.tolist()):
        t_ms, xy_m = trajectories.t_ms[begin:end], trajectories.xy_m[begin:end]
        from_ms, to_ms = -(-int(t_ms[0]) // step_ms) * step_ms, int(t_ms[-1]) // step_ms * step_ms
        if from_ms > to_ms:
            from_ms = to_ms = int(t_ms[0]) // step_ms * step_ms
        at_ms = np.arange(from_ms, to_ms + 1, step_ms, dtype=np.int64)
        times_ms.append(at_ms)
        positions_m.append(positions_at(at_ms, t_ms, xy_m))
        nearest = np.clip(_nearest(t_ms - from_ms, step_ms), 0, len(at_ms) - 1)
        stands_for.append(np.bincount(nearest, minlength=len(at_ms)))
        starts.append(starts[-1] + len(at_ms))
    if not times_ms:
        return trajectories, np.empty(0, dtype=np.int64)
    resampled = PointTrajectories(
        users=trajectories.users,
        starts=np.array(starts, dtype=np.int64),
        t_ms=np.concatenate(times_ms),
        xy_m=np.concatenate(positions_m),
    )
    return resampled, np.concatenate(stands_for).astype(np.int64)


def _nearest(t_ms: IntArray, step_ms: int) -> IntArray:
    """Return the index of the nearest multiple of the step, of two the earlier."""
    return (t_ms + (step_ms - 1) // 2) // step_ms


def _longest_chain(t_ms: IntArray, xyz_m: FloatArray, max_speed_m_s: float) -> BoolArray:
    """Find the longest subsequence of ``n`` points within the speed limit, of several the first in order.

    Points are processed from the end: the longest chain that begins at a point is one longer than the longest chain
    that begins at a later point which can follow it.
    """
    n = len(t_ms)
    length = np.ones(n, dtype=np.int64)  # of the longest chain that begins here
    follows = np.full(n, -1)
    for i in range(n - 2, -1, -1):
        can = _can_follow(t_ms[i], xyz_m[i], t_ms[i + 1 :], xyz_m[i + 1 :], max_speed_m_s)
        lengths = np.where(can, length[i + 1 :], 0)
        best = int(np.argmax(lengths))  # the first of the longest
        if lengths[best]:
            length[i], follows[i] = lengths[best] + 1, i + 1 + best
    stays = np.zeros(n, dtype=np.bool_)
    at = int(np.argmax(length))
    while at >= 0:
        stays[at] = True
        at = int(follows[at])
    return stays


def _can_follow(
    t_ms: IntArray | np.int64, xyz_m: FloatArray, later_ms: IntArray, there_m: FloatArray, max_speed_m_s: float
) -> BoolArray:
    """Return which later points can follow, shape as ``later_ms``. Compares millimetres: all processors agree."""
    away_mm = np.rint(1000.0 * np.sqrt(np.square(there_m - xyz_m).sum(axis=-1)))
    can: BoolArray = away_mm <= max_speed_m_s * (later_ms - t_ms)
    return can
