"""Greedy clustering of trajectories around pivots (:mod:`core.models.kdelta.anonymize.cluster.clustering`)."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.distances import DATA, Data, bound, measure, next_near, start_search
from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["count_up", "first_of_user", "greedy_round", "place_the_rest", "user_joins"]

_FARTHEST = 1 << 62


@kernel("void(int64[::1], int64[::1], int64, int64)")
def count_up(parent: IntArray, counts: IntArray, node: int, by: int) -> None:
    """Add to the count of a node and of all nodes above it."""
    while node >= 0:
        counts[node] += by
        node = parent[node]


@kernel("void(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64)")
def _set_gap(parent: IntArray, second: IntArray, gaps: IntArray, farthest: IntArray, node: int, gap: int) -> None:
    """Set the gap of a leaf, and in all nodes above it the largest gap and whose it is; of equal ones the first."""
    gaps[node] = gap
    node = parent[node]
    while node >= 0:
        one, other = node + 1, second[node]
        if gaps[other] > gaps[one] or (gaps[other] == gaps[one] and farthest[other] < farthest[one]):
            one = other
        if gaps[node] == gaps[one] and farthest[node] == farthest[one]:
            return
        gaps[node], farthest[node] = gaps[one], farthest[one]
        node = parent[node]


@kernel(f"void({DATA}, int64, int64[::1], int64[::1])")
def _close_gaps(data: Data, pivot: int, gaps: IntArray, farthest: IntArray) -> None:
    """Let a new pivot shorten the gaps between trajectories and their nearest pivots."""
    item, second, parent, _ = data[10]
    room, n = data[12], start_search(data)
    while n:
        n -= 1
        node = room[n, 0]
        if gaps[node] < 0 or bound(data, pivot, node, gaps[node]) >= gaps[node]:
            continue
        if item[node] >= 0:
            distance = measure(data, pivot, item[node], gaps[node] - 1)
            if distance < gaps[node]:
                _set_gap(parent, second, gaps, farthest, node, distance)
        else:
            room[n, 0], room[n + 1, 0] = second[node], node + 1
            n += 2


@kernel(f"UniTuple(int64, 2)({DATA}, int64[::1], int64, int64, int64[::1], int64, int64[::1], int64[::1])")
def _nearest_people(
    data: Data,
    users: IntArray,
    pivot: int,
    wanted: int,
    free: IntArray,
    radius: int,
    nearest: IntArray,
    away: IntArray,
) -> tuple[int, int]:
    """Find the nearest free trajectories of other users than the pivot's, one each.

    Args:
        data: The data set.
        users: User of each trajectory.
        pivot: The pivot.
        wanted: How many are wanted.
        free: How many trajectories of each node are free.
        radius: Largest distance.
        nearest: Becomes the trajectories, by distance, then by number.
        away: Becomes their distances.

    Returns:
        How many were found, and, if they are fewer than wanted, how many free ones of other users the radius has.
    """
    n, found, within = start_search(data), 0, 0
    while True:
        limit = away[wanted - 1] if found == wanted else radius
        i, n = next_near(data, free, pivot, limit, n)
        if i < 0:
            return found, within
        if users[i] == users[pivot]:
            continue
        distance = measure(data, pivot, i, limit)
        if distance > limit:
            continue
        within += 1
        at = found  # where an entry is given up: that of the same user, or the last one
        for entry in range(found):
            if users[nearest[entry]] == users[i]:
                at = entry
        if at == found and found == wanted:
            at = wanted - 1
        if at < found and (away[at], nearest[at]) < (distance, i):
            continue
        found = max(found, at + 1)
        while at and (away[at - 1], nearest[at - 1]) > (distance, i):
            away[at], nearest[at] = away[at - 1], nearest[at - 1]
            at -= 1
        away[at], nearest[at] = distance, i


@kernel(
    f"Tuple((int64, boolean))({DATA}, int64[::1], int64[::1], boolean[::1], int64[::1], int64, int64[::1], int64[::1])",
    allocates=True,
)
def greedy_round(
    data: Data,
    users: IntArray,
    k: IntArray,
    satisfiable: BoolArray,
    from_centre: IntArray,
    radius: int,
    cluster: IntArray,
    pivots: IntArray,
) -> tuple[int, bool]:
    """Form clusters until no trajectory can be a pivot.

    Args:
        data: The data set, one trajectory at least.
        users: User of each trajectory, ascending.
        k: How many users each demands.
        satisfiable: Whether each may take part.
        from_centre: Of each, how far it is from the centre.
        radius: Largest distance of a member from its pivot.
        cluster: Becomes the cluster of each, or -1.
        pivots: Becomes the pivots of the clusters.

    Returns:
        How many clusters there are, and whether a larger radius could have made more.
    """
    item, second, parent, leaf = data[10]
    n = len(users)
    limited = False
    cluster[:] = -1
    free = np.zeros(len(item), np.int64)
    free_of = np.zeros(users[n - 1] + 1, np.int64)  # free trajectories of each user
    n_free, users_free = 0, 0
    gaps, farthest = np.full(len(item), -1, np.int64), np.empty(len(item), np.int64)
    farthest[:] = item
    for node in range(len(item) - 1, -1, -1):
        if item[node] < 0:
            farthest[node] = min(farthest[node + 1], farthest[second[node]])
    for i in range(n):
        if satisfiable[i]:
            count_up(parent, free, leaf[i], 1)
            users_free += free_of[users[i]] == 0
            free_of[users[i]] += 1
            n_free += 1
            _set_gap(parent, second, gaps, farthest, leaf[i], _FARTHEST)
    nearest, away = np.empty(n, np.int64), np.empty(n, np.int64)
    n_clusters = 0
    while gaps[0] >= 0:
        pivot = farthest[0]
        if n_clusters == 0:  # all gaps are endless: the distance from the centre counts
            for i in range(n):
                if gaps[leaf[i]] >= 0 and from_centre[i] > from_centre[pivot]:
                    pivot = i
        _set_gap(parent, second, gaps, farthest, leaf[pivot], -1)
        wanted = max(k[pivot] - 1, 1)
        while True:
            wanted = min(wanted, n)
            found, within = _nearest_people(data, users, pivot, wanted, free, radius, nearest, away)
            demanded, chosen = k[pivot], 0
            for at in range(found):
                demanded = max(demanded, k[nearest[at]])
                if at + 2 >= demanded:  # users: that of the pivot and one more each
                    chosen = at + 1
                    break
            if chosen or found < wanted:
                break
            wanted = max(demanded - 1, wanted + 1)
        if not chosen:
            others = users_free - (free_of[users[pivot]] > 0)
            limited |= within < n_free - free_of[users[pivot]] and others + 1 >= k[pivot]
            continue
        nearest[chosen] = pivot
        for at in range(chosen + 1):
            i = nearest[at]
            cluster[i] = n_clusters
            count_up(parent, free, leaf[i], -1)
            free_of[users[i]] -= 1
            users_free -= free_of[users[i]] == 0
            n_free -= 1
            _set_gap(parent, second, gaps, farthest, leaf[i], -1)
        pivots[n_clusters] = pivot
        n_clusters += 1
        _close_gaps(data, pivot, gaps, farthest)
    return n_clusters, limited


@kernel("boolean(int64[::1], int64[::1], int64, int64)")
def user_joins(users: IntArray, cluster: IntArray, i: int, to: int) -> bool:
    """Return whether a trajectory would bring a cluster a user that it does not have; users ascend."""
    at = i
    while at > 0 and users[at - 1] == users[i]:
        at -= 1
    while at < len(users) and users[at] == users[i]:
        if cluster[at] == to:
            return False
        at += 1
    return True


@kernel("boolean(int64[::1], int64[::1], int64)")
def first_of_user(users: IntArray, cluster: IntArray, i: int) -> bool:
    """Return whether no earlier trajectory of the same user is in a trajectory's cluster; users ascend."""
    at = i - 1
    while at >= 0 and users[at] == users[i]:
        if cluster[at] == cluster[i]:
            return False
        at -= 1
    return True


