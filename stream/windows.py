"""Windows: chunks in, sealed, anonymized, verified and emitted windows out. The driver of ``core.partition``.

Faust's agent hands over one chunk at a time; a task per partition carries out what its state machine asks for. After
any rebalance every partition is read again from its committed offset, so all state is built anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import msgspec
import structlog
from aiokafka import AIOKafkaProducer

from core.partition import Partition, ReleaseWindow, WriteCompletion, WriteSeal
from core.records import Chunk, Kind, Reason, Rejected
from core.release import WithholdReason
from core.seal import Seal
from core.window import WindowKey
from stream.codec import DecodeError, chunk_from_bytes, dead_letter, outcome_messages
from stream.emit import Emitter
from stream.kafka import until_it_works
from stream.metrics import Metrics
from stream.pool import ReleasePool
from stream.releasing import WindowResult
from stream.seals import SealsLog
from stream.settings import Settings
from stream.wiring import Feed

__all__ = ["ReleasedWindow", "Windows"]

log = structlog.get_logger("shoal.windows")

_IDLE_CHECK_S = 0.25
_LONGEST_SILENCE_S = 5.0
"""Most that counts as silence between two looks at the clock: a worker that was suspended has not been listening, and
must not find every source idle when it wakes up, with its partitions perhaps lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedWindow:
    """What the log and the status page tell about a window: published figures only."""

    key: WindowKey
    outcome: str
    facts: Mapping[str, float | int | str | None]
    close_to_release_s: float
    emitted_at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    """What every partition needs from around it."""

    settings: Settings
    feeds: Mapping[Kind, Feed]
    producer: AIOKafkaProducer
    emitter: Emitter
    pool: ReleasePool
    metrics: Metrics
    writer: str
    is_caught_up: Callable[[int, int], bool]
    """Whether a partition has nothing more to read after an offset."""

    on_window: Callable[[ReleasedWindow], None]
    on_trouble: Callable[[], None]


class Windows:
    """The partitions assigned to this worker.

    Args:
        settings: All settings.
        feeds: What to do with each kind of record.
        producer: A started producer.
        pool: Where windows are anonymized.
        metrics: Where to count.
        writer: Names this worker in its seals; different in every process.
        is_caught_up: Whether a partition has nothing more to read after an offset.
        commit: Commits offsets of the shards topic, by partition.
        on_window: Called for every window that was emitted.
        on_fatal: Called when a partition cannot go on.
        on_trouble: Called whenever the cluster does not do as asked.
    """

    def __init__(
        self,
        settings: Settings,
        feeds: Mapping[Kind, Feed],
        producer: AIOKafkaProducer,
        pool: ReleasePool,
        metrics: Metrics,
        *,
        writer: str,
        is_caught_up: Callable[[int, int], bool],
        commit: Callable[[dict[int, int]], Awaitable[None]],
        on_window: Callable[[ReleasedWindow], None],
        on_fatal: Callable[[BaseException], None],
        on_trouble: Callable[[], None],
    ) -> None:
        topics = settings.topics
        self._edge = _Edge(
            settings=settings,
            feeds=feeds,
            producer=producer,
            emitter=Emitter(
                producer, {"anonymized": topics.anonymized, "windows": topics.windows}, on_trouble=on_trouble
            ),
            pool=pool,
            metrics=metrics,
            writer=writer,
            is_caught_up=is_caught_up,
            on_window=on_window,
            on_trouble=on_trouble,
        )
        self._commit, self._on_fatal = commit, on_fatal
        self._partitions: dict[int, _PartitionTask] = {}
        self._committed: dict[int, int] = {}
        self.is_assigned = False

    @property
    def is_ready(self) -> bool:
        """Whether the group has assigned partitions and their seals are read."""
        return self.is_assigned and all(p.seals_read.is_set() for p in self._partitions.values())

    async def assign(self, partitions: set[int]) -> None:
        """Take over partitions; their seals are read before their first record counts."""
        for number in sorted(partitions - self._partitions.keys()):
            self._partitions[number] = _PartitionTask(number, self._edge, self._on_fatal)
        self.is_assigned = True
        self._edge.metrics.partitions.set(len(self._partitions))

    async def revoke(self, *, grace_s: float = 0.0) -> None:
        """Drop every partition: after a rebalance all of them are read again from their committed offsets.

        Args:
            grace_s: How long a window in hand may take to finish.
        """
        dropped, self._partitions, self._committed = self._partitions, {}, {}
        self.is_assigned = False
        await asyncio.gather(*(partition.stop(grace_s) for partition in dropped.values()))
        self._edge.metrics.partitions.set(0)

    async def accept(self, partition: int, offset: int, value: bytes) -> None:
        """Take in one message of the shards topic; waits while too much is buffered."""
        task = self._partitions.get(partition)
        if task is None:
            return  # revoked meanwhile: its new owner reads the message
        limit = self._edge.settings.limits.buffered_rows
        while sum(p.machine.buffered_rows for p in self._partitions.values()) >= limit and not task.stopped:
            task.paused = True
            await asyncio.sleep(_IDLE_CHECK_S)
        task.paused = False
        await task.accept(offset, value)

    async def commit(self) -> None:
        """Commit the offsets below the oldest open windows, where they have moved."""
        offsets = {
            number: offset
            for number, task in self._partitions.items()
            if (offset := task.machine.committable_offset()) is not None and offset != self._committed.get(number)
        }
        if offsets:
            await self._commit(offsets)
            self._committed |= offsets

    def update_metrics(self, now_ms: int) -> None:
        """Set the gauges that describe what is waiting."""
        metrics, tasks = self._edge.metrics, self._partitions.values()
        metrics.open_windows.set(sum(task.machine.open_windows for task in tasks))
        metrics.buffered_rows.set(sum(task.machine.buffered_rows for task in tasks))
        for kind in self._edge.feeds:
            known = [task.machine.watermark_ms(kind, clock_ms=task.clock_ms) for task in tasks]
            slowest = min((value for value in known if value is not None), default=None)
            if slowest is not None:
                metrics.watermark_delay_seconds.labels(kind).set((now_ms - slowest) / 1000)


