"""Attacks with background knowledge on any data set of people's visits (Pellungrini et al. 2017, Section 4).

An adversary knows some of a person's visits, or something of them, and takes everybody in the data set who fits. The
risk of a person is the highest probability of picking the person, over everything of that kind that may be known:
``risk(u) = max over instances b of u's knowledge of 1 / |{v : b fits v}|``. An instance is any ``length`` visits of the
person, or all of them if there are fewer.

Unlike :mod:`core.release.risk`, nothing is drawn, everybody is attacked, and true and attacked data are the same: the
raw feed by itself, or a release by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, pairwise
from math import comb

import numpy as np

from core.records.arrays import FloatArray, IntArray, ranges
from core.records.by_user import same_as_before, starts_of_users
from core.support.table import subtrajectories, supporters
from core.trajectories.trajectory import Sequences

__all__ = [
    "MOST_INSTANCES",
    "CompanionsError",
    "TooManyInstancesError",
    "VisitCounts",
    "Weighing",
    "companions",
    "distinct_visits",
    "home_work_risks",
    "in_order_of_place",
    "sequence_risks",
    "uniqueness_risks",
    "weighed_risks",
]

MOST_INSTANCES = 30_000_000
"""Most instances of knowledge that an attack enumerates: some minutes, and a few gigabytes."""


class TooManyInstancesError(Exception):
    """The people of a data set have too many visits for all combinations of them."""

    def __init__(self, instances: int) -> None:
        super().__init__(
            f"the attack would try {instances:,} combinations of visits, more than {MOST_INSTANCES:,}: "
            "cut the data into windows, use larger cells, or assume fewer known visits"
        )


class CompanionsError(TooManyInstancesError):
    """Too many people were at the same places at the same times."""


def sequence_risks(visits: Sequences, length: int) -> FloatArray:
    """Return the risk of each person if visits and their order are known (location sequence attack).

    A person fits if the person's visits contain the known ones in their order, gaps allowed.

    Args:
        visits: One trajectory for each person.
        length: Number of known visits, at least 1.

    Returns:
        Shape ``(n_users,)``; 0 for a person without visits.

    Raises:
        TooManyInstancesError: There are too many combinations.
        ValueError: A person has several trajectories.
    """
    if len(visits.users) != visits.n_users:
        raise ValueError("a person has several trajectories: join them first")
    sizes = np.diff(visits.starts)
    # Of each person, every earliest embedding of all but the last location is extended by every later visit.
    different = np.diff(distinct_visits(visits).starts)
    _check(
        [min(comb(n, length), d ** (length - 1) * n) for n, d in zip(sizes.tolist(), different.tolist(), strict=True)]
    )
    table = subtrajectories(visits, length)
    risks = np.zeros(visits.n_users)
    np.maximum.at(risks, table.users, np.repeat(1 / table.supports, table.supports))
    for user in np.flatnonzero((sizes < length) & (sizes > 0)).tolist():
        everything = visits.locations[visits.starts[user] : visits.starts[user + 1]].tolist()
        risks[user] = 1 / len(supporters(everything, visits))
    return risks


def in_order_of_place(visits: Sequences) -> Sequences:
    """Return the visits of each trajectory in the order of their ids, so that order reveals nothing.

    Known visits are then contained, in order, in those of everybody who made each of them at least as often: with
    these, :func:`sequence_risks` is the location attack. With ids of places and times it is the location-time attack.
    """
    trajectory = np.repeat(np.arange(len(visits.users)), np.diff(visits.starts))
    order = np.lexsort((visits.locations, trajectory))
    return Sequences(users=visits.users, starts=visits.starts, locations=visits.locations[order])


def distinct_visits(visits: Sequences) -> Sequences:
    """Return each visit of a person once, in the order of ids: the unique location attack is their sequence attack."""
    ordered = in_order_of_place(visits)
    again = same_as_before(ordered.owners, ordered.locations)
    return ordered.where(~again)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisitCounts:
    """How often each person was at each place: the frequency vectors of the attacks."""

    starts: IntArray = field(repr=False)
    """Where the places of each person begin, then ``c``, shape ``(n_users + 1,)``."""

    places: IntArray = field(repr=False)
    """Distinct places of each person, ascending, shape ``(c,)``."""

    counts: IntArray = field(repr=False)
    """Visits of the person to each of them, shape ``(c,)``."""

    @classmethod
    def of(cls, visits: Sequences) -> VisitCounts:
        """Count the visits of trajectories, one for each person."""
        ordered = in_order_of_place(visits)
        first = np.flatnonzero(~same_as_before(ordered.owners, ordered.locations))
        people = ordered.owners[first]
        return cls(
            starts=np.searchsorted(people, np.arange(visits.n_users + 1)).astype(np.int64),
            places=ordered.locations[first],
            counts=np.diff(np.append(first, len(ordered.locations))),
        )

    @property
    def shares(self) -> FloatArray:
        """Share of the person's visits that each place has, shape ``(c,)``."""
        sizes = np.diff(self.starts)
        person = np.repeat(np.arange(len(sizes)), sizes)
        totals = np.bincount(person, self.counts, len(sizes))
        return np.asarray(self.counts / totals[person], np.float64)


