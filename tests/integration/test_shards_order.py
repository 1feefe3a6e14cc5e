"""The shards topic on a real Kafka: a partition is taken in whole and in order, whatever a rebalance makes of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from prometheus_client import CollectorRegistry

from core.records.record import VISIT, Chunk, Kind, Source
from core.windows.partition import Partition
from stream.feeds.feed import build_feeds
from stream.formats.chunks import chunk_to_bytes
from stream.kafka.client import new_producer
from stream.kafka.reading import new_reader
from stream.kafka.topics import create_topics
from stream.observe.metrics import Metrics
from stream.windows.pool import ReleasePool
from stream.windows.shards_log import ShardsLog
from stream.windows.windows import Windows
from stream.worker.faust_app import App, faust_options
from tests.builders.feeds import ONE_SHARD, START_S
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

WITHIN_S = 150.0


async def a_place(kafka: ApacheKafka) -> Place:
    place = Place(kafka, ONE_SHARD | {"window.idle_timeout": "1h"})
    await create_topics(place.settings)
    return place


@contextlib.asynccontextmanager
async def a_producer(place: Place) -> AsyncIterator[Any]:
    producer = new_producer(place.settings)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


def chunk(place: Place, number: int) -> bytes:
    """A chunk of one row, all of them of one window."""
    rows = np.zeros(1, dtype=VISIT)
    rows["offset"], rows["user"], rows["ts_ms"] = number, number, START_S * 1000 + number
    source = Source(place.topic("checkins"), 0)
    vocabulary = build_feeds(place.settings)[Kind.CHECKINS].vocabulary
    return chunk_to_bytes(
        Chunk(kind=Kind.CHECKINS, shard="all", source=source, n_partitions=1, vocabulary=vocabulary, rows=rows)
    )


async def fill(place: Place, values: Iterable[bytes | None]) -> None:
    async with a_producer(place) as producer:
        for value in values:
            await producer.send_and_wait(place.topic("shards"), value, key=b"a key", partition=0)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody sets an event
        await asyncio.sleep(0.02)


async def commit(place: Place, offset: int) -> None:
    consumer = new_reader(place.settings.kafka, group=place.settings.kafka.windows_group)
    await consumer.start()
    try:
        at = TopicPartition(place.topic("shards"), 0)
        consumer.assign([at])
        await consumer.commit({at: offset})
    finally:
        await consumer.stop()


async def end_of_shards(place: Place, offset: int) -> None:
    """Wait until the log ends at an offset: the marker of a transaction is written after its commit is answered."""
    consumer = new_reader(place.settings.kafka, group=None)
    await consumer.start()
    try:
        at = TopicPartition(place.topic("shards"), 0)
        while (await consumer.end_offsets([at]))[at] != offset:  # noqa: ASYNC110 - nobody sets an event
            await asyncio.sleep(0.02)
    finally:
        await consumer.stop()


@pytest.mark.parametrize(
    ("committed", "deleted_below", "begins_at"),
    [
        pytest.param(None, 0, 0, id="nothing is committed"),
        pytest.param(0, 0, 0, id="the beginning is committed"),
        pytest.param(4, 0, 4, id="the middle is committed"),
        pytest.param(6, 0, 6, id="the end is committed"),
        pytest.param(None, 3, 3, id="the beginning is deleted"),
        pytest.param(2, 3, 3, id="what is committed is deleted"),
        pytest.param(99, 0, 0, id="the topic was made anew"),
    ],
)
async def test_where_a_partition_begins(
    apache_kafka: ApacheKafka, committed: int | None, deleted_below: int, begins_at: int
) -> None:
    """
    A partition begins at the committed offset if the log holds it, and else with all that the log holds.
    """
    async with asyncio.timeout(WITHIN_S):
        place = await a_place(apache_kafka)
        await fill(place, [b""] * 6)
        if committed is not None:
            await commit(place, committed)
        if deleted_below:
            await place.delete_records_now("shards", deleted_below)
        shards = ShardsLog(place.settings, 0, on_lost=lambda _: None, on_trouble=lambda _: None)
        assert await shards.begin() == begins_at
        read = [offset async for batch in shards.read(0, 5) for offset, _ in batch]
        assert read == list(range(deleted_below, 5))


class _Recording:
    """Notes what each state machine is given, by partition task."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.offsets: list[int] = []
        for name in ("accept", "skip"):
            monkeypatch.setattr(Partition, name, self._noting(getattr(Partition, name)))

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def noting(machine: Partition, *given: Any, **named: Any) -> Any:
            self.offsets.append(given[-1])
            return method(machine, *given, **named)

        return noting


class _Scene:
    """Windows on a real topic, to which messages are handed over by hand."""

    def __init__(self, place: Place, producer: AIOKafkaProducer, end: int) -> None:
        self.committed: dict[int, int] = {}
        self.metrics = Metrics(CollectorRegistry())
        self.windows = Windows(
            place.settings,
            build_feeds(place.settings),
            producer,
            cast(ReleasePool, None),  # no window is due
            self.metrics,
            writer="the test",
            end_offset=lambda _: end,
            commit=self._commit,
            passed={},
            in_force=self._is_in_force,
            on_window=lambda _: None,
            on_fatal=self._fail,
            on_trouble=lambda _: None,
        )

    async def _commit(self, offsets: dict[int, int]) -> None:
        self.committed |= offsets

    async def _is_in_force(self) -> bool:
        return True

    def _fail(self, fault: BaseException) -> None:
        raise fault

    def buffered(self) -> float:
        self.windows.update_metrics(0)
        return self.metrics.registry.get_sample_value("shoal_buffered_rows") or 0

    def unread(self) -> float:
        self.windows.update_metrics(0)
        return self.metrics.registry.get_sample_value("shoal_shards_lag_chunks") or 0


