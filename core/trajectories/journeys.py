"""Journeys: who was where, in a raw feed or in a release of any tool, in one form that both can be compared in.

A journey is what one person did in one window. It may have times, positions and labels, or only some of these: a GPS
release has no labels, a release of generalized sequences no times, one of sets no order either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.records.arrays import FloatArray, IntArray, ranges, starts_of
from core.records.by_user import same_as_before
from core.trajectories.trajectory import PointTrajectories, Sequences

__all__ = ["Journeys", "NamedLabel"]

NamedLabel = tuple[str, ...]
"""A location by its name, or a generalized location by the names of its members, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Journeys:
    """``n`` journeys with ``p`` visits or points in all.

    Raises:
        ValueError: The columns do not fit together.
    """

    users: IntArray = field(repr=False)
    """Dense number of the person of each journey, in ``0..n_users - 1``, shape ``(n,)``."""

    windows_ms: IntArray = field(repr=False)
    """Where the window of each journey begins, Unix milliseconds, shape ``(n,)``."""

    starts: IntArray = field(repr=False)
    """Where each journey begins, then ``p``, shape ``(n + 1,)``."""

    t_ms: IntArray | None = field(default=None, repr=False)
    """Time of each visit, Unix milliseconds, ascending inside a journey, shape ``(p,)``."""

    xy: FloatArray | None = field(default=None, repr=False)
    """Positions, shape ``(p, 2)``: longitude and latitude, or metres; NaN where a visit has none."""

    is_metres: bool = False
    """Whether positions are metres of a plane."""

    labels: tuple[NamedLabel, ...] = field(default=(), repr=False)
    label_of: IntArray | None = field(default=None, repr=False)
    """Label of each visit, a row of ``labels``, shape ``(p,)``."""

    is_ordered: bool = True
    """Whether the order of visits means something; sets have none."""

    people: tuple[str, ...] | None = field(default=None, repr=False)
    """Id of each person; None if ids mean nothing outside one window, as pseudonyms do."""

    def __post_init__(self) -> None:
        n, p = len(self.users), int(self.starts[-1]) if len(self.starts) else -1
        if len(self.starts) != n + 1 or len(self.windows_ms) != n:
            raise ValueError(f"there are {n} journeys: they need as many windows, and one start more")
        if any(column is not None and len(column) != p for column in (self.t_ms, self.xy, self.label_of)):
            raise ValueError(f"there are {p} visits: each column has an entry for every one of them")

    def __len__(self) -> int:
        """Return the number of journeys."""
        return len(self.users)

    @property
    def n_users(self) -> int:
        """Number of people."""
        return int(self.users.max(initial=-1)) + 1

    @property
    def n_visits(self) -> int:
        """Number of visits or points."""
        return int(self.starts[-1])

    @property
    def journey_of(self) -> IntArray:
        """Journey of each visit, shape ``(p,)``."""
        return np.repeat(np.arange(len(self.users)), np.diff(self.starts))

    def only(self, journeys: IntArray) -> Journeys:
        """Return some journeys, with the same people and labels."""
        sizes = np.diff(self.starts)[journeys]
        at = ranges(self.starts[journeys], sizes)
        return replace(
            self,
            users=self.users[journeys],
            windows_ms=self.windows_ms[journeys],
            starts=starts_of(sizes),
            t_ms=None if self.t_ms is None else self.t_ms[at],
            xy=None if self.xy is None else self.xy[at],
            label_of=None if self.label_of is None else self.label_of[at],
        )

    def in_windows(self, size_ms: int) -> Journeys:
        """Return the same visits, cut into windows of a size that begin at its multiples.

        Raises:
            ValueError: The visits have no times.
        """
        if self.t_ms is None:
            raise ValueError("the visits have no times: they cannot be cut into windows")
        journey, window = self.journey_of, self.t_ms // size_ms
        # Journeys of several windows of one person may already exist: the person decides.
        order = np.lexsort((self.t_ms, window, self.users[journey]))
        user, window = self.users[journey][order], window[order]
        begins = np.flatnonzero(~same_as_before(user, window))
        return replace(
            self,
            users=user[begins],
            windows_ms=window[begins] * size_ms,
            starts=np.append(begins, len(user)).astype(np.int64),
            t_ms=self.t_ms[order],
            xy=None if self.xy is None else self.xy[order],
            label_of=None if self.label_of is None else self.label_of[order],
        )

    def sequences(self, numbers: Sequence[int] | None = None) -> Sequences:
        """Return the journeys as sequences of location ids, one trajectory each; people are numbered anew.

        Args:
            numbers: The id that stands for each label; by default its row.

        Raises:
            ValueError: The visits have no labels.
        """
        if self.label_of is None:
            raise ValueError("the visits have no labels: they are no sequences of locations")
        ids = self.label_of if numbers is None else np.asarray(numbers, np.int64)[self.label_of]
        order = np.argsort(self.users, kind="stable")
        sizes = np.diff(self.starts)[order]
        return Sequences(
            users=np.unique(self.users[order], return_inverse=True)[1].astype(np.int64),
            starts=starts_of(sizes),
            locations=ids[ranges(self.starts[order], sizes)].astype(np.int64),
        )

    def points(self, xy_m: FloatArray) -> PointTrajectories:
        """Return the journeys as GPS trajectories; of several points of one person at one instant the first stays.

        Args:
            xy_m: Position of each visit, metres, shape ``(p, 2)``.

        Raises:
            ValueError: The visits have no times.
        """
        if self.t_ms is None:
            raise ValueError("the visits have no times: they are no trajectories of points")
        journey = self.journey_of
        order = np.lexsort((self.t_ms, journey, self.users[journey]))  # stable
        user, journey, t_ms = self.users[journey][order], journey[order], self.t_ms[order]
        stays = ~same_as_before(user, journey, t_ms) & np.isfinite(xy_m[order]).all(axis=1)
        user, journey, order = user[stays], journey[stays], order[stays]
        begins = np.flatnonzero(~same_as_before(user, journey))
        return PointTrajectories(
            users=user[begins],
            starts=np.append(begins, len(user)).astype(np.int64),
            t_ms=self.t_ms[order],
            xy_m=np.ascontiguousarray(xy_m[order]),
        )
