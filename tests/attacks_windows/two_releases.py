"""Attacks on two releases of the same people and the same window: two deployments, or two kinds of release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.release.attacks.linked_places import VisitedPlaces
from tests.attacks_windows.checkins import KNOWN, Crowds
from tests.attacks_windows.fragments import fitting_people
from tests.attacks_windows.released import ReleasedWindow
from tests.attacks_windows.table import Line, median, percent

__all__ = ["checkins_and_fragments", "trajectories_and_stops", "two_deployments"]

_MOST_PEOPLE = 300


def two_deployments(first: Sequence[ReleasedWindow], second: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Look for the trajectories of one deployment in the release of another one with other settings.

    Two trajectories fit if they have as many visits, and the generalized locations at each place share a member.
    """
    n = n_one = n_right = 0
    others = {one.key: one for one in second}
    for one in first:
        other = others.get(one.key)
        if other is None:
            continue
        theirs = [tuple(map(frozenset, sequence)) for sequence in other.candidate.sequences]
        by_length: dict[int, list[int]] = {}
        for i, sequence in enumerate(theirs):
            by_length.setdefault(len(sequence), []).append(i)
        for user, sequence in zip(one.candidate.users, one.candidate.sequences, strict=True):
            sets = tuple(map(frozenset, sequence))
            fits = [i for i in by_length.get(len(sets), []) if all(a & b for a, b in zip(sets, theirs[i], strict=True))]
            n += 1
            if len(fits) == 1:
                n_one += 1
                n_right += other.candidate.users[fits[0]] == user
    if n:
        right = f", {percent(n_right / n_one)} of these rightly" if n_one else ""
        figure = f"{percent(n_one / n)} of {n}{right}"
        yield Line("two deployments (k=5, k=10): trajectories that fit exactly one of the other", "-", figure)


def checkins_and_fragments(fragments: Sequence[ReleasedWindow], checkins: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Know two locations of somebody in check-ins, and a place and time in fragments, of one window."""
    both = [one.both for one in _fitting(fragments, checkins, most_known=KNOWN, of_window=20)]
    if both:
        k = fragments[0].plan.guarantee.k
        figure = f"fewer than k fit both in {percent(float(np.mean(np.array(both) < k)))} of {len(both)}"
        yield Line("check-ins and fragments of the same person", f"one feed: at least {k}", figure)


def trajectories_and_stops(fragments: Sequence[ReleasedWindow], stops: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Know one place and time in the trajectories, and one stop, of somebody in one window."""
    found = _fitting(fragments, stops, most_known=1, of_window=100)
    if found:
        k, both = fragments[0].plan.guarantee.k, np.array([one.both for one in found])
        few, one = (percent(float(np.mean(some))) for some in (both < k, both == 1))
        figure = f"median {median(both.tolist())} fit both, fewer than k in {few}, one in {one} of {len(both)}"
        yield Line("a place and a stop of the same person", f"each alone: at least {k}", figure)
        least = f"least {min(one.near for one in found)} and {min(one.visiting for one in found)}"
        yield Line("  the same, each release alone", f"at least {k}", least)


class _Fitting(NamedTuple):
    """How many people fit what is known of somebody."""

    near: int
    visiting: int
    both: int


def _fitting(
    fragments: Sequence[ReleasedWindow], visits: Sequence[ReleasedWindow], *, most_known: int, of_window: int
) -> list[_Fitting]:
    """Return how many people fit what is known of somebody in two releases, for people who are in both.

    Args:
        fragments: Released windows of trajectories.
        visits: Released windows of check-ins or stops.
        most_known: How many released visits of each person are known.
        of_window: Of how many people of a window something is known.
    """
    rng, others = np.random.default_rng(5), {one.key.window: one for one in visits}
    found: list[_Fitting] = []
    for one in fragments:
        other = others.get(one.key.window)
        if other is None or len(found) >= _MOST_PEOPLE:
            continue
        assert isinstance(other.extract, VisitedPlaces)
        crowds = Crowds.of(other, rng, most_known=most_known)
        both = np.intersect1d(one.window.hashes[one.candidate.users], np.array(sorted(crowds.people), np.uint64))
        for person in rng.choice(both, min(of_window, len(both)), replace=False).tolist():
            near = fitting_people(one, person, rng)
            fits = frozenset().union(*(crowds.members[unit] for unit in crowds.people[person].tolist()))
            if person in near and person in fits:
                found.append(_Fitting(len(near), len(fits), len(near & fits)))
    return found
