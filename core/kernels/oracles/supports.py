"""Slow and obvious versions of :mod:`core.kernels.checkins.supports`, on dictionaries and sets instead of books."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from core.records.arrays import IntArray

__all__ = ["count_supports", "first_infrequent", "merge_locations", "previous_visits", "remove_location"]

Supporters = dict[tuple[int, ...], set[int]]
"""The people who support each subtrajectory."""


def previous_visits(starts: IntArray, locations: IntArray, n_locations: int) -> list[int]:
    """Return for each visit the previous one to its location in its trajectory, or -1."""
    previous = []
    for start, end in pairwise(starts.tolist()):
        for visit in range(start, end):
            previous.append(max((v for v in range(start, visit) if locations[v] == locations[visit]), default=-1))
    return previous


def count_supports(size: int, users: IntArray, starts: IntArray, locations: IntArray) -> Supporters:
    """Return the people with each subtrajectory of one size, in the order in which these are found first."""
    people: Supporters = {}
    for user, start, end in zip(users.tolist(), starts, starts[1:], strict=False):
        for key in combinations(locations[start:end].tolist(), size):
            people.setdefault(key, set()).add(user)
    return people


def merge_locations(people: Supporters, kept: int, absorbed: int) -> Supporters:
    """Return the people after every ``absorbed`` became ``kept``."""
    merged: Supporters = {}
    for key, those in people.items():
        new = tuple(kept if location == absorbed else location for location in key)
        merged[new] = merged.get(new, set()) | those
    return merged


def remove_location(people: Supporters, location: int) -> Supporters:
    """Return the people without the subtrajectories that hold a location."""
    return {key: those for key, those in people.items() if location not in key}


def first_infrequent(people: Supporters, k: int, listed: Sequence[Sequence[int]], into: Sequence[int]) -> int:
    """Return the number of the first subtrajectory that is infrequent after its locations were merged."""
    for number, key in enumerate(listed):
        if 0 < len(people.get(tuple(_merged(location, into) for location in key), ())) < k:
            return number
    return len(listed)


def _merged(location: int, into: Sequence[int]) -> int:
    return location if into[location] == location else _merged(into[location], into)
