"""The input, read in batches: what cannot be read keeps its own partition waiting, and loses nothing of the others.

When aiokafka's ``getmany`` raises, it drops the records that it had in hand, and reads on behind those of other
partitions. So after a fault every partition goes back to what was returned last. From then on they are read one by one,
and the one at fault record by record, up to the record that cannot be read.
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

from stream.kafka.client import Trouble
from stream.kafka.compression import unreadable

__all__ = ["InputReader"]

log = structlog.get_logger("shoal.ingest")

Batches = dict[TopicPartition, list[Any]]

_HOPELESS = (GroupAuthorizationFailedError, SaslAuthenticationFailed)
"""Faults of the worker, not of what it reads."""

_LOOK_AGAIN_S, _WITHOUT_PARTITIONS_S = 0.2, 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_FORGIVEN_AFTER_S = 15.0
"""For how long nothing may fail before a partition counts as readable though nothing more has come."""


@dataclass(slots=True)
class _Unreadable:
    """A partition that cannot be read."""

    why: str
    failed_s: float
    pause_s: float = _FIRST_PAUSE_S
    offset: int | None = None
    """Which record cannot be read, once that is known."""


class InputReader:
    """Reads the assigned partitions.

    Args:
        consumer: A member of the group.
        on_trouble: Called whenever something cannot be read.
        passed_s: A clock that nobody sets, seconds.
    """

    def __init__(
        self, consumer: AIOKafkaConsumer, *, on_trouble: Trouble, passed_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._consumer, self._on_trouble, self._passed_s = consumer, on_trouble, passed_s
        self._next: dict[TopicPartition, int] = {}
        """Behind what was returned last."""
        self._unreadable: dict[TopicPartition, _Unreadable] = {}
        self._failed_s = -math.inf
        """When all were read together last and one failed: to find out which takes until it is fetched again."""

    @property
    def n_unreadable(self) -> int:
        """Number of partitions that cannot be read."""
        return len(self._unreadable)

    def check(self) -> bool | str:
        """Return True, or a sentence on what cannot be read: for readiness."""
        for at, one in sorted(self._unreadable.items()):
            where = "" if one.offset is None else f", offset {one.offset}"
            return f"partition {at.partition}{where}: {one.why}"
        return True

    def begin_at(self, at: TopicPartition, offset: int) -> None:
        """Take note that a partition is read from an offset."""
        self._next[at] = offset
        self._unreadable.pop(at, None)

    def forget(self) -> None:
        """Forget everything: after a rebalance partitions are read from the committed offsets."""
        self._next.clear()
        self._unreadable.clear()
        self._failed_s = -math.inf

    async def read(self, partitions: Sequence[TopicPartition], *, timeout_ms: int, max_records: int) -> Batches:
        """Return the next records, by partition.

        Args:
            partitions: What to read from; all that is assigned if empty.
            timeout_ms: How long to wait for the first record.
            max_records: Most to return.

        Raises:
            KafkaError: The consumer has come to an end; a new one may go on.
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
                log.warning("kafka_trouble", operation="read input", fault=type(fault).__name__)
                self._go_back()
                if not self._consumer.assignment():  # the group itself: none of its members has anything to read
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
                    # What comes before the record at fault is only returned where it is not asked for together with it.
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
        """Let every partition be read from behind what was returned last."""
        for at, offset in self._next.items():
            with contextlib.suppress(IllegalStateError):  # it is not ours any more
                self._consumer.seek(at, offset)


def _action(fault: KafkaError) -> str:
    if isinstance(fault, UnsupportedCodecError):
        return "the partition waits until the worker starts again and can"
    return "the partition waits, and is tried again every few seconds"


def _raise_if_hopeless(fault: KafkaError) -> None:
    # A bare KafkaError is what the group's coordination ends with: only a new consumer goes on.
    if isinstance(fault, _HOPELESS) or type(fault) is KafkaError:
        raise fault
