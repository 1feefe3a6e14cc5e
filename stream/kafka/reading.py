"""Reading one partition up to a known end, with a consumer of its own that is not a member of a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from stream.kafka.client import client_options
from stream.kafka.rotation import follow_rotation
from stream.settings.kafka import KafkaSettings

__all__ = ["batches", "commits_of", "is_beyond_end", "new_reader", "of_each"]

T = TypeVar("T")

_READ_AT_ONCE = 16
"""Most partitions that are read at the same time: each takes a connection, and some round trips."""

_LOOK_AGAIN_MS = 500

_ANSWERED_MS = 2_000
"""How long to wait for an answer: a broker with no record at an offset yet waits half a second before it answers."""


def new_reader(kafka: KafkaSettings, *, group: str | None = None, **options: Any) -> AIOKafkaConsumer:
    """Make a consumer; the caller starts, assigns and stops it.

    Args:
        kafka: How to connect to the cluster.
        group: A group whose committed offsets can be read. The consumer is not a member, and commits nothing.
        options: More options of aiokafka's consumer.
    """
    options = {"isolation_level": "read_committed"} | options
    consumer = AIOKafkaConsumer(**client_options(kafka), group_id=group, enable_auto_commit=False, **options)
    follow_rotation(consumer._client)
    return consumer


async def commits_of(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
    """Return the commits of a consumer's group, with metadata; an offset below 0 means that there is no commit.

    aiokafka's public method returns only the offset, and its admin client cannot read the answers of every broker.
    """
    commits: Mapping[TopicPartition, Any] = await consumer._coordinator.fetch_committed_offsets(partitions)
    return commits


async def is_beyond_end(kafka: KafkaSettings, at: TopicPartition, offset: int) -> bool:
    """Return whether nothing can be read at an offset because the log ends before it.

    It tries to read: the end that a broker reports excludes open transactions, and some brokers report too low an end.
    """
    reader = new_reader(kafka, isolation_level="read_uncommitted", auto_offset_reset="none")
    try:
        await reader.start()
        reader.assign([at])
        reader.seek(at, offset)
        await reader.getmany(at, timeout_ms=_ANSWERED_MS, max_records=1)
    except OffsetOutOfRangeError:
        return True
    finally:
        await reader.stop()
    return False


async def batches(consumer: AIOKafkaConsumer, at: TopicPartition, end: int) -> AsyncIterator[Sequence[Any]]:
    """Yield messages from a consumer's position up to an offset, and perhaps some after it.

    A batch is empty if no message came for a while, so that the caller can check whether to stop.
    """
    while await consumer.position(at) < end:
        yield (await consumer.getmany(at, timeout_ms=_LOOK_AGAIN_MS)).get(at, [])


async def of_each(partitions: Iterable[int], read: Callable[[int], Awaitable[T]]) -> list[T]:
    """Return what is read of each partition, in their order; some are read at the same time, and a fault ends all."""
    some = asyncio.Semaphore(_READ_AT_ONCE)

    async def one(number: int) -> T:
        async with some:
            return await read(number)

    tasks = [asyncio.create_task(one(number)) for number in partitions]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
