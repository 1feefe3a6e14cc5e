"""Ingest without a cluster: what its chunks claim."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry

from core.records.record import Chunk, Kind
from stream.feeds.feed import build_feeds
from stream.formats.chunks import chunk_from_bytes
from stream.ingest.ingest import Ingest
from stream.ingest.positions import Batch, _Position
from stream.kafka.log_start import LogId
from stream.observe.metrics import Metrics
from stream.settings.load import load_settings

START_S = 1_700_000_000


class Message(NamedTuple):
    offset: int
    value: bytes
    timestamp: int = 0


class Producer:
    """Keeps what is sent to the shards topic."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    async def send(self, topic: str, value: bytes) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def send_and_wait(self, topic: str, value: bytes, **_: Any) -> None:
        self.chunks.append(chunk_from_bytes(value))


class Backlog:
    """Stands in for a consumer: what is assigned, and where each partition ends."""

    def __init__(self, ends: dict[TopicPartition, int]) -> None:
        self.ends = ends

    def assignment(self) -> set[TopicPartition]:
        return set(self.ends)

    async def position(self, partition: TopicPartition) -> int:
        return 0

    def highwater(self, partition: TopicPartition) -> int | None:
        return self.ends[partition]

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        return self.ends[partition]

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {partition.partition for partition in self.ends if partition.topic == topic}


def an_ingest(producer: Any, **given: str) -> Ingest:
    settings = load_settings(given={"topics.fragments": "", "privacy.secret": "sixteen characters or more"} | given)
    return Ingest(
        settings,
        build_feeds(settings),
        producer,
        Metrics(CollectorRegistry()),
        n_partitions=2,
        now_ms=lambda: START_S * 1000,
        on_trouble=lambda _: None,
    )


def place(ingest: Ingest, *partitions: TopicPartition) -> None:
    """Let partitions be read from where they stand."""
    ingest._positions._known |= {at: _Position(0, LogId()) for at in partitions}


def check_ins(*seconds: int, first: int = 0) -> list[Message]:
    return [
        Message(first + i, json.dumps({"user": f"u{i}", "ts": START_S + second, "lat": 48.2, "lon": 16.3}).encode())
        for i, second in enumerate(seconds)
    ]


async def test_who_is_far_ahead_waits_for_who_has_a_backlog() -> None:
    """
    Partition 0 is at second 100 and 1 at second 10, both with more to come: with 60 seconds of drift 0 has to wait,
    until 1 is at second 40 or has come to its end. A partition of which nothing is known yet is read.
    """
    topic = "checkins"
    slow, fast, new = (TopicPartition(topic, number) for number in (1, 0, 2))
    ingest = an_ingest(Producer(), **{"window.max_drift": "60s", "time.max_ahead": "1h"})
    consumer = Backlog({slow: 10, fast: 10, new: 10})
    ingest._consumer = consumer
    place(ingest, slow, fast, new)
    assert ingest._in_step() == [fast, slow, new]
    await ingest._forward(Batch(fast, "", check_ins(100)))
    assert ingest._in_step() == [fast, slow, new]
    await ingest._forward(Batch(slow, "", check_ins(10)))
    assert ingest._in_step() == [slow, new]
    await ingest._forward(Batch(slow, "", check_ins(39, first=1)))
    assert ingest._in_step() == [slow, new]
    await ingest._forward(Batch(slow, "", check_ins(40, first=2)))
    assert ingest._in_step() == [fast, slow, new]
    await ingest._forward(Batch(fast, "", check_ins(101, first=1)))
    assert ingest._in_step() == [slow, new]
    for waits_too_long in (fast, slow):  # the windows must not take one for silent, nor is an end that is no record one
        ingest._progress[waits_too_long].heard_s -= 31
        assert fast in ingest._in_step()
        ingest._progress[waits_too_long].heard_s += 31
    await ingest._forward(Batch(fast, "", check_ins(41, 41, 900, first=2)))
    assert ingest._in_step() == [fast, slow, new]  # one clock that is ahead is no drift
    await ingest._forward(Batch(fast, "", check_ins(101, first=5)))
    assert ingest._in_step() == [slow, new]
    await ingest._forward(Batch(slow, "", [Message(3, b"nonsense")]))
    assert ingest._in_step() == [slow, new]
    ingest._listener.on_partitions_assigned([])
    assert ingest._in_step() == []
    place(ingest, slow, fast, new)
    assert ingest._in_step() == [fast, slow, new]  # nothing is known any more
    await ingest._forward(Batch(fast, "", check_ins(101, first=6)))
    await ingest._forward(Batch(slow, "", check_ins(40, first=4)))
    assert ingest._in_step() == [slow, new]
    consumer.ends[slow] = 5  # it has come to its end: whoever is live waits for nobody
    assert ingest._in_step() == [fast, slow, new]


async def test_topics_of_one_feed_are_read_in_step() -> None:
    """
    Another topic of the feed with an old backlog holds the first one back, as another partition would; a topic of
    another feed does not.
    """
    fast, slow, other = TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("fragments", 0)
    given = {"topics.checkins": "^[ab]", "topics.fragments": "fragments", "window.max_drift": "60s"}
    ingest = an_ingest(Producer(), **given, **{"time.max_ahead": "1h"})
    ingest._consumer = Backlog({fast: 10, slow: 10, other: 10})
    place(ingest, fast, slow, other)
    await ingest._forward(Batch(fast, "", check_ins(100)))
    ingest._progress[other].heard_s, ingest._progress[other].reached_ms = time.monotonic(), 0.0
    assert ingest._in_step() == [fast, slow, other]
    await ingest._forward(Batch(slow, "", check_ins(10)))
    assert ingest._in_step() == [slow, other]
    await ingest._forward(Batch(slow, "", check_ins(40, first=1)))
    assert ingest._in_step() == [fast, slow, other]


async def test_lag_is_that_of_all_topics_of_a_feed() -> None:
    """
    The gauges add up what is unread in every topic.
    """
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    ingest = an_ingest(Producer(), **{"topics.checkins": "a,b"})
    ingest._consumer = Backlog({a: 10, b: 20})
    place(ingest, a, b)
    for at in (a, b):
        await ingest._forward(Batch(at, "", check_ins(1)))
    await ingest.update_metrics(START_S * 1000)
    assert ingest._metrics.input_lag_records.labels(Kind.CHECKINS)._value.get() == 9 + 19


async def test_no_chunk_speaks_for_the_other_shards_of_its_batch() -> None:
    """
    A batch gives one chunk per shard, and windows may be sealed between them. So a chunk claims only that the source
    is complete up to the batch: up to its oldest record, or to the newest of the batches before.
    """
    producer = Producer()
    ingest = an_ingest(producer, **{"shard.kind": "user", "shard.cohorts": "3"})

    async def forward(*seconds: int) -> set[tuple[str, int | None]]:
        producer.chunks.clear()
        await ingest._forward(Batch(TopicPartition("checkins", 0), "", check_ins(*seconds)))
        return {(chunk.shard, chunk.complete_ms) for chunk in producer.chunks}

    # 10 ... 40 | 35 ... 90 | 95 ... 99
    claims = [await forward(*range(10, 41)), await forward(*range(35, 91)), await forward(*range(95, 100))]
    assert all(len(claim) > 1 for claim in claims)
    assert [{ms for _, ms in claim} for claim in claims] == [{(START_S + second) * 1000} for second in (10, 40, 95)]
