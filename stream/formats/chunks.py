"""Chunks on the shards topic, as MessagePack: rows that wait for their window."""

from __future__ import annotations

import msgspec
import numpy as np

from core.records.record import ROW_TYPES, VISIT, Chunk, Kind, Rows, Source
from stream.formats.errors import DecodeError, VersionError

__all__ = ["chunk_from_bytes", "chunk_key", "chunk_to_bytes"]


class _ChunkWire(msgspec.Struct, array_like=True):
    version: int
    kind: Kind
    shard: str
    topic: str
    partition: int
    n_partitions: int
    vocabulary: str
    rows: bytes
    complete_ms: int | None = None
    log_id: str = ""


_CHUNK_VERSION = 2

_FIRST_ROW_TYPES = ROW_TYPES | {Kind.CHECKINS: np.dtype(VISIT.descr[:4])}
"""Rows of version 1: a check-in had no attributes of its person."""

_chunk_decoder = msgspec.msgpack.Decoder(_ChunkWire)


def chunk_key(chunk: Chunk) -> bytes:
    """Return the Kafka key of a chunk: its shard decides where it is anonymized."""
    return f"{chunk.kind}/{chunk.shard}".encode()


def chunk_to_bytes(chunk: Chunk) -> bytes:
    """Encode a chunk for the shards topic."""
    return msgspec.msgpack.encode(
        _ChunkWire(
            version=_CHUNK_VERSION,
            kind=chunk.kind,
            shard=chunk.shard,
            topic=chunk.source.topic,
            partition=chunk.source.partition,
            n_partitions=chunk.n_partitions,
            vocabulary=chunk.vocabulary,
            rows=chunk.rows.tobytes(),
            complete_ms=chunk.complete_ms,
            log_id=chunk.log_id,
        )
    )


def chunk_from_bytes(value: bytes) -> Chunk:
    """Decode a chunk; its rows are read-only.

    Raises:
        DecodeError: The bytes are not a chunk.
        VersionError: The bytes are a chunk of another version.
    """
    try:
        wire = _chunk_decoder.decode(value)
        if wire.version not in (1, _CHUNK_VERSION):
            raise VersionError(f"a chunk has version {wire.version}, this program reads {_CHUNK_VERSION}: upgrade it")
        rows = _rows(wire)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise DecodeError("a message of the shards topic is not a chunk: does another program write to it?") from None
    return Chunk(
        kind=wire.kind,
        shard=wire.shard,
        source=Source(wire.topic, wire.partition),
        n_partitions=wire.n_partitions,
        vocabulary=wire.vocabulary,
        rows=rows,
        complete_ms=wire.complete_ms,
        log_id=wire.log_id,
    )


def _rows(wire: _ChunkWire) -> Rows:
    rows: Rows = np.frombuffer(wire.rows, dtype=(_FIRST_ROW_TYPES if wire.version == 1 else ROW_TYPES)[wire.kind])
    if rows.dtype == ROW_TYPES[wire.kind]:
        return rows
    wider = np.zeros(len(rows), dtype=VISIT)
    for name in rows.dtype.names or ():
        wider[name] = rows[name]
    wider.flags.writeable = False
    return wider
