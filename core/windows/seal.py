"""Seals: the durable records that fix what a window contains. The first seal of a window is the one that counts."""

from __future__ import annotations

from dataclasses import dataclass

from core.records.record import Kind
from core.windows.window import WindowKey

__all__ = ["PartitionCount", "Seal", "SealRecord", "SealedUntil"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The content of a window is exactly its records up to ``last_offset`` of the shards topic's partition."""

    key: WindowKey
    last_offset: int
    n_rows: int
    """How many rows that is; where a rebuilt window has another number, its records are no longer all there."""

    release_id: str
    digest: str
    """Digest of the settings, the secret and the algorithms' version that the release is made with."""

    writer: str
    """Who wrote it, and in which attempt; part of its key, so that compaction never lets a later record replace it."""

    @property
    def kind(self) -> Kind:
        """Kind of feed of the window, as every seal record has one."""
        return self.key.kind

    @property
    def shard(self) -> str:
        """Shard of the window, as every seal record has one."""
        return self.key.shard


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedUntil:
    """Every window of a shard that ends at or before ``until_ms`` is completed."""

    kind: Kind
    shard: str
    until_ms: int
    last_offset: int = -1
    """Last offset of the shards topic's partition that is included in the last of these windows: what comes up to there
    for one of them is read again, what comes later is late."""


SealRecord = Seal | SealedUntil


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCount:
    """Over how many partitions shards are spread. The first one in the seals topic counts, for as long as it exists:
    with another number a shard would go on in a partition that knows nothing of its seals."""

    n_partitions: int
    writer: str
    """Who wrote it; part of its key, so that compaction keeps the first one."""
