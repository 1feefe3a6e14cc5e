"""Check of a candidate release and the traces of its epoch: people are together with those they were with before.

Shares no code with the anonymizers.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.models.kdelta.guarantee import Persistent
from core.windows.history import Trace

__all__ = ["count_without_companions"]


def count_without_companions(
    sets: Sequence[int],
    users: Sequence[int],
    k: Sequence[int],
    traces: Sequence[Trace],
    promise: Persistent,
    *,
    least_k: int,
    within_ms: int,
) -> int:
    """Count the released trajectories whose person has too few companions in their set.

    A companion is a person of the set, the person included, who was in each set in which the person was in the earlier
    windows of the epoch.

    Args:
        sets: Set of each of the ``r`` released trajectories.
        users: Keyed hash of the person behind each.
        k: How many companions each demands.
        traces: What earlier windows released. Those of other epochs do not count.
        promise: What is promised.
        least_k: How many companions everybody is given.
        within_ms: An instant in the window.

    Raises:
        ValueError: The columns are not equally long.
    """
    if not len(sets) == len(users) == len(k):
        raise ValueError("sets, users and k must have one entry for each trajectory")
    epoch_ms = promise.window_ms * promise.horizon
    begin_ms = within_ms - within_ms % epoch_ms
    entries_of: dict[int, set[tuple[int, int]]] = {}
    for trace in traces:
        if begin_ms <= trace.key.start_ms < begin_ms + epoch_ms:
            for user, group in zip(trace.users.tolist(), trace.groups.tolist(), strict=True):
                entries_of.setdefault(user, set()).add((trace.key.start_ms, group))
    people_of: dict[int, set[int]] = {}
    for set_, user in zip(sets, users, strict=True):
        people_of.setdefault(set_, set()).add(user)
    n_companions: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
    without = 0
    for set_, user, demanded in zip(sets, users, k, strict=True):
        entries = frozenset(entries_of.get(user, ()))
        if (set_, entries) not in n_companions:
            n_companions[set_, entries] = sum(entries <= entries_of.get(one, set()) for one in people_of[set_])
        without += n_companions[set_, entries] < max(demanded, least_k)
    return without
