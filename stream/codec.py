"""Bytes to records and back: input messages, chunks, seals, and what leaves. JSON outside, MessagePack inside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
import numpy as np

from core.plan import ALGORITHMS
from core.records import (
    POINT,
    ROW_TYPES,
    VISIT,
    CheckIn,
    Chunk,
    Fragment,
    Kind,
    Rejected,
    Rows,
    Source,
    attribute_field,
    checkin_type,
)
from core.release import (
    SCHEMA,
    AttributeRecord,
    ClusterGroup,
    Outcome,
    PairTrajectory,
    PointTrajectory,
    Release,
    Released,
    SequenceTrajectory,
)
from core.seal import PartitionCount, Seal, SealedUntil, SealRecord
from core.window import WindowKey
from stream.foreign_json import tolerant
from stream.refusals import refusal

__all__ = [
    "DecodeError",
    "OutMessage",
    "VersionError",
    "chunk_from_bytes",
    "chunk_key",
    "chunk_to_bytes",
    "dead_letter",
    "decoder",
    "outcome_messages",
    "refusal",
    "rfc3339",
    "seal_from_bytes",
    "seal_key",
    "seal_to_bytes",
]


class DecodeError(Exception):
    """A message of an internal topic that is none of ours."""


class VersionError(Exception):
    """A message of ours that another version wrote; says what to do."""


# ---------------------------------------------------------------------- input


def decoder(kind: Kind, names: dict[str, str], attributes: Sequence[str] = ()) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function that decodes JSON messages of one kind of feed.

    Args:
        kind: What the messages hold.
        names: For each of our fields the name that the feed uses.
        attributes: What check-ins tell of their person as well, by the names that the feed uses; other than the above.

    Returns:
        A function that raises :class:`msgspec.DecodeError` where a message is not JSON or not of the right form, which
        :func:`refusal` puts into words. What it takes beside JSON says :func:`stream.foreign_json.tolerant`.
    """
    base: type[CheckIn] | type[Fragment] = checkin_type(len(attributes)) if kind is Kind.CHECKINS else Fragment
    names = names | {attribute_field(i): name for i, name in enumerate(attributes)}
    renamed = {field: names[field] for field in base.__struct_fields__ if names[field] != field}
    wire: type = base
    if renamed:
        fields: list[tuple[str, type] | tuple[str, type, object]] = [
            (field.name, field.type) if field.required else (field.name, field.type, field.default)
            for field in msgspec.structs.fields(base)
        ]
        wire = msgspec.defstruct(base.__name__, fields, bases=(base,), rename=renamed, frozen=True, gc=False)
    points = names["points"] if kind is Kind.FRAGMENTS else None
    return tolerant(msgspec.json.Decoder(wire).decode, wire, ts=names["ts"], points=points)


class _DeadLetter(msgspec.Struct, omit_defaults=True):
    schema: int
    kind: str
    reason: str
    detail: str
    topic: str
    partition: int
    offset: int
    log: str = ""


def dead_letter(kind: Kind, rejected: Rejected, log_id: str = "") -> bytes:
    """Encode why a record was rejected and where it stands; its content stays where it was.

    Args:
        kind: What the feed carries.
        rejected: Why, and where.
        log_id: Which log the offset is of: see :attr:`core.records.Chunk.log_id`.
    """
    source = rejected.source
    return msgspec.json.encode(
        _DeadLetter(
            schema=SCHEMA,
            kind=kind.value,
            reason=rejected.reason.value,
            detail=rejected.detail,
            topic=source.topic,
            partition=source.partition,
            offset=rejected.offset,
            log=log_id,
        )
    )


