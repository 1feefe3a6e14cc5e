"""Regrouping (:mod:`core.models.kdelta.anonymize.cluster.regrouping`): the best steps between clusters."""

from __future__ import annotations

import numpy as np

from core.kernels.fragments.tracks import TRACKS, TrackData, apart_mm
from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "GROUPS",
    "PAIRS",
    "GroupPairs",
    "Groups",
    "best_pair",
    "chains",
    "first_chain",
    "mean_distances_mm",
    "saved_mm",
    "value_pair",
    "value_pairs",
    "value_pairs_of",
]

Groups = tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]
"""``c`` clusters of ``n`` tracks: the first member of each cluster, shape ``(c,)``; the next member after each, or -1,
shape ``(n,)``; the sum of the distances of each from the members of its cluster, whole millimetres, shape ``(n,)``; and
for each cluster its size, the sum of the distances inside it, and 1 if it can do without a member, shape ``(c, 3)``;
and room for a number of each track, shape ``(n,)``."""

GROUPS = "Tuple((int64[::1], int64[::1], float64[::1], float64[:, ::1], float64[::1]))"

GroupPairs = tuple[
    IntArray, IntArray, IntArray, IntArray, FloatArray, IntArray, FloatArray, IntArray, FloatArray, IntArray
]
"""``e`` pairs of clusters between which members may go:

* the two clusters, the smaller number first, ascending, shape ``(e, 2)``;
* where the pairs of each cluster begin in the next array, shape ``(c + 1,)``; numbers of its pairs, shape ``(2 e,)``;
* of the pairs in which a cluster comes first the one with the best step, or -1, shape ``(c,)``;
* what the best step of each pair saves, above 0, and its code; 0 and -1 if no step saves anything, shapes ``(e,)``;
* the last step that was refused, in the same way: only later ones count, shapes ``(e,)``;
* what it saves, about, that the first cluster passes its best member to the second, and the second to the first, and
  these members, shapes ``(e, 2)``.

The code of a step is ``i * n + j`` if members i and j are exchanged, i the smaller, and ``n * n + i * n + c`` if i
moves to cluster c. Of two steps the one that saves more comes first, of equal ones the one with the smaller code."""

PAIRS = (
    "Tuple((int64[:, ::1], int64[::1], int64[::1], int64[::1], float64[::1], int64[::1], float64[::1], int64[::1],"
    " float64[:, ::1], int64[:, ::1]))"
)


@kernel(f"void({TRACKS}, {GROUPS}, {PAIRS}, int64)")
def value_pair(tracks: TrackData, groups: Groups, pairs: GroupPairs, pair: int) -> None:
    """Find the best step between two clusters, and the best member of each to pass to the other.

    A cluster costs ``inside / size``. If j replaces i, the size stays. ``inside`` loses the distances of i from all
    members and gains those of j from all but i. A move makes the member's own cluster cheaper and the other one dearer.
    """
    first, following, own, state, to_other = groups
    both, _, _, _, worth, code, refused_worth, refused_code, promised, passing = pairs
    n = len(following)
    last_saved, last_step = refused_worth[pair], refused_code[pair]
    most, best = 0.0, -1
    j = first[both[pair, 1]]
    while j >= 0:
        to_other[j] = 0.0
        j = following[j]
    i = first[both[pair, 0]]
    while i >= 0:
        to_other[i] = 0.0
        j = first[both[pair, 1]]
        while j >= 0:
            apart = apart_mm(tracks, i, j)
            to_other[i] += apart
            to_other[j] += apart
            j = following[j]
        i = following[i]
    for side in range(2):
        here, there = both[pair, side], both[pair, 1 - side]
        size, inside, size_there, inside_there = state[here, 0], state[here, 1], state[there, 0], state[there, 1]
        promised[pair, side], passing[pair, side] = -np.inf, -1
        i = first[here]
        while i >= 0:
            promise = own[i] / size - to_other[i] * ((size_there - 1) / (size_there * size_there))
            if promise > promised[pair, side]:
                promised[pair, side], passing[pair, side] = promise, i
            if state[here, 2] > 0:
                cheaper = inside / size - (inside - own[i]) / (size - 1)
                dearer = (inside_there + to_other[i]) / (size_there + 1) - inside_there / size_there
                saved, step = cheaper - dearer, n * n + i * n + there
                if _first(last_saved, last_step, saved, step) and _first(saved, step, most, best):
                    most, best = saved, step
            i = following[i]
    size, size_there = state[both[pair, 0], 0], state[both[pair, 1], 0]
    i = first[both[pair, 0]]
    while i >= 0:
        j = first[both[pair, 1]]
        while j >= 0:
            between = apart_mm(tracks, i, j)
            here_less = own[i] - to_other[j] + between
            there_less = own[j] - to_other[i] + between
            saved, step = here_less / size + there_less / size_there, min(i, j) * n + max(i, j)
            if _first(last_saved, last_step, saved, step) and _first(saved, step, most, best):
                most, best = saved, step
            j = following[j]
        i = following[i]
    worth[pair], code[pair] = most, best
    _choose_best(pairs, both[pair, 0])


