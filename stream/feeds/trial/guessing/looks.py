"""What bytes look like that are not what the settings say."""

from __future__ import annotations

from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import FRAME_BYTES, looks_framed, message_indexes, payload_of_other, varint
from stream.formats.input.json_messages import is_utf16, json_document

__all__ = ["FRAMED_AVRO", "FRAMED_PROTOBUF", "looks_like"]

FRAMED_AVRO = "messages of a schema registry: a byte 0, the id of a schema, then probably Avro"
FRAMED_PROTOBUF = "messages of a schema registry: a byte 0, the id of a schema, then probably Protobuf"

_GLUE = "messages of AWS Glue Schema Registry: set input.encoding to avro, and input.schema_file"
_STARTS = {
    b"\x1f\x8b": "gzip: the producer should use Kafka's own compression instead",
    b"\x28\xb5\x2f\xfd": "zstd: the producer should use Kafka's own compression instead",
    b"\x03\x00": _GLUE,
    b"\x03\x05": _GLUE,
    b"\xc3\x01": "Avro's single-object encoding: set input.encoding to avro, and input.schema_file",
    b"Obj\x01": "an Avro container file: a message must be one record, as schema registries and plain Avro have them",
    b"PAR1": "Parquet",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"\xac\xed\x00\x05": "objects that Java has serialized",
    b"\x80\x04\x95": "objects that Python has pickled",
}
_VARINT_BYTES = 10


def looks_like(value: bytes) -> str | None:
    """Return in words what a message looks like; None if it is JSON."""
    if not value.strip():
        return "nothing: it is empty"
    if known := [words for start, words in _STARTS.items() if value.startswith(start)]:
        payload = payload_of_other(value)
        return known[0] if payload is None or not payload.startswith((b"{", b"[")) else None
    if looks_framed(value):
        return _framed(value[FRAME_BYTES:])
    if is_utf16(value):
        return "text in UTF-16 or UTF-32"
    return None if _is_json(value) else _not_json(value)


def _is_json(value: bytes) -> bool:
    try:
        json_document(value)
    except UnreadableError:
        return False
    return True


def _not_json(value: bytes) -> str:
    if value.lstrip().startswith(b"<"):
        return "XML or HTML"
    if _is_protobuf(value):
        return "Protobuf, or an encoding like it"
    return "text that is not JSON" if _is_text(value) else "an unknown encoding: plain Avro has no sign of its own"


def _framed(payload: bytes) -> str:
    if payload.lstrip().startswith((b"{", b"[")):
        return "messages of a schema registry: a byte 0, the id of a schema, then JSON"
    indexes = message_indexes(payload)
    return FRAMED_PROTOBUF if indexes is not None and _is_protobuf(indexes[1]) else FRAMED_AVRO


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().isprintable() or b"\n" in value
    except UnicodeDecodeError:
        return False


def _is_protobuf(value: bytes) -> bool:
    """Whether bytes can be read to their end as the fields of a Protobuf message."""
    at = n_fields = 0
    while at < len(value):
        if (found := varint(value, at, _VARINT_BYTES)) is None:
            return False
        tag, at = found
        if tag >> 3 == 0 or tag >> 3 > 10_000:
            return False
        if tag & 7 in (0, 2):
            if (found := varint(value, at, _VARINT_BYTES)) is None:
                return False
            number, at = found
            at += number if tag & 7 == 2 else 0
        elif tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
        else:
            return False
        n_fields += 1
    return at == len(value) and n_fields > 0
