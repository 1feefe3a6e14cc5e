"""A worker that sends traces and metrics: to a stand-in, to a real OpenTelemetry Collector, and to nobody."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from stream.demo.broker import free_port
from stream.observe.otlp.traces import trace_id_of
from tests.builders.feeds import (
    ONE_SHARD,
    WITHIN_S,
    assert_all_is_released_in_one_way,
    crowd,
    expected,
    wait_for_windows,
)
from tests.cluster.brokers import ApacheKafka
from tests.cluster.faulty_worker import faulty
from tests.cluster.otlp_receivers import Collector, CollectorMissingError, OtlpReceiver, OtlpStandIn
from tests.cluster.workers import Place, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

PRODUCER = f"00-{7:032x}-{7:016x}-01"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


@contextlib.contextmanager
def real_collector() -> Iterator[Collector]:
    """A collector, for as long as the block; skips where there is none."""
    try:
        collector = Collector()
    except CollectorMissingError as missing:
        if os.environ.get("SHOAL_REQUIRE_COLLECTOR"):
            raise
        pytest.skip(str(missing))
    with collector:
        yield collector


@pytest.fixture(params=["stand-in", pytest.param("collector", marks=pytest.mark.collector)])
def receiver(request: pytest.FixtureRequest) -> Iterator[OtlpReceiver]:
    with OtlpStandIn() if request.param == "stand-in" else real_collector() as one:
        yield one


def trace_ids(place: Place) -> dict[str, set[str]]:
    """Return the trace ids that the messages of each release have in their headers."""
    found: dict[str, set[str]] = {}
    for topic in ("anonymized", "windows"):
        for record in place.read(topic):
            release = json.loads(record.value or b"")["release"]
            (header,) = [value for name, value in record.headers if name == "traceparent"]
            ids = re.fullmatch(rb"00-([0-9a-f]{32})-[0-9a-f]{16}-0[13]", header)
            assert ids is not None
            found.setdefault(release, set()).add(ids[1].decode())
    return found


def test_each_window_is_a_trace(apache_kafka: ApacheKafka, tmp_path: Path, receiver: OtlpReceiver) -> None:
    """
    All windows are there after an orderly end, also the last one; values of messages are those of a replay, and their
    headers lead to the traces, which lead on to those of producers only by the batches of ingest.
    """
    given = {
        "telemetry.endpoint": receiver.url,
        "telemetry.traceparent": "true",
        "telemetry.producer_links": "2",
        "telemetry.metrics": "true",
        "telemetry.service_instance": "the one",
    }
    place, messages = Place(apache_kafka, ONE_SHARD | given), crowd(0, 3, people=60, visits=4)
    wanted = expected(place, messages, tmp_path)
    place.create_topics()
    place.produce("checkins", messages, headers=[("traceparent", PRODUCER.encode()), ("tracestate", b"user=u1")])
    with place.worker() as worker:
        assert_all_is_released_in_one_way(place, [worker], wanted)
        # Reporting follows the release.
        wait_until(
            lambda: worker.metric("shoal_close_to_release_seconds_count", kind="checkins") == 3,
            within_s=30,
            what="three windows in the histogram",
        )
        exemplars = set(re.findall(r'_bucket\{.*# \{.*trace_id="([0-9a-f]{32})"', worker.get_as(OPENMETRICS)))
        assert worker.stop() == 0
        assert "telemetry" not in worker.log

    releases = {json.loads(value)["release"] for value in wanted["windows"].values()}
    traces = {release: f"{trace_id_of(release):032x}" for release in releases}
    assert trace_ids(place) == {release: {trace_id} for release, trace_id in traces.items()}
    # The collector writes to its files a moment later.
    wait_until(lambda: len([one for one in receiver.spans() if one.name == "window"]) >= 3, within_s=30, what="spans")
    spans = receiver.spans()
    windows = [one for one in spans if one.name == "window"]
    assert sorted(one.trace_id for one in windows) == sorted(traces.values())
    assert exemplars <= set(traces.values())
    assert exemplars
    for one in windows:
        stages = sorted((span for span in spans if span.parent == one.span_id), key=lambda span: span.begun_ns)
        assert {span.name for span in stages} == {"seal", "anonymize", "emit"}
        assert all(one.begun_ns <= span.begun_ns <= span.ended_ns <= one.ended_ns for span in stages)
        assert stages[-1].name == "emit"
        assert one.attributes["shoal.outcome"] == "released"
        assert one.attributes["shoal.people"] == 60
        assert not one.links
    ordered = sorted(windows, key=lambda span: span.begun_ns)
    assert all(earlier.ended_ns <= later.ended_ns for earlier, later in pairwise(ordered))

    batches = [one for one in spans if one.name == "ingest"]
    assert {one.links for one in batches} == {(f"{7:032x}",) * 2}
    assert sum(one.attributes["messaging.batch.message_count"] for one in batches) == len(messages)
    assert not {one.trace_id for one in batches} & set(traces.values())
    sent = b"".join([*receiver.traces_sent(), *receiver.metrics_sent()])
    assert not re.search(rb"user=|48\.2|16\.3", sent)

    metrics = receiver.metrics()
    released = [
        point.as_double
        for point in metrics["shoal_windows_total"].sum.data_points
        if {"released", "checkins"} == {one.value.string_value for one in point.attributes}
    ]
    assert released == [3]
    assert metrics["shoal_close_to_release_seconds"].histogram.data_points[0].count == 3
    assert {one["service.instance.id"] for one in receiver.resources()} == {"the one"}


@pytest.mark.deep
def test_a_window_that_is_released_again_is_in_the_same_trace(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    A worker dies amid a release: the next one sends the same values under the same keys, and headers of the same trace.
    """
    with OtlpStandIn() as receiver:
        given = {"telemetry.endpoint": receiver.url, "telemetry.traceparent": "true", "ingest.max_records": "100"}
        place, messages = Place(apache_kafka, ONE_SHARD | given), crowd(0, 3, people=60, visits=4)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker(ready=False, program=faulty("dies-amid-the-trajectories", 1)) as first:
            assert first.wait(WITHIN_S) == -signal.SIGKILL, first.log[-3000:]
        with place.worker() as second:
            assert_all_is_released_in_one_way(place, [second], wanted)
            assert second.stop() == 0
        assert len(place.read("anonymized")) > len(wanted["anonymized"])
        assert all(len(ids) == 1 for ids in trace_ids(place).values())
        again = [one.attributes["shoal.again"] for one in receiver.spans() if one.name == "window"]
        assert sorted(again)[-1] is True


