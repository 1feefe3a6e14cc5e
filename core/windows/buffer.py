"""The rows of one open window, as growing columns; an object for each record would take ten times the memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from core.records.record import ROW_TYPES, Kind, Rows

__all__ = ["WindowBuffer"]

_GROWTH = 1.5
"""Factor by which a full buffer grows: copies are rare, and at most a third of the buffer is empty."""


class WindowBuffer:
    """Rows in the order of the offsets of their chunks.

    Args:
        kind: The kind of feed of the rows.
    """

    __slots__ = ("_ends", "_offsets", "_rows")

    def __init__(self, kind: Kind) -> None:
        self._rows: Rows = np.empty(0, dtype=ROW_TYPES[kind])
        self._offsets = array("q")
        """Offset of each chunk with rows of the window, ascending."""
        self._ends = array("q")
        """Number of rows up to and including each of these chunks."""

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def first_offset(self) -> int | None:
        """Offset of the first chunk with rows of the window, or None."""
        return self._offsets[0] if self._offsets else None

    @property
    def rows(self) -> Rows:
        """All rows, shape ``(n,)``. Rows that are added later stand behind them; valid until rows are trimmed."""
        return self._rows[: len(self)]

    def add(self, offset: int, rows: Rows) -> None:
        """Append the rows of a chunk; offsets must ascend."""
        begin, end = len(self), len(self) + len(rows)
        if end > len(self._rows):
            larger = np.empty(max(end, round(_GROWTH * len(self._rows))), dtype=self._rows.dtype)
            larger[:begin] = self._rows[:begin]
            self._rows = larger
        self._rows[begin:end] = rows
        self._offsets.append(offset)
        self._ends.append(end)

    def take(self, start_ms: int, end_ms: int) -> list[tuple[int, Rows]]:
        """Remove the rows of a span of event time; return them by the offset of their chunk."""
        chunks = [(offset, self._rows[begin:end].copy()) for offset, begin, end in self._chunks()]
        taken = []
        del self._offsets[:], self._ends[:]
        for offset, rows in chunks:
            inside = (rows["ts_ms"] >= start_ms) & (rows["ts_ms"] < end_ms)
            if inside.any():
                taken.append((offset, rows[inside]))
            if not inside.all():
                self.add(offset, rows[~inside])
        return taken

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        yield from zip(self._offsets, [0, *self._ends[:-1]], self._ends, strict=True)

    def trim(self, last_offset: int) -> int:
        """Drop the rows of chunks after an offset, and return their number."""
        before, keep = len(self), bisect_right(self._offsets, last_offset)
        del self._offsets[keep:], self._ends[keep:]
        return before - len(self)
