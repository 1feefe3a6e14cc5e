"""Several input topics as one feed, on a real Kafka: by name or by pattern, there at the start or later."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from core.windows.seal import Seal
from stream.formats.seals import seal_from_bytes
from tests.builders.feeds import SETTINGS, assert_all_is_released_in_one_way, crowd, expected, window
from tests.cluster.brokers import ApacheKafka, unique
from tests.cluster.workers import Place, Worker, produce, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

PARTITIONS = 2
ONE_FEED = SETTINGS | {"shard.cohorts": "2", "kafka.partitions": str(PARTITIONS), "window.idle_timeout": "5s"}


def create(kafka: ApacheKafka, *names: str, partitions: int = PARTITIONS) -> None:
    """Create topics, as another team would."""

    async def make() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        finally:
            await admin.close()

    asyncio.run(make())


def delete(kafka: ApacheKafka, *names: str) -> None:
    """Delete topics."""

    async def remove() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
        await admin.start()
        try:
            await admin.delete_topics(list(names))
        finally:
            await admin.close()

    asyncio.run(remove())


def shoal(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a place's settings."""
    given = [part for name, value in place.values().items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "stream.cli.main", *arguments, *given]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def count(worker: Worker, outcome: str, kind: str = "checkins") -> float:
    return worker.metric("shoal_records_total", kind=kind, outcome=outcome)


def seal_ends(place: Place) -> set[int]:
    """Return the ends of the sealed windows."""
    found = [seal_from_bytes(record.value) for record in place.read("seals") if record.value is not None]
    return {one.key.end_ms for one in found if isinstance(one, Seal)}


