"""Traces and metrics over OTLP: what a receiver is sent, and that one that is down harms nothing."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.openmetrics import parser
from structlog.testing import capture_logs

from core.records.record import Kind
from stream.demo.broker import free_port
from stream.observe.health import Health, HealthServer
from stream.observe.metrics import Metrics
from stream.observe.otlp.sending import Deliveries
from stream.observe.otlp.traces import trace_id_of
from stream.observe.rounding import RoundedCounts
from stream.observe.telemetry import Telemetry
from stream.observe.tracing import WindowTimes
from stream.settings.load import load_settings
from tests.cluster.certificates import Authority
from tests.cluster.otlp_receivers import OtlpStandIn
from tests.stream.observe.test_tracing import SEAL, result, withheld

TRACEPARENT = "00-{trace:032x}-{span:016x}-{flags}"
TRACE_ID = hashlib.sha256(SEAL.release_id.encode()).hexdigest()[:32]


@dataclass
class Message:
    """A record as the Kafka client returns it."""

    headers: tuple[tuple[str, bytes], ...] = ()
    topic: str = "gps"
    partition: int = 3


def traced(n: int, *, flags: str = "01") -> Message:
    """Return a record of a producer's trace ``n``."""
    return Message((("traceparent", TRACEPARENT.format(trace=n, span=n, flags=flags).encode()),))


@pytest.fixture
def receiver() -> Iterator[OtlpStandIn]:
    with OtlpStandIn() as one:
        yield one


@contextmanager
def telemetry(endpoint: str, source: CollectorRegistry | None = None, **given: Any) -> Iterator[Telemetry]:
    """Telemetry that has sent all it has when the block ends."""
    values = {f"telemetry.{name}": value for name, value in given.items() if not name.startswith("metrics__")}
    values |= {name.replace("__", "."): value for name, value in given.items() if name.startswith("metrics__")}
    settings = load_settings(given={"telemetry.endpoint": endpoint} | values)
    one = Telemetry(settings, RoundedCounts(source or CollectorRegistry(), settings.metrics.count_step))
    yield one
    asyncio.run(one.close(120))


def release(one: Telemetry, *, kind: str = "released") -> Any:
    """Trace a window."""
    times = WindowTimes()
    trace = one.tracing.window(SEAL, times)
    with times.stage("seal"):
        pass
    made = result() if kind == "released" else withheld(kind)
    times.anonymized([replace(made, begun_ns=time.time_ns())])
    with times.stage("emit"):
        pass
    trace.end("seqanon", [made], is_again=False)
    return trace


def test_a_window_is_one_trace_with_its_stages(receiver: OtlpStandIn) -> None:
    """
    The id of the trace follows from the release's, so a window that is released again joins it.
    """
    with telemetry(receiver.url) as one:
        trace = release(one)
        release(one)
    first, again = [span for span in receiver.spans() if span.name == "window"]
    stages = [span for span in receiver.spans() if span.parent == first.span_id]
    assert sorted(span.name for span in stages) == ["anonymize", "emit", "seal"]
    assert {span.trace_id for span in receiver.spans()} == {TRACE_ID}
    assert first.span_id != again.span_id
    assert not first.parent
    assert all(first.begun_ns <= span.begun_ns <= span.ended_ns for span in stages)
    assert first.attributes["shoal.kind"] == "checkins"
    assert first.attributes["shoal.people"] == 20
    assert not first.is_error
    assert trace.exemplar == {"trace_id": first.trace_id, "span_id": first.span_id}
    assert list(trace.headers) == []
    (resource,) = receiver.resources()
    assert resource["service.name"] == "shoal"
    assert resource["service.instance.id"].endswith(":6067")


def test_a_span_names_no_user_place_or_shard(receiver: OtlpStandIn) -> None:
    """
    The names of attributes are a closed set.
    """
    with telemetry(receiver.url, producer_links=2) as one:
        release(one)
        release(one, kind="too_few_people")
        with one.tracing.batch(Kind.CHECKINS, [traced(1)]):
            pass
    names = {name for span in receiver.spans() for name in span.attributes}
    assert names == {
        *("shoal.kind", "shoal.model", "shoal.again", "shoal.outcome", "shoal.reason"),
        *("shoal.people", "shoal.trajectories", "shoal.points_released", "shoal.smallest_support"),
        *("messaging.system", "messaging.operation.type", "messaging.batch.message_count"),
        *("messaging.destination.name", "messaging.destination.partition.id"),
    }
    assert not any(SEAL.shard in str(value) for span in receiver.spans() for value in span.attributes.values())


@pytest.mark.parametrize(("kind", "is_error"), [("too_few_people", False), ("verification_failed", True)])
def test_a_defect_is_an_error(receiver: OtlpStandIn, kind: str, is_error: bool) -> None:
    """
    Few people are none.
    """
    with telemetry(receiver.url) as one:
        release(one, kind=kind)
    assert [span.is_error for span in receiver.spans() if span.name == "window"] == [is_error]


