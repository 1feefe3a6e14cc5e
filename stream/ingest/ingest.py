"""Ingest: reads the input topics, and writes chunks of located records to the shards topic.

It is a service of the Faust app and not an agent: it has no state, and batches cost a fiftieth of an agent's events. An
input offset is committed after everything made from it is acknowledged. After a crash in between, chunks are repeated;
the window stage recognizes them by their source offsets.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from core.records.record import Chunk, Kind, Reason, Rejected, Source
from stream.feeds.feed import Feed
from stream.feeds.inputs import message_reader
from stream.ingest.clock import Clock
from stream.ingest.decoding import Decoded, decoded
from stream.ingest.fetch_schemas import Schemas
from stream.ingest.input_reader import InputReader
from stream.ingest.positions import Batch, Positions
from stream.ingest.rejections import send_dead_letters
from stream.ingest.shards_writer import ShardsWriter, completed
from stream.kafka.client import IF_AWAY, METADATA_MAX_AGE_MS, Trouble, client_options, until_it_works
from stream.kafka.log_start import AgreedStart
from stream.kafka.rotation import follow_rotation
from stream.kafka.schema_registry import SchemaRegistry
from stream.observe.metrics import Metrics
from stream.observe.tracing import NO_TRACING, Tracing
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings
from stream.settings.registry import RegistrySettings

__all__ = ["Ingest"]

log = structlog.get_logger("shoal.ingest")

_POSITION_WITHIN_S = 0.2


@dataclass(slots=True)
class _Progress:
    """How far one input partition is read."""

    newest_ms: int | None = None
    """Newest event time that was forwarded and acknowledged."""

    next_offset: int | None = None
    sent_ms: int | None = None
    """Time stamp of the last record read: when it was sent, Unix milliseconds."""

    reached_ms: float = -math.inf
    """Median event time of the last batch that was forwarded; a single clock that is ahead hardly moves it."""

    heard_s: float = -math.inf
    """When that batch was forwarded, monotonic seconds."""


class Ingest:
    """Reads the input topics in batches.

    Args:
        settings: All settings.
        feeds: The feeds, by kind.
        producer: A started producer.
        metrics: The metrics of this worker.
        n_partitions: Number of partitions of the shards topic that shards are spread over.
        sealed_kinds: The kinds of feed with windows sealed before this worker started.
        starts: Where partitions begin that the group has never read, if not at their first record.
        internal_ids: Ids of the shards topic and the seals topic, by name.
        now_ms: The clock, Unix milliseconds.
        on_trouble: Called whenever an operation on the cluster fails.
        clock: Watches the clock; a new one by default.
        tracing: Makes the traces of batches; none by default.
    """

    def __init__(
        self,
        settings: Settings,
        feeds: Mapping[Kind, Feed],
        producer: AIOKafkaProducer,
        metrics: Metrics,
        *,
        n_partitions: int,
        sealed_kinds: Collection[Kind] = (),
        starts: Mapping[TopicPartition, AgreedStart] = MappingProxyType({}),
        internal_ids: Mapping[str, str] = MappingProxyType({}),
        now_ms: Callable[[], int],
        on_trouble: Trouble,
        clock: Clock | None = None,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._settings, self._feeds, self._producer, self._metrics = settings, feeds, producer, metrics
        self._tracing = tracing
        self._now_ms, self._on_trouble = now_ms, on_trouble
        self._shards = ShardsWriter(settings, producer, n_partitions=n_partitions, on_trouble=on_trouble)
        self._clock = clock or Clock(metrics, now_ms=now_ms)
        self._topics = FeedTopics(settings.topics)
        self._readers = {kind.input_kind: message_reader(settings, feed) for kind, feed in feeds.items()}
        registry = SchemaRegistry(settings.registry) if settings.registry.url is not None else None
        self._schemas = Schemas(registry, on_trouble=on_trouble)
        self._progress: defaultdict[TopicPartition, _Progress] = defaultdict(_Progress)
        windows = {kind: settings.for_kind(kind).window for kind in feeds}
        self._max_drift_ms = {
            read: max(own.max_drift or own.size for kind, own in windows.items() if kind.input_kind is read)
            for read in self._readers
        }
        self._is_committed_only = settings.kafka.isolation_level == "read_committed"
        self._longest_hold_s = min(own.idle_timeout for own in windows.values()) / 2000
        self._listener = _Assignment(self._forget)
        kafka = settings.kafka
        self._consumer = AIOKafkaConsumer(
            **client_options(kafka),
            group_id=kafka.ingest_group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=kafka.session_timeout,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
            heartbeat_interval_ms=max(500, kafka.session_timeout // 10),
            max_partition_fetch_bytes=4 * settings.limits.message_bytes,
            # By default, records of open and aborted transactions are not read.
            isolation_level=kafka.isolation_level,
        )
        follow_rotation(self._consumer._client)
        self._positions = Positions(
            kafka,
            self._consumer,
            producer,
            self._topics,
            internal_ids,
            {kind.input_kind for kind in sealed_kinds},
            starts,
            metrics,
            on_trouble=on_trouble,
            on_start=self._begin,
        )
        self._input = InputReader(self._consumer, on_trouble=on_trouble)

    @property
    def is_assigned(self) -> bool:
        """Whether the group has assigned partitions to this worker."""
        return self._listener.assigned

    def check(self) -> bool | str:
        """Return True, or a message on unreadable input, for the readiness check."""
        for check in (self._input.check, self._schemas.check, self._positions.check):
            if (found := check()) is not True:
                return found
        return True

    def use_registry(self, registry: RegistrySettings) -> None:
        """Authenticate at the schema registry with other credentials."""
        self._schemas.use_registry(registry)

    async def start(self) -> None:
        """Join the group."""
        subscription = self._topics.subscription()
        if "pattern" in subscription:
            _look_at_all_topics(self._consumer._client)
        self._consumer.subscribe(**subscription, listener=self._listener)
        await until_it_works("join the ingest group", self._consumer.start, on_trouble=self._on_trouble)

    async def stop(self) -> None:
        """Leave the group."""
        await self._consumer.stop()

    async def run(self) -> None:
        """Forward batch after batch, until cancelled."""
        ingest = self._settings.ingest
        while True:
            await self._positions.place()
            if not self._positions.placed:
                await asyncio.sleep(ingest.max_wait / 1000)
                continue
            fetched = await self._input.read(
                self._in_step(), timeout_ms=ingest.max_wait, max_records=ingest.max_records
            )
            batches = await self._positions.continued(fetched)
            for batch in batches:
                kind = self._topics.feed_of(batch.partition.topic)
                with self._metrics.stage_seconds.labels("ingest").time(), self._tracing.batch(kind, batch.messages):
                    await self._forward(batch)
            ends = {batch.partition: batch.messages[-1].offset + 1 for batch in batches}
            if offsets := self._positions.take_moves() | ends:
                await self._commit(offsets)

    def _forget(self) -> None:
        """Forget how far partitions were read: after a rebalance another worker may have read further."""
        self._progress.clear()
        self._positions.forget()
        self._input.forget()

    def _begin(self, partition: TopicPartition, offset: int) -> None:
        """Note that a partition is read from an offset, and forget earlier progress."""
        self._progress.pop(partition, None)
        self._input.begin_at(partition, offset)

    async def update_metrics(self, now_ms: int) -> None:
        """Set the gauges of unread records and their age."""
        for partition in self._positions.placed & self._consumer.assignment():
            with contextlib.suppress(TimeoutError, KafkaError):  # a rebalance is in progress
                async with asyncio.timeout(_POSITION_WITHIN_S):
                    # The position also passes offsets without a record, such as markers of transactions.
                    position = await self._consumer.position(partition)
                progress = self._progress[partition]
                progress.next_offset = max(position, progress.next_offset or 0)
        self._metrics.unreadable_partitions.set(self._input.n_unreadable + self._positions.n_waiting)
        for kind in self._feeds:
            ours = [at for at in self._consumer.assignment() if self._topics.kind_of(at.topic) is kind.input_kind]
            unread = {p: self._n_unread(p) for p in ours}
            newest = [ms for p in ours if (ms := self._progress[p].newest_ms) is not None]
            waited = [now_ms - ms for p, n in unread.items() if n and (ms := self._progress[p].sent_ms) is not None]
            self._metrics.input_lag_records.labels(kind).set(sum(unread.values()))
            self._metrics.input_lag_seconds.labels(kind).set(max([0, *waited]) / 1000)
            lag_s = (now_ms - max(newest)) / 1000 if newest else math.nan
            self._metrics.event_lag_seconds.labels(kind).set(lag_s)

    def _n_unread(self, partition: TopicPartition) -> int:
        """Return the number of unread records of a partition; 0 if it is unknown, or the partition was taken away."""
        if partition not in self._consumer.assignment():  # a new topic of a pattern takes all away for a moment
            return 0
        end, next_offset = self._consumer.highwater(partition), self._progress[partition].next_offset
        stable = self._consumer.last_stable_offset(partition)
        if end is not None and stable is not None and 0 <= stable < end and self._is_committed_only:
            end = stable  # later records belong to open transactions
        return 0 if end is None or next_offset is None else max(0, end - next_offset)

    def _in_step(self) -> list[TopicPartition]:
        """Return the partitions to read now: a partition waits if it is far ahead of another one with a backlog.

        All topics of a feed are compared with one another.

        A window closes when the slowest source has passed its end. Without waiting, uneven backlogs would fill the
        buffers with windows that cannot close yet. No partition waits longer than half the idle time-out, because the
        windows would take it for idle. A partition silent that long is no longer waited for, even if it seems to have
        unread records: these may be markers of transactions.
        """
        placed, now_s = sorted(self._positions.placed), time.monotonic()
        heard = {p for p in placed if now_s - self._progress[p].heard_s < self._longest_hold_s}
        slowest_ms: dict[Kind, float] = {}
        for partition in heard:
            if self._n_unread(partition):
                reached_ms, kind = self._progress[partition].reached_ms, self._topics.feed_of(partition.topic)
                slowest_ms[kind] = min(reached_ms, slowest_ms.get(kind, math.inf))

        def is_in_step(partition: TopicPartition) -> bool:
            kind = self._topics.feed_of(partition.topic)
            drift_ms = self._progress[partition].reached_ms - slowest_ms.get(kind, math.inf)
            return partition not in heard or drift_ms <= self._max_drift_ms[kind]

        return [partition for partition in placed if is_in_step(partition)]

    async def _forward(self, batch: Batch) -> None:
        partition, log_id, messages = batch
        read_as = self._topics.feed_of(partition.topic)
        source = Source(partition.topic, partition.partition)
        self._clock.read(partition, [message.timestamp for message in messages])
        reader = self._readers[read_as]
        await self._schemas.fetch(reader.decoder, (message.value for message in messages))
        found = decoded(messages, reader, source, max_bytes=self._settings.limits.message_bytes)
        n_partitions, now_ms = len(self._consumer.partitions_for_topic(partition.topic) or ()), self._now_ms()
        taken = {
            kind: feed.intake.run(
                found.records,
                source=source,
                n_partitions=n_partitions,
                now_ms=now_ms,
                log_id=log_id,
                elements=found.elements,
            )
            for kind, feed in self._feeds.items()
            if kind.input_kind is read_as
        }
        progress = self._progress[partition]
        progress.next_offset = messages[-1].offset + 1
        progress.sent_ms = messages[-1].timestamp if messages[-1].timestamp >= 0 else None  # -1: unknown
        await self._send_batch(progress, [chunk for one in taken.values() for chunk in one.chunks])
        # All that read the same records refuse the same ones: each gets one dead letter.
        rejected = [*found.rejected, *self._clock.explain(next(iter(taken.values())).rejected)]
        letters = self._settings.topics.dead_letters
        await send_dead_letters(self._producer, letters, read_as, rejected, log_id, on_trouble=self._on_trouble)
        for kind, (_, refused, left_out) in taken.items():
            self._count(kind, found, rejected, len(refused), left_out)

    def _count(
        self, kind: Kind, found: Decoded, rejected: Sequence[Rejected], n_refused: int, left_out: Mapping[Reason, int]
    ) -> None:
        counts = self._metrics.records
        counts.labels(kind, "read").inc(found.n_read)
        counts.labels(kind, "tombstone").inc(found.n_tombstones)
        counts.labels(kind, "filtered").inc(found.n_filtered)
        counts.labels(kind, "rejected").inc(len(rejected))
        counts.labels(kind, "forwarded").inc(len(found.records) - n_refused)
        for one in rejected:
            self._metrics.rejected.labels(kind, one.reason).inc()
        for reason, n in left_out.items():
            self._metrics.left_out_points.labels(kind, reason).inc(n)

    async def _send_batch(self, progress: _Progress, chunks: Sequence[Chunk]) -> None:
        """Send the chunks of one batch of a partition."""
        if not chunks:
            return
        completed_chunks, newest_ms = completed(chunks, progress.newest_ms)
        await self._shards.write(completed_chunks)
        progress.newest_ms = newest_ms
        times = [chunk.rows["ts_ms"] for chunk in chunks]
        progress.reached_ms = float(np.median(np.concatenate(times)))
        progress.heard_s = time.monotonic()

    async def _commit(self, offsets: dict[TopicPartition, int]) -> None:
        commits = {p: self._positions.commit_of(p, offset) for p, offset in offsets.items()}
        ours = {p: commit for p, commit in commits.items() if commit is not None and p in self._consumer.assignment()}
        try:
            if ours:
                await self._consumer.commit(ours)
        except (CommitFailedError, IllegalStateError):
            log.info(
                "ingest_commit_skipped", why="the group has rebalanced; the records are read again, and recognized"
            )
        except KafkaError as fault:
            self._on_trouble("commit")
            log.warning("kafka_trouble", operation="commit", fault=type(fault).__name__, action=IF_AWAY)


def _look_at_all_topics(client: AIOKafkaClient) -> None:
    """Let the client of a pattern go on looking at all topics.

    A client keeps a set of the topics that it looks at; the empty set stands for all of them. If it is asked for
    offsets of a topic that was just deleted, aiokafka adds this topic to the set (``Fetcher._proc_offset_requests``).
    Then the client looks at the deleted topic alone, and the pattern matches nothing.
    """
    client.add_topic = lambda _: client.force_metadata_update()


class _Assignment(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, on_change: Callable[[], None]) -> None:
        self.assigned = False
        self._on_change = on_change

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        self.assigned = False

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        self._on_change()
        self.assigned = True
