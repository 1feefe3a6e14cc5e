"""Regrouping (:mod:`core.models.kdelta.anonymize.cluster.regrouping`): steps are taken if they keep the guarantee."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.distances import DATA, Data, measure
from core.kernels.fragments.refinement import unlink
from core.kernels.fragments.regrouping import GROUPS, PAIRS, GroupPairs, Groups, best_pair, value_pair, value_pairs_of
from core.kernels.fragments.tracks import TRACKS, TrackData, apart_mm
from core.kernels.kernel import kernel
from core.records.arrays import FloatArray, IntArray

__all__ = [
    "MEMBERS",
    "STATE",
    "MemberData",
    "SearchState",
    "measure_groups",
    "nearest_to_all",
    "take_best_steps",
    "take_step",
]

_NOBODY = -1
_LARGEST = 1 << 62

MemberData = tuple[IntArray, IntArray, FloatArray, IntArray, float]
"""Of each track its user, how many users it demands, the delta that it demands in metres, and at how many moments it is
under way; and by what the radius of a disc is divided to be on the scale of distances, or 0 if all demand the same
delta."""

MEMBERS = "Tuple((int64[::1], int64[::1], float64[::1], int64[::1], float64))"

SearchState = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]
"""Cluster of each track, or -1; pivot of each cluster; the number of changes when each cluster had changed; how many
steps may still be tried, and how many changes there were; and room for three pivots."""

STATE = "UniTuple(int64[::1], 5)"


@kernel(f"void({GROUPS}, int64, int64)")
def _link(groups: Groups, c: int, i: int) -> None:
    """Put a member into the list of a cluster, which stays ascending."""
    first, following, _, _, _ = groups
    if first[c] < 0 or first[c] > i:
        following[i], first[c] = first[c], i
        return
    j = first[c]
    while 0 <= following[j] < i:
        j = following[j]
    following[i], following[j] = following[j], i


@kernel(f"void({GROUPS}, int64[:, ::1], int64, int64)")
def _pass(groups: Groups, step: IntArray, leaves: int, joins: int) -> None:
    """Let all members of one column of a step leave, and all of another one join."""
    for row in range(len(step)):
        if step[row, leaves] >= 0:
            unlink(groups[0], groups[1], step[row, 0], step[row, leaves])
    for row in range(len(step)):
        if step[row, joins] >= 0:
            _link(groups, step[row, 0], step[row, joins])


@kernel(f"UniTuple(int64, 3)({MEMBERS}, {GROUPS}, int64)")
def _users_of(members: MemberData, groups: Groups, c: int) -> tuple[int, int, int]:
    """Return how many users a cluster has, and the most and the fewest that a member demands."""
    users, k, _, _, _ = members
    first, following, _, _, _ = groups
    n_users, most, fewest = 0, 0, _LARGEST
    i = first[c]
    while i >= 0:
        most, fewest = max(most, k[i]), min(fewest, k[i])
        j = first[c]
        while j != i and users[j] != users[i]:
            j = following[j]
        n_users += j == i
        i = following[i]
    return n_users, most, fewest


@kernel(f"float64({MEMBERS}, {GROUPS}, int64)")
def _disc_mm(members: MemberData, groups: Groups, c: int) -> float:
    """Return what a cluster's discs save its members, millimetres, on the scale of the sums of distances."""
    _, _, delta_m, moments, scale = members
    first, following, _, _, _ = groups
    least_m, n_moments = np.inf, 0
    i = first[c]
    while i >= 0:
        least_m = min(least_m, delta_m[i])
        n_moments += moments[i]
        i = following[i]
    return float(least_m * 500.0 * n_moments / scale)


@kernel(f"boolean({DATA}, {GROUPS}, int64, int64, int64)")
def _reaches(data: Data, groups: Groups, c: int, pivot: int, radius: int) -> bool:
    """Return whether no member is farther from a pivot than the radius."""
    first, following, _, _, _ = groups
    i = first[c]
    while i >= 0:
        if i != pivot and measure(data, pivot, i, radius) > radius:
            return False
        i = following[i]
    return True


@kernel(f"int64({DATA}, {TRACKS}, {GROUPS}, int64, int64)")
def nearest_to_all(data: Data, tracks: TrackData, groups: Groups, c: int, radius: int) -> int:
    """Return, of the members from which no other is beyond the radius, the nearest to all others, or -1."""
    first, following, _, _, _ = groups
    last_mm, last = -1.0, _NOBODY
    while True:
        best_mm, best = np.inf, _NOBODY
        i = first[c]
        while i >= 0:
            total_mm = 0.0
            j = first[c]
            while j >= 0:
                total_mm += apart_mm(tracks, i, j)
                j = following[j]
            is_later = total_mm > last_mm or (total_mm == last_mm and i > last)
            if is_later and total_mm < best_mm:
                best_mm, best = total_mm, i
            i = following[i]
        if best == _NOBODY or _reaches(data, groups, c, best, radius):
            return best
        last_mm, last = best_mm, best


