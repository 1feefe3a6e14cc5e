"""Records that wait on the shards topic for windows that are not sealed, but were located under other settings."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition

from core.records.arrays import IntArray
from core.records.record import Chunk, Kind, Source
from core.windows.seal import Seal, SealedUntil
from stream.feeds.feed import Feed
from stream.formats.chunks import chunk_from_bytes
from stream.formats.errors import DecodeError
from stream.ingest.clock import Clock
from stream.ingest.locate_again import locate_again
from stream.kafka.client import Producer, Trouble, new_producer, until_it_works
from stream.kafka.reading import new_reader, of_each
from stream.observe.metrics import Metrics
from stream.settings.model import Settings
from stream.windows.seals_log import SealsLog
from stream.windows.shards_log import ShardsLog

__all__ = ["WaitingRecords", "find_waiting", "locating_again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRecords:
    """Where these records are in the input topics."""

    offsets: Mapping[tuple[Kind, Source, str], IntArray] = field(repr=False)
    """Distinct offsets in the input, ascending, shape ``(n,)``, by feed, source and id of the source's log."""

    ends: Mapping[int, int]
    """End of each partition of the shards topic when it was read."""


async def find_waiting(
    settings: Settings,
    feeds: Mapping[Kind, Feed],
    producer: Producer,
    n_partitions: int,
    passed: Mapping[int, int],
    *,
    on_lost: Callable[[int], None],
    on_trouble: Trouble,
) -> WaitingRecords:
    """Find the records that must be located again, while no worker reads or writes.

    Args:
        settings: All settings.
        feeds: The feeds with the new settings.
        producer: A started producer.
        n_partitions: Number of partitions of the shards topic that shards are spread over.
        passed: Offsets of the shards topic, by partition, before which everything was located again before.
        on_lost: Called with the number of offsets of the shards topic that were deleted before they were read.
        on_trouble: Called whenever an operation on the cluster fails.

    Raises:
        ClusterError: The oldest seals were deleted.
    """
    found: dict[tuple[Kind, Source, str], list[IntArray]] = {}

    async def read(number: int) -> int:
        sealed_ms = await _sealed(settings, producer, number, on_trouble=on_trouble)
        shards = ShardsLog(settings, number, on_lost=on_lost, on_trouble=on_trouble)
        first, end = await shards.begin(), await _end(settings, number, on_trouble=on_trouble)
        async for batch in shards.read(max(first, passed.get(number, 0)), end):
            for _, value in batch:
                chunk = _foreign(value, feeds)
                if chunk is None:
                    continue
                waits = chunk.rows["ts_ms"] >= sealed_ms.get((chunk.kind, chunk.shard), -math.inf)
                offsets = np.unique(chunk.rows["offset"][waits]).astype(np.int64)
                found.setdefault((chunk.kind, chunk.source, chunk.log_id), []).append(offsets)
        return end

    ends = await of_each(range(n_partitions), read)
    return WaitingRecords(
        offsets={of: np.unique(np.concatenate(parts)) for of, parts in found.items() if sum(map(len, parts))},
        ends=dict(enumerate(ends)),
    )


def locating_again(
    settings: Settings,
    feeds: Mapping[Kind, Feed],
    metrics: Metrics,
    *,
    n_partitions: int,
    clock: Clock,
    progress: Callable[[str], None],
    on_trouble: Trouble,
) -> Callable[[Mapping[int, int]], Awaitable[Mapping[int, int]]]:
    """Return a function that finds these records and locates them again, to be called while no worker runs.

    Args:
        settings: All settings.
        feeds: The feeds with the new settings.
        metrics: The metrics of this worker.
        n_partitions: Number of partitions of the shards topic that shards are spread over.
        clock: Watches this machine's clock.
        progress: Shows how far it is.
        on_trouble: Called whenever an operation on the cluster fails.

    Returns:
        The function. It takes the offsets of the shards topic, by partition, before which everything was located again
        before, and returns those of now.
    """

    async def locate(passed: Mapping[int, int]) -> Mapping[int, int]:
        progress("looking for records that wait under other settings")
        producer = new_producer(settings, clock=clock)
        await until_it_works("start the producer", producer.start, on_trouble=on_trouble)
        try:
            waiting = await find_waiting(
                settings, feeds, producer, n_partitions, passed, on_lost=metrics.lost_chunks.inc, on_trouble=on_trouble
            )
            await locate_again(
                settings,
                feeds,
                producer,
                metrics,
                waiting.offsets,
                n_partitions=n_partitions,
                progress=progress,
                on_trouble=on_trouble,
            )
        finally:
            await producer.stop()
        return waiting.ends

    return locate


async def _sealed(
    settings: Settings, producer: Producer, number: int, *, on_trouble: Trouble
) -> dict[tuple[Kind, str], float]:
    """Return up to which event time the windows of each shard are sealed."""
    seals = SealsLog(settings.kafka, producer, settings.topics.seals, number, on_trouble=on_trouble)
    reached: dict[tuple[Kind, str], float] = {}
    try:
        for record in await seals.open():
            if isinstance(record, Seal | SealedUntil):
                of = record.kind, record.shard
                until_ms = record.key.end_ms if isinstance(record, Seal) else record.until_ms
                reached[of] = max(until_ms, reached.get(of, -math.inf))
    finally:
        await seals.close()
    return reached


async def _end(settings: Settings, number: int, *, on_trouble: Trouble) -> int:
    at = TopicPartition(settings.topics.shards, number)

    async def ask() -> int:
        reader: AIOKafkaConsumer = new_reader(settings.kafka)
        try:
            await reader.start()
            return int((await reader.end_offsets([at]))[at])
        finally:
            await reader.stop()

    return await until_it_works("read shards", ask, on_trouble=on_trouble)


def _foreign(value: bytes, feeds: Mapping[Kind, Feed]) -> Chunk | None:
    """Return the chunk of a message, if it belongs to a feed but was located under other settings."""
    try:
        chunk = chunk_from_bytes(value)
    except DecodeError:
        return None  # the window stage reports it
    feed = feeds.get(chunk.kind)
    return None if feed is None or feed.vocabulary == chunk.vocabulary else chunk
