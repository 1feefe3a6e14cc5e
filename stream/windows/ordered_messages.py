"""Passes on the messages of one partition in order, even if Faust passes them on out of order.

After a rebalance Faust may skip messages. It goes back to the committed offset, but not if no offset above 0 is
committed (``stream/worker/faust_app.py`` corrects that). Messages that were fetched before may come ahead of messages
that are read again. Messages that come before the partition is taken over are dropped. Seals, commits and the
recognition of duplicates depend on the order, so this module reads missing messages from the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol

import structlog

__all__ = ["OrderedMessages", "PartitionLog"]

log = structlog.get_logger("shoal.windows")


class PartitionLog(Protocol):
    """A partition on the cluster."""

    async def begin(self) -> int:
        """Return the offset from which to read."""

    def read(self, first: int, end: int) -> AsyncGenerator[Sequence[tuple[int, bytes]]]:
        """Yield the messages from one offset up to another, in batches, which may be empty."""


class OrderedMessages:
    """Passes on every message that the log holds, once, in ascending order.

    Args:
        partition: Number of the partition, for logs.
        source: Reads the partition.
        take: Takes a message; if it is cancelled, it has not taken the message.
        on_passed_over: Called with the number of messages that Faust skipped and that were read from the log.
    """

    def __init__(
        self,
        partition: int,
        source: PartitionLog,
        take: Callable[[int, bytes], Awaitable[None]],
        *,
        on_passed_over: Callable[[int], None],
    ) -> None:
        self._partition, self._source = partition, source
        self._take, self._on_passed_over = take, on_passed_over
        self._one_at_a_time = asyncio.Lock()
        self._moved_s = time.monotonic()
        self._stopped = False
        self.next_offset: int | None = None
        """All messages below this offset were taken; None until :meth:`begin` has run."""

    async def begin(self) -> None:
        """Find out the first offset; before that no message is accepted."""
        self.next_offset = await self._source.begin()
        self._moved_s = time.monotonic()

    def stop(self) -> None:
        """Take no more messages; reading of the log in progress ends soon."""
        self._stopped = True

    def idle_s(self) -> float:
        """Return the time since a message was last taken, seconds."""
        return time.monotonic() - self._moved_s

    def note_pause(self) -> None:
        """Restart the idle time: reading pauses on purpose."""
        self._moved_s = time.monotonic()

    async def accept(self, offset: int, value: bytes) -> None:
        """Take a message, after all earlier ones; a message that was taken before is dropped."""
        async with self._one_at_a_time:
            await self._read_up_to(offset)
            if offset == self.next_offset:
                await self._pass_on(offset, value)

    async def catch_up(self, end: int) -> None:
        """Read all messages below an offset: if Faust skips the last ones, no later message reveals the gap."""
        async with self._one_at_a_time:
            await self._read_up_to(end)

    async def _pass_on(self, offset: int, value: bytes) -> None:
        if not self._stopped:
            await self._take(offset, value)
            self.next_offset, self._moved_s = offset + 1, time.monotonic()

    async def _read_up_to(self, end: int) -> None:
        """Read the missing messages below an offset."""
        first = self.next_offset
        if self._stopped or first is None or first >= end:
            return
        n = 0
        async with contextlib.aclosing(self._source.read(first, end)) as batches:
            async for batch in batches:
                for offset, value in batch:
                    await self._pass_on(offset, value)
                n += len(batch)
                if self._stopped:
                    return
        self.next_offset, self._moved_s = end, time.monotonic()
        self._on_passed_over(n)
        if n:
            log.warning(
                "chunks_passed_over",
                partition=self._partition,
                chunks=n,
                why="Faust skipped them, as may happen after a rebalance",
                action="read from the log",
            )
        if n < end - first:
            log.info(
                "offsets_without_chunks",
                partition=self._partition,
                offsets=end - first - n,
                why="deleted by retention, or markers of transactions",
            )