class Weighing(StrEnum):
    """What is known of how often a person was at a place."""

    FREQUENCY = "frequency"
    """The number of visits."""

    PROBABILITY = "probability"
    """Their share of the person's visits."""

    PROPORTION = "proportion"
    """Their number relative to the most visited of the known places."""


def weighed_risks(
    visits: VisitCounts, length: int, weighing: Weighing, *, tolerance: float = 0.0, people: Sequence[int] | None = None
) -> FloatArray:
    """Return the risk of each person if some places are known, and how often the person was there.

    A person with ``v`` at a place fits known ``b`` if ``v - tolerance v <= b <= v + tolerance v``.

    Args:
        visits: How often people were where.
        length: Number of known places, at least 1.
        weighing: What is known of how often.
        tolerance: Share in ``0..1``.
        people: Whom to attack; by default everybody.

    Returns:
        Shape ``(n_users,)``; 0 for a person without visits, or who is not attacked.

    Raises:
        TooManyInstancesError: There are too many combinations.
        ValueError: The tolerance is not in ``0..1``.
    """
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance is {tolerance}: it must be in 0..1")
    chosen = range(len(visits.starts) - 1) if people is None else people
    sizes = np.diff(visits.starts)
    # These are tried one by one, some hundred times slower than subtrajectories are listed.
    _check([100 * comb(int(sizes[person]), min(length, int(sizes[person]))) for person in chosen])
    values = visits.shares if weighing is Weighing.PROBABILITY else visits.counts.astype(np.float64)
    there: dict[int, dict[int, float]] = {}
    held: list[list[tuple[int, float]]] = []
    for person, (start, end) in enumerate(pairwise(visits.starts.tolist())):
        held.append(list(zip(visits.places[start:end].tolist(), values[start:end].tolist(), strict=True)))
        for place, value in held[-1]:
            there.setdefault(place, {})[person] = value
    known: dict[tuple[tuple[int, float], ...], float] = {}
    risks = np.zeros(len(held))
    fits = _relative if weighing is Weighing.PROPORTION else _absolute
    for person in chosen:
        for instance in combinations(held[person], min(length, len(held[person]))):
            if instance not in known and instance:
                known[instance] = 1 / _n_fitting(instance, there, fits, tolerance)
            risks[person] = max(risks[person], known.get(instance, 0.0))
            if risks[person] == 1.0:
                break
    return risks


def _n_fitting(
    instance: tuple[tuple[int, float], ...],
    there: dict[int, dict[int, float]],
    fits: Callable[[Sequence[float], Sequence[float], float], bool],
    tolerance: float,
) -> int:
    at = [there[place] for place, _ in instance]
    known = [value for _, value in instance]
    fewest, *others = sorted(at, key=len)
    candidates = set(fewest).intersection(*others)
    return sum(fits(known, [one[person] for one in at], tolerance) for person in candidates)


def _absolute(known: Sequence[float], own: Sequence[float], tolerance: float) -> bool:
    return all(v - v * tolerance <= b <= v + v * tolerance for b, v in zip(known, own, strict=True))


def _relative(known: Sequence[float], own: Sequence[float], tolerance: float) -> bool:
    most_known, most = max(known), max(own)
    return _absolute([b / most_known for b in known], [v / most for v in own], tolerance)


