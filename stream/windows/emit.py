"""Emits releases: sends their messages, the windows message last, and waits until all are acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import InvalidTimestampError, KafkaError

from stream.formats.release.messages import OutMessage
from stream.kafka.client import Producer, Trouble, partition_of, until_it_works
from stream.kafka.reading import batches, new_reader
from stream.settings.kafka import KafkaSettings

__all__ = ["Emitter"]

log = structlog.get_logger("shoal.emit")


class Emitter:
    """Sends releases.

    Args:
        kafka: How to connect to the cluster.
        producer: A started producer.
        topics: The topics' names, under ``anonymized`` and ``windows``.
        on_trouble: Called whenever an operation on the cluster fails.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        producer: Producer,
        topics: Mapping[str, str],
        *,
        on_trouble: Trouble,
    ) -> None:
        self._kafka = kafka
        self._producer, self._topics, self._on_trouble = producer, topics, on_trouble

    async def emit(
        self,
        messages: Sequence[OutMessage],
        *,
        headers: Callable[[], list[tuple[str, bytes]]],
        of_all: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Send a release, and return when all of it is acknowledged.

        A repetition sends the same bytes under the same keys to the same partitions; all trajectories of a release go
        to one partition. Values that differ between runs, such as durations, are in the headers of the windows message.
        The time stamp is the window's end, or the present if a topic does not accept the window's end.

        Args:
            messages: Trajectories, then the windows message.
            headers: Makes the headers of the windows message, after the trajectories are acknowledged.
            of_all: Headers of all messages.
        """
        *trajectories, window = messages

        async def send_trajectories(timestamp_ms: int | None) -> None:
            sent = self._send_batches(trajectories, window.key, timestamp_ms, of_all)
            await asyncio.gather(*[future async for future in sent])

        async def send_window(timestamp_ms: int | None) -> None:
            await self._producer.send_and_wait(
                self._topics[window.topic],
                window.value,
                key=window.key,
                timestamp_ms=timestamp_ms,
                headers=[*headers(), *of_all],
            )

        end_ms = window.timestamp_ms
        await until_it_works("emit trajectories", lambda: _at(end_ms, send_trajectories), on_trouble=self._on_trouble)
        await until_it_works("emit a windows message", lambda: _at(end_ms, send_window), on_trouble=self._on_trouble)

    async def is_out(self, release_id: str) -> bool:
        """Return whether the windows message of a release was sent before; reads all of its partition.

        If the worker's user may not read the topic, it logs a warning and returns False.
        """
        topic, key = self._topics["windows"], release_id.encode()
        partition = partition_of(key, len(await self._producer.partitions_for(topic)))
        at = TopicPartition(topic, partition)

        async def look() -> bool:
            consumer = new_reader(self._kafka, auto_offset_reset="earliest")
            try:
                await consumer.start()
                consumer.assign([at])
                end = (await consumer.end_offsets([at]))[at]
                await consumer.seek_to_beginning(at)
                async for messages in batches(consumer, at, end):
                    if any(message.key == key for message in messages):
                        return True
                return False
            finally:
                await consumer.stop()

        try:
            return await until_it_works("read windows messages", look, on_trouble=self._on_trouble)
        except KafkaError as fault:
            log.warning(
                "windows_unreadable", fault=type(fault).__name__, action="allow the worker's user to read the topic"
            )
            return False

    async def _send_batches(
        self,
        trajectories: Sequence[OutMessage],
        release: bytes,
        timestamp_ms: int | None,
        headers: Sequence[tuple[str, bytes]],
    ) -> AsyncIterator[asyncio.Future[object]]:
        """Send trajectories in batches: sending them one by one would take longer than anonymizing them."""
        if not trajectories:
            return
        topic = self._topics[trajectories[0].topic]
        partition = partition_of(release, len(await self._producer.partitions_for(topic)))
        to: dict[str, Any] = {"topic": topic, "partition": partition, "has_present": timestamp_ms is None}
        its_headers = list(headers)  # aiokafka refuses a tuple
        batch = self._producer.create_batch()
        for message in trajectories:
            record = {"key": message.key, "value": message.value, "timestamp": timestamp_ms, "headers": its_headers}
            if batch.append(**record) is None:
                yield await self._producer.send_batch(batch, **to)
                batch = self._producer.create_batch()
                batch.append(**record)
        yield await self._producer.send_batch(batch, **to)


async def _at(end_ms: int, send: Callable[[int | None], Awaitable[None]]) -> None:
    """Send with the window's end as time stamp, or with the present if the topic does not accept the window's end.

    ``message.timestamp.before.max.ms`` excludes old windows, ``message.timestamp.after.max.ms`` windows sealed early; a
    retry would not help. Messages already accepted with the window's end are then sent twice, under the same key.
    """
    try:
        await send(end_ms)
    except InvalidTimestampError:
        log.info("release_has_the_present", why="the topic does not accept the window's end as a time stamp")
        await send(None)
