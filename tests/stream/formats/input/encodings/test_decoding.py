"""Decoders: from bytes to documents by each encoding, with and without the frame of a registry."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from core.records.record import Reason
from stream.formats.input.encodings.decoding import Decoder, SchemaFileError, new_decoder
from stream.formats.input.encodings.registered import RegisteredSchema
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import frame_of

AVRO = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "user", "type": "string"}, {"name": "lat", "type": "double"}]}
)
PROTO = 'syntax = "proto3"; message R { string user = 1; } message S { message T { int32 n = 1; } string name = 1; }'
AVRO_MESSAGE = b"\x02u" + b"\0" * 8
PROTO_MESSAGE = b"\x0a\x01u"


def rejection(decoder: Decoder, value: bytes) -> tuple[Reason, str]:
    with pytest.raises(UnreadableError) as raised:
        decoder.document(value)
    assert raised.value.__context__ is None
    return raised.value.reason, raised.value.detail


@pytest.fixture
def avro_file(tmp_path: Path) -> Path:
    path = tmp_path / "r.avsc"
    path.write_text(AVRO)
    return path


@pytest.fixture
def proto_file(tmp_path: Path) -> Path:
    path = tmp_path / "r.proto"
    path.write_text(PROTO)
    return path


def test_avro_of_a_file_with_and_without_a_frame(avro_file: Path) -> None:
    """
    Where there is no registry, the id before a message is passed over. A message that begins like a frame by itself,
    with an empty text, is read as it is.
    """
    decoder = new_decoder("avro", schema_file=avro_file)
    assert decoder.missing([AVRO_MESSAGE, frame_of(7) + AVRO_MESSAGE, None]) == set()
    for value in (AVRO_MESSAGE, frame_of(7) + AVRO_MESSAGE):
        assert decoder.document(value) == {"user": "u", "lat": 0.0}
    assert decoder.document(b"\0" + b"\0" * 8) == {"user": "", "lat": 0.0}
    assert rejection(decoder, frame_of(7) + b"\x02u")[0] is Reason.NOT_AVRO
    assert rejection(decoder, b'{"user": "u"}')[0] is Reason.NOT_AVRO


FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "glue": lambda payload: b"\x03\x00" + bytes(range(16)) + payload,
    "glue, compressed": lambda payload: b"\x03\x05" + bytes(range(16)) + zlib.compress(payload),
    "apicurio": lambda payload: b"\0" + (7).to_bytes(8, "big") + payload,
    "single object": lambda payload: b"\xc3\x01" + bytes(range(8)) + payload,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_other_serializers(frame: Callable[[bytes], bytes], avro_file: Path) -> None:
    """
    With a schema file Avro is read in each of them, and JSON always is; a payload that is broken is rejected.
    """
    assert new_decoder("avro", schema_file=avro_file).document(frame(AVRO_MESSAGE)) == {"user": "u", "lat": 0.0}
    assert rejection(new_decoder("avro", schema_file=avro_file), frame(b"\x02u"))[0] is Reason.NOT_AVRO
    for has_registry in (False, True):
        decoder = new_decoder("json", has_registry=has_registry)
        assert decoder.document(frame(b'{"user": "u"}')) == {"user": "u"}
        assert rejection(decoder, frame(b'{"user"'))[0] in (Reason.NOT_JSON, Reason.NOT_UTF8)


def test_a_compressed_payload_has_bounds() -> None:
    """
    A few bytes do not become gigabytes.
    """
    huge = b"[" + b" " * 2**25 + b"]"
    assert rejection(new_decoder("json"), FRAMES["glue, compressed"](huge))[0] is Reason.NOT_UTF8
    cut = FRAMES["glue, compressed"](b'{"user": "u"}')[:-3]
    assert rejection(new_decoder("json"), cut)[0] in (Reason.NOT_JSON, Reason.NOT_UTF8)


def test_protobuf_of_a_file_with_and_without_a_frame(proto_file: Path) -> None:
    """
    Without a frame the named message, or the first one, is meant; in a frame the one that the indexes name, unless the
    settings name one.
    """
    decoder = new_decoder("protobuf", schema_file=proto_file)
    assert decoder.document(PROTO_MESSAGE) == {"user": "u"}
    assert decoder.document(frame_of(7) + b"\0" + PROTO_MESSAGE) == {"user": "u"}
    assert decoder.document(frame_of(7) + b"\x02\x02" + PROTO_MESSAGE) == {"name": "u"}
    assert decoder.document(frame_of(7) + b"\x04\x02\0" + b"\x08\x05") == {"n": 5}
    assert rejection(decoder, frame_of(7) + b"\x02\x08")[0] is Reason.NOT_PROTOBUF
    assert rejection(decoder, frame_of(7))[0] is Reason.NOT_PROTOBUF
    named = new_decoder("protobuf", schema_file=proto_file, message="S")
    for value in (PROTO_MESSAGE, frame_of(7) + b"\0" + PROTO_MESSAGE):
        assert named.document(value) == {"name": "u"}


def test_schema_files_that_cannot_be_used(tmp_path: Path, proto_file: Path) -> None:
    """
    A missing file, one that is no schema, or a message that it does not have: a sentence says what is wrong.
    """
    wrong = tmp_path / "wrong.avsc"
    wrong.write_text("{")
    cases: list[tuple[Any, Path, str | None, str]] = [
        ("avro", tmp_path / "none.avsc", None, "cannot be read"),
        ("avro", wrong, None, "not JSON"),
        ("protobuf", tmp_path / "none.proto", None, "cannot be read"),
        ("protobuf", proto_file, "Q", "no message Q; its messages are: R, S"),
    ]
    for encoding, path, message, why in cases:
        with pytest.raises(SchemaFileError, match=why):
            new_decoder(encoding, schema_file=path, message=message)


def test_registered_avro() -> None:
    """
    A schema is missing until it is learnt, by its id; messages with an id that the registry does not have, or whose
    schema is of another kind or broken, are rejected.
    """
    decoder = new_decoder("avro", has_registry=True)
    values = [frame_of(n) + AVRO_MESSAGE for n in (1, 2, 3, 4, 4)]
    assert decoder.missing([*values, None, b"", AVRO_MESSAGE, b"\0\0"]) == {1, 2, 3, 4}
    assert rejection(decoder, values[0])[0] is Reason.UNKNOWN_SCHEMA
    assert decoder.learn(1, RegisteredSchema("AVRO", AVRO)) is None
    assert "has no schema" in str(decoder.learn(2, None))
    assert "is of type PROTOBUF" in str(decoder.learn(3, RegisteredSchema("PROTOBUF", PROTO)))
    assert "is not JSON" in str(decoder.learn(4, RegisteredSchema("AVRO", "{")))
    assert decoder.missing(values) == set()
    assert decoder.document(values[0]) == {"user": "u", "lat": 0.0}
    unknown = Reason.UNKNOWN_SCHEMA
    assert rejection(decoder, values[1]) == (
        unknown,
        "the schema registry has no schema with the id 2, which the message begins with",
    )
    assert rejection(decoder, values[2]) == (
        unknown,
        "schema 3 of the registry is of type PROTOBUF; input.encoding is avro",
    )
    assert rejection(decoder, values[3]) == (unknown, "schema 4 of the registry cannot be used")
    assert rejection(decoder, AVRO_MESSAGE)[0] is Reason.NOT_AVRO
    decoder.forget(2)
    assert decoder.missing(values) == {2}


def test_registered_protobuf() -> None:
    """
    The indexes before the payload say which message of the schema it is; references are found by their names.
    """
    decoder = new_decoder("protobuf", has_registry=True)
    decoder.learn(1, RegisteredSchema("PROTOBUF", PROTO))
    text = 'syntax = "proto3"; import "r.proto"; message U { R r = 1; }'
    decoder.learn(2, RegisteredSchema("PROTOBUF", text, (("r.proto", PROTO),)))
    decoder.learn(3, RegisteredSchema("PROTOBUF", text))
    assert decoder.document(frame_of(1) + b"\0" + PROTO_MESSAGE) == {"user": "u"}
    assert decoder.document(frame_of(1) + b"\x02\x02" + PROTO_MESSAGE) == {"name": "u"}
    assert decoder.document(frame_of(2) + b"\0\x0a\x03" + PROTO_MESSAGE) == {"r": {"user": "u"}}
    assert rejection(decoder, frame_of(3) + b"\0")[0] is Reason.UNKNOWN_SCHEMA
    assert rejection(decoder, PROTO_MESSAGE)[0] is Reason.NOT_PROTOBUF


def test_json_with_a_registry_may_be_framed() -> None:
    """
    JSON Schema messages are read without their schema; plain ones too.
    """
    decoder = new_decoder("json", has_registry=True)
    text = b'{"user": "u"}'
    assert decoder.missing([frame_of(7) + text]) == set()
    for value in (text, frame_of(7) + text):
        assert decoder.document(value) == {"user": "u"}
    assert rejection(decoder, frame_of(7) + b"{")[0] is Reason.NOT_JSON


@given(st.binary(max_size=40))
def test_any_bytes_are_a_document_or_rejected(value: bytes) -> None:
    """
    No decoder raises anything but its one error, whatever the bytes are.
    """
    avro, protobuf = (new_decoder(encoding, has_registry=True) for encoding in ("avro", "protobuf"))
    avro.learn(0, RegisteredSchema("AVRO", AVRO))
    for decoder in (avro, protobuf, new_decoder("json", has_registry=True), new_decoder("gtfs-realtime")):
        for one in (value, frame_of(0) + value):
            decoder.missing([one])
            try:
                decoder.document(one)
            except UnreadableError as fault:
                assert fault.detail  # noqa: PT017 - any bytes may be readable
