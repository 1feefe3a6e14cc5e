"""Watermarks: how far event time has come, over several sources of one feed.

Wall-clock time enters as ``clock_ms``, an argument that the caller advances only while nothing is left to read:
a backlog must never make the sources that are still waiting in it look idle.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.records.record import Source

__all__ = ["Watermark"]


@dataclass(slots=True)
class _Progress:
    newest_ms: int | None
    heard_ms: int


class Watermark:
    """The event time before which a feed is complete, as far as its sources tell.

    The watermark is the least of the sources' newest event times, less the allowed lateness. A source that is
    expected but has not been heard holds it back, a source that is silent for the idle time-out does not.

    A source whose clock is ahead must not push those that are silent just now: its newest event time counts at most as
    ``max_lead_ms`` after that of the others, who are taken to have gone on with the clock since they were last heard.
    Alone, it counts as it is.

    Args:
        allowed_lateness_ms: How far behind the newest event time a record may come.
        idle_timeout_ms: After how much silence a source stops holding the watermark.
        max_lead_ms: How far a source may push the others; None for any.
    """

    def __init__(self, *, allowed_lateness_ms: int, idle_timeout_ms: int, max_lead_ms: int | None = None) -> None:
        self._allowed_lateness_ms = allowed_lateness_ms
        self._idle_timeout_ms = idle_timeout_ms
        self._max_lead_ms = max_lead_ms
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
        awake = [p for p in self._sources.values() if not self._is_idle(p, clock_ms)]
        newest = [p.newest_ms for p in awake if p.newest_ms is not None]
        if not awake or len(newest) < len(awake):
            return None
        reached_ms = min(newest)
        if self._max_lead_ms is not None and len(awake) == 1:
            # With two awake the slower one decides, which leads nobody.
            others_ms = self._others_ms(awake[0], clock_ms)
            reached_ms = reached_ms if others_ms is None else min(reached_ms, others_ms + self._max_lead_ms)
        return reached_ms - self._allowed_lateness_ms

    def lead_ms(self, *, clock_ms: int) -> int:
        """Return how far the most advanced source is ahead of all others, 0 where it is alone."""
        known = [p for p in self._sources.values() if p.newest_ms is not None]
        if not known:
            return 0
        first = max(known, key=lambda p: _now_ms(p, clock_ms))
        others_ms = self._others_ms(first, clock_ms)
        return 0 if others_ms is None else max(0, (first.newest_ms or 0) - others_ms)

    def _others_ms(self, source: _Progress, clock_ms: int) -> int | None:
        """Return how far the most advanced of the other sources is by now, or None where none was heard."""
        others = [p for p in self._sources.values() if p is not source and p.newest_ms is not None]
        return max((_now_ms(p, clock_ms) for p in others), default=None)

    def is_idle(self, *, clock_ms: int) -> bool:
        """Tell whether every source is silent or at its end: nothing holds back what is open."""
        return all(self._is_idle(p, clock_ms) for p in self._sources.values())

    def _is_idle(self, progress: _Progress, clock_ms: int) -> bool:
        return clock_ms - progress.heard_ms >= self._idle_timeout_ms


def _now_ms(progress: _Progress, clock_ms: int) -> int:
    """Return the event time that a source has reached if it went on with the clock since it was heard."""
    return (progress.newest_ms or 0) + clock_ms - progress.heard_ms
