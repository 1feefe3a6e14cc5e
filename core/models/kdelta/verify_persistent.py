"""Check what a candidate release promises together with the earlier windows of its epoch: nobody loses companions.

Shares no code with the anonymizers: it gets sets, people, and what earlier windows released.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.models.kdelta.guarantee import Mixing, Persistent
from core.models.kdelta.verify_across import collected, large_flows
from core.windows.history import Roster

__all__ = ["broken_persistence", "without_companions"]


def broken_persistence(
    sets: Sequence[int],
    people: Sequence[int],
    k: Sequence[int],
    earlier: Sequence[Roster],
    promise: Persistent,
    *,
    within_ms: int,
    is_one_crowd: bool = False,
) -> str | None:
    """Return how a candidate breaks the promise inside its epoch or at the epoch's border; None if it does not.

    Args:
        sets: Set of each of the ``r`` trajectories of the candidate.
        people: Keyed hash of the person behind each.
        k: How many companions each is given.
        earlier: What earlier windows within the horizon released, oldest first.
        promise: The promise.
        within_ms: An instant in the window.
        is_one_crowd: Whether the whole window has too few people for two sets.

    Raises:
        ValueError: The columns are not equally long.
    """
    epoch_ms = promise.window_ms * promise.horizon
    begin_ms = within_ms // epoch_ms * epoch_ms
    own = [roster for roster in earlier if begin_ms <= roster.key.start_ms < begin_ms + epoch_ms]
    if n_alone := without_companions(sets, people, k, own):
        return f"persistence is broken: {n_alone} with too few companions"
    if not own and (n_large := large_flows(sets, people, earlier[-1:], Mixing(l=promise.l), is_one_crowd=is_one_crowd)):
        return f"mixing between epochs is broken: {n_large} large_flows"
    return None


def without_companions(sets: Sequence[int], people: Sequence[int], k: Sequence[int], epoch: Sequence[Roster]) -> int:
    """Count the trajectories whose person has too few companions in the trajectory's set.

    A companion is a person of the set, the person included, who was in each set in which the person was in the earlier
    windows of the epoch.

    Args:
        sets: Set of each of the ``r`` trajectories of the candidate.
        people: Keyed hash of the person behind each.
        k: How many companions each is given.
        epoch: What the earlier windows of the epoch released.

    Raises:
        ValueError: The columns are not equally long.

    >>> import numpy as np
    >>> from core.records.record import Kind
    >>> from core.windows.window import WindowKey
    >>> before = Roster(
    ...     key=WindowKey(10, Kind.FRAGMENTS, "", 0), users=np.array([4, 7], np.uint64), groups=np.array([0, 0])
    ... )
    >>> without_companions([0, 0], [4, 7], [2, 2], [before]), without_companions([0, 0], [4, 9], [2, 2], [before])
    (0, 1)
    """
    if not len(sets) == len(people) == len(k):
        raise ValueError("sets, people and k must have one entry for each trajectory")
    past: dict[int, set[tuple[int, int]]] = {}
    for roster in epoch:
        for person, group in zip(roster.users.tolist(), roster.groups.tolist(), strict=True):
            past.setdefault(person, set()).add((roster.key.start_ms, group))
    members = collected(sets, people)
    counted: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
    without = 0
    for number, person, given in zip(sets, people, k, strict=True):
        own = frozenset(past.get(person, ()))
        if (number, own) not in counted:
            counted[number, own] = sum(own <= past.get(one, set()) for one in members[number])
        without += counted[number, own] < given
    return without
