"""The seals topic: write a seal, read the topic back through it, and remove what is obsolete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from core.seal import SealRecord
from stream.codec import DecodeError, seal_from_bytes, seal_key, seal_to_bytes
from stream.kafka import client_options, until_it_works
from stream.settings import KafkaSettings

__all__ = ["SealsLog"]

log = structlog.get_logger("shoal.seals")


class SealsLog:
    """The seals of one partition, in the topic's order.

    Args:
        kafka: How to reach the cluster.
        producer: A started producer.
        topic: Name of the seals topic.
        partition: The partition, the same as of the shards topic.
        on_trouble: Called whenever the cluster does not do as asked.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        producer: AIOKafkaProducer,
        topic: str,
        partition: int,
        *,
        on_trouble: Callable[[], None],
    ) -> None:
        self._topic, self._partition = topic, partition
        self._producer, self._on_trouble = producer, on_trouble
        self._at = TopicPartition(topic, partition)
        # No group: where to read from is decided here, and every worker reads everything.
        self._consumer = AIOKafkaConsumer(
            **client_options(kafka), group_id=None, enable_auto_commit=False, fetch_max_wait_ms=100
        )

    async def open(self) -> list[SealRecord]:
        """Return every seal record that the topic holds now."""
        await until_it_works("read seals", self._consumer.start, on_trouble=self._on_trouble)
        self._consumer.assign([self._at])
        await self._consumer.seek_to_beginning(self._at)
        ends = await until_it_works(
            "read seals", lambda: self._consumer.end_offsets([self._at]), on_trouble=self._on_trouble
        )
        return await self.read_through(ends[self._at] - 1)

    async def close(self) -> None:
        """Stop reading."""
        await self._consumer.stop()

    async def write(self, record: SealRecord) -> int:
        """Write a record and return its offset once it is acknowledged."""

        async def attempt() -> int:
            sent = await self._producer.send_and_wait(
                self._topic, seal_to_bytes(record), key=seal_key(record), partition=self._partition
            )
            return int(sent.offset)

        return await until_it_works("write a seal", attempt, on_trouble=self._on_trouble)

    async def read_through(self, offset: int) -> list[SealRecord]:
        """Return the records that were not read yet, up to and including ``offset``."""
        records: list[SealRecord] = []
        while await self._consumer.position(self._at) <= offset:
            for messages in (await self._consumer.getmany(self._at, timeout_ms=500)).values():
                for message in messages:
                    if message.value is not None:  # a tombstone removes what is completed, which we know anyway
                        records.append(self._decode(message.value))
        return records

    async def remove(self, records: Iterable[SealRecord]) -> None:
        """Let compaction remove records that a later one replaces."""

        async def attempt() -> None:
            futures = [
                await self._producer.send(self._topic, None, key=seal_key(record), partition=self._partition)
                for record in records
            ]
            await asyncio.gather(*futures)

        await until_it_works("remove seals", attempt, on_trouble=self._on_trouble)

    def _decode(self, value: bytes) -> SealRecord:
        try:
            return seal_from_bytes(value)
        except DecodeError:
            # To go on without it could release a window twice.
            log.critical("seal_unreadable", topic=self._topic, partition=self._partition)
            raise
