"""The seals topic: write a seal, read the topic to its end, and remove obsolete seals.

It also holds the number of partitions that shards are spread over, fixed once (:func:`agree_on_partitions`), and where
feeds begin (:mod:`stream.windows.feed_starts`).
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, UnsupportedCodecError

from core.models.common.values import show_duration
from core.records.record import Kind
from core.windows.agreement import Agreement, SettingsStep
from core.windows.draw import Draw
from core.windows.seal import FeedStart, PartitionCount, Seal, SealRecord
from stream.formats.errors import DecodeError
from stream.formats.seals import SealsMessage, seal_from_bytes, seal_key, seal_to_bytes
from stream.ingest.clock import Clock
from stream.kafka.client import Trouble, new_producer, until_it_works
from stream.kafka.compression import unreadable
from stream.kafka.reading import batches, new_reader, of_each
from stream.kafka.topics import BEGIN_ANEW, ClusterError
from stream.settings.kafka import KafkaSettings
from stream.settings.model import Settings

__all__ = ["Agreed", "SealsLog", "agree_on_partitions"]

log = structlog.get_logger("shoal.seals")

_attempts = itertools.count()
"""Numbers the attempts of this process to write a seal."""


class SealsLog:
    """The seals of one partition, in the topic's order.

    Args:
        kafka: How to connect to the cluster.
        producer: A started producer.
        topic: Name of the seals topic.
        partition: The partition; the shards topic's partition of the same number holds the records.
        on_trouble: Called whenever an operation on the cluster fails.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        producer: AIOKafkaProducer,
        topic: str,
        partition: int,
        *,
        on_trouble: Trouble,
    ) -> None:
        self._topic, self._partition = topic, partition
        self._producer, self._on_trouble = producer, on_trouble
        self._at = TopicPartition(topic, partition)
        self.n_partitions: int | None = None
        """Number of partitions that shards are spread over; None until it is read from this partition."""
        self.starts: list[FeedStart] = []
        """Where feeds begin, in the topic's order."""
        self.agreement = Agreement()
        """Which settings are in force, as far as this partition says."""
        self._written = -1
        """Offset of the last record written."""
        # If an offset no longer exists, seals are lost: fail, and read again at the next start.
        self._consumer = new_reader(kafka, auto_offset_reset="none", fetch_max_wait_ms=100)

    async def open(self) -> list[SealRecord]:
        """Return every seal record that the topic holds now.

        Raises:
            ClusterError: The oldest seals were deleted.
        """
        await until_it_works("read seals", self._consumer.start, on_trouble=self._on_trouble)
        self._consumer.assign([self._at])
        await self._consumer.seek_to_beginning(self._at)
        firsts = await until_it_works(
            "read seals", lambda: self._consumer.beginning_offsets([self._at]), on_trouble=self._on_trouble
        )
        # After compaction the log still begins at 0.
        if firsts[self._at] > 0:
            raise ClusterError(
                f"topic {self._topic}, partition {self._partition}, begins at offset {firsts[self._at]}: its oldest "
                f"seals were deleted, and without all seals a window could be released twice. {BEGIN_ANEW}"
            )
        return await self.read()

    async def close(self) -> None:
        """Stop reading."""
        await self._consumer.stop()

    async def write(self, record: SealsMessage) -> None:
        """Write a record; returns once it is acknowledged."""

        async def attempt() -> None:
            written: SealsMessage = record
            if isinstance(record, Seal | FeedStart | Draw):
                # An attempt that seems to have failed may have succeeded. If both copies had one key, compaction would
                # keep only the later one, and a seal written between them would become the first.
                written = replace(record, writer=f"{record.writer}/{next(_attempts)}")
            sent = await self._producer.send_and_wait(
                self._topic, seal_to_bytes(written), key=seal_key(written), partition=self._partition
            )
            self._written = sent.offset

        await until_it_works("write a seal", attempt, on_trouble=self._on_trouble)

    async def read(self) -> list[SealRecord]:
        """Return the unread records up to the topic's end, without the removed ones.

        It reads until the end no longer moves. If compaction has removed a window's first seal, a later seal may look
        like the first. Only the completion, which was written before the removal, shows that it is not.

        Raises:
            DecodeError: A message is not ours and was not removed; ignoring it could release a window twice.
        """
        values: dict[bytes, tuple[int, bytes]] = {}
        # The reported end excludes open transactions, so a transaction of another program could hide our own records.
        while await self._consumer.position(self._at) < (end := max(await self._end(), self._written + 1)):
            async for messages in batches(self._consumer, self._at, end):
                for message in messages:
                    if message.value is None:
                        values.pop(message.key, None)
                    else:
                        values.setdefault(message.key, (message.offset, message.value))
        records: list[SealRecord] = []
        for offset, value in values.values():
            record = self._decode(offset, value)
            if isinstance(record, FeedStart):
                self.starts.append(record)
            elif isinstance(record, SettingsStep):
                self.agreement.add(record)
            elif not isinstance(record, PartitionCount):
                records.append(record)
            elif self.n_partitions is None:
                self.n_partitions = record.n_partitions
        return records

    async def _end(self) -> int:
        ends = await until_it_works(
            "read seals", lambda: self._consumer.end_offsets([self._at]), on_trouble=self._on_trouble
        )
        return int(ends[self._at])

    async def remove(self, records: Iterable[SealsMessage]) -> None:
        """Let compaction remove records that a later record replaces."""

        async def attempt() -> None:
            futures = [
                await self._producer.send(self._topic, None, key=seal_key(record), partition=self._partition)
                for record in records
            ]
            await asyncio.gather(*futures)

        await until_it_works("remove seals", attempt, on_trouble=self._on_trouble)

    def _decode(self, offset: int, value: bytes) -> SealsMessage:
        try:
            return seal_from_bytes(value)
        except DecodeError as fault:
            raise DecodeError(f"topic {self._topic}, partition {self._partition}, offset {offset}: {fault}") from None


