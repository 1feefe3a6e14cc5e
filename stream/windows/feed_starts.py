"""Where feeds begin: with ``kafka.start`` other than ``earliest``, all workers agree once on the first offsets.

A worker alone cannot know whether a partition without a committed offset is one of a feed that starts now, and may be
begun at its end, or a new one of a feed that is running, whose first records must not be left out: another worker may
have committed an offset a moment before. So the first worker writes the first offsets of all partitions that exist to
the seals topic. If several write, the first one counts. Whatever is not listed there is read from its beginning.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Mapping

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from core.models.common.values import show_duration
from core.records.record import Kind
from core.windows.seal import FeedStart
from stream.ingest.clock import Clock
from stream.kafka.client import Producer, new_producer
from stream.kafka.input_topics import find_inputs
from stream.kafka.log_start import AgreedStart
from stream.kafka.reading import commits_of, new_reader
from stream.kafka.topic_ids import topic_ids
from stream.kafka.topics import ClusterError
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings
from stream.settings.values import show_instant
from stream.windows.seals_log import SealsLog

__all__ = ["agree_on_starts", "first_offsets"]

log = structlog.get_logger("shoal.ingest")


async def agree_on_starts(
    settings: Settings, sealed: Collection[Kind], *, clock: Clock | None = None
) -> dict[TopicPartition, AgreedStart]:
    """Return where the partitions begin that the group has never read; the others begin at their first record.

    Args:
        settings: All settings.
        sealed: The kinds of feed with sealed windows: they do not start now.
        clock: Watches this machine's clock.

    Raises:
        ClusterError: The cluster does not answer.
    """
    start = settings.kafka.start
    if start == "earliest":
        return {}
    limit_ms, group = settings.kafka.startup_timeout, settings.kafka.ingest_group
    setting = start if isinstance(start, str) else show_instant(start)
    producer = new_producer(settings, clock=clock)
    reader = new_reader(settings.kafka, group=group, isolation_level=settings.kafka.isolation_level)
    seals = SealsLog(settings.kafka, producer, settings.topics.seals, 0, on_trouble=lambda _: None)

    def agreed() -> dict[Kind, FeedStart]:
        ours = [one for one in seals.starts if (one.group, one.setting) == (group, setting)]
        return {one.kind: one for one in reversed(ours)}

    try:
        async with asyncio.timeout(limit_ms / 1000):
            await producer.start()
            await reader.start()
            await seals.open()
            sealed_inputs = {kind.input_kind for kind in sealed}
            inputs_read = dict.fromkeys(kind.input_kind for kind in settings.kinds)
            new = [kind for kind in inputs_read if kind not in sealed_inputs and kind not in agreed()]
            inputs = (await find_inputs(producer.client, FeedTopics(settings.topics))).topics if new else {}
            for kind in new:
                if (first := await _first_start(producer, reader, inputs[kind], start)) is not None:
                    offsets, ids = first
                    writer = uuid.uuid4().hex
                    await seals.write(
                        FeedStart(
                            kind=kind, group=group, setting=setting, offsets=offsets, topic_ids=ids, writer=writer
                        )
                    )
            await seals.read()
    except (KafkaError, TimeoutError) as fault:
        raise ClusterError(
            f"the first offsets of the input (kafka.start={setting}) cannot be read within "
            f"kafka.startup_timeout={show_duration(limit_ms)} ({type(fault).__name__}): check that the worker's user "
            f"may read the input topics and group {group}"
        ) from None
    finally:
        await asyncio.gather(seals.close(), reader.stop(), producer.stop())
    found = agreed()
    for kind, one in found.items():
        log.info("feed_start", kind=kind.value, start=setting, partitions=sum(map(len, one.offsets.values())))
    return {
        TopicPartition(topic, number): AgreedStart(offset, one.topic_ids.get(topic, ""))
        for one in found.values()
        for topic, offsets in one.offsets.items()
        for number, offset in offsets.items()
    }


async def _first_start(
    producer: Producer, reader: AIOKafkaConsumer, topics: Mapping[str, int], start: str | int
) -> tuple[dict[str, dict[int, int]], dict[str, str]] | None:
    """Return the first offsets and the ids of a feed's topics; None if the group has a committed offset of the feed."""
    partitions = [TopicPartition(topic, number) for topic, n in topics.items() for number in range(n)]
    if any(commit.offset >= 0 for commit in (await commits_of(reader, partitions)).values()):
        return None
    ids = await topic_ids(producer.client, topics) or {}
    offsets: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for at, offset in (await first_offsets(reader, partitions, start)).items():
        offsets[at.topic][at.partition] = offset
    return offsets, {topic: ids.get(topic, "") for topic in topics}


async def first_offsets(
    consumer: AIOKafkaConsumer, partitions: Collection[TopicPartition], start: str | int
) -> dict[TopicPartition, int]:
    """Return the offset of the first record at or after ``start`` in each partition; its end if there is none.

    Args:
        consumer: A started consumer.
        partitions: The partitions.
        start: ``latest``, or an instant in Unix milliseconds.
    """
    if not partitions:
        return {}
    # Ask for the ends first: a record that comes in between must not be passed over.
    ends = {at: int(end) for at, end in (await consumer.end_offsets(list(partitions))).items()}
    if isinstance(start, str):
        return ends
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, start))
    return {at: end if (one := found.get(at)) is None else min(int(one.offset), end) for at, end in ends.items()}
