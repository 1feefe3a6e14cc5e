"""Decoders: bytes of a message become a document, by the encoding of the feed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from core.records.record import Reason
from stream.formats.input.encodings.avro import AvroReader, AvroSchemaError, avro_reader
from stream.formats.input.encodings.gtfs_realtime import gtfs_realtime_reader
from stream.formats.input.encodings.protobuf import protobuf_reader
from stream.formats.input.encodings.protobuf_schemas import (
    ProtobufSchema,
    ProtobufSchemaError,
    compiled,
    from_descriptor_set,
    from_proto_file,
)
from stream.formats.input.encodings.registered import RegisteredSchema, SchemaKind
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import FRAME_BYTES, frame_of, framed, message_indexes, payload_of, payload_of_other
from stream.formats.input.json_messages import json_document

__all__ = ["Decoder", "FramedJson", "PlainJson", "SchemaFileError", "new_decoder"]

_LEAST_AT_ONCE = 64
"""Fewer messages are decoded faster one by one."""

Reader = Callable[[bytes], Any]
"""Turns bytes into a document; raises :class:`UnreadableError`."""


class SchemaFileError(Exception):
    """The schema file cannot be used; the message says why."""


class Decoder(ABC):
    """Decodes the messages of one feed."""

    @abstractmethod
    def document(self, value: bytes) -> Any:
        """Decode a message.

        Raises:
            UnreadableError: It cannot be decoded.
        """

    def records(
        self, values: Sequence[bytes | None], base: type[Any], paths: Mapping[str, tuple[str, ...]], unit_ms: float
    ) -> list[Any] | None:
        """Decode many messages into records at once, if that is faster.

        Args:
            values: The messages; None for one that is passed over.
            base: The type of the records.
            paths: For each of its fields the names that lead to it in a document.
            unit_ms: Milliseconds in the unit of times that are numbers.

        Returns:
            The record of each message, or None for one to decode by itself; None if all are.
        """
        return None

    def missing(self, values: Iterable[bytes | None]) -> set[int]:
        """Return the ids of the schemas that messages need from the registry, and that are not known.

        An id that the registry does not have is known too, once :meth:`learn` was called with it.
        """
        return set()

    def learn(self, schema_id: int, schema: RegisteredSchema | None) -> str | None:
        """Remember a schema of the registry, or that it has none of that id. It may take a second.

        Returns:
            Why messages of that id will be rejected; None if they can be decoded.
        """
        raise NotImplementedError  # only decoders that miss schemas are asked

    def forget(self, schema_id: int) -> None:
        """Forget that the registry has no schema of an id."""
        raise NotImplementedError


def new_decoder(
    encoding: Literal["json", "avro", "protobuf", "gtfs-realtime"],
    *,
    schema_file: Path | None = None,
    message: str | None = None,
    has_registry: bool = False,
) -> Decoder:
    """Return the decoder of an encoding.

    Args:
        encoding: The setting ``input.encoding``.
        schema_file: The setting ``input.schema_file``; with it no schema comes from the registry.
        message: The setting ``input.message``.
        has_registry: Whether there is a registry.

    Raises:
        SchemaFileError: The file, or the message in it, cannot be used.
        MissingExtraError: A library is not installed.
    """
    if encoding == "gtfs-realtime":
        return _Plain(gtfs_realtime_reader())
    if encoding == "json":
        return FramedJson() if has_registry else PlainJson()
    try:
        if encoding == "avro":
            if schema_file is None:
                return _RegisteredAvro()
            return _AvroOfFile(avro_reader(_text(schema_file)))
        if schema_file is None:
            return _RegisteredProtobuf()
        return _ProtobufOfFile(_protobuf_file(schema_file), message)
    except (AvroSchemaError, ProtobufSchemaError) as fault:
        raise SchemaFileError(str(fault)) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise AvroSchemaError(f"it cannot be read ({type(fault).__name__})") from None


def _protobuf_file(path: Path) -> ProtobufSchema:
    return from_proto_file(path) if path.suffix == ".proto" else from_descriptor_set(path)


class _Plain(Decoder):
    """Every message stands for itself."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def document(self, value: bytes) -> Any:
        return self._reader(value)


