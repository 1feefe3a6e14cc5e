"""The open windows of one kind of feed on one partition: which are buffered, sealed, and due next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from sortedcontainers import SortedDict, SortedSet

from core.records.arrays import BoolArray, IntArray
from core.records.record import Kind, Rows, Source
from core.windows.buffer import WindowBuffer
from core.windows.draw import Draw
from core.windows.history import History, Roster
from core.windows.seal import Seal, SealedUntil
from core.windows.watermark import Watermark
from core.windows.window import WindowKey, WindowPolicy, window_starts

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
    rosters: dict[WindowKey, dict[int, Roster]] = field(default_factory=dict)
    """Rosters of windows of the horizon, by window and part."""

    last_dependent_window: WindowKey | None = None
    """The last window that can depend on one of the rosters; None if there is no roster, or while windows are open."""

    draws: dict[WindowKey, list[Draw]] = field(default_factory=dict)
    """Draws of windows that are not completed, in the order of the seals topic."""

    highest_offsets: dict[tuple[Source, str], int] = field(default_factory=dict)
    """Highest offset of each log of each source."""


class OpenWindows:
    """Open windows in the order of release, so that those that are not due need no check.

    Args:
        kind: The kind of feed.
        policy: How the windows behave.
    """

    def __init__(self, kind: Kind, policy: WindowPolicy) -> None:
        self.kind, self.policy = kind, policy
        self.watermark = Watermark(
            allowed_lateness_ms=policy.allowed_lateness_ms,
            idle_timeout_ms=policy.idle_timeout_ms,
            max_lead_ms=policy.max_lead_ms,
        )
        self.windows: SortedDict[WindowKey, WindowBuffer] = SortedDict()
        self.seals: SortedDict[WindowKey, Seal] = SortedDict()
        """First seals of open windows."""

        self.begins_ms: dict[WindowKey, float] = {}
        """Event time of the first rows of each sealed window: up to it earlier windows are sealed. It is later than the
        start of the window only after a change of the size of windows."""

        self.shards: dict[str, ShardProgress] = {}
        self.crowded: set[str] = set()
        """Shards with more open windows than are allowed."""

        self._last_dependent_windows: SortedSet[WindowKey] = SortedSet()
        """The last window that can depend on a roster, of each shard with rosters and without open windows."""

        self._passed_ms = -math.inf
        """The highest watermark that :meth:`due` has seen: there is none any more while all sources are silent."""

    def shard(self, name: str) -> ShardProgress:
        """Return a shard, created if it does not exist."""
        return self.shards.setdefault(name, ShardProgress())

    def history(self, key: WindowKey) -> History:
        """Return what the earlier windows of the horizon released in the shard of a window."""
        rosters = (Roster.whole(list(parts.values())) for parts in self.shard(key.shard).rosters.values())
        return History.of(key, rosters, horizon=self.policy.horizon)

    def has_roster(self, key: WindowKey) -> bool:
        """Return whether all of the roster of a window is written."""
        parts = self.shard(key.shard).rosters.get(key, {})
        return bool(parts) and all(number in parts for number in range(max(one.n_parts for one in parts.values())))

    def remember(self, roster: Roster) -> None:
        """Keep a part of a roster."""
        self.shard(roster.shard).rosters.setdefault(roster.key, {})[roster.part] = roster
        self._note_state(roster.shard)

    def forget(self, roster: Roster) -> None:
        """Drop all parts of a roster."""
        self.shard(roster.shard).rosters.pop(roster.key, None)
        self._note_state(roster.shard)

    def draw(self, key: WindowKey) -> Draw | None:
        """Return the draw of a window that counts: the first one; None if there is none."""
        return next(iter(self.shard(key.shard).draws.get(key, ())), None)

    def forgettable(self, shard: str, completed_ms: int) -> tuple[Roster | Draw, ...]:
        """Return a shard's rosters on which no window depends that ends after ``completed_ms``, and spent draws."""
        progress, last = self.shard(shard), self.policy.last_dependent_window
        spent = [one for of, draws in sorted(progress.draws.items()) if of.end_ms <= completed_ms for one in draws]
        rosters = progress.rosters
        newest = max(rosters, default=None) if self.policy.carries else None
        obsolete = [of for of in sorted(rosters) if last(of).end_ms <= completed_ms and of != newest]
        return (*(one for of in obsolete for one in rosters[of].values()), *spent)

    def passed_last_dependent_window(self) -> WindowKey | None:
        """Return the last window that can depend on any roster of an idle shard, once the watermark has passed it.

        A shard is idle if it has no open windows. Only when this window is sealed can no late record open it, or one
        before it, any more; then the rosters can be forgotten. Silence of all sources is not enough: after an outage
        their next records may belong to just these windows.
        """
        first: WindowKey | None = next(iter(self._last_dependent_windows), None)
        return first if first is not None and first.end_ms <= self._passed_ms else None

    def open_window(self, key: WindowKey) -> WindowBuffer:
        """Return an open window, opened if it is not."""
        if key not in self.windows:
            self.windows[key] = WindowBuffer(key.kind)
            self.shard(key.shard).open_windows.add(key)
            self._note_state(key.shard)
        window: WindowBuffer = self.windows[key]
        return window

    def close_window(self, key: WindowKey) -> int:
        """Close a window, and return the number of its rows."""
        window: WindowBuffer = self.windows.pop(key)
        self.seals.pop(key, None)
        self.begins_ms.pop(key, None)
        self.shards[key.shard].open_windows.discard(key)
        self._note_state(key.shard)
        return len(window)

    def _note_state(self, name: str) -> None:
        """Note anew whether a shard has too many open windows, or none but rosters."""
        shard = self.shards[name]
        crowded = len(shard.open_windows) > self.policy.max_open
        (self.crowded.add if crowded else self.crowded.discard)(name)
        self._last_dependent_windows.discard(shard.last_dependent_window)
        shard.last_dependent_window = None
        if shard.rosters and not shard.open_windows and not self.policy.carries:
            shard.last_dependent_window = max(map(self.policy.last_dependent_window, shard.rosters))
            self._last_dependent_windows.add(shard.last_dependent_window)

    def by_window(self, shard: str, rows: Rows) -> Iterator[tuple[WindowKey, Rows]]:
        """Divide rows of a shard into windows: sealed ones, whatever their size was, and those of the present size."""
        of_sealed = np.zeros(len(rows), dtype=bool)
        for key in [key for key in self.seals if key.shard == shard]:
            inside = ~of_sealed & (rows["ts_ms"] >= key.start_ms) & (rows["ts_ms"] < key.end_ms)
            inside &= rows["ts_ms"] >= self.begins_ms[key]
            of_sealed |= inside
            if inside.any():
                yield key, rows[inside]
        others, size_ms = rows[~of_sealed], self.policy.size_ms
        starts = window_starts(others["ts_ms"], size_ms=size_ms)
        for start_ms in np.unique(starts).tolist():
            yield WindowKey(start_ms + size_ms, self.kind, shard, start_ms), others[starts == start_ms]

    def collect(self, key: WindowKey) -> None:
        """Move the rows of a window that is being sealed to it, from windows of another size that hold some of them.

        Only a worker that has not noticed yet that the size has changed seals such a window.
        """
        others = [one for one in self.shards[key.shard].open_windows if one not in self.seals and one != key]
        overlapping = [one for one in others if one.start_ms < key.end_ms and key.start_ms < one.end_ms]
        parts = [part for one in overlapping for part in self.windows[one].take(key.start_ms, key.end_ms)]
        for offset, rows in sorted(parts, key=lambda part: part[0]):
            self.windows[key].add(offset, rows)

    def are_late(self, key: WindowKey, offset: int, ts_ms: IntArray) -> BoolArray:
        """Return which rows of a window at this offset are late, because their window's content is already fixed."""
        own: Seal | None = self.seals.get(key)
        begins_ms = self.shards[key.shard].sealed_ms if own is None else self.begins_ms[key]
        late: BoolArray = ts_ms < begins_ms
        return late | (own is not None and offset > own.last_offset)

    def begin_after(self, shard: str, until_ms: int) -> None:
        """Note that windows of a shard up to an event time are completed: no sealed window holds their rows."""
        for key in self.seals:
            if key.shard == shard and key.end_ms > until_ms:
                self.begins_ms[key] = max(self.begins_ms[key], until_ms)

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
        """Return the first window whose end has passed, or None.

        A shard with a sealed window waits for its release.

        Args:
            clock_ms: The clock, which does not advance while messages wait to be read.
            now_ms: The present in event time. Windows that end later stay open even if all sources are silent.
                Otherwise a source whose clock is ahead would make the later records of all others late.
        """
        reached_ms = self.watermark.value_ms(clock_ms=clock_ms)
        until_ms = now_ms if self.watermark.is_idle(clock_ms=clock_ms) else -math.inf
        if reached_ms is not None:
            until_ms = max(until_ms, reached_ms)
            self._passed_ms = max(self._passed_ms, reached_ms)
        oldest = self.oldest_unsealed()
        return oldest if oldest is not None and oldest.end_ms <= until_ms else None

    def one_too_many(self) -> WindowKey | None:
        """Return the oldest window among the shards with too many open windows and no sealed one, or None."""
        return min((min(self.shards[name].open_windows) for name in self.crowded - self._waiting()), default=None)

    def oldest_unsealed(self) -> WindowKey | None:
        """Return the oldest window among the shards without a sealed window, or None."""
        waiting = self._waiting()
        return next((key for key in self.windows if key.shard not in waiting), None)

    def _waiting(self) -> set[str]:
        """Return the shards with a sealed window; their next window is sealed after its release."""
        return {key.shard for key in self.seals}
