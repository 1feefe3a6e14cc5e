"""Repair a window locally: suppress visits and split trajectories until nothing infrequent is left."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from core.models.km.anonymize.least_loss.counted import Counted
from core.models.km.anonymize.least_loss.person import Person, Ways, bits
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["Allowed", "Effort", "Repaired", "repair"]

_FRAGILE = (0.3, 0.15, 0.075)
"""Weight of each infrequent subtrajectory that others may come to have, if a support falls from k, k + 1 or k + 2.

The weights are below 1: the support may not fall further, and some of these people lose the subtrajectory for another
reason. Measured on both kinds of inputs of ``tests/benchmarks/inputs.py``, weights from 0.2 to 0.5 suppress least,
within a twentieth of each other.
"""


_EARLIEST, _CLEARLY = 0.2, 1.2
"""Share of the exposed people after whom the suppressed visits are predicted, and multiple of the budget beyond which a
prediction ends the repair."""

_AT_ONCE = 1_000
"""Most infrequent subtrajectories of a person that are repaired together, and most fragile ones that are considered
with them. A person with a hundred visits has a hundred thousand; repairing the shortest ones removes nearly all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Prices and budgets of local repairs."""

    suppression_m: float
    """Price of a suppressed visit, metres, above 0."""

    split_m: float
    """Price of a split, metres, above 0."""

    suppressions: int
    """Most visits that may be suppressed."""

    splits: int
    """Most splits."""


@dataclass(slots=True)
class Effort:
    """Work that repairs may do: a count, not a time limit, so that a replay decides alike."""

    left: int
    """(Subtrajectory, person) pairs that may still be examined; below 0 once more were needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repaired:
    """What is left of a window."""

    kept: BoolArray
    """False where an occurrence is suppressed, shape ``(p,)``."""

    splits: IntArray
    """Visits before which a trajectory is split in two, ascending."""


def repair(
    sequences: Sequences, counted: Counted, guarantee: KmAnonymity, allowed: Allowed, effort: Effort | None = None
) -> Repaired | None:
    """Suppress visits and split trajectories until every subtrajectory of at most m locations has support k or 0.

    People with an infrequent subtrajectory are repaired one after the other. Each step suppresses a visit or splits a
    trajectory at a gap: the one with the smallest price per infrequent subtrajectory that the person loses, less the
    harm to others. If a support falls below k, all other people with that subtrajectory are queued for repair.

    The loop ends, because there are finitely many visits and gaps. The queue is then empty. A person with an infrequent
    subtrajectory is in the queue from the moment its support falls below k, so no such person is left.

    Args:
        sequences: The window, over generalized locations.
        counted: Its subtrajectories of at most m locations.
        guarantee: k and m.
        allowed: Prices and budgets.
        effort: Work allowed; the work done is subtracted from it. None for no limit.

    Returns:
        The repaired window; None as soon as the suppressed visits exceed the budget, or are predicted to exceed it
        clearly, or the effort is used up.
    """
    run = _Repair(sequences, counted, guarantee, allowed, effort)
    return run.result() if run.finished else None