class PlainJson(Decoder):
    """JSON."""

    def document(self, value: bytes) -> Any:
        """Decode a message."""
        return json_document(_json_in_other_frame(value) or value)


class FramedJson(Decoder):
    """JSON, with or without the id of its JSON Schema, which decoding does not need."""

    def document(self, value: bytes) -> Any:
        """Decode a message."""
        return json_document(_json_in_other_frame(value) or payload_of(value))


def _json_in_other_frame(value: bytes) -> bytes | None:
    """Return the text of an object or a list in a frame that no text begins with; None if there is none."""
    payload = payload_of_other(value)
    return payload if payload is not None and payload.lstrip().startswith((b"{", b"[")) else None


class _AvroOfFile(Decoder):
    """Avro of one schema, with or without a frame around it.

    An Avro message may begin like a frame by itself. Both readings check that the message ends where its values do.
    """

    def __init__(self, reader: AvroReader) -> None:
        self._reader = reader

    def records(
        self, values: Sequence[bytes | None], base: type[Any], paths: Mapping[str, tuple[str, ...]], unit_ms: float
    ) -> list[Any] | None:
        return _in_groups(values, lambda start: self._reader, base, paths, unit_ms)

    def document(self, value: bytes) -> Any:
        frame = framed(value)
        for payload in (None if frame is None else frame.payload, payload_of_other(value)):
            if payload is not None:
                try:
                    return self._reader(payload)
                except UnreadableError:
                    pass
        return self._reader(value)


class _ProtobufOfFile(Decoder):
    """Protobuf of one message, with or without the id of a schema before it: no message begins with a byte 0."""

    def __init__(self, schema: ProtobufSchema, message: str | None) -> None:
        self._plain = protobuf_reader(schema.named(message))
        self._readers = _ByIndexes(schema, None if message is None else self._plain)

    def document(self, value: bytes) -> Any:
        frame = framed(value)
        return self._plain(value) if frame is None else self._readers.read(frame.payload)


class _ByIndexes:
    """Readers of the messages of a schema, by the indexes before each payload."""

    def __init__(self, schema: ProtobufSchema, reader: Reader | None = None) -> None:
        self._schema, self._reader = schema, reader
        self._readers: dict[tuple[int, ...], Reader] = {}

    def read(self, payload: bytes) -> Any:
        found = message_indexes(payload)
        if found is None:
            raise UnreadableError(
                Reason.NOT_PROTOBUF, "the message has no message indexes behind the id of its Protobuf schema"
            )
        indexes, rest = found
        reader = self._reader or self._readers.get(indexes)
        if reader is None:
            descriptor = self._schema.at(indexes)
            if descriptor is None:
                raise UnreadableError(
                    Reason.NOT_PROTOBUF, "the message indexes are those of no message of the Protobuf schema"
                )
            reader = self._readers[indexes] = protobuf_reader(descriptor)
        return reader(rest)


