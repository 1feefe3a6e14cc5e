"""Windows: takes in chunks, and seals, anonymizes, verifies and emits windows.

Faust's agent passes on one chunk at a time. Each partition has a task of its own (``partition_task.py``), which puts
its chunks in order (``ordered_messages.py``). After any rebalance every partition is read again from its committed
offset, which rebuilds all state.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping

import structlog
from aiokafka import AIOKafkaProducer

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.kafka.client import Trouble
from stream.observe.metrics import Metrics
from stream.observe.tracing import NO_TRACING, Tracing
from stream.settings.model import Settings
from stream.windows.emit import Emitter
from stream.windows.partition_task import PartitionContext, PartitionTask
from stream.windows.pool import ReleasePool
from stream.windows.report import EmittedWindow

__all__ = ["Windows"]

log = structlog.get_logger("shoal.windows")

_HELD_CHECK_S = 0.05
"""How often to check whether full buffers have room again."""

_DRAIN_CHECK_S = 0.05


class Windows:
    """The partitions assigned to this worker.

    Args:
        settings: All settings.
        feeds: The feeds, by kind.
        producer: A started producer.
        pool: Anonymizes windows.
        metrics: The metrics of this worker.
        writer: Name of this worker in its seals; different in every process.
        end_offset: Returns the end of a partition of the shards topic; None if it is unknown.
        commit: Commits offsets of the shards topic, by partition.
        passed: By partition of the shards topic, the offset before which records that were located under other settings
            were located again.
        in_force: Returns whether this worker's settings are in force.
        on_window: Called for every window that was emitted.
        on_fatal: Called when a partition's task fails.
        on_trouble: Called whenever an operation on the cluster fails.
        tracing: Makes the traces of windows; none by default.
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
        end_offset: Callable[[int], int | None],
        commit: Callable[[dict[int, int]], Awaitable[None]],
        passed: Mapping[int, int],
        in_force: Callable[[], Awaitable[bool]],
        on_window: Callable[[EmittedWindow], None],
        on_fatal: Callable[[BaseException], None],
        on_trouble: Trouble,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        topics = settings.topics
        self._context = PartitionContext(
            settings=settings,
            feeds=feeds,
            producer=producer,
            emitter=Emitter(
                settings.kafka,
                producer,
                {"anonymized": topics.anonymized, "windows": topics.windows},
                on_trouble=on_trouble,
            ),
            pool=pool,
            metrics=metrics,
            writer=writer,
            end_offset=end_offset,
            passed=passed,
            in_force=in_force,
            is_held=lambda: self._held,
            may_seal=lambda: self._may_seal,
            wait_for_room=self._wait_for_room,
            on_window=on_window,
            on_trouble=on_trouble,
            tracing=tracing,
        )
        self._commit, self._on_fatal = commit, on_fatal
        self._partitions: dict[int, PartitionTask] = {}
        self._committed: dict[int, int] = {}
        self._inputs: Mapping[Kind, Mapping[str, int]] = {}
        self._held = False
        self._may_seal = True
        self.is_assigned = False

    @property
    def is_ready(self) -> bool:
        """Whether the group has assigned partitions and their seals are read."""
        return self.is_assigned and all(p.seals_read.is_set() for p in self._partitions.values())

    async def assign(self, partitions: set[int]) -> None:
        """Take over partitions; their seals are read before their first record is processed."""
        for number in sorted(partitions - self._partitions.keys()):
            task = self._partitions[number] = PartitionTask(number, self._context, self._on_fatal)
            task.expect(self._inputs)
        self.is_assigned = True
        self._context.metrics.partitions.set(len(self._partitions))

    def expect(self, inputs: Mapping[Kind, Mapping[str, int]]) -> None:
        """Close no window before every input topic of its feed is heard or idle.

        Args:
            inputs: Number of partitions by topic, for each feed.
        """
        if inputs != self._inputs:
            self._inputs = inputs
            for task in self._partitions.values():
                task.expect(inputs)

    async def revoke(self, *, grace_s: float = 0.0) -> None:
        """Drop every partition: after a rebalance all of them are read again from their committed offsets.

        Args:
            grace_s: How long a window in progress may take to finish.
        """
        dropped, self._partitions, self._committed = self._partitions, {}, {}
        self.is_assigned = False
        await asyncio.gather(*(partition.stop(grace_s) for partition in dropped.values()))
        self._context.metrics.partitions.set(0)

    async def drain(self, within_s: float, *, to_a_border: bool = False) -> bool:
        """Wait until the windows that are sealed are released; return whether all are.

        Args:
            within_s: How long to wait at most.
            to_a_border: Whether to read to the end and seal all that is due, so that all shards end with the same
                window; otherwise nothing more is sealed.
        """
        self._may_seal = to_a_border

        def is_drained(task: PartitionTask) -> bool:
            is_behind = to_a_border and task.n_unread != 0
            return task.seals_read.is_set() and task.at_rest and not task.machine.sealed_windows and not is_behind

        try:
            async with asyncio.timeout(within_s):
                # Amid a rebalance there are no partitions, and some may come with windows that another has sealed.
                while not (self.is_assigned and all(map(is_drained, self._partitions.values()))):  # noqa: ASYNC110
                    await asyncio.sleep(_DRAIN_CHECK_S)
        except TimeoutError:
            return False
        return True

    async def accept(self, partition: int, offset: int, value: bytes) -> None:
        """Take in one message of the shards topic; waits while too much is buffered."""
        task = self._partitions.get(partition)
        if task is not None:  # otherwise it is revoked or not taken over yet; its owner reads the message from the log
            await task.accept(offset, value)

    async def catch_up(self) -> None:
        """Read messages that Faust has not passed on for too long."""
        for task in list(self._partitions.values()):
            await task.catch_up()

    async def _wait_for_room(self, task: PartitionTask) -> None:
        while self._is_full() and not task.stopped:
            if not self._held:
                log.warning(
                    "buffers_full",
                    limit=self._context.settings.limits.buffered_rows,
                    action="reading pauses until windows are released",
                )
            self._held = True
            if not self._make_room():
                break
            await asyncio.sleep(_HELD_CHECK_S)
        self._held = False

    def _is_full(self) -> bool:
        buffered = sum(task.machine.buffered_rows for task in self._partitions.values())
        return buffered >= self._context.settings.limits.buffered_rows

    def _make_room(self) -> bool:
        """Seal the oldest window early if no partition has anything to do.

        While buffers are full nothing is read, so watermarks do not advance and no window would close.

        Returns:
            Whether room will become free. If not, sealed windows wait for rows that must be read first.
        """
        tasks = self._partitions.values()
        if not all(task.at_rest for task in tasks):
            return True
        oldest = {key: task for task in tasks if (key := task.machine.oldest_unsealed) is not None}
        if oldest:
            oldest[min(oldest)].seal_early()
        return bool(oldest)

    async def commit(self) -> None:
        """Commit, for each partition, the offset below its oldest open window, if it has moved."""
        committed = self._committed  # a reference: a new assignment replaces the dictionary
        offsets = {
            number: offset
            for number, task in self._partitions.items()
            if (offset := task.machine.committable_offset()) is not None and offset != committed.get(number)
        }
        if offsets:
            await self._commit(offsets)
            committed |= offsets

    def update_metrics(self, now_ms: int) -> None:
        """Set the gauges of open windows, buffered rows, lag and watermarks."""
        metrics, tasks = self._context.metrics, self._partitions.values()
        metrics.open_windows.set(sum(task.machine.open_windows for task in tasks))
        metrics.buffered_rows.set(sum(task.machine.buffered_rows for task in tasks))
        metrics.shards_lag_chunks.set(sum(task.n_unread or 0 for task in tasks))
        for kind in self._context.feeds:
            known = [task.machine.watermark_ms(kind, clock_ms=task.clock_ms) for task in tasks]
            slowest = min((value for value in known if value is not None), default=None)
            leads = [task.machine.lead_ms(kind, clock_ms=task.clock_ms) for task in tasks]
            metrics.source_lead_seconds.labels(kind).set(max(leads, default=0) / 1000)
            delay_s = math.nan if slowest is None else (now_ms - slowest) / 1000
            metrics.watermark_delay_seconds.labels(kind).set(delay_s)