# ---------------------------------------------------------------------- the shards topic


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
_FIRST_ROW_TYPES = {Kind.CHECKINS: np.dtype(VISIT.descr[:4]), Kind.FRAGMENTS: POINT}
"""Rows of version 1: a check-in told nothing of its person."""

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
        VersionError: They are one of another version.
    """
    try:
        wire = _chunk_decoder.decode(value)
        if wire.version not in (1, _CHUNK_VERSION):
            raise VersionError(f"a chunk has version {wire.version}, this program reads {_CHUNK_VERSION}: upgrade it")
        rows = _rows(wire)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise DecodeError("a message of the shards topic is not a chunk: who else writes to it?") from None
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


# ---------------------------------------------------------------------- the seals topic


class _SealWire(msgspec.Struct, tag_field="type", tag="seal"):
    kind: Kind
    shard: str
    start_ms: int
    end_ms: int
    last_offset: int
    n_rows: int
    release: str
    digest: str
    writer: str


class _UntilWire(msgspec.Struct, tag_field="type", tag="sealed_until"):
    kind: Kind
    shard: str
    until_ms: int
    last_offset: int = -1


class _CountWire(msgspec.Struct, tag_field="type", tag="partitions"):
    n: int
    writer: str


_seal_decoder: msgspec.json.Decoder[_SealWire | _UntilWire | _CountWire] = msgspec.json.Decoder(
    _SealWire | _UntilWire | _CountWire
)


def seal_key(record: SealRecord | PartitionCount) -> bytes:
    """Return the Kafka key of a message of the seals topic.

    No two different records share a key, so compaction never lets a later one replace the first; what is no longer
    needed is removed by a tombstone.
    """
    if isinstance(record, Seal):
        key = record.key
        name = f"seal|{key.kind}|{key.shard}|{key.start_ms}|{key.end_ms}|{record.last_offset}|{record.writer}"
    elif isinstance(record, SealedUntil):
        name = f"until|{record.kind}|{record.shard}|{record.until_ms}"
    else:
        name = f"partitions|{record.writer}"
    return name.encode()


def seal_to_bytes(record: SealRecord | PartitionCount) -> bytes:
    """Encode a message of the seals topic."""
    if isinstance(record, PartitionCount):
        return msgspec.json.encode(_CountWire(n=record.n_partitions, writer=record.writer))
    if isinstance(record, Seal):
        key = record.key
        return msgspec.json.encode(
            _SealWire(
                kind=key.kind,
                shard=key.shard,
                start_ms=key.start_ms,
                end_ms=key.end_ms,
                last_offset=record.last_offset,
                n_rows=record.n_rows,
                release=record.release_id,
                digest=record.digest,
                writer=record.writer,
            )
        )
    return msgspec.json.encode(
        _UntilWire(kind=record.kind, shard=record.shard, until_ms=record.until_ms, last_offset=record.last_offset)
    )


def seal_from_bytes(value: bytes) -> SealRecord | PartitionCount:
    """Decode a message of the seals topic.

    Raises:
        DecodeError: The bytes are not one.
    """
    try:
        wire = _seal_decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DecodeError("it is not a seal: who else writes there?") from None
    if isinstance(wire, _CountWire):
        return PartitionCount(n_partitions=wire.n, writer=wire.writer)
    if isinstance(wire, _UntilWire):
        return SealedUntil(kind=wire.kind, shard=wire.shard, until_ms=wire.until_ms, last_offset=wire.last_offset)
    return Seal(
        key=WindowKey(wire.end_ms, wire.kind, wire.shard, wire.start_ms),
        last_offset=wire.last_offset,
        n_rows=wire.n_rows,
        release_id=wire.release,
        digest=wire.digest,
        writer=wire.writer,
    )


# ---------------------------------------------------------------------- what leaves


class OutMessage(NamedTuple):
    """One message of a release."""

    topic: str
    """``anonymized`` or ``windows``: the setting that names the topic."""

    key: bytes
    value: bytes
    timestamp_ms: int


def outcome_messages(outcome: Outcome) -> Iterator[OutMessage]:
    """Encode what leaves of a window: its trajectories, then the windows message, which commits them.

    The bytes depend on the outcome and the algorithms' versions alone, so that a window emitted again is the same.
    """
    key = outcome.key
    head = {
        "schema": SCHEMA,
        "release": outcome.release_id,
        "window": [rfc3339(key.start_ms), rfc3339(key.end_ms)],
        "shard": key.shard,
    }
    if isinstance(outcome, Release):
        for i, trajectory in enumerate(outcome.trajectories):
            value = msgspec.json.encode(head | _content(trajectory))
            yield OutMessage("anonymized", f"{outcome.release_id}:{i}".encode(), value, key.end_ms)
    value = msgspec.json.encode(head | _window_content(outcome) | {"versions": ALGORITHMS})
    yield OutMessage("windows", outcome.release_id.encode(), value, key.end_ms)


def _content(trajectory: Released) -> dict[str, object]:
    if isinstance(trajectory, ClusterGroup):
        clusters = [dataclasses.asdict(cluster) for cluster in trajectory.clusters]
        return {"clusters": clusters, "joint_clusters": [dataclasses.asdict(one) for one in trajectory.joint_clusters]}
    return {"pseudonym": trajectory.pseudonym} | _of_person(trajectory)


def _of_person(
    trajectory: SequenceTrajectory | PointTrajectory | PairTrajectory | AttributeRecord,
) -> dict[str, object]:
    if isinstance(trajectory, SequenceTrajectory):
        return {"locations": trajectory.locations}
    if isinstance(trajectory, PairTrajectory):
        visits = [(_slot(begin_ms, of_day=trajectory.of_day), name) for begin_ms, name in trajectory.visits]
        return {"visits": visits, "sensitive": trajectory.sensitive}
    if isinstance(trajectory, AttributeRecord):
        shown: dict[str, object] = {"attributes": trajectory.attributes, "locations": trajectory.locations}
        return shown | ({"sensitive": trajectory.sensitive} if trajectory.sensitive else {})
    times = map(rfc3339, trajectory.t_ms.tolist())
    points = zip(times, trajectory.lat_deg.tolist(), trajectory.lon_deg.tolist(), strict=True)
    return {"points": list(points)}


def _slot(begin_ms: int, *, of_day: bool) -> str:
    """Write when a slot begins: an instant, or a time of day."""
    return rfc3339(begin_ms)[11:-1] if of_day else rfc3339(begin_ms)


def _window_content(outcome: Outcome) -> dict[str, object]:
    common = {"kind": outcome.key.kind, "model": outcome.model, "parameters": outcome.parameters}
    if not isinstance(outcome, Release):
        return common | {"outcome": "withheld", "reason": outcome.reason, "verified": False}
    content: dict[str, object] = common | {
        "outcome": "released",
        "verified": True,
        "population": outcome.population,
        "people": outcome.people,
        "trajectories": len(outcome.trajectories),
        "points_released": outcome.points_released,
        "points_suppressed": outcome.points_suppressed,
        "smallest_support": outcome.smallest_support,
        "information_loss": outcome.information_loss,
    }
    if outcome.locations is not None:
        content["locations"] = [
            {"members": place.members, "lat": place.lat_deg, "lon": place.lon_deg}
            | ({"sensitive": True} if place.sensitive else {})
            for place in outcome.locations
        ]
    return content


def rfc3339(ms: int) -> str:
    """Write an instant, Unix milliseconds, as RFC 3339 in UTC.

    >>> rfc3339(0), rfc3339(1500)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    moment = datetime.fromtimestamp(ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")
