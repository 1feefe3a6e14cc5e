"""Repair a window person by person: suppress visits and split trajectories until nothing infrequent is left."""

from __future__ import annotations

import numpy as np

from core.kernels.checkins.embeddings import is_embedded, most_used_visit, single_steps
from core.kernels.kernel import kernel
from core.records.arrays import BoolArray, FloatArray, IntArray, SmallIntArray

__all__ = ["repair_people"]

_FRAGILE = (0.3, 0.15, 0.075)
"""Weight of each infrequent subtrajectory that others may come to have, if a support falls from k, k + 1 or k + 2.

The weights are below 1: the support may not fall further, and some of these people lose the subtrajectory for another
reason. Measured on both kinds of inputs of ``tests/benchmarks/inputs.py``, weights from 0.2 to 0.5 suppress least,
within a twentieth of each other.
"""

_EARLIEST, _CLEARLY = 0.2, 1.2
"""Share of the exposed people after whom the suppressed visits are predicted, and multiple of the budget beyond which a
prediction ends the repair."""


@kernel("int64[::1](int32[::1], int32[::1], int64)", allocates=True)
def locations_of(prefixes: SmallIntArray, lasts: SmallIntArray, number: int) -> IntArray:
    """Return the locations of a subtrajectory."""
    size, prefix = 0, number
    while prefix >= 0:
        size, prefix = size + 1, prefixes[prefix]
    found = np.empty(size, np.int64)
    while size > 0:
        size -= 1
        found[size] = lasts[number]
        number = prefixes[number]
    return found


@kernel("Tuple((int64[::1], int64[::1], int32[::1]))(int64[::1], int32[::1], int64)", allocates=True)
def pairs_by_person(
    supporter_starts: IntArray, supporters: SmallIntArray, n_users: int
) -> tuple[IntArray, IntArray, SmallIntArray]:
    """List the pairs of a subtrajectory and a supporter by supporter, then by subtrajectory.

    Returns:
        Where the pairs of each person begin, shape ``(n_users + 1,)``; the pairs, numbered as in ``supporters``; the
        subtrajectory of each pair.
    """
    starts = np.zeros(n_users + 2, np.int64)
    for user in supporters:
        starts[user + 2] += 1
    for user in range(n_users):
        starts[user + 2] += starts[user + 1]
    by_person, subtrajectory_of = np.empty(len(supporters), np.int64), np.empty(len(supporters), np.int32)
    for number in range(len(supporter_starts) - 1):
        for pair in range(supporter_starts[number], supporter_starts[number + 1]):
            user = supporters[pair]
            subtrajectory_of[pair] = number
            by_person[starts[user + 1]] = pair
            starts[user + 1] += 1
    return starts, by_person, subtrajectory_of


@kernel(
    "int64(int64[::1], int64, int32[::1], int32[::1], int32[::1], int64[::1], int64,"
    " int64[::1], boolean[::1], boolean[::1], int64, int64, float64[:, ::1])",
    allocates=True,
)
def add_steps(
    pairs: IntArray,
    n_pairs: int,
    subtrajectory_of: SmallIntArray,
    prefixes: SmallIntArray,
    lasts: SmallIntArray,
    supports: IntArray,
    k: int,
    locations: IntArray,
    kept: BoolArray,
    begins: BoolArray,
    first: int,
    end: int,
    weights: FloatArray,
) -> int:
    """Sum the weights of the subtrajectories that each single step removes from a person.

    An infrequent subtrajectory counts 1. Harm to others is negative and counts less, by the support.

    Args:
        pairs: Pairs of the person; those of subtrajectories that the person no longer has are taken out, in place.
        n_pairs: Number of pairs.
        subtrajectory_of: Subtrajectory of each pair.
        prefixes: Of each subtrajectory.
        lasts: Of each subtrajectory.
        supports: Of each subtrajectory.
        k: Least support.
        locations: See :mod:`.embeddings`, like the next four.
        kept: Of every visit.
        begins: Of every visit.
        first: The person's first visit.
        end: The end of the person's visits.
        weights: Receives the sums, for suppressions and for splits after a visit, shape ``(2, end - first)`` or longer.

    Returns:
        The number of pairs that are left.
    """
    for visit in range(end - first):
        weights[0, visit] = weights[1, visit] = 0.0
    steps, latest, n_left = np.empty(end - first + 2, np.int64), np.empty(end - first, np.int64), 0
    for i in range(n_pairs):
        number = subtrajectory_of[pairs[i]]
        wanted = locations_of(prefixes, lasts, number)
        if not single_steps(wanted, locations, kept, begins, first, end, steps, latest):
            continue
        pairs[n_left] = pairs[i]
        n_left += 1
        weight = 1.0 if supports[number] < k else -(k - 1) * _FRAGILE[supports[number] - k]
        size = len(wanted)
        for j in range(size):
            if steps[j] >= 0:
                weights[0, steps[j] - first] += weight
        for visit in range(steps[size], steps[size + 1]):
            weights[1, visit - first] += weight
    return n_left