@pytest.mark.parametrize(
    "handed_over",
    [
        pytest.param(list(range(8)), id="in order"),
        pytest.param([5, *range(8)], id="one from before the rebalance comes first"),
        pytest.param([3, 4, 5, *range(8)], id="some from before the rebalance come first"),
        pytest.param([6, 7], id="from the middle"),
        pytest.param([0, 1, 0, 1, 2, 0, 1, 2, 3], id="again and again, and the end not at all"),
        pytest.param([], id="nothing at all"),
    ],
)
@pytest.mark.parametrize("committed", [None, 2])
async def test_a_window_has_all_its_rows_whatever_is_handed_over(
    apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch, handed_over: list[int], committed: int | None
) -> None:
    """
    What Faust may hand over after a rebalance: the state machine is given each message from the committed offset on,
    once and in order, also where nobody hands it over, and nothing is committed above an open window.
    """
    monkeypatch.setattr("stream.windows.partition_task._OVERDUE_S", 0.0)
    given, begin = _Recording(monkeypatch), committed or 0
    async with asyncio.timeout(WITHIN_S):
        place = await a_place(apache_kafka)
        values = [chunk(place, number) for number in range(8)]
        await fill(place, values)
        if committed is not None:
            await commit(place, committed)
        async with a_producer(place) as producer:
            scene = _Scene(place, producer, end=8)
            await scene.windows.accept(0, 0, values[0])  # nobody has the partition yet
            await scene.windows.assign({0})
            await until(lambda: scene.windows.is_ready)
            assert scene.unread() == 8 - begin
            for offset in handed_over:
                await scene.windows.accept(0, offset, values[offset])
                assert given.offsets == list(range(begin, begin + len(given.offsets)))
            await scene.windows.catch_up()
            await scene.windows.commit()
            assert given.offsets == list(range(begin, 8))
            assert (scene.buffered(), scene.unread(), scene.committed) == (8 - begin, 0, {0: begin})
            await scene.windows.revoke()


async def test_what_is_no_chunk_is_passed_by(apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Messages of others, empty ones, transactions and their markers: nothing of it is a gap that is waited for, in the
    middle or at the end, and all chunks between are taken.
    """
    monkeypatch.setattr("stream.windows.partition_task._OVERDUE_S", 0.0)
    given = _Recording(monkeypatch)
    async with asyncio.timeout(WITHIN_S):
        place = await a_place(apache_kafka)
        stranger = AIOKafkaProducer(bootstrap_servers=place.bootstrap_servers, transactional_id=place.topic("shards"))
        await fill(place, [chunk(place, 0), None, b"not a chunk"])
        await stranger.start()
        for number in (1, 2):
            await fill(place, [chunk(place, 2 * number)])
            async with stranger.transaction():
                await stranger.send_and_wait(place.topic("shards"), chunk(place, 2 * number + 1), partition=0)
            await end_of_shards(place, 3 * number + 3)
        await stranger.stop()
        async with a_producer(place) as producer:
            scene = _Scene(place, producer, end=9)
            await scene.windows.assign({0})
            await scene.windows.accept(0, 6, chunk(place, 4))
            assert given.offsets == [0, 1, 2, 3, 4, 6]  # 5 is a marker
            await scene.windows.catch_up()
            assert given.offsets == [0, 1, 2, 3, 4, 6, 7]
            assert (scene.buffered(), scene.unread()) == (5, 0)
            await scene.windows.revoke()


@pytest.mark.parametrize("committed", [None, 0, 3])
@pytest.mark.deep
async def test_faust_reads_again_from_the_committed_offset_after_every_rebalance(
    apache_kafka: ApacheKafka, committed: int | None
) -> None:
    """
    Rebalances that take their time while messages come: after each one Faust hands over everything from the committed
    offset on, also where that is the beginning, or none is committed.
    """
    place = await a_place(apache_kafka)
    shards, kafka = place.topic("shards"), place.settings.kafka
    app = App(
        kafka.windows_group,
        **faust_options(kafka),
        store="memory://",
        topic_disable_leader=True,
        topic_allow_declare=False,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,
        web_enabled=False,
    )
    app._create_directories = lambda: None
    seen: list[int] = []

    @app.agent(app.topic(shards, key_serializer="raw", value_serializer="raw", acks=False))  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for event in stream.events():
            seen.append(event.message.offset)

    # What Faust is still waiting for when a rebalance begins is woken by a new message, and then given the first ones
    # of the next assignment, before anybody may take them.
    async def on_revoked(*_: Any, **__: Any) -> None:
        seen.clear()
        await producer.send_and_wait(shards, b"", partition=0)
        await producer.send_and_wait(shards, b"", partition=0)
        await asyncio.sleep(0.5)

    async def on_assigned(*_: Any, **__: Any) -> None:
        await asyncio.sleep(0.2)

    app.on_partitions_revoked.connect(on_revoked, weak=False)
    app.on_partitions_assigned.connect(on_assigned, weak=False)
    app.finalize()
    await fill(place, [b""] * 20)
    if committed is not None:
        await commit(place, committed)
    async with a_producer(place) as producer:
        await app.start()
        try:
            for last in range(21, 31, 2):
                async with asyncio.timeout(WITHIN_S):
                    await until(partial(seen.__contains__, last))
                assert sorted(set(seen)) == list(range(committed or 0, last + 1))
                thread = app.consumer._thread
                thread.thread_loop.call_soon_threadsafe(thread._consumer._coordinator.request_rejoin)
        finally:
            await app.stop()