class _PartitionTask:
    """Carries out what one partition's state machine asks for."""

    def __init__(self, number: int, edge: _Edge, on_fatal: Callable[[BaseException], None]) -> None:
        self.number, self._edge = number, edge
        self.machine = Partition({kind: feed.policy for kind, feed in edge.feeds.items()}, self._make_seal)
        self.seals_read = asyncio.Event()
        self.paused = self.stopped = False
        self.clock_ms = 0
        self._heard_s = time.monotonic()
        self._last_offset: int | None = None
        self._wake = asyncio.Event()
        self._sealing_since_s: dict[WindowKey, float] = {}
        self._busy = asyncio.Lock()
        self._seals = SealsLog(
            edge.settings.kafka, edge.producer, edge.settings.topics.seals, number, on_trouble=edge.on_trouble
        )
        self._task = asyncio.create_task(self._run(), name=f"partition {number}")
        self._task.add_done_callback(lambda task: self._ended(task, on_fatal))

    def _make_seal(self, key: WindowKey, last_offset: int, n_rows: int) -> Seal:
        return self._edge.feeds[key.kind].plan.seal(key, last_offset, n_rows, self._edge.writer)

    def _ended(self, task: asyncio.Task[None], on_fatal: Callable[[BaseException], None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            on_fatal(fault)

    async def stop(self, grace_s: float) -> None:
        """Stop; nothing more is emitted for this partition after this returns."""
        self.stopped = True
        self._wake.set()
        self.seals_read.set()  # whoever waits for them must not wait for ever
        if grace_s > 0:
            try:
                async with asyncio.timeout(grace_s):
                    await self._busy.acquire()
            except TimeoutError:
                log.warning("window_abandoned", partition=self.number, why="its seal brings it back")
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._seals.close()

    async def accept(self, offset: int, value: bytes) -> None:
        """Hand a message to the state machine."""
        await self.seals_read.wait()
        if self.stopped:
            return
        self._advance_clock()
        try:
            chunk = chunk_from_bytes(value)
        except DecodeError:
            log.error("foreign_message", partition=self.number, offset=offset, action="skipped: who else writes here?")
            self.machine.skip(offset)
            return
        feed = self._edge.feeds.get(chunk.kind)
        if feed is None or chunk.vocabulary != feed.vocabulary:
            self.machine.skip(offset)
            await self._reject(chunk)
        else:
            accepted = self.machine.accept(chunk, offset, clock_ms=self.clock_ms)
            self._count(chunk.kind, buffered=accepted.buffered, late=accepted.late, duplicate=accepted.duplicates)
        self._last_offset = offset
        self._wake.set()

    def _advance_clock(self) -> None:
        """Let time pass for idle sources only while nothing waits to be read (or nothing may be read)."""
        now_s = time.monotonic()
        if self._last_offset is None or self.paused or self._edge.is_caught_up(self.number, self._last_offset):
            self.clock_ms += round(min(now_s - self._heard_s, _LONGEST_SILENCE_S) * 1000)
        self._heard_s = now_s

    async def _run(self) -> None:
        for record in await self._seals.open():
            self.machine.apply_seal(record)
        self.seals_read.set()
        while not self.stopped:
            self._wake.clear()
            self._advance_clock()
            async with self._busy:
                while not self.stopped and (action := self.machine.next_action(clock_ms=self.clock_ms)):
                    if isinstance(action, WriteSeal):
                        await self._seal(action)
                    elif isinstance(action, ReleaseWindow):
                        await self._release(action)
                    else:
                        await self._complete(action)
            try:
                async with asyncio.timeout(_IDLE_CHECK_S):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _seal(self, action: WriteSeal) -> None:
        key = action.seal.key
        self._sealing_since_s.setdefault(key, time.monotonic())
        with self._edge.metrics.stage_seconds.labels("seal").time():
            await self._seals.write(action.seal)
            for record in await self._seals.read():
                self._count(key.kind, late=self.machine.apply_seal(record))

    async def _release(self, action: ReleaseWindow) -> None:
        seal, edge = action.seal, self._edge
        kind = seal.key.kind
        begun_s = self._sealing_since_s.pop(seal.key, time.monotonic())
        try:
            result = await edge.pool.run(kind, seal, action.rows)
        except BrokenProcessPool:
            result = self._poisoned(action)
        edge.metrics.stage_seconds.labels("anonymize").observe(result.seconds)
        with edge.metrics.stage_seconds.labels("emit").time():
            durations = {
                "anonymize_s": round(result.seconds, 4),
                "close_to_emit_s": round(time.monotonic() - begun_s, 4),
            }
            await edge.emitter.emit(result.messages, headers=[("shoal-durations", msgspec.json.encode(durations))])
        self.machine.released(seal)
        self._tell(seal.key, result, time.monotonic() - begun_s)

    def _poisoned(self, action: ReleaseWindow) -> WindowResult:
        feed = self._edge.feeds[action.seal.key.kind]
        n_rows = len(action.rows)
        outcome = feed.plan.withhold(action.seal, WithholdReason.ANONYMIZER_FAILED, withheld=n_rows)
        return WindowResult(
            messages=tuple(outcome_messages(outcome)),
            account=outcome.account,
            seconds=0.0,
            outcome="withheld",
            facts={"reason": outcome.reason.value},
            alarm="the anonymizer's process died twice: for want of memory, as a rule",
        )

    async def _complete(self, action: WriteCompletion) -> None:
        await self._seals.write(action.until)
        await self._seals.remove(action.obsolete)
        self.machine.completed(action)

    def _tell(self, key: WindowKey, result: WindowResult, seconds: float) -> None:
        metrics, account = self._edge.metrics, result.account
        self._count(
            key.kind,
            released=account.released,
            suppressed=account.suppressed,
            withheld=account.withheld,
            duplicate=account.duplicates,
        )
        metrics.windows.labels(key.kind, result.outcome).inc()
        metrics.close_to_release_seconds.labels(key.kind).observe(seconds)
        if result.outcome == "released":
            metrics.smallest_support.labels(key.kind).set(float(result.facts["smallest_support"] or 0))
        else:
            metrics.withheld.labels(result.facts["reason"]).inc()
        window = ReleasedWindow(
            key=key,
            outcome=result.outcome,
            facts=result.facts,
            close_to_release_s=round(seconds, 3),
            emitted_at_s=time.time(),
        )
        where = {"kind": key.kind.value, "shard": key.shard, "partition": self.number}
        if result.alarm is not None:
            log.error("window_alarm", **where, alarm=result.alarm)
        log.info(
            f"window_{result.outcome}",
            **where,
            start_ms=key.start_ms,
            end_ms=key.end_ms,
            close_to_release_s=window.close_to_release_s,
            **result.facts,
        )
        self._edge.on_window(window)

    async def _reject(self, chunk: Chunk) -> None:
        """Turn away records that were located under other settings: they cannot be mixed with these."""
        offsets = sorted(set(chunk.rows["offset"].tolist()))
        detail = "located under other settings or another secret; the input still holds the record"
        rejected = [
            Rejected(reason=Reason.SETTINGS_CHANGED, detail=detail, source=chunk.source, offset=offset)
            for offset in offsets
        ]
        topic = self._edge.settings.topics.dead_letters

        async def attempt() -> None:
            for one in rejected:
                await self._edge.producer.send(topic, dead_letter(chunk.kind, one))
            await self._edge.producer.flush()

        await until_it_works("send dead letters", attempt, on_trouble=self._edge.on_trouble)
        self._edge.metrics.rejected.labels(chunk.kind, Reason.SETTINGS_CHANGED).inc(len(offsets))
        log.warning("settings_changed", kind=chunk.kind.value, shard=chunk.shard, records=len(offsets))

    def _count(self, kind: Kind, **outcomes: int) -> None:
        for outcome, n in outcomes.items():
            if n:
                self._edge.metrics.records.labels(kind, outcome).inc(n)
