"""Assemble: the rows of one window become trajectories, in an order that does not depend on how they arrived.

Rows are first sorted by user, time and place, so that every later choice is the same on every run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb

import numpy as np

from core.places.geo import LocalProjection
from core.places.locate import Locator
from core.places.vocabulary import Vocabulary
from core.records.arrays import BoolArray, IntArray, UserHashes
from core.records.by_user import is_last_of_user, position_in_user, same_as_before
from core.records.record import Rows
from core.trajectories.trajectory import Sequences

__all__ = ["CheckInWindow", "Limits", "SequenceWindow", "affordable_length", "assemble_sequences", "vocabulary_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that keep one user from stopping a shard."""

    points_per_user: int
    """Most visits or points of one user in one window; later ones are suppressed."""

    trajectory_length: int
    """Longest sequence of locations; a longer one is cut, and its pieces still count as one person.

    A trajectory of ``n`` locations has up to ``C(n, m)`` subtrajectories of size ``m``.
    """


def affordable_length(m: int, *, most: int = 170_000, longest: int = 100) -> int:
    """Return the greatest length up to ``longest`` with at most ``most`` subtrajectories of up to ``m`` locations.

    A sequence of ``n`` locations has up to ``C(n, 1) + ... + C(n, m)`` of them. The limit keeps one user from stalling
    a shard.

    >>> affordable_length(2), affordable_length(3), affordable_length(4)
    (100, 100, 45)
    """
    lengths = range(longest, 0, -1)
    return next((n for n in lengths if sum(comb(n, size) for size in range(1, min(m, n) + 1)) <= most), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckInWindow:
    """The check-ins of one window as trajectories of people."""

    sequences: Sequences
    """The ``p`` visits; the model defines what their ids stand for."""

    vocabulary: Vocabulary
    """The locations that occur in the window."""

    duplicates: int
    """Rows left out because the same user was at the same location at the same instant."""

    suppressed: int
    """Rows left out because their user has too many rows."""

    curbed: BoolArray = field(repr=False)
    """Which users have too many rows, so that some were left out, shape ``(n_users,)``."""

    hashes: UserHashes = field(repr=False)
    """Keyed hash of each user, as in the rows, ascending, shape ``(n_users,)``; not published."""

    n_users: int
    """Distinct people in the rows."""

    def people_suppressed(self, kept: BoolArray) -> int:
        """Count the people with a row that is not released, if the visits ``kept``, shape ``(p,)``, are released."""
        affected = self.curbed.copy()
        affected[self.sequences.owners[~kept]] = True
        return int(affected.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SequenceWindow(CheckInWindow):
    """The check-ins of one window as sequences of locations; ids are rows of its vocabulary."""


def assemble_sequences(rows: Rows, locator: Locator, limits: Limits) -> SequenceWindow:
    """Build the sequences of a window from its check-ins.

    Args:
        rows: Rows of :data:`core.records.record.VISIT`, shape ``(n,)``, in any order.
        locator: The vocabulary of their locations.
        limits: Limits for the length of trajectories and the rows of a user.
    """
    vocabulary, location = vocabulary_of(rows, locator)

    order = _by_user_time_and_place(rows["user"], rows["ts_ms"], location)
    user, ts_ms, location = rows["user"][order], rows["ts_ms"][order], location[order]
    again = same_as_before(user, ts_ms, location)
    user, location = user[~again], location[~again]
    at = position_in_user(user)
    within = at < limits.points_per_user
    curbed = at[is_last_of_user(user)] >= limits.points_per_user
    user, location = user[within], location[within]

    begins = position_in_user(user) % limits.trajectory_length == 0
    starts = np.flatnonzero(begins)
    return SequenceWindow(
        sequences=Sequences(
            users=np.unique(user[starts], return_inverse=True)[1].astype(np.int64),
            starts=np.append(starts, len(user)).astype(np.int64),
            locations=location,
        ),
        vocabulary=vocabulary,
        duplicates=int(again.sum()),
        suppressed=int((~within).sum()),
        curbed=curbed,
        hashes=user[is_last_of_user(user)],
        n_users=len(curbed),
    )


def _by_user_time_and_place(user: UserHashes, ts_ms: IntArray, location: IntArray) -> IntArray:
    """Return the order of rows by user, then time, then place."""
    by_time = np.argsort(ts_ms, kind="stable")  # rows arrive nearly in this order, which makes it fast
    order: IntArray = by_time[np.argsort(user[by_time], kind="stable")]
    at_once = same_as_before(user[order], ts_ms[order])
    # Places matter only where somebody was at several of them at one instant.
    tied = np.flatnonzero(at_once | np.append(at_once[1:], False)[: len(at_once)])
    rows = order[tied]
    order[tied] = rows[np.lexsort((location[rows], ts_ms[rows], user[rows]))]
    return order


def vocabulary_of(rows: Rows, locator: Locator) -> tuple[Vocabulary, IntArray]:
    """Return the vocabulary of the window, and the row in it of each row's location, shape ``(n,)``."""
    present, location = np.unique(rows["location"], return_inverse=True)
    names, lat, lon = locator.describe(present)
    by_name = np.argsort(np.array(names), kind="stable") if names else np.empty(0, dtype=np.intp)
    rank = np.empty(len(present), dtype=np.int64)
    rank[by_name] = np.arange(len(present))
    lat, lon = lat[by_name], lon[by_name]
    vocabulary = Vocabulary(
        ids=present[by_name],
        names=tuple(names[i] for i in by_name.tolist()),
        lat_deg=lat,
        lon_deg=lon,
        xy_m=LocalProjection.around(lat, lon).to_metres(lat, lon),
    )
    return vocabulary, rank[location]
