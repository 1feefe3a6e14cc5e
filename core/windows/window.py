"""Event-time windows: half-open, in integer milliseconds, aligned to the epoch, tumbling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.records.arrays import IntArray
from core.records.record import Kind

__all__ = ["OfWindow", "Window", "WindowKey", "WindowPolicy", "window_starts"]


class Window(NamedTuple):
    """A span of event time; ``end_ms`` is the first instant after it."""

    start_ms: int
    end_ms: int


class WindowKey(NamedTuple):
    """Key of one window of one shard, which is released on its own. Keys sort in the order of release."""

    end_ms: int
    kind: Kind
    shard: str
    start_ms: int

    @property
    def window(self) -> Window:
        """The span of event time."""
        return Window(self.start_ms, self.end_ms)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfWindow:
    """A seal record of one window. Every seal record has a kind and a shard."""

    key: WindowKey

    @property
    def kind(self) -> Kind:
        """Kind of feed of the window."""
        return self.key.kind

    @property
    def shard(self) -> str:
        """Shard of the window."""
        return self.key.shard


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPolicy:
    """How the windows of one kind of feed behave."""

    size_ms: int
    """Length of a window."""

    allowed_lateness_ms: int
    """How far behind the newest event time a record may be."""

    idle_timeout_ms: int
    """Silence after which a source no longer keeps windows open."""

    max_open: int
    """Most open windows of one shard; beyond this the oldest is sealed early."""

    max_lead_ms: int | None = None
    """How far one source may advance the watermark beyond the others; None for no limit."""

    horizon: int = 1
    """Over how many successive windows of a shard a promise holds; 1 if every window is anonymized on its own."""

    carries: bool = False
    """Whether every window hands something on to the next one of its shard, however much later that is."""

    def last_dependent_window(self, key: WindowKey) -> WindowKey:
        """Return the last window of a shard that can depend on what a window released; with a horizon of 1 itself.

        Every rule that forgets a roster asks this, so that none forgets what another needs.

        >>> policy = WindowPolicy(size_ms=10, allowed_lateness_ms=0, idle_timeout_ms=0, max_open=1, horizon=3)
        >>> policy.last_dependent_window(WindowKey(20, Kind.FRAGMENTS, "a", 10)).window
        Window(start_ms=30, end_ms=40)
        """
        # A window whose size was another one, before a change of settings, may end inside one of these.
        end_ms = -(-key.end_ms // self.size_ms) * self.size_ms + (self.horizon - 1) * self.size_ms
        return key._replace(start_ms=end_ms - self.size_ms, end_ms=end_ms)


def window_starts(ts_ms: IntArray, *, size_ms: int) -> IntArray:
    """Return where the window of each instant begins, milliseconds, shape ``(n,)``.

    >>> window_starts(np.array([9, 10, -1]), size_ms=10).tolist()
    [0, 10, -10]
    """
    return np.floor_divide(ts_ms, size_ms) * size_ms
