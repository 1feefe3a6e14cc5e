"""The frame that serializers of a schema registry put around messages: a byte 0, the schema's id, then the payload.

The id has four bytes, big endian. In Protobuf the payload begins with the indexes of its message in the schema.

Other serializers write other frames: those of AWS Glue a byte 3, whether the payload is compressed, and 16 bytes that
name the schema; those of Apicurio Registry 2 an id of eight bytes; Avro's own single-object encoding the bytes C3 01
and eight of the schema's fingerprint.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

__all__ = [
    "FRAME_BYTES",
    "Frame",
    "frame_of",
    "framed",
    "looks_framed",
    "message_indexes",
    "payload_of",
    "payload_of_other",
    "varint",
]

FRAME_BYTES = 5
_FIRST = b"\0"

_GLUE_BYTES = 18
_GLUE_PLAIN, _GLUE_ZLIB = b"\x03\x00", b"\x03\x05"
_MOST_UNPACKED = 16 * 2**20
"""Bytes of a payload that was compressed; a larger one is not read."""

_LONG_ID, _LONG_ID_BYTES = bytes(FRAME_BYTES), 9
"""What an id of eight bytes begins with, as long as there are fewer than four billion; ids of four begin at 1."""

_SINGLE_OBJECT, _SINGLE_OBJECT_BYTES = b"\xc3\x01", 10
_MOST_INDEXES = 64
"""Depth of nested messages; no schema that people write has as many."""

_INDEX_BYTES = 5
"""Most bytes of an index, or of their number."""


class Frame(NamedTuple):
    """A framed message."""

    schema_id: int
    payload: bytes


def framed(value: bytes) -> Frame | None:
    """Take a message out of its frame; None if it has none.

    >>> framed(bytes([0, 0, 0, 0, 7]) + b"payload")
    Frame(schema_id=7, payload=b'payload')
    """
    if len(value) < FRAME_BYTES or value[:1] != _FIRST:
        return None
    return Frame(int.from_bytes(value[1:FRAME_BYTES], "big"), value[FRAME_BYTES:])


def frame_of(schema_id: int) -> bytes:
    """Return the bytes that frame a payload of a schema."""
    return _FIRST + schema_id.to_bytes(FRAME_BYTES - 1, "big")


def payload_of(value: bytes) -> bytes:
    """Return a message without its frame, if it has one."""
    return value[FRAME_BYTES:] if value[:1] == _FIRST else value


def payload_of_other(value: bytes) -> bytes | None:
    """Take a message out of the frame of another serializer; None if it has none.

    >>> payload_of_other(bytes([3, 0]) + bytes(16) + b"payload"), payload_of_other(b"payload")
    (b'payload', None)
    """
    if value.startswith(_GLUE_PLAIN):
        return value[_GLUE_BYTES:] or None
    if value.startswith(_GLUE_ZLIB):
        unpacking = zlib.decompressobj()
        try:
            found = unpacking.decompress(value[_GLUE_BYTES:], _MOST_UNPACKED)
        except zlib.error:
            return None
        return found if unpacking.eof and not unpacking.unused_data else None
    if value.startswith(_LONG_ID):
        return value[_LONG_ID_BYTES:] or None
    return value[_SINGLE_OBJECT_BYTES:] or None if value.startswith(_SINGLE_OBJECT) else None


def looks_framed(value: bytes) -> bool:
    """Whether a message begins as messages with a schema registry's id do, and not as text.

    Registries count ids from 1, so that the bytes after the first are rarely all in use. Text in UTF-16 or UTF-32 may
    begin with zeros too, but does not go on with an id and then a text of single bytes.
    """
    frame = framed(value)
    return frame is not None and 0 < frame.schema_id < 1 << 24 and frame.payload[1:4:2] != b"\0\0"


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes] | None:
    """Read the message indexes before a Protobuf payload.

    They say which message of the schema follows, from the outermost to the innermost: ``(1, 0)`` is the first message
    in the second one. Their number and each of them is a zigzag varint; a single 0 stands for ``(0,)``.

    Returns:
        The indexes and the rest; None if the payload does not begin with indexes.

    >>> message_indexes(bytes([0]) + b"rest"), message_indexes(bytes([4, 2, 0]) + b"rest")
    (((0,), b'rest'), ((1, 0), b'rest'))
    """
    at = 0
    indexes: list[int] = []
    number: int | None = None
    while number is None or len(indexes) < number:
        if (found := varint(payload, at, _INDEX_BYTES)) is None:
            return None
        zigzag, at = found
        value = (zigzag >> 1) ^ -(zigzag & 1)
        if number is None:
            number = value
            if not 0 <= number <= _MOST_INDEXES:
                return None
        elif value < 0:
            return None
        else:
            indexes.append(value)
    return tuple(indexes) or (0,), payload[at:]


def varint(value: bytes, at: int, most_bytes: int) -> tuple[int, int] | None:
    """Read a number of seven bits a byte, the lowest first; every byte but the last has its highest bit set.

    Args:
        value: What holds it.
        at: Where it begins.
        most_bytes: A longer one is none.

    Returns:
        The number, not negative, and the index behind it; None if there is none.

    >>> varint(bytes([0x96, 0x01, 0]), 0, 5), varint(bytes([0x96]), 0, 5)
    ((150, 2), None)
    """
    found = 0
    for i, byte in enumerate(value[at : at + most_bytes]):
        found |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return found, at + i + 1
    return None
