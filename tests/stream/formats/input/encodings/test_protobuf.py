"""Protobuf messages: what they become, against the library's own JSON, and bytes that are not Protobuf."""

from __future__ import annotations

import base64
import datetime as dt
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from google.transit import gtfs_realtime_pb2
from hypothesis import given, settings

from core.records.record import Reason
from stream.formats.input.encodings.gtfs_realtime import gtfs_realtime_reader
from stream.formats.input.encodings.protobuf import protobuf_reader
from stream.formats.input.encodings.protobuf_schemas import (
    ProtobufSchema,
    ProtobufSchemaError,
    compiled,
    from_descriptor_set,
    from_proto_file,
)
from stream.formats.input.errors import UnreadableError
from tests.budgets import examples

SCHEMA = """
syntax = "proto3";
package demo.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";
import "google/type/latlng.proto";
import "confluent/meta.proto";
import "base/place.proto";
enum Fix { NONE = 0; GPS = 1; }
message Record {
  message Point { int64 ts = 1; double lat = 2; optional double lon = 3; Point before = 4; }
  string user = 1;
  google.protobuf.Timestamp ts = 2;
  repeated Point points = 3;
  map<string, Point> named = 4;
  map<int32, string> numbered = 5;
  Fix fix = 6;
  repeated Fix fixes = 7;
  bytes raw = 8;
  google.protobuf.DoubleValue accuracy = 9;
  google.protobuf.BytesValue wrapped = 10;
  google.protobuf.Duration age = 11;
  google.protobuf.Struct more = 12;
  google.protobuf.Any any = 13;
  oneof where { google.type.LatLng at = 14; base.Place place = 15; }
  optional string note = 16 [(confluent.field_meta).doc = "a note"];
  uint64 large = 17;
  float speed = 18;
}
message Other { int32 number = 1; }
"""
PLACE = 'syntax = "proto3"; package base; message Place { string name = 1; }'


@pytest.fixture(scope="module")
def schema() -> ProtobufSchema:
    return compiled(SCHEMA, {"base/place.proto": PLACE})


def make(schema: ProtobufSchema, text: str) -> bytes:
    """Write a message of what the library reads from JSON."""
    message = GetMessageClass(schema.named("Record"))()
    return bytes(json_format.Parse(text, message).SerializeToString())


def test_all_types_become_plain_data(schema: ProtobufSchema) -> None:
    """
    Times become datetimes, wrappers values, enumerations names, maps dicts, bytes hexadecimal digits; Any is not read.
    """
    value = make(
        schema,
        """{"user": "p01", "ts": "2025-10-09T08:53:20.123456789Z",
            "points": [{"ts": "1", "lat": 1.5, "lon": 0, "before": {"ts": 2}}],
            "named": {"a": {"lat": 3}}, "numbered": {"-7": "x"}, "fix": "GPS", "fixes": ["GPS", "NONE", 9],
            "raw": "AAAA", "accuracy": 0, "wrapped": "AAAA", "age": "1.5s",
            "more": {"a": [1, "b", null, {"c": true}]},
            "at": {"latitude": 48.2, "longitude": 16.4}, "note": "", "large": "18446744073709551615", "speed": 0.5}""",
    )
    assert protobuf_reader(schema.named(None))(value) == {
        "user": "p01",
        "ts": dt.datetime(2025, 10, 9, 8, 53, 20, 123456, tzinfo=dt.UTC),
        "points": [{"ts": 1, "lat": 1.5, "lon": 0.0, "before": {"ts": 2, "lat": 0.0}}],
        "named": {"a": {"ts": 0, "lat": 3.0}},
        "numbered": {"-7": "x"},
        "fix": "GPS",
        "fixes": ["GPS", "NONE", 9],
        "raw": "000000",
        "accuracy": 0.0,
        "wrapped": "000000",
        "age": 1.5,
        "more": {"a": [1.0, "b", None, {"c": True}]},
        "at": {"latitude": 48.2, "longitude": 16.4},
        "note": "",
        "large": 2**64 - 1,
        "speed": 0.5,
    }


