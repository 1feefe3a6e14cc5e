"""Simulated attacks: the probability that an adversary with a little knowledge of a person finds the person.

For each person of a sample the adversary gets true knowledge, and takes every released trajectory that fits it. The
probability of finding the person is one over the number of people behind these trajectories if the person is among
them, and zero if not. The attack uses only what is published; the evaluation uses the true owners. The figures are for
the operator. They are never published, because they are exact figures of few people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, pairwise

import numpy as np

from core.kernels.fragments.attack import found_by_place, found_by_time
from core.records.arrays import FloatArray, IntArray, distinct, numbered, ranges
from core.trajectories.trajectory import PointTrajectories, Sequences

__all__ = ["SAMPLE", "Attack", "PublishedPoints", "Risk", "attack_points", "attack_sequences", "worst"]

SAMPLE = 200
"""Most people of a window that are attacked. The time stays below a few percent of anonymizing. If 1 % of the people
can be found, a sample of this size misses all of them in one of seven windows."""


class Attack(StrEnum):
    """The knowledge of the adversary."""

    PLACES = "places"
    """Check-ins: up to m places of the person, in order. Fragments: a position within delta of one of the person."""

    TIMES = "times"
    """Fragments: also the time of the position. Check-ins are released without times, so times add only the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """The result of an attack on a sample of people."""

    highest: float
    """Largest probability of finding a person of the sample."""

    mean: float
    """Mean probability over the sample."""

    people: int
    """Number of people in the sample."""


def attack_sequences(
    truth: Sequences,
    names: Sequence[str],
    published: Sequence[Sequence[tuple[str, ...]]],
    owners: Sequence[int],
    *,
    m: int,
    generator: np.random.Generator,
) -> dict[Attack, Risk]:
    """Attack a release of sequences with up to ``m`` places of a person, in their order.

    Args:
        truth: The true trajectories.
        names: Name of each true location.
        published: Released trajectories: the members of each generalized location, in order.
        owners: User number, in the truth, of each released trajectory.
        m: Most places that the adversary knows.
        generator: Draws people and places.

    Returns:
        The risk of :data:`Attack.PLACES`. That of :data:`Attack.TIMES` is the same, and left out.
    """
    book = _Book(published)
    owner = np.asarray(owners, dtype=np.int64)
    begins = _begins(truth.users, truth.n_users)
    found: dict[tuple[tuple[int, ...], ...], IntArray] = {}

    def probability(user: int) -> float:
        which = int(generator.integers(begins[user], begins[user + 1]))
        visits = truth.locations[truth.starts[which] : truth.starts[which + 1]]
        if not len(visits):
            return 0.0  # there is nothing to know about the person
        known = np.sort(generator.choice(len(visits), size=min(m, len(visits)), replace=False))
        places = tuple(book.labels_of(names[location]) for location in visits[known].tolist())
        if places not in found:
            found[places] = distinct(owner[book.containing(places)])
        return _share(user, found[places])

    return {Attack.PLACES: _attack(truth.n_users, probability, generator)}


