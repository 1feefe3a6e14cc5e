"""Check what a candidate release promises together with the releases of earlier windows.

Shares no code with the anonymizers: it gets sets, people, and what earlier windows released.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.models.kdelta.guarantee import Mixing
from core.windows.history import Roster

__all__ = ["collected", "large_flows"]


def large_flows(
    sets: Sequence[int], people: Sequence[int], earlier: Sequence[Roster], mixing: Mixing, *, is_one_crowd: bool = False
) -> int:
    """Count the pairs of an earlier set and a set of the candidate between which too many people go.

    Of the people of an earlier set who are in the candidate, at most one in ``l`` may be in any one of its sets, unless
    it is the only set of a window with too few people for two.

    Args:
        sets: Set of each of the ``r`` trajectories of the candidate.
        people: Keyed hash of the person behind each.
        earlier: What earlier windows within the horizon released.
        mixing: The promise.
        is_one_crowd: Whether the whole window has too few people for two sets.

    Raises:
        ValueError: The columns are not equally long.

    >>> import numpy as np
    >>> from core.records.record import Kind
    >>> from core.windows.window import WindowKey
    >>> before = Roster(
    ...     key=WindowKey(10, Kind.FRAGMENTS, "", 0), users=np.array([4, 7], np.uint64), groups=np.array([0, 0])
    ... )
    >>> [large_flows(sets, [4, 7, 8], [before], Mixing(l=2)) for sets in ([0, 1, 1], [0, 0, 1], [0, 0, 0])]
    [0, 1, 1]
    """
    if len(sets) != len(people):
        raise ValueError("sets and people must have one entry for each trajectory")
    members, places = collected(sets, people), collected(people, sets)
    if is_one_crowd and len(members) == 1:
        return 0
    too_large = 0
    for roster in earlier:
        for group_members in collected(roster.groups.tolist(), roster.users.tolist()).values():
            again = {person for person in group_members if person in places}
            to = {number for person in again for number in places[person]}
            too_large += sum(len(again & members[number]) * mixing.l > len(again) for number in to)
    return too_large


def collected(keys: Sequence[int], values: Sequence[int]) -> dict[int, set[int]]:
    """Return the values that stand beside each key.

    >>> collected([0, 1, 0], [4, 4, 7])
    {0: {4, 7}, 1: {4}}
    """
    found: dict[int, set[int]] = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, set()).add(value)
    return found
