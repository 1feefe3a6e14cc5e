"""Slow oracle of :mod:`core.kernels.checkins.subtrajectories`."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from core.records.arrays import IntArray, SmallIntArray

__all__ = ["count_subtrajectories"]


def count_subtrajectories(
    locations: IntArray, starts: IntArray, users: IntArray, n_locations: int, m: int
) -> tuple[IntArray, SmallIntArray, SmallIntArray, IntArray, SmallIntArray]:
    """All combinations of visits."""
    users_of: dict[tuple[int, ...], set[int]] = {}
    for user, (start, end) in zip(users.tolist(), pairwise(starts.tolist()), strict=True):
        for size in range(1, m + 1):
            for found in combinations(locations[start:end].tolist(), size):
                users_of.setdefault(found, set()).add(user)
    parts = sorted(users_of, key=lambda part: (len(part), part))
    number = {part: i for i, part in enumerate(parts)} | {(): -1}
    return (
        np.array([sum(len(part) <= size for part in parts) for size in range(m + 1)], np.int64),
        np.array([number[part[:-1]] for part in parts], np.int32),
        np.array([part[-1] for part in parts], np.int32),
        np.cumsum([0, *(len(users_of[part]) for part in parts)], dtype=np.int64),
        np.array([user for part in parts for user in sorted(users_of[part])], np.int32),
    )
