"""Assemble: the rows of one window become trajectories, in an order that does not depend on how they arrived.

Rows are sorted by user, time and place first, so that every later choice is the same on every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from core.geo import LocalProjection
from core.guarantees import KDelta
from core.joining import Joining, after_gap, reachable, resample
from core.locate import Locator
from core.records import Rows
from core.trajectory import Demands, IntArray, PointTrajectories, Sequences, Vocabulary

__all__ = [
    "Limits",
    "PointWindow",
    "SequenceWindow",
    "affordable_length",
    "assemble_points",
    "assemble_sequences",
    "vocabulary_of",
]

_JOIN_ALL = Joining()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What keeps one user from stopping a shard."""

    points_per_user: int
    """Most visits or points of one user in one window; later ones are suppressed."""

    trajectory_length: int
    """Longest sequence of locations; a longer one is cut, and its pieces stay one user in every count.

    A trajectory of ``n`` locations has up to ``C(n, m)`` subtrajectories of size ``m``.
    """


def affordable_length(m: int, *, most: int = 170_000, longest: int = 100) -> int:
    """Return how long a sequence may be so that its subtrajectories of up to ``m`` locations stay countable.

    A sequence of ``n`` locations has up to ``C(n, 1) + ... + C(n, m)`` of them; one user must not stall a shard.

    >>> affordable_length(2), affordable_length(3), affordable_length(4)
    (100, 100, 45)
    """
    lengths = range(longest, 0, -1)
    return next((n for n in lengths if sum(comb(n, size) for size in range(1, min(m, n) + 1)) <= most), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SequenceWindow:
    """The check-ins of one window as sequences of locations."""

    sequences: Sequences
    vocabulary: Vocabulary
    duplicates: int
    """Rows left out because the same user was at the same location at the same instant."""

    suppressed: int
    """Rows left out because their user has too many."""

    curbed: npt.NDArray[np.bool_]
    """Users of whom rows were left out because they have too many, shape ``(sequences.n_users,)``."""

    n_users: int
    """Distinct people in the rows."""

    def people_suppressed(self, kept: npt.NDArray[np.bool_]) -> int:
        """Count the people of whom a row is not released, where the visits that are kept, shape ``(p,)``, are."""
        affected = self.curbed.copy()
        affected[self.sequences.owners[~kept]] = True
        return int(affected.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointWindow:
    """The fragments of one window as GPS trajectories, one or several per user."""

    trajectories: PointTrajectories
    stands_for: IntArray
    """How many rows each point of the trajectories stands for, shape ``(p,)``: one, unless they were resampled. A row
    is released when the point that stands for it is."""

    demands: Demands
    """What each of them is to be given: what the guarantee gives everybody, or more where it is personal."""

    projection: LocalProjection
    duplicates: int
    """Points left out because their user has another one at the same instant."""

    suppressed: int
    """Points left out because their user has too many, cannot have been there, or demands more than the guarantee
    gives."""

    curbed: npt.NDArray[np.bool_]
    """Users of whom points were left out because they have too many or cannot have been there, shape
    ``(trajectories.n_users,)``."""

    n_users: int
    """Distinct people in the rows; some may have no trajectory here: they demand more than the guarantee gives."""

    n_demanding: int
    """Distinct people in the rows who demand more than the guarantee gives everybody."""


def assemble_sequences(rows: Rows, locator: Locator, limits: Limits) -> SequenceWindow:
    """Turn the check-ins of a window into sequences.

    Args:
        rows: Rows of :data:`core.records.VISIT`, shape ``(n,)``, in any order.
        locator: The vocabulary that numbered their locations.
        limits: When trajectories are cut and users curbed.
    """
    vocabulary, location = vocabulary_of(rows, locator)

    order = np.lexsort((location, rows["ts_ms"], rows["user"]))
    user, ts_ms, location = rows["user"][order], rows["ts_ms"][order], location[order]
    again = _same_as_before(user, ts_ms, location)
    user, location = user[~again], location[~again]
    at = _position_in_user(user)
    within = at < limits.points_per_user
    curbed = at[_is_last_of_user(user)] >= limits.points_per_user
    user, location = user[within], location[within]

    begins = _position_in_user(user) % limits.trajectory_length == 0
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
        n_users=len(curbed),
    )


def vocabulary_of(rows: Rows, locator: Locator) -> tuple[Vocabulary, IntArray]:
    """Return the locations that occur, by name, and the row of each of the ``n`` rows' location in it."""
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


def assemble_points(rows: Rows, guarantee: KDelta, limits: Limits, joining: Joining = _JOIN_ALL) -> PointWindow:
    """Turn the fragments of a window into trajectories: pieces of one user are joined by time.

    Of each user the first points stay, of those the ones that one journey can visit, and the journey is cut at its
    gaps. Every user of whom a point stays has a trajectory, and is one person however many there are.

    A user who demands more than the guarantee gives everybody (a larger k, a smaller delta) is left out of the
    release, unless the guarantee is personal. Of what the records of a user demand, the strictest counts.

    Args:
        rows: Rows of :data:`core.records.POINT`, shape ``(n,)``, in any order.
        guarantee: What the release will promise to everybody.
        limits: When users are curbed.
        joining: Which points can follow one another, where trajectories are cut, and whether they are resampled.
    """
    order = np.lexsort((rows["lon"], rows["lat"], rows["ts_ms"], rows["user"]))
    rows = rows[order]
    again = _same_as_before(rows["user"], rows["ts_ms"])
    n_users = len(np.unique(rows["user"]))

    # Compared as the column stores it: 300 m asked for and 300 m given are equal.
    unmet = (rows["k"] > guarantee.k) | (rows["delta_m"] < np.float32(guarantee.delta_m))
    demanding = np.isin(rows["user"], rows["user"][unmet])
    left = rows[~again if guarantee.personal else ~again & ~demanding]
    at = _position_in_user(left["user"])
    curbed = at[_is_last_of_user(left["user"])] >= limits.points_per_user
    left = left[at < limits.points_per_user]
    if joining.max_speed_m_s is not None:
        starts = _starts_of_users(left["user"])
        stays = reachable(starts, left["ts_ms"], left["lat"], left["lon"], joining.max_speed_m_s)
        curbed[np.repeat(np.arange(len(curbed)), np.diff(starts))[~stays]] = True
        left = left[stays]

    lat, lon = np.ascontiguousarray(left["lat"]), np.ascontiguousarray(left["lon"])
    projection = LocalProjection.around(lat, lon) if len(left) else LocalProjection(0.0, 0.0)
    begins = _position_in_user(left["user"]) == 0
    number = np.cumsum(begins) - 1  # dense, of each point's user
    if joining.max_gap_ms is not None:
        begins |= after_gap(left["ts_ms"], joining.max_gap_ms)
    first = np.flatnonzero(begins)
    trajectories = PointTrajectories(
        users=number[first].astype(np.int64),
        starts=np.append(first, len(left)).astype(np.int64),
        t_ms=np.ascontiguousarray(left["ts_ms"]),
        xy_m=projection.to_metres(lat, lon),
    )
    stands_for = np.ones(len(left), dtype=np.int64)
    if joining.step_ms is not None:
        trajectories, stands_for = resample(trajectories, joining.step_ms)
    return PointWindow(
        trajectories=trajectories,
        stands_for=stands_for,
        demands=_demands(rows, left["user"][first], guarantee),
        projection=projection,
        duplicates=int(again.sum()),
        suppressed=len(rows) - int(again.sum()) - len(left),
        curbed=curbed,
        n_users=n_users,
        n_demanding=len(np.unique(rows["user"][unmet])),
    )


def _demands(rows: Rows, users: npt.NDArray[np.uint64], guarantee: KDelta) -> Demands:
    """Tell what the trajectories of these users, shape ``(n,)``, are to be given; rows are sorted by user."""
    if not guarantee.personal or not len(rows):
        return Demands.alike(len(users), k=guarantee.k, delta_m=guarantee.delta_m)
    its = np.flatnonzero(_position_in_user(rows["user"]) == 0)
    k = np.maximum(np.maximum.reduceat(rows["k"], its).astype(np.int64), guarantee.k)
    own_m = np.minimum.reduceat(rows["delta_m"], its)
    delta_m = np.where(own_m < np.float32(guarantee.delta_m), own_m.astype(np.float64), guarantee.delta_m)
    of_user = np.searchsorted(rows["user"][its], users)
    return Demands(k=k[of_user], delta_m=delta_m[of_user])


def _same_as_before(*columns: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Tell which rows equal their predecessor in every column, shape ``(n,)``."""
    same = np.ones(len(columns[0]), dtype=np.bool_)
    same[:1] = False
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def _position_in_user(users: npt.NDArray[np.generic]) -> IntArray:
    """Number the rows of each user from 0; rows of one user stand together. Shape ``(n,)``."""
    first = ~_same_as_before(users)
    index = np.arange(len(users))
    return index - np.maximum.accumulate(np.where(first, index, 0)) if len(users) else index


def _starts_of_users(users: npt.NDArray[np.generic]) -> IntArray:
    """Tell where the rows of each of ``n`` users begin, and the number of rows, shape ``(n + 1,)``."""
    return np.append(np.flatnonzero(_position_in_user(users) == 0), len(users)).astype(np.int64)


def _is_last_of_user(users: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Tell the last row of each user, shape ``(n,)``; rows of one user stand together."""
    return np.append(users[1:] != users[:-1], True)[: len(users)]
