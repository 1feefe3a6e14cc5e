"""Trajectories of one window, as columns: sequences of locations, and GPS points.

Both types are flat: trajectory ``i`` is the slice ``starts[i]:starts[i + 1]`` of the value columns, in time order.
Several trajectories may belong to one user (a long one is cut); every count of people goes by ``users``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Demands", "FloatArray", "IntArray", "PointTrajectories", "Sequences", "Vocabulary", "positions_at"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The locations that occur in one window; a location's id is its row."""

    ids: IntArray
    """What the locator calls them, shape ``(L,)``."""

    names: tuple[str, ...]
    """Public names, strictly ascending, so that the order of ids is the order of names."""

    lat_deg: FloatArray
    """Centre of each location, degrees north, shape ``(L,)``."""

    lon_deg: FloatArray
    """Centre of each location, degrees east, shape ``(L,)``."""

    xy_m: FloatArray
    """The same centres in a local projection, metres, shape ``(L, 2)``."""

    def among(self, names: Collection[str]) -> npt.NDArray[np.bool_]:
        """Tell which locations are named, shape ``(L,)``."""
        return np.array([name in names for name in self.names], dtype=np.bool_)


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

    def where(self, kept: npt.NDArray[np.bool_]) -> Sequences:
        """Return the same trajectories with the visits that are kept, shape ``(p,)``, alone; some may be empty."""
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return Sequences(users=self.users, starts=starts, locations=self.locations[kept])

    def split(self, before: IntArray) -> Sequences:
        """Return the same visits with trajectories split in two before some of them, which stay their person's."""
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

    def points_of(self, numbers: IntArray) -> IntArray:
        """Return the points of some trajectories, one range after the other."""
        starts, counts = self.starts[numbers], np.diff(self.starts)[numbers]
        before = np.cumsum(counts) - counts
        points: IntArray = np.arange(counts.sum()) + np.repeat(starts - before, counts)
        return points

    def mean_positions_m(self) -> FloatArray:
        """Return the mean of the points of each trajectory, metres, shape ``(n, 2)``; none may be empty."""
        means: FloatArray = np.add.reduceat(self.xy_m, self.starts[:-1], axis=0) / np.diff(self.starts)[:, None]
        return means


def positions_at(at_ms: IntArray, t_ms: IntArray, xy_m: FloatArray) -> FloatArray:
    """Interpolate a trajectory in straight lines; before its first point and after its last it stays there.

    Args:
        at_ms: When to tell its position, milliseconds, shape ``(q,)``.
        t_ms: Times of its points, ascending, shape ``(m,)``.
        xy_m: Their positions, metres, shape ``(m, 2)``.

    Returns:
        Metres, shape ``(q, 2)``.
    """
    return np.column_stack([np.interp(at_ms, t_ms, axis) for axis in xy_m.T])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demands:
    """What each of ``n`` trajectories is to be given: its k and its delta (Theodosopoulos 2013, Problem 1).

    Raises:
        ValueError: A k is below 2, a delta is not finite and above 0, or there are not as many of both.
    """

    k: IntArray
    """Fewest distinct users of the set that it may belong to, shape ``(n,)``. At least 2."""

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
        """Return what some of them demand, by their numbers, each as often as it is named."""
        return Demands(k=self.k[numbers], delta_m=self.delta_m[numbers])
