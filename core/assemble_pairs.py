"""Assemble check-ins with their times: the rows of one window become trajectories of location-time pairs.

Beside :func:`core.assemble.assemble_sequences`, whose order and limits are its own, for the one model of sequences that
releases times. It differs in one thing: nobody is cut into several trajectories. Slots and values would tell which
pieces belong together, and whoever knows a pair in each of two pieces would find fewer people than either piece tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.assemble import Limits, vocabulary_of
from core.locate import Locator
from core.pairs import Pairs, Slots, Values
from core.records import Rows
from core.trajectory import IntArray, Sequences, Vocabulary

__all__ = ["VALUE", "PairWindow", "Published", "assemble_visits"]

VALUE = np.dtype([("user", "<u8"), ("value", "<i8")])
"""One fact: keyed hash of the user, as in :data:`core.records.VISIT`, and the code of a value that they carry."""

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What would leave of some people's trajectories, and whose each of them is; none is empty."""

    users: list[int]
    """Dense user number of each trajectory, which does not leave."""

    trajectories: list[tuple[tuple[int, str], ...]]
    """Slot and name of the location of each pair, in that order."""

    values: list[tuple[int, ...]]
    """Codes of the values that come with each trajectory, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairWindow:
    """The check-ins of one window as trajectories of location-time pairs, one of each user."""

    sequences: Sequences
    """Ids of pairs, strictly ascending in a trajectory; ``p`` in all."""

    pairs: Pairs
    vocabulary: Vocabulary
    values: Values
    """What the users of the sequences carry."""

    stands_for: IntArray = field(repr=False)
    """How many rows each visit of the sequences stands for, shape ``(p,)``: all of its user at its place in its slot.
    They are released when it is."""

    duplicates: int
    """Rows left out because the same user was at the same location at the same instant."""

    suppressed: int
    """Rows left out because their user has too many rows or pairs."""

    curbed: BoolArray = field(repr=False)
    """Users of whom rows were left out because they have too many, shape ``(n_users,)``."""

    n_users: int
    """Distinct people in the rows."""

    def people_suppressed(self, kept: BoolArray) -> int:
        """Count the people of whom a row is not released, where the visits that are kept, shape ``(p,)``, are."""
        affected = self.curbed.copy()
        affected[self.sequences.owners[~kept]] = True
        return int(affected.sum())

    def published(self, kept: BoolArray) -> Published:
        """Write down the visits that are kept, shape ``(p,)``, as they would be published."""
        ids = self.sequences.locations
        slots, locations = self.pairs.slots[ids].tolist(), self.pairs.locations[ids].tolist()
        carried = self.values.of_users(self.n_users)
        found = Published(users=[], trajectories=[], values=[])
        for user, (start, end) in zip(
            self.sequences.users.tolist(), pairwise(self.sequences.starts.tolist()), strict=True
        ):
            left = (start + np.flatnonzero(kept[start:end])).tolist()
            if left:
                found.users.append(user)
                found.trajectories.append(tuple((slots[i], self.vocabulary.names[locations[i]]) for i in left))
                found.values.append(carried[user])
        return found


def assemble_visits(
    rows: Rows, values: npt.NDArray[np.void], locator: Locator, limits: Limits, slots: Slots, *, start_ms: int
) -> PairWindow:
    """Turn the check-ins of a window into trajectories of location-time pairs.

    Of each user the first ``limits.points_per_user`` rows stay, in the order of time, then place, and of what they
    visit in these the first ``limits.trajectory_length`` pairs. A user at one place several times in a slot is there
    once; at several places in a slot, at each of them, in the order of their names.

    Args:
        rows: Rows of :data:`core.records.VISIT`, shape ``(n,)``, in any order.
        values: Rows of :data:`VALUE`, shape ``(f,)``, in any order; a user may have several, the same fact may come
            again, and users who are not in the window do not matter.
        locator: The vocabulary that numbered the locations.
        limits: When users are curbed.
        slots: The granularity of time.
        start_ms: When the window starts, Unix milliseconds.

    Raises:
        ValueError: A value's code is negative.
    """
    vocabulary, location = vocabulary_of(rows, locator)
    users, user = np.unique(rows["user"], return_inverse=True)
    order = np.lexsort((location, rows["ts_ms"], user))
    user, ts_ms, location = user[order], rows["ts_ms"][order], location[order]
    again = np.zeros(len(user), np.bool_)
    again[1:] = (user[1:] == user[:-1]) & (ts_ms[1:] == ts_ms[:-1]) & (location[1:] == location[:-1])
    user, ts_ms, location = user[~again], ts_ms[~again], location[~again]

    within = _position(user) < limits.points_per_user
    slot = slots.of(ts_ms, start_ms=start_ms)
    n_locations = max(len(vocabulary.names), 1)
    codes, pair = np.unique(slot * n_locations + location, return_inverse=True)
    n_pairs = max(len(codes), 1)
    visit, first, of_visit, stands_for = np.unique(
        (user * n_pairs + pair)[within], return_index=True, return_inverse=True, return_counts=True
    )
    # Which pairs of a user come first is a matter of when they were first visited, not of their slots: of a day's
    # slots the small ones are no earlier.
    by_time = np.argsort(first)
    stays = np.empty(len(visit), np.bool_)
    stays[by_time] = _position(visit[by_time] // n_pairs) < limits.trajectory_length
    curbed = np.zeros(len(users), np.bool_)
    curbed[user[~within]] = True
    curbed[visit[~stays] // n_pairs] = True

    present, ids = np.unique(visit[stays] % n_pairs, return_inverse=True)
    owners = visit[stays] // n_pairs
    return PairWindow(
        sequences=Sequences(
            users=np.arange(len(users)),
            starts=np.searchsorted(owners, np.arange(len(users) + 1)).astype(np.int64),
            locations=ids.astype(np.int64),
        ),
        pairs=Pairs(slots=codes[present] // n_locations, locations=codes[present] % n_locations),
        vocabulary=vocabulary,
        values=_values(values, users),
        stands_for=stands_for[stays].astype(np.int64),
        duplicates=int(again.sum()),
        suppressed=int((~within).sum() + (~stays[of_visit]).sum()),
        curbed=curbed,
        n_users=len(users),
    )


def _values(values: npt.NDArray[np.void], users: npt.NDArray[np.uint64]) -> Values:
    """Return what the users of a window carry, who are numbered by their rows."""
    values = np.unique(values[np.isin(values["user"], users)])  # ascending by user, then value
    return Values(users=np.searchsorted(users, values["user"]).astype(np.int64), codes=values["value"].astype(np.int64))


def _position(users: IntArray) -> IntArray:
    """Number the rows of each user from 0 in the order they stand in, shape ``(n,)``."""
    order = np.argsort(users, kind="stable")
    position = np.empty(len(users), np.int64)
    ordered = users[order]
    position[order] = np.arange(len(users)) - np.searchsorted(ordered, ordered)
    return position