class _Book:
    """Index of the occurrences of each generalized location in a release."""

    def __init__(self, published: Sequence[Sequence[tuple[str, ...]]]) -> None:
        place_at, groups = numbered(chain.from_iterable(published))
        self._labels: dict[str, list[int]] = {}
        for number, place in enumerate(groups):
            for name in place:
                self._labels.setdefault(name, []).append(number)
        lengths = np.array([len(trajectory) for trajectory in published], dtype=np.int64)
        self._width = int(lengths.max(initial=0)) + 1
        at = ranges(np.arange(len(lengths)) * self._width, lengths)  # ascending
        order = np.argsort(place_at.astype(np.min_scalar_type(len(groups))), kind="stable")  # small numbers sort faster
        cuts = np.searchsorted(place_at[order], np.arange(len(groups) + 1))
        self._at = [at[order[first:last]] for first, last in pairwise(cuts.tolist())]
        self._at_any: dict[tuple[int, ...], IntArray] = {}
        self._first: dict[tuple[int, ...], tuple[IntArray, IntArray]] = {}

    def labels_of(self, name: str) -> tuple[int, ...]:
        """Return the generalized locations that contain a place: several with local recoding."""
        return tuple(self._labels.get(name, ()))

    def containing(self, places: Sequence[tuple[int, ...]]) -> IntArray:
        """Return the trajectories that visit some places in this order, each by any of its labels, shape ``(n,)``."""
        if not all(places):
            return np.empty(0, dtype=np.int64)
        trajectories, reached = self._first_visits(places[0])
        for place in places[1:]:
            at = self._where(place)
            after = np.searchsorted(at, reached, side="right")
            inside = after < len(at)
            inside[inside] = at[after[inside]] // self._width == trajectories[inside]
            trajectories, reached = trajectories[inside], at[after[inside]]
        return np.asarray(trajectories, dtype=np.int64)

    def _first_visits(self, labels: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """Return the trajectories that visit a place, ascending, and the first visit of each."""
        if labels not in self._first:
            at = self._where(labels)
            trajectories = at // self._width
            is_first = np.append(True, trajectories[1:] != trajectories[:-1])[: len(at)]
            self._first[labels] = trajectories[is_first], at[is_first]
        return self._first[labels]

    def _where(self, labels: tuple[int, ...]) -> IntArray:
        if len(labels) == 1:
            return self._at[labels[0]]
        if labels not in self._at_any:
            self._at_any[labels] = np.sort(np.concatenate([self._at[label] for label in labels]))
        return self._at_any[labels]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedPoints:
    """Released GPS trajectories: ``r`` trajectories with ``q`` points in all."""

    starts: IntArray
    """Where each trajectory begins, then ``q``, shape ``(r + 1,)``."""

    t_ms: IntArray
    xy_m: FloatArray
    owners: IntArray
    """User number, in the truth, of each trajectory, shape ``(r,)``."""

    sets: IntArray | None
    """Set of each trajectory, shape ``(r,)``, if the members of a set are indistinguishable; else None."""


def attack_points(
    truth: PointTrajectories, published: PublishedPoints, *, delta_m: float, generator: np.random.Generator
) -> dict[Attack, Risk]:
    """Attack a release of GPS trajectories with one position of a person, known up to delta.

    An adversary who finds one member of a set of indistinguishable members finds all of them.

    Args:
        truth: The true trajectories.
        published: The release, in the same coordinates.
        delta_m: Precision of the adversary's knowledge of the position, metres.
        generator: Draws people and positions.
    """
    begins = _begins(truth.users, truth.n_users)
    sets = np.arange(len(published.owners)) if published.sets is None else published.sets
    groups = np.unique(sets, return_inverse=True)[1].astype(np.int64)
    n_users = max(truth.n_users, int(published.owners.max(initial=-1)) + 1)
    release = (published.owners, groups, n_users)

    def known() -> tuple[IntArray, IntArray, FloatArray]:
        people = _sample(truth.n_users, generator)
        point = generator.integers(truth.starts[begins[people]], truth.starts[begins[people + 1]])
        return people, truth.t_ms[point], truth.xy_m[point]

    people, _, at_m = known()
    by_place = found_by_place(people, at_m, delta_m, published.starts, published.xy_m, *release)
    people, at_ms, at_m = known()
    by_time = found_by_time(people, at_ms, at_m, delta_m, published.starts, published.t_ms, published.xy_m, *release)
    return {Attack.PLACES: _risk(by_place.tolist()), Attack.TIMES: _risk(by_time.tolist())}


def _attack(n_users: int, probability: Callable[[int], float], generator: np.random.Generator) -> Risk:
    return _risk([probability(user) for user in _sample(n_users, generator).tolist()])


def _sample(n_users: int, generator: np.random.Generator) -> IntArray:
    return np.sort(generator.choice(n_users, size=min(SAMPLE, n_users), replace=False))


def _risk(found: Sequence[float]) -> Risk:
    return Risk(highest=max(found, default=0.0), mean=sum(found) / max(len(found), 1), people=len(found))


def _share(user: int, people: IntArray) -> float:
    """Return the probability that a random choice among ``people``, ascending, is the user."""
    at = int(np.searchsorted(people, user))
    return 1 / len(people) if at < len(people) and people[at] == user else 0.0


def _begins(users: IntArray, n_users: int) -> IntArray:
    """Return where the trajectories of each user begin, then their number, shape ``(n_users + 1,)``."""
    return np.searchsorted(users, np.arange(n_users + 1))


def worst(risks: Mapping[Attack, Risk]) -> float:
    """Return the largest probability that any attack found; 0 if there was no attack."""
    return max((risk.highest for risk in risks.values()), default=0.0)
