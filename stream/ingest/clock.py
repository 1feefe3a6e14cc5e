"""Checks this machine's clock against the input's time stamps and the brokers' clocks.

If the clock is behind, records become dead letters (``time.max_ahead``). If it is ahead, brokers refuse messages
(``message.timestamp.after.max.ms``), and idle sources close windows too early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import structlog
from aiokafka import TopicPartition

from core.ingest.validate import TOO_FAR_AHEAD
from core.records.record import Rejected
from stream.observe.metrics import Metrics

__all__ = ["Clock"]

log = structlog.get_logger("shoal.clock")

_TOLERANCE_MS = 60_000
"""Difference between clocks that is not reported."""

_JUMP_MS = 10_000
"""Least difference between the clock and the elapsed time that counts as a jump."""

_VALID_S = 300.0
"""How long a batch counts: there may be no later batch to show that the clock of its producer was wrong."""

_REFUSED_S = 60.0
"""How long a refusal counts. Refused messages are repeated within seconds, unless they are given up."""

_REFUSALS = 2
"""Number of refusals in a row that count: a message can be refused once because another one in its batch is."""

_SAY_EVERY_S = 60.0

_CURE = "Set this machine's clock by NTP"


class Clock:
    """Watches the clock of this machine.

    Args:
        metrics: The metrics of this worker.
        now_ms: The clock to check, Unix milliseconds.
        passed_s: A monotonic clock, seconds.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        now_ms: Callable[[], int] = lambda: round(time.time() * 1000),
        passed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.now_ms, self._passed_s = now_ms, passed_s
        self._metrics = metrics
        self._sent: dict[TopicPartition, tuple[int, float]] = {}
        """Median time stamp of the last batch, Unix milliseconds, and when the batch was read."""
        self._refused: dict[str, tuple[int, float]] = {}
        """Number of refusals in a row by topic, and the time of the last one."""
        self._said, self._said_s = False, 0.0
        self._looked_s, self._looked_ms = passed_s(), now_ms()
        self._show()

    # ------------------------------------------------------------- what happens

    def read(self, partition: TopicPartition, timestamps_ms: Iterable[int | None]) -> None:
        """Note the time stamps of a batch of input; -1 and None are unknown.

        Records are sent before they are read. So if the median of a batch is ahead of the present, the clocks differ. A
        single producer of many whose clock is ahead does not move the median.
        """
        known = [ms for ms in timestamps_ms if ms is not None and ms >= 0]
        if known:
            self._sent[partition] = (int(np.median(known)), self._passed_s())
            self.look()

    def refused(self, topic: str) -> None:
        """Note that a broker refused the present as a time stamp."""
        n, _ = self._refused.get(topic, (0, 0.0))
        self._refused[topic] = (n + 1, self._passed_s())
        self.look()

    def taken(self, topic: str) -> None:
        """Note that a broker accepted the present as a time stamp."""
        if self._refused.pop(topic, None) is not None:
            self.look()

    def look(self) -> None:
        """Check the clock, and log a fault when it begins or ends, and once a minute while it lasts."""
        passed_s, now_ms = self._passed_s(), self.now_ms()
        jump_ms = now_ms - self._looked_ms - round((passed_s - self._looked_s) * 1000)
        self._looked_s, self._looked_ms = passed_s, now_ms
        if abs(jump_ms) >= _JUMP_MS:
            log.warning("clock_jumped", seconds=round(jump_ms / 1000), why="it was set, or the machine was suspended")
            self._metrics.clock_jumps.inc()
        self._show()
        wrong = self.wrong()
        if wrong is None:
            if self._said:
                log.info("clock_right_again")
            self._said = False
        elif not self._said or passed_s - self._said_s >= _SAY_EVERY_S:
            log.error("clock_wrong", why=wrong, action=_CURE)
            self._said, self._said_s = True, passed_s

    # ------------------------------------------------------------- what is wrong

    def check(self) -> bool | str:
        """Return True, or a message on what is wrong, for the readiness check."""
        return self.wrong() or True

    def wrong(self) -> str | None:
        """Return a message on what is wrong, or None."""
        topics = self._refusing()
        behind_ms = self._behind_ms()
        if behind_ms:
            return (
                f"this machine's clock is {_span(behind_ms)} behind the time stamps of the input, or the clocks of the "
                f"input's producers are ahead. {_CURE}, or theirs"
            )
        if topics:
            return (
                f"the brokers refuse the time of this machine's clock as a time stamp (topic {', '.join(topics)}): "
                "the clock is ahead of theirs by more than message.timestamp.after.max.ms of the topic, one hour by "
                f"default, or behind by more than message.timestamp.before.max.ms. {_CURE}"
            )
        return None

    def explain(self, rejected: Sequence[Rejected]) -> list[Rejected]:
        """Add a note to records rejected as too far ahead, if this machine's clock is behind."""
        behind_ms = self._behind_ms()
        if not behind_ms:
            return list(rejected)
        why = f"{TOO_FAR_AHEAD}; the worker's clock was {_span(behind_ms)} behind the time stamps of the input"
        return [replace(one, detail=why) if one.detail == TOO_FAR_AHEAD else one for one in rejected]

    def _behind_ms(self) -> int:
        """Return how far the clock is behind the time stamps that were read; 0 within the tolerance.

        The comparison uses the current time, so once the clock is set right, the result is 0.
        """
        passed_s, now_ms = self._passed_s(), self.now_ms()
        leads = [sent_ms - now_ms for sent_ms, read_s in self._sent.values() if passed_s - read_s < _VALID_S]
        lead_ms = max(leads, default=0)
        return lead_ms if lead_ms > _TOLERANCE_MS else 0

    def _refusing(self) -> list[str]:
        passed_s = self._passed_s()
        recent = {topic: n for topic, (n, at_s) in self._refused.items() if passed_s - at_s < _REFUSED_S}
        return sorted(topic for topic, n in recent.items() if n >= _REFUSALS)

    def _show(self) -> None:
        behind_ms = self._behind_ms()
        self._metrics.clock_wrong.labels("input").set(1 if behind_ms else 0)
        self._metrics.clock_wrong.labels("brokers").set(1 if self._refusing() else 0)
        self._metrics.clock_behind_seconds.set(behind_ms / 1000)


def _span(ms: int) -> str:
    """Write a duration in hours and minutes.

    >>> _span(10_805_000)
    '3 h 0 min'
    """
    minutes = round(ms / 60_000)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
