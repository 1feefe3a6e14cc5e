"""The open windows of one kind of feed on one partition: which are buffered, sealed, and due next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sortedcontainers import SortedDict

from core.records.record import Source
from core.windows.buffer import WindowBuffer
from core.windows.draw import Draw
from core.windows.history import History, Trace
from core.windows.seal import Seal, SealedUntil
from core.windows.watermark import Watermark
from core.windows.window import WindowKey, WindowPolicy

__all__ = ["OpenWindows", "ShardProgress"]


@dataclass(slots=True)
class ShardProgress:
    """Progress of one shard."""

    open_windows: set[WindowKey] = field(default_factory=set)

    sealed_ms: float = -math.inf
    """All windows that end at or before this event time are sealed, completed, or will stay empty."""

    completed_offset: int = -1
    """Last offset that is included in a completed window."""

    known: set[Seal | SealedUntil] = field(default_factory=set)
    traces: dict[WindowKey, dict[int, Trace]] = field(default_factory=dict)
    """Traces of windows of the horizon, by window and part."""

    draws: dict[WindowKey, list[Draw]] = field(default_factory=dict)
    """Draws of windows that are not completed, in the order of the seals topic."""

    heard: dict[tuple[Source, str], int] = field(default_factory=dict)
    """Highest offset of each log of each source."""


class OpenWindows:
    """Open windows in the order of release, so that those that are not due need no check.

    Args:
        policy: How the windows behave.
    """

    def __init__(self, policy: WindowPolicy) -> None:
        self.policy = policy
        self.watermark = Watermark(
            allowed_lateness_ms=policy.allowed_lateness_ms,
            idle_timeout_ms=policy.idle_timeout_ms,
            max_lead_ms=policy.max_lead_ms,
        )
        self.windows: SortedDict[WindowKey, WindowBuffer] = SortedDict()
        self.seals: SortedDict[WindowKey, Seal] = SortedDict()
        """First seals of open windows."""

        self.shards: dict[str, ShardProgress] = {}
        self.crowded: set[str] = set()
        """Shards with more open windows than are allowed."""

    def shard(self, name: str) -> ShardProgress:
        """Return a shard, created if it does not exist."""
        return self.shards.setdefault(name, ShardProgress())

    def history(self, key: WindowKey) -> History:
        """Return what the earlier windows of the horizon released in the shard of a window."""
        traces = (Trace.whole(list(parts.values())) for parts in self.shard(key.shard).traces.values())
        return History.of(key, traces, horizon=self.policy.horizon)

    def has_trace(self, key: WindowKey) -> bool:
        """Return whether all of the trace of a window is written."""
        parts = self.shard(key.shard).traces.get(key, {})
        return bool(parts) and all(number in parts for number in range(max(one.n_parts for one in parts.values())))

    def draw(self, key: WindowKey) -> Draw | None:
        """Return the draw of a window that counts: the first one; None if there is none."""
        return next(iter(self.shard(key.shard).draws.get(key, ())), None)

    def forgettable(self, key: WindowKey) -> tuple[Trace | Draw, ...]:
        """Return the traces in the shard of a completed window that no later window depends on, and spent draws."""
        shard = self.shard(key.shard)
        spent = [draw for of, draws in sorted(shard.draws.items()) if of.end_ms <= key.end_ms for draw in draws]
        since_ms = key.end_ms - (self.policy.horizon - 1) * self.policy.size_ms
        traces = [one for of, parts in sorted(shard.traces.items()) if of.end_ms <= since_ms for one in parts.values()]
        return (*traces, *spent)

    def open_window(self, key: WindowKey) -> WindowBuffer:
        """Return an open window, opened if it is not."""
        if key not in self.windows:
            self.windows[key] = WindowBuffer(key.kind)
            self.shard(key.shard).open_windows.add(key)
            self._weigh(key.shard)
        window: WindowBuffer = self.windows[key]
        return window

    def close_window(self, key: WindowKey) -> int:
        """Close a window, and return the number of its rows."""
        window: WindowBuffer = self.windows.pop(key)
        self.seals.pop(key, None)
        self.shards[key.shard].open_windows.discard(key)
        self._weigh(key.shard)
        return len(window)

    def _weigh(self, shard: str) -> None:
        crowded = len(self.shards[shard].open_windows) > self.policy.max_open
        (self.crowded.add if crowded else self.crowded.discard)(shard)

    def is_late(self, key: WindowKey, offset: int) -> bool:
        """Return whether rows of a window at this offset are late, because the window's content is already fixed."""
        own: Seal | None = self.seals.get(key)
        return key.end_ms <= self.shards[key.shard].sealed_ms if own is None else offset > own.last_offset

    def ending_by(self, shard: str, end_ms: int) -> list[WindowKey]:
        """Return the open windows of a shard that end at or before ``end_ms``, in the order of release."""
        return sorted(key for key in self.shards[shard].open_windows if key.end_ms <= end_ms)

    def releasable(self, next_offset: int) -> WindowKey | None:
        """Return the first sealed window that is the oldest of its shard and has all its rows."""
        waiting: set[str] = set()
        key: WindowKey
        seal: Seal
        for key, seal in self.seals.items():
            if key.shard not in waiting and next_offset > seal.last_offset:
                return key
            waiting.add(key.shard)
        return None

    def due(self, clock_ms: int, now_ms: float) -> WindowKey | None:
        """Return the first window to seal, or None; a shard with a sealed window waits for its release.

        Args:
            clock_ms: The clock, which does not advance while messages wait to be read.
            now_ms: The present in event time. Windows that end later stay open even if all sources are silent.
                Otherwise a source whose clock is ahead would make the later records of all others late.
        """
        reached_ms = self.watermark.value_ms(clock_ms=clock_ms)
        until_ms = now_ms if self.watermark.is_idle(clock_ms=clock_ms) else -math.inf
        until_ms = until_ms if reached_ms is None else max(until_ms, reached_ms)
        oldest = self.oldest_unsealed()
        if oldest is not None and oldest.end_ms <= until_ms:
            return oldest
        return min((min(self.shards[name].open_windows) for name in self.crowded - self._waiting()), default=None)

    def oldest_unsealed(self) -> WindowKey | None:
        """Return the oldest window among the shards without a sealed window, or None."""
        waiting = self._waiting()
        return next((key for key in self.windows if key.shard not in waiting), None)

    def _waiting(self) -> set[str]:
        """Return the shards with a sealed window; their next window is sealed after its release."""
        return {key.shard for key in self.seals}
