"""Watermarks over several input partitions: a backlog, silence, or a clock that is ahead turn nobody's records late."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders.feeds import SETTINGS, assert_all_is_released_in_one_way, crowd, expected
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, wait_until

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

PARTITIONS = 3
SEVERAL = SETTINGS | {"kafka.partitions": str(PARTITIONS), "window.idle_timeout": "5s"}


def late(worker: Worker) -> float:
    return worker.metric("shoal_records_total", kind="checkins", outcome="late")


class TestRecordsThatAreThere:
    def test_a_backlog_on_one_partition(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        Twenty windows wait on one partition when the worker starts and the others are current: the backlog is not
        late, and every window is what a replay makes of all partitions together. The feed then stops, and its last
        windows leave.
        """
        place = Place(apache_kafka, SEVERAL | {"ingest.max_records": "100"})
        backlog, current = crowd(0, 20, people=40, visits=2), crowd(20, 4, people=200, visits=5)
        wanted = expected(place, backlog + current, tmp_path)
        place.create_topics()
        # Whoever reads partition after partition is done with some windows of one before he comes to the next.
        place.produce("checkins", current[::2], partition=0)
        place.produce("checkins", current[1::2], partition=1)
        place.produce("checkins", backlog, partition=2)
        with place.worker() as worker:
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert late(worker) == 0
            wait_until(lambda: worker.metric("shoal_open_windows") == 0, within_s=30, what="nothing is left")
            assert worker.stop() == 0

    def test_a_feed_that_stops(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        Every partition falls silent, one of them never said anything: the last windows, whole, leave by themselves.
        """
        place = Place(apache_kafka, SEVERAL | {"window.allowed_lateness": "1h"})
        messages = crowd(0, 3, people=60, visits=4)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        with place.worker() as worker:
            for partition in (0, 1):
                place.produce("checkins", messages[partition::2], partition=partition)
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert late(worker) == 0
            assert worker.stop() == 0


# ---------------------------------------------------------------------- as it happens

LIVE: dict[str, Any] = {
    "topics.fragments": "",
    "kafka.partitions": "2",
    "shard.kind": "single",
    "location.cell_m": "500",
    "window.size": "2s",
    "window.allowed_lateness": "1s",
    "window.max_lead": "1s",
    "window.idle_timeout": "3s",
    "time.max_ahead": "2h",
}
HOUR_S = 3600.0


class Live:
    """A crowd of ten on each partition that checks in now, one of them with a clock of its own."""

    def __init__(self, place: Place, worker: Worker) -> None:
        self.place, self.worker = place, worker

    def say(self, partition: int, *, ahead_s: float = 0.0) -> None:
        """Let the crowd of a partition check in."""
        now_s = time.time() + ahead_s
        records = [
            {"user": f"u{partition}-{i}", "ts": now_s, "lat": 48.2 + i % 2 / 100, "lon": 16.3} for i in range(10)
        ]
        self.place.produce("checkins", [(None, json.dumps(record).encode()) for record in records], partition=partition)

    def both(self) -> None:
        """Let both crowds check in."""
        self.say(0)
        self.say(1)

    def both_an_hour_apart(self) -> None:
        """Let both crowds check in, the second by a clock that is an hour ahead."""
        self.say(0)
        self.say(1, ahead_s=HOUR_S)

    def until(self, condition: Callable[[], Any], say: Callable[[], None]) -> None:
        """Go on until something holds."""

        def done() -> Any:
            say()
            return condition()

        wait_until(done, within_s=60, what=lambda: self.worker.log[-3000:], every_s=0.3)

    def for_s(self, seconds: float, say: Callable[[], None]) -> None:
        """Go on for a while."""
        end_s = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end_s, say)

    @property
    def left(self) -> float:
        """How many windows have left."""
        return self.worker.metric("shoal_windows_total", kind="checkins", outcome="released")


@contextmanager
def live(kafka: ApacheKafka, more: dict[str, Any] | None = None) -> Iterator[Live]:
    """Run a worker on a crowd."""
    place = Place(kafka, LIVE | (more or {}))
    place.create_topics()
    with place.worker() as worker:
        yield Live(place, worker)
        assert worker.stop() == 0


class TestRecordsAsTheyCome:
    def test_a_source_falls_silent(self, apache_kafka: ApacheKafka) -> None:
        """
        One of two partitions falls silent: windows wait for it for the idle time-out, then they leave again, while
        the other goes on; when it speaks again, what it says now is not late.
        """
        with live(apache_kafka, {"window.idle_timeout": "6s"}) as feed:
            feed.until(lambda: feed.left >= 2, feed.both)
            left = feed.left
            feed.for_s(4, lambda: feed.say(0))
            assert feed.left <= left + 2
            feed.until(lambda: feed.left >= left + 5, lambda: feed.say(0))
            left = feed.left
            feed.until(lambda: feed.left >= left + 2, feed.both)
            assert late(feed.worker) == 0

    def test_a_clock_that_is_ahead(self, apache_kafka: ApacheKafka) -> None:
        """
        The clock of one partition is an hour ahead, and the other falls silent for longer than the idle time-out and
        comes back: its records are not late, for the lead is no longer than the lateness; a metric tells of it.
        """
        with live(apache_kafka) as feed:
            feed.until(lambda: feed.left >= 2, feed.both_an_hour_apart)
            feed.for_s(5, lambda: feed.say(1, ahead_s=HOUR_S))
            left = feed.left
            feed.until(lambda: feed.left >= left + 2, feed.both_an_hour_apart)
            assert HOUR_S - 60 < feed.worker.metric("shoal_source_lead_seconds", kind="checkins") < HOUR_S + 60
            assert late(feed.worker) == 0

    def test_a_clock_that_is_ahead_and_a_pause_of_all(self, apache_kafka: ApacheKafka) -> None:
        """
        The clock of one partition is an hour ahead, and all fall silent for longer than the idle time-out and come
        back: the records of the others are not late.
        """
        with live(apache_kafka) as feed:
            feed.until(lambda: feed.left >= 2, feed.both_an_hour_apart)
            feed.for_s(5, lambda: None)
            feed.for_s(3, feed.both_an_hour_apart)
            assert late(feed.worker) == 0
