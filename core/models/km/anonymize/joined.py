"""The joined trajectories of people over several windows, and the subtrajectories that a window adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.models.km.anonymize.earlier import Earlier
from core.records.arrays import BoolArray, IntArray, SmallIntArray, changes, ranges
from core.trajectories.trajectory import Sequences

__all__ = ["JoinedBlock", "JoinedWindow"]

_AT_ONCE = 500_000
"""Bounds the memory of one step of counting, not its result."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedBlock:
    """Some joined subtrajectories with all their supporters. All have the same number of locations in this window.

    An entry says that a piece of a person has a subtrajectory, and at which visits it has it first.
    """

    numbers: SmallIntArray
    """Number of each entry's subtrajectory, ascending, shape ``(e,)``."""

    persons: SmallIntArray
    """User number of each entry's person, ascending inside a subtrajectory, shape ``(e,)``."""

    visits: tuple[SmallIntArray, ...]
    """Visits of the window with which the piece has each of the locations in the window first, shape ``(e,)`` each."""

    def where(self, kept: BoolArray) -> JoinedBlock:
        """Return the block with some of its entries, ``kept``, shape ``(e,)``."""
        return JoinedBlock(
            numbers=self.numbers[kept],
            persons=self.persons[kept],
            visits=tuple(visits[kept] for visits in self.visits),
        )

    @property
    def supports(self) -> IntArray:
        """Distinct people of each subtrajectory, shape ``(numbers.max() + 1,)``."""
        return np.bincount(self.numbers[changes(self.numbers) | changes(self.persons)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedWindow:
    """A window, joined with what earlier windows released of its people: ``v`` visits in rows.

    A row is one released piece of a person in the window, then all earlier pieces of the person, window by window from
    the newest to the oldest. What occurs does not depend on the order of windows; with this one each subtrajectory to
    count begins in the window.
    """

    persons: IntArray
    """User number of each visit's person, ascending, shape ``(v,)``."""

    own: IntArray
    """Where the visits of the window are, shape ``(p,)``."""

    others: IntArray
    """Where the other visits are, shape ``(v - p,)``."""

    earlier: IntArray
    """Number of the location of each of the others, different in different windows, shape ``(v - p,)``."""

    n_earlier: int
    """A number above these."""

    piece_ends: IntArray
    """Where the piece of each visit ends, shape ``(v,)``."""

    window_ends: IntArray
    """Where the window of each visit ends, shape ``(v,)``."""

    row_ends: IntArray
    """Where the row of each visit ends, shape ``(v,)``."""

    @classmethod
    def of(cls, sequences: Sequences, earlier: Earlier) -> JoinedWindow:
        """Join a window with earlier ones.

        Args:
            sequences: The window as its model releases it, ``n`` pieces with ``p`` visits; locations are not looked at.
            earlier: The earlier windows.
        """
        n_own = np.diff(sequences.starts)
        first = np.searchsorted(earlier.persons, sequences.users, "left")
        n_pieces = np.searchsorted(earlier.persons, sequences.users, "right") - first
        piece = ranges(first, n_pieces)  # (q,) earlier pieces, row by row
        n_visits = np.diff(earlier.starts)[piece]  # (q,)
        row = np.repeat(np.arange(len(n_own)), n_pieces)  # (q,)
        n_others = np.bincount(row, n_visits, minlength=len(n_own)).astype(np.int64)  # (n,)
        lengths = n_own + n_others
        ends = np.cumsum(lengths)
        begins = ends - n_others  # (n,) of the others
        own, others = ranges(ends - lengths, n_own), ranges(begins, n_others)
        piece_ends, window_ends = np.empty((2, int(lengths.sum())), np.int64)
        piece_ends[own] = window_ends[own] = np.repeat(begins, n_own)
        if len(piece):
            # Earlier pieces stand one after the other in their row; those of one window end together.
            piece_end = (begins - (np.cumsum(n_others) - n_others))[row] + np.cumsum(n_visits)
            window = row * (int(earlier.windows.max()) + 1) + earlier.windows[piece]
            last = np.flatnonzero(np.append(changes(window)[1:], True))
            window_end = piece_end[last[np.searchsorted(last, np.arange(len(piece)))]]
            piece_ends[others] = np.repeat(piece_end, n_visits)
            window_ends[others] = np.repeat(window_end, n_visits)
        return cls(
            persons=np.repeat(sequences.users, lengths),
            own=own,
            others=others,
            earlier=earlier.locations[ranges(earlier.starts[:-1][piece], n_visits)],
            n_earlier=earlier.n_locations,
            piece_ends=piece_ends,
            window_ends=window_ends,
            row_ends=np.repeat(ends, lengths),
        )

    def blocks(self, locations: IntArray, m: int, kept: BoolArray) -> Iterator[JoinedBlock]:
        """Yield all joined subtrajectories of at most ``m`` locations that begin in the window, each in one block.

        Args:
            locations: Generalized location of each visit of the window, small numbers from 0, shape ``(p,)``.
            m: Most locations.
            kept: False for each suppressed visit, shape ``(p,)``.
        """
        visits = self.own[kept]
        if not len(visits):
            return
        n_own = int(locations.max()) + 1
        n = len(self.persons)
        whole, is_kept, number = np.empty(n, np.int64), np.ones(n, np.bool_), np.full(n, -1, np.int32)
        whole[self.own], whole[self.others] = locations, self.earlier + n_own
        is_kept[self.own] = kept
        number[self.own] = np.arange(len(self.own))
        search = _Search(self, whole, n_own + self.n_earlier, is_kept, number)
        yield from search.extended(np.zeros_like(visits), visits, (), m, inside=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """A search for the subtrajectories of a joined window."""

    joined: JoinedWindow
    locations: IntArray
    """Number of each visit's location, in ``0..n_locations - 1``, shape ``(v,)``."""

    n_locations: int
    kept: BoolArray
    """Which visits there are, shape ``(v,)``."""

    number: SmallIntArray
    """Number of each visit of the window, -1 for others, shape ``(v,)``."""

    def extended(
        self, prefix: IntArray, visits: IntArray, before: Sequence[SmallIntArray], size: int, *, inside: bool
    ) -> Iterator[JoinedBlock]:
        """Yield the subtrajectories that consist of a known prefix and 1 to ``size`` locations.

        Args:
            prefix: Number of a prefix, from 0, shape ``(e,)``.
            visits: A visit that can follow this prefix, shape ``(e,)``.
            before: Visits of the window that make the prefix, shape ``(e,)`` each.
            size: Most locations that follow a prefix, at least 1.
            inside: Whether ``visits`` are of the window.
        """
        joined, n_visits = self.joined, len(self.locations)
        code = (prefix * self.n_locations + self.locations[visits]) * n_visits + visits
        order = np.argsort(code)  # equal codes are equal entries
        number, visits = np.divmod(code[order], n_visits)
        is_new = changes(number)
        # Of the visits of a piece that complete a subtrajectory the first is kept: what follows others follows it, too.
        first = is_new | changes(joined.piece_ends[visits]) | changes(joined.row_ends[visits])
        number, visits, order = (np.cumsum(is_new) - 1)[first], visits[first], order[first]
        made = [one[order] for one in before]
        if inside:
            made.append(self.number[visits])
        alike = changes(number) | changes(joined.row_ends[visits])  # one entry for a row, whichever earlier piece
        yield JoinedBlock(
            numbers=number[alike].astype(np.int32),
            persons=joined.persons[visits][alike].astype(np.int32),
            visits=tuple(one[alike] for one in made),
        )
        if size == 1:
            return
        if inside:
            yield from self._with(number, made, visits + 1, joined.piece_ends[visits], size, inside=True)
            after = joined.window_ends[visits]
            yield from self._with(number, made, after, joined.row_ends[visits], size, inside=False)
            return
        twice = [np.concatenate([one, one]) for one in (number, *made)]
        starts = np.concatenate([visits + 1, joined.window_ends[visits]])
        ends = np.concatenate([joined.piece_ends[visits], joined.row_ends[visits]])
        order = np.argsort(twice[0], kind="stable")
        number, *made = (one[order] for one in twice)
        yield from self._with(number, made, starts[order], ends[order], size, inside=False)

    def _with(
        self,
        number: IntArray,
        made: Sequence[SmallIntArray],
        starts: IntArray,
        ends: IntArray,
        size: int,
        *,
        inside: bool,
    ) -> Iterator[JoinedBlock]:
        """Extend subtrajectories by the visits between ``starts`` and ``ends``, in parts that fit the memory."""
        n_after = ends - starts
        some = n_after > 0
        number, starts, n_after = number[some], starts[some], n_after[some]
        made = [one[some] for one in made]
        most = min(_AT_ONCE, 2**62 // (self.n_locations * len(self.locations)))
        for part in _parts(number, n_after, most):
            n = n_after[part]
            following = ranges(starts[part], n)
            entry = np.repeat(np.arange(part.start, part.stop), n)
            left = self.kept[following]
            following, entry = following[left], entry[left]
            if len(entry):
                numbers = number[entry] - number[part.start]
                yield from self.extended(numbers, following, [one[entry] for one in made], size - 1, inside=inside)


def _parts(number: IntArray, n_after: IntArray, most: int) -> Iterator[slice]:
    """Cut entries, by ascending numbers, into parts with at most so many visits after them, or with one number."""
    starts = np.append(np.flatnonzero(changes(number)), len(number))
    total = np.append(0, np.cumsum(n_after))[starts]
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(total, total[first] + most, "right")) - 1)
        yield slice(int(starts[first]), int(starts[last]))
        first = last
