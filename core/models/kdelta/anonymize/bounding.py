"""Bounded personalized anonymity: the demands of the most demanding are relaxed until the distortion is low enough.

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

__all__ = ["Bounded", "BoundedOptions", "bounded", "demandingness", "most_demanding", "relaxed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedOptions:
    """The wanted improvement, and the price of relaxing demands.

    Raises:
        ValueError: An option is out of its range.
    """

    improvement: float = 0.1
    """Wanted reduction of the distortion, as a share of that with all demands met; above 0, below 1."""

    edit_factor: float = 0.25
    """Cost of relaxing the demands of the most demanding completely; 1 is the cost of the trash. At least 0."""

    step_percent: int = 10
    """Percentage points by which the share of relaxed trajectories grows from one try to the next, in 1..99. The paper
    tries every percent; the running time grows with the number of tries."""

    def __post_init__(self) -> None:
        if not 0 < self.improvement < 1:
            raise ValueError(f"improvement is {self.improvement}: it must be above 0 and below 1")
        if not 0 <= self.edit_factor < float("inf"):
            raise ValueError(f"edit_factor is {self.edit_factor}: it must be a finite number, at least 0")
        if not 1 <= self.step_percent <= 99:
            raise ValueError(f"step_percent is {self.step_percent}: it must be in 1..99")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounded:
    """The first try that was good enough, or else the best try."""

    sets: AnonymitySets
    """The sets of this try."""

    demands: Demands
    """k and delta that each of the ``n`` trajectories was given in this try."""

    edited: BoolArray
    """Whether the demands of each trajectory were relaxed, shape ``(n,)``."""

    tries: tuple[tuple[int, float], ...]
    """Percent relaxed and total distortion of each try, metres, with the cost of edits."""


def demandingness(demands: Demands, representativeness: IntArray) -> list[Fraction]:
    """Score how demanding trajectories are among their neighbours (Theodosopoulos 2013, Definition 7).

    Scores are exact, because equal demands must not be confused with almost equal ones.

    Args:
        demands: What each of ``n`` trajectories demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``. A trajectory without votes counts as having
            one millionth.

    Returns:
        Of each trajectory, ``k`` per neighbour, divided by ``delta``.
    """
    return [
        Fraction(k) / _neighbours(votes) / Fraction(delta_m)
        for k, votes, delta_m in zip(
            demands.k.tolist(), representativeness.tolist(), demands.delta_m.tolist(), strict=True
        )
    ]


def most_demanding(demands: Demands, representativeness: IntArray, least: Demands) -> list[tuple[int, Fraction]]:
    """Rank the trajectories that demand more than the least.

    Args:
        demands: What each of ``n`` trajectories demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``.
        least: The least that each is given: the smallest k and the largest delta.

    Returns:
        Their numbers and scores (:func:`demandingness`), the most demanding first, equal ones by number.
    """
    more = np.flatnonzero((demands.k > least.k) | (demands.delta_m < least.delta_m))
    scores = demandingness(demands.of(more), representativeness[more])
    return sorted(zip(more.tolist(), scores, strict=True), key=lambda one: (-one[1], one[0]))


def relaxed(
    demands: Demands,
    representativeness: IntArray,
    least: Demands,
    ranked: Sequence[tuple[int, Fraction]],
    n_edited: int,
) -> tuple[Demands, FloatArray]:
    """Make the most demanding trajectories as demanding as the threshold trajectory, which is the next in order.

    Theodosopoulos 2013, Algorithm 7, lines 7 to 20, with three misprints corrected: each size of the edited share has
    its own threshold, delta is raised even if k needs no change, and every trajectory examined counts. First k is
    lowered, but not below the number of neighbours, nor below what the threshold requires. Then delta is raised.
    No trajectory is given less than ``least``. One that demands no more than that is neither edited nor a threshold.

    Args:
        demands: What each of ``n`` trajectories demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``.
        least: The least that each is given: the smallest k and the largest delta.
        ranked: Those that demand more, and their scores (:func:`most_demanding`).
        n_edited: Number of trajectories to edit, fewer than are ranked.

    Returns:
        The relaxed demands, and the edit cost of each trajectory (Definition 8) in ``0..1``, NaN where it was not
        edited, shape ``(n,)``.
    """
    threshold, highest = ranked[n_edited][1], ranked[0][1]
    given_k, given_m, cost = demands.k.copy(), demands.delta_m.copy(), np.full(len(demands.k), np.nan)
    for i, score in ranked[:n_edited]:
        neighbours = _neighbours(int(representativeness[i]))
        k, delta_m, widest_m = int(demands.k[i]), float(demands.delta_m[i]), float(least.delta_m[i])
        enough = max(int(least.k[i]), ceil(neighbours), ceil(threshold * neighbours * Fraction(delta_m)))
        given_k[i] = k = min(k, enough)
        wider_m = float(k / neighbours / threshold)
        given_m[i] = min(max(delta_m, wider_m), widest_m)
        cost[i] = float((score - threshold) / (highest - threshold)) if highest > threshold else 0.0
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
    """Relax the demands of a growing share of trajectories until the distortion is reduced as much as wanted.

    The first try edits no trajectory. The total distortion of a try is that of its translation and its trash, plus, for
    each point of a released, edited trajectory, the largest translation times its edit cost times the edit factor
    (Definition 9). If no try is good enough, the try with the least distortion is returned, of equal ones the first.

    Args:
        anonymize: Makes sets of the trajectories for some demands; equal demands give equal sets.
        demands: What each of ``n`` trajectories demands.
        representativeness: Mean votes of each, millionths, shape ``(n,)``.
        n_points: Points of each, shape ``(n,)``.
        least: The least that each is given.
        options: The wanted improvement, and the price of relaxing demands.
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
    ranked = most_demanding(demands, representativeness, least)
    for percent, n_edited in _shares(len(ranked), options.step_percent):
        given, cost = relaxed(demands, representativeness, least, ranked, n_edited)
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


def _shares(n_demanding: int, step_percent: int) -> Iterator[tuple[int, int]]:
    """Yield each share that edits more trajectories than the one before: percent, and number of trajectories."""
    before = 0
    for percent in range(step_percent, 100, step_percent):
        if (n_edited := n_demanding * percent // 100) > before:
            yield percent, n_edited
            before = n_edited


def _neighbours(votes: int) -> Fraction:
    return Fraction(max(votes, 1), VOTE)
