"""Messages of the seals topic, as JSON."""

from __future__ import annotations

import msgspec
import numpy as np

from core.records.record import RUN, Kind
from core.windows.agreement import SettingsStep, StepKind
from core.windows.draw import Draw
from core.windows.history import Roster
from core.windows.seal import FeedStart, PartitionCount, Seal, SealedUntil, SealRecord
from core.windows.window import WindowKey
from stream.formats.errors import DecodeError

__all__ = ["LONGEST_SEAL_BYTES", "SealsMessage", "seal_from_bytes", "seal_key", "seal_to_bytes"]


LONGEST_SEAL_BYTES = 400_000
"""What a topic must accept: a part of a roster; see :meth:`Roster.parts`."""


class _SealWire(msgspec.Struct, tag_field="type", tag="seal", omit_defaults=True):
    kind: Kind
    shard: str
    start_ms: int
    end_ms: int
    last_offset: int
    n_rows: int
    release: str
    digest: str
    writer: str
    history: str = ""


class _RosterWire(msgspec.Struct, tag_field="type", tag="trace", omit_defaults=True):
    """A roster. Its tag and key say ``trace``, the earlier word, because topics hold messages of that name."""

    kind: Kind
    shard: str
    start_ms: int
    end_ms: int
    part: int
    n_parts: int
    users: bytes
    groups: bytes
    labels: list[str]
    carried: bytes = b""


class _TableWire(msgspec.Struct):
    shard: str
    counts: list[tuple[list[str], int]]


class _DrawWire(msgspec.Struct, tag_field="type", tag="draw"):
    kind: Kind
    shard: str
    start_ms: int
    end_ms: int
    tables: list[_TableWire]
    writer: str


class _UntilWire(msgspec.Struct, tag_field="type", tag="sealed_until"):
    kind: Kind
    shard: str
    until_ms: int
    last_offset: int = -1


class _CountWire(msgspec.Struct, tag_field="type", tag="partitions"):
    n: int
    writer: str


class _StartWire(msgspec.Struct, tag_field="type", tag="start"):
    kind: Kind
    group: str
    setting: str
    offsets: dict[str, dict[int, int]]
    topic_ids: dict[str, str]
    writer: str


class _StepWire(msgspec.Struct, tag_field="type", tag="settings", omit_defaults=True):
    step: StepKind
    digest: str
    writer: str
    proposal: str = ""
    settings: dict[str, str] = {}
    passed: dict[int, int] = {}


_Wire = _SealWire | _RosterWire | _DrawWire | _UntilWire | _CountWire | _StartWire | _StepWire

_seal_decoder: msgspec.json.Decoder[_Wire] = msgspec.json.Decoder(_Wire)

SealsMessage = SealRecord | PartitionCount | FeedStart | SettingsStep
"""What a message of the seals topic can be."""


def seal_key(record: SealsMessage) -> bytes:
    """Return the Kafka key of a message of the seals topic.

    Different records never share a key, so compaction never replaces one by another. A tombstone removes a record that
    is no longer needed.
    """
    if isinstance(record, Seal):
        key = record.key
        name = f"seal|{key.kind}|{key.shard}|{key.start_ms}|{key.end_ms}|{record.last_offset}|{record.writer}"
    elif isinstance(record, Roster):
        key = record.key
        name = f"trace|{key.kind}|{key.shard}|{key.start_ms}|{key.end_ms}|{record.part}"
    elif isinstance(record, Draw):
        key = record.key
        name = f"draw|{key.kind}|{key.shard}|{key.start_ms}|{key.end_ms}|{record.writer}"
    elif isinstance(record, SealedUntil):
        name = f"until|{record.kind}|{record.shard}|{record.until_ms}"
    elif isinstance(record, FeedStart):
        name = f"start|{record.kind}|{record.writer}"
    elif isinstance(record, SettingsStep):
        name = f"settings|{record.step}|{record.digest}|{record.writer}|{record.proposal}"
    else:
        name = f"partitions|{record.writer}"
    return name.encode()


