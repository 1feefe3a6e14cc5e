"""Writes chunks of located records to the shards topic."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from aiokafka import AIOKafkaProducer

from core.records.record import Chunk
from stream.formats.chunks import chunk_key, chunk_to_bytes
from stream.kafka.client import Trouble, partition_of, until_it_works
from stream.settings.model import Settings

__all__ = ["ShardsWriter", "completed"]

_ROW_BYTES = 64
"""Upper bound of the size of a row on the shards topic, bytes."""


class ShardsWriter:
    """Writes chunks, each to the partition of its shard.

    Args:
        settings: All settings.
        producer: A started producer.
        n_partitions: Number of partitions of the topic that shards are spread over.
        on_trouble: Called whenever an operation on the cluster fails.
    """

    def __init__(
        self, settings: Settings, producer: AIOKafkaProducer, *, n_partitions: int, on_trouble: Trouble
    ) -> None:
        self._topic, self._piece_rows = settings.topics.shards, settings.ingest.chunk_bytes // _ROW_BYTES
        self._producer, self._n_partitions, self._on_trouble = producer, n_partitions, on_trouble

    async def write(self, chunks: Sequence[Chunk]) -> None:
        """Write chunks concurrently; return when all are acknowledged."""
        await asyncio.gather(*(self._write_in_order(chunk) for chunk in chunks))

    async def _write_in_order(self, chunk: Chunk) -> None:
        """Send the chunk in pieces, each acknowledged before the next.

        The window stage drops offsets of a source below the highest it has seen, as duplicates. So no piece may
        overtake one that fails.
        """
        key = chunk_key(chunk)
        partition = partition_of(key, self._n_partitions)
        for piece in _pieces(chunk, self._piece_rows):
            value = chunk_to_bytes(piece)

            async def attempt(value: bytes = value) -> None:
                await self._producer.send_and_wait(self._topic, value, key=key, partition=partition)

            await until_it_works("forward records", attempt, on_trouble=self._on_trouble)


def completed(chunks: Sequence[Chunk], newest_ms: int | None) -> tuple[list[Chunk], int | None]:
    """Let the chunks of one batch of a source declare up to which event time the source is complete.

    A chunk may be read, and may close windows, long before the other chunks of the batch arrive. So the event time up
    to which a chunk declares its source complete (``complete_ms``) must hold without the others: it is the newest event
    time before the batch, or the oldest in the batch if that is later.

    Args:
        chunks: The chunks.
        newest_ms: The newest event time of the source before the batch, or None.

    Returns:
        The chunks, and the newest event time now.
    """
    if not chunks:
        return [], newest_ms
    times = [chunk.rows["ts_ms"] for chunk in chunks]
    oldest_ms, last_ms = min(int(ts.min()) for ts in times), max(int(ts.max()) for ts in times)
    before_ms = oldest_ms if newest_ms is None else newest_ms
    complete_ms = max(oldest_ms, before_ms)
    return [replace(chunk, complete_ms=complete_ms) for chunk in chunks], max(last_ms, before_ms)


def _pieces(chunk: Chunk, max_rows: int) -> Iterator[Chunk]:
    """Cut a chunk at the ends of records, so that the points of one record stay together."""
    offsets = chunk.rows["offset"]
    start = 0
    while start < len(offsets):
        end = min(start + max_rows, len(offsets))
        if end < len(offsets):
            cut = int(offsets.searchsorted(offsets[end], side="left"))
            # A record longer than a piece is not cut.
            end = cut if cut > start else int(offsets.searchsorted(offsets[start], side="right"))
        yield replace(chunk, rows=chunk.rows[start:end])
        start = end
