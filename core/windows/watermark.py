"""Watermarks: the progress of event time over several sources of one feed.

Wall-clock time enters as ``clock_ms``, an argument that the caller advances only while nothing is left to read:
otherwise a source whose records still wait in a backlog would look idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.records.record import Source

__all__ = ["Watermark"]


@dataclass(slots=True)
class _Progress:
    newest_ms: int | None
    heard_ms: int


class Watermark:
    """The event time up to which a feed is expected to be complete.

    The watermark is the least of the sources' newest event times, less the allowed lateness. An expected source without
    records holds it back, until the source has been silent for the idle time-out.

    A source whose clock is ahead must not make the next records of silent sources late. So its newest event time counts
    as at most ``max_lead_ms`` after that of the others, whose event times are assumed to have advanced with the clock
    since their last records. This limit does not apply to a source without others.

    Args:
        allowed_lateness_ms: How far behind the newest event time a record may be.
        idle_timeout_ms: Silence after which a source no longer holds back the watermark.
        max_lead_ms: How far one source may advance the watermark beyond the others; None for no limit.
    """

    def __init__(self, *, allowed_lateness_ms: int, idle_timeout_ms: int, max_lead_ms: int | None = None) -> None:
        self._allowed_lateness_ms = allowed_lateness_ms
        self._idle_timeout_ms = idle_timeout_ms
        self._max_lead_ms = max_lead_ms
        self._sources: dict[Source, _Progress] = {}
        self._retired: set[Source] = set()
        self._expected: dict[str, int] = {}
        """Number of expected partitions by topic."""
        self._inputs: dict[str, int] = {}
        """Number of partitions of each topic to expect as soon as one topic is."""

    def expect_inputs(self, topics: Mapping[str, int], *, clock_ms: int) -> None:
        """Wait for all topics of the feed as soon as one of them has records.

        Silence before the feed's first record is not counted. Otherwise all topics would look idle when a feed begins
        late, and the first one that has records would close windows whose records in the others are still unread.

        Args:
            topics: Number of partitions by topic.
            clock_ms: The clock.
        """
        self._inputs |= topics
        if self._expected:
            self._expect(topics, clock_ms)

    def expect(self, topic: str, n_partitions: int, *, clock_ms: int) -> None:
        """Wait for every partition of a topic until it has records or has been idle for the time-out."""
        if not self._expected:
            self._expect(self._inputs, clock_ms)
        self._expect({topic: n_partitions}, clock_ms)

    def _expect(self, topics: Mapping[str, int], clock_ms: int) -> None:
        for topic, n_partitions in topics.items():
            for source in (Source(topic, partition) for partition in range(self._expected.get(topic, 0), n_partitions)):
                if source not in self._retired:
                    self._sources.setdefault(source, _Progress(None, clock_ms))
            self._expected[topic] = max(n_partitions, self._expected.get(topic, 0))

    def advance(self, source: Source, newest_ms: int, *, clock_ms: int) -> None:
        """Record a source's newest event time, milliseconds; an earlier one has no effect."""
        known = self._sources.setdefault(source, _Progress(None, clock_ms))
        known.heard_ms = clock_ms
        known.newest_ms = newest_ms if known.newest_ms is None else max(known.newest_ms, newest_ms)

    def retire(self, source: Source) -> None:
        """Stop waiting for a source that has ended, unless it has records again."""
        self._retired.add(source)
        self._sources.pop(source, None)

    def value_ms(self, *, clock_ms: int) -> int | None:
        """Return the watermark, or None if it is unknown: a source has no records yet, or all are idle."""
        awake = [p for p in self._sources.values() if not self._is_idle(p, clock_ms)]
        newest = [p.newest_ms for p in awake if p.newest_ms is not None]
        if not awake or len(newest) < len(awake):
            return None
        reached_ms = min(newest)
        if self._max_lead_ms is not None and len(awake) == 1:
            # With two active sources the slower one decides, and it is not ahead.
            others_ms = self._others_ms(awake[0], clock_ms)
            reached_ms = reached_ms if others_ms is None else min(reached_ms, others_ms + self._max_lead_ms)
        return reached_ms - self._allowed_lateness_ms

    def lead_ms(self, *, clock_ms: int) -> int:
        """Return how far the most advanced source is ahead of all others; 0 if it is the only one."""
        known = [p for p in self._sources.values() if p.newest_ms is not None]
        if not known:
            return 0
        first = max(known, key=lambda p: _now_ms(p, clock_ms))
        others_ms = self._others_ms(first, clock_ms)
        return 0 if others_ms is None else max(0, (first.newest_ms or 0) - others_ms)

    def _others_ms(self, source: _Progress, clock_ms: int) -> int | None:
        """Return the present event time of the most advanced other source; None if no other has records."""
        others = [p for p in self._sources.values() if p is not source and p.newest_ms is not None]
        return max((_now_ms(p, clock_ms) for p in others), default=None)

    def is_idle(self, *, clock_ms: int) -> bool:
        """Return whether every source is idle or has ended, so that none holds back the open windows."""
        return all(self._is_idle(p, clock_ms) for p in self._sources.values())

    def _is_idle(self, progress: _Progress, clock_ms: int) -> bool:
        return clock_ms - progress.heard_ms >= self._idle_timeout_ms


def _now_ms(progress: _Progress, clock_ms: int) -> int:
    """Return the event time that a source has now if it advanced with the clock since its last record."""
    return (progress.newest_ms or 0) + clock_ms - progress.heard_ms