@kernel("Tuple((int64, int64))(float64[:, ::1], float64[:, ::1], float64, float64, boolean, int64)")
def best_step(
    repaired: FloatArray, harm: FloatArray, suppression_m: float, split_m: float, may_split: bool, n: int
) -> tuple[int, int]:
    """Choose the visit to suppress, or the visit to split after.

    The best step has the largest gain for its price; then it repairs most; then it is a suppression; then it is the
    latest.

    Args:
        repaired: Number of infrequent subtrajectories that each step removes: suppressions, then splits, shape
            ``(2, n)`` or longer.
        harm: Sum of the weights of the fragile subtrajectories that each removes, 0 or less, same shape.
        suppression_m: Price of a suppression, above 0.
        split_m: Price of a split, above 0.
        may_split: Whether a split is allowed.
        n: Number of the person's visits.

    Returns:
        0 for a suppression, 1 for a split, -1 if no step repairs anything; and the visit.
    """
    best, at, best_value, most = -1, -1, 0.0, 0.0
    for way in range(2 if may_split else 1):
        price_m = split_m if way else suppression_m
        for visit in range(n):
            if repaired[way, visit] == 0:
                continue
            gain = repaired[way, visit] + harm[way, visit]
            value = gain / price_m if gain > 0 else gain * price_m
            is_better = best < 0 or value > best_value
            if value == best_value:
                is_better |= repaired[way, visit] > most or (repaired[way, visit] == most and way == best)
            if is_better:
                best, at, best_value, most = way, visit, value, repaired[way, visit]
    return best, at


@kernel(
    "int64(int64[::1], int64, boolean[::1], int32[::1], int32[::1], int32[::1],"
    " int64[::1], boolean[::1], boolean[::1], int64, int64)"
)
def count_left(
    pairs: IntArray,
    n_pairs: int,
    has: BoolArray,
    subtrajectory_of: SmallIntArray,
    prefixes: SmallIntArray,
    lasts: SmallIntArray,
    locations: IntArray,
    kept: BoolArray,
    begins: BoolArray,
    first: int,
    end: int,
) -> int:
    """Update and count which subtrajectories a person still has: ``has[pair]`` becomes False where one is lost."""
    n_left = 0
    for i in range(n_pairs):
        pair = pairs[i]
        if has[pair]:
            wanted = locations_of(prefixes, lasts, subtrajectory_of[pair])
            has[pair] = is_embedded(wanted, locations, kept, begins, first, end)
            n_left += has[pair]
    return n_left


@kernel("int64[::1](boolean[::1], boolean[::1], int64[::1])", allocates=True)
def useful_splits(is_split: BoolArray, kept: BoolArray, starts: IntArray) -> IntArray:
    """Return the splits that separate kept visits of a trajectory, ascending; of equal ones the first."""
    n_visits = len(kept)
    n_before = np.zeros(n_visits + 1, np.int64)  # kept visits before each visit
    for visit in range(n_visits):
        n_before[visit + 1] = n_before[visit] + kept[visit]
    is_separate = np.zeros(n_visits + 1, np.bool_)  # whether visits are separated after that many kept ones
    for start in starts:
        is_separate[n_before[start]] = True
    found, n = np.empty(n_visits, np.int64), 0
    for visit in range(n_visits):
        if is_split[visit] and not is_separate[n_before[visit]]:
            is_separate[n_before[visit]] = True
            found[n] = visit
            n += 1
    return found[:n]


@kernel("int64[::1](int64[::1], int64[::1], int64)", allocates=True)
def visits_by_person(starts: IntArray, users: IntArray, n_users: int) -> IntArray:
    """Return where the visits of each person begin, shape ``(n_users + 1,)``; the last entry is their end."""
    visits_of = np.zeros(n_users + 1, np.int64)
    for trajectory in range(len(users)):
        visits_of[users[trajectory] + 1] = starts[trajectory + 1]
    for user in range(n_users):
        visits_of[user + 1] = max(visits_of[user], visits_of[user + 1])
    return visits_of


