"""Starts traces and metrics over OTLP, if they are configured, and stops them in time."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence

import structlog
from prometheus_client.registry import Collector

from stream.formats.input.encodings.extras import needs_extra
from stream.observe.tracing import NO_TRACING, Tracing
from stream.settings.model import Settings

__all__ = ["Telemetry"]

log = structlog.get_logger("shoal.telemetry")


class Telemetry:
    """What a worker sends over OTLP; nothing without ``telemetry.endpoint``.

    Args:
        settings: All settings.
        metrics: The metrics, as they are served to Prometheus.

    Raises:
        MissingExtraError: OpenTelemetry is needed and not installed.
    """

    def __init__(self, settings: Settings, metrics: Collector) -> None:
        self.tracing: Tracing = NO_TRACING
        self._closers: Sequence[Callable[[], None]] = ()
        telemetry = settings.telemetry
        if telemetry.endpoint is None or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return
        with needs_extra("otel", "opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http"):
            from stream.observe.otlp.metrics import OtlpMetrics  # noqa: PLC0415 - an extra, loaded where it is used
            from stream.observe.otlp.traces import OtlpTracing  # noqa: PLC0415
        closers = []
        if telemetry.traces:
            self.tracing = tracing = OtlpTracing(settings)
            closers.append(tracing.close)
        if telemetry.metrics:
            closers.append(OtlpMetrics(settings, metrics).close)
        self._closers = closers

    async def close(self, within_s: float) -> None:
        """Send what waits, and stop; what takes longer is given up."""
        # Not of the loop's own pool, for whose threads the end of a program waits.
        threads = [threading.Thread(target=close, daemon=True) for close in self._closers]
        for thread in threads:
            thread.start()
        deadline_s = time.monotonic() + within_s
        for thread in threads:
            await asyncio.to_thread(thread.join, max(0.0, deadline_s - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            log.warning("telemetry_given_up", why=f"the receiver did not accept the rest within {within_s:g} s")
