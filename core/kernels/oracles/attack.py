"""Slow and obvious versions of :mod:`core.kernels.fragments.attack`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["found_by_place", "found_by_time", "share_of"]


def share_of(user: int, fits: BoolArray, owners: IntArray, groups: IntArray, n_users: int) -> float:
    """Collect the people as a set."""
    found = set(groups[fits].tolist())
    people = {owner for owner, group in zip(owners.tolist(), groups.tolist(), strict=True) if group in found}
    return 1 / len(people) if user in people else 0.0


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
    """Measure all points of every trajectory."""
    return _shares(
        users,
        lambda i, j: any(_near(xy_m[point], known_m[i], within_m) for point in range(starts[j], starts[j + 1])),
        owners,
        groups,
        n_users,
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
    """Look for a point at the time, or for two points around it."""

    def fits(i: int, j: int) -> bool:
        for point in range(starts[j], starts[j + 1]):
            if t_ms[point] == known_ms[i]:
                return _near(xy_m[point], known_m[i], within_m)
            if point + 1 < starts[j + 1] and t_ms[point] < known_ms[i] < t_ms[point + 1]:
                share = (known_ms[i] - t_ms[point]) / (t_ms[point + 1] - t_ms[point])
                return _near(xy_m[point] + share * (xy_m[point + 1] - xy_m[point]), known_m[i], within_m)
        return False

    return _shares(users, fits, owners, groups, n_users)


def _shares(
    users: IntArray, fits: Callable[[int, int], bool], owners: IntArray, groups: IntArray, n_users: int
) -> FloatArray:
    found = [[fits(i, j) for j in range(len(owners))] for i in range(len(users))]
    return np.array(
        [
            share_of(user, np.array(which, bool), owners, groups, n_users)
            for user, which in zip(users, found, strict=True)
        ]
    )


def _near(at_m: FloatArray, known_m: FloatArray, within_m: float) -> bool:
    x_m, y_m = at_m - known_m
    return bool(x_m * x_m + y_m * y_m <= within_m * within_m)
