"""Warnings of one cause: the first is logged at once, the next ones as one line a minute with their number.

:data:`CAUSES` lists the events that one fault can repeat for every chunk, record or attempt, and what makes two of them
alike. All other events are logged each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

import structlog
from structlog.typing import EventDict

__all__ = ["CAUSES", "Cause", "Repeats", "RepeatsProcessor"]

_EVERY_S = 60.0
_REPEATED = ("warning", "error", "critical")
"""Levels of lines that are counted: a line of another level is about one unit of work."""

_SUMMARY: Final = "is_summary"
"""Marks a line that gives the number of repetitions; it is not shown."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What tells one cause of an event from another."""

    fields: tuple[str, ...] = ()
    """Fields of the event that are equal for one cause."""

    sums: tuple[str, ...] = ()
    """Fields that are numbers, and are added up."""


CAUSES: Mapping[str, Cause] = MappingProxyType(
    {
        "anonymizer_process_died": Cause(),
        "buffers_full": Cause(),
        "chunks_passed_over": Cause(sums=("chunks",)),
        "clock_jumped": Cause(),
        "foreign_message": Cause(),
        "input_deleted": Cause(("topic",), ("at_most_records",)),
        "input_forgotten": Cause(("topic",), ("at_most_records",)),
        "input_recreated": Cause(("topic",), ("at_most_records",)),
        "input_unreadable": Cause(("topic", "why")),
        "input_went_back": Cause(("topic",), ("at_most_records",)),
        "kafka_trouble": Cause(("operation", "fault")),
        "schema_registry_trouble": Cause(("why",)),
        "schema_unusable": Cause(("why",)),
        "settings_changed": Cause(("kind",), ("records",)),
        "shards_lost": Cause(("topic", "why"), ("offsets",)),
        "too_few_people": Cause(("kind",)),
        "window_abandoned": Cause(),
        "window_not_shown": Cause(("fault",)),
        "window_sealed_early": Cause(("kind",)),
        "windows_unreadable": Cause(("fault",)),
    }
)
"""The events that are logged once a minute, and their causes."""


@dataclass(slots=True)
class _Period:
    """The minute that began with a line."""

    begun_s: float
    totals: dict[str, int] = field(default_factory=dict)
    """What was not logged since then: ``times``, and sums by field; empty if nothing was."""


class _Alike(NamedTuple):
    """What is equal for the lines of one cause."""

    logger: str
    method: str
    event: str
    found: tuple[tuple[str, Any], ...]


K = TypeVar("K", bound=Hashable)


class Repeats(Generic[K]):
    """Counts what is repeated within a minute after a line.

    Args:
        now_s: A monotonic clock, seconds.
        every_s: How long repetitions are counted, seconds.
    """

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic, every_s: float = _EVERY_S) -> None:
        self.every_s, self._now_s = every_s, now_s
        self._periods: dict[K, _Period] = {}
        self._lock = threading.Lock()  # Faust's consumer logs in a thread of its own

    def admit(self, cause: K, sums: Mapping[str, int] = MappingProxyType({})) -> dict[str, int] | None:
        """Count one occurrence.

        Args:
            cause: What is equal for all that are counted together.
            sums: Numbers that are added up, by name.

        Returns:
            None if it must not be logged now. Otherwise what was not logged before, this occurrence included: ``times``
            and the sums; empty if that is this occurrence alone.
        """
        with self._lock:
            now_s = self._now_s()
            period = self._periods.get(cause)
            if period is None or now_s - period.begun_s >= self.every_s:
                self._periods[cause] = _Period(now_s)
                return _added(period.totals, sums) if period is not None and period.totals else {}
            period.totals = _added(period.totals, sums)
            return None

    def due(self) -> list[tuple[K, dict[str, int]]]:
        """Return the causes whose minute is over, with what was not logged; forget those with no repetition."""
        with self._lock:
            now_s, found = self._now_s(), list[tuple[K, dict[str, int]]]()
            for cause, period in list(self._periods.items()):
                if now_s - period.begun_s < self.every_s:
                    continue
                if period.totals:
                    found.append((cause, period.totals))
                    self._periods[cause] = _Period(now_s)
                else:
                    del self._periods[cause]
            return found


def _added(totals: Mapping[str, int], sums: Mapping[str, int]) -> dict[str, int]:
    both = {name: totals.get(name, 0) + sums.get(name, 0) for name in {*totals, *sums} - {"times"}}
    return {"times": totals.get("times", 0) + 1} | both


class RepeatsProcessor:
    """A processor of structlog that logs the events of :data:`CAUSES` once a minute for each cause.

    Args:
        repeats: Counts them.
    """

    def __init__(self, repeats: Repeats[_Alike]) -> None:
        self._repeats = repeats

    def __call__(self, logger: Any, method: str, event: EventDict) -> EventDict:
        """See :class:`structlog.typing.Processor`."""
        is_summary, cause = event.pop(_SUMMARY, False), CAUSES.get(str(event["event"]))
        if is_summary or cause is None or method not in _REPEATED:
            return event
        found = {name: event[name] for name in cause.fields if name in event}
        sums = {name: int(event[name]) for name in cause.sums if name in event}
        alike = _Alike(logger.name, method, str(event["event"]), tuple(found.items()))
        totals = self._repeats.admit(alike, sums)
        if totals is None:
            raise structlog.DropEvent
        event.update(totals)
        return event

    def report(self) -> None:
        """Log the number of repetitions of every minute that is over; call this every few seconds."""
        for alike, totals in self._repeats.due():
            log = getattr(structlog.get_logger(alike.logger), alike.method)
            log(alike.event, **dict(alike.found), **totals, **{_SUMMARY: True}, in_s=round(self._repeats.every_s))