@kernel(f"void({TRACKS}, {MEMBERS}, {GROUPS}, int64)")
def _measure_group(tracks: TrackData, members: MemberData, groups: Groups, c: int) -> None:
    first, following, own, state, _ = groups
    size, inside_mm = 0, 0.0
    i = first[c]
    while i >= 0:
        own[i] = 0.0
        j = first[c]
        while j >= 0:
            own[i] += apart_mm(tracks, i, j)
            j = following[j]
        size += 1
        inside_mm += own[i]
        i = following[i]
    n_users, _, fewest = _users_of(members, groups, c)
    state[c, 0], state[c, 1], state[c, 2] = size, inside_mm / 2, n_users < size or n_users > fewest


@kernel(f"void({TRACKS}, {MEMBERS}, {GROUPS})")
def measure_groups(tracks: TrackData, members: MemberData, groups: Groups) -> None:
    """Measure the distances inside all clusters, and find out which can do without a member."""
    for c in range(len(groups[0])):
        _measure_group(tracks, members, groups, c)


@kernel(f"boolean({DATA}, {TRACKS}, {MEMBERS}, {GROUPS}, {STATE}, int64[:, ::1], float64, int64)")
def _keeps_the_guarantee(
    data: Data,
    tracks: TrackData,
    members: MemberData,
    groups: Groups,
    search: SearchState,
    step: IntArray,
    may_lose_mm: float,
    radius: int,
) -> bool:
    """Return whether clusters, as a step made them, lose little of their discs, have the users that their members
    demand, and have pivots, which are then in the room for pivots."""
    _, pivots, _, _, found = search
    if members[4] > 0:
        lost_mm = 0.0
        for row in range(len(step)):
            lost_mm += groups[4][row] - _disc_mm(members, groups, step[row, 0])
        if may_lose_mm <= lost_mm:
            return False
    for row in range(len(step)):
        n_users, most, _ = _users_of(members, groups, step[row, 0])
        if n_users < most or n_users == 0:
            return False
    for row in range(len(step)):
        c, leaves = step[row, 0], step[row, 1]
        found[row] = pivots[c]
        if leaves == found[row] or not _reaches(data, groups, c, found[row], radius):
            found[row] = nearest_to_all(data, tracks, groups, c, radius)
        if found[row] == _NOBODY:
            return False
    return True


@kernel(f"boolean({DATA}, {TRACKS}, {MEMBERS}, {GROUPS}, {PAIRS}, {STATE}, int64[:, ::1], float64, int64)")
def take_step(
    data: Data,
    tracks: TrackData,
    members: MemberData,
    groups: Groups,
    pairs: GroupPairs,
    search: SearchState,
    step: IntArray,
    saved_mm: float,
    radius: int,
) -> bool:
    """Let members leave and join clusters, if that saves anything and keeps what clustering ensured.

    Args:
        data: The trajectories, for the radius.
        tracks: The same as tracks.
        members: What they demand.
        groups: The clusters; change.
        pairs: Pairs of them; change.
        search: The state of the search; changes.
        step: At most three clusters, each with the member that leaves it and the one that joins it, or -1, ``(s, 3)``.
        saved_mm: What the step saves.
        radius: Largest distance of a member from its pivot.

    Returns:
        Whether the step was taken.
    """
    cluster, pivots, changed, counts, found = search
    counts[0] -= 1
    if members[4] > 0:
        for row in range(len(step)):
            groups[4][row] = _disc_mm(members, groups, step[row, 0])
    _pass(groups, step, 1, 2)
    if not _keeps_the_guarantee(data, tracks, members, groups, search, step, saved_mm, radius):
        _pass(groups, step, 2, 1)
        return False
    counts[1] += 1
    for row in range(len(step)):
        if step[row, 1] >= 0:
            cluster[step[row, 1]] = _NOBODY
    for row in range(len(step)):
        c, joins = step[row, 0], step[row, 2]
        if joins >= 0:
            cluster[joins] = c
        pivots[c], changed[c] = found[row], counts[1]
        _measure_group(tracks, members, groups, c)
    for row in range(len(step)):
        value_pairs_of(tracks, groups, pairs, step[row, 0])
    return True


@kernel(f"void({DATA}, {TRACKS}, {MEMBERS}, {GROUPS}, {PAIRS}, {STATE}, int64)", allocates=True)
def take_best_steps(
    data: Data,
    tracks: TrackData,
    members: MemberData,
    groups: Groups,
    pairs: GroupPairs,
    search: SearchState,
    radius: int,
) -> None:
    """Take the move or exchange that saves most and is possible, again and again, as long as steps may be tried."""
    cluster, _, _, counts, _ = search
    n = len(cluster)
    step = np.full((2, 3), _NOBODY)
    while counts[0] > 0:
        pair = best_pair(pairs)
        if pair < 0:
            return
        code, saved_mm = pairs[5][pair], pairs[4][pair]
        moves, i, other = code // (n * n), code % (n * n) // n, code % n
        step[0, 0], step[0, 1], step[0, 2] = cluster[i], i, _NOBODY if moves else other
        step[1, 0], step[1, 1], step[1, 2] = other if moves else cluster[other], _NOBODY if moves else other, i
        if not take_step(data, tracks, members, groups, pairs, search, step, saved_mm, radius):
            pairs[6][pair], pairs[7][pair] = saved_mm, code
            value_pair(tracks, groups, pairs, pair)