def test_rounded_counts_hold_for_spans(receiver: OtlpStandIn) -> None:
    """
    metrics.count_step: a withheld window looks as a released one does, and a batch has a rounded number of records.
    """
    with telemetry(receiver.url, producer_links=1, metrics__count_step=10) as one:
        release(one)
        release(one, kind="too_few_people")
        for n in (1, 17):
            with one.tracing.batch(Kind.CHECKINS, [traced(1)] * n):
                pass
    windows = [span.attributes for span in receiver.spans() if span.name == "window"]
    assert windows[0] == windows[1] == {"shoal.kind": "checkins", "shoal.model": "seqanon", "shoal.again": False}
    batches = [span.attributes for span in receiver.spans() if span.name == "ingest"]
    assert [one["messaging.batch.message_count"] for one in batches] == [0, 10]


def test_only_a_share_of_the_windows_is_traced(receiver: OtlpStandIn) -> None:
    """
    The choice depends on the release alone: every worker makes the same one. Without a trace there is no exemplar, and
    the header says that nothing is recorded.
    """
    seals = [replace(SEAL, release_id=f"{n:032x}") for n in range(200)]
    for _ in range(2):
        with telemetry(receiver.url, traces=0.25, traceparent=True) as one:
            traces = [one.tracing.window(seal, WindowTimes()) for seal in seals]
            for trace in traces:
                trace.end("seqanon", [], is_again=False)
        chosen = {seal.release_id for seal, trace in zip(seals, traces, strict=True) if trace.exemplar is not None}
        assert 20 < len(chosen) < 80
        sampled = {seal.release_id for seal, one in zip(seals, traces, strict=True) if one.headers[0][1][-1] in b"13"}
        assert sampled == chosen
    found = [span.trace_id for span in receiver.spans()]
    assert sorted(found) == sorted(2 * [f"{trace_id_of(one):032x}" for one in chosen])