class _Registered(Decoder):
    """Messages that begin with the id of their schema in the registry."""

    kind: SchemaKind
    not_framed: Reason

    def __init__(self) -> None:
        self._readers: dict[bytes, Reader | UnreadableError] = {}
        """By the first bytes of a message: a byte 0 and the id."""

    def missing(self, values: Iterable[bytes | None]) -> set[int]:
        starts = {value[:FRAME_BYTES] for value in values if value is not None}
        frames = [framed(start) for start in starts if start not in self._readers]
        return {frame.schema_id for frame in frames if frame is not None}

    def learn(self, schema_id: int, schema: RegisteredSchema | None) -> str | None:
        reader: Reader | None = None
        why: str | None = None
        if schema is None:
            detail = why = f"the schema registry has no schema with the id {schema_id}, which the message begins with"
        elif schema.kind != self.kind:
            encoding = self.kind.lower()
            detail = why = f"schema {schema_id} of the registry is of type {schema.kind}; input.encoding is {encoding}"
        else:
            detail = f"schema {schema_id} of the registry cannot be used"
            try:
                reader = self._compiled(schema)
            except (AvroSchemaError, ProtobufSchemaError) as fault:
                why = f"{detail}: {fault}"
        self._readers[frame_of(schema_id)] = reader or UnreadableError(Reason.UNKNOWN_SCHEMA, detail)
        return why

    def forget(self, schema_id: int) -> None:
        self._readers.pop(frame_of(schema_id), None)

    def document(self, value: bytes) -> Any:
        reader = self._readers.get(value[:FRAME_BYTES])
        if reader is None:
            if framed(value) is None:
                raise UnreadableError(
                    self.not_framed, "the message does not begin with a byte 0 and the id of a schema in the registry"
                )
            raise UnreadableError(Reason.UNKNOWN_SCHEMA, "the message's schema has not been fetched from the registry")
        if isinstance(reader, UnreadableError):
            raise UnreadableError(reader.reason, reader.detail)
        return reader(value[FRAME_BYTES:])

    @abstractmethod
    def _compiled(self, schema: RegisteredSchema) -> Reader: ...


class _RegisteredAvro(_Registered):
    kind, not_framed = "AVRO", Reason.NOT_AVRO

    def __init__(self) -> None:
        super().__init__()
        avro_reader('"null"')  # without the library a worker should not even start

    def records(
        self, values: Sequence[bytes | None], base: type[Any], paths: Mapping[str, tuple[str, ...]], unit_ms: float
    ) -> list[Any] | None:
        return _in_groups(values, self._readers.get, base, paths, unit_ms)

    def _compiled(self, schema: RegisteredSchema) -> Reader:
        return avro_reader(schema.text, [text for _, text in schema.references])


class _RegisteredProtobuf(_Registered):
    kind, not_framed = "PROTOBUF", Reason.NOT_PROTOBUF

    def __init__(self) -> None:
        super().__init__()
        _check_compiler()

    def _compiled(self, schema: RegisteredSchema) -> Reader:
        return _ByIndexes(compiled(schema.text, dict(schema.references))).read


@cache
def _check_compiler() -> None:
    """Refuse to go on without the compiler of schemas. It is a process of its own, so one check serves all decoders.

    Raises:
        ProtobufSchemaError: It cannot run.
        MissingExtraError: It is not installed.
    """
    compiled('syntax = "proto3";', {})


def _in_groups(
    values: Sequence[bytes | None],
    reader_of: Callable[[bytes], Any],
    base: type[Any],
    paths: Mapping[str, tuple[str, ...]],
    unit_ms: float,
) -> list[Any] | None:
    """Decode messages of the same schema together; see :meth:`Decoder.records`.

    Args:
        values: The messages.
        reader_of: Returns the reader of messages that begin with some bytes; empty for those without a frame.
        base: The type of the records.
        paths: For each of its fields the names that lead to it.
        unit_ms: Milliseconds in the unit of times that are numbers.
    """
    if len(values) < _LEAST_AT_ONCE:
        return None
    starts = [b"" if value is None or value[:1] != b"\0" else value[:FRAME_BYTES] for value in values]
    of_start = set(starts)
    found: list[Any] = [None] * len(values)
    for start in of_start:
        reader = reader_of(start if len(start) == FRAME_BYTES else b"")
        columns = reader.columns(base, paths) if isinstance(reader, AvroReader) else None
        if columns is None:
            continue
        if len(of_start) == 1 and None not in values:
            return columns.records(cast("Sequence[bytes]", values), skip=len(start), unit_ms=unit_ms)
        numbers = [i for i, own in enumerate(starts) if own == start and values[i]]
        if len(numbers) >= _LEAST_AT_ONCE:
            group = [value for i in numbers if (value := values[i])]
            for number, record in zip(numbers, columns.records(group, skip=len(start), unit_ms=unit_ms), strict=True):
                found[number] = record
    return found
