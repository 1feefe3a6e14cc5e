"""The windows of one reading in a private folder, so that each combination, in whatever process, need not read again.

They are the raw records of the run: located, keyed by hashes of users, and removed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.records.record import Rows
from core.windows.partition import ReleaseWindow
from core.windows.window import WindowKey

__all__ = ["WindowFile", "keep_windows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFile:
    """A sealed window whose rows are in a file."""

    key: WindowKey = field(repr=False)
    last_offset: int
    people: int
    """Distinct people in it."""

    path: Path = field(repr=False)

    def rows(self) -> Rows:
        """Read its rows."""
        rows: Rows = np.load(self.path, allow_pickle=False)
        return rows


def keep_windows(
    windows: Iterable[ReleaseWindow], folder: Path, progress: Callable[[int], None] = lambda _: None
) -> tuple[Sequence[WindowFile], int]:
    """Write windows into files.

    Args:
        windows: The windows, in the order of their seals; one after the other is in memory.
        folder: An existing folder that only this user can read.
        progress: Called with the number of windows so far.

    Returns:
        The files, and the number of distinct people in all of them.
    """
    everybody: npt.NDArray[np.uint64] = np.empty(0, np.uint64)

    def written() -> Iterator[WindowFile]:
        nonlocal everybody
        for number, window in enumerate(windows, 1):
            path = folder / f"{number}.npy"
            np.save(path, window.rows, allow_pickle=False)
            people = np.unique(window.rows["user"])
            everybody = np.union1d(everybody, people)
            yield WindowFile(key=window.seal.key, last_offset=window.seal.last_offset, people=len(people), path=path)
            progress(number)

    files = list(written())
    return files, len(everybody)
