"""Watermarks: how far event time has come, over several sources of one feed.

Wall-clock time enters as ``clock_ms``, an argument that the caller advances only while nothing is left to read:
a backlog must never make the sources that are still waiting in it look idle.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.records import Source

__all__ = ["Watermark"]


@dataclass(slots=True)
class _Progress:
    newest_ms: int | None
    heard_ms: int


class Watermark:
    """The event time before which a feed is complete, as far as its sources tell.

    The watermark is the least of the sources' newest event times, less the allowed lateness. A source that is
    expected but has not been heard holds it back, a source that is silent for the idle time-out does not.
    """

    def __init__(self, *, allowed_lateness_ms: int, idle_timeout_ms: int) -> None:
        self._allowed_lateness_ms = allowed_lateness_ms
        self._idle_timeout_ms = idle_timeout_ms
        self._sources: dict[Source, _Progress] = {}
        self._retired: set[Source] = set()

    def expect(self, topic: str, n_partitions: int, *, clock_ms: int) -> None:
        """Wait for every partition of a topic until it is heard or has been idle for long enough."""
        for source in (Source(topic, partition) for partition in range(n_partitions)):
            if source not in self._retired:
                self._sources.setdefault(source, _Progress(None, clock_ms))

    def advance(self, source: Source, newest_ms: int, *, clock_ms: int) -> None:
        """Take note of a source's newest event time, milliseconds; it never goes back."""
        known = self._sources.setdefault(source, _Progress(None, clock_ms))
        known.heard_ms = clock_ms
        known.newest_ms = newest_ms if known.newest_ms is None else max(known.newest_ms, newest_ms)

    def retire(self, source: Source) -> None:
        """Stop waiting for a source that has come to its end, unless it is heard again."""
        self._retired.add(source)
        self._sources.pop(source, None)

    def value_ms(self, *, clock_ms: int) -> int | None:
        """Return the watermark, or None while it cannot be told: a source is awaited, or none is left."""
        awake = [p.newest_ms for p in self._sources.values() if not self._is_idle(p, clock_ms)]
        if not awake or None in awake:
            return None
        return min(newest for newest in awake if newest is not None) - self._allowed_lateness_ms

    def is_idle(self, *, clock_ms: int) -> bool:
        """Tell whether every source is silent or at its end: nothing holds back what is open."""
        return all(self._is_idle(p, clock_ms) for p in self._sources.values())

    def _is_idle(self, progress: _Progress, clock_ms: int) -> bool:
        return clock_ms - progress.heard_ms >= self._idle_timeout_ms