def test_messages_can_have_the_trace(receiver: OtlpStandIn) -> None:
    """
    telemetry.traceparent: in the form of W3C, with the ids of the window's span.
    """
    with telemetry(receiver.url, traceparent=True) as one:
        trace = release(one)
    ((name, value),) = trace.headers
    found = re.fullmatch(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-0[13]", value)
    assert name == "traceparent"
    assert found is not None
    (window,) = [span for span in receiver.spans() if span.name == "window"]
    assert (found[1].decode(), found[2].decode()) == (window.trace_id, window.span_id)


@pytest.mark.parametrize(
    ("messages", "linked"),
    [
        ([Message(), traced(7), Message(), traced(8), traced(9)], [7, 8]),
        ([traced(7)], [7]),
        ([traced(7, flags="00"), traced(8)], [8]),
        ([Message((("traceparent", b"\xff"),)), Message((("traceparent", b"00-xyz"),)), traced(8)], [8]),
        ([Message((("tracestate", b"user=alice"), ("baggage", b"user=alice"), *traced(8).headers))], [8]),
    ],
)
def test_a_batch_is_linked_to_few_producers(receiver: OtlpStandIn, messages: list[Message], linked: list[int]) -> None:
    """
    telemetry.producer_links: the first ones that are recorded, by their ids alone; the batch is a trace of its own.
    """
    with telemetry(receiver.url, producer_links=2) as one, one.tracing.batch(Kind.FRAGMENTS, messages):
        pass
    (span,) = receiver.spans()
    assert (span.name, span.parent) == ("ingest", "")
    assert list(span.links) == [f"{n:032x}" for n in linked]
    assert span.attributes["messaging.destination.name"] == "gps"
    assert not any(b"alice" in sent for sent in receiver.traces_sent())


@pytest.mark.parametrize(("most", "messages"), [(0, [traced(1)]), (2, [Message()]), (2, [traced(1, flags="00")])])
def test_a_batch_without_links_has_no_span(receiver: OtlpStandIn, most: int, messages: list[Message]) -> None:
    """
    Otherwise a feed would have many traces a second that say nothing.
    """
    with telemetry(receiver.url, producer_links=most) as one, one.tracing.batch(Kind.CHECKINS, messages):
        pass
    assert receiver.spans() == []


# Metrics


@dataclass
class Measured:
    """A registry of every type."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        records = Counter("shoal_records", "Records.", ["kind", "outcome"], registry=self.registry)
        records.labels("checkins", "withheld").inc(17)
        Gauge("shoal_lag_seconds", "Lag.", registry=self.registry).set(-2.5)
        Gauge("shoal_people", "People.", registry=self.registry).set(math.nan)
        took = Histogram("shoal_took_seconds", "Took.", ["kind"], buckets=(1, 5), registry=self.registry)
        took.labels("checkins").observe(0.5)
        took.labels("checkins").observe(3, {"trace_id": "ab" * 16, "span_id": "cd" * 8})
        took.labels("checkins").observe(60)


def test_metrics_are_those_of_the_registry(receiver: OtlpStandIn) -> None:
    """
    Names, labels, values, buckets and exemplars are the same as at /metrics, read once more at the end.
    """
    begun_ns = time.time_ns()
    with telemetry(receiver.url, Measured().registry, traces=0, metrics=True):
        pass
    found = receiver.metrics()
    assert set(found) == {"shoal_records_total", "shoal_lag_seconds", "shoal_people", "shoal_took_seconds"}
    (records,) = found["shoal_records_total"].sum.data_points
    assert found["shoal_records_total"].sum.is_monotonic
    assert records.as_double == 17
    assert {one.key: one.value.string_value for one in records.attributes} == {
        "kind": "checkins",
        "outcome": "withheld",
    }
    assert abs(records.start_time_unix_nano - begun_ns) < 60e9
    assert records.time_unix_nano >= begun_ns
    assert found["shoal_lag_seconds"].gauge.data_points[0].as_double == -2.5
    assert found["shoal_lag_seconds"].unit == "s"
    assert math.isnan(found["shoal_people"].gauge.data_points[0].as_double)
    (took,) = found["shoal_took_seconds"].histogram.data_points
    assert (took.count, took.sum, list(took.bucket_counts)) == (3, 63.5, [1, 1, 1])
    assert list(took.explicit_bounds) == [1, 5]
    assert not took.HasField("min")
    (exemplar,) = took.exemplars
    assert (exemplar.as_double, exemplar.trace_id.hex(), exemplar.span_id.hex()) == (3, "ab" * 16, "cd" * 8)


def test_every_metric_of_a_worker_is_sent(receiver: OtlpStandIn) -> None:
    """
    Under the name that it is declared by, with every series; one without a value is not, for receivers refuse it.
    """
    metrics = Metrics(CollectorRegistry())
    for kind in Kind:
        metrics.expect(kind, model="a model", shard_kind="single", required_k=5)
    with telemetry(receiver.url, metrics.registry, traces=0, metrics=True):
        pass
    found = receiver.metrics()
    without_value = {family.name for family in metrics.registry.collect() if not family.samples}
    assert "shoal_stage_seconds" in without_value
    declared = {one.name for one in metrics.declared if one.name.removesuffix("_total") not in without_value}
    assert set(found) - declared <= {"shoal_process_virtual_memory_bytes", "shoal_process_max_fds"}
    assert declared - set(found) == set()
    outcomes = found["shoal_windows_total"].sum.data_points
    assert len(outcomes) == 3 * len(Kind)


def test_metrics_are_sent_as_they_are_served(receiver: OtlpStandIn) -> None:
    """
    metrics.count_step rounds them.
    """
    with telemetry(receiver.url, Measured().registry, traces=0, metrics=True, metrics__count_step=10):
        pass
    assert receiver.metrics()["shoal_records_total"].sum.data_points[0].as_double == 10


def test_metrics_are_sent_again_and_again(receiver: OtlpStandIn) -> None:
    """
    telemetry.metrics_every.
    """
    with telemetry(receiver.url, Measured().registry, traces=0, metrics=True, metrics_every="20ms"):
        deadline = time.monotonic() + 30
        while len(list(receiver.metrics_sent())) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)


# Receivers


def test_headers_and_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    telemetry.headers and telemetry.cafile, over HTTPS; without the certificate nothing is sent.
    """
    authority = Authority(tmp_path, "tests")
    certificate = authority.issue("receiver")
    with OtlpStandIn(certificate=certificate) as receiver:
        headers, cafile = "Authorization=Bearer%20abc", str(authority.certificate)
        with telemetry(receiver.url, headers=headers, cafile=cafile) as one:
            release(one)
        assert [asked[:2] for asked in receiver.asked] == [("/v1/traces", "Bearer abc")]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # seconds until it is given up, in place of ten
        with capture_logs() as logs, telemetry(receiver.url) as one:
            release(one)
        assert len(receiver.asked) == 1
    (line,) = [one for one in logs if one["event"] == "telemetry_lost"]
    assert (line["what"], line["lost"]) == ("spans", 4)


class Lines(logging.Handler):
    """What the root logger shows."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.name)


def test_a_receiver_that_is_down_is_one_warning() -> None:
    """
    With the number of lost spans and the reason; OpenTelemetry's own lines, one for each attempt, are not shown.
    """
    lines = Lines()
    logging.getLogger().addHandler(lines)
    try:
        with capture_logs() as logs, telemetry(f"http://127.0.0.1:{free_port()}") as one:
            for _ in range(50):
                release(one)
    finally:
        logging.getLogger().removeHandler(lines)
    (line,) = logs
    assert (line["event"], line["what"], line["lost"]) == ("telemetry_lost", "spans", 200)
    assert "Connection refused" in line["why"]
    assert not [name for name in lines.said if name.startswith("opentelemetry")]


def test_a_long_failure_is_said_rarely_and_its_end_once() -> None:
    """
    The first loss at once, then every ten minutes with the count so far; and that it is over, with all that was lost.
    """
    now_s = 0.0
    deliveries = Deliveries("spans", passed_s=lambda: now_s)

    def send(n: int, *, is_accepted: bool) -> None:
        with deliveries.attempt(n) as attempt:
            attempt.is_accepted = is_accepted

    with capture_logs() as logs:
        send(5, is_accepted=True)
        for now_s in range(0, 1300, 10):  # noqa: B007 - read by the clock above
            send(1, is_accepted=False)
        send(5, is_accepted=True)
        send(5, is_accepted=True)
    assert [(line["event"], line["lost"]) for line in logs] == [
        ("telemetry_lost", 1),
        ("telemetry_lost", 61),
        ("telemetry_lost", 121),
        ("telemetry_accepted_again", 130),
    ]


def test_a_receiver_that_hangs_is_given_up(receiver: OtlpStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The end of a worker waits for it no longer than it is told.
    """

    def reply(*_: object) -> tuple[int, bytes]:
        time.sleep(8)
        return 200, b""

    monkeypatch.setattr(receiver, "reply", reply)
    settings = load_settings(given={"telemetry.endpoint": receiver.url})
    one = Telemetry(settings, CollectorRegistry())
    release(one)
    with capture_logs() as logs:
        asyncio.run(one.close(0.2))
    assert [line["event"] for line in logs] == ["telemetry_given_up"]


def test_opentelemetry_can_be_turned_off_by_its_own_variable(
    receiver: OtlpStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    OTEL_SDK_DISABLED.
    """
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with telemetry(receiver.url, metrics=True, traceparent=True) as one:
        assert list(release(one).headers) == []
    assert receiver.asked == []


def test_shoals_settings_decide_where_and_what_is_sent(receiver: OtlpStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    OpenTelemetry's variables add to a worker's attributes; they name no receiver, no service and no sampler.
    """
    with OtlpStandIn() as other:
        for name, value in {
            "OTEL_EXPORTER_OTLP_ENDPOINT": other.url,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{other.url}/v1/traces",
            "OTEL_SERVICE_NAME": "another",
            "OTEL_TRACES_SAMPLER": "always_off",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=city,service.name=third",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        }.items():
            monkeypatch.setenv(name, value)
        with telemetry(receiver.url, Measured().registry, metrics=True) as one:
            release(one)
        none = Telemetry(load_settings(), CollectorRegistry())
        release(none)
        asyncio.run(none.close(1))
        assert other.asked == []
    assert len(receiver.spans()) == 4
    for resource in receiver.resources():
        assert (resource["service.name"], resource["deployment.environment.name"]) == ("shoal", "city")


# Exemplars


def parsed(text: str) -> list[Metric]:
    """Read OpenMetrics."""
    return list(parser.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


async def test_exemplars_are_served_to_whoever_asks_for_openmetrics() -> None:
    """
    A Prometheus asks for it; others get its older text, which has none.
    """
    from aiohttp import ClientSession  # noqa: PLC0415 - this test alone

    port, metrics = free_port(), Metrics(CollectorRegistry())
    exemplar = {"trace_id": "ab" * 16, "span_id": "cd" * 8}
    metrics.expect(Kind.CHECKINS, model="seqanon", shard_kind="single", required_k=5)
    metrics.count_window(Kind.CHECKINS, result(), 0.7, required_k=5, exemplar=exemplar)
    server = HealthServer(load_settings(given={"metrics.port": port}).metrics, metrics.registry, Health())
    await server.start()
    answers = {}
    for accept in ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3", "text/plain", "*/*"):
        url, headers = f"http://127.0.0.1:{port}/metrics", {"Accept": accept}
        async with ClientSession() as session, session.get(url, headers=headers) as answer:
            answers[accept] = (answer.headers["Content-Type"], await answer.text())
    await server.stop()
    (content_type, text), *others = answers.values()
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    samples = [sample for family in parsed(text) for sample in family.samples]
    (found,) = [one for one in samples if one.exemplar is not None]
    assert (found.name, found.labels["le"]) == ("shoal_close_to_release_seconds_bucket", "1.0")
    assert found.exemplar is not None
    assert found.exemplar.labels == exemplar
    for content_type, text in others:
        assert content_type.startswith("text/plain; version=0.0.4")
        assert exemplar["trace_id"] not in text
