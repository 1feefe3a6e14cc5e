"""Protobuf: messages become documents, by their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.records.record import Reason
from stream.formats.input.encodings.protobuf_documents import Descriptor, document_maker
from stream.formats.input.errors import UnreadableError

__all__ = ["protobuf_reader"]


def protobuf_reader(descriptor: Descriptor, *, what: str = "Protobuf of its schema") -> Callable[[bytes], Any]:
    """Return a function that decodes messages of one type.

    Args:
        descriptor: The descriptor of the type.
        what: What a message must be, for the error.

    Returns:
        A function that raises :class:`~stream.formats.input.errors.UnreadableError`. For what a document holds see
        :func:`stream.formats.input.encodings.protobuf_documents.document_maker`.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an optional extra
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    parse = GetMessageClass(descriptor).FromString
    make = document_maker(descriptor)

    def document(value: bytes) -> Any:
        try:
            found = make(parse(value))
            is_readable = True
        except (DecodeError, RecursionError, UnicodeDecodeError):
            is_readable = False
        # Raised outside of an except clause: otherwise its context would be an exception that holds the message.
        if not is_readable:
            raise UnreadableError(Reason.NOT_PROTOBUF, f"the message is not {what}")
        return found

    return document
