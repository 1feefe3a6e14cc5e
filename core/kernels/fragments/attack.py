"""Attack: how surely a position of a person leads to the person in a release of GPS trajectories."""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["found_by_place", "found_by_time", "share_of"]


@kernel("float64(int64, bool_[::1], int64[::1], int64[::1], int64)", allocates=True)
def share_of(user: int, fits: BoolArray, owners: IntArray, groups: IntArray, n_users: int) -> float:
    """Return the probability that a random choice among the people behind some trajectories is a user.

    Args:
        user: The user.
        fits: Which of ``r`` trajectories are found; all members of their groups are found with them.
        owners: User of each trajectory, in ``0..n_users - 1``, shape ``(r,)``.
        groups: Group of each trajectory, in ``0..r - 1``, shape ``(r,)``.
        n_users: Number of users.

    Returns:
        One over the number of these people, or 0 if the user is none of them.
    """
    found = np.zeros(len(owners), dtype=np.bool_)
    for i in range(len(owners)):
        if fits[i]:
            found[groups[i]] = True
    people = np.zeros(n_users, dtype=np.bool_)
    n_people = 0
    for i in range(len(owners)):
        if found[groups[i]] and not people[owners[i]]:
            people[owners[i]] = True
            n_people += 1
    return 1.0 / n_people if people[user] else 0.0


@kernel(
    "float64[::1](int64[::1], float64[:, ::1], float64, int64[::1], float64[:, ::1], int64[::1], int64[::1], int64)",
    allocates=True,
)
def found_by_place(
    users: IntArray,
    known_m: FloatArray,
    within_m: float,
    starts: IntArray,
    xy_m: FloatArray,
    owners: IntArray,
    groups: IntArray,
    n_users: int,
) -> FloatArray:
    """Return the probability of finding each of ``a`` users by a position: a trajectory fits if a point is near it.

    Args:
        users: The users, in ``0..n_users - 1``, shape ``(a,)``.
        known_m: A position of each, metres, shape ``(a, 2)``.
        within_m: Largest distance of a point from the position, metres.
        starts: Where each of the ``r`` released trajectories begins, then ``q``, shape ``(r + 1,)``.
        xy_m: Their points, metres, shape ``(q, 2)``.
        owners: As in :func:`share_of`.
        groups: As in :func:`share_of`.
        n_users: Number of users.
    """
    shares = np.zeros(len(users))
    for i in range(len(users)):
        fits = np.zeros(len(owners), dtype=np.bool_)
        for trajectory in range(len(owners)):
            for point in range(starts[trajectory], starts[trajectory + 1]):
                x_m, y_m = xy_m[point, 0] - known_m[i, 0], xy_m[point, 1] - known_m[i, 1]
                if x_m * x_m + y_m * y_m <= within_m * within_m:
                    fits[trajectory] = True
                    break
        shares[i] = share_of(users[i], fits, owners, groups, n_users)
    return shares


@kernel(
    "float64[::1](int64[::1], int64[::1], float64[:, ::1], float64, int64[::1], int64[::1], float64[:, ::1],"
    " int64[::1], int64[::1], int64)",
    allocates=True,
)
def found_by_time(
    users: IntArray,
    known_ms: IntArray,
    known_m: FloatArray,
    within_m: float,
    starts: IntArray,
    t_ms: IntArray,
    xy_m: FloatArray,
    owners: IntArray,
    groups: IntArray,
    n_users: int,
) -> FloatArray:
    """Return the probability of finding each of ``a`` users by a position and its time.

    A trajectory fits if it is near the position at that time, which must be in its span; it moves in a straight line
    from point to point.

    Args:
        users: As in :func:`found_by_place`, like all arguments not named here.
        known_ms: Time of each position, shape ``(a,)``.
        known_m: See there.
        within_m: See there.
        starts: See there.
        t_ms: Times of the points, ascending inside a trajectory, shape ``(q,)``.
        xy_m: See there.
        owners: See there.
        groups: See there.
        n_users: See there.
    """
    shares = np.zeros(len(users))
    for i in range(len(users)):
        at_ms = known_ms[i]
        fits = np.zeros(len(owners), dtype=np.bool_)
        for trajectory in range(len(owners)):
            first, last = starts[trajectory], starts[trajectory + 1] - 1
            if last < first or at_ms < t_ms[first] or at_ms > t_ms[last]:
                continue
            point = first
            while point < last and t_ms[point + 1] <= at_ms:
                point += 1
            x_m, y_m = xy_m[point, 0], xy_m[point, 1]
            if t_ms[point] < at_ms:
                share = (at_ms - t_ms[point]) / (t_ms[point + 1] - t_ms[point])
                x_m += share * (xy_m[point + 1, 0] - x_m)
                y_m += share * (xy_m[point + 1, 1] - y_m)
            x_m -= known_m[i, 0]
            y_m -= known_m[i, 1]
            fits[trajectory] = x_m * x_m + y_m * y_m <= within_m * within_m
        shares[i] = share_of(users[i], fits, owners, groups, n_users)
    return shares
