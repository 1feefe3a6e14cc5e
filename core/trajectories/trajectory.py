"""Trajectories of one window, as columns: sequences of locations, and GPS points.

Both types are flat: trajectory ``i`` is the slice ``starts[i]:starts[i + 1]`` of the value columns, in time order.
Several trajectories may belong to one user, because long ones are cut; people are always counted by ``users``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray, ranges

__all__ = ["Demands", "PointTrajectories", "Sequences", "positions_at"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequences:
    """Sequences of locations: ``n`` trajectories with ``p`` visits in all."""

    users: IntArray
    """Dense user number of each trajectory, in ``0..n_users - 1``, ascending, shape ``(n,)``."""

    starts: IntArray
    """Where each trajectory begins in ``locations``, shape ``(n + 1,)``; the last entry is ``p``."""

    locations: IntArray
    """Location ids, shape ``(p,)``."""

    @property
    def n_users(self) -> int:
        """Number of distinct people."""
        return int(self.users[-1]) + 1 if len(self.users) else 0

    @property
    def owners(self) -> IntArray:
        """User of each visit, shape ``(p,)``."""
        return np.repeat(self.users, np.diff(self.starts))

    def lists(self) -> list[list[int]]:
        """Return the locations of each trajectory, for code that goes through them one by one."""
        locations = self.locations.tolist()
        return [locations[start:end] for start, end in pairwise(self.starts.tolist())]

    def check_positions(self, xy_m: FloatArray) -> None:
        """Check that every location has a position; ids are rows of ``xy_m``, metres, shape ``(L, 2)``.

        Raises:
            ValueError: A position is missing or not finite.
        """
        if len(self.locations) and int(self.locations.max()) >= len(xy_m):
            raise ValueError(f"a location id is {int(self.locations.max())}: xy_m has {len(xy_m)} rows")
        if not np.isfinite(xy_m).all():
            raise ValueError("xy_m holds a position that is not finite: every location needs one")

    def where(self, kept: BoolArray) -> Sequences:
        """Return the same trajectories with only the visits ``kept``, shape ``(p,)``; some may be empty."""
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return Sequences(users=self.users, starts=starts, locations=self.locations[kept])

    def split(self, before: IntArray) -> Sequences:
        """Return the same visits with trajectories split before some of them; all pieces keep their user."""
        inside = np.setdiff1d(before, self.starts)
        at = np.searchsorted(self.starts, inside)
        users = np.insert(self.users, at, self.users[at - 1])
        return Sequences(users=users, starts=np.insert(self.starts, at, inside), locations=self.locations)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTrajectories:
    """GPS trajectories: ``n`` trajectories with ``p`` points in all."""

    users: IntArray
    """Dense user number of each trajectory, in ``0..n_users - 1``, ascending, shape ``(n,)``."""

    starts: IntArray
    """Where each trajectory begins in ``t_ms`` and ``xy_m``, shape ``(n + 1,)``; the last entry is ``p``."""

    t_ms: IntArray
    """Time stamps, Unix milliseconds, strictly ascending inside a trajectory, shape ``(p,)``."""

    xy_m: FloatArray
    """Positions in a local projection, metres, shape ``(p, 2)``."""

    @property
    def n_users(self) -> int:
        """Number of distinct people."""
        return int(self.users[-1]) + 1 if len(self.users) else 0

    def columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return ``starts``, ``t_ms`` and ``xy_m`` as kernels take them: contiguous and writable, copied if need be."""
        return (
            np.require(self.starts, requirements=["C", "W"]),
            np.require(self.t_ms, requirements=["C", "W"]),
            np.require(self.xy_m, requirements=["C", "W"]),
        )

    def points_of(self, numbers: IntArray) -> IntArray:
        """Return the points of some trajectories, one range after the other."""
        return ranges(self.starts[numbers], np.diff(self.starts)[numbers])

    def mean_positions_m(self) -> FloatArray:
        """Return the mean of the points of each trajectory, metres, shape ``(n, 2)``; none may be empty."""
        means: FloatArray = np.add.reduceat(self.xy_m, self.starts[:-1], axis=0) / np.diff(self.starts)[:, None]
        return means


def positions_at(at_ms: IntArray, t_ms: IntArray, xy_m: FloatArray) -> FloatArray:
    """Interpolate a trajectory linearly; before its first point and after its last one it is at that point.

    Args:
        at_ms: Times at which to interpolate, milliseconds, shape ``(q,)``.
        t_ms: Times of its points, ascending, shape ``(m,)``.
        xy_m: Their positions, metres, shape ``(m, 2)``.

    Returns:
        The positions, metres, shape ``(q, 2)``.
    """
    return np.column_stack([np.interp(at_ms, t_ms, axis) for axis in xy_m.T])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demands:
    """The k and the delta that each of ``n`` trajectories demands (Theodosopoulos 2013, Problem 1).

    Raises:
        ValueError: A k is below 2, a delta is not finite and above 0, or their numbers differ.
    """

    k: IntArray
    """Least number of distinct users in the trajectory's set, shape ``(n,)``. At least 2."""

    delta_m: FloatArray
    """Largest distance inside that set at any time stamp, metres, shape ``(n,)``. Above 0, finite."""

    def __post_init__(self) -> None:
        if self.k.shape != self.delta_m.shape:
            raise ValueError(f"k has {len(self.k)} entries and delta_m {len(self.delta_m)}: each trajectory has one")
        if np.any(self.k < 2):
            raise ValueError(f"k is {self.k.min()}: it must be at least 2")
        if not np.all((self.delta_m > 0) & (self.delta_m < np.inf)):
            raise ValueError("delta_m must be a finite number of metres above 0 for each trajectory")

    @classmethod
    def alike(cls, n: int, *, k: int, delta_m: float) -> Demands:
        """Let all of ``n`` trajectories demand the same.

        >>> Demands.alike(2, k=5, delta_m=500.0).k.tolist()
        [5, 5]
        """
        return cls(k=np.full(n, k, dtype=np.int64), delta_m=np.full(n, delta_m, dtype=np.float64))

    def of(self, numbers: IntArray) -> Demands:
        """Return the demands of some trajectories, by their numbers; a number may be repeated."""
        return Demands(k=self.k[numbers], delta_m=self.delta_m[numbers])