@kernel(
    "boolean(int64[::1], int64, int64[::1], int64, int32[::1], int32[::1], int32[::1], int64[::1], int64,"
    " int64[::1], boolean[::1], boolean[::1], boolean[::1], int64, int64, float64, float64, int64[::1])",
    allocates=True,
)
def repair_some(
    infrequent: IntArray,
    n_infrequent: int,
    fragile: IntArray,
    n_fragile: int,
    subtrajectory_of: SmallIntArray,
    prefixes: SmallIntArray,
    lasts: SmallIntArray,
    supports: IntArray,
    k: int,
    locations: IntArray,
    kept: BoolArray,
    begins: BoolArray,
    is_split: BoolArray,
    first: int,
    end: int,
    suppression_m: float,
    split_m: float,
    left: IntArray,
) -> bool:
    """Remove some infrequent subtrajectories from a person, step by step.

    Args:
        infrequent: Pairs of the person; changed in place.
        n_infrequent: Number of them.
        fragile: Pairs of the person to which harm is considered.
        n_fragile: Number of them.
        subtrajectory_of: See :func:`add_steps`, like the next nine.
        prefixes: Of each subtrajectory.
        lasts: Of each subtrajectory.
        supports: Of each subtrajectory.
        k: Least support.
        locations: Of every visit.
        kept: Of every visit; changed in place.
        begins: Of every visit; changed in place.
        is_split: Whether a trajectory is split before a visit; changed in place.
        first: The person's first visit.
        end: The end of the person's visits.
        suppression_m: Price of a suppression.
        split_m: Price of a split.
        left: Suppressions, splits and effort that are left, shape ``(3,)``; changed in place.

    Returns:
        Whether what is left was enough.
    """
    repaired, harm = np.empty((2, end - first)), np.empty((2, end - first))
    considered, n_considered = fragile[:n_fragile].copy(), n_fragile
    while True:
        n_infrequent = add_steps(
            infrequent, n_infrequent, subtrajectory_of, prefixes, lasts, supports, k,
            locations, kept, begins, first, end, repaired,
        )  # fmt: skip
        if n_infrequent == 0:
            return True
        left[2] -= n_infrequent + n_fragile
        if left[2] < 0:
            return False
        n_considered = add_steps(
            considered, n_considered, subtrajectory_of, prefixes, lasts, supports, k,
            locations, kept, begins, first, end, harm,
        )  # fmt: skip
        way, at = best_step(repaired, harm, suppression_m, split_m, left[1] > 0, end - first)
        visit = first + at
        if way < 0:
            wanted = locations_of(prefixes, lasts, subtrajectory_of[infrequent[0]])
            visit = most_used_visit(wanted, locations, kept, begins, first, end)
        if way == 1:
            begins[visit + 1] = is_split[visit + 1] = True
            left[1] -= 1
        elif left[0] == 0:
            return False
        else:
            kept[visit] = False
            left[0] -= 1


