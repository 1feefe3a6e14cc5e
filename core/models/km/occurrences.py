"""Where subtrajectories occur, by their definition: what both checks of k^m-anonymity count with.

An entry says that a visit can be the last one of a subtrajectory. Anonymizers must not use this module: a mistake here
must not be repeated there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.records.arrays import IntArray, changes, ranges

__all__ = ["first_completions", "following", "supports_of"]

_VISITS_AT_ONCE = 1_000_000
"""Bounds the memory of one step of the search, not its result."""


def first_completions(
    prefix: IntArray, visits: IntArray, locations: IntArray, n_locations: int, ends: IntArray
) -> tuple[IntArray, IntArray]:
    """Number the subtrajectories that consist of a known prefix and one location more.

    Of a trajectory's visits that complete a subtrajectory the first is kept: what follows others follows it, too.

    Args:
        prefix: Number of a prefix, from 0, shape ``(e,)``.
        visits: A visit that can follow this prefix, shape ``(e,)``.
        locations: Number of each visit's location, in ``0..n_locations - 1``, shape ``(p,)``.
        n_locations: How many locations there are.
        ends: Where the trajectory of each visit ends, shape ``(p,)``.

    Returns:
        Of each entry that is left the number of the subtrajectory, from 0, ascending, and the visit that completes it.
    """
    ordered = np.sort((prefix * n_locations + locations[visits]) * len(locations) + visits)
    subtrajectory, visits = np.divmod(ordered, len(locations))
    is_new = changes(subtrajectory)
    kept = is_new | changes(ends[visits])
    return (np.cumsum(is_new) - 1)[kept], visits[kept]


def supports_of(number: IntArray, persons: IntArray) -> IntArray:
    """Count the distinct people of each subtrajectory.

    Args:
        number: Number of each entry's subtrajectory, from 0, ascending.
        persons: Number of each entry's person, ascending inside a subtrajectory.
    """
    return np.bincount(number[changes(number) | changes(persons)])


def following(
    number: IntArray, first: IntArray, n_after: IntArray, *, n_locations: int, n_visits: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the visits that can follow subtrajectories, in parts that fit the memory: new prefixes, and the visits.

    Args:
        number: Number of each entry's subtrajectory, ascending, shape ``(e,)``.
        first: The first visit that can follow it, shape ``(e,)``.
        n_after: How many visits can, one after the other, shape ``(e,)``.
        n_locations: How many locations there are.
        n_visits: How many visits there are.
    """
    some = n_after > 0
    number, first, n_after = number[some], first[some], n_after[some]
    # The codes to sort are below 2**63: prefixes are at most as many as visits, unless there is only one.
    most = min(_VISITS_AT_ONCE, 2**62 // (n_locations * n_visits))
    for part in _parts(number, n_after, most):
        n = n_after[part]
        yield np.repeat(number[part] - number[part][0], n), ranges(first[part], n)


def _parts(number: IntArray, n_after: IntArray, most: int) -> Iterator[slice]:
    """Cut entries between numbers, ascending, into parts with at most so many visits after them, or with one number."""
    starts = np.append(np.flatnonzero(changes(number)), len(number))
    total = np.append(0, np.cumsum(n_after))[starts]
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(total, total[first] + most, "right")) - 1)
        yield slice(int(starts[first]), int(starts[last]))
        first = last
