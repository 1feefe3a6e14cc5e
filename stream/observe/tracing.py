"""What a trace is made of, and the tracing that is off: OpenTelemetry itself is loaded only where it is configured.

A window has one trace: a span from the decision to seal it until all that is public of it is acknowledged, and a span
for each of its stages. Spans name no user, location or shard. They are for those who read logs and metrics.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from core.records.record import Kind
from core.windows.seal import Seal
from stream.formats.release.result import WindowResult
from stream.observe.rounding import DEFECTS

__all__ = ["NO_TRACING", "NoTracing", "StageSpan", "Tracing", "WindowTimes", "WindowTrace", "is_defect", "window_facts"]

Facts = Mapping[str, str | int | float | bool]

_PUBLISHED = ("people", "trajectories", "points_released", "smallest_support")
"""Published figures of a release; None if it does not state them."""


@dataclass(frozen=True, slots=True)
class StageSpan:
    """When a stage of a window began and ended, Unix nanoseconds."""

    name: Literal["seal", "anonymize", "emit"]
    begun_ns: int
    ended_ns: int


class WindowTimes:
    """When a window was decided to be sealed, which is now, and when its stages ran."""

    def __init__(self) -> None:
        self.begun_s, self.begun_ns = time.monotonic(), time.time_ns()
        self.stages: list[StageSpan] = []

    @contextlib.contextmanager
    def stage(self, name: Literal["seal", "emit"]) -> Iterator[None]:
        """Measure a stage; one that fails has no span."""
        begun_ns = time.time_ns()
        yield
        self.stages.append(StageSpan(name, begun_ns, time.time_ns()))

    def anonymized(self, results: Sequence[WindowResult]) -> None:
        """Add the time in which the results were made, in another process of this machine."""
        ran = [one for one in results if one.begun_ns]
        if ran:
            ended_ns = max(one.begun_ns + round(one.seconds * 1e9) for one in ran)
            self.stages.append(StageSpan("anonymize", min(one.begun_ns for one in ran), ended_ns))


class WindowTrace:
    """The trace of a window; of this class, one that is not sent.

    Args:
        times: When the window was decided to be sealed.
    """

    headers: Sequence[tuple[str, bytes]] = ()
    """Headers of all messages of the window."""

    exemplar: dict[str, str] | None = None
    """Labels that lead from a metric to this trace."""

    def __init__(self, times: WindowTimes) -> None:
        self.times = times

    def end(self, model: str, results: Sequence[WindowResult], *, is_again: bool) -> None:
        """End the trace now; a trace that never ends is not sent.

        Args:
            model: The window's model.
            results: What was emitted of the window, or of each of its cells.
            is_again: Whether another attempt may have released it before.
        """


class Tracing(Protocol):
    """Makes traces."""

    def window(self, seal: Seal, times: WindowTimes) -> WindowTrace:
        """Begin the trace of a window.

        Args:
            seal: The seal of the window that counts.
            times: When the window was decided to be sealed.
        """
        ...

    def batch(self, kind: Kind, messages: Sequence[Any]) -> AbstractContextManager[None]:
        """Trace the ingest of a batch of one partition.

        Args:
            kind: Kind of feed.
            messages: Messages as the Kafka client returns them; at least one.
        """
        ...


class NoTracing:
    """Tracing that is off."""

    def window(self, seal: Seal, times: WindowTimes) -> WindowTrace:
        """Return a trace that is not sent."""
        return WindowTrace(times)

    def batch(self, kind: Kind, messages: Sequence[Any]) -> AbstractContextManager[None]:
        """Trace nothing."""
        return contextlib.nullcontext()


NO_TRACING = NoTracing()


def is_defect(result: WindowResult) -> bool:
    """Return whether a result points at a defect, and not at few people."""
    return not DEFECTS.isdisjoint((result.outcome, result.facts.get("reason")))


def window_facts(model: str, results: Sequence[WindowResult], *, is_again: bool, count_step: int) -> Facts:
    """Return what the span of a window says of its outcome.

    With ``metrics.count_step`` above 1 readers of metrics must not learn that single windows or people were withheld.
    A span is about a single window, so its outcome is then stated only if it points at a defect.

    Args:
        model: The window's model.
        results: What was emitted of the window, or of each of its cells.
        is_again: Whether another attempt may have released it before.
        count_step: ``metrics.count_step``.
    """
    facts: dict[str, str | int | float | bool] = {"shoal.model": model, "shoal.again": is_again}
    shown = [one for one in results if count_step == 1 or is_defect(one)]
    outcomes = {one.outcome for one in shown}
    reasons = {str(one.facts["reason"]) for one in shown if "reason" in one.facts}
    for name, values in (("shoal.outcome", outcomes), ("shoal.reason", reasons)):
        if values:
            facts[name] = next(iter(values)) if len(values) == 1 else "several"
    if len(results) == len(shown) == 1:
        found = {name: shown[0].facts.get(name) for name in _PUBLISHED}
        facts |= {f"shoal.{name}": value for name, value in found.items() if value is not None}
    return facts
