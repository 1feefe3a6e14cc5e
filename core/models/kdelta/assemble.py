"""Assemble: the fragments of one window become GPS trajectories."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.models.kdelta.guarantee import KDelta
from core.places.geo import LocalProjection
from core.records.arrays import BoolArray, IntArray, UserHashes
from core.records.by_user import is_last_of_user, position_in_user, same_as_before, starts_of_users
from core.records.record import Rows
from core.trajectories.assemble import Limits
from core.trajectories.joining import Joining, after_gap, reachable, resample
from core.trajectories.trajectory import Demands, PointTrajectories

__all__ = ["PointWindow", "assemble_points"]

_JOIN_ALL = Joining()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointWindow:
    """The fragments of one window as GPS trajectories, one or several per user."""

    trajectories: PointTrajectories
    hashes: UserHashes = field(repr=False)
    """Keyed hash of each user, as in the rows, ascending, shape ``(trajectories.n_users,)``."""

    stands_for: IntArray
    """How many rows each point of the trajectories stands for, shape ``(p,)``: one, unless they were resampled. A row
    is released when the point that stands for it is."""

    demands: Demands
    """k and delta of each trajectory: those of the guarantee, or what its user demands if the guarantee is personal."""

    projection: LocalProjection
    duplicates: int
    """Points left out because their user has another one at the same instant."""

    suppressed: int
    """Points left out because their user has too many points, cannot have been there, or demands more than the
    guarantee gives."""

    curbed: BoolArray
    """Whether points of each user were left out because the user has too many or cannot have been there, shape
    ``(trajectories.n_users,)``."""

    n_users: int
    """Distinct people in the rows. Some may have no trajectory, because they demand more than the guarantee gives."""

    n_demanding: int
    """Distinct people in the rows who demand more than the guarantee gives everybody."""


def assemble_points(rows: Rows, guarantee: KDelta, limits: Limits, joining: Joining = _JOIN_ALL) -> PointWindow:
    """Turn the fragments of a window into trajectories: pieces of one user are joined by time.

    Each user keeps the first points, up to the limit, and of these the ones that a single journey can visit. The
    journey is then cut at its gaps. Every user with a point left has at least one trajectory, and counts as one person
    however many trajectories there are.

    A user who demands more than the guarantee gives everybody (a larger k, a smaller delta) is left out of the
    release, unless the guarantee is personal. If a user's records demand different values, the strictest counts.

    Args:
        rows: Rows of :data:`core.records.record.POINT`, shape ``(n,)``, in any order.
        guarantee: What the release will promise to everybody.
        limits: Most points of a user.
        joining: Which points can follow one another, where trajectories are cut, and whether they are resampled.
    """
    rows = _in_order(rows)
    again = same_as_before(rows["user"], rows["ts_ms"])
    n_users = len(starts_of_users(rows["user"])) - 1

    # Compared in the column's precision, so that a demand of 300 m equals a guarantee of 300 m.
    unmet = (rows["k"] > guarantee.k) | (rows["delta_m"] < np.float32(guarantee.delta_m))
    demanding = np.isin(rows["user"], rows["user"][unmet])
    left = rows.compress(~again if guarantee.personal else ~again & ~demanding)
    at = position_in_user(left["user"])
    curbed = at[is_last_of_user(left["user"])] >= limits.points_per_user
    left = left.compress(at < limits.points_per_user)
    if joining.max_speed_m_s is not None:
        starts = starts_of_users(left["user"])
        stays = reachable(starts, left["ts_ms"], left["lat"], left["lon"], joining.max_speed_m_s)
        curbed[np.repeat(np.arange(len(curbed)), np.diff(starts))[~stays]] = True
        left = left.compress(stays)

    lat, lon = np.ascontiguousarray(left["lat"]), np.ascontiguousarray(left["lon"])
    projection = LocalProjection.around(lat, lon) if len(left) else LocalProjection(0.0, 0.0)
    begins = position_in_user(left["user"]) == 0
    number = np.cumsum(begins) - 1  # dense number of each point's user
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
        hashes=left["user"][position_in_user(left["user"]) == 0],
        stands_for=stands_for,
        demands=_demands(rows, left["user"][first], guarantee),
        projection=projection,
        duplicates=int(again.sum()),
        suppressed=len(rows) - int(again.sum()) - len(left),
        curbed=curbed,
        n_users=n_users,
        n_demanding=len(np.unique(rows["user"][unmet])),
    )


def _in_order(rows: Rows) -> Rows:
    """Sort rows by user and time; of rows at one time the one with the smallest position comes first.

    Positions are only compared if that is needed: it takes six times as long.
    """
    ordered: Rows = rows.take(np.lexsort((rows["ts_ms"], rows["user"])))
    if same_as_before(ordered["user"], ordered["ts_ms"]).any():
        ordered = rows.take(np.lexsort((rows["lon"], rows["lat"], rows["ts_ms"], rows["user"])))
    return ordered


def _demands(rows: Rows, users: npt.NDArray[np.uint64], guarantee: KDelta) -> Demands:
    """Return k and delta for the trajectories of these users, shape ``(n,)``; rows are sorted by user."""
    if not guarantee.personal or not len(rows):
        return Demands.alike(len(users), k=guarantee.k, delta_m=guarantee.delta_m)
    firsts = np.flatnonzero(position_in_user(rows["user"]) == 0)
    k = np.maximum(np.maximum.reduceat(rows["k"], firsts).astype(np.int64), guarantee.k)
    own_m = np.minimum.reduceat(rows["delta_m"], firsts)
    delta_m = np.where(own_m < np.float32(guarantee.delta_m), own_m.astype(np.float64), guarantee.delta_m)
    of_user = np.searchsorted(rows["user"][firsts], users)
    return Demands(k=k[of_user], delta_m=delta_m[of_user])
