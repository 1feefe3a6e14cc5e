"""Attacks with knowledge of how often a person was at some places (Pellungrini et al. 2017, Section 4).

See :mod:`core.release.attacks.background` for the meaning of a risk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, pairwise
from math import comb

import numpy as np

from core.records.arrays import FloatArray, IntArray, ranges
from core.records.by_user import same_as_before
from core.release.attacks.background import MOST_INSTANCES, check_instances, in_order_of_place
from core.trajectories.trajectory import Sequences

__all__ = ["VisitCounts", "Weighing", "home_work_risks", "weighed_risks"]


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
    check_instances(
        [comb(int(sizes[person]), min(length, int(sizes[person]))) for person in chosen], most=MOST_INSTANCES // 100
    )
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