class TestNames:
    def test_the_backlog_of_another_topic_is_not_late(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        The second topic's records are hours older than the first one's, and all are there before the start: no window
        closes before the second topic is read, and the feed is released as if it were one topic.
        """
        a, b = unique("a"), unique("b")
        place = Place(apache_kafka, ONE_FEED | {"topics.checkins": f"{a}, {b}", "ingest.max_records": "100"})
        old, new = crowd(0, 8, people=40, visits=3), crowd(8, 8, people=60, visits=5)
        wanted = expected(place, old + new, tmp_path)
        place.create_topics()
        produce(apache_kafka, a, new)
        produce(apache_kafka, b, old)
        with place.worker() as worker:
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert count(worker, "late") == 0
            assert count(worker, "read") == len(old) + len(new)
            assert worker.metric("shoal_input_lag_records", kind="checkins") == 0
            assert worker.stop() == 0

    def test_windows_wait_for_a_topic_that_is_read_late(self, apache_kafka: ApacheKafka) -> None:
        """
        One topic has moved on by hours, the other has said nothing yet: nothing is sealed before it was silent for the
        idle time-out, so its old records still find their windows open.
        """
        a, b = unique("a"), unique("b")
        place = Place(apache_kafka, ONE_FEED | {"topics.checkins": f"{a},{b}", "window.idle_timeout": "1h"})
        place.create_topics()

        def say(topic: str, n: int, *, buffered: int) -> None:
            """Let a crowd check in, over one window, on both partitions of a topic."""
            for number in range(PARTITIONS):
                produce(apache_kafka, topic, crowd(n, 1, people=20, visits=2), partition=number)
            wait_until(lambda: count(worker, "buffered") >= buffered, within_s=180, what=lambda: worker.log[-3000:])

        with place.worker() as worker:
            say(a, 4, buffered=80)
            say(a, 5, buffered=160)
            say(a, 6, buffered=240)
            assert place.windows() == []
            say(b, 0, buffered=320)
            say(b, 6, buffered=400)
            assert count(worker, "late") == 0
            ends = {window(n).end_ms for n in (0, 4, 5)}
            wait_until(lambda: seal_ends(place) == ends, within_s=180, what=lambda: worker.log[-3000:])


@pytest.mark.deep
class TestPatterns:
    def test_a_topic_that_appears_later(self, apache_kafka: ApacheKafka) -> None:
        """
        A pattern that matches nothing yet is waited for; topics that appear are read from their beginning, those that
        vanish hold up nothing, and Shoal's own topics never match.
        """
        gps = unique("gps")
        names = {f"topics.{own}": unique(own) for own in ("shards", "seals", "anonymized", "windows")}
        pattern = rf"^({gps}\..*|{'|'.join(names.values())})"
        place = Place(apache_kafka, ONE_FEED | names | {"topics.checkins": pattern})
        place.create_topics()
        described = shoal(place, "topics", "describe")
        assert (described.returncode, "no topic matches yet (input: checkins)" in described.stdout) == (0, True)
        with place.worker() as worker:
            create(apache_kafka, f"{gps}.a")
            first, second = crowd(0, 2, people=30, visits=3), crowd(2, 2, people=30, visits=3)
            produce(apache_kafka, f"{gps}.a", first)
            wait_until(lambda: count(worker, "read") == len(first), within_s=180, what=lambda: worker.log[-3000:])
            create(apache_kafka, f"{gps}.b")
            produce(apache_kafka, f"{gps}.b", second)
            n = len(first) + len(second)
            wait_until(lambda: count(worker, "read") == n, within_s=180, what=lambda: worker.log[-3000:])
            wait_until(lambda: len(place.windows()) >= 4, within_s=180, what=lambda: worker.log[-3000:])
            assert count(worker, "late") == 0
            described = shoal(place, "topics", "describe")
            assert f"{gps}.a: 2 partitions (input: checkins, matches" in described.stdout
            delete(apache_kafka, f"{gps}.a")
            third = crowd(4, 1, people=30, visits=3)
            produce(apache_kafka, f"{gps}.b", third)
            # Whatever was read when the topic vanished and not committed yet is read again.
            wait_until(lambda: count(worker, "read") >= n + len(third), within_s=180, what=lambda: worker.log[-3000:])
            wait_until(lambda: worker.get("/readyz")[0] == 200, within_s=180, what=lambda: worker.get("/readyz")[1])
            assert worker.stop() == 0
        with place.worker() as worker:
            create(apache_kafka, f"{gps}.a")  # again under its name
            produce(apache_kafka, f"{gps}.a", crowd(5, 1, people=30, visits=3))
            wait_until(lambda: count(worker, "read") >= 90, within_s=180, what=lambda: worker.log[-3000:])
            assert count(worker, "read") == 90  # nothing twice

    def test_a_topic_that_two_patterns_match(self, apache_kafka: ApacheKafka) -> None:
        """
        It is read by neither feed; readiness and `shoal topics describe` name it, and the other topics are read.
        """
        one = unique("one")
        given: dict[str, Any] = {"topics.checkins": rf"^{one}\.(a|both)", "topics.fragments": rf"^{one}\.b.*"}
        place = Place(
            apache_kafka, {name: value for name, value in ONE_FEED.items() if name != "topics.fragments"} | given
        )
        place.create_topics()
        create(apache_kafka, f"{one}.a")
        with place.worker() as worker:
            create(apache_kafka, f"{one}.both")
            wait_until(lambda: worker.get("/readyz")[0] == 503, within_s=180, what=lambda: worker.get("/readyz")[1])
            says = f"topic {one}.both matches both topics.checkins and topics.fragments"
            assert says in worker.get("/readyz")[1]
            assert "topic_in_two_feeds" in worker.log
            produce(apache_kafka, f"{one}.both", crowd(0, 1, people=10))
            produce(apache_kafka, f"{one}.a", crowd(0, 1, people=10))
            wait_until(lambda: count(worker, "read") == 80, within_s=180, what=lambda: worker.log[-3000:])
            described = shoal(place, "topics", "describe")
            assert (described.returncode, says in described.stderr) == (1, True)
            time.sleep(2)
            assert count(worker, "read") == 80
            delete(apache_kafka, f"{one}.both")
            wait_until(lambda: worker.get("/readyz")[0] == 200, within_s=180, what=lambda: worker.get("/readyz")[1])
