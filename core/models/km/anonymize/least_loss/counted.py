"""The subtrajectories of a window as numbers, and the supporters of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.checkins.subtrajectories import count_subtrajectories
from core.records.arrays import IntArray, SmallIntArray
from core.trajectories.trajectory import Sequences

__all__ = ["Counted"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Every subtrajectory of at most ``m`` locations that occurs, and its supporters.

    A subtrajectory is a number: they are numbered by size, then lexicographically by location ids.
    """

    prefixes: SmallIntArray
    """All of each but the last location, as a number; -1 if there is no other location. Shape ``(s,)``."""

    lasts: SmallIntArray
    """Last location of each, shape ``(s,)``."""

    starts: IntArray
    """Where the supporters of each begin in ``users``, shape ``(s + 1,)``."""

    users: SmallIntArray
    """Distinct user numbers, ascending inside a subtrajectory, shape ``(starts[-1],)``."""

    @classmethod
    def of(cls, sequences: Sequences, m: int, *, n_locations: int | None = None) -> Counted:
        """Count the subtrajectories of at most ``m`` locations.

        Args:
            sequences: The window. Location ids index an array of counters: they must be small.
            m: Most locations, at least 1.
            n_locations: A number above all location ids; None to look for the largest.
        """
        locations = sequences.locations
        n_ids = int(locations.max(initial=-1)) + 1 if n_locations is None else n_locations
        _, prefixes, lasts, starts, users = count_subtrajectories(
            np.ascontiguousarray(locations), sequences.starts, sequences.users, n_ids, m
        )
        return cls(prefixes=prefixes, lasts=lasts, starts=starts, users=users)

    @property
    def supports(self) -> IntArray:
        """Support of each, at least 1, shape ``(s,)``."""
        return self.starts[1:] - self.starts[:-1]

    def infrequent(self, k: int) -> int:
        """Count the pairs of a person and an infrequent subtrajectory of the person: each has to be repaired."""
        supports = self.supports
        return int(supports[supports < k].sum())