@kernel("boolean(float64, int64, float64, int64)")
def _first(saved: float, step: int, other_saved: float, other_step: int) -> bool:
    """Return whether a step comes before another one."""
    return saved > other_saved or (saved == other_saved and step < other_step)


@kernel(f"void({PAIRS}, int64)")
def _choose_best(pairs: GroupPairs, cluster: int) -> None:
    """Find the best of the pairs in which a cluster comes first."""
    both, starts, pairs_of, best, worth, code, _, _, _, _ = pairs
    best[cluster] = -1
    for at in range(starts[cluster], starts[cluster + 1]):
        pair, found = pairs_of[at], best[cluster]
        if (
            both[pair, 0] == cluster
            and code[pair] >= 0
            and (found < 0 or _first(worth[pair], code[pair], worth[found], code[found]))
        ):
            best[cluster] = pair


@kernel(f"int64({PAIRS})")
def best_pair(pairs: GroupPairs) -> int:
    """Return the pair with the best step of all, or -1 if no step saves anything."""
    _, _, _, best, worth, code, _, _, _, _ = pairs
    found = -1
    for pair in best:
        if pair >= 0 and (found < 0 or _first(worth[pair], code[pair], worth[found], code[found])):
            found = pair
    return found


@kernel(f"void({TRACKS}, {GROUPS}, {PAIRS})")
def value_pairs(tracks: TrackData, groups: Groups, pairs: GroupPairs) -> None:
    """Call :func:`value_pair` for all pairs."""
    for pair in range(len(pairs[0])):
        value_pair(tracks, groups, pairs, pair)


@kernel(f"void({TRACKS}, {GROUPS}, {PAIRS}, int64)")
def value_pairs_of(tracks: TrackData, groups: Groups, pairs: GroupPairs, cluster: int) -> None:
    """Call :func:`value_pair` for all pairs of a cluster that has changed. Refused steps count again."""
    starts, pairs_of = pairs[1], pairs[2]
    for at in range(starts[cluster], starts[cluster + 1]):
        pairs[6][pairs_of[at]], pairs[7][pairs_of[at]] = np.inf, -1
        value_pair(tracks, groups, pairs, pairs_of[at])


