"""The distinct subtrajectories of a window, and the people who support each."""

from __future__ import annotations

import numpy as np

from core.kernels.checkins.supports import previous_visits
from core.kernels.kernel import kernel
from core.records.arrays import IntArray, SmallIntArray

__all__ = ["count_subtrajectories"]


@kernel("int64[::1](int32[::1], int64)", allocates=True)
def stable_order(keys: SmallIntArray, n_keys: int) -> IntArray:
    """Return the order that sorts keys in ``0..n_keys - 1``, equal ones as they come."""
    first = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        first[key + 1] += 1
    for key in range(n_keys):
        first[key + 1] += first[key]
    order = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        order[first[keys[i]]] = i
        first[keys[i]] += 1
    return order


@kernel(
    "Tuple((int64[::1], int32[::1], int32[::1], int64[::1], int32[::1]))"
    "(int64[::1], int64[::1], int64[::1], int64, int64)",
    allocates=True,
)
def count_subtrajectories(
    locations: IntArray, starts: IntArray, users: IntArray, n_locations: int, m: int
) -> tuple[IntArray, SmallIntArray, SmallIntArray, IntArray, SmallIntArray]:
    """List the distinct subtrajectories of at most ``m`` locations, with the people who support each.

    Inside a trajectory each distinct subtrajectory is found once, at its earliest embedding: a prefix that ends as
    early as possible is extended by the first visit to each location after it. So the work depends on the number of
    distinct subtrajectories, not of embeddings.

    Args:
        locations: Location ids, in ``0..n_locations - 1``, shape ``(p,)``.
        starts: Where each trajectory begins, shape ``(n + 1,)``.
        users: User of each trajectory, ascending, shape ``(n,)``.
        n_locations: Number of ids.
        m: Most locations of a subtrajectory, at least 1.

    Returns:
        Subtrajectories are numbered by size, then lexicographically. The first number of each size, shape ``(m + 1,)``,
        the last entry is the number of them, ``s``; the number of each one's prefix (all but the last location), -1 for
        one location, shape ``(s,)``; the last location of each, shape ``(s,)``; where the supporters of each begin,
        shape ``(s + 1,)``; the supporters, ascending for each subtrajectory.
    """
    previous = previous_visits(starts, locations, n_locations)
    end_of, user_of = np.empty(len(locations), np.int64), np.empty(len(locations), np.int32)
    for trajectory in range(len(users)):
        for visit in range(starts[trajectory], starts[trajectory + 1]):
            end_of[visit], user_of[visit] = starts[trajectory + 1], users[trajectory]

    first_of_size = np.zeros(m + 1, np.int64)
    prefixes, lasts = np.empty(0, np.int32), np.empty(0, np.int32)
    supporter_starts, supporters = np.zeros(1, np.int64), np.empty(0, np.int32)
    # Earliest embeddings of one size, ordered by subtrajectory, then by trajectory: number and last visit of each.
    number, at = np.empty(0, np.int32), np.empty(0, np.int32)
    for size in range(1, m + 1):
        # Extend every embedding by one visit.
        n_longer = 0
        if size == 1:
            for visit in range(len(locations)):
                n_longer += previous[visit] < 0
        for i in range(len(at)):
            for visit in range(at[i] + 1, end_of[at[i]]):
                n_longer += previous[visit] <= at[i]
        prefix, last, reached = (
            np.empty(n_longer, np.int32),
            np.empty(n_longer, np.int32),
            np.empty(n_longer, np.int32),
        )
        n = 0
        if size == 1:
            for visit in range(len(locations)):
                if previous[visit] < 0:
                    prefix[n], last[n], reached[n] = -1, locations[visit], visit
                    n += 1
        for i in range(len(at)):
            for visit in range(at[i] + 1, end_of[at[i]]):
                if previous[visit] <= at[i]:
                    prefix[n], last[n], reached[n] = number[i], locations[visit], visit
                    n += 1
        # Order them by last location, then by prefix; both sorts are stable.
        by_last = stable_order(last, n_locations)
        n_prefixes = first_of_size[size - 1] - first_of_size[max(size - 2, 0)]
        offset = first_of_size[max(size - 2, 0)]
        key = np.empty(n_longer, np.int32)
        for i in range(n_longer):
            key[i] = max(prefix[by_last[i]] - offset, 0)
        by_prefix = stable_order(key, max(n_prefixes, 1))
        # Number the distinct ones, and list the distinct supporters of each.
        number, at = np.empty(n_longer, np.int32), np.empty(n_longer, np.int32)
        new_prefixes, new_lasts = np.empty(n_longer, np.int32), np.empty(n_longer, np.int32)
        new_starts, new_supporters = np.empty(n_longer, np.int64), np.empty(n_longer, np.int32)
        n_new, n_supporters = 0, 0
        for i in range(n_longer):
            found = by_last[by_prefix[i]]
            user = user_of[reached[found]]
            is_new = n_new == 0 or prefix[found] != new_prefixes[n_new - 1] or last[found] != new_lasts[n_new - 1]
            if is_new:
                new_prefixes[n_new], new_lasts[n_new] = prefix[found], last[found]
                n_new += 1
            if is_new or new_supporters[n_supporters - 1] != user:
                new_supporters[n_supporters] = user
                n_supporters += 1
            new_starts[n_new - 1] = n_supporters + len(supporters)
            number[i], at[i] = first_of_size[size - 1] + n_new - 1, reached[found]
        first_of_size[size] = first_of_size[size - 1] + n_new
        prefixes = np.concatenate((prefixes, new_prefixes[:n_new]))
        lasts = np.concatenate((lasts, new_lasts[:n_new]))
        supporter_starts = np.concatenate((supporter_starts, new_starts[:n_new]))
        supporters = np.concatenate((supporters, new_supporters[:n_supporters]))
    return first_of_size, prefixes, lasts, supporter_starts, supporters
