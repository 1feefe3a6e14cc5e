"""Trajectories of one window, as columns: sequences of locations, and GPS points.

Both types are flat: trajectory ``i`` is the slice ``starts[i]:starts[i + 1]`` of the value columns, in time order.
Several trajectories may belong to one user (a long one is cut); every count of people goes by ``users``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "IntArray", "PointTrajectories", "Sequences", "Vocabulary"]

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
