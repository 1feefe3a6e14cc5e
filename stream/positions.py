"""Positions: from where each input partition is read, and whether its log is still the one that was read before.

A consumer follows an offset. Where a log was deleted and created again, was cut, or has lost its oldest records, that
offset means something else, and Kafka's clients go on without a word. So every commit carries a mark that says which
log it is of, and whatever does not fit is reported before anything is read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from core.records import Kind
from stream.kafka import Trouble, until_it_works
from stream.reading import new_reader
from stream.settings import KafkaSettings
from stream.topic_ids import topic_ids

if TYPE_CHECKING:
    from stream.metrics import Metrics

__all__ = ["Batch", "Jump", "LogId", "Mark", "Positions", "Start", "mark_from_text", "start_from"]

log = structlog.get_logger("shoal.ingest")

_LOOK_EVERY_S = 1.0
"""How often topic ids and the ends of logs are looked at while nothing comes."""


class Jump(StrEnum):
    """Why a partition is not read on from where it was left: a closed set, safe as a metric label."""

    RECREATED = "recreated"
    WENT_BACK = "went_back"
    DELETED = "deleted"
    FORGOTTEN = "forgotten"


_WHY = {
    Jump.RECREATED: "the topic was deleted and created again: its id is another",
    Jump.WENT_BACK: "the log ends before the offset that was read last: it was cut, or restored from a copy",
    Jump.DELETED: "records were deleted before they were read: by retention, or by hand",
    Jump.FORGOTTEN: "no offset is committed although windows were released: the topic or the partition is new, or the "
    "group's offsets have expired or were deleted",
}
_ACTION = {
    Jump.RECREATED: "read from its beginning; records of windows that have left are late",
    Jump.WENT_BACK: "read from its beginning; records of windows that have left are late",
    Jump.DELETED: "read from what is left; raise retention.ms of the topic, or add workers",
    Jump.FORGOTTEN: "read from its beginning; records of windows that have left are late",
}


class LogId(NamedTuple):
    """Which log the offsets of a partition are of."""

    topic_id: str = ""
    """Kafka's id of the topic; empty where the cluster has none."""

    turn: int = 0
    """How many times its offsets have gone back."""

    @property
    def name(self) -> str:
        """The same as one text."""
        return f"{self.topic_id}+{self.turn}" if self.turn else self.topic_id


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a committed offset of an input partition says besides its number, as JSON in the commit's metadata."""

    topic: str = ""
    """Id of the input topic."""

    turn: int = 0
    """See :class:`LogId`."""

    internal: dict[str, str] = {}
    """Ids of the shards topic and the seals topic, by name, that what was read before went through."""


_mark_decoder = msgspec.json.Decoder(Mark)


