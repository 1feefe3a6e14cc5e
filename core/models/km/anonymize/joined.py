"""The joined trajectories of people over several windows, and the subtrajectories that a window adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.models.km.labels import locations_of_label
from core.records.arrays import BoolArray, IntArray, SmallIntArray, UserHashes, distinct, numbered, ranges, starts_of
from core.trajectories.trajectory import Sequences
from core.windows.history import History, Trace

__all__ = ["Block", "Earlier", "JoinedWindow"]

_AT_ONCE = 2_000_000
"""Bounds the memory of one step of counting, not its result."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Earlier:
    """What earlier windows released of the people of a window: pieces, by person, then by window, the newest first."""

    locations: IntArray
    """Number of each visit's location, different in different windows, shape ``(v,)``."""

    starts: IntArray
    """Where each piece begins in ``locations``, shape ``(n + 1,)``."""

    persons: IntArray
    """User number of each piece's person in the present window, ascending, shape ``(n,)``."""

    windows: IntArray
    """Window of each piece, from 1, the newest, shape ``(n,)``."""

    n_locations: int
    """A number above those of all locations."""

    unread: BoolArray
    """Which people of the present window have a release that cannot be read, shape ``(n_users,)``."""

    @classmethod
    def of(cls, history: History, users: UserHashes, *, m: int) -> Earlier:
        """Find the people of a window in the traces of earlier ones.

        Args:
            history: Traces of the earlier windows, oldest first.
            users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
            m: Most locations of a subtrajectory; of each window at most ``m - 1`` are needed.
        """
        unread = np.zeros(len(users), np.bool_)
        persons, windows, lengths, locations = [], [], [], []
        n_locations = 0
        for window, trace in enumerate(reversed(history.traces), start=1):
            person, sequences = _pieces(trace, users, unread)
            visits, names = numbered([location for sequence in sequences for location in sequence])
            length = np.array([len(sequence) for sequence in sequences], np.int64)
            if m <= 2:  # of each earlier window one location is needed, whatever the order
                visited = distinct(np.repeat(person, length) * max(len(names), 1) + visits)
                person, visits = np.divmod(visited, max(len(names), 1))
                length = np.ones(len(visited), np.int64)
            persons.append(person)
            windows.append(np.full(len(person), window))
            lengths.append(length)
            locations.append(visits + n_locations)
            n_locations += len(names)
        none = np.empty(0, np.int64)
        of_piece, window_of = np.concatenate([none, *persons]), np.concatenate([none, *windows])
        n_visits = np.concatenate([none, *lengths])
        order = np.lexsort((window_of, of_piece))  # pieces of one window stay in their order
        return cls(
            locations=np.concatenate([none, *locations])[ranges(starts_of(n_visits)[:-1][order], n_visits[order])],
            starts=starts_of(n_visits[order]),
            persons=of_piece[order],
            windows=window_of[order],
            n_locations=n_locations,
            unread=unread,
        )


def _pieces(trace: Trace, users: UserHashes, unread: BoolArray) -> tuple[IntArray, list[list[str]]]:
    """Return the person and the locations of each piece of a trace that is of people of a window.

    Args:
        trace: The trace.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``, ``n_users >= 1``.
        unread: Is set where a person's piece cannot be read, shape ``(n_users,)``.
    """
    read = [locations_of_label(label) for label in trace.labels]
    at = np.searchsorted(users, trace.users)
    at[at == len(users)] = 0
    here = np.flatnonzero(users[at] == trace.users)
    persons: list[int] = []
    sequences: list[list[str]] = []
    for person, group in zip(at[here].tolist(), trace.groups[here].tolist(), strict=True):
        sequence = read[group] if 0 <= group < len(read) else None
        if sequence is None:
            unread[person] = True
        else:
            persons.append(person)
            sequences.append(sequence)
    return np.array(persons, np.int64), sequences


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Some joined subtrajectories with all their supporters. All have the same number of locations in this window.

    An entry says that a piece of a person has a subtrajectory, and at which visits it has it first.
    """

    numbers: SmallIntArray
    """Number of each entry's subtrajectory, ascending, shape ``(e,)``."""

    persons: SmallIntArray
    """User number of each entry's person, ascending inside a subtrajectory, shape ``(e,)``."""

    visits: tuple[SmallIntArray, ...]
    """Visits of the window with which the piece has each of the locations in the window first, shape ``(e,)`` each."""

    def where(self, kept: BoolArray) -> Block:
        """Return the block with some of its entries, ``kept``, shape ``(e,)``."""
        return Block(
            numbers=self.numbers[kept],
            persons=self.persons[kept],
            visits=tuple(visits[kept] for visits in self.visits),
        )

    @property
    def supports(self) -> IntArray:
        """Distinct people of each subtrajectory, shape ``(numbers.max() + 1,)``."""
        return np.bincount(self.numbers[_changes(self.numbers) | _changes(self.persons)])