class _Repair:
    def __init__(
        self,
        sequences: Sequences,
        counted: Counted,
        guarantee: KmAnonymity,
        allowed: Allowed,
        effort: Effort | None,
    ) -> None:
        self._effort = effort
        self._k, self._m, self._allowed = guarantee.k, guarantee.m, allowed
        self._counted, self._supports = counted, counted.supports()
        self._digits: list[int] = (sequences.locations + 1).tolist()
        self._starts: list[int] = sequences.starts.tolist()
        self._first: list[int] = np.searchsorted(sequences.users, np.arange(sequences.n_users + 1)).tolist()
        self._people: dict[int, Person] = {}
        self._waiting = deque(counted.exposed(self._k))
        self._waits = set(self._waiting)
        # Each infrequent subtrajectory that a step removes counts 1; harm to others counts less, by the support.
        self._weights = dict(enumerate((-(self._k - 1) * share for share in _FRAGILE), start=self._k))
        self._suppressed: list[int] = []
        self._splits: list[int] = []
        self.finished = self._run()

    def result(self) -> Repaired:
        """Return what is left."""
        kept = np.ones(len(self._digits), np.bool_)
        kept[self._suppressed] = False
        splits = np.array(sorted(self._splits), np.int64)
        # A split with no visit left before or after it separates nothing: leave it out.
        n_before = np.append(0, np.cumsum(kept))
        at, first = np.unique(n_before[splits], return_index=True)
        return Repaired(kept=kept, splits=splits[first[~np.isin(at, n_before[self._starts])]])

    def _run(self) -> bool:
        n_exposed, budget = len(self._waiting), self._allowed.suppressions
        turn = 0
        while self._waiting:
            user = self._waiting.popleft()
            self._waits.discard(user)
            if not self._repair(user):
                return False
            turn += 1
            # People exposed from the start come first, people exposed by the repair of others after them.
            if n_exposed * _EARLIEST < turn <= n_exposed:
                foretold = min(len(self._suppressed) * n_exposed / turn, len(self._digits))
                if foretold > _CLEARLY * budget:
                    return False
        return True

    def _repair(self, user: int) -> bool:
        """Repair one person; return whether the budget and the effort allowed it."""
        k, supports, person = self._k, self._supports, self._person(user)
        before = person.subtrajectories()
        if not self._may_look(len(before)):
            return False
        infrequent = sorted(number for number in before if supports[number] < k)
        # Longer ones are larger numbers: short ones come first, and repairing them removes most of the others.
        fragile = sorted(number for number in before if k <= supports[number] < k + len(self._weights))[:_AT_ONCE]
        if not infrequent:
            return True
        while infrequent:
            if not self._repair_some(person, infrequent[:_AT_ONCE], fragile):
                return False
            left = person.subtrajectories()
            infrequent = [number for number in infrequent[_AT_ONCE:] if number in left]
            if not self._may_look(len(left)):
                return False
        for lost in sorted(before - left):
            self._lose(lost, user)
        return True

    def _repair_some(self, person: Person, infrequent: list[int], fragile: list[int]) -> bool:
        """Remove some infrequent subtrajectories of a person; return whether the budget and the effort allowed it."""
        digits = self._counted.digits
        while True:
            infrequent = [number for number in infrequent if person.ways(digits(number)) is not None]
            if not infrequent:
                return True
            near = (*infrequent, *fragile)
            if not self._may_look(len(near)):
                return False
            ways = {number: ways_of for number in near if (ways_of := person.ways(digits(number))) is not None}
            bit, is_split = self._next_step(ways, infrequent) or (person.most_used(digits(infrequent[0])), False)
            at = person.first + bit.bit_length() - 1
            if is_split:
                self._splits.append(at + 1)
                person.split(bit)
            elif len(self._suppressed) == self._allowed.suppressions:
                return False
            else:
                self._suppressed.append(at)
                person.suppress(bit)

    def _may_look(self, n: int) -> bool:
        """Subtract ``n`` from the effort, and return whether there was enough."""
        if self._effort is None:
            return True
        self._effort.left -= n
        return self._effort.left >= 0

    def _person(self, user: int) -> Person:
        person = self._people.get(user)
        if person is None:
            bounds = self._starts[self._first[user] : self._first[user + 1] + 1]
            person = self._people[user] = Person(self._digits, bounds, self._counted.base, self._m)
        return person

    def _lose(self, subtrajectory: int, user: int) -> None:
        """Record that a person no longer has a subtrajectory; queue its other supporters if it became infrequent."""
        support = self._supports[subtrajectory] = self._supports[subtrajectory] - 1
        if support != self._k - 1:
            return
        for other in self._counted.supporters(subtrajectory):
            if other != user and other not in self._waits:
                person = self._people.get(other)
                if person is None or person.ways(self._counted.digits(subtrajectory)) is not None:
                    self._waits.add(other)
                    self._waiting.append(other)

    def _next_step(self, ways: dict[int, Ways], infrequent: list[int]) -> tuple[int, bool] | None:
        """Choose the visit to suppress, or the gap to split at.

        Args:
            ways: A person's infrequent and fragile subtrajectories, and the single steps that remove each.
            infrequent: The infrequent ones of them, at least one.

        Returns:
            Its bit, and whether it is a gap; None if no single step repairs anything.
        """
        weights, supports = self._weights, self._supports
        harmed = [
            (weights[supports[number]], ways_of) for number, ways_of in ways.items() if supports[number] >= self._k
        ]
        prices_m = [self._allowed.suppression_m]
        if len(self._splits) < self._allowed.splits:
            prices_m.append(self._allowed.split_m)
        best: tuple[float, int, bool, int] | None = None
        for way, price_m in enumerate(prices_m):  # visits, then gaps
            useful = reduce(or_, (ways[number][way] for number in infrequent))
            for bit in bits(useful):
                repaired = sum(1 for number in infrequent if ways[number][way] & bit)
                gain = repaired + sum(weight for weight, ways_of in harmed if ways_of[way] & bit)
                step = (gain / price_m if gain > 0 else gain * price_m, repaired, way == 0, bit)
                if best is None or step > best:
                    best = step
        return None if best is None else (best[3], not best[2])
