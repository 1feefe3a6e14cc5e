"""What earlier windows released of the people of a window, as their rosters say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.km.labels import locations_of_label
from core.records.arrays import BoolArray, IntArray, UserHashes, distinct, numbered, ranges, starts_of
from core.windows.history import History, Roster

__all__ = ["Earlier"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Earlier:
    """What earlier windows released of the people of a window: pieces, by person, then by window, the newest first."""

    locations: IntArray
    """Number of each visit's location, different in different windows, shape ``(v,)``."""

    starts: IntArray
    """Where each piece begins in ``locations``, shape ``(n + 1,)``."""

    persons: IntArray
    """User number of each piece's person in the present window, ascending, shape ``(n,)``."""

    windows: IntArray
    """Window of each piece, from 1, the newest, shape ``(n,)``."""

    n_locations: int
    """A number above those of all locations."""

    unread: BoolArray
    """Which people of the present window have a release that cannot be read, shape ``(n_users,)``."""

    @classmethod
    def of(cls, history: History, users: UserHashes, *, m: int) -> Earlier:
        """Find the people of a window in the rosters of earlier ones.

        Args:
            history: Rosters of the earlier windows, oldest first.
            users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
            m: Most locations of a subtrajectory; of each window at most ``m - 1`` are needed.
        """
        unread = np.zeros(len(users), np.bool_)
        persons, windows, lengths, locations = [], [], [], []
        n_locations = 0
        for window, roster in enumerate(reversed(history.rosters), start=1):
            person, sequences = _pieces(roster, users, unread)
            visits, names = numbered([location for sequence in sequences for location in sequence])
            length = np.array([len(sequence) for sequence in sequences], np.int64)
            if m <= 2:  # of each earlier window one location is needed, whatever the order
                visited = distinct(np.repeat(person, length) * max(len(names), 1) + visits)
                person, visits = np.divmod(visited, max(len(names), 1))
                length = np.ones(len(visited), np.int64)
            persons.append(person)
            windows.append(np.full(len(person), window))
            lengths.append(length)
            locations.append(visits + n_locations)
            n_locations += len(names)
        none = np.empty(0, np.int64)
        of_piece, window_of = np.concatenate([none, *persons]), np.concatenate([none, *windows])
        n_visits = np.concatenate([none, *lengths])
        order = np.lexsort((window_of, of_piece))  # pieces of one window stay in their order
        return cls(
            locations=np.concatenate([none, *locations])[ranges(starts_of(n_visits)[:-1][order], n_visits[order])],
            starts=starts_of(n_visits[order]),
            persons=of_piece[order],
            windows=window_of[order],
            n_locations=n_locations,
            unread=unread,
        )


def _pieces(roster: Roster, users: UserHashes, unread: BoolArray) -> tuple[IntArray, list[list[str]]]:
    """Return the person and the locations of each piece of a roster that is of people of a window.

    Args:
        roster: The roster.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``, ``n_users >= 1``.
        unread: Is set where a person's piece cannot be read, shape ``(n_users,)``.
    """
    read = [locations_of_label(label) for label in roster.labels]
    at = np.searchsorted(users, roster.users)
    at[at == len(users)] = 0
    here = np.flatnonzero(users[at] == roster.users)
    persons: list[int] = []
    sequences: list[list[str]] = []
    for person, group in zip(at[here].tolist(), roster.groups[here].tolist(), strict=True):
        sequence = read[group] if 0 <= group < len(read) else None
        if sequence is None:
            unread[person] = True
        else:
            persons.append(person)
            sequences.append(sequence)
    return np.array(persons, np.int64), sequences
