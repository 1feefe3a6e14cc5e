"""The borders between earlier windows and this one: how many people go from each set to each cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.models.kdelta.anonymize.across import EarlierSets
from core.models.kdelta.anonymize.cluster.neighbours import TRASH
from core.records.arrays import IntArray

__all__ = ["Borders", "Change"]

Change = tuple[int, int, int]
"""A trajectory of a user, the first number, goes from one cluster to another; a cluster is ``TRASH`` if it has none."""


class Borders:
    """How many people go from each earlier set to each cluster, kept up to date as trajectories change clusters.

    A person with trajectories in several clusters goes to each of them, but is one of the people who are released.

    Args:
        earlier: The sets of the earlier windows.
        users: User of each of ``n`` trajectories, shape ``(n,)``.
        cluster: Cluster of each, or -1, shape ``(n,)``.
        l: At most one in ``l`` of the people of a set who are released may go to one cluster.
    """

    def __init__(self, earlier: Sequence[EarlierSets], users: IntArray, cluster: IntArray, *, l: int) -> None:  # noqa: E741
        self._l = l
        numbers: dict[tuple[int, int], int] = {}
        self._sets_of: dict[int, list[int]] = {}
        for at, window in enumerate(earlier):
            for user, set_ in zip(window.users.tolist(), window.sets.tolist(), strict=True):
                self._sets_of.setdefault(user, []).append(numbers.setdefault((at, set_), len(numbers)))
        self._going: list[dict[int, int]] = [{} for _ in numbers]
        self._released = [0] * len(numbers)
        self._excess = [0] * len(numbers)
        self._in: dict[int, dict[int, int]] = {}
        self._lost: set[int] = set()  # sets of which fewer than l people are released, but some
        self._broken: set[int] = set()  # others from which too many people go to one cluster
        self.excess = 0
        """By how many people, times ``l``, all flows together are too large; 0 if the promise holds."""
        for user, c in zip(users.tolist(), cluster.tolist(), strict=True):
            self.change([(user, TRASH, c)])

    def change(self, changes: Iterable[Change]) -> None:
        """Let trajectories change clusters."""
        for user, old, new in changes:
            sets = self._sets_of.get(user)
            if sets is None or old == new:
                continue
            places = self._in.setdefault(user, {})
            was_released = bool(places)
            left = old != TRASH and self._leaves(places, old)
            came = new != TRASH and places.get(new, 0) == 0
            if new != TRASH:
                places[new] = places.get(new, 0) + 1
            for set_ in sets:
                going = self._going[set_]
                if left:
                    going[old] -= 1
                    if not going[old]:
                        del going[old]
                if came:
                    going[new] = going.get(new, 0) + 1
                self._released[set_] += bool(places) - was_released
                self._weigh(set_)

    @staticmethod
    def _leaves(places: dict[int, int], old: int) -> bool:
        """Let one trajectory leave a cluster, and return whether its user has none there any more."""
        places[old] -= 1
        if places[old]:
            return False
        del places[old]
        return True

    def _weigh(self, set_: int) -> None:
        released = self._released[set_]
        excess = sum(n * self._l - released for n in self._going[set_].values() if n * self._l > released)
        self.excess += excess - self._excess[set_]
        self._excess[set_] = excess
        (self._lost.add if 0 < released < self._l else self._lost.discard)(set_)
        (self._broken.add if excess and released >= self._l else self._broken.discard)(set_)

    def after(self, changes: Sequence[Change]) -> int:
        """Return what the excess would be after some changes."""
        self.change(changes)
        excess = self.excess
        self.change([(user, new, old) for user, old, new in reversed(changes)])
        return excess

    def first_broken(self) -> tuple[int, int] | None:
        """Return an earlier set and a cluster to which too many of its people go; None if the promise holds.

        Sets of which fewer than ``l`` people are released come first: they are suppressed whatever else changes.
        """
        broken = self._lost or self._broken
        if not broken:
            return None
        set_ = min(broken)
        too_many = (c for c, n in self._going[set_].items() if n * self._l > self._released[set_])
        return set_, min(too_many)

    def is_of(self, set_: int, user: int) -> bool:
        """Return whether a user was in an earlier set."""
        return set_ in self._sets_of.get(user, ())
