"""Messages: the bytes of one message of a feed become its records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from core.records.record import CheckIn, Fragment, Kind, attribute_field, checkin_type
from stream.formats.input.decoding import Decoder, FramedJson, PlainJson
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import payload_of
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Unreadable
from stream.formats.input.paths import Origin

__all__ = ["MessageReader"]

_PLAIN_NAME = re.compile(r'(?!kafka:|file:|[=/])[^"\\.\[\]|&]+')


class MessageReader:
    """Reads the messages of one kind of feed.

    Messages of the plain form, JSON with every field at the top, are decoded straight into records. All others, and
    those that this refuses, become a document first, in which the mapping finds the records.

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
        is_plain = isinstance(decoder, PlainJson | FramedJson) and _is_plain(options)
        self._decode = _plain_decoder(kind, options) if is_plain else None
        if self._decode is not None and isinstance(decoder, FramedJson):
            self._decode = _of_payload(self._decode)

    @property
    def needs_origin(self) -> bool:
        """Whether what surrounds a message may matter."""
        return self._decode is None

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
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
        try:
            document = self._document(value)
        except UnreadableError as fault:
            return ((None, Unreadable(fault.reason, fault.detail)),)
        return self._mapping.entries(document, origin or Origin())

    def of_document(self, document: Any, origin: Origin) -> Iterable[tuple[int | None, Entry]]:
        """Return the records of a document that is decoded already; see :meth:`read`."""
        return self._mapping.entries(document, origin)


def _of_payload(decode: Callable[[bytes], CheckIn | Fragment]) -> Callable[[bytes], CheckIn | Fragment]:
    return lambda value: decode(payload_of(value))


def _is_plain(options: MappingOptions) -> bool:
    names = (*options.names.values(), *options.attributes)
    has_paths = not all(_PLAIN_NAME.fullmatch(name) for name in names)
    return options.is_as_it_is and not (has_paths or options.records or options.only or options.observer)


def _plain_decoder(kind: Kind, options: MappingOptions) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function that decodes a message straight into a record."""
    base: type[CheckIn] | type[Fragment]
    base = checkin_type(len(options.attributes)) if kind is Kind.CHECKINS else Fragment
    names = dict(options.names) | {attribute_field(i): name for i, name in enumerate(options.attributes)}
    renamed = {field: names[field] for field in base.__struct_fields__ if names[field] != field}
    if not renamed:
        return cast("Callable[[bytes], CheckIn | Fragment]", msgspec.json.Decoder(base).decode)
    fields: list[tuple[str, type] | tuple[str, type, object]] = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(base)
    ]
    wire = msgspec.defstruct(base.__name__, fields, bases=(base,), rename=renamed, frozen=True, gc=False)
    return cast("Callable[[bytes], CheckIn | Fragment]", msgspec.json.Decoder(wire).decode)
