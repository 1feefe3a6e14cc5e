"""Sends to an OTLP receiver. A receiver that is down is one warning with a count, and never slows the feed.

OpenTelemetry sends from threads of its own, and drops what a receiver does not accept in time.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import requests
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from stream.settings.model import Settings

__all__ = ["Attempt", "CountedSpans", "Deliveries", "exporter_options", "resource_of"]

log = structlog.get_logger("shoal.telemetry")

_SAY_AGAIN_S = 600.0
_LONGEST_REASON = 400


class _Session(requests.Session):
    """A session in which ``REQUESTS_CA_BUNDLE`` does not win over ``telemetry.cafile``."""

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        return super().merge_environment_settings(url, proxies, stream, self.verify if verify is None else verify, cert)


class _Faults(logging.Handler):
    """Takes OpenTelemetry's warnings, one for every attempt, and keeps the first of each thread: it has the reason."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._first: dict[int | None, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self._first.setdefault(record.thread, record.getMessage()[:_LONGEST_REASON])

    def taken(self) -> str | None:
        """Return what was kept of this thread, and forget it."""
        return self._first.pop(threading.get_ident(), None)


@dataclass(slots=True)
class Attempt:
    """One request."""

    is_accepted: bool = False


class Deliveries:
    """Counts what a receiver accepts and what is lost, and logs when that changes.

    Args:
        what: What is sent, as a plural.
        passed_s: A monotonic clock, seconds.
    """

    def __init__(self, what: str, *, passed_s: Callable[[], float] = time.monotonic) -> None:
        self._what, self._passed_s = what, passed_s
        self._said_s: float | None = None
        self.n_lost = 0
        """What was lost since the receiver accepted anything."""
        logger = logging.getLogger("opentelemetry")
        logger.propagate = False
        self._faults = next((one for one in logger.handlers if isinstance(one, _Faults)), None) or _Faults()
        logger.addHandler(self._faults)

    @contextlib.contextmanager
    def attempt(self, n: int) -> Iterator[Attempt]:
        """Send ``n`` of them in a ``with`` block, which says whether they are accepted; a fault in it is noted too."""
        self._faults.taken()
        one, why = Attempt(), None
        try:
            yield one
        except Exception as fault:  # some versions of the exporters raise what others log
            why = f"{type(fault).__name__}: {fault}"[:_LONGEST_REASON]
        self._note(n, is_accepted=one.is_accepted, why=why or self._faults.taken())

    def _note(self, n: int, *, is_accepted: bool, why: str | None) -> None:
        now_s = self._passed_s()
        if is_accepted:
            if self._said_s is not None:
                log.info("telemetry_accepted_again", what=self._what, lost=self.n_lost)
            self.n_lost, self._said_s = 0, None
            return
        self.n_lost += n
        if self._said_s is None or now_s - self._said_s >= _SAY_AGAIN_S:
            self._said_s = now_s
            log.warning(
                "telemetry_lost",
                what=self._what,
                lost=self.n_lost,
                why=why,
                action="releases go on; check telemetry.endpoint and the receiver",
            )


class CountedSpans(SpanExporter):
    """Exports spans, and counts the lost ones.

    Args:
        exporter: Exports them.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter, self._deliveries = exporter, Deliveries("spans")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; called from a thread of OpenTelemetry."""
        with self._deliveries.attempt(len(spans)) as attempt:
            attempt.is_accepted = self._exporter.export(spans) is SpanExportResult.SUCCESS
        return SpanExportResult.SUCCESS if attempt.is_accepted else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Give up attempts in progress."""
        self._exporter.shutdown()


def exporter_options(settings: Settings, signal: str) -> dict[str, Any]:
    """Return the options of an exporter.

    Args:
        settings: All settings; ``telemetry.endpoint`` is set.
        signal: ``traces`` or ``metrics``.
    """
    telemetry = settings.telemetry
    return {
        "endpoint": f"{telemetry.endpoint}/v1/{signal}",
        "headers": telemetry.header_values,
        "session": _Session(),
        "certificate_file": None if telemetry.cafile is None else str(telemetry.cafile),
    }


def resource_of(settings: Settings) -> Resource:
    """Return what identifies this worker; ``OTEL_RESOURCE_ATTRIBUTES`` may add to it."""
    telemetry = settings.telemetry
    instance = telemetry.service_instance or f"{socket.gethostname()}:{settings.metrics.port}"
    return Resource.create(
        {
            "service.name": telemetry.service_name,
            "service.version": version("shoal"),
            "service.instance.id": instance,
        }
    )
