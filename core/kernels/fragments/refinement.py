"""Local search that brings members nearer to their pivots (:mod:`core.models.kdelta.anonymize.cluster.refinement`)."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.distances import DATA, Data, measure, next_near, start_search
from core.kernels.fragments.greedy import count_up
from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = ["refine_clusters", "unlink"]

_NEVER = 1 << 60  # above every sum of distances, and sums of some of it fit into 64 bits
_NOBODY = -1

PeopleData = tuple[IntArray, IntArray, FloatArray, int]
"""User of each trajectory, ascending; how many users each demands; the delta that each demands, metres; whole units in
a metre, 0 if distances are not in metres."""

PEOPLE = "Tuple((int64[::1], int64[::1], float64[::1], int64))"

ClusterData = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]
"""Cluster of each trajectory, or -1; pivot of each cluster, or -1 where it was dissolved; first member of each cluster;
next member behind each trajectory, or -1; distance of each member from its pivot; how many pivots each node of the
tree has."""

CLUSTERS = "UniTuple(int64[::1], 6)"


@kernel(f"UniTuple(int64, 2)({PEOPLE}, {CLUSTERS}, int64, int64, int64)")
def _with_and_without(people: PeopleData, clusters: ClusterData, c: int, leaves: int, joins: int) -> tuple[int, int]:
    """Return how many users a cluster has, and how many its members demand, if one leaves and one joins."""
    users, k, _, _ = people
    _, _, first, following, _, _ = clusters
    n_users, demanded = 0, 0
    if joins != _NOBODY:
        n_users, demanded = 1, k[joins]
    i = first[c]
    while i >= 0:
        if i != leaves:
            demanded = max(demanded, k[i])
            is_new = joins == _NOBODY or users[i] != users[joins]
            j = first[c]
            while is_new and j != i:
                is_new = j == leaves or users[j] != users[i]
                j = following[j]
            n_users += is_new
        i = following[i]
    return n_users, demanded


@kernel(f"boolean({PEOPLE}, {CLUSTERS}, int64, int64, int64)")
def _satisfied(people: PeopleData, clusters: ClusterData, c: int, leaves: int, joins: int) -> bool:
    n_users, demanded = _with_and_without(people, clusters, c, leaves, joins)
    return n_users >= demanded and n_users > 0


@kernel(f"int64({PEOPLE}, {CLUSTERS}, int64, int64)")
def _price(people: PeopleData, clusters: ClusterData, c: int, joins: int) -> int:
    """Return what it costs a cluster that a new member makes its discs smaller, whole units."""
    _, _, delta_m, per_metre = people
    _, _, first, following, _, _ = clusters
    least_m, size = np.inf, 0
    i = first[c]
    while i >= 0:
        least_m = min(least_m, delta_m[i])
        size += 1
        i = following[i]
    if per_metre == 0:
        return _NEVER if least_m > delta_m[joins] else 0
    lost_m = min(max(least_m - delta_m[joins], 0.0) / 2 * size, 1e12)
    return int(np.ceil(lost_m * per_metre))


@kernel("void(int64[::1], int64[::1], int64, int64)")
def unlink(first: IntArray, following: IntArray, c: int, i: int) -> None:
    """Take a member out of the list of a cluster: its first member, and the next one behind each."""
    if first[c] == i:
        first[c] = following[i]
        return
    j = first[c]
    while following[j] != i:
        j = following[j]
    following[j] = following[i]


@kernel(f"void({CLUSTERS}, int64, int64, int64)")
def _put(clusters: ClusterData, i: int, to: int, distance: int) -> None:
    """Let a member go to another cluster, whose pivot is at this distance."""
    cluster, _, first, following, own, _ = clusters
    unlink(first, following, cluster[i], i)
    cluster[i], own[i] = to, distance
    following[i], first[to] = first[to], i


@kernel(f"boolean({DATA}, {CLUSTERS}, int64, int64)")
def _take_medoid(data: Data, clusters: ClusterData, c: int, radius: int) -> bool:
    """Make the medoid of a cluster its pivot, if it is nearer to all than the pivot; of equal ones the first.

    A medoid is, among the members from which no other is beyond the radius, the nearest to all others.
    """
    _, pivots, first, following, own, of_pivots = clusters
    _, _, parent, leaf = data[10]
    pivot = pivots[c]
    best, best_sum = pivot, 0
    i = first[c]
    while i >= 0:
        best_sum += measure(data, pivot, i, radius)
        i = following[i]
    i = first[c]
    while i >= 0:
        total = 0
        j = first[c]
        while j >= 0 and total <= best_sum:
            distance = measure(data, i, j, radius) if i != j else 0
            total = _NEVER if distance > radius else total + distance
            j = following[j]
        if total < best_sum or (total == best_sum and best != pivot and i < best):
            best, best_sum = i, total
        i = following[i]
    if best == pivot:
        return False
    count_up(parent, of_pivots, leaf[pivot], -1)
    count_up(parent, of_pivots, leaf[best], 1)
    pivots[c] = best
    i = first[c]
    while i >= 0:
        own[i] = measure(data, best, i, _NEVER)
        i = following[i]
    return True


@kernel(f"int64({DATA}, {CLUSTERS}, int64[::1], int64, int64, int64, int64[::1], int64[::1])")
def _nearer_pivots(
    data: Data,
    clusters: ClusterData,
    among: IntArray,
    i: int,
    but: int,
    nearer_than: int,
    nearer: IntArray,
    away: IntArray,
) -> int:
    """Find pivots that are nearer to a member, but not that of one cluster; return how many, nearest first.

    Of each node, ``among`` tells how many of the pivots that count it has.
    """
    cluster, _, _, _, _, _ = clusters
    n, found = min(among[0], start_search(data)), 0
    while True:
        pivot, n = next_near(data, among, i, nearer_than - 1, n)
        if pivot < 0:
            return found
        if cluster[pivot] == but:
            continue
        distance = measure(data, i, pivot, nearer_than - 1)
        if distance < nearer_than:
            at = found
            while at and (away[at - 1], cluster[nearer[at - 1]]) > (distance, cluster[pivot]):
                away[at], nearer[at] = away[at - 1], nearer[at - 1]
                at -= 1
            away[at], nearer[at] = distance, pivot
            found += 1


@kernel(f"boolean({DATA}, {PEOPLE}, {CLUSTERS}, int64, int64, int64, int64)")
def _exchange(
    data: Data, people: PeopleData, clusters: ClusterData, i: int, to: int, distance: int, radius: int
) -> bool:
    """Let a member change places with the one of another cluster for which that saves most."""
    cluster, pivots, first, following, own, _ = clusters
    here = cluster[i]
    saved = own[i] - distance - _price(people, clusters, to, i)
    last_gain, last = _NEVER, _NOBODY
    while True:
        # The next best one: gains that were tried are above it.
        best, best_gain, best_away = _NOBODY, 0, 0
        j = first[to]
        while j >= 0:
            if j != pivots[to]:
                gain = saved + own[j] - _price(people, clusters, here, j)
                may_be_best = gain > best_gain or (gain == best_gain and best != _NOBODY)
                if may_be_best and gain > 0:
                    away = measure(data, pivots[here], j, min(gain, radius))
                    gain -= away
                    if (
                        away <= radius
                        and (gain > best_gain or (gain == best_gain and best != _NOBODY and j < best))
                        and (gain < last_gain or (gain == last_gain and j > last))
                    ):
                        best, best_gain, best_away = j, gain, away
            j = following[j]
        if best == _NOBODY:
            return False
        if _satisfied(people, clusters, here, i, best) and _satisfied(people, clusters, to, best, i):
            _put(clusters, i, to, distance)
            _put(clusters, best, here, best_away)
            return True
        last_gain, last = best_gain, best


@kernel(f"boolean({DATA}, {PEOPLE}, {CLUSTERS}, int64, int64, int64[::1], int64[::1], int64, boolean[::1])")
def _take_better_place(
    data: Data,
    people: PeopleData,
    clusters: ClusterData,
    i: int,
    radius: int,
    nearer: IntArray,
    away: IntArray,
    found: int,
    changed: BoolArray,
) -> bool:
    """Let a member move to, or change places with a member of, the nearest cluster that is nearer and accepts it."""
    cluster, _, _, _, own, _ = clusters
    here = cluster[i]
    can_leave = found > 0 and _satisfied(people, clusters, here, i, _NOBODY)
    for at in range(found):
        to, distance = cluster[nearer[at]], away[at]
        moves = (
            can_leave
            and distance + _price(people, clusters, to, i) < own[i]
            and _satisfied(people, clusters, to, _NOBODY, i)
        )
        if moves:
            _put(clusters, i, to, distance)
        if moves or _exchange(data, people, clusters, i, to, distance, radius):
            changed[here] = changed[to] = True
            return True
    return False


@kernel(f"UniTuple(int64, 2)({DATA}, {PEOPLE}, {CLUSTERS}, int64[::1], int64, int64, int64)")
def _best_elsewhere(
    data: Data, people: PeopleData, clusters: ClusterData, n_users: IntArray, i: int, radius: int, limit: int
) -> tuple[int, int]:
    """Find the pivot of another cluster that satisfies a member, and costs least: its distance and the price.

    Returns:
        The pivot, or -1 if none costs at most the limit, and what it costs.
    """
    cluster, _, _, _, _, of_pivots = clusters
    _, k, _, _ = people
    n, best, cost = start_search(data), _NOBODY, limit
    while True:
        pivot, n = next_near(data, of_pivots, i, min(cost, radius), n)
        if pivot < 0:
            return best, cost
        to = cluster[pivot]
        if to == cluster[i] or n_users[to] < k[i]:
            continue
        price = _price(people, clusters, to, i)
        if price > cost:
            continue
        distance = measure(data, i, pivot, min(cost - price, radius))
        if distance <= min(cost - price, radius) and (distance + price < cost or best == _NOBODY or to < cluster[best]):
            best, cost = pivot, distance + price


@kernel(f"boolean({DATA}, {PEOPLE}, {CLUSTERS}, int64, boolean[::1])", allocates=True)
def _dissolve(data: Data, people: PeopleData, clusters: ClusterData, radius: int, changed: BoolArray) -> bool:
    """Dissolve clusters whose members cost less, in sum, in other clusters that satisfy them as they are."""
    cluster, pivots, first, following, own, of_pivots = clusters
    _, _, parent, leaf = data[10]
    n_users = np.zeros(len(pivots), np.int64)
    for c in range(len(pivots)):
        if pivots[c] >= 0:
            n_users[c], _ = _with_and_without(people, clusters, c, _NOBODY, _NOBODY)
    touched = np.zeros(len(pivots), np.bool_)
    places, costs = np.empty(len(cluster), np.int64), np.empty(len(cluster), np.int64)
    moved = False
    for c in range(len(pivots)):
        if pivots[c] < 0 or touched[c]:
            continue
        left = 0
        i = first[c]
        while i >= 0:
            left += own[i]
            i = following[i]
        left -= 1  # it has to save something
        n = 0
        i = first[c]
        while i >= 0 and left >= 0:
            best, cost = _best_elsewhere(data, people, clusters, n_users, i, radius, left)
            left = -1 if best == _NOBODY else left - cost
            places[n], costs[n] = best, i
            n += 1
            i = following[i]
        if left < 0:
            continue
        for at in range(n):
            i, to = costs[at], cluster[places[at]]
            _put(clusters, i, to, measure(data, places[at], i, _NEVER))
            touched[to] = changed[to] = True
        count_up(parent, of_pivots, leaf[pivots[c]], -1)
        pivots[c] = _NOBODY
        moved = True
    return moved


@kernel(f"void({DATA}, {PEOPLE}, int64, int64, int64[::1], int64[::1])", allocates=True)
def refine_clusters(
    data: Data, people: PeopleData, radius: int, rounds: int, cluster: IntArray, pivots: IntArray
) -> None:
    """Lower the sum of the members' distances from their pivots, step by step.

    Args:
        data: The data set.
        people: Who the trajectories belong to, and what they demand.
        radius: Largest distance of a member from its pivot.
        rounds: Most rounds.
        cluster: Cluster of each trajectory, or -1; changes.
        pivots: Pivot of each cluster; changes, to -1 where a cluster was dissolved.
    """
    item, _, parent, leaf = data[10]
    n = len(cluster)
    first, following = np.full(len(pivots), -1, np.int64), np.full(n, -1, np.int64)
    own, of_pivots = np.zeros(n, np.int64), np.zeros(len(item), np.int64)
    for c in range(len(pivots)):
        count_up(parent, of_pivots, leaf[pivots[c]], 1)
    for i in range(n):
        c = cluster[i]
        if c >= 0:
            own[i] = measure(data, pivots[c], i, _NEVER)
            following[i], first[c] = first[c], i
    clusters = cluster, pivots, first, following, own, of_pivots
    changed = np.ones(len(pivots), np.bool_)
    nearer, away = np.empty(len(pivots), np.int64), np.empty(len(pivots), np.int64)
    of_fresh = np.zeros(len(item), np.int64)  # pivots of each node that are new in this round
    # In the round before, no pivot but that of this cluster was nearer to a member than this.
    nothing_below, but = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    for _ in range(rounds):
        moved = False
        for c in range(len(pivots)):
            if changed[c] and pivots[c] >= 0 and _take_medoid(data, clusters, c, radius):
                count_up(parent, of_fresh, leaf[pivots[c]], 1)
                moved = True
        changed[:] = False
        # A member looks only where it was better when the round began.
        cluster_before, own_before = cluster.copy(), own.copy()
        for i in range(n):
            nearer_than = min(own[i], own_before[i])
            if cluster[i] < 0 or nearer_than == 0:
                continue
            is_known = but[i] == cluster_before[i] and nearer_than <= nothing_below[i]
            among = of_fresh if is_known else of_pivots
            but[i] = cluster_before[i]
            found = _nearer_pivots(data, clusters, among, i, but[i], nearer_than, nearer, away)
            nothing_below[i] = 0 if found else nearer_than
            moved |= _take_better_place(data, people, clusters, i, radius, nearer, away, found, changed)
        of_fresh[:] = 0
        if not moved and not _dissolve(data, people, clusters, radius, changed):
            return