_SAY_AFTER_S = 2.0


class Agreed(NamedTuple):
    """What the seals of all partitions contain together."""

    n_partitions: int
    """Number of partitions that shards are spread over: the topic's number when the first worker ever started."""

    sealed: frozenset[Kind]
    """The kinds of feed with sealed windows."""


async def agree_on_partitions(
    settings: Settings, n_partitions: int, progress: Callable[[str], None], *, clock: Clock | None = None
) -> Agreed:
    """Read all seals; at the very first start, also fix the number of partitions.

    Args:
        settings: All settings.
        n_partitions: Current number of partitions of the shards topic.
        progress: Shows what the worker waits for.
        clock: Watches this machine's clock.

    Raises:
        ClusterError: The seals cannot be read or written, or partitions are missing.
    """
    topics, limit_ms = settings.topics, settings.kafka.startup_timeout
    producer = new_producer(settings, clock=clock)

    def log_of(partition: int) -> SealsLog:
        return SealsLog(settings.kafka, producer, topics.seals, partition, on_trouble=lambda _: None)

    first = log_of(0)
    patience = asyncio.get_running_loop().call_later(_SAY_AFTER_S, progress, f"reading topic {topics.seals}")
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await producer.start()
            sealed = {record.kind for record in await first.open()}

        async def kinds_in(partition: int) -> set[Kind]:
            other = log_of(partition)
            try:
                async with asyncio.timeout(limit_ms / 1000):
                    return {record.kind for record in await other.open()}
            finally:
                await other.close()

        sealed = sealed.union(*await of_each(range(1, n_partitions), kinds_in))
        async with asyncio.timeout(limit_ms / 1000):
            if first.n_partitions is None:
                await first.write(PartitionCount(n_partitions=n_partitions, writer=uuid.uuid4().hex))
                await first.read()
            agreed = first.n_partitions
    except TimeoutError:
        if clock is not None and (wrong := clock.wrong()) is not None:
            raise ClusterError(wrong) from None
        raise ClusterError(
            f"a partition of topic {topics.seals} cannot be read to its end within "
            f"kafka.startup_timeout={show_duration(limit_ms)}: check that the worker's user may read it, and that the "
            "partition has a leader"
        ) from None
    except DecodeError as fault:
        raise ClusterError(
            f"{fault} Without all seals a window could be released twice. If you know that the message is not "
            "Shoal's, remove it: send its key with an empty value"
        ) from None
    except UnsupportedCodecError as fault:
        raise ClusterError(unreadable(topics.seals, fault)) from None
    except KafkaError as fault:
        raise ClusterError(
            f"topic {topics.seals} cannot be read ({type(fault).__name__}), and without all seals a window could be "
            "released twice: allow the worker's user to read and write it"
        ) from None
    finally:
        patience.cancel()
        await asyncio.gather(first.close(), producer.stop())
    if agreed is None or n_partitions < agreed:
        raise ClusterError(
            f"topic {topics.shards} has {n_partitions} partitions, but had {agreed} at the first start: records in the "
            f"missing partitions are lost, and new records would not find their seals. {BEGIN_ANEW}"
        )
    if n_partitions > agreed:
        progress(f"topic {topics.shards} has {n_partitions} partitions; only the {agreed} of the first start are used")
    return Agreed(agreed, frozenset(sealed))