@kernel(
    f"boolean({DATA}, int64[::1], int64[::1], float64[::1], int64[::1], int64, int64[::1], int64[::1])", allocates=True
)
def place_the_rest(
    data: Data,
    users: IntArray,
    k: IntArray,
    delta_m: FloatArray,
    rest: IntArray,
    radius: int,
    cluster: IntArray,
    pivots: IntArray,
) -> bool:
    """Let trajectories join the cluster of the nearest pivot that satisfies them, within the radius.

    Args:
        data: The data set.
        users: User of each trajectory, ascending.
        k: How many users each demands.
        delta_m: The delta that each demands, metres.
        rest: Trajectories in no cluster, in the order in which they may join.
        radius: Largest distance of a member from its pivot.
        cluster: Cluster of each trajectory, or -1; changes.
        pivots: Pivot of each cluster.

    Returns:
        Whether a larger radius would have placed one more.
    """
    if not len(pivots):
        return False
    _, _, parent, leaf = data[10]
    n_users, least_m = np.zeros(len(pivots), np.int64), np.full(len(pivots), np.inf)
    for i in range(len(users)):
        c = cluster[i]
        if c >= 0:
            n_users[c] += first_of_user(users, cluster, i)
            least_m[c] = min(least_m[c], delta_m[i])
    of_pivots = np.zeros(2 * len(leaf) - 1, np.int64)
    for pivot in pivots:
        count_up(parent, of_pivots, leaf[pivot], 1)
    limited = False
    for i in rest:
        best, best_distance = -1, radius
        n = start_search(data)
        while True:
            pivot, n = next_near(data, of_pivots, i, best_distance, n)
            if pivot < 0:
                break
            c = cluster[pivot]
            if least_m[c] <= delta_m[i] and n_users[c] + user_joins(users, cluster, i, c) >= k[i]:
                distance = measure(data, i, pivot, best_distance)
                if distance < best_distance or (distance == best_distance and (best < 0 or pivot < best)):
                    best, best_distance = pivot, distance
        if best >= 0:
            c = cluster[best]
            n_users[c] += user_joins(users, cluster, i, c)
            cluster[i] = c
        elif not limited:
            for c in range(len(pivots)):
                limited |= least_m[c] <= delta_m[i] and n_users[c] + user_joins(users, cluster, i, c) >= k[i]
    return limited