def seal_to_bytes(record: SealsMessage) -> bytes:
    """Encode a message of the seals topic."""
    if isinstance(record, PartitionCount | FeedStart | SettingsStep):
        return msgspec.json.encode(_agreed_to_wire(record))
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
                history=record.history,
            )
        )
    if isinstance(record, Roster):
        key = record.key
        return msgspec.json.encode(
            _RosterWire(
                kind=key.kind,
                shard=key.shard,
                start_ms=key.start_ms,
                end_ms=key.end_ms,
                part=record.part,
                n_parts=record.n_parts,
                users=record.users.astype("<u8").tobytes(),
                groups=record.groups.astype("<u4").tobytes(),
                labels=list(record.labels),
                carried=record.carried.tobytes(),
            )
        )
    if isinstance(record, Draw):
        return msgspec.json.encode(
            _DrawWire(
                kind=record.key.kind,
                shard=record.key.shard,
                start_ms=record.key.start_ms,
                end_ms=record.key.end_ms,
                tables=[
                    _TableWire(shard=shard, counts=[(list(names), people) for names, people in counts.items()])
                    for shard, counts in record.tables.items()
                ],
                writer=record.writer,
            )
        )
    return msgspec.json.encode(
        _UntilWire(kind=record.kind, shard=record.shard, until_ms=record.until_ms, last_offset=record.last_offset)
    )


def _agreed_to_wire(record: PartitionCount | FeedStart | SettingsStep) -> _CountWire | _StartWire | _StepWire:
    """Convert what workers have agreed on."""
    if isinstance(record, PartitionCount):
        return _CountWire(n=record.n_partitions, writer=record.writer)
    if isinstance(record, FeedStart):
        return msgspec.convert(record, _StartWire, from_attributes=True)
    return msgspec.convert(record, _StepWire, from_attributes=True)


def _agreed(wire: _CountWire | _StartWire | _StepWire) -> PartitionCount | FeedStart | SettingsStep:
    if isinstance(wire, _CountWire):
        return PartitionCount(n_partitions=wire.n, writer=wire.writer)
    if isinstance(wire, _StartWire):
        return FeedStart(**msgspec.structs.asdict(wire))
    return SettingsStep(**msgspec.structs.asdict(wire))


def seal_from_bytes(value: bytes) -> SealsMessage:
    """Decode a message of the seals topic.

    Raises:
        DecodeError: The bytes are not such a message.
    """
    try:
        wire = _seal_decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DecodeError("it is not a seal: does another program write to the topic?") from None
    if isinstance(wire, _CountWire | _StartWire | _StepWire):
        return _agreed(wire)
    if isinstance(wire, _RosterWire):
        return _roster(wire)
    if isinstance(wire, _DrawWire):
        return Draw(
            key=WindowKey(wire.end_ms, wire.kind, wire.shard, wire.start_ms),
            tables={table.shard: {tuple(names): people for names, people in table.counts} for table in wire.tables},
            writer=wire.writer,
        )
    if isinstance(wire, _UntilWire):
        return SealedUntil(kind=wire.kind, shard=wire.shard, until_ms=wire.until_ms, last_offset=wire.last_offset)
    return Seal(
        key=WindowKey(wire.end_ms, wire.kind, wire.shard, wire.start_ms),
        last_offset=wire.last_offset,
        n_rows=wire.n_rows,
        release_id=wire.release,
        digest=wire.digest,
        writer=wire.writer,
        history=wire.history,
    )


def _roster(wire: _RosterWire) -> Roster:
    try:
        return Roster(
            key=WindowKey(wire.end_ms, wire.kind, wire.shard, wire.start_ms),
            users=np.frombuffer(wire.users, dtype="<u8").astype(np.uint64),
            groups=np.frombuffer(wire.groups, dtype="<u4").astype(np.int64),
            labels=tuple(wire.labels),
            part=wire.part,
            n_parts=wire.n_parts,
            carried=np.frombuffer(wire.carried, dtype=RUN),
        )
    except ValueError:
        raise DecodeError("its columns are damaged: does another program write to the topic?") from None