def test_fields_that_are_not_set(schema: ProtobufSchema) -> None:
    """
    A field whose presence the schema does not distinguish has its default; all others are left out.
    """
    assert protobuf_reader(schema.named("Record"))(b"") == {
        "user": "",
        "points": [],
        "named": {},
        "numbered": {},
        "fix": "NONE",
        "fixes": [],
        "raw": None,
        "large": 0,
        "speed": 0.0,
    }


def test_times_beyond_the_calendar_are_its_ends(schema: ProtobufSchema) -> None:
    """
    Seconds that no datetime holds are no crash.
    """
    message: Any = GetMessageClass(schema.named("Record"))()
    for seconds, year in ((2**62, 9999), (-(2**62), 1)):
        message.ts.seconds = seconds
        assert protobuf_reader(schema.named("Record"))(message.SerializeToString())["ts"].year == year


def test_messages_are_found_by_indexes_and_names(schema: ProtobufSchema) -> None:
    """
    Indexes go from the outermost to the innermost message; a name may have its package or not.
    """
    assert [getattr(schema.at(at), "full_name", None) for at in ((0,), (1,), (0, 0))] == [
        "demo.v1.Record",
        "demo.v1.Other",
        "demo.v1.Record.Point",
    ]
    assert [schema.at(at) for at in ((2,), (0, 9), (1, 0))] == [None, None, None]
    for name in ("Other", "demo.v1.Other"):
        assert schema.named(name) is schema.at([1])
    assert schema.named(None) is schema.at([0])
    with pytest.raises(ProtobufSchemaError, match="no message Nope; its messages are: Other, Record"):
        schema.named("Nope")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('syntax = "proto3"; message {', r"main\.proto:1:28"),
        ('syntax = "proto3"; import "nope.proto";', r"nope\.proto"),
        ("", "it has no message"),
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str, why: str) -> None:
    """
    The error says what the compiler says.
    """
    with pytest.raises(ProtobufSchemaError, match=why):
        compiled(text, {}).named(None)


@pytest.mark.parametrize("name", ["../outside.proto", "/outside.proto"])
def test_references_stay_in_their_folder(name: str) -> None:
    """
    A registry cannot have files written elsewhere by the name of a reference.
    """
    with pytest.raises(ProtobufSchemaError, match="outside"):
        compiled('syntax = "proto3"; message A {}', {name: PLACE})