@kernel(
    "Tuple((boolean, int64, boolean[::1], int64[::1]))"
    "(int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int32[::1],"
    " int64, float64, float64, int64, int64, int64, int64)",
    allocates=True,
)
def repair_people(
    locations: IntArray,
    starts: IntArray,
    users: IntArray,
    prefixes: SmallIntArray,
    lasts: SmallIntArray,
    supporter_starts: IntArray,
    supporters: SmallIntArray,
    k: int,
    suppression_m: float,
    split_m: float,
    most_suppressions: int,
    most_splits: int,
    effort: int,
    at_once: int,
) -> tuple[bool, int, BoolArray, IntArray]:
    """Suppress visits and split trajectories until no subtrajectory has a support in ``1..k - 1``.

    People with an infrequent subtrajectory are repaired one by one, people exposed by the repair of others after them.
    Each step removes most infrequent subtrajectories of the person for its price; harm to others is subtracted.

    Args:
        locations: Location id of every visit, shape ``(p,)``.
        starts: Where each trajectory begins, shape ``(n + 1,)``.
        users: User of each trajectory, ascending, shape ``(n,)``.
        prefixes: The window's subtrajectories, as :func:`.subtrajectories.count_subtrajectories` returns them.
        lasts: See ``prefixes``.
        supporter_starts: See ``prefixes``.
        supporters: See ``prefixes``.
        k: Least support.
        suppression_m: Price of a suppressed visit, above 0.
        split_m: Price of a split, above 0.
        most_suppressions: Most visits that may be suppressed.
        most_splits: Most splits.
        effort: (Subtrajectory, person) pairs that may be examined.
        at_once: Most infrequent subtrajectories of a person that are repaired together, and most fragile ones that are
            considered with them, at least 1.

    Returns:
        Whether the window is repaired: not if that takes more suppression or effort than is allowed, or is predicted
        to take clearly more suppression; the effort that is left, below 0 if more was needed; the kept visits, shape
        ``(p,)``; the visits before which a trajectory is split, ascending.
    """
    n_visits, n_users = len(locations), users[-1] + 1 if len(users) else 0
    begins, is_split = np.zeros(n_visits + 1, np.bool_), np.zeros(n_visits + 1, np.bool_)
    for start in starts:
        begins[start] = True
    visits_of = visits_by_person(starts, users, n_users)
    kept = np.ones(n_visits, np.bool_)
    no_splits = np.empty(0, np.int64)
    left = np.empty(3, np.int64)
    left[0], left[1], left[2] = most_suppressions, most_splits, effort

    # A pair is a subtrajectory and a supporter.
    supports = np.empty(len(lasts), np.int64)
    for number in range(len(lasts)):
        supports[number] = supporter_starts[number + 1] - supporter_starts[number]
    has = np.ones(len(supporters), np.bool_)
    pairs_of, by_person, subtrajectory_of = pairs_by_person(supporter_starts, supporters, n_users)

    # A queue of people: each is in it at most once.
    queue, waits, head, n_waiting = np.empty(n_users, np.int64), np.zeros(n_users, np.bool_), 0, 0
    for number in range(len(lasts)):
        if supports[number] < k:
            for pair in range(supporter_starts[number], supporter_starts[number + 1]):
                waits[supporters[pair]] = True
    for user in range(n_users):
        if waits[user]:
            queue[n_waiting] = user
            n_waiting += 1
    n_exposed, turn = n_waiting, 0

    most_pairs = 0
    for user in range(n_users):
        most_pairs = max(most_pairs, pairs_of[user + 1] - pairs_of[user])
    before, infrequent = np.empty(most_pairs, np.int64), np.empty(most_pairs, np.int64)
    near, fragile = np.empty(min(at_once, most_pairs), np.int64), np.empty(min(at_once, most_pairs), np.int64)

    while n_waiting:
        user = queue[head]
        head, n_waiting, waits[user] = (head + 1) % n_users, n_waiting - 1, False
        first, end = visits_of[user], visits_of[user + 1]
        n_before, n_infrequent, n_fragile = 0, 0, 0
        for i in range(pairs_of[user], pairs_of[user + 1]):
            pair = by_person[i]
            if not has[pair]:
                continue
            before[n_before] = pair
            n_before += 1
            support = supports[subtrajectory_of[pair]]
            if support < k:
                infrequent[n_infrequent] = pair
                n_infrequent += 1
            elif support < k + len(_FRAGILE) and n_fragile < at_once:
                fragile[n_fragile] = pair
                n_fragile += 1
        left[2] -= n_before
        if left[2] < 0:
            return False, left[2], kept, no_splits

        # Longer ones have larger numbers: short ones come first, and repairing them removes most of the others.
        n_done, is_changed = 0, n_infrequent > 0
        while n_done < n_infrequent:
            n_near = min(n_infrequent - n_done, at_once)
            for i in range(n_near):
                near[i] = infrequent[n_done + i]
            n_done += n_near
            if not repair_some(
                near, n_near, fragile, n_fragile, subtrajectory_of, prefixes, lasts, supports, k,
                locations, kept, begins, is_split, first, end, suppression_m, split_m, left,
            ):  # fmt: skip
                return False, left[2], kept, no_splits
            left[2] -= count_left(
                before, n_before, has, subtrajectory_of, prefixes, lasts, locations, kept, begins, first, end
            )
            if left[2] < 0:
                return False, left[2], kept, no_splits
            n_listed, n_infrequent = n_infrequent, n_done
            for i in range(n_done, n_listed):
                if has[infrequent[i]]:
                    infrequent[n_infrequent] = infrequent[i]
                    n_infrequent += 1

        # Queue the other supporters of what has become infrequent.
        for i in range(n_before if is_changed else 0):
            if has[before[i]]:
                continue
            number = subtrajectory_of[before[i]]
            supports[number] -= 1
            if supports[number] != k - 1:
                continue
            for pair in range(supporter_starts[number], supporter_starts[number + 1]):
                other = supporters[pair]
                if has[pair] and not waits[other]:
                    waits[other] = True
                    queue[(head + n_waiting) % n_users] = other
                    n_waiting += 1

        turn += 1
        # People exposed from the start come first, people exposed by the repair of others after them.
        if n_exposed * _EARLIEST < turn <= n_exposed:
            foretold = min((most_suppressions - left[0]) * n_exposed / turn, n_visits)
            if foretold > _CLEARLY * most_suppressions:
                return False, left[2], kept, no_splits
    return True, left[2], kept, useful_splits(is_split, kept, starts)
