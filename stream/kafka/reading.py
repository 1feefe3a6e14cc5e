"""Reading one partition up to a known end, by a consumer that shares nothing with anybody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from stream.kafka.client import client_options
from stream.settings.kafka import KafkaSettings

__all__ = ["batches", "commits_of", "is_beyond_end", "new_reader"]

_LOOK_AGAIN_MS = 500

_ANSWERED_MS = 2_000
"""A broker that has nothing at an offset yet waits for half a second before it says so."""


def new_reader(kafka: KafkaSettings, *, group: str | None = None, **options: Any) -> AIOKafkaConsumer:
    """Make a consumer; start, assign and stop it yourself.

    Args:
        kafka: How to connect to the cluster.
        group: Whose committed offsets it can be asked for. It is no member, and commits nothing.
        options: More options of aiokafka's consumer.
    """
    options = {"isolation_level": "read_committed"} | options
    return AIOKafkaConsumer(**client_options(kafka), group_id=group, enable_auto_commit=False, **options)


async def commits_of(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
    """Return what a consumer's group has committed, with metadata; an offset below 0 stands for nothing.

    aiokafka gives members the offset alone, and its admin client cannot read the answers of every broker.
    """
    commits: Mapping[TopicPartition, Any] = await consumer._coordinator.fetch_committed_offsets(partitions)
    return commits


async def is_beyond_end(kafka: KafkaSettings, at: TopicPartition, offset: int) -> bool:
    """Return whether nothing can be read at an offset because the log ends before it.

    It is tried: what a broker says of the end leaves out transactions that are open, and some brokers say too little.
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
    """Yield messages from where a consumer stands to an offset, and perhaps some behind that.

    A batch is empty where none came for a while, so that whoever reads can look whether it is still wanted.
    """
    while await consumer.position(at) < end:
        yield (await consumer.getmany(at, timeout_ms=_LOOK_AGAIN_MS)).get(at, [])
