"""What was drawn at random for the release of a window, where the draw cannot be repeated.

A draw is written to the seals topic before anything of its window is emitted. Of several draws of one window the first
one in the topic counts. So a window that is released again after a crash, or by another worker, has the same bytes, and
nobody sees two draws of one window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.windows.window import OfWindow

__all__ = ["Counts", "Draw"]

Counts = Mapping[tuple[str, ...], int]
"""Numbers of people by what they have in common: for flows the names of origin and destination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw(OfWindow):
    """The noisy counts of a window of a shard. Not published as they are: a release leaves out the small ones."""

    tables: Mapping[str, Counts] = field(repr=False)
    """The counts of each release of the window, by the release's shard: a shard may be released in several parts."""

    writer: str
    """Id of the writer and its attempt; part of the record's key, so that compaction keeps every draw."""
