"""The new people of a window, who may still get any signature, and who of them went where somebody else went."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from core.models.lkc.signature import NONE
from core.records.arrays import IntArray, UserHashes
from core.trajectories.trajectory import Sequences

__all__ = ["Newcomers"]


class Newcomers:
    """New people by the value for which they count; each is taken once.

    Somebody with several values counts for one of them, which the keyed hash decides: the same in every window.

    Args:
        people: Numbers of the new users, ascending.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
        carried: The sensitive values of each user of the window.
        trajectories: The visits that would be released; one trajectory for each user of the window.
    """

    def __init__(
        self, people: Sequence[int], users: UserHashes, carried: Sequence[Collection[int]], trajectories: Sequences
    ) -> None:
        by_code: dict[int, list[int]] = {}
        for user in people:
            values = sorted(carried[user])
            code = values[int(users[user]) % len(values)] if values else NONE
            by_code.setdefault(code, []).append(user)
        self._left = {code: np.array(its, np.int64) for code, its in by_code.items()}
        order = np.argsort(trajectories.locations, kind="stable")
        self._trajectories = trajectories
        self._visitors = trajectories.owners[order]
        n_pairs = int(trajectories.locations.max(initial=-1)) + 1
        self._bounds = np.searchsorted(trajectories.locations[order], np.arange(n_pairs + 1))
        self._lengths = np.bincount(trajectories.owners, minlength=len(users))

    def count(self, code: int) -> int:
        """Return how many people are left who count for a value, or for none."""
        return len(self._left.get(code, ()))

    def counts(self) -> dict[int, int]:
        """Return how many people are left who count for each sensitive value; values without any are left out."""
        return {code: len(people) for code, people in self._left.items() if code != NONE and len(people)}

    def rest(self, code: int) -> list[int]:
        """Return all who are left and count for a value, or for none."""
        people: list[int] = self._left[code].tolist() if code in self._left else []
        return people

    def first(self, code: int) -> int:
        """Take the person with the smallest hash of those who count for a value."""
        return self._take(code, 0)

    def like(self, user: int, code: int) -> int:
        """Take the person who shares the largest part of the visited pairs with a user; of equals the smallest hash.

        The part is of the pairs that either visited. If carriers of a value visit other places than those who serve as
        "none" beside them, places would say who is who.
        """
        people = self._left[code]
        shared = self._shared(user)[people]
        either = self._lengths[people] + self._lengths[user] - shared
        # Equal quotients of small integers are equal floats on every machine.
        return self._take(code, int(np.argmax(shared / np.maximum(either, 1))))

    def _take(self, code: int, at: int) -> int:
        people = self._left[code]
        self._left[code] = np.delete(people, at)
        return int(people[at])

    def _shared(self, user: int) -> IntArray:
        """Return how many pairs each user shares with a user, shape ``(n_users,)``."""
        starts = self._trajectories.starts
        pairs = self._trajectories.locations[starts[user] : starts[user + 1]].tolist()
        visitors = [self._visitors[self._bounds[pair] : self._bounds[pair + 1]] for pair in pairs]
        found: IntArray = np.bincount(np.concatenate([np.empty(0, np.int64), *visitors]), minlength=len(self._lengths))
        return found
