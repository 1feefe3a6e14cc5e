"""How fast records go through, side by side: ``python -m tests.benchmarks.bench_stream [RECORDS]``.

Each line is a process of its own that reads the same check-ins, one record a message, four partitions: a bare aiokafka
loop that only decodes, a plain Faust agent that only decodes, Shoal's ingest alone (of plain JSON, of nested JSON and
of Avro), and workers end to end, with windows of check-ins and of fragments. A record's cost is the CPU time of the
process and its children from the first record to the last, so that neither the broker's share nor a busy machine
counts. Everything stays on loopback and stops by itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faust
import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer
from prometheus_client import CollectorRegistry

from core.records.record import CheckIn, Kind
from stream.demo.broker import EmbeddedBroker
from stream.feeds.feed import build_feeds
from stream.ingest.ingest import Ingest
from stream.kafka.client import new_producer
from stream.observe.metrics import Metrics
from stream.settings.load import load_settings
from tests.benchmarks.stream_inputs import (
    NESTED,
    PARTITIONS,
    as_avro,
    avro_settings,
    checkins,
    cpu_s,
    fragments,
    nested,
)
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka, RunningBroker, unique
from tests.cluster.workers import Place, produce, wait_until

# ---------------------------------------------------------------- what one process does


async def _bare(servers: str, topic: str, n: int) -> float:
    decode = msgspec.json.Decoder(CheckIn).decode
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, group_id=None, auto_offset_reset="earliest")
    await consumer.start()
    seen, begun = 0, time.process_time()
    while seen < n:
        for messages in (await consumer.getmany(timeout_ms=500, max_records=5_000)).values():
            for message in messages:
                decode(message.value)
            seen += len(messages)
    used = time.process_time() - begun
    await consumer.stop()
    return used


def _faust(servers: str, topic: str, n: int) -> None:
    app = faust.App(
        unique("bench"), broker=f"kafka://{servers}", store="memory://", web_enabled=False, topic_disable_leader=True
    )
    decode = msgspec.json.decode
    begun: list[float] = []
    seen = 0

    @app.agent(app.topic(topic, value_serializer="raw"))  # type: ignore[untyped-decorator]
    async def only_decodes(stream: Any) -> None:
        nonlocal seen
        async for value in stream:
            if not begun:
                begun.append(time.process_time())
            decode(value)
            seen += 1
            if seen >= n:
                sys.stdout.write(json.dumps(time.process_time() - begun[0]))
                sys.stdout.flush()
                os._exit(0)

    app.finalize()
    worker = faust.Worker(app, loglevel="ERROR", quiet=True, override_logging=False, redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


async def _ingest(values: dict[str, Any], n: int) -> float:
    settings = load_settings(given=values)
    metrics = Metrics(CollectorRegistry())
    producer = new_producer(settings)
    await producer.start()
    ingest = Ingest(
        settings,
        build_feeds(settings),
        producer,
        metrics,
        n_partitions=PARTITIONS,
        now_ms=lambda: round(time.time() * 1000),
        on_trouble=lambda _: None,
    )
    await ingest.start()
    running = asyncio.create_task(ingest.run())

    def n_read() -> float:
        return float(
            metrics.registry.get_sample_value("shoal_records_total", {"kind": "checkins", "outcome": "read"}) or 0
        )

    async def until(least: float) -> None:
        while n_read() < least:  # noqa: ASYNC110 - the service tells nobody
            await asyncio.sleep(0.005)

    await until(1)
    first, begun = n_read(), time.process_time()
    await until(n)
    used = (time.process_time() - begun) * n / (n - first)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await ingest.stop()
    await producer.stop()
    return used


def child(arguments: list[str]) -> None:
    """Do what a line asks for, and print the CPU seconds it took."""
    what, servers, topic, n = arguments[0], arguments[1], arguments[2], int(arguments[3])
    if what == "faust":
        sys.argv = [sys.argv[0], "worker"]
        _faust(servers, topic, n)
    used = asyncio.run(_bare(servers, topic, n) if what == "bare" else _ingest(json.loads(arguments[4]), n))
    sys.stdout.write(json.dumps(used))


# ---------------------------------------------------------------- the lines


def _of_child(*arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_stream", "child", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def _end_to_end(place: Place, n: int, n_windows: int, kind: Kind) -> tuple[float, float, str]:
    """Let one worker take a topic to its last window; return CPU and wall seconds, and the delays at closing."""
    with place.worker(ready=False) as worker:
        wait_until(
            lambda: worker.metric("shoal_records_total", kind=kind.value, outcome="read") > 0,
            within_s=90,
            what=lambda: worker.log[-2000:],
            every_s=0.01,
        )
        before, used, begun = (
            worker.metric("shoal_records_total", kind=kind.value, outcome="read"),
            cpu_s(worker.pid),
            time.monotonic(),
        )
        wait_until(
            lambda: len(place.windows()) >= n_windows - 1, within_s=600, what=lambda: worker.log[-2000:], every_s=0.5
        )
        share = n / (n - before) if before < n else 1.0
        late = worker.metric("shoal_records_total", kind=kind.value, outcome="late")
        result = (cpu_s(worker.pid) - used) * share, (time.monotonic() - begun) * share
    delays = []
    for record in place.read("windows"):
        for name, value in record.headers:
            if name == "shoal-durations":
                delays.append(json.loads(value)["close_to_release_s"])
    return *result, f"closing to emitted: median {np.median(delays):.2f} s, most {max(delays):.2f} s; {late:.0f} late"


def measure(name: str, broker: RunningBroker, n: int, n_faust: int, folder: Path) -> None:
    """Print all lines of one broker."""
    place = Place(broker, {"kafka.partitions": str(PARTITIONS), "topics.fragments": "", "location.cell_m": "800"})
    place.create_topics()
    n_windows = 10
    produce(broker, place.topic("checkins"), checkins(n, n_windows=n_windows))
    topic, servers = place.topic("checkins"), broker.bootstrap_servers
    values = json.dumps({key: value for key, value in place.values().items() if not key.endswith(".port")})
    say(f"\n{name}: {n:,} check-ins, one JSON record a message, {PARTITIONS} partitions")
    say(f"{'':<34}{'CPU us/record':>14}{'records/s a core':>18}{'of bare':>9}{'of Faust':>10}")
    bare = _of_child("bare", servers, topic, str(n)) / n
    agent = _of_child("faust", servers, topic, str(n_faust)) / n_faust

    def line(label: str, cost_s: float, note: str = "") -> None:
        say(
            f"{label:<34}{cost_s * 1e6:>14.1f}{1 / cost_s:>18,.0f}{bare / cost_s:>8.2f}x{agent / cost_s:>9.1f}x  {note}"
        )

    line("bare aiokafka loop, decodes", bare)
    line("plain Faust agent, decodes", agent)
    plain = _of_child("ingest", servers, topic, str(n), values) / n
    line("Shoal, ingest alone", plain)
    for label, given, written in (
        ("  records nested, by paths", NESTED, nested),
        ("  records in Avro, by a schema file", avro_settings(folder), as_avro),
    ):
        other = Place(broker, place.given | given)
        other.create_topics()
        produce(broker, other.topic("checkins"), map(written, checkins(n, n_windows=n_windows)))
        values = json.dumps({key: value for key, value in other.values().items() if not key.endswith(".port")})
        cost_s = _of_child("ingest", servers, other.topic("checkins"), str(n), values) / n
        line(label, cost_s, f"{cost_s / plain:.2f} of plain JSON")
    end = Place(broker, place.given | {"topics.checkins": topic})
    end.create_topics()
    used, _, note = _end_to_end(end, n, n_windows, Kind.CHECKINS)
    line("Shoal, end to end, k^m", used / n, note)
    points = Place(
        broker, {"kafka.partitions": str(PARTITIONS), "topics.checkins": "", "topics.fragments": unique("fragments")}
    )
    points.create_topics()
    rows = list(fragments(n // 4, n_windows=4))
    produce(broker, points.topic("fragments"), rows)
    used, _, note = _end_to_end(points, len(rows), 4, Kind.FRAGMENTS)
    line("Shoal, end to end, (k,delta)", used / len(rows), note)


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2:])
        return
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    with TemporaryDirectory() as folder:
        with EmbeddedBroker() as broker:
            measure("embedded broker", broker, n, min(n, 40_000), Path(folder))
        with ApacheKafka() as kafka:
            measure("Apache Kafka", kafka, n, min(n, 40_000), Path(folder))


if __name__ == "__main__":
    main()
