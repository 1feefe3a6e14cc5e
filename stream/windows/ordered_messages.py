"""The messages of one partition in their order, whatever order they are handed over in.

After a rebalance Faust may go on from the middle. It goes back to the committed offset, but not where none above 0 is
committed (``stream/worker/faust_app.py`` mends that); messages in flight from before may come ahead of those that are
read again; and what comes while nobody has the partition yet is dropped. Seals, commits and the recognition of repeated
records depend on the order, so this module ensures it: it reads from the log what is missing.
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
    """A partition as it stands on the cluster."""

    async def begin(self) -> int:
        """Return the offset from which the messages are wanted."""

    def read(self, first: int, end: int) -> AsyncGenerator[Sequence[tuple[int, bytes]]]:
        """Yield what the log holds from one offset up to another, in batches, which may be empty."""


class OrderedMessages:
    """Passes on every message that the log holds, once, in ascending order.

    Args:
        partition: Number of the partition, for the log of what happens.
        source: The partition.
        take: Takes a message; where it is cancelled, it has taken nothing.
        on_passed_over: Called with the number of messages that had to be read from the log.
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
        """All below it were taken; None until that is known."""

    async def begin(self) -> None:
        """Find out where to begin; before that nothing is accepted."""
        self.next_offset = await self._source.begin()
        self._moved_s = time.monotonic()

    def stop(self) -> None:
        """Take nothing any more; a reading of the log that is under way ends soon."""
        self._stopped = True

    def idle_s(self) -> float:
        """Return for how long nothing has been taken."""
        return time.monotonic() - self._moved_s

    def note_pause(self) -> None:
        """Take note that nothing is taken on purpose: that is not idle."""
        self._moved_s = time.monotonic()

    async def accept(self, offset: int, value: bytes) -> None:
        """Take in a message after all before it; one that was taken already is dropped."""
        async with self._one_at_a_time:
            await self._read_up_to(offset)
            if offset == self.next_offset:
                await self._pass_on(offset, value)

    async def catch_up(self, end: int) -> None:
        """Read all below an offset from the log: no later message shows that the last ones were passed over."""
        async with self._one_at_a_time:
            await self._read_up_to(end)

    async def _pass_on(self, offset: int, value: bytes) -> None:
        if not self._stopped:
            await self._take(offset, value)
            self.next_offset, self._moved_s = offset + 1, time.monotonic()

    async def _read_up_to(self, end: int) -> None:
        """Read what is missing below an offset."""
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
                why="Faust did not hand them over, as may happen after a rebalance",
                action="read from the log",
            )
        if n < end - first:
            log.info(
                "offsets_without_chunks",
                partition=self._partition,
                offsets=end - first - n,
                why="deleted in their time, or markers of transactions",
            )
