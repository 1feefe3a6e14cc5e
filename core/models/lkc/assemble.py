"""Assemble check-ins with their times: the rows of one window become trajectories of location-time pairs.

The order and the limits are those of :func:`core.trajectories.assemble.assemble_sequences`. This module serves the one
model of sequences that releases times. It differs in one thing: nobody is cut into several trajectories. Slots and
values would reveal which pieces belong together, and an adversary who knows a pair in each of two pieces would find
fewer people than support either piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.models.lkc.pairs import Pairs, Slots, Values
from core.models.lkc.signature import SignedRole
from core.places.locate import Locator
from core.records.arrays import BoolArray, IntArray
from core.records.by_user import position_in_user, same_as_before
from core.records.record import Rows
from core.trajectories.assemble import CheckInWindow, Limits, vocabulary_of
from core.trajectories.trajectory import Sequences

__all__ = ["VALUE", "PairCandidate", "PairWindow", "assemble_visits"]

VALUE = np.dtype([("user", "<u8"), ("value", "<i8")])
"""One fact: keyed hash of the user, as in :data:`core.records.record.VISIT`, and the code of a value of that
user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCandidate:
    """Trajectories as they would be published, and the user of each; none is empty."""

    users: list[int] = field(repr=False)
    """Dense user number of each trajectory; not published."""

    trajectories: list[tuple[tuple[int, str], ...]] = field(repr=False)
    """Slot and name of the location of each pair, in that order."""

    values: list[tuple[int, ...]] = field(repr=False)
    """Codes of the values of the person of each trajectory, ascending; published if there are no roles."""

    roles: list[SignedRole] | None = field(default=None, repr=False)
    """Signature of each trajectory, which is published, and which entry is true, which is not. None if the promise
    does not span windows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairWindow(CheckInWindow):
    """The check-ins of one window as trajectories of location-time pairs, one per user.

    The ids in its sequences are those of pairs, strictly ascending in a trajectory.
    """

    pairs: Pairs
    values: Values
    """The values of the users of the sequences."""

    stands_for: IntArray = field(repr=False)
    """Number of rows behind each visit of the sequences, shape ``(p,)``: all rows of its user at its location in its
    slot. They are released if the visit is."""

    def candidate(self, kept: BoolArray, roles: Mapping[int, SignedRole] | None = None) -> PairCandidate:
        """Write down the visits that are kept, shape ``(p,)``, as they would be published.

        Args:
            kept: False where a visit is suppressed.
            roles: SignedRole of each user with a visit that is kept, if the promise spans windows.
        """
        ids = self.sequences.locations
        slots, locations = self.pairs.slots[ids].tolist(), self.pairs.locations[ids].tolist()
        carried = self.values.of_users(self.n_users)
        found = PairCandidate(users=[], trajectories=[], values=[], roles=None if roles is None else [])
        for user, (start, end) in zip(
            self.sequences.users.tolist(), pairwise(self.sequences.starts.tolist()), strict=True
        ):
            left = (start + np.flatnonzero(kept[start:end])).tolist()
            if left:
                found.users.append(user)
                found.trajectories.append(tuple((slots[i], self.vocabulary.names[locations[i]]) for i in left))
                found.values.append(carried[user])
                if roles is not None and found.roles is not None:
                    found.roles.append(roles[user])
        return found


def assemble_visits(
    rows: Rows, values: npt.NDArray[np.void], locator: Locator, limits: Limits, slots: Slots, *, start_ms: int
) -> PairWindow:
    """Turn the check-ins of a window into trajectories of location-time pairs.

    For each user, the first ``limits.points_per_user`` rows are kept, in the order of time, then location; of the pairs
    in these, the first ``limits.trajectory_length``. Several visits of a user to one location in a slot are one pair.
    Visits to several locations in a slot are one pair each, in the order of the locations' names.

    Args:
        rows: Rows of :data:`core.records.record.VISIT`, shape ``(n,)``, in any order.
        values: Rows of :data:`VALUE`, shape ``(f,)``, in any order; a user may have several, facts may
            repeat, and users outside the window are ignored.
        locator: The vocabulary that numbered the locations.
        limits: Limits of rows and pairs per user.
        slots: The granularity of time.
        start_ms: When the window starts, Unix milliseconds.

    Raises:
        ValueError: A value's code is negative.
    """
    vocabulary, location = vocabulary_of(rows, locator)
    users, user = np.unique(rows["user"], return_inverse=True)
    order = np.lexsort((location, rows["ts_ms"], user))
    user, ts_ms, location = user[order], rows["ts_ms"][order], location[order]
    again = same_as_before(user, ts_ms, location)
    user, ts_ms, location = user[~again], ts_ms[~again], location[~again]

    within = position_in_user(user) < limits.points_per_user
    slot = slots.of(ts_ms, start_ms=start_ms)
    n_locations = max(len(vocabulary.names), 1)
    codes, pair = np.unique(slot * n_locations + location, return_inverse=True)
    n_pairs = max(len(codes), 1)
    visit, first, of_visit, stands_for = np.unique(
        (user * n_pairs + pair)[within], return_index=True, return_inverse=True, return_counts=True
    )
    # A user's first pairs are those visited first, not those with the smallest slots: a smaller slot of a day may be
    # a later visit.
    by_time = np.argsort(first)  # the rows of one user are contiguous, and so are these
    stays = np.empty(len(visit), np.bool_)
    stays[by_time] = position_in_user(visit[by_time] // n_pairs) < limits.trajectory_length
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
        hashes=users,
        n_users=len(users),
    )


def _values(values: npt.NDArray[np.void], users: npt.NDArray[np.uint64]) -> Values:
    """Return the values of the users of a window; a user's number is its row in ``users``."""
    values = np.unique(values[np.isin(values["user"], users)])  # ascending by user, then value
    return Values(users=np.searchsorted(users, values["user"]).astype(np.int64), codes=values["value"].astype(np.int64))
