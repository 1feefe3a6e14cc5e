"""Positions of the input: from where each partition is read, and whether its log is still the one that was read before.

A consumer follows an offset. Where a log was deleted and created again, was cut, or has lost its oldest records, that
offset means something else, and Kafka's clients go on without a word. So every commit carries a mark that says which
log it is of, and whatever does not fit is reported before anything is read.
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
from stream.kafka.log_start import Jump, LogId, Mark, Start, mark_from_text, start_from
from stream.kafka.reading import commits_of, is_beyond_end
from stream.kafka.topic_ids import FoundTopic, find_topics
from stream.observe.metrics import Metrics
from stream.settings.kafka import KafkaSettings

__all__ = ["Batch", "Positions"]

log = structlog.get_logger("shoal.ingest")

_LOOK_EVERY_S = 1.0
"""How often topic ids and the ends of logs are looked at while nothing comes."""

_TRY_EVERY_S = 0.5
_WITHIN_S = 10.0
"""How long one attempt may take: what can be read does not wait for what cannot."""

_PATIENCE_S = 10.0
"""For how long a partition may have no position before readiness says so."""


class Batch(NamedTuple):
    """Messages of one partition that continue what was read of it."""

    partition: TopicPartition
    log_id: str
    """Which log their offsets are of."""

    messages: Sequence[Any]


@dataclass(slots=True)
class _Position:
    next_offset: int
    log_id: LogId


@dataclass(slots=True)
class _Left:
    """A position that has turned out to be of another log."""

    next_offset: int
    log_id: LogId
    went_back: bool


class Positions:
    """The positions of one consumer in its input partitions.

    Args:
        kafka: How to connect to the cluster.
        consumer: The consumer, a member of its group.
        producer: A started producer, whose client is asked about topics.
        kinds: What each input topic carries.
        internal_ids: Ids of the shards topic and the seals topic, by name; empty where the cluster has none.
        sealed_kinds: The kinds of feed of which windows were sealed before this worker started.
        metrics: Where to count.
        on_trouble: Called whenever the cluster does not do as asked.
        on_start: Called with every partition that is read from somewhere anew, and the offset.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: AIOKafkaConsumer,
        producer: AIOKafkaProducer,
        kinds: Mapping[str, Kind],
        internal_ids: Mapping[str, str],
        sealed_kinds: Collection[Kind],
        metrics: Metrics,
        *,
        on_trouble: Trouble,
        on_start: Callable[[TopicPartition, int], None],
    ) -> None:
        self._kafka, self._consumer, self._producer = kafka, consumer, producer
        self._kinds, self._internal_ids, self._sealed_kinds = kinds, dict(internal_ids), set(sealed_kinds)
        self._metrics, self._on_trouble, self._on_start = metrics, on_trouble, on_start
        self._known: dict[TopicPartition, _Position] = {}
        self._left: dict[TopicPartition, _Left] = {}
        """What must not be read before it is placed again."""
        self._ids: dict[str, str] = {}
        """Ids of topics as they were when their partitions were placed."""
        self._past: defaultdict[str, list[str]] = defaultdict(list)
        """Ids that topics had before. An id is never given twice: a broker that still names one lags behind."""
        self._topics: dict[str, FoundTopic] | None = None
        """Topics as they were seen last; None where the cluster has no ids."""
        self._moved: dict[TopicPartition, int] = {}
        """Offsets to commit of partitions that have moved over what is no record."""
        self._looked_s = self._tried_s = -math.inf
        self._unplaced_since_s = math.inf

    def forget(self) -> None:
        """Forget every position: after a rebalance somebody else may have read on."""
        for known in (self._known, self._left, self._moved):
            known.clear()

    @property
    def placed(self) -> set[TopicPartition]:
        """The partitions that may be read."""
        return set(self._known)

    @property
    def n_waiting(self) -> int:
        """Number of partitions that should be read and have had no position for some time."""
        if time.monotonic() - self._unplaced_since_s < _PATIENCE_S:
            return 0
        return len(self._unplaced())

    def check(self) -> bool | str:
        """Return True, or a sentence on what has no position: for readiness."""
        if not self.n_waiting:
            return True
        at = min(self._unplaced())
        return (
            f"partition {at.partition} of topic {at.topic} cannot be placed: the topic does not exist, the worker's "
            "user may not see it, or its leader does not answer"
        )

    def commit_of(self, partition: TopicPartition, offset: int) -> tuple[int, str] | None:
        """Return what to commit of a partition, offset and mark; None where it is not placed any more."""
        position = self._known.get(partition)
        return None if position is None else (offset, self._mark(partition.topic, position.log_id))

    def take_moves(self) -> dict[TopicPartition, int]:
        """Return the offsets to commit of partitions that have moved over what is no record, once."""
        moved, self._moved = self._moved, {}
        return moved

    async def place(self) -> None:
        """Find out from where to read what is assigned and not placed yet, and go there, or try again soon."""
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
        """Return what continues what was read, and report the gaps before it.

        What the consumer holds was fetched before this is called. So where topic ids are still the same, all of it is
        of the logs that were read before.
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
                continue  # it is placed first, and read again from there
            if messages[0].offset < position.next_offset:
                # The client went to the beginning by itself, as it does where its offset is beyond the end.
                self._leave(partition, went_back=True)
                continue
            position.next_offset = messages[-1].offset + 1
            kept.append(Batch(partition, position.log_id.name, messages))
        if is_due:
            self._looked_s = time.monotonic()
            await self._attempt(self._look_at_ends(busy={batch.partition for batch in kept}))
        return kept

    def _unplaced(self) -> set[TopicPartition]:
        return {at for at in self._consumer.assignment() if at not in self._known}

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> bool:
        """Try something that can wait; return whether it was done."""
        try:
            async with asyncio.timeout(_WITHIN_S):
                await work
        except (CommitFailedError, IllegalStateError):
            return False  # the group has rebalanced: all is placed anew
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
        firsts = await self._consumer.beginning_offsets(there)
        ends = await self._ends({at: offset for at, (_, offset, _) in before.items()})
        starts: dict[TopicPartition, Start] = {}
        for at, (known, offset, went_back) in before.items():
            if (topic_id := self._topic_id(at.topic)) in self._past[at.topic]:
                continue  # said by a broker that lags behind
            starts[at] = start_from(
                offset,
                known,
                topic_id=topic_id,
                first=int(firsts[at]),
                end=ends[at],
                has_worked=self._kinds[at.topic] in self._sealed_kinds,
                went_back=went_back,
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

    def _before(self, at: TopicPartition, commit: Any) -> tuple[LogId | None, int | None, bool]:
        """Return which log a partition was of, from where it was to be read, and whether that is beyond its end."""
        if (left := self._left.get(at)) is not None:
            return left.log_id, left.next_offset, left.went_back
        if commit is not None and commit.offset >= 0:
            mark = mark_from_text(commit.metadata)
            if mark.before:
                self._past[at.topic].append(mark.before)
            return LogId(mark.topic, mark.turn), int(commit.offset), False
        # A cluster forgets the commits of a topic that is deleted.
        return (LogId(self._ids[at.topic]) if at.topic in self._ids else None), None, False

    def _remember_ids(self, starts: Mapping[TopicPartition, Start], before: Mapping[TopicPartition, Any]) -> None:
        for at, start in starts.items():
            known = before[at][0]
            if start.jump is Jump.RECREATED and known is not None:
                self._past[at.topic].append(known.topic_id)
            if start.log_id.topic_id:
                self._ids[at.topic] = start.log_id.topic_id

    async def _commit_starts(self, starts: Mapping[TopicPartition, Start], commits: Mapping[Any, Any]) -> None:
        """Commit where partitions begin, before anything of them is forwarded or reported.

        A successor must number the log alike; and where nothing is committed, that nothing was must not look as if
        commits had been lost.
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
        """Return where each log ends, at least as far as it was read."""
        ends = {at: int(end) for at, end in (await self._consumer.end_offsets(list(expected))).items()}
        for at, offset in expected.items():
            if offset is not None and offset > ends[at] and not await is_beyond_end(self._kafka, at, offset):
                ends[at] = offset
        return ends

    # ------------------------------------------------------------- looking

    def _topic_id(self, topic: str) -> str:
        return "" if self._topics is None else self._topics[topic].topic_id

    def _exists(self, at: TopicPartition) -> bool:
        """Whether a partition exists: the client waits for long where it does not."""
        if self._topics is None:
            return at.partition in (self._consumer.partitions_for_topic(at.topic) or ())
        return at.topic in self._topics and at.partition < self._topics[at.topic].n_partitions

    async def _look_at_ids(self) -> None:
        self._topics = await find_topics(self._producer.client, self._kinds)
        for topic, found in (self._topics or {}).items():
            before = self._ids.get(topic, found.topic_id)
            if found.topic_id != before and found.topic_id not in self._past[topic]:
                for at in [one for one in self._known if one.topic == topic]:
                    self._leave(at)

    async def _look_at_ends(self, busy: Collection[TopicPartition]) -> None:
        """Look for what no record shows: unread records are deleted, or only markers of transactions came.

        Args:
            busy: Partitions of which something is in hand.
        """
        await self._look_for_gaps({})
        for at in [one for one in self._known if one not in busy]:
            reached, end = await self._consumer.position(at), self._consumer.highwater(at)
            position = self._known.get(at)
            # Some brokers' batches say that they reach beyond the end.
            if position is not None and position.next_offset < reached <= (end or 0):
                position.next_offset = self._moved[at] = reached

    async def _look_for_gaps(self, in_hand: Mapping[TopicPartition, int]) -> None:
        """Report the records that were deleted before they were read.

        Args:
            in_hand: The first offset of what is in hand, by partition: that was read, whatever is deleted by now.
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
        """Take note that a position is of another log; the partition is placed again before it is read."""
        if (position := self._known.pop(at, None)) is not None:
            self._moved.pop(at, None)
            self._left[at] = _Left(position.next_offset, position.log_id, went_back)

    def _report(self, at: TopicPartition, jump: Jump, lost: int = 0) -> None:
        report_jump(self._metrics, self._kinds[at.topic], at, jump, lost)
