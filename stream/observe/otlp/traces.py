"""Traces by OpenTelemetry's SDK."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core.records.record import Kind
from core.windows.seal import Seal
from stream.formats.release.result import WindowResult
from stream.observe.otlp.sending import CountedSpans, exporter_options, resource_of
from stream.observe.tracing import WindowTimes, WindowTrace, is_defect, window_facts
from stream.settings.model import Settings

__all__ = ["OtlpTracing", "trace_id_of"]

_TRACEPARENT = "traceparent"
_KINDS = {"emit": SpanKind.PRODUCER}


def trace_id_of(release_id: str) -> int:
    """Return the trace id of a release: the first 16 bytes of SHA-256 of its id.

    A window that is released again after a crash, by another worker, is in the same trace; all workers sample alike.
    """
    return int.from_bytes(hashlib.sha256(release_id.encode()).digest()[:16], "big")


class _Ids(RandomIdGenerator):
    """Random ids, except for a trace id that is set beforehand."""

    next_trace_id: int | None = None

    def generate_trace_id(self) -> int:
        given, self.next_trace_id = self.next_trace_id, None
        return given or super().generate_trace_id()


class OtlpTracing:
    """Sends traces to an OTLP receiver.

    Args:
        settings: All settings; ``telemetry.endpoint`` is set.
    """

    def __init__(self, settings: Settings) -> None:
        telemetry = settings.telemetry
        self._ids = _Ids()
        self._provider = TracerProvider(
            sampler=ParentBasedTraceIdRatio(telemetry.traces),
            resource=resource_of(settings),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(**exporter_options(settings, "traces"))
        self._provider.add_span_processor(BatchSpanProcessor(CountedSpans(exporter)))
        self._tracer = self._provider.get_tracer("shoal")
        self._has_headers, self._most_links = telemetry.traceparent, telemetry.producer_links
        self._count_step = settings.metrics.count_step

    def window(self, seal: Seal, times: WindowTimes) -> WindowTrace:
        """Begin the trace of a window."""
        self._ids.next_trace_id = trace_id_of(seal.release_id)
        span = self._tracer.start_span("window", start_time=times.begun_ns, attributes={"shoal.kind": seal.kind.value})
        return _SentTrace(self._tracer, span, times, has_headers=self._has_headers, count_step=self._count_step)

    def batch(self, kind: Kind, messages: Sequence[Any]) -> AbstractContextManager[None]:
        """Trace the ingest of a batch, if it has links to its producers' traces."""
        links = list(_links(messages, self._most_links)) if self._most_links else []
        return self._batch(kind, messages, links) if links else contextlib.nullcontext()

    @contextlib.contextmanager
    def _batch(self, kind: Kind, messages: Sequence[Any], links: Sequence[Link]) -> Iterator[None]:
        attributes = {
            "shoal.kind": kind.value,
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.destination.name": messages[0].topic,
            "messaging.destination.partition.id": str(messages[0].partition),
            "messaging.batch.message_count": len(messages) // self._count_step * self._count_step,
        }
        span = self._tracer.start_span("ingest", kind=SpanKind.CONSUMER, links=links, attributes=attributes)
        yield
        span.end()  # a batch that fails is read again, and then has a span

    def close(self) -> None:
        """Send what waits, and stop."""
        self._provider.shutdown()


class _SentTrace(WindowTrace):
    def __init__(self, tracer: Tracer, span: Span, times: WindowTimes, *, has_headers: bool, count_step: int) -> None:
        super().__init__(times)
        self._tracer, self._span, self._count_step = tracer, span, count_step
        if has_headers:
            carrier: dict[str, str] = {}
            TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span))
            self.headers = [(_TRACEPARENT, carrier[_TRACEPARENT].encode())]
        if span.is_recording():
            context = span.get_span_context()
            self.exemplar = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}

    def end(self, model: str, results: Sequence[WindowResult], *, is_again: bool) -> None:
        self._span.set_attributes(window_facts(model, results, is_again=is_again, count_step=self._count_step))
        if any(map(is_defect, results)):
            self._span.set_status(Status(StatusCode.ERROR))
        parent = set_span_in_context(self._span)
        for stage in self.times.stages:
            span_kind = _KINDS.get(stage.name, SpanKind.INTERNAL)
            child = self._tracer.start_span(stage.name, parent, kind=span_kind, start_time=stage.begun_ns)
            child.end(stage.ended_ns)
        self._span.end()


def _links(messages: Sequence[Any], most: int) -> Iterator[Link]:
    """Yield links to the first sampled contexts of producers. Only ids are kept: ``tracestate`` can hold anything."""
    for message in messages:
        for name, value in message.headers or ():
            if name == _TRACEPARENT and (context := _context_of(value)) is not None:
                yield Link(context)
                most -= 1
                if not most:
                    return


def _context_of(traceparent: bytes) -> SpanContext | None:
    carrier = {_TRACEPARENT: traceparent.decode("ascii", "replace")}
    context = get_current_span(TraceContextTextMapPropagator().extract(carrier)).get_span_context()
    return context if context.is_valid and context.trace_flags.sampled else None
