"""Maximal frequent sequences: what suppression should spare (Mohammed, Fung, Debbabi 2009, Definition 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.models.lkc.anonymize.levels import Levels
from core.records.arrays import IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["Frequent", "maximal_frequent"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frequent:
    """The maximal frequent sequences of a window."""

    tables: list[IntArray]
    """Those of each size, shape ``(f, size)``."""

    complete: bool
    """Whether all sizes were mined. If not, the sequences of the largest size stand for the larger ones."""

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self.tables))


def maximal_frequent(trajectories: Sequences, *, min_support: int, most_work: int) -> Frequent:
    """Mine the sequences that enough people support and that are part of no larger such sequence.

    There may be exponentially many. They are mined size by size. Mining stops before a size with more occurrences to
    examine than ``most_work`` leaves; the frequent sequences of the size before then stand for the larger ones.

    Args:
        trajectories: The window, strictly ascending trajectories.
        min_support: Fewest people, at least 1.
        most_work: Most occurrences to examine, over all sizes.
    """
    levels = Levels(trajectories)
    often = _often(levels, min_support)
    levels = Levels(trajectories.where(np.isin(trajectories.locations, levels.table[often, 0])))
    maximal: list[IntArray] = []
    while len(levels.table):
        work, previous = levels.work, levels.table
        if work > most_work:
            return Frequent(tables=[*maximal, previous], complete=False)
        most_work -= work
        levels.extend()
        levels.keep(_often(levels, min_support))
        covered = np.zeros(len(previous), np.bool_)
        for without in range(levels.table.shape[1]):
            covered[levels.find(np.delete(levels.table, without, axis=1))] = True
        maximal.append(previous[~covered])
    return Frequent(tables=maximal, complete=True)


def _often(levels: Levels, min_support: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    row, _ = levels.supporters()
    often: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.bincount(row, minlength=len(levels.table)) >= min_support
    return often
