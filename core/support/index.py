"""An index of the infrequent subtrajectories, updated while locations merge."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from core.support.table import subtrajectories
from core.trajectories.trajectory import Sequences

__all__ = ["Subtrajectory", "SupportIndex", "united"]

Subtrajectory = tuple[int, ...]


class SupportIndex:
    """An index of which subtrajectories of one size reach a support of ``k``, updated while locations merge.

    Merging never lowers a support, so people are stored only for supports below ``k``.

    Args:
        people: The distinct people who support each subtrajectory that occurs; None stands for ``k`` or more people.
            The index keeps and changes this object.
        k: The support to reach.
    """

    def __init__(self, people: dict[Subtrajectory, tuple[int, ...] | None], *, k: int) -> None:
        self._k = k
        # Tuples instead of sets: for few people they take a quarter of the memory, and the garbage collector does not
        # examine them again and again.
        self._people = people
        # These lists may contain removed subtrajectories: no search is needed to remove one, and none ever returns.
        self._containing: defaultdict[int, list[Subtrajectory]] = defaultdict(list)
        for key in self._people:
            for location in {*key}:
                self._containing[location].append(key)

    @classmethod
    def of(cls, sequences: Sequences, *, size: int, k: int) -> SupportIndex:
        """Count the subtrajectories of one size from scratch."""
        table = subtrajectories(sequences, size)
        keys: list[Subtrajectory] = list(map(tuple, table.locations.tolist()))
        starts, users = table.starts.tolist(), tuple(table.users.tolist())
        people = {
            key: None if end - start >= k else users[start:end]
            for key, (start, end) in zip(keys, pairwise(starts), strict=True)
        }
        return cls(people, k=k)

    def infrequent(self) -> list[tuple[int, Subtrajectory]]:
        """List (support, subtrajectory) where the support is in ``1..k - 1``, ascending."""
        return sorted((len(people), key) for key, people in self._people.items() if people is not None)

    def is_infrequent(self, subtrajectory: Subtrajectory) -> bool:
        """Return whether a subtrajectory occurs with support below ``k``."""
        return self._people.get(subtrajectory) is not None

    def suppress(self, location: int) -> None:
        """Remove every subtrajectory that contains a location."""
        for key in self._containing.pop(location, ()):
            self._people.pop(key, None)

    def merge(self, kept: int, absorbed: int) -> None:
        """Release two locations as one: every ``absorbed`` becomes ``kept``."""
        for old in self._containing.pop(absorbed, ()):
            if old not in self._people:
                continue
            people = self._people.pop(old)
            new = tuple(kept if location == absorbed else location for location in old)
            if new in self._people:
                self._people[new] = united(people, self._people[new], k=self._k)
                continue
            self._people[new] = people
            for location in {*new}:
                self._containing[location].append(new)


def united(a: tuple[int, ...] | None, b: tuple[int, ...] | None, *, k: int) -> tuple[int, ...] | None:
    """Return the union of two groups of people; None stands for ``k`` people or more."""
    if a is None or b is None:
        return None
    people = {*a, *b}
    return None if len(people) >= k else tuple(people)