def home_work_risks(visits: VisitCounts, *, rarest: bool = False) -> FloatArray:
    """Return the risk of each person whose two most visited places are known.

    A person fits if the known places are among the person's own two. Of equally visited places those with the lower
    ids count. Everybody without visits has risk 0.

    Args:
        visits: How often people were where.
        rarest: Take the two least visited places in place of the most visited ones. scikit-mobility does so, since
            it sorts by ascending frequency.

    Returns:
        Shape ``(n_users,)``.
    """
    sizes = np.diff(visits.starts)
    person = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((visits.places, visits.counts if rarest else -visits.counts, person))
    two = np.minimum(sizes, 2)
    chosen = visits.places[order][ranges(visits.starts[:-1], two)].tolist()
    ends = np.cumsum(two).tolist()
    pairs = [frozenset(chosen[end - size : end]) for end, size in zip(ends, two.tolist(), strict=True)]
    who: dict[int, set[int]] = {}
    for number, places in enumerate(pairs):
        for place in places:
            who.setdefault(place, set()).add(number)
    return np.array([1 / len(set.intersection(*(who[place] for place in one))) if one else 0.0 for one in pairs])


def uniqueness_risks(
    visits: Sequences, points: int, generator: np.random.Generator, *, draws: int = 10
) -> tuple[FloatArray, FloatArray]:
    """Return how well random points of a person single the person out (de Montjoye et al. 2013).

    Args:
        visits: One trajectory for each person; an id stands for a place and a time.
        points: Number of distinct points that are drawn of each person; all of them if there are fewer.
        generator: Draws them.
        draws: How often they are drawn.

    Returns:
        For each person the mean, over the draws, of one over the number of people who have all points; and the share of
        draws in which nobody else has them. Shapes ``(n_users,)``; 0 for a person without visits.
    """
    held = distinct_visits(visits)
    owner = held.owners
    order = np.argsort(held.locations, kind="stable")
    ids, firsts = np.unique(held.locations[order], return_index=True)
    people = dict(zip(ids.tolist(), np.split(owner[order], firsts[1:]), strict=True)) if len(ids) else {}
    means, unique = np.zeros((2, visits.n_users))
    for user, start, end in zip(held.users.tolist(), held.starts[:-1].tolist(), held.starts[1:].tolist(), strict=True):
        if start == end:
            continue
        for _ in range(draws):
            drawn = held.locations[generator.choice(np.arange(start, end), min(points, end - start), replace=False)]
            fitting = sorted((people[point] for point in drawn.tolist()), key=len)
            found = fitting[0]
            for other in fitting[1:]:
                found = found[np.isin(found, other, assume_unique=True)]
            means[user] += 1 / len(found) / draws
            unique[user] += (len(found) == 1) / draws
    return means, unique


def companions(visits: Sequences, *, most_pairs: int = MOST_INSTANCES) -> Sequences:
    """Return whom each person met: the people who were at the same place at the same time, each once.

    With these, :func:`sequence_risks` is an attack by co-location: the adversary knows some people whom the person met,
    but neither where nor when, and takes everybody who met all of them (compare Olteanu et al. 2017).

    Args:
        visits: One trajectory for each person; an id stands for a place and a time.
        most_pairs: Most meetings, so that memory is bounded.

    Returns:
        One trajectory for each person: numbers of people, ascending.

    Raises:
        CompanionsError: There are too many meetings.
    """
    held = distinct_visits(visits)
    owner = held.owners
    order = np.lexsort((owner, held.locations))
    owner, point = owner[order], held.locations[order]
    starts = starts_of_users(point)
    sizes = np.diff(starts)
    if (n_pairs := int((sizes * sizes).sum())) > most_pairs:
        raise CompanionsError(n_pairs)
    group = np.repeat(np.arange(len(sizes)), sizes)
    one = np.repeat(owner, sizes[group])
    other = owner[ranges(starts[:-1][group], sizes[group])]
    n = max(visits.n_users, 1)
    pairs = np.unique((one * n + other)[one != other])
    return Sequences(
        users=np.arange(visits.n_users),
        starts=np.searchsorted(pairs // n, np.arange(visits.n_users + 1)).astype(np.int64),
        locations=pairs % n,
    )


def _check(instances: Sequence[int]) -> None:
    if (total := sum(instances)) > MOST_INSTANCES:
        raise TooManyInstancesError(total)
