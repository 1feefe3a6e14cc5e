"""How far points were moved, where a release keeps the ids of people: raw and released points of one person, in pairs.

Which released point is which raw one is not in a release. Two answers need no guess about the tool. At a time that both
trajectories cover, the positions can be compared. And if the tool keeps the order and the number of points, the i-th
point is the i-th point; of trajectories with different numbers the points are paired evenly, so that the fewest are
created or deleted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from core.records.arrays import FloatArray
from core.trajectories.trajectory import PointTrajectories, positions_at

__all__ = ["Translation", "translation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """What became of the points of people who are in both data sets; means are NaN if there is nothing to measure.

    Those of different people are added up.
    """

    people: int = 0
    """People in both."""

    people_missing: int = 0
    """People of the raw feed who are not in the release: the trash."""

    points_trashed: int = 0
    """Their points."""

    points_created: int = 0
    """Released points that have no raw one."""

    points_deleted: int = 0
    """Raw points of released people that have no released one."""

    points_raw: int = 0
    """Raw points of released people."""

    space_m: float = 0.0
    """Sum of the distances between paired points, metres."""

    time_s: float = 0.0
    """Sum of the times between paired points, seconds."""

    points_at_time: int = 0
    """Raw points at whose time the released trajectory of the person is somewhere."""

    at_time_m: float = 0.0
    """Sum of the distances to where it is then, metres."""

    def __add__(self, other: Translation) -> Translation:
        """Return the translation of the people of both."""
        return Translation(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    @property
    def mean_space_m(self) -> float:
        """Mean distance between paired points over the raw points of released people, metres."""
        return self.space_m / self.points_raw if self.points_raw else math.nan

    @property
    def mean_time_s(self) -> float:
        """Mean time between paired points over the same number, seconds."""
        return self.time_s / self.points_raw if self.points_raw else math.nan

    @property
    def mean_at_time_m(self) -> float:
        """Mean distance at the times of raw points that the released trajectory covers, to where it is then, metres."""
        return self.at_time_m / self.points_at_time if self.points_at_time else math.nan


def translation(raw: PointTrajectories, released: PointTrajectories) -> Translation:
    """Compare the points of each person. People are the same numbers in both, with one trajectory each.

    Args:
        raw: The originals, in the same projection.
        released: The release; people who are not released are missing.

    Raises:
        ValueError: A person has several trajectories.
    """
    for trajectories in (raw, released):
        if len(np.unique(trajectories.users)) < len(trajectories.users):
            raise ValueError("a person has several trajectories: join them, or compare each window alone")
    row_of = {user: row for row, user in enumerate(released.users.tolist())}
    trashed = created = deleted = n_raw = n_at_time = 0
    space_m = time_s = at_time_m = 0.0
    for row, user in enumerate(raw.users.tolist()):
        mine = slice(int(raw.starts[row]), int(raw.starts[row + 1]))
        n = mine.stop - mine.start
        if (other := row_of.get(user)) is None:
            trashed += n
            continue
        theirs = slice(int(released.starts[other]), int(released.starts[other + 1]))
        m = theirs.stop - theirs.start
        n_raw += n
        created, deleted = created + max(m - n, 0), deleted + max(n - m, 0)
        if m == 0 or n == 0:
            continue
        one, two = (np.rint(np.linspace(0, size - 1, min(n, m))).astype(np.int64) for size in (n, m))
        space_m += float(_lengths_m(raw.xy_m[mine][one] - released.xy_m[theirs][two]).sum())
        time_s += float(np.abs(raw.t_ms[mine][one] - released.t_ms[theirs][two]).sum()) / 1000
        t_ms, released_ms = raw.t_ms[mine], released.t_ms[theirs]
        covered = (t_ms >= released_ms[0]) & (t_ms <= released_ms[-1])
        there_m = positions_at(t_ms[covered], released_ms, released.xy_m[theirs])
        n_at_time += len(there_m)
        at_time_m += float(_lengths_m(raw.xy_m[mine][covered] - there_m).sum())
    both = int(np.isin(raw.users, released.users).sum())
    return Translation(
        people=both,
        people_missing=len(raw.users) - both,
        points_trashed=trashed,
        points_created=created,
        points_deleted=deleted,
        points_raw=n_raw,
        space_m=space_m,
        time_s=time_s,
        points_at_time=n_at_time,
        at_time_m=at_time_m,
    )


def _lengths_m(vectors_m: FloatArray) -> FloatArray:
    lengths_m: FloatArray = np.sqrt((vectors_m**2).sum(axis=1))
    return lengths_m
