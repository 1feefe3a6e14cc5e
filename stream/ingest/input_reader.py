"""Reads the input in batches. An unreadable record stops only its own partition, and no other partition loses records.

When aiokafka's ``getmany`` raises, it drops the records that it has fetched, and continues after them, in other
partitions too. So after a fault every partition is reset to the last record returned. From then on partitions are read
one by one, and the faulty one record by record, up to the record that cannot be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedCodecError,
)

from stream.kafka.client import IF_AWAY, Trouble
from stream.kafka.compression import unreadable

__all__ = ["InputReader"]

log = structlog.get_logger("shoal.ingest")

Batches = dict[TopicPartition, list[Any]]

_HOPELESS = (GroupAuthorizationFailedError, SaslAuthenticationFailed)
"""Faults of the worker's access, not of the input."""

_LOOK_AGAIN_S, _WITHOUT_PARTITIONS_S = 0.2, 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_FORGIVEN_AFTER_S = 15.0
"""Time without a fault after which a partition counts as readable, even if no more records have come."""


@dataclass(slots=True)
class _Unreadable:
    """A partition that cannot be read."""

    why: str
    failed_s: float
    pause_s: float = _FIRST_PAUSE_S
    offset: int | None = None
    """Offset of the unreadable record; None until it is known."""


class InputReader:
    """Reads the assigned partitions.

    Args:
        consumer: A member of the group.
        on_trouble: Called whenever a read fails.
        passed_s: A monotonic clock, seconds.
    """

    def __init__(
        self, consumer: AIOKafkaConsumer, *, on_trouble: Trouble, passed_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._consumer, self._on_trouble, self._passed_s = consumer, on_trouble, passed_s
        self._next: dict[TopicPartition, int] = {}
        """The offset after the last record returned."""
        self._unreadable: dict[TopicPartition, _Unreadable] = {}
        self._failed_s = -math.inf
        """Time of the last failure while all partitions were read together; the faulty one is only known later."""

    @property
    def n_unreadable(self) -> int:
        """Number of partitions that cannot be read."""
        return len(self._unreadable)

    def check(self) -> bool | str:
        """Return True, or a message on an unreadable partition, for the readiness check."""
        for at, one in sorted(self._unreadable.items()):
            where = "" if one.offset is None else f", offset {one.offset}"
            return f"partition {at.partition}{where}: {one.why}"
        return True

    def begin_at(self, at: TopicPartition, offset: int) -> None:
        """Note that a partition is read from an offset."""
        self._next[at] = offset
        self._unreadable.pop(at, None)

    def forget(self) -> None:
        """Forget everything: after a rebalance partitions are read again from the committed offsets."""
        self._next.clear()
        self._unreadable.clear()
        self._failed_s = -math.inf

    async def read(self, partitions: Sequence[TopicPartition], *, timeout_ms: int, max_records: int) -> Batches:
        """Return the next records, by partition.

        Args:
            partitions: The partitions to read; all assigned ones if empty.
            timeout_ms: How long to wait for the first record.
            max_records: Most records to return.

        Raises:
            KafkaError: This consumer cannot continue; a new one may.
        """
        assigned = self._consumer.assignment()
        for at in [one for one in self._unreadable if one not in assigned]:
            del self._unreadable[at]
        if not self._unreadable and self._passed_s() - self._failed_s > _FORGIVEN_AFTER_S:
            try:
                found = await self._consumer.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
            except KafkaError as fault:
                _raise_if_hopeless(fault)
                self._failed_s = self._passed_s()
                self._on_trouble("read input")
                log.warning("kafka_trouble", operation="read input", fault=type(fault).__name__, action=IF_AWAY)
                self._go_back()
                if not self._consumer.assignment():  # the group failed: no partitions are assigned
                    await asyncio.sleep(_WITHOUT_PARTITIONS_S)
            else:
                self._note(found)
                return dict(found)
        found = await self._read_one_by_one(partitions or sorted(self._consumer.assignment()), max_records)
        if not found:
            await asyncio.sleep(min(timeout_ms / 1000, _LOOK_AGAIN_S))
        return found

    async def _read_one_by_one(self, partitions: Sequence[TopicPartition], max_records: int) -> Batches:
        found: Batches = {}
        room = max_records
        for at in partitions:
            faulty = self._unreadable.get(at)
            if faulty is not None and self._passed_s() - faulty.failed_s < faulty.pause_s:
                continue
            try:
                while room:
                    # Records before the faulty one are returned only if they are not requested together with it.
                    n = room if faulty is None else 1
                    got = (await self._consumer.getmany(at, timeout_ms=0, max_records=n)).get(at, [])
                    self._note({at: got})
                    found.setdefault(at, []).extend(got)
                    room -= len(got)
                    if faulty is None or not got:
                        break
            except KafkaError as fault:
                _raise_if_hopeless(fault)
                self._mark(at, fault)
            else:
                self._forgive(at)
        return {at: messages for at, messages in found.items() if messages}

    def _note(self, found: Batches) -> None:
        for at, messages in found.items():
            if messages:
                self._next[at] = messages[-1].offset + 1

    def _mark(self, at: TopicPartition, fault: KafkaError) -> None:
        self._on_trouble("read input")
        why, before = unreadable(at.topic, fault), self._unreadable.get(at)
        now = self._unreadable[at] = _Unreadable(why=why, failed_s=self._passed_s())
        if before is None:
            log.error("input_unreadable", topic=at.topic, partition=at.partition, why=why, action=_action(fault))
            return
        now.offset, now.pause_s = self._next.get(at), min(2 * before.pause_s, _LONGEST_PAUSE_S)
        log.warning(
            "kafka_trouble",
            operation="read input",
            topic=at.topic,
            partition=at.partition,
            offset=now.offset,
            fault=type(fault).__name__,
            retry_in_s=now.pause_s,
        )

    def _forgive(self, at: TopicPartition) -> None:
        faulty = self._unreadable.get(at)
        if faulty is None:
            return
        is_past = faulty.offset is not None and self._next.get(at, -1) > faulty.offset
        if is_past or self._passed_s() - faulty.failed_s > _FORGIVEN_AFTER_S:
            del self._unreadable[at]
            log.info("input_readable_again", topic=at.topic, partition=at.partition)

    def _go_back(self) -> None:
        """Reset every partition to the offset after the last record returned."""
        for at, offset in self._next.items():
            with contextlib.suppress(IllegalStateError):  # it is no longer assigned
                self._consumer.seek(at, offset)


def _action(fault: KafkaError) -> str:
    if isinstance(fault, UnsupportedCodecError):
        return "the partition waits; install the codec and start the worker again"
    return "the partition waits; the worker tries again every few seconds"


def _raise_if_hopeless(fault: KafkaError) -> None:
    # aiokafka's group coordination ends with a bare KafkaError; only a new consumer can continue.
    if isinstance(fault, _HOPELESS) or type(fault) is KafkaError:
        raise fault
