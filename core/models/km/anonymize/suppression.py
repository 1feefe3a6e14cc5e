"""Suppress visits of a window until no joined subtrajectory is infrequent."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from core.models.km.anonymize.joined import JoinedBlock, JoinedWindow
from core.records.arrays import BoolArray, FloatArray, IntArray, SmallIntArray, starts_of
from core.trajectories.trajectory import Sequences

__all__ = ["suppress_infrequent"]

_MOST_HELD = 15_000_000
"""Most entries that are held at once."""

_LITTLE_MORE = 4
"""If there are more, only subtrajectories with fewer than so many times k supporters are held."""


def suppress_infrequent(
    sequences: Sequences, joined: JoinedWindow, kept: BoolArray, *, k: int, m: int, most: int
) -> BoolArray | None:
    """Suppress visits until every joined subtrajectory that begins in the window has support k or 0.

    Of a piece only the last visits to a location are suppressed, from some visit on. The visits with which a piece has
    a subtrajectory first are the earliest possible. So once one of them is suppressed, the piece does not have it any
    more: nothing has to be counted again.

    If a subtrajectory has one location in the window, all visits of its supporters to this location have to go. These
    are suppressed first, until no such subtrajectory is infrequent. Of several locations the one is chosen whose visits
    are in the most infrequent subtrajectories of the piece for each visit that goes.

    It ends: each step suppresses a visit, or nothing is infrequent.

    Args:
        sequences: The window over generalized locations, numbers from 0, ``p`` visits.
        joined: The same window with what earlier ones released.
        kept: Which visits there are, shape ``(p,)``.
        k: Smallest support.
        m: Most locations of a subtrajectory.
        most: Most visits that may be suppressed.

    Returns:
        Which visits are left, shape ``(p,)``; None as soon as more than ``most`` are suppressed.
    """
    runs = _Runs(sequences, kept, most=most)
    while True:
        before = runs.n_suppressed
        blocks, are_all = _hold(joined.blocks(sequences.locations, m, runs.kept), runs, k)
        _settle_all(blocks, runs, k)
        blocks.clear()  # before the next ones are counted
        if runs.exhausted:
            return None
        if are_all or runs.n_suppressed == before:
            return runs.kept


def _hold(blocks: Iterable[JoinedBlock], runs: _Runs, k: int) -> tuple[list[JoinedBlock], bool]:
    """Return blocks as far as the memory allows, and whether these are all with all their entries.

    If they are too many, frequent subtrajectories are left out: few of them become infrequent. If they are still too
    many, the others are settled one by one.
    """
    held: list[JoinedBlock] = []
    n_entries, are_all = 0, True
    for block in blocks:
        one = block if are_all else _rare(block, k)
        n_entries += len(one.numbers)
        if n_entries > _MOST_HELD and are_all:
            for at, other in enumerate(held):
                held[at] = _rare(other, k)
            one, are_all = _rare(one, k), False
            n_entries = len(one.numbers) + sum(len(other.numbers) for other in held)
        if n_entries > _MOST_HELD:
            n_entries -= len(one.numbers)
            _settle(block, runs, k)
        else:
            held.append(one)
        if runs.exhausted:
            break
    return held, are_all


def _rare(block: JoinedBlock, k: int) -> JoinedBlock:
    """Return those subtrajectories of a block that have little more than k supporters."""
    return block.where((block.supports < _LITTLE_MORE * k)[block.numbers])


def _settle_all(blocks: list[JoinedBlock], runs: _Runs, k: int) -> None:
    """Suppress visits until no subtrajectory of several blocks is infrequent; of the blocks, what is left stays."""
    forced = [at for at, block in enumerate(blocks) if len(block.visits) == 1]
    free = [at for at, block in enumerate(blocks) if len(block.visits) > 1]
    while not runs.exhausted:
        before = runs.n_suppressed
        for at in forced:
            blocks[at] = _settle(blocks[at], runs, k)
        if runs.n_suppressed > before:
            continue
        for at in free:
            blocks[at] = _settle(blocks[at], runs, k, once=True)
        if runs.n_suppressed == before:
            return


class _Runs:
    """The visits of each piece to each location, one run after the other, and how many of each run are left.

    Args:
        sequences: The window over generalized locations, ``p`` visits.
        kept: Which visits there are, shape ``(p,)``.
        most: Most visits that may be suppressed.
    """

    def __init__(self, sequences: Sequences, kept: BoolArray, *, most: int) -> None:
        piece = np.repeat(np.arange(len(sequences.users)), np.diff(sequences.starts))
        visits = np.flatnonzero(kept)
        order = np.lexsort((visits, sequences.locations[visits], piece[visits]))
        self._visits = visits[order]  # (q,) in the order of runs
        self._place = np.full(len(kept), -1)  # (p,) of each visit in it
        self._place[self._visits] = np.arange(len(visits))
        pair = np.stack([piece[self._visits], sequences.locations[self._visits]])
        is_first = np.append(True, (pair[:, 1:] != pair[:, :-1]).any(axis=0))[: len(visits)]
        self._run = np.cumsum(is_first) - 1  # (q,)
        self._starts = starts_of(np.bincount(self._run))
        self._ends = self._starts[1:].copy()  # what of each run is left
        self._most = most
        self._alive = kept.copy()
        self.n_suppressed = 0
        """Visits that were suppressed here."""

    @property
    def exhausted(self) -> bool:
        """Whether more visits are suppressed than may be."""
        return self.n_suppressed > self._most

    @property
    def kept(self) -> BoolArray:
        """Which visits are left, shape ``(p,)``."""
        return self._alive.copy()

    def has(self, visits: Iterable[SmallIntArray]) -> BoolArray:
        """Return for which entries all visits are left, shape ``(e,)``."""
        first, *others = visits
        found: BoolArray = self._alive[first]
        for one in others:
            found = found & self._alive[one]
        return found

    def suppress_from(self, visits: SmallIntArray | IntArray) -> None:
        """Suppress some visits, and the later ones of their runs."""
        place = self._place[visits]
        np.minimum.at(self._ends, self._run[place], place)
        gone = np.arange(len(self._visits)) >= self._ends[self._run]
        self._alive[self._visits[gone]] = False
        self.n_suppressed = int(gone.sum())

    def worth(self, visits: tuple[SmallIntArray, ...]) -> list[FloatArray]:
        """Return how many entries lose one of their visits for each visit that is suppressed, from each visit on.

        Args:
            visits: Visits of each entry, all of them left, shape ``(e,)`` each.
        """
        places = [self._place[one] for one in visits]
        hit = np.bincount(np.concatenate(places), minlength=len(self._visits))
        total = np.append(0, np.cumsum(hit))
        return [(total[self._ends[self._run[one]]] - total[one]) / (self._ends[self._run[one]] - one) for one in places]


def _settle(block: JoinedBlock, runs: _Runs, k: int, *, once: bool = False) -> JoinedBlock:
    """Suppress visits until no subtrajectory of a block is infrequent, or once; return the entries that are left."""
    while True:
        alive = runs.has(block.visits)
        if not alive.all():
            block = block.where(alive)
        if not len(block.numbers):
            return block
        infrequent = (block.supports < k)[block.numbers]
        if not infrequent.any():
            return block
        bad = tuple(one[infrequent] for one in block.visits)
        if len(bad) == 1:
            runs.suppress_from(bad[0])
        else:
            worth = np.stack(runs.worth(bad))
            chosen = len(bad) - 1 - worth[::-1].argmax(axis=0)  # of equal ones the last
            runs.suppress_from(np.stack(bad)[chosen, np.arange(worth.shape[1])])
        if once or runs.exhausted:
            return block
