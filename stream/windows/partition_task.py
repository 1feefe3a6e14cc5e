"""One partition of the shards topic: a task that performs the actions of its state machine.

The state machine is :class:`core.windows.partition.Partition`. This module adds Kafka, the clock, the processes and the
metrics. Between Faust and the state machine, :class:`stream.windows.ordered_messages.OrderedMessages` ensures that no
message is left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import msgspec
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError, RecordListTooLargeError

from core.records.record import Chunk, Kind, Reason, Rejected
from core.release.outcome import WithholdReason
from core.windows.draw import Draw
from core.windows.history import History, Roster
from core.windows.partition import Action, EarlyBecause, Partition, ReleaseWindow, WriteCompletion, WriteSeal
from core.windows.seal import Seal
from core.windows.window import WindowKey
from stream.feeds.feed import Feed
from stream.formats.chunks import chunk_from_bytes
from stream.formats.errors import DecodeError
from stream.formats.release.result import WindowResult
from stream.ingest.rejections import send_dead_letters
from stream.kafka.client import Trouble
from stream.observe.metrics import Metrics
from stream.observe.tracing import Tracing, WindowTimes, WindowTrace
from stream.settings.model import Settings
from stream.windows.early_release import EarlyRelease
from stream.windows.emit import Emitter
from stream.windows.ordered_messages import OrderedMessages
from stream.windows.pool import ReleasePool
from stream.windows.releasing import withhold, withhold_result
from stream.windows.report import EmittedWindow, report_window
from stream.windows.seals_log import SealsLog
from stream.windows.shards_log import ShardsLog

__all__ = ["PartitionContext", "PartitionTask"]

log = structlog.get_logger("shoal.windows")

_IDLE_CHECK_S = 0.25
"""How often to check for idle sources."""

_LONGEST_SILENCE_S = 5.0
"""Most idle time that is counted between two checks. A worker that was suspended has read nothing meanwhile, and must
not take every source for idle when it resumes, perhaps without its partitions."""

_EARLY = {
    EarlyBecause.BUFFERS_FULL: (
        "buffers are full and no window can close",
        "raise limits.buffered_rows above the number of rows in all open windows",
    ),
    EarlyBecause.MANY_OPEN: (
        "the shard has more than window.max_open open windows",
        "raise window.max_open if records are spread over a long time",
    ),
}
"""Why a window is sealed early, and what to do."""

_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
"""A topic refuses a message for its length; a retry would not help."""

_OVERDUE_S = 10.0
"""How long Faust may take to pass on a message before the worker reads it itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionContext:
    """Shared by all partitions of a worker."""

    settings: Settings
    feeds: Mapping[Kind, Feed]
    producer: AIOKafkaProducer
    emitter: Emitter
    pool: ReleasePool
    metrics: Metrics
    writer: str
    end_offset: Callable[[int], int | None]
    """Returns the end of a partition of the shards topic; None if it is unknown."""

    passed: Mapping[int, int]
    """By partition, the offset before which records that were located under other settings were located again."""

    in_force: Callable[[], Awaitable[bool]]
    """Returns whether this worker's settings are in force."""

    is_held: Callable[[], bool]
    """Whether reading pauses because buffers are full."""

    may_seal: Callable[[], bool]
    """Whether to seal windows, and not only to finish those that are sealed."""

    wait_for_room: Callable[[PartitionTask], Awaitable[None]]
    """Returns when buffers have room, or the task is stopped."""

    on_window: Callable[[EmittedWindow], None]
    on_trouble: Trouble
    tracing: Tracing


