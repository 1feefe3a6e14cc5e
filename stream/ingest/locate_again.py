"""Locates records again that wait under settings that are being replaced: the input topics still hold them.

It runs while no worker does. So whatever it writes comes before all that ingest forwards later, and the offsets of each
source ascend, as the window stage expects: it takes an offset below the highest of its source for a duplicate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from core.records.arrays import IntArray
from core.records.record import Kind, Reason, Rejected, Source
from stream.feeds.feed import Feed
from stream.feeds.inputs import message_reader
from stream.ingest.decoding import decoded
from stream.ingest.fetch_schemas import Schemas
from stream.ingest.rejections import send_dead_letters
from stream.ingest.shards_writer import ShardsWriter, completed
from stream.kafka.client import Producer, Trouble, until_it_works
from stream.kafka.log_start import LogId, mark_from_text
from stream.kafka.reading import batches, commits_of, new_reader
from stream.kafka.schema_registry import SchemaRegistry
from stream.observe.metrics import Metrics
from stream.settings.model import Settings

__all__ = ["locate_again"]

log = structlog.get_logger("shoal.ingest")

_GONE = "located under settings that were replaced, and the input no longer holds the record"
_REPORT_EVERY_S = 2.0


class _Committed(NamedTuple):
    """How far the ingest group has read a partition."""

    offset: int
    log_id: str


async def locate_again(
    settings: Settings,
    feeds: Mapping[Kind, Feed],
    producer: Producer,
    metrics: Metrics,
    waiting: Mapping[tuple[Kind, Source, str], IntArray],
    *,
    n_partitions: int,
    progress: Callable[[str], None],
    on_trouble: Trouble,
) -> None:
    """Read records from the input topics once more, and forward them under the new settings.

    A record that the input no longer holds becomes a dead letter. Records after the committed offset of the ingest
    group are left out, because ingest reads them anyway.

    Args:
        settings: All settings.
        feeds: The feeds with the new settings.
        producer: A started producer.
        metrics: The metrics of this worker.
        waiting: Offsets of the records, ascending, shape ``(n,)``, by feed, source and id of the source's log.
        n_partitions: Number of partitions of the shards topic that shards are spread over.
        progress: Shows how far it is.
        on_trouble: Called whenever an operation on the cluster fails.
    """
    n_all, n_done, reported_s = sum(map(len, waiting.values())), 0, time.monotonic()

    def count(n: int) -> None:
        nonlocal n_done, reported_s
        n_done += n
        if time.monotonic() - reported_s >= _REPORT_EVERY_S:
            reported_s = time.monotonic()
            progress(f"locating records again that wait under other settings: {n_done:,} of {n_all:,}")

    again = _Again(settings, feeds, producer, metrics, n_partitions=n_partitions, count=count, on_trouble=on_trouble)
    n_lost = 0
    try:
        await until_it_works("read input", again.reader.start, on_trouble=on_trouble)
        for (kind, source, log_id), offsets in sorted(waiting.items(), key=lambda one: one[0]):
            n_lost += await again.forward(kind, source, log_id, offsets)
    finally:
        await again.reader.stop()
    if n_all:
        log.info("records_located_again", records=n_all - n_lost, lost=n_lost)


class _Again:
    def __init__(
        self,
        settings: Settings,
        feeds: Mapping[Kind, Feed],
        producer: Producer,
        metrics: Metrics,
        *,
        n_partitions: int,
        count: Callable[[int], None],
        on_trouble: Trouble,
    ) -> None:
        self._settings, self._feeds, self._producer, self._metrics = settings, feeds, producer, metrics
        self._count, self._on_trouble = count, on_trouble
        self._shards = ShardsWriter(settings, producer, n_partitions=n_partitions, on_trouble=on_trouble)
        registry = SchemaRegistry(settings.registry) if settings.registry.url is not None else None
        self._schemas = Schemas(registry, on_trouble=on_trouble)
        kafka = settings.kafka
        self.reader: AIOKafkaConsumer = new_reader(
            kafka, group=kafka.ingest_group, isolation_level=kafka.isolation_level, auto_offset_reset="earliest"
        )

    async def forward(self, kind: Kind, source: Source, log_id: str, offsets: IntArray) -> int:
        """Forward the records of one source for one feed; return how many the input no longer holds."""
        at = TopicPartition(source.topic, source.partition)
        committed = await self._committed(at)
        if committed is None:
            return 0  # ingest will read all of it
        if committed.log_id == log_id:
            offsets = offsets[offsets < committed.offset]
            offsets = offsets[~np.isin(offsets, await self._forwarded(kind, source, log_id, at, offsets))]
        gone = [
            Rejected(reason=Reason.SETTINGS_CHANGED, detail=_GONE, source=source, offset=offset)
            for offset in offsets.tolist()
        ]
        await self._reject(kind, gone, log_id)
        return len(gone)

    async def _committed(self, at: TopicPartition) -> _Committed | None:
        found = await until_it_works("read input", lambda: commits_of(self.reader, [at]), on_trouble=self._on_trouble)
        commit = found.get(at)
        if commit is None or commit.offset < 0:
            return None
        mark = mark_from_text(commit.metadata)
        return _Committed(int(commit.offset), LogId(mark.topic, mark.turn).name)

    async def _forwarded(
        self, kind: Kind, source: Source, log_id: str, at: TopicPartition, offsets: IntArray
    ) -> IntArray:
        """Forward the records that the log still holds; return their offsets."""
        if not len(offsets):
            return offsets
        feed, done = self._feeds[kind], [np.empty(0, np.int64)]
        reader = message_reader(self._settings, feed)
        self.reader.assign([at])
        self.reader.seek(at, int(offsets[0]))
        n_source_partitions = len(self.reader.partitions_for_topic(at.topic) or (at.partition,))
        end = min(int((await self.reader.end_offsets([at]))[at]), int(offsets[-1]) + 1)
        newest_ms: int | None = None
        async for batch in batches(self.reader, at, end):
            its = np.array([message.offset for message in batch], dtype=np.int64)
            is_wanted = np.isin(its, offsets)
            messages = [message for message, wanted in zip(batch, is_wanted, strict=True) if wanted]
            if not messages:
                continue
            await self._schemas.fetch(reader.decoder, (message.value for message in messages))
            found = decoded(messages, reader, source, max_bytes=self._settings.limits.message_bytes)
            taken = feed.intake.run(
                found.records,
                source=source,
                n_partitions=n_source_partitions,
                now_ms=round(time.time() * 1000),
                log_id=log_id,
                elements=found.elements,
            )
            chunks, newest_ms = completed(taken.chunks, newest_ms)
            await self._shards.write(chunks)
            await self._reject(kind, [*found.rejected, *taken.rejected], log_id)
            done.append(its[is_wanted])
            self._count(len(messages))
        return np.concatenate(done)

    async def _reject(self, kind: Kind, rejected: list[Rejected], log_id: str) -> None:
        topic = self._settings.topics.dead_letters
        await send_dead_letters(self._producer, topic, kind.input_kind, rejected, log_id, on_trouble=self._on_trouble)
        for one in rejected:
            self._metrics.rejected.labels(kind, one.reason).inc()
