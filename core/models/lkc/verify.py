"""Check of LKC-privacy (Mohammed, Fung, Debbabi 2009, Definition 3.1), from the released trajectories alone.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from core.models.lkc.guarantee import LKCPrivacy

__all__ = ["LKCReport", "Pair", "matching_trajectories", "verify_lkc"]

Pair = tuple[int, str]
"""Slot and name of the location."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LKCReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest distinct people behind any sequence of at most l pairs; None for an empty release."""

    highest_confidence: float
    """Largest share of a sensitive value among the matches of any such sequence; 0 if nobody has one."""

    too_few: int
    """Distinct sequences of at most l pairs that occur with support below k."""

    too_sure: int
    """Distinct sequences of at most l pairs for which a sensitive value's share exceeds c."""

    disordered: int
    """Trajectories whose pairs do not ascend strictly, by slot, then location: order would reveal more than slots."""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds. It does for an empty release."""
        return self.too_few == self.too_sure == self.disordered == 0


def verify_lkc(
    users: Sequence[int],
    trajectories: Sequence[Sequence[Pair]],
    values: Sequence[Collection[int]],
    guarantee: LKCPrivacy,
    *,
    sensitive: Collection[int],
) -> LKCReport:
    """Count the people who match each sequence that occurs, and their sensitive values, by the definition.

    A person has every value that comes with any of the person's trajectories. A value's share is the larger of two: its
    share among the matching people, and among the matching trajectories.

    Args:
        users: User of each trajectory. Equal values are one person.
        trajectories: Pairs as they would be published, in order.
        values: Codes of the values that would be published with each trajectory.
        guarantee: l, k and c.
        sensitive: Codes of the sensitive values.

    Raises:
        ValueError: The numbers of users, values and trajectories differ.
    """
    if not len(users) == len(trajectories) == len(values):
        raise ValueError(
            f"{len(users)} users and {len(values)} values for {len(trajectories)} trajectories: "
            "there must be one user and one set of values for each trajectory"
        )
    matching = _Matching(users, trajectories, values, set(sensitive))
    smallest: int | None = None
    highest = 0.0
    too_few = too_sure = 0
    # In whole numbers: a share that is exactly c does not exceed it.
    part, whole = Fraction(str(guarantee.c)).as_integer_ratio()
    for support, shares in matching.counts(guarantee.l):
        smallest = support if smallest is None else min(smallest, support)
        too_few += support < guarantee.k
        too_sure += any(carriers * whole > part * of for carriers, of in shares)
        highest = max([highest, *(carriers / of for carriers, of in shares)])
    return LKCReport(
        smallest_support=smallest,
        highest_confidence=highest,
        too_few=too_few,
        too_sure=too_sure,
        disordered=sum(any(b <= a for a, b in pairwise(trajectory)) for trajectory in trajectories),
    )


class _Matching:
    """The people and trajectories that match sequences."""

    def __init__(
        self,
        users: Sequence[int],
        trajectories: Sequence[Sequence[Pair]],
        values: Sequence[Collection[int]],
        sensitive: set[int],
    ) -> None:
        self._trajectories = trajectories
        self._users = users
        self._alone = len(set(users)) == len(users)
        self._of_trajectory = [frozenset(carried) & sensitive for carried in values]
        self._of_user: defaultdict[int, set[int]] = defaultdict(set)
        for user, carried in zip(users, self._of_trajectory, strict=True):
            self._of_user[user] |= carried

    def counts(self, size: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the support of each sequence of 1 to ``size`` pairs, and (carriers, of how many) for each value."""
        return map(self._count, matching_trajectories(self._trajectories, size))

    def _count(self, matching: list[int]) -> tuple[int, list[tuple[int, int]]]:
        n = len(matching)
        by_trajectory = Counter(value for i in matching for value in self._of_trajectory[i])
        shares = [(carriers, n) for carriers in by_trajectory.values()]
        if self._alone:
            return n, shares
        people = {self._users[i] for i in matching}
        by_person = Counter(value for user in people for value in self._of_user[user])
        return len(people), shares + [(carriers, len(people)) for carriers in by_person.values()]


def matching_trajectories(trajectories: Sequence[Sequence[Pair]], size: int) -> Iterator[list[int]]:
    """Yield the trajectories that match each sequence of 1 to ``size`` pairs that occurs, ascending."""
    number: dict[Pair, int] = {}
    numbered = [[number.setdefault(pair, len(number)) for pair in trajectory] for trajectory in trajectories]
    return _matching(numbered, [(i, 0) for i in range(len(numbered))], size)


def _matching(trajectories: list[list[int]], rests: list[tuple[int, int]], size: int) -> Iterator[list[int]]:
    """Do this for the sequences that occur in the rests of some trajectories, given as (trajectory, where it begins).

    Sequences that begin with a pair are searched in what follows the pair, one pair shorter.
    """
    after: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, begin in rests:
        trajectory, seen = trajectories[i], set()
        for at in range(begin, len(trajectory)):
            pair = trajectory[at]
            # What follows the first occurrence of a pair contains what follows later ones.
            if pair not in seen:
                seen.add(pair)
                after[pair].append((i, at + 1))
    for places in after.values():
        yield [i for i, _ in places]
        if size > 1:
            yield from _matching(trajectories, places, size - 1)
