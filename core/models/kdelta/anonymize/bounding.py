"""Bounded personalized anonymity: the most demanding are given less, until the distortion is as low as wanted.

Theodosopoulos 2013, section 5 (Bounded Personalized W4M, Algorithm 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from core.models.kdelta.anonymize.sets import AnonymitySets
from core.models.kdelta.anonymize.voting import VOTE
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.trajectories.trajectory import Demands

__all__ = ["Bounded", "BoundedOptions", "bounded", "demandingness", "relaxed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedOptions:
    """What is wanted, and what it may cost.

    Raises:
        ValueError: An option is out of its range.
    """

    improvement: float = 0.1
    """How much lower the distortion is to be than where everybody is given what they demand, above 0, below 1."""

    edit_factor: float = 0.25
    """How bad it is to relax the demands of the most demanding completely, 1 being as bad as the trash; at least 0."""

    step_percent: int = 10
    """By how much the share of those relaxed grows from try to try, percent, in 1..99. The paper tries every percent;
    the time it takes grows with the number of tries."""

    def __post_init__(self) -> None:
        if not 0 < self.improvement < 1:
            raise ValueError(f"improvement is {self.improvement}: it must be above 0 and below 1")
        if not 0 <= self.edit_factor < float("inf"):
            raise ValueError(f"edit_factor is {self.edit_factor}: it must be a finite number, at least 0")
        if not 1 <= self.step_percent <= 99:
            raise ValueError(f"step_percent is {self.step_percent}: it must be in 1..99")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounded:
    """The first try that was good enough, or else the best one."""

    sets: AnonymitySets
    """What was made."""

    demands: Demands
    """What each of the ``n`` trajectories was to be given in it."""

    edited: BoolArray
    """Whose demands were relaxed, shape ``(n,)``."""

    tries: tuple[tuple[int, float], ...]
    """Percent relaxed and the total distortion, metres, edits counted, of each try."""


def demandingness(demands: Demands, representativeness: IntArray) -> list[Fraction]:
    """Score how demanding trajectories are among their neighbours (Theodosopoulos 2013, Definition 7).

    Without rounding: equal demands must be told from almost equal ones.

    Args:
        demands: What each of ``n`` demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``. Who has none counts as having one millionth.

    Returns:
        ``k`` for each neighbour, over ``delta``, of each trajectory.
    """
    return [
        Fraction(k) / _neighbours(votes) / Fraction(delta_m)
        for k, votes, delta_m in zip(
            demands.k.tolist(), representativeness.tolist(), demands.delta_m.tolist(), strict=True
        )
    ]


def relaxed(
    demands: Demands, representativeness: IntArray, least: Demands, n_edited: int
) -> tuple[Demands, FloatArray]:
    """Make the most demanding trajectories as demanding as the threshold trajectory, the next in order.

    Theodosopoulos 2013, Algorithm 7, lines 7 to 20, with three slips of the print mended: the threshold belongs to each
    size of the edited share, delta is raised also where k needs no change, and every trajectory looked at counts.
    First k is lowered, as far as its neighbours satisfy it and no lower than the threshold asks for; then delta is
    raised. Nobody is given less than ``least``; who demands no more than that is neither edited nor a threshold.

    Args:
        demands: What each of ``n`` demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``.
        least: What each is given in any case: the smallest k and the largest delta.
        n_edited: How many to edit, below the number of those who demand more than the least.

    Returns:
        The relaxed demands, and the edit cost of each trajectory (Definition 8) in ``0..1``, NaN where it was not
        edited, shape ``(n,)``.
    """
    exact = demandingness(demands, representativeness)
    order = _most_demanding(demands, exact, least)
    threshold, highest = exact[order[n_edited]], exact[order[0]]
    given_k, given_m, cost = demands.k.copy(), demands.delta_m.copy(), np.full(len(exact), np.nan)
    for i in order[:n_edited]:
        neighbours = _neighbours(int(representativeness[i]))
        k, delta_m, widest_m = int(demands.k[i]), float(demands.delta_m[i]), float(least.delta_m[i])
        enough = max(int(least.k[i]), ceil(neighbours), ceil(threshold * neighbours * Fraction(delta_m)))
        given_k[i] = k = min(k, enough)
        wider_m = float(k / neighbours / threshold)
        given_m[i] = min(max(delta_m, wider_m), widest_m)
        cost[i] = float((exact[i] - threshold) / (highest - threshold)) if highest > threshold else 0.0
    return Demands(k=given_k, delta_m=given_m), cost


def bounded(
    anonymize: Callable[[Demands], AnonymitySets],
    demands: Demands,
    representativeness: IntArray,
    n_points: IntArray,
    *,
    least: Demands,
    options: BoundedOptions,
) -> Bounded:
    """Relax the demands of a growing share until the distortion is as much lower as wanted.

    The first try edits nobody. The total distortion of a try is that of its translation and trash, and for each point
    of an edited trajectory that is released the largest translation times its edit cost times the edit factor
    (Definition 9). If no try is good enough, the one with the least distortion stands, of equal ones the first.

    Args:
        anonymize: Makes sets of the trajectories for some demands; the same for the same.
        demands: What each of ``n`` demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``.
        n_points: Points of each, shape ``(n,)``.
        least: What each is given in any case.
        options: What is wanted, and what it may cost.
    """
    nobody = np.full(len(n_points), np.nan)

    def attempt(given: Demands, cost: FloatArray) -> tuple[AnonymitySets, int]:
        sets = anonymize(given)
        released = np.delete(n_points * cost, sets.trash)
        edits = float(np.nansum(released)) * options.edit_factor
        lost = sets.distortion
        return sets, lost.translation_mm + round(lost.largest_translation_mm * (lost.points_trashed + edits))

    best, best_given = attempt(demands, nobody), demands
    wanted_mm = (1 - options.improvement) * best[1]
    tries = [(0, best[1] / 1000)]
    for percent, n_edited in _shares(demands, least, options.step_percent):
        given, cost = relaxed(demands, representativeness, least, n_edited)
        this = attempt(given, cost)
        tries.append((percent, this[1] / 1000))
        if this[1] < best[1]:
            best, best_given = this, given
        if this[1] <= wanted_mm:
            break
    return Bounded(
        sets=best[0],
        demands=best_given,
        edited=(best_given.k != demands.k) | (best_given.delta_m != demands.delta_m),
        tries=tuple(tries),
    )


def _shares(demands: Demands, least: Demands, step_percent: int) -> Iterator[tuple[int, int]]:
    """Yield each share that edits somebody more than the one before: percent, and how many."""
    more = len(_demanding_more(demands, least))
    before = 0
    for percent in range(step_percent, 100, step_percent):
        if (n_edited := more * percent // 100) > before:
            yield percent, n_edited
            before = n_edited


def _most_demanding(demands: Demands, scores: Sequence[Fraction], least: Demands) -> list[int]:
    """Return those who demand more than the least, the most demanding first, of equal ones the first."""
    return sorted(_demanding_more(demands, least), key=lambda i: (-scores[i], i))


def _demanding_more(demands: Demands, least: Demands) -> list[int]:
    more: list[int] = np.flatnonzero((demands.k > least.k) | (demands.delta_m < least.delta_m)).tolist()
    return more


def _neighbours(votes: int) -> Fraction:
    return Fraction(max(votes, 1), VOTE)