def test_without_a_receiver_everything_is_released(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    One warning for spans and one for metrics, with counts; the worker ends in order, and in time.
    """
    given = {
        "telemetry.endpoint": f"http://127.0.0.1:{free_port()}",
        "telemetry.metrics": "true",
        "telemetry.metrics_every": "100ms",
    }
    place, messages = Place(apache_kafka, ONE_SHARD | given), crowd(0, 3, people=60, visits=4)
    wanted = expected(place, messages, tmp_path)
    place.create_topics()
    place.produce("checkins", messages)
    with place.worker() as worker:
        assert_all_is_released_in_one_way(place, [worker], wanted)
        wait_until(lambda: worker.log.count("telemetry_lost") >= 2, within_s=60, what=lambda: worker.log[-3000:])
        assert worker.stop() == 0
        assert worker.log.count("telemetry_lost") == 2
        assert "Connection refused" in worker.log
        assert "Transient error" not in re.sub("why=.*", "", worker.log)


@pytest.mark.collector
def test_a_collector_that_comes_back_is_sent_what_is_new(apache_kafka: ApacheKafka) -> None:
    """
    It is restarted amid the feed: the worker notices by itself.
    """
    with real_collector() as collector:
        place = Place(apache_kafka, ONE_SHARD | {"telemetry.endpoint": collector.url})
        place.create_topics()
        with place.worker() as worker:
            for n in range(3):
                if n == 1:
                    collector.stop()
                place.produce("checkins", crowd(n, 1, people=60, visits=4))
                wait_for_windows(place, worker, n + 1)
                if n == 1:
                    wait_until(lambda: "telemetry_lost" in worker.log, within_s=60, what=lambda: worker.log[-3000:])
                    collector.start()
            wait_until(lambda: "telemetry_accepted_again" in worker.log, within_s=60, what=lambda: worker.log[-3000:])
            assert worker.stop() == 0
        wait_until(lambda: len([one for one in collector.spans() if one.name == "window"]) == 2, within_s=30, what="2")
