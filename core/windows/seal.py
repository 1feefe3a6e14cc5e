"""Seals: durable records that fix the content of a window. Only the first seal of a window counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.records.record import Kind
from core.windows.draw import Draw
from core.windows.history import Roster
from core.windows.window import OfWindow

__all__ = ["FeedStart", "PartitionCount", "Seal", "SealRecord", "SealedUntil"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal(OfWindow):
    """The content of a window is exactly its records up to ``last_offset`` of the shards topic's partition."""

    last_offset: int
    n_rows: int
    """Number of rows of the window; if a rebuilt window has another number, some of its records are lost. An empty
    window is sealed so that neither it nor an earlier one can open any more: then nothing of it leaves."""

    release_id: str
    digest: str
    """Digest of the settings, the secret and the algorithms' versions with which the release is made."""

    writer: str
    """Id of the writer and its attempt; part of the record's key, so that compaction keeps every seal."""

    history: str = ""
    """Digest of what earlier windows released, as far as the release depends on it; see
    :attr:`core.windows.history.History.digest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedUntil:
    """Every window of a shard that ends at or before ``until_ms`` is completed."""

    kind: Kind
    shard: str
    until_ms: int
    last_offset: int = -1
    """Last offset of the shards topic's partition that is included in the last of these windows. Rows of these windows
    up to this offset were counted before, later ones are late."""


SealRecord = Seal | SealedUntil | Roster | Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCount:
    """Number of partitions over which shards are spread. The first such record in the seals topic counts as long as the
    topic exists: with another number, a shard would move to a partition that does not have its seals."""

    n_partitions: int
    writer: str
    """Id of the writer; part of the record's key, so that compaction keeps the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStart:
    """Where a feed begins that does not begin with the oldest records. The first such record of a feed, a group and a
    setting counts: all workers must begin at the same offsets, also those that start later."""

    kind: Kind
    group: str
    """The consumer group that reads the input topics."""

    setting: str
    """The setting that was applied, such as ``latest``."""

    offsets: Mapping[str, Mapping[int, int]]
    """First offset to read, by topic and partition. Partitions that are not listed are read from their beginning."""

    topic_ids: Mapping[str, str]
    """Ids of these topics, to recognize a topic that is created again; empty ones if the cluster has no ids."""

    writer: str
    """Id of the writer; part of the record's key, so that compaction keeps the first one."""