def test_descriptors_in_base64() -> None:
    """
    Some serializers register them in place of the text, for a schema and for its references.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415

    def registered(schema: ProtobufSchema, name: str) -> str:
        descriptor = FileDescriptorProto()
        schema.named(name).file.CopyToProto(descriptor)
        descriptor.name = "another.proto"
        return base64.b64encode(descriptor.SerializeToString()).decode()

    place = compiled(PLACE, {})
    text = """syntax = "proto3"; package top; import "base/place.proto"; import "google/protobuf/timestamp.proto";
        message First {} message Top { base.Place p = 1; google.protobuf.Timestamp ts = 2; }"""
    top = registered(compiled(text, {"base/place.proto": PLACE}), "Top")
    for reference in (PLACE, registered(place, "Place")):
        found = compiled(top, {"base/place.proto": reference})
        read = protobuf_reader(found.at([1]))
        assert read(b"\x0a\x03\x0a\x01x\x12\0") == {"p": {"name": "x"}, "ts": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}
    with pytest.raises(ProtobufSchemaError):
        compiled(top, {})


def test_schema_files(schema: ProtobufSchema, tmp_path: Path) -> None:
    """
    A .proto file finds those that it imports beside it; a descriptor set has them.
    """
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "place.proto").write_text(PLACE)
    (tmp_path / "feed.proto").write_text(
        'syntax = "proto3"; import "base/place.proto"; message A { base.Place p = 1; }'
    )
    found = from_proto_file(tmp_path / "feed.proto")
    assert protobuf_reader(found.named("A"))(b"\x0a\x03\x0a\x01x") == {"p": {"name": "x"}}

    from grpc_tools import protoc  # noqa: PLC0415 - as people call it

    arguments = ["protoc", f"--proto_path={tmp_path}", f"--descriptor_set_out={tmp_path}/feed.desc"]
    assert protoc.main([*arguments, "--include_imports", "feed.proto"]) == 0
    found = from_descriptor_set(tmp_path / "feed.desc")
    assert protobuf_reader(found.named(None))(b"\x0a\x03\x0a\x01x") == {"p": {"name": "x"}}
    assert protoc.main([*arguments, "feed.proto"]) == 0
    with pytest.raises(ProtobufSchemaError, match="--include_imports"):
        from_descriptor_set(tmp_path / "feed.desc")
    (tmp_path / "broken.desc").write_bytes(b"\xff")
    (tmp_path / "empty.desc").write_bytes(b"")
    for name in ("broken.desc", "empty.desc", "missing.desc"):
        with pytest.raises(ProtobufSchemaError):
            from_descriptor_set(tmp_path / name)
    with pytest.raises(ProtobufSchemaError, match="cannot be read"):
        from_proto_file(tmp_path / "missing.proto")


def outcome(reader: Any, value: bytes) -> Any:
    """Return a document, or why there is none."""
    try:
        return reader(value)
    except UnreadableError as fault:
        return fault


@given(data=st.data())
@settings(max_examples=examples(400))
def test_spoiled_bytes_are_a_document_or_rejected(schema: ProtobufSchema, data: st.DataObject) -> None:
    """
    Cut or changed messages raise one error, without their content in text or context; or they are Protobuf still.
    """
    good = make(
        schema, '{"user": "p01", "points": [{"ts": 1, "lat": 1.5, "before": {"ts": 2}}], "more": {"a": [1, "b"]}}'
    )
    at = data.draw(st.integers(0, len(good) - 1))
    spoiled = data.draw(
        st.sampled_from([good[:at], good[:at] + data.draw(st.binary(max_size=9)) + good[at + 1 :]]) | st.binary()
    )
    found = outcome(protobuf_reader(schema.named("Record")), spoiled)
    if isinstance(found, UnreadableError):
        assert found.reason is Reason.NOT_PROTOBUF
        assert found.__context__ is None
        assert found.detail == "the message is not Protobuf of its schema"
    else:
        assert isinstance(found["user"], str)


def test_messages_nested_too_deep_are_rejected(schema: ProtobufSchema) -> None:
    """
    A message that contains itself many thousands of times must not overflow the stack.
    """
    value = b""
    for _ in range(3_000):
        size = len(value)
        length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
        value = b"\x22" + length + value
    assert isinstance(outcome(protobuf_reader(schema.named("demo.v1.Record.Point")), value), UnreadableError)


def feed(n_vehicles: int) -> Any:
    """Return a message of vehicles, with a part that nobody reads."""
    message = gtfs_realtime_pb2.FeedMessage()
    message.header.gtfs_realtime_version = "2.0"
    message.header.timestamp = 1_760_000_000
    for i in range(n_vehicles):
        entity = message.entity.add(id=str(i))
        entity.vehicle.vehicle.id = f"v{i}"
        entity.vehicle.position.latitude = 48.5
        entity.vehicle.position.longitude = 16.5 + i
        entity.vehicle.timestamp = 1_760_000_000 + i
        entity.vehicle.current_status = gtfs_realtime_pb2.VehiclePosition.STOPPED_AT
    return message


def test_gtfs_realtime() -> None:
    """
    A FeedMessage becomes its document; what is not set is left out, and an empty feed has an empty list.
    """
    read = gtfs_realtime_reader()
    message = feed(2)
    message.entity.add(id="x").alert.cause = 1
    found = read(message.SerializeToString())
    assert found["header"]["timestamp"] == 1_760_000_000
    assert found["entity"][1]["vehicle"] == {
        "vehicle": {"id": "v1"},
        "position": {"latitude": 48.5, "longitude": 17.5},
        "timestamp": 1_760_000_001,
        "current_status": "STOPPED_AT",
        "multi_carriage_details": [],
    }
    assert "vehicle" not in found["entity"][2]
    assert read(feed(0).SerializeToString())["entity"] == []
    for value in (b"\xff\xff", b'{"header": {}}'):
        with pytest.raises(UnreadableError, match="not a FeedMessage of GTFS-realtime"):
            read(value)
