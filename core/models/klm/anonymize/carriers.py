"""Which people visited which sensitive locations, and how many of them support a subtrajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.records.arrays import BoolArray, IntArray, ranges
from core.support.table import SubtrajectoryTable
from core.trajectories.trajectory import Sequences

__all__ = ["Carriers"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carriers:
    """The sensitive locations that each of ``n_users`` people visited, over all the person's trajectories.

    The entries of person ``u`` are ``starts[u]:starts[u + 1]``.
    """

    starts: IntArray
    """Where each person's entries begin, shape ``(n_users + 1,)``."""

    places: IntArray
    """Number of the sensitive location of each entry, in ``0..n_places - 1``, shape ``(e,)``."""

    visits: IntArray
    """How often the person was there, shape ``(e,)``."""

    locations: IntArray
    """Location id of each sensitive location that is visited, ascending, shape ``(n_places,)``."""

    @classmethod
    def of(cls, trajectories: Sequences, sensitive: BoolArray) -> Carriers:
        """Collect the sensitive visits of a window; ``sensitive`` marks the sensitive locations, shape ``(L,)``."""
        at = sensitive[trajectories.locations]  # (p,)
        user_of = trajectories.owners
        locations, number = np.unique(trajectories.locations[at], return_inverse=True)
        n_places = max(len(locations), 1)
        codes, visits = np.unique(user_of[at] * n_places + number, return_counts=True)
        starts = np.searchsorted(codes, np.arange(trajectories.n_users + 1) * n_places)
        return cls(starts=starts, places=codes % n_places, visits=visits, locations=locations)

    @property
    def users(self) -> IntArray:
        """User of each entry, shape ``(e,)``."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def only(self, users: IntArray) -> Carriers:
        """Return the entries of some people, renumbered in the given order."""
        counts = np.diff(self.starts)[users]
        entries = ranges(self.starts[users], counts)
        return Carriers(
            starts=np.append(0, np.cumsum(counts)),
            places=self.places[entries],
            visits=self.visits[entries],
            locations=self.locations,
        )

    def among(self, table: SubtrajectoryTable) -> tuple[IntArray, IntArray]:
        """Pair each subtrajectory with the entries of its supporters.

        Returns:
            Rows of the table and entries, both of the same length, rows ascending.
        """
        n_entries = np.diff(self.starts)[table.users]  # of each supporter
        rows = np.repeat(np.repeat(np.arange(len(table.starts) - 1), table.supports), n_entries)
        return rows, ranges(self.starts[table.users], n_entries)

    def counts(self, table: SubtrajectoryTable) -> tuple[IntArray, IntArray, IntArray]:
        """Count the supporters of each subtrajectory with each sensitive location, leaving out zeros.

        Returns:
            Rows of the table, places, and numbers of distinct people, all of the same length.
        """
        rows, entries = self.among(table)
        n_places = max(len(self.locations), 1)
        codes, people = np.unique(rows * n_places + self.places[entries], return_counts=True)
        return codes // n_places, codes % n_places, people
