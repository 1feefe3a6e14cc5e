"""Reads a partition of the shards topic without Faust: its first offset, and its messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial

import structlog
from aiokafka import TopicPartition

from stream.kafka.client import Trouble, until_it_works
from stream.kafka.reading import batches, is_beyond_end, new_reader
from stream.settings.model import Settings

__all__ = ["ShardsLog"]

log = structlog.get_logger("shoal.windows")


class ShardsLog:
    """One partition of the shards topic.

    Args:
        settings: All settings.
        partition: The partition.
        on_lost: Called with the number of offsets that were deleted before they were read, or are no longer there.
        on_trouble: Called whenever an operation on the cluster fails.
    """

    def __init__(
        self, settings: Settings, partition: int, *, on_lost: Callable[[int], None], on_trouble: Trouble
    ) -> None:
        self._kafka, self._on_lost, self._on_trouble = settings.kafka, on_lost, on_trouble
        self._at = TopicPartition(settings.topics.shards, partition)

    async def begin(self) -> int:
        """Return the offset from which the partition's new owner reads.

        It is the committed offset. If none is committed, or the log no longer has it, it is the log's first offset, as
        in Faust.
        """

        async def ask() -> tuple[int | None, int, int]:
            consumer = new_reader(self._kafka, group=self._kafka.windows_group)
            try:
                await consumer.start()
                consumer.assign([self._at])
                # Ask for the end last, so that the committed offset cannot be above it.
                committed = await consumer.committed(self._at)
                first = int((await consumer.beginning_offsets([self._at]))[self._at])
                end = int((await consumer.end_offsets([self._at]))[self._at])
            finally:
                await consumer.stop()
            return None if committed is None else int(committed), first, end

        committed, first, end = await until_it_works("read shards", ask, on_trouble=self._on_trouble)
        if committed is None:
            return first
        if committed < first:
            self._lost(first - committed)
            return first
        if committed <= end:
            return committed
        beyond_end = partial(is_beyond_end, self._kafka, self._at, committed)
        if not await until_it_works("read shards", beyond_end, on_trouble=self._on_trouble):
            return committed
        self._lost(committed - end, ends_before=True)
        return first

    def _lost(self, n: int, *, ends_before: bool = False) -> None:
        self._on_lost(n)
        log.error(
            "shards_lost",
            topic=self._at.topic,
            partition=self._at.partition,
            offsets=n,
            why="the log ends before the committed offset"
            if ends_before
            else "deleted before their windows were emitted",
            action="records of open windows are lost: see the runbook, ShoalShardsLost",
        )

    async def read(self, first: int, end: int) -> AsyncGenerator[Sequence[tuple[int, bytes]]]:
        """Yield the messages from one offset up to another, in batches, which may be empty.

        Offsets may be missing: retention deletes the oldest messages, and each marker of a transaction has an offset.
        """
        # earliest: if the first messages are deleted, begin at the earliest that is left.
        consumer = new_reader(self._kafka, auto_offset_reset="earliest")
        try:
            await until_it_works("read shards", consumer.start, on_trouble=self._on_trouble)
            consumer.assign([self._at])
            consumer.seek(self._at, first)
            firsts = await until_it_works(
                "read shards", lambda: consumer.beginning_offsets([self._at]), on_trouble=self._on_trouble
            )
            if (held_from := int(firsts[self._at])) > first:
                self._lost(min(held_from, end) - first)
            async for messages in batches(consumer, self._at, end):
                yield [(one.offset, one.value or b"") for one in messages if first <= one.offset < end]
        finally:
            await consumer.stop()
