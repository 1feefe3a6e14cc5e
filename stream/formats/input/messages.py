"""Messages: the bytes of one message of a feed become its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgspec

from core.records.record import CheckIn, Fragment, Kind
from stream.formats.input.encodings.decoding import Decoder, FramedJson, PlainJson
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import payload_of
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Unreadable
from stream.formats.input.paths import Origin
from stream.formats.input.wire import Wire, wire_of

__all__ = ["MessageReader", "origin_of"]


_OTHER_FORM = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnreadableError)
"""What is raised for a message that is not of the expected form."""


class MessageReader:
    """Reads the messages of one kind of feed.

    Messages of the expected form are decoded straight into records, if the options leave one to expect. All others
    become a document first, in which the mapping finds the records.

    Args:
        kind: What the messages hold.
        options: Where the records and their fields are.
        decoder: Decodes messages; JSON by default.

    Raises:
        PathError: A path or a condition is not written as it must be.
    """

    def __init__(self, kind: Kind, options: MappingOptions, decoder: Decoder | None = None) -> None:
        decoder = decoder or PlainJson()
        self.decoder = decoder
        """What decodes a message; its schemas have to be fetched before."""
        self._mapping, self._document = DocumentMapping(kind, options), decoder.document
        self._wire, self._unit_ms = wire_of(kind, options), options.unit_ms
        self._decode = None if self._wire is None else _short_way(self._wire, decoder)

    @property
    def needs_origin(self) -> bool:
        """Whether what surrounds a message may matter."""
        return self._decode is None

    def records(self, values: Sequence[bytes | None]) -> list[CheckIn | Fragment | None]:
        """Return the record of each message of the expected form; None for any other, which :meth:`read_any` reads.

        Args:
            values: Messages; None stays None.
        """
        decode = self._decode
        if decode is None or self._wire is None:
            return [None] * len(values)
        many = self.decoder.records(values, self._wire.base, self._wire.paths, self._unit_ms)
        if many is None:
            return _one_by_one(values, decode)
        left = [i for i, record in enumerate(many) if record is None]
        for i, record in zip(left, _one_by_one([values[i] for i in left], decode), strict=True):
            many[i] = record
        return many

    def read(self, value: bytes, origin: Origin | None = None) -> Iterable[tuple[int | None, Entry]]:
        """Return the records of a message, each with its number in the message's list; the first is 1.

        The number is None if the message is one record. Nothing is raised: what cannot be read is an entry that says
        why.

        Args:
            value: The message.
            origin: What surrounds it.
        """
        if self._decode is not None:
            try:
                return ((None, self._decode(value)),)
            except _OTHER_FORM:
                pass
        return self.read_any(value, origin)

    def read_any(self, value: bytes, origin: Origin | None = None) -> Iterable[tuple[int | None, Entry]]:
        """Return the records of a message as :meth:`read` does, without trying whether it has the expected form.

        It is for what :meth:`records` refused: to try a second time costs time, and finds nothing.
        """
        try:
            document = self._document(value)
        except UnreadableError as fault:
            return ((None, Unreadable(fault.reason, fault.detail)),)
        return self._mapping.entries(document, origin or Origin())


def origin_of(message: Any) -> Origin:
    """Return what surrounds the record of a message, as the Kafka client returns it."""
    return Origin(
        key=message.key,
        headers=message.headers,
        timestamp_ms=message.timestamp if message.timestamp >= 0 else None,  # -1: unknown
        topic=message.topic,
    )


def _one_by_one(
    values: Sequence[bytes | None], decode: Callable[[bytes], CheckIn | Fragment]
) -> list[CheckIn | Fragment | None]:
    """Return the record of each message of the expected form; None for any other, and for None."""
    found: list[CheckIn | Fragment | None] = []
    for value in values:
        try:
            found.append(None if value is None else decode(value))
        except _OTHER_FORM:
            found.append(None)
    return found


def _short_way(wire: Wire, decoder: Decoder) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function that decodes a message of the expected form; it raises an error for any other."""
    decode: Callable[[bytes], Any]
    if isinstance(decoder, PlainJson):
        decode = msgspec.json.Decoder(wire.type).decode
    elif isinstance(decoder, FramedJson):
        of_json = msgspec.json.Decoder(wire.type).decode
        decode = lambda value: of_json(payload_of(value))  # noqa: E731 - one of three
    else:
        document = decoder.document
        decode = lambda value: msgspec.convert(document(value), wire.type)  # noqa: E731 - one of three
    record: Callable[[Any], CheckIn | Fragment] | None = wire.record
    return (
        cast("Callable[[bytes], CheckIn | Fragment]", decode) if record is None else lambda value: record(decode(value))
    )
