"""Slow and obvious check of what windows of one shard promise together: who shares whose sets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from core.windows.history import Roster

__all__ = ["fewest_companions", "largest_share"]


def _sets(rosters: Sequence[Roster]) -> dict[int, list[tuple[int, set[int]]]]:
    """List, for each person, the people of each set that the person is in, with the window's number."""
    found: dict[int, list[tuple[int, set[int]]]] = {}
    for number, roster in enumerate(rosters):
        entries = list(zip(roster.users.tolist(), roster.groups.tolist(), strict=True))
        for user, group in entries:
            found.setdefault(user, []).append((number, {other for other, its in entries if its == group}))
    return found


def fewest_companions(rosters: Sequence[Roster], demanded: Mapping[int, int] | None = None, *, k: int = 0) -> int:
    """Return by how many people the worst choice of sets of a person exceeds what the person demands.

    An adversary knows one set of a person in some windows, the last one among them; the people who are in all of these
    sets are the person's companions.

    Args:
        rosters: Windows of one epoch.
        demanded: How many companions people demand in the last window; k if not given.
        k: How many everybody is given.
    """
    worst = 1_000
    for user, its in _sets(rosters).items():
        last = len(rosters) - 1
        by_window = [[people for number, people in its if number == window] for window in range(len(rosters))]
        if not by_window[last]:
            continue
        earlier = [[*sets, None] for sets in by_window[:last]]  # None: the adversary did not see this window
        for choice in itertools.product(*earlier, by_window[last]):
            companions = set.intersection(*(one for one in choice if one is not None))
            worst = min(worst, len(companions) - max(k, (demanded or {}).get(user, 0)))
    return worst


def largest_share(before: Roster, after: Roster) -> float:
    """Return the largest share of a set's people, as far as they are released again, in one set of the next window."""
    shares = [0.0]
    for group in set(before.groups.tolist()):
        people = set(before.users[before.groups == group].tolist()) & set(after.users.tolist())
        for other in set(after.groups.tolist()):
            there = people & set(after.users[after.groups == other].tolist())
            shares += [len(there) / len(people)] if people else []
    return max(shares)