def mark_from_text(text: str | None) -> Mark:
    """Read the mark of a commit; one without anything where there is none, as of other programs."""
    try:
        return _mark_decoder.decode(text or "{}")
    except msgspec.DecodeError:
        return Mark()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where to read a partition from."""

    offset: int
    log_id: LogId
    jump: Jump | None = None
    lost: int = 0
    """How many offsets were passed over, and with them at most as many records."""


def start_from(
    committed: int | None, known: LogId | None, *, topic_id: str, first: int, end: int, has_worked: bool
) -> Start:
    """Decide from where a partition is read.

    Args:
        committed: The offset to go on from; None where there is none.
        known: Which log that offset is of; None where that is not known.
        topic_id: The topic's id now; empty where the cluster has none.
        first: The first offset that the log holds now.
        end: The offset that its next record will get.
        has_worked: Whether windows of this feed were sealed before.

    >>> before = LogId("a")
    >>> start_from(12, before, topic_id="a", first=0, end=40, has_worked=True)
    Start(offset=12, log_id=LogId(topic_id='a', turn=0), jump=None, lost=0)
    >>> start_from(12, before, topic_id="b", first=0, end=40, has_worked=True).jump
    <Jump.RECREATED: 'recreated'>
    """
    if known is not None and topic_id and known.topic_id and known.topic_id != topic_id:
        return Start(offset=first, log_id=LogId(topic_id), jump=Jump.RECREATED)
    turn = 0 if known is None else known.turn
    if committed is None:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.FORGOTTEN if has_worked else None)
    if committed > end:
        return Start(offset=first, log_id=LogId(topic_id, turn + 1), jump=Jump.WENT_BACK)
    if committed < first:
        return Start(offset=first, log_id=LogId(topic_id, turn), jump=Jump.DELETED, lost=first - committed)
    return Start(offset=committed, log_id=LogId(topic_id, turn))


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


class Positions:
    """The positions of one consumer in its input partitions.

    Args:
        kafka: How to reach the cluster.
        consumer: The consumer, a member of its group.
        producer: A started producer, whose client is asked for topic ids.
        kinds: What each input topic carries.
        internal: Names of the shards topic and the seals topic.
        worked: The kinds of feed of which windows were sealed before this worker started.
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
        internal: Collection[str],
        worked: Collection[Kind],
        metrics: Metrics,
        *,
        on_trouble: Trouble,
        on_start: Callable[[TopicPartition, int], None],
    ) -> None:
        self._kafka = kafka
        self._consumer, self._producer, self._kinds, self._internal = consumer, producer, kinds, tuple(internal)
        self._worked, self._metrics, self._on_trouble, self._on_start = set(worked), metrics, on_trouble, on_start
        self._known: dict[TopicPartition, _Position] = {}
        self._left: dict[TopicPartition, _Position] = {}
        """Positions that have turned out to be of another log, until the partition is placed again."""
        self._ids: dict[str, str] = {}
        """Ids of topics as they were when their partitions were placed."""
        self._ids_now: dict[str, str] | None = None
        """Ids of topics as they were seen last; None where the cluster has none."""
        self._looked_s = -_LOOK_EVERY_S

    def forget(self) -> None:
        """Forget every position: after a rebalance somebody else may have read on."""
        self._known.clear()
        self._left.clear()

    @property
    def placed(self) -> set[TopicPartition]:
        """The partitions that may be read."""
        return set(self._known)

    def commit_of(self, partition: TopicPartition, offset: int) -> tuple[int, str] | None:
        """Return what to commit of a partition, offset and mark; None where it is not placed any more."""
        if (position := self._known.get(partition)) is None:
            return None
        internal = {name: self._ids[name] for name in self._internal if name in self._ids}
        mark = Mark(topic=position.log_id.topic_id, turn=position.log_id.turn, internal=internal)
        return offset, msgspec.json.encode(mark).decode()

    async def place(self) -> None:
        """Find out from where to read the partitions that are assigned and not placed yet, and go there."""
        new = [partition for partition in self._consumer.assignment() if partition not in self._known]
        if new:
            await until_it_works("read input", lambda: self._place(new), on_trouble=self._on_trouble)

    async def continued(self, fetched: Mapping[TopicPartition, Sequence[Any]]) -> list[Batch]:
        """Return what continues what was read, and report the gaps before it.

        What the consumer holds was fetched before this is called. So where topic ids are still the same, all of it is
        of the logs that were read before.
        """
        now_s = time.monotonic()
        if fetched or now_s - self._looked_s >= _LOOK_EVERY_S:
            await until_it_works("read input", self._look_at_ids, on_trouble=self._on_trouble)
        if now_s - self._looked_s >= _LOOK_EVERY_S:
            await until_it_works("read input", self._look_at_ends, on_trouble=self._on_trouble)
            self._looked_s = now_s
        kept: list[Batch] = []
        for partition, messages in fetched.items():
            position, offset = self._known.get(partition), messages[0].offset
            if position is None:
                continue  # it is placed first, and read again from there
            if offset < position.next_offset:
                # The client went to the beginning by itself, as it does where its offset is beyond the end.
                self._leave(partition, beyond_end=True)
                continue
            if offset > position.next_offset:
                gaps = partial(self._look_for_gaps, [partition])
                await until_it_works("read input", gaps, on_trouble=self._on_trouble)
            position.next_offset = messages[-1].offset + 1
            kept.append(Batch(partition, position.log_id.name, messages))
        return kept

    async def _place(self, new: Sequence[TopicPartition]) -> None:
        ids = await topic_ids(self._producer.client, [*self._kinds, *self._internal])
        there = [at for at in new if ids is None or at.topic in ids]  # who asks a deleted topic waits for long
        if not there:
            return
        # Semi-private, but the only way to the metadata of the commits of one's own group.
        commits = await self._consumer._coordinator.fetch_committed_offsets(there)
        firsts = await self._consumer.beginning_offsets(there)
        ends = await self._ends(there, commits)
        jumped: dict[TopicPartition, Start] = {}
        for at in there:
            known, committed = self._before(at, commits.get(at))
            start = start_from(
                committed,
                known,
                topic_id="" if ids is None else ids[at.topic],
                first=int(firsts[at]),
                end=int(ends[at]),
                has_worked=self._kinds[at.topic] in self._worked,
            )
            try:
                self._consumer.seek(at, start.offset)
            except IllegalStateError:
                continue  # it has just been taken away
            self._known[at] = _Position(start.offset, start.log_id)
            self._on_start(at, start.offset)
            if start.jump is not None:
                jumped[at] = start
        self._ids |= ids or {}
        for at in there:
            self._left.pop(at, None)
        await self._settle(jumped)

    async def _ends(self, partitions: Sequence[TopicPartition], commits: Mapping[Any, Any]) -> dict[Any, int]:
        """Return the offset that each partition's next record will get, as far as that matters."""
        ends = {at: int(end) for at, end in (await self._consumer.end_offsets(partitions)).items()}
        if beyond := [at for at in partitions if at in commits and commits[at].offset > ends[at]]:
            # The consumer sees the end of what is committed. A transaction that is still open may lie before the
            # offset, where it was read by other rules.
            reader = new_reader(self._kafka, isolation_level="read_uncommitted")
            try:
                await reader.start()
                ends |= {at: int(end) for at, end in (await reader.end_offsets(beyond)).items()}
            finally:
                await reader.stop()
        return ends

    def _before(self, at: TopicPartition, commit: Any) -> tuple[LogId | None, int | None]:
        """Return which log a partition was of, and from where it was to be read."""
        if (left := self._left.get(at)) is not None:
            return left.log_id, left.next_offset
        offset = None if commit is None or commit.offset < 0 else int(commit.offset)
        mark = Mark() if commit is None else mark_from_text(commit.metadata)
        if offset is not None:
            return LogId(mark.topic, mark.turn), offset
        # A cluster forgets the commits of a topic that is deleted.
        return (LogId(self._ids[at.topic]), None) if at.topic in self._ids else (None, None)

    async def _settle(self, jumped: Mapping[TopicPartition, Start]) -> None:
        """Report jumps, and commit them before anything is forwarded: a successor must number the log alike."""
        for at, start in jumped.items():
            self._report(at, start.jump, start.lost)
        commits = {at: self.commit_of(at, start.offset) for at, start in jumped.items()}
        try:
            if commits:
                await self._consumer.commit({at: commit for at, commit in commits.items() if commit is not None})
        except (CommitFailedError, IllegalStateError):
            for at in jumped:
                self._known.pop(at, None)

    def _report(self, at: TopicPartition, jump: Jump | None, lost: int = 0) -> None:
        if jump is None:
            return
        kind = self._kinds[at.topic]
        self._metrics.input_jumps.labels(kind, jump).inc()
        self._metrics.lost_input_records.labels(kind).inc(lost)
        log.error(
            f"input_{jump}",
            topic=at.topic,
            partition=at.partition,
            why=_WHY[jump],
            action=_ACTION[jump],
            **({"at_most_records": lost} if lost else {}),
        )

    def _leave(self, at: TopicPartition, *, beyond_end: bool = False) -> None:
        """Take note that a position is of another log; the partition is placed again before it is read."""
        if (position := self._known.pop(at, None)) is not None:
            self._left[at] = replace(position, next_offset=sys.maxsize) if beyond_end else position

    async def _look_at_ids(self) -> None:
        self._ids_now = await topic_ids(self._producer.client, [*self._kinds, *self._internal])
        for topic, topic_id in (self._ids_now or {}).items():
            if self._ids.get(topic, topic_id) != topic_id:
                for at in [one for one in self._known if one.topic == topic]:
                    self._leave(at)

    async def _look_at_ends(self) -> None:
        """Look for what no record would show: all that was not read is deleted, or the log ends before it."""
        # The client waits for long where a topic does not exist.
        there = [at for at in self._known if self._ids_now is None or at.topic in self._ids_now]
        ends = await self._consumer.end_offsets(there) if there else {}
        for at, end in ends.items():
            if at in self._known and int(end) < self._known[at].next_offset:
                self._leave(at, beyond_end=True)
        await self._look_for_gaps(there)

    async def _look_for_gaps(self, partitions: Sequence[TopicPartition]) -> None:
        """Report the records that were deleted before they were read."""
        firsts = await self._consumer.beginning_offsets(partitions) if partitions else {}
        for at, first in firsts.items():
            position = self._known.get(at)
            if position is not None and int(first) > position.next_offset:
                lost, position.next_offset = int(first) - position.next_offset, int(first)
                self._report(at, Jump.DELETED, lost)
