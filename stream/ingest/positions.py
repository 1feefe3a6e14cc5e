"""Positions in the input: the offset from which each partition is read, and whether its log is still the same.

A consumer continues at an offset. If a log was deleted and created again, was truncated, or has lost its oldest
records, the offset no longer means the same, and Kafka's clients continue without an error. So every commit carries a
mark that identifies its log, and a mismatch is reported before any record is read.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from core.records.record import Kind
from stream.ingest.jumps import report_jump
from stream.kafka.client import Trouble, until_it_works
from stream.kafka.log_start import AgreedStart, Jump, LogId, Mark, Start, mark_from_text, start_from
from stream.kafka.reading import commits_of, is_beyond_end
from stream.kafka.topic_ids import FoundTopic, find_topics
from stream.observe.metrics import Metrics
from stream.settings.input_topics import FeedTopics
from stream.settings.kafka import KafkaSettings

__all__ = ["Batch", "Positions"]

log = structlog.get_logger("shoal.ingest")

_LOOK_EVERY_S = 1.0
"""How often topic ids and the ends of logs are checked while no records come."""

_TRY_EVERY_S = 0.5
_WITHIN_S = 10.0
"""How long one attempt may take, so that readable partitions do not wait long for others."""

_PATIENCE_S = 10.0
"""How long a partition may have no position before the readiness check fails."""


class Batch(NamedTuple):
    """Messages of one partition that follow directly on those read before."""

    partition: TopicPartition
    log_id: str
    """The log to which their offsets belong."""

    messages: Sequence[Any]


@dataclass(slots=True)
class _Position:
    next_offset: int
    log_id: LogId


@dataclass(slots=True)
class _Left:
    """A position that turned out to belong to another log."""

    next_offset: int
    log_id: LogId
    went_back: bool


class Positions:
    """The positions of one consumer in its input partitions.

    Args:
        kafka: How to connect to the cluster.
        consumer: The consumer, a member of its group.
        producer: A started producer; its client is used to ask about topics.
        feeds: What each feed reads.
        internal_ids: Ids of the shards topic and the seals topic, by name; empty if the cluster has no topic ids.
        sealed_kinds: The kinds of feed with windows sealed before this worker started.
        starts: Where partitions begin that the group has never read, if not at their first record.
        metrics: The metrics of this worker.
        on_trouble: Called whenever an operation on the cluster fails.
        on_start: Called with a partition and the offset, whenever reading starts at a new position.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: AIOKafkaConsumer,
        producer: AIOKafkaProducer,
        feeds: FeedTopics,
        internal_ids: Mapping[str, str],
        sealed_kinds: Collection[Kind],
        starts: Mapping[TopicPartition, AgreedStart],
        metrics: Metrics,
        *,
        on_trouble: Trouble,
        on_start: Callable[[TopicPartition, int], None],
    ) -> None:
        self._kafka, self._consumer, self._producer = kafka, consumer, producer
        self._feeds, self._internal_ids, self._sealed_kinds = feeds, dict(internal_ids), set(sealed_kinds)
        self._starts = starts
        self._metrics, self._on_trouble, self._on_start = metrics, on_trouble, on_start
        self._known: dict[TopicPartition, _Position] = {}
        self._left: dict[TopicPartition, _Left] = {}
        """Partitions that must be placed again before they are read."""
        self._ids: dict[str, str] = {}
        """Ids of topics at the time when their partitions were placed."""
        self._past: defaultdict[str, list[str]] = defaultdict(list)
        """Earlier ids of topics. Ids are never reused, so a broker that reports one of these lags behind."""
        self._topics: dict[str, FoundTopic] | None = None
        """Topics at the last check; None if the cluster has no topic ids."""
        self._moved: dict[TopicPartition, int] = {}
        """Offsets to commit for partitions that have moved past offsets without a record."""
        self._looked_s = self._tried_s = -math.inf
        self._unplaced_since_s = math.inf

    def forget(self) -> None:
        """Forget every position: after a rebalance another worker may have read further."""
        for known in (self._known, self._left, self._moved):
            known.clear()

    @property
    def placed(self) -> set[TopicPartition]:
        """The partitions that may be read."""
        return set(self._known)

    @property
    def n_waiting(self) -> int:
        """Number of assigned partitions without a position for some time."""
        if time.monotonic() - self._unplaced_since_s < _PATIENCE_S:
            return 0
        return len(self._unplaced())

    def check(self) -> bool | str:
        """Return True, or a message on a partition without a position, for the readiness check."""
        if not self.n_waiting:
            return True
        at = min(self._unplaced())
        return (
            f"partition {at.partition} of topic {at.topic} has no position: the topic does not exist, the worker's "
            "user may not see it, or the partition's leader does not answer"
        )

    def commit_of(self, partition: TopicPartition, offset: int) -> tuple[int, str] | None:
        """Return the offset and mark to commit for a partition; None if it is no longer placed."""
        position = self._known.get(partition)
        return None if position is None else (offset, self._mark(partition.topic, position.log_id))

    def take_moves(self) -> dict[TopicPartition, int]:
        """Return the offsets to commit for partitions that have moved past offsets without a record, and clear them."""
        moved, self._moved = self._moved, {}
        return moved

    async def place(self) -> None:
        """Find a position for each assigned partition without one, and seek there; retry later if that fails."""
        new, now_s = self._unplaced(), time.monotonic()
        if not new:
            self._unplaced_since_s = math.inf
            return
        self._unplaced_since_s = min(self._unplaced_since_s, now_s)
        if now_s - self._tried_s < _TRY_EVERY_S:
            return
        self._tried_s = now_s
        if await self._attempt(self._place(new)) and not self._unplaced():
            self._tried_s = -math.inf

    async def continued(self, fetched: Mapping[TopicPartition, Sequence[Any]]) -> list[Batch]:
        """Return the messages that follow on those read before, and report gaps before them.

        The messages were fetched before this call. So if topic ids are still the same, all messages are from the same
        logs as before.
        """
        is_due = time.monotonic() - self._looked_s >= _LOOK_EVERY_S
        if fetched or is_due:
            await until_it_works("read input", self._look_at_ids, on_trouble=self._on_trouble)
        firsts = {at: messages[0].offset for at, messages in fetched.items()}
        if any(at in self._known and self._known[at].next_offset < first for at, first in firsts.items()):
            gaps = partial(self._look_for_gaps, firsts)
            await until_it_works("read input", gaps, on_trouble=self._on_trouble)
        kept: list[Batch] = []
        for partition, messages in fetched.items():
            position = self._known.get(partition)
            if position is None:
                continue  # it must be placed first, and is then read again from its position
            if messages[0].offset < position.next_offset:
                # The client jumped to the beginning by itself, because its offset was beyond the end.
                self._leave(partition, went_back=True)
                continue
            position.next_offset = messages[-1].offset + 1
            kept.append(Batch(partition, position.log_id.name, messages))
        if is_due:
            self._looked_s = time.monotonic()
            await self._attempt(self._look_at_ends(busy={batch.partition for batch in kept}))
        return kept

    def _unplaced(self) -> set[TopicPartition]:
        return {at for at in self._consumer.assignment() if at not in self._known and self._feeds.kind_of(at.topic)}

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> bool:
        """Try work that can be done later; return whether it succeeded."""
        try:
            async with asyncio.timeout(_WITHIN_S):
                await work
        except (CommitFailedError, IllegalStateError):
            return False  # the group has rebalanced: all partitions are placed again
        except (KafkaError, TimeoutError) as fault:
            self._on_trouble("read input")
            log.warning("kafka_trouble", operation="read input", fault=type(fault).__name__, retry_in_s=_TRY_EVERY_S)
            return False
        return True

    # ------------------------------------------------------------- placing

    async def _place(self, new: Collection[TopicPartition]) -> None:
        await self._look_at_ids()
        there = [at for at in new if self._exists(at)]
        if not there:
            return
        commits = await commits_of(self._consumer, there)
        before = {at: self._before(at, commits.get(at)) for at in there}
        worked = await self._worked(
            [at for at, (known, offset, _) in before.items() if known is None and offset is None]
        )
        firsts = await self._consumer.beginning_offsets(there)
        ends = await self._ends({at: offset for at, (_, offset, _) in before.items()})
        starts: dict[TopicPartition, Start] = {}
        for at, (known, offset, went_back) in before.items():
            if (topic_id := self._topic_id(at.topic)) in self._past[at.topic]:
                continue  # the broker's metadata is out of date
            starts[at] = start_from(
                offset,
                known,
                topic_id=topic_id,
                first=int(firsts[at]),
                end=ends[at],
                has_worked=self._feeds.feed_of(at.topic) in worked,
                went_back=went_back,
                agreed=self._starts.get(at),
            )
        self._remember_ids(starts, before)
        await self._commit_starts(starts, commits)
        for at, start in starts.items():
            self._consumer.seek(at, start.offset)
            self._known[at] = _Position(start.offset, start.log_id)
            self._left.pop(at, None)
            self._on_start(at, start.offset)
            if start.jump is not None:
                self._report(at, start.jump, start.lost)

    async def _worked(self, uncommitted: Collection[TopicPartition]) -> set[Kind]:
        """Return the feeds whose partitions without a committed offset have lost it.

        These are the feeds with sealed windows. With a pattern, topics appear while a feed runs, so such a feed counts
        only if the group has no committed offset in any of its topics.
        """
        worked = {*self._sealed_kinds}
        for kind in {self._feeds.feed_of(at.topic) for at in uncommitted} & worked:
            if self._feeds.by_kind[kind].pattern is None:
                continue
            topics = [topic for topic in self._consumer.subscription() if self._feeds.kind_of(topic) is kind]
            numbers = {topic: self._consumer.partitions_for_topic(topic) or () for topic in topics}
            partitions = [TopicPartition(topic, number) for topic, known in numbers.items() for number in known]
            if any(one.offset >= 0 for one in (await commits_of(self._consumer, partitions)).values()):
                worked.discard(kind)
        return worked

    def _before(self, at: TopicPartition, commit: Any) -> tuple[LogId | None, int | None, bool]:
        """Return the partition's last known log, the next offset in it, and whether that is beyond the log's end."""
        if (left := self._left.get(at)) is not None:
            return left.log_id, left.next_offset, left.went_back
        if commit is not None and commit.offset >= 0:
            mark = mark_from_text(commit.metadata)
            if mark.before:
                self._past[at.topic].append(mark.before)
            return LogId(mark.topic, mark.turn), int(commit.offset), False
        # A cluster deletes the commits of a deleted topic.
        return (LogId(self._ids[at.topic]) if at.topic in self._ids else None), None, False

    def _remember_ids(self, starts: Mapping[TopicPartition, Start], before: Mapping[TopicPartition, Any]) -> None:
        for at, start in starts.items():
            known = before[at][0]
            if start.jump is Jump.RECREATED and known is not None:
                self._past[at.topic].append(known.topic_id)
            if start.log_id.topic_id:
                self._ids[at.topic] = start.log_id.topic_id

    async def _commit_starts(self, starts: Mapping[TopicPartition, Start], commits: Mapping[Any, Any]) -> None:
        """Commit the start positions before any record is forwarded or reported.

        The next owner of a partition must use the same log id. And a partition must have a commit from its start on:
        otherwise a missing commit would look like a lost one.
        """
        unsaid = {
            at: (start.offset, self._mark(at.topic, start.log_id))
            for at, start in starts.items()
            if start.jump is not None or at not in commits or commits[at].offset < 0
        }
        if unsaid:
            await self._consumer.commit(unsaid)

    def _mark(self, topic: str, log_id: LogId) -> str:
        before = self._past[topic]
        mark = Mark(
            topic=log_id.topic_id, before=before[-1] if before else "", turn=log_id.turn, internal=self._internal_ids
        )
        return msgspec.json.encode(mark).decode()

    async def _ends(self, expected: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
        """Return the end of each log; at least the expected offset, unless the log ends before it."""
        ends = {at: int(end) for at, end in (await self._consumer.end_offsets(list(expected))).items()}
        for at, offset in expected.items():
            if offset is not None and offset > ends[at] and not await is_beyond_end(self._kafka, at, offset):
                ends[at] = offset
        return ends

    # ------------------------------------------------------------- looking

    def _topic_id(self, topic: str) -> str:
        return "" if self._topics is None else self._topics[topic].topic_id

    def _exists(self, at: TopicPartition) -> bool:
        """Whether a partition exists; the client waits long for one that does not."""
        if self._topics is None:
            return at.partition in (self._consumer.partitions_for_topic(at.topic) or ())
        return at.topic in self._topics and at.partition < self._topics[at.topic].n_partitions

    async def _look_at_ids(self) -> None:
        topics = {at.topic for at in (*self._consumer.assignment(), *self._known)}
        self._topics = await find_topics(self._producer.client, sorted(topics))
        for topic, found in (self._topics or {}).items():
            before = self._ids.get(topic, found.topic_id)
            if found.topic_id != before and found.topic_id not in self._past[topic]:
                for at in [one for one in self._known if one.topic == topic]:
                    self._leave(at)

    async def _look_at_ends(self, busy: Collection[TopicPartition]) -> None:
        """Look for changes that no record shows: unread records were deleted, or only markers of transactions came.

        Args:
            busy: Partitions with messages in progress.
        """
        await self._look_for_gaps({})
        for at in [one for one in self._known if one not in busy]:
            reached, end = await self._consumer.position(at), self._consumer.highwater(at)
            position = self._known.get(at)
            # The batches of some brokers claim to reach beyond the end.
            if position is not None and position.next_offset < reached <= (end or 0):
                position.next_offset = self._moved[at] = reached

    async def _look_for_gaps(self, in_hand: Mapping[TopicPartition, int]) -> None:
        """Report the records that were deleted before they were read.

        Args:
            in_hand: The first offset of fetched messages, by partition: these are read, even if they are deleted now.
        """
        there = [at for at in self._known if self._exists(at)]
        firsts = await self._consumer.beginning_offsets(there) if there else {}
        for at, first in firsts.items():
            position = self._known.get(at)
            if position is None:
                continue
            begin = min(int(first), in_hand.get(at, int(first)))
            if begin > position.next_offset:
                lost, position.next_offset = begin - position.next_offset, begin
                self._report(at, Jump.DELETED, lost)

    def _leave(self, at: TopicPartition, *, went_back: bool = False) -> None:
        """Note that a position belongs to another log; the partition is placed again before it is read."""
        if (position := self._known.pop(at, None)) is not None:
            self._moved.pop(at, None)
            self._left[at] = _Left(position.next_offset, position.log_id, went_back)

    def _report(self, at: TopicPartition, jump: Jump, lost: int = 0) -> None:
        report_jump(self._metrics, self._feeds.feed_of(at.topic), at, jump, lost)