class JoinedWindow:
    """A window, joined with what earlier windows released of its people.

    A row is one released piece of a person in the window, with all earlier pieces of the person. Windows are in the
    order from the newest to the oldest: what occurs does not depend on it, and each subtrajectory to count begins in
    the window.

    Args:
        sequences: The window as its model releases it, ``n`` pieces with ``p`` visits; locations are not looked at.
        earlier: The earlier windows.
    """

    def __init__(self, sequences: Sequences, earlier: Earlier) -> None:
        self._earlier = earlier
        n_own = np.diff(sequences.starts)
        first = np.searchsorted(earlier.persons, sequences.users, "left")
        n_pieces = np.searchsorted(earlier.persons, sequences.users, "right") - first
        piece = ranges(first, n_pieces)  # (q,) earlier pieces, row by row
        n_before = np.diff(earlier.starts)[piece]
        row = np.repeat(np.arange(len(n_own)), n_pieces)
        n_earlier = np.bincount(row, n_before, minlength=len(n_own)).astype(np.int64)
        ends = np.cumsum(n_own + n_earlier)  # (n,)
        starts = ends - n_own - n_earlier
        self._n_visits = int(n_own.sum() + n_earlier.sum())
        self.own = ranges(starts, n_own)
        """Where the visits of the window are among the visits of the rows, shape ``(p,)``."""
        there = ranges(starts + n_own, n_earlier)
        self._persons = np.repeat(sequences.users, n_own + n_earlier)
        self._before = earlier.locations[ranges(earlier.starts[:-1][piece], n_before)]
        self._there = there
        self._row_ends = np.repeat(ends, n_own + n_earlier)
        self._piece_ends = np.empty(self._n_visits, np.int64)
        self._window_ends = np.empty(self._n_visits, np.int64)
        self._piece_ends[self.own] = self._window_ends[self.own] = np.repeat(starts + n_own, n_own)
        if len(piece):
            # Earlier pieces stand one after the other in their row; those of one window end together.
            so_far = np.cumsum(n_before)
            piece_end = (starts + n_own)[row] + so_far - (np.cumsum(n_earlier) - n_earlier)[row]
            is_last = np.append(_changes(row * (earlier.windows.max() + 1) + earlier.windows[piece])[1:], True)
            last = np.flatnonzero(is_last)
            window_end = piece_end[last[np.searchsorted(last, np.arange(len(piece)))]]
            self._piece_ends[there] = np.repeat(piece_end, n_before)
            self._window_ends[there] = np.repeat(window_end, n_before)
        self._number_of_own = np.full(self._n_visits, -1)
        self._number_of_own[self.own] = np.arange(len(self.own))

    def blocks(self, locations: IntArray, m: int, kept: BoolArray) -> Iterator[Block]:
        """Yield all joined subtrajectories of at most ``m`` locations that begin in the window, each in one block.

        Args:
            locations: Generalized location of each visit of the window, small numbers from 0, shape ``(p,)``.
            m: Most locations.
            kept: False for each suppressed visit, shape ``(p,)``.
        """
        n_own = int(locations.max(initial=-1)) + 1
        self._locations = np.empty(self._n_visits, np.int64)
        self._locations[self.own] = locations
        self._locations[self._there] = self._before + n_own
        self._n_locations = n_own + self._earlier.n_locations
        self._kept = np.ones(self._n_visits, np.bool_)
        self._kept[self.own] = kept
        visits = self.own[kept]
        if len(visits):
            yield from self._extended(np.zeros_like(visits), visits, (), m, inside=True)

    def _extended(
        self, prefix: IntArray, visits: IntArray, before: Sequence[SmallIntArray], size: int, *, inside: bool
    ) -> Iterator[Block]:
        """Yield the subtrajectories that consist of a known prefix and 1 to ``size`` locations.

        Args:
            prefix: Number of a prefix, from 0, shape ``(e,)``.
            visits: A visit that can follow this prefix, shape ``(e,)``.
            before: Visits of the window that make the prefix, shape ``(e,)`` each.
            size: Most locations that follow a prefix, at least 1.
            inside: Whether ``visits`` are of the window.
        """
        code = (prefix * self._n_locations + self._locations[visits]) * self._n_visits + visits
        order = np.argsort(code)  # equal codes are equal entries
        number, visits = np.divmod(code[order], self._n_visits)
        is_new = _changes(number)
        # Of the visits of a piece that complete a subtrajectory the first is kept: what follows others follows it, too.
        first = is_new | _changes(self._piece_ends[visits]) | _changes(self._row_ends[visits])
        number, visits, order = (np.cumsum(is_new) - 1)[first], visits[first], order[first]
        made = [one[order] for one in before]
        if inside:
            made.append(self._number_of_own[visits].astype(np.int32))
        alike = _changes(number) | _changes(self._row_ends[visits])  # one entry for a row, whichever earlier piece
        yield Block(
            numbers=number[alike].astype(np.int32),
            persons=self._persons[visits][alike].astype(np.int32),
            visits=tuple(one[alike] for one in made),
        )
        if size == 1:
            return
        if inside:
            yield from self._with(number, visits, made, visits + 1, self._piece_ends[visits], size, inside=True)
            after = self._window_ends[visits]
            yield from self._with(number, visits, made, after, self._row_ends[visits], size, inside=False)
            return
        twice = [np.concatenate([one, one]) for one in (number, visits, *made)]
        starts = np.concatenate([visits + 1, self._window_ends[visits]])
        ends = np.concatenate([self._piece_ends[visits], self._row_ends[visits]])
        order = np.argsort(twice[0], kind="stable")
        number, visits, *made = (one[order] for one in twice)
        yield from self._with(number, visits, made, starts[order], ends[order], size, inside=False)

    def _with(
        self,
        number: IntArray,
        visits: IntArray,
        made: Sequence[SmallIntArray],
        starts: IntArray,
        ends: IntArray,
        size: int,
        *,
        inside: bool,
    ) -> Iterator[Block]:
        """Extend subtrajectories by the visits between ``starts`` and ``ends``, in parts that fit the memory."""
        n_after = ends - starts
        some = n_after > 0
        number, starts, n_after = number[some], starts[some], n_after[some]
        made = [one[some] for one in made]
        most = min(_AT_ONCE, 2**62 // (self._n_locations * self._n_visits))
        for part in _parts(number, n_after, most):
            n = n_after[part]
            following = ranges(starts[part], n)
            entry = np.repeat(np.arange(part.start, part.stop), n)
            left = self._kept[following]
            following, entry = following[left], entry[left]
            if len(entry):
                numbers = number[entry] - number[part.start]
                yield from self._extended(numbers, following, [one[entry] for one in made], size - 1, inside=inside)


def _changes(column: IntArray | SmallIntArray) -> BoolArray:
    """Return which entries differ from the entry before; the first does."""
    return np.append(True, column[1:] != column[:-1])[: len(column)]


def _parts(number: IntArray, n_after: IntArray, most: int) -> Iterator[slice]:
    """Cut entries, by ascending numbers, into parts with at most so many visits after them, or with one number."""
    starts = np.append(np.flatnonzero(_changes(number)), len(number))
    total = np.append(0, np.cumsum(n_after))[starts]
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(total, total[first] + most, "right")) - 1)
        yield slice(int(starts[first]), int(starts[last]))
        first = last
