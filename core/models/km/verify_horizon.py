"""Check of k^m-anonymity over a horizon: Definition 4 of Poulis et al. 2014, applied to joined trajectories.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.models.km.guarantee import KmAnonymity
from core.models.km.occurrences import first_completions, following, supports_of
from core.records.arrays import BoolArray, IntArray, changes, numbered
from core.windows.history import History

__all__ = ["KmHorizonReport", "verify_horizon"]

_LABEL = re.compile(r"[0-9]+(,[0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class KmHorizonReport:
    """What the check found."""

    smallest_support: int | None
    """Fewest people behind any joined subtrajectory with a location of this window; None for an empty release."""

    violations: int
    """Distinct joined subtrajectories, of at most m locations and with one of this window, with support below k."""

    unread: int
    """People of the release with an earlier release that cannot be read: nothing can be checked of them."""

    @property
    def holds(self) -> bool:
        """Whether the promise over the horizon holds. It does for an empty release."""
        return self.violations == self.unread == 0


def verify_horizon(
    users: Sequence[int], trajectories: Sequence[Sequence[Hashable]], guarantee: KmAnonymity, history: History
) -> KmHorizonReport:
    """Count the supporters of every joined subtrajectory to which a release adds a location.

    Those of earlier windows alone were checked with the newest of these windows.

    Args:
        users: Keyed hash of the user of each trajectory, as in rosters.
        trajectories: Locations as they would be published, in order: any hashable, equal if published alike.
        guarantee: k and m.
        history: What the earlier windows of the horizon released.

    Raises:
        ValueError: The numbers of users and trajectories differ.
    """
    if len(users) != len(trajectories):
        raise ValueError(f"{len(users)} users for {len(trajectories)} trajectories: there must be one for each")
    pieces = [_Piece(user, 0, [(0, one) for one in its]) for user, its in zip(users, trajectories, strict=True)]
    earlier, unread = _earlier(set(users), history)
    release = _Joined.of([*pieces, *earlier])
    smallest: int | None = None
    violations = 0
    for supports in release.supports(guarantee.m):
        smallest = int(supports.min()) if smallest is None else min(smallest, int(supports.min()))
        violations += int((supports < guarantee.k).sum())
    return KmHorizonReport(smallest_support=smallest, violations=violations, unread=unread)


class _Piece(NamedTuple):
    """One released trajectory."""

    user: int
    age: int
    """How many rosters ago; 0 in the window that is checked."""

    locations: list[Hashable]
    """Locations, different in different windows."""


def _earlier(users: set[int], history: History) -> tuple[list[_Piece], int]:
    """Return the earlier trajectories of some people, and of how many people one cannot be read."""
    pieces: list[_Piece] = []
    unread: set[int] = set()
    wanted = np.array(sorted(users), np.uint64)
    for age, roster in enumerate(reversed(history.rosters), start=1):
        sequences = [
            [(age, name) for name in label.split(",")] if _LABEL.fullmatch(label) else None for label in roster.labels
        ]
        about = np.isin(roster.users, wanted)
        for user, group in zip(roster.users[about].tolist(), roster.groups[about].tolist(), strict=True):
            locations = sequences[group] if 0 <= group < len(sequences) else None
            if locations is None:
                unread.add(user)
            else:
                pieces.append(_Piece(user, age, list(locations)))
    return pieces, len(unread)


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The visits of people in several windows, as columns of shape ``(p,)``.

    Those of a person are together, of these those of a window, the newest first, and of these those of a trajectory.
    The order of windows does not change which subtrajectories people share; with this one each that is to be checked
    begins in the newest window.
    """

    persons: IntArray
    """Number of each visit's person, ascending."""

    is_new: BoolArray
    """Whether each visit is in the window that is checked."""

    locations: IntArray
    """Number of each visit's location, in ``0..n_locations - 1``."""

    n_locations: int
    piece_ends: IntArray
    """Where the trajectory of each visit ends."""

    window_ends: IntArray
    """Where the window of each visit ends."""

    person_ends: IntArray
    """Where the person of each visit ends."""

    @classmethod
    def of(cls, pieces: Sequence[_Piece]) -> _Joined:
        """Put trajectories together."""
        of_person: defaultdict[int, list[_Piece]] = defaultdict(list)
        for piece in pieces:
            of_person[piece.user].append(piece)
        ordered = [piece for user in sorted(of_person) for piece in sorted(of_person[user], key=lambda one: one.age)]
        lengths = np.array([len(piece.locations) for piece in ordered], np.int64)
        person, _ = numbered([piece.user for piece in ordered])
        age = np.array([piece.age for piece in ordered], np.int64)
        locations, distinct = numbered([one for piece in ordered for one in piece.locations])
        ends = np.cumsum(lengths)
        return cls(
            persons=np.repeat(person, lengths),
            is_new=np.repeat(age == 0, lengths),
            locations=locations,
            n_locations=len(distinct),
            piece_ends=np.repeat(ends, lengths),
            window_ends=np.repeat(ends[_lasts(changes(person) | changes(age))], lengths),
            person_ends=np.repeat(ends[_lasts(changes(person))], lengths),
        )

    def supports(self, size: int) -> Iterator[IntArray]:
        """Yield the supports of all subtrajectories of 1 to ``size`` locations that begin in the newest window."""
        visits = np.flatnonzero(self.is_new)
        if len(visits):
            yield from self._extended(np.zeros_like(visits), visits, size)

    def _extended(self, prefix: IntArray, visits: IntArray, size: int) -> Iterator[IntArray]:
        """Yield the supports of the subtrajectories that consist of a known prefix and 1 to ``size`` locations.

        Args:
            prefix: Number of a prefix, from 0, shape ``(e,)``.
            visits: A visit that can follow this prefix, shape ``(e,)``.
            size: Most locations that follow a prefix, at least 1.
        """
        n_locations, n_visits = self.n_locations, len(self.locations)
        number, visits = first_completions(prefix, visits, self.locations, n_locations, self.piece_ends)
        yield supports_of(number, self.persons[visits])
        if size == 1:
            return
        # What follows a visit: the rest of its trajectory, then all that the person has in other windows.
        first = np.column_stack([visits + 1, self.window_ends[visits]]).ravel()
        n_after = np.column_stack([self.piece_ends[visits], self.person_ends[visits]]).ravel() - first
        for part in following(np.repeat(number, 2), first, n_after, n_locations=n_locations, n_visits=n_visits):
            yield from self._extended(*part, size - 1)


def _lasts(begins: BoolArray) -> IntArray:
    """Return for each entry the last one of its part; parts begin where ``begins``."""
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, len(begins)))
    return np.repeat(starts + lengths - 1, lengths)
