"""Sends to an OTLP receiver. A receiver that is down is one warning with a count, and never slows the feed.

OpenTelemetry sends from threads of its own, and drops what a receiver does not accept in time.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import requests
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from stream.settings.model import Settings

__all__ = ["CountedSpans", "Deliveries", "exporter_options", "resource_of"]

log = structlog.get_logger("shoal.telemetry")

_SAY_AGAIN_S = 600.0
_LONGEST_REASON = 400


class _Session(requests.Session):
    """A session in which ``REQUESTS_CA_BUNDLE`` does not win over ``telemetry.cafile``."""

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        return super().merge_environment_settings(url, proxies, stream, self.verify if verify is None else verify, cert)


class _Faults(logging.Handler):
    """Takes OpenTelemetry's warnings, one for every attempt; the first of a batch has the reason."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage()[:_LONGEST_REASON]


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

    def note(self, n: int, *, is_accepted: bool, why: str | None = None) -> None:
        """Note an attempt to send ``n`` of them; by default OpenTelemetry's own warning says why it failed."""
        now_s, why = self._passed_s(), why or self._faults.first
        self._faults.first = None
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
        result = self._exporter.export(spans)
        self._deliveries.note(len(spans), is_accepted=result is SpanExportResult.SUCCESS)
        return result

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