@kernel(f"Tuple((float64[::1], int64[:, ::1]))({GROUPS}, {PAIRS}, int64)", allocates=True)
def chains(groups: Groups, pairs: GroupPairs, each: int) -> tuple[FloatArray, IntArray]:
    """Find chains of three clusters, in which each passes its best member to the next.

    In a ring the third cluster passes a member to the first, which has the smallest number of the three. A path begins
    in a cluster that can do without a member. For a first and a second cluster only the best third one counts, and for
    a first cluster only the ``each`` best rings and the ``each`` best paths.

    Returns:
        What each chain saves, about, above 0, shape ``(h,)``. Its three clusters, the members that they pass on, -1 for
        the last one of a path, and 1 for a ring, shape ``(h, 7)``.
    """
    state = groups[3]
    both, starts, pairs_of, _, _, _, _, _, promised, passing = pairs
    c = len(starts) - 1
    promises, found, n_found = np.empty(2 * each * c), np.full((2 * each * c, 7), -1, np.int64), 0
    back, back_passes = np.full(c, -np.inf), np.full(c, -1, np.int64)  # from each cluster to the first
    for first in range(c):
        for at in range(starts[first], starts[first + 1]):
            pair = pairs_of[at]
            side = 1 if both[pair, 0] == first else 0
            back[both[pair, side]], back_passes[both[pair, side]] = promised[pair, side], passing[pair, side]
        for ring in range(2):
            begin = n_found
            for at in range(starts[first], starts[first + 1]):
                pair = pairs_of[at]
                side = 0 if both[pair, 0] == first else 1
                second = both[pair, 1 - side]
                if (second < first) if ring else (state[first, 2] == 0):
                    continue
                best, third, third_pair, third_side = 0.0, -1, -1, 0
                for at_next in range(starts[second], starts[second + 1]):
                    pair_next = pairs_of[at_next]
                    side_next = 0 if both[pair_next, 0] == second else 1
                    after = both[pair_next, 1 - side_next]
                    if after == first or (ring and after < first):
                        continue
                    promise = promised[pair, side] + promised[pair_next, side_next]
                    if ring:
                        promise += back[after]
                    if promise > best:
                        best, third, third_pair, third_side = promise, after, pair_next, side_next
                if third < 0 or (n_found == begin + each and best <= promises[n_found - 1]):
                    continue
                n_found = min(n_found + 1, begin + each)
                row = n_found - 1
                while row > begin and promises[row - 1] < best:
                    promises[row] = promises[row - 1]
                    found[row] = found[row - 1]
                    row -= 1
                promises[row] = best
                found[row, 0], found[row, 1], found[row, 2] = first, second, third
                found[row, 3], found[row, 4] = passing[pair, side], passing[third_pair, third_side]
                found[row, 5], found[row, 6] = back_passes[third] if ring else -1, ring
        for at in range(starts[first], starts[first + 1]):
            back[both[pairs_of[at], 0]] = back[both[pairs_of[at], 1]] = -np.inf
    return promises[:n_found], found[:n_found]


@kernel(f"float64({TRACKS}, {GROUPS}, int64, int64, int64)")
def saved_mm(tracks: TrackData, groups: Groups, cluster: int, leaves: int, joins: int) -> float:
    """Return how much less a cluster costs if a member leaves, or another track joins, or both; -1 for neither."""
    first, following, own, state, _ = groups
    size, inside = state[cluster, 0], state[cluster, 1]
    if leaves >= 0:
        size, inside = size - 1, inside - own[leaves]
    if joins >= 0:
        size += 1
        j = first[cluster]
        while j >= 0:
            if j != leaves:
                inside += apart_mm(tracks, joins, j)
            j = following[j]
    return float(state[cluster, 1] / state[cluster, 0] - inside / size)


@kernel(f"Tuple((int64, float64))({TRACKS}, {GROUPS}, int64[:, ::1], boolean[::1], int64)")
def first_chain(
    tracks: TrackData, groups: Groups, found: IntArray, touched: BoolArray, begin: int
) -> tuple[int, float]:
    """Find the first chain that saves something and has none of some clusters.

    Args:
        tracks: The tracks.
        groups: Their clusters.
        found: Chains as of :func:`chains`, in the order in which they are tried, shape ``(h, 7)``.
        touched: The clusters that it must not have, shape ``(c,)``.
        begin: The first chain that is tried.

    Returns:
        The chain, ``h`` if there is none, and what it saves.
    """
    for at in range(begin, len(found)):
        chain = found[at]
        if touched[chain[0]] or touched[chain[1]] or touched[chain[2]]:
            continue
        saved = 0.0
        for which in range(3):
            saved += saved_mm(tracks, groups, chain[which], chain[3 + which], chain[3 + (which + 2) % 3])
        if saved > 0:
            return at, saved
    return len(found), 0.0


@kernel(f"float64[::1]({TRACKS}, {GROUPS}, int64, int64[::1])", allocates=True)
def mean_distances_mm(tracks: TrackData, groups: Groups, i: int, clusters: IntArray) -> FloatArray:
    """Return the mean distance of a track from the members of each of some clusters, none of them empty."""
    means = np.zeros(len(clusters))
    for at in range(len(clusters)):
        j = groups[0][clusters[at]]
        while j >= 0:
            means[at] += apart_mm(tracks, i, j)
            j = groups[1][j]
        means[at] /= groups[3][clusters[at], 0]
    return means