class PartitionTask:
    """Performs the actions of one partition's state machine."""

    def __init__(self, number: int, context: PartitionContext, on_fatal: Callable[[BaseException], None]) -> None:
        self.number, self._context = number, context
        self.machine = Partition({kind: feed.policy for kind, feed in context.feeds.items()}, self._make_seal)
        self.seals_read = asyncio.Event()
        self.stopped = False
        self._waiting = self._early = False
        self.clock_ms = 0
        self._heard_s = time.monotonic()
        self._wake = asyncio.Event()
        self._sealing: dict[WindowKey, WindowTimes] = {}
        self._early_release = EarlyRelease(context.pool)
        self._reporting: asyncio.Task[None] | None = None
        self._on_fatal = on_fatal
        self._busy = asyncio.Lock()
        self._seals = SealsLog(
            context.settings.kafka,
            context.producer,
            context.settings.topics.seals,
            number,
            on_trouble=context.on_trouble,
        )
        self._messages = OrderedMessages(
            number,
            ShardsLog(context.settings, number, on_lost=context.metrics.lost_chunks.inc, on_trouble=context.on_trouble),
            self._take,
            on_passed_over=context.metrics.passed_over_chunks.inc,
        )
        self._task = asyncio.create_task(self._run(), name=f"partition {number}")
        self._task.add_done_callback(lambda task: self._ended(task, on_fatal))

    def _make_seal(self, key: WindowKey, last_offset: int, n_rows: int, history: History) -> Seal:
        plan = self._context.feeds[key.kind].plan.after(history)
        return plan.seal(key, last_offset, n_rows, self._context.writer)

    def _ended(self, task: asyncio.Task[None], on_fatal: Callable[[BaseException], None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            on_fatal(fault)

    def expect(self, inputs: Mapping[Kind, Mapping[str, int]]) -> None:
        """Close no window before these input topics are heard or idle: number of partitions by topic and feed."""
        self._advance_clock()
        for kind, topics in inputs.items():
            self.machine.expect(kind, topics, clock_ms=self.clock_ms)

    async def stop(self, grace_s: float) -> None:
        """Stop; nothing more is emitted for this partition after this returns."""
        self.stopped = True
        self._messages.stop()
        self._wake.set()
        self.seals_read.set()  # wakes a call that waits for the seals
        if grace_s > 0:
            try:
                async with asyncio.timeout(grace_s):
                    await self._busy.acquire()
            except TimeoutError:
                log.warning("window_abandoned", partition=self.number, why="not ready in time; it is released later")
        self._task.cancel()
        self._early_release.drop()
        reporting = [] if self._reporting is None else [self._reporting]
        for task in reporting:
            task.cancel()
        await asyncio.gather(self._task, *reporting, return_exceptions=True)
        await self._seals.close()

    async def accept(self, offset: int, value: bytes) -> None:
        """Take in a message from Faust."""
        await self.seals_read.wait()
        await self._messages.accept(offset, value)

    async def catch_up(self) -> None:
        """Read messages that Faust has not passed on for too long."""
        if self._context.is_held():
            self._messages.note_pause()
        end = self._context.end_offset(self.number)
        if end is not None and self.n_unread and self._messages.idle_s() >= _OVERDUE_S:
            await self._messages.catch_up(end)

    async def _take(self, offset: int, value: bytes) -> None:
        """Give a message to the state machine as the last step, so that a cancelled call has taken nothing."""
        await self._context.wait_for_room(self)
        if self.stopped:
            return
        self._advance_clock()
        try:
            chunk = chunk_from_bytes(value)
        except DecodeError:
            log.error(
                "foreign_message",
                partition=self.number,
                offset=offset,
                action="skipped; find the program that writes to the shards topic",
            )
            self.machine.skip(offset)
            return
        feed = self._context.feeds.get(chunk.kind)
        if feed is None or chunk.vocabulary != feed.vocabulary:
            await self._take_foreign(chunk, offset)
        else:
            accepted = self.machine.accept(chunk, offset, clock_ms=self.clock_ms)
            self._count(
                chunk.kind,
                buffered=accepted.buffered,
                late=accepted.late,
                duplicate=accepted.duplicates,
                reread=accepted.reread,
            )
        self._wake.set()

    async def _take_foreign(self, chunk: Chunk, offset: int) -> None:
        """Pass over records that were located under other settings, or for a feed that is switched off."""
        was_located_again = chunk.kind in self._context.feeds and offset < self._context.passed.get(self.number, 0)
        if not was_located_again:
            if not await self._context.in_force():
                self.stopped = True  # the records belong to the workers that replace this one
                return
            await self._reject(chunk)
        self.machine.skip(offset)

    @property
    def at_rest(self) -> bool:
        """Whether there is nothing to do until something is read or time passes."""
        return self._waiting and not self._wake.is_set()

    def seal_early(self) -> None:
        """Seal the oldest window even if more records may come for it."""
        self._early = True
        self._wake.set()

    @property
    def n_unread(self) -> int | None:
        """Number of unread messages; None while it is unknown."""
        end, next_offset = self._context.end_offset(self.number), self._messages.next_offset
        return None if end is None or next_offset is None else max(0, end - next_offset)

    def _advance_clock(self) -> None:
        """Count idle time of sources only while no message is unread."""
        now_s = time.monotonic()
        if self.n_unread == 0 and not self._context.is_held():
            self.clock_ms += round(min(now_s - self._heard_s, _LONGEST_SILENCE_S) * 1000)
        self._heard_s = now_s

    async def _run(self) -> None:
        seals, _ = await asyncio.gather(self._seals.open(), self._messages.begin())
        for record in seals:
            self.machine.apply_seal(record)
        self.seals_read.set()
        while not self.stopped:
            self._wake.clear()
            self._advance_clock()
            async with self._busy:
                while not self.stopped and (action := self._next_action()):
                    if isinstance(action, WriteSeal):
                        await self._seal(action)
                    elif isinstance(action, ReleaseWindow):
                        await self._release(action)
                    else:
                        await self._complete(action)
            self._early = False
            self._waiting = True
            try:
                async with asyncio.timeout(_IDLE_CHECK_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._waiting = False

    def _next_action(self) -> Action | None:
        now_ms = time.time() * 1000
        return self.machine.next_action(
            clock_ms=self.clock_ms, now_ms=now_ms, early=self._early, may_seal=self._context.may_seal()
        )

    async def _seal(self, action: WriteSeal) -> None:
        key, times = action.seal.key, WindowTimes()
        if action.early is not None:
            why, what_to_do = _EARLY[action.early]
            log.warning(
                "window_sealed_early",
                kind=key.kind.value,
                shard=key.shard,
                why=f"{why}; later records of this window are late",
                action=what_to_do,
            )
            self._context.metrics.early_seals.labels(key.kind).inc()
        self._early = False

        if len(action.rows):  # otherwise nothing of it leaves: it is sealed so that a shard can forget its rosters
            times = self._sealing.setdefault(key, times)
            self._early_release.begin(action)
        with self._context.metrics.stage_seconds.labels("seal").time(), times.stage("seal"):
            await self._seals.write(action.seal)
            for record in await self._seals.read():
                self._count(record.kind, late=self.machine.apply_seal(record))

    async def _release(self, action: ReleaseWindow) -> None:
        seal, context = action.seal, self._context
        kind, plan = seal.key.kind, context.feeds[seal.key.kind].plan.after(action.history)
        encoding = context.pool.encodings[kind]
        # The worker that sealed the window may have released it: another one, or this one before a rebalance.
        is_again = seal.key not in self._sealing or not seal.writer.startswith(context.writer)
        trace = context.tracing.window(seal, self._sealing.pop(seal.key, WindowTimes()))
        try:
            results = await self._settle_draw(action, await self._early_release.results(action))
        except BrokenProcessPool:
            why = "the anonymizer's process died twice, usually because memory ran out"
            results = [withhold(seal, action.rows, plan, WithholdReason.ANONYMIZER_FAILED, why, encoding=encoding)]
        except _TOO_LARGE:  # nothing is out yet
            why = "topics.seals accepts less than the noisy counts of a window have: raise its max.message.bytes"
            results = [withhold(seal, action.rows, plan, WithholdReason.TOO_LARGE, why, encoding=encoding)]
        context.metrics.stage_seconds.labels("anonymize").observe(sum(result.seconds for result in results))
        trace.times.anonymized(results)
        try:
            await self._remember(seal.key, results)
        except _TOO_LARGE:  # nothing is out yet
            why = "topics.seals accepts less than the roster of a window has: raise its max.message.bytes"
            results = [withhold(seal, action.rows, plan, WithholdReason.TOO_LARGE, why, encoding=encoding)]
        if not self.machine.is_to_be_released(seal):
            log.info("window_was_completed", kind=kind.value, shard=seal.shard, why="another worker has taken over")
            return
        emitted: list[tuple[WindowResult, float]] = []
        with context.metrics.stage_seconds.labels("emit").time(), trace.times.stage("emit"):
            for result in results:
                outcome = await self._emit_or_withhold(result, trace, is_again=is_again)
                if outcome is not None:
                    emitted.append((outcome, time.monotonic() - trace.times.begun_s))
        self.machine.released(seal)
        trace.end(plan.model, [result for result, _ in emitted], is_again=is_again)
        report = self._link_and_report(self._reporting, seal, emitted, trace)
        self._reporting = asyncio.create_task(report, name=f"report of partition {self.number}")
        self._reporting.add_done_callback(lambda task: self._ended(task, self._on_fatal))

    async def _link_and_report(
        self,
        before: asyncio.Task[None] | None,
        seal: Seal,
        emitted: Sequence[tuple[WindowResult, float]],
        trace: WindowTrace,
    ) -> None:
        """Attack a release that has left together with the one before it, then report it; in the order of windows."""
        results = [result for result, _ in emitted]
        try:
            if before is not None:
                await asyncio.wait([before])
            results = await self._context.pool.link(seal.kind, seal, results)
        finally:  # also if the partition is taken away: what was released must be counted
            for result, (_, seconds) in zip(results, emitted, strict=True):
                self._report(result, seconds, trace)

    async def _settle_draw(self, action: ReleaseWindow, results: list[WindowResult]) -> list[WindowResult]:
        """Write what was drawn, before anything of the window is emitted; return the results of the draw that counts.

        Another worker may have drawn as well. Only the topic decides which draw is the first; the others are forgotten,
        and nobody sees anything that was made from them.
        """
        tables = {result.seal.shard: result.noisy for result in results if result.noisy is not None}
        if not tables or action.draw is not None:
            return results
        key = action.seal.key
        await self._seals.write(Draw(key=key, tables=tables, writer=self._context.writer))
        for record in await self._seals.read():
            self._count(record.kind, late=self.machine.apply_seal(record))
        first = self.machine.draw(key)
        if first is None or first.tables == tables:  # None: somebody has completed the window, and nothing is emitted
            return results
        return await self._context.pool.run(action.seal.kind, action.seal, action.rows, action.history, first)

    async def _remember(self, key: WindowKey, results: Sequence[WindowResult]) -> None:
        """Write the roster of a window, before anything of the window is emitted: what is out must not be forgotten.

        If it is written already, something of the window may be out, and that roster counts. Somebody else may have
        completed the window meanwhile; so the seals are read to their end.
        """
        rosters = [result.roster for result in results if result.roster is not None]
        if not rosters or self.machine.has_roster(key):
            return
        for part in Roster.of_cells(key, rosters).parts():
            await self._seals.write(part)
            self.machine.apply_seal(part)
        for record in await self._seals.read():
            self._count(record.kind, late=self.machine.apply_seal(record))

    async def _emit_or_withhold(
        self, result: WindowResult, trace: WindowTrace, *, is_again: bool
    ) -> WindowResult | None:
        """Send what is public of a window, or that it is withheld if a topic refuses it.

        Returns:
            What became of the window; None if it was released before with another outcome.
        """
        try:
            return result if await self._emit(result, trace, is_again=is_again) else None
        except _TOO_LARGE:
            kind = result.seal.kind
            why = "an output topic accepts less than limits.message_bytes: raise its max.message.bytes"
            plan, encoding = self._context.feeds[kind].plan, self._context.pool.encodings[kind]
            withheld = withhold_result(result, plan, WithholdReason.TOO_LARGE, why, encoding=encoding)
            return withheld if await self._emit(withheld, trace, is_again=is_again, is_begun=True) else None

    async def _emit(self, result: WindowResult, trace: WindowTrace, *, is_again: bool, is_begun: bool = False) -> bool:
        """Send what is public of a window, unless it was released before; return whether this is its outcome.

        If some of a release may be out already (``is_begun``), the message that it is withheld is sent in any case, so
        that consumers do not wait for the rest.
        """
        emitter, seal, is_withheld = self._context.emitter, result.seal, result.outcome != "released"
        if is_again and is_withheld and await emitter.is_out(seal.release_id):
            # The window was released before. Now it is withheld, because of other settings or lack of memory: the
            # earlier release stays valid.
            log.info("window_was_out", kind=seal.key.kind.value, shard=seal.key.shard, outcome_now=result.outcome)
            return False
        if not is_begun and not self._context.feeds[seal.key.kind].is_public(result.outcome):
            return True

        def headers() -> list[tuple[str, bytes]]:
            durations = {
                "anonymize_s": round(result.seconds, 4),
                "close_to_release_s": round(time.monotonic() - trace.times.begun_s, 4),
            }
            return [("shoal-durations", msgspec.json.encode(durations))]

        await emitter.emit(result.messages, headers=headers, of_all=trace.headers)
        return True

    async def _complete(self, action: WriteCompletion) -> None:
        await self._seals.write(action.until)
        await self._seals.remove(action.obsolete)
        self.machine.completed(action)

    def _report(self, result: WindowResult, seconds: float, trace: WindowTrace) -> None:
        key = result.seal.key
        plan = self._context.feeds[key.kind].plan
        metrics = self._context.metrics
        metrics.count_window(
            key.kind,
            result,
            seconds,
            required_k=plan.guarantee.k,
            linkage=plan.promised_linkage,
            exemplar=trace.exemplar,
        )
        if plan.noise is not None and result.noisy is not None:
            metrics.epsilon_spent.labels(key.kind).inc(plan.noise.epsilon)
        encoding = self._context.pool.encodings[key.kind]
        self._context.on_window(report_window(key, self.number, result, seconds, encoding))

    async def _reject(self, chunk: Chunk) -> None:
        """Reject records that were located under other settings: they cannot be mixed with the rest."""
        offsets = sorted(set(chunk.rows["offset"].tolist()))
        detail = "located under other settings or another secret; the input still holds the record"
        rejected = [
            Rejected(reason=Reason.SETTINGS_CHANGED, detail=detail, source=chunk.source, offset=offset)
            for offset in offsets
        ]
        context = self._context
        await send_dead_letters(
            context.producer,
            context.settings.topics.dead_letters,
            chunk.kind,
            rejected,
            chunk.log_id,
            on_trouble=context.on_trouble,
        )
        context.metrics.rejected.labels(chunk.kind, Reason.SETTINGS_CHANGED).inc(len(offsets))
        log.warning("settings_changed", kind=chunk.kind.value, shard=chunk.shard, records=len(offsets))

    def _count(self, kind: Kind, **outcomes: int) -> None:
        for outcome, n in outcomes.items():
            if n:
                self._context.metrics.records.labels(kind, outcome).inc(n)
