"""Answers to COUNT queries, from the raw window and from its release, and the error of the latter.

The raw answer counts. A release is answered by what its reader would expect: a visit that may have been at one of
several locations was at each of them with the same probability, independently of all other visits (as in
:mod:`core.utility.queries`). Raw visits have one location, so the same code counts them exactly.

A release that has no order says nothing about it: each order of ``j`` places is equally likely, so a query in order has
``1 / j!`` of the answer without order. A query about what a release does not have at all, such as times or
attributes, is not answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np

from core.records.arrays import BoolArray, FloatArray, IntArray, starts_of
from core.records.by_user import position_in_user
from core.trajectories.recoding import Label
from core.utility.workload import CountQuery, Spots

__all__ = ["Answers", "AskedAttributes", "MeanAnswers", "PossibleVisits", "VisitLabels"]


class Answers(Protocol):
    """A window, raw or released, of which COUNT queries are asked."""

    def count(self, query: CountQuery) -> float | None:
        """Return how many people match, or are expected to; None if the window does not say."""
        ...


AskedAttributes = Callable[[Mapping[str, str | tuple[float, float]]], FloatArray | None]
"""Probability that what is asked holds of each trajectory's person, shape ``(t,)``; None if an attribute is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisitLabels:
    """Where visits may have been: each visit has a label, a label stands for some spots."""

    label_of: IntArray
    """Label of each visit, shape ``(p,)``."""

    starts: IntArray
    """Where the members of each label begin, shape ``(labels + 1,)``."""

    members: IntArray
    """Spots of the labels, one label after the other; none is empty."""

    @classmethod
    def of(cls, label_of: IntArray, labels: Sequence[Label]) -> VisitLabels:
        """Write labels as columns."""
        sizes = np.array([len(label) for label in labels], np.int64)
        members = np.array([spot for label in labels for spot in label], np.int64)
        return cls(label_of=label_of, starts=starts_of(sizes), members=members)

    @classmethod
    def alone(cls, spot_of: IntArray, n_spots: int) -> VisitLabels:
        """Return labels of visits whose spot is known."""
        return cls(label_of=spot_of, starts=np.arange(n_spots + 1), members=np.arange(n_spots))

    def share(self, inside: BoolArray) -> FloatArray:
        """Return the probability that each visit was at one of the spots ``inside``, shape ``(p,)``."""
        if not len(self.members):
            return np.zeros(len(self.label_of))
        share: FloatArray = np.add.reduceat(inside[self.members].astype(np.float64), self.starts[:-1])
        return (share / np.diff(self.starts))[self.label_of]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PossibleVisits:
    """Trajectories of people, whose visits may have been at one of several spots."""

    users: IntArray
    """Dense number of the person of each trajectory, shape ``(t,)``."""

    starts: IntArray
    """Where the visits of each trajectory begin, shape ``(t + 1,)``."""

    spots: Spots = field(repr=False)
    labels: VisitLabels = field(repr=False)

    ordered: bool = True
    """Whether visits are in the order of time; False if their order says nothing."""

    times_ms: tuple[IntArray, IntArray] | None = field(default=None, repr=False)
    """First instant of each visit, and the first after it, shapes ``(p,)``; None if times are unknown."""

    attributes: AskedAttributes | None = field(default=None, repr=False)
    """None if people have no attributes."""

    def count(self, query: CountQuery) -> float | None:
        """See :meth:`Answers.count`. A person counts once, however many trajectories match."""
        holds = np.ones(len(self.users))
        if query.attributes:
            known = None if self.attributes is None else self.attributes(query.attributes)
            if known is None:
                return None
            holds = known
        then: FloatArray | float = 1.0
        if query.during is not None:
            if self.times_ms is None:
                return None
            then = query.during.share(*self.times_ms)
        inside = [place.contains(self.spots) for place in query.places]
        owner = np.repeat(np.arange(len(self.users)), np.diff(self.starts))  # (p,)
        if query.in_order and self.ordered:
            matched = _in_order(owner, np.stack([self.labels.share(one) * then for one in inside]), len(self.users))
        else:
            matched = self._together(owner, inside, then)
            if query.in_order:
                matched = matched / math.factorial(len(inside))
        missed = np.ones(int(self.users.max(initial=-1)) + 1)
        np.multiply.at(missed, self.users, 1.0 - matched * holds)
        return float((1.0 - missed).sum())

    def _together(self, owner: IntArray, inside: Sequence[BoolArray], then: FloatArray | float) -> FloatArray:
        """Return the probability that each trajectory visits all places, by inclusion and exclusion, shape ``(t,)``."""
        matched = np.ones(len(self.users))
        for size in range(1, len(inside) + 1):
            for some in combinations(inside, size):
                of_any = self.labels.share(np.logical_or.reduce(some)) * then
                none = np.ones(len(self.users))
                at = np.flatnonzero(of_any)
                np.multiply.at(none, owner[at], 1.0 - of_any[at])
                matched += (-1) ** size * none
        return np.clip(matched, 0.0, 1.0)


def _in_order(owner: IntArray, share: FloatArray, n: int) -> FloatArray:
    """Return the probability that each trajectory visits places in order, shape ``(n,)``.

    The probability that the first ``i`` places are matched is updated at every visit, in order of time.

    Args:
        owner: Trajectory of each visit, ascending, shape ``(p,)``.
        share: Probability that each visit was at each place, shape ``(j, p)``.
        n: Number of trajectories.
    """
    at = np.flatnonzero(share.any(axis=0))
    some, number = np.unique(owner[at], return_inverse=True)
    turn = position_in_user(number)  # rank among these visits of the trajectory
    by_turn = np.argsort(turn, kind="stable")
    met = np.zeros((len(some), len(share) + 1))  # probability that the first i are matched
    met[:, 0] = 1.0
    for visits in np.split(by_turn, np.flatnonzero(np.diff(turn[by_turn])) + 1):
        step = met[number[visits], :-1] * share[:, at[visits]].T
        met[number[visits], 1:] += step
        met[number[visits], :-1] -= step
    matched = np.zeros(n)
    matched[some] = met[:, -1]
    return matched


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanAnswers:
    """Several windows of which one was the original: the mean of their answers."""

    windows: Sequence[Answers] = field(repr=False)

    def count(self, query: CountQuery) -> float | None:
        """See :meth:`Answers.count`."""
        answers = [window.count(query) for window in self.windows]
        known = [answer for answer in answers if answer is not None]
        return sum(known) / len(answers) if answers and len(known) == len(answers) else None
