"""The seals topic: write a seal, read the topic to its end, and remove what is obsolete."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from core.seal import Seal, SealRecord
from stream.codec import DecodeError, seal_from_bytes, seal_key, seal_to_bytes
from stream.kafka import client_options, until_it_works
from stream.settings import KafkaSettings

__all__ = ["SealsLog"]

log = structlog.get_logger("shoal.seals")

_attempts = itertools.count()
"""Numbers the attempts of this process to write a seal."""


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
            **client_options(kafka),
            group_id=None,
            enable_auto_commit=False,
            # A position that is gone means lost seals: fail, and let the next start read what there is.
            auto_offset_reset="none",
            fetch_max_wait_ms=100,
        )

    async def open(self) -> list[SealRecord]:
        """Return every seal record that the topic holds now."""
        await until_it_works("read seals", self._consumer.start, on_trouble=self._on_trouble)
        self._consumer.assign([self._at])
        await self._consumer.seek_to_beginning(self._at)
        return await self.read()

    async def close(self) -> None:
        """Stop reading."""
        await self._consumer.stop()

    async def write(self, record: SealRecord) -> None:
        """Write a record; returns once it is acknowledged."""

        async def attempt() -> None:
            written = record
            if isinstance(record, Seal):
                # An attempt that looks failed may have succeeded. Under one key compaction would keep the later copy
                # alone, behind a seal that came between: another one would be first.
                written = replace(record, writer=f"{record.writer}/{next(_attempts)}")
            await self._producer.send_and_wait(
                self._topic, seal_to_bytes(written), key=seal_key(written), partition=self._partition
            )

        await until_it_works("write a seal", attempt, on_trouble=self._on_trouble)

    async def read(self) -> list[SealRecord]:
        """Return the records that were not read yet, up to the topic's end, without those that are removed again.

        The end is asked for until nothing is left: where compaction has removed a window's first seal, a later seal
        may look like the first, and only the completion, which was written before the removal, tells.
        """
        records: dict[bytes, SealRecord] = {}
        while await self._consumer.position(self._at) < await self._end():
            for messages in (await self._consumer.getmany(self._at, timeout_ms=500)).values():
                for message in messages:
                    if message.value is None:
                        records.pop(message.key, None)
                    else:
                        records.setdefault(message.key, self._decode(message.value))
        return list(records.values())

    async def _end(self) -> int:
        ends = await until_it_works(
            "read seals", lambda: self._consumer.end_offsets([self._at]), on_trouble=self._on_trouble
        )
        return int(ends[self._at])

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
