"""Avro messages read as columns: the same records as one by one, and nothing that one by one is not read."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from core.ingest.validate import Rules, _to_ms
from core.records.record import CheckIn, Kind
from stream.formats.input.encodings.avro import AvroReader, avro_reader
from stream.formats.input.encodings.avro_columns import AvroColumns, NoColumnsError
from stream.formats.input.encodings.decoding import new_decoder
from stream.formats.input.encodings.registered import RegisteredSchema
from stream.formats.input.framing import frame_of
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.messages import MessageReader
from stream.formats.input.wire import wire_of
from tests.budgets import examples
from tests.builders.inputs import NAMES

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Telemetry",
    "fields": [
        {"name": "note", "type": ["null", "string"]},
        {
            "name": "device",
            "type": [
                {
                    "type": "record",
                    "name": "D",
                    "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}],
                },
                "null",
            ],
        },
        {"name": "raw", "type": "bytes"},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": ["null", "float"]},
        {"name": "id8", "type": {"type": "fixed", "name": "F", "size": 8}},
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["BAR", "CAFE"]}},
        {"name": "valid", "type": "boolean"},
        {"name": "ts", "type": "long"},
        {"name": "nothing", "type": "null"},
    ],
}
OPTIONS = {"user": "device.id", "category": "kind"}
LOGICAL = ["timestamp-millis", "timestamp-micros", "timestamp-nanos", None]
UNITS = [1000.0, 1.0, 1e-3, 1e-6]
PER_SECOND = {"timestamp-millis": 10**3, "timestamp-micros": 10**6, "timestamp-nanos": 10**9, None: 1}

VALUES = st.fixed_dictionaries(
    {
        "note": st.none() | st.text(max_size=5),
        "device": st.none()
        | st.fixed_dictionaries({"id": st.text(max_size=200), "n": st.integers(-(2**31), 2**31 - 1)}),
        "raw": st.binary(max_size=5),
        "lat": st.floats(allow_nan=False),
        "lon": st.none() | st.floats(width=32, allow_nan=False),
        "id8": st.binary(min_size=8, max_size=8),
        "kind": st.sampled_from(["BAR", "CAFE"]),
        "valid": st.booleans(),
        "s": st.integers(946_684_800, 4_102_444_799),
        "part": st.integers(0, 10**9),
        "nothing": st.none(),
    }
)


def with_time(logical: str | None) -> dict[str, Any]:
    """Return the schema with a logical type of its time, or a plain number."""
    kind: Any = "long" if logical is None else {"type": "long", "logicalType": logical}
    fields = [{"name": "ts", "type": kind} if one["name"] == "ts" else one for one in SCHEMA["fields"]]
    return SCHEMA | {"fields": fields}


def written(value: dict[str, Any], per_second: int) -> bytes:
    target = io.BytesIO()
    ts = value["s"] * per_second + value["part"] * per_second // 10**9
    fastavro.schemaless_writer(target, fastavro.parse_schema(SCHEMA), value | {"ts": ts})
    return target.getvalue()


def reader(schema: dict[str, Any], unit_ms: float) -> MessageReader:
    decoder = new_decoder("avro", has_registry=True)
    decoder.learn(1, RegisteredSchema("AVRO", json.dumps(schema)))
    return MessageReader(Kind.CHECKINS, MappingOptions(names=dict(NAMES) | OPTIONS, unit_ms=unit_ms), decoder)


def plain(record: Any, rules: Rules) -> tuple[Any, ...]:
    """Return the values of a check-in, its time as milliseconds."""
    assert isinstance(record, CheckIn)
    return record.user, _to_ms(record.ts, rules), record.lat, record.lon, record.venue, record.category


def at_once(messages: MessageReader, values: Sequence[bytes | None], unit_ms: float) -> list[Any]:
    """Return the records of messages that are read as columns; None for those that are left to be read alone."""
    wire = wire_of(Kind.CHECKINS, MappingOptions(names=dict(NAMES) | OPTIONS, unit_ms=unit_ms))
    assert wire is not None
    found = messages.decoder.records(values, wire.base, wire.paths, unit_ms)
    assert found is not None
    return found


def one_by_one(messages: MessageReader, value: bytes) -> Any:
    ((_, entry),) = messages.read(value)
    return entry


@given(
    st.lists(VALUES, min_size=1, max_size=5),
    st.sampled_from(LOGICAL),
    st.sampled_from(UNITS),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 300), st.binary(max_size=12)), max_size=6),
)
@settings(max_examples=examples(600))
def test_the_same_records_as_one_by_one(
    values: list[dict[str, Any]], logical: str | None, unit_ms: float, spoiled: list[tuple[int, int, bytes]]
) -> None:
    """
    To the millisecond, whatever the unit of times is. Spoiled messages among them change no other, and none is read
    that is not read by itself.
    """
    messages = reader(with_time(logical), unit_ms)
    rules = Rules(user_key=bytes(16), earliest_ms=0, latest_ms=1, max_ahead_ms=0, number_ms=unit_ms)
    good = [frame_of(1) + written(value, PER_SECOND[logical]) for value in values]
    batch: list[bytes | None] = [good[i % len(good)] for i in range(80)]
    for place, at, by in spoiled:
        spoilt = batch[place % 80] or b""
        cut = at % (len(spoilt) + 1)
        batch[place % 80] = spoilt[:cut] + by + spoilt[cut + len(by) :]
    batch[40] = None
    found = at_once(messages, batch, unit_ms)
    for i, (message, record) in enumerate(zip(batch, found, strict=True)):
        if message is None:
            assert record is None
        elif record is not None:  # compared as text, in which nan is nan
            assert str(plain(record, rules)) == str(plain(one_by_one(messages, message), rules))
        else:
            assert message != good[i % len(good)] or values[i % len(good)]["device"] is None


def test_good_messages_are_read_at_once() -> None:
    """
    Only those without a user, or with a time in another age, are left to be read alone.
    """
    value: dict[str, Any] = {
        "note": None,
        "device": {"id": "josé", "n": 1},
        "raw": b"x",
        "lat": 48.5,
        "lon": 16.5,
        "id8": b"12345678",
        "kind": "CAFE",
        "valid": True,
        "s": 1_700_000_000,
        "part": 0,
        "nothing": None,
    }
    nobody = written(value | {"device": None}, 1000)
    early = written(value | {"s": 5}, 1000)
    messages = [frame_of(1) + one for one in [written(value, 1000)] * 70 + [nobody, early]]
    found = at_once(reader(with_time("timestamp-millis"), 1000), messages, 1000)
    assert [one is None for one in found] == [False] * 70 + [True, True]
    assert plain(found[0], Rules(user_key=bytes(16), earliest_ms=0, latest_ms=1, max_ahead_ms=0)) == (
        "josé",
        1_700_000_000_000,
        48.5,
        16.5,
        None,
        "CAFE",
    )


def test_small_batches_and_several_schemas() -> None:
    """
    A few messages are read one by one; messages of several schemas each with their own.
    """
    decoder = new_decoder("avro", has_registry=True)
    for number, first in ((1, "user"), (2, "lat")):
        kinds: dict[str, Any] = {"user": "string", "lat": "double", "ts": MILLIS}
        names = sorted(kinds, key=lambda name: name != first)
        fields = [{"name": name, "type": kinds[name]} for name in names]
        decoder.learn(number, RegisteredSchema("AVRO", json.dumps({"type": "record", "name": "R", "fields": fields})))
    messages = MessageReader(Kind.CHECKINS, MappingOptions(names=NAMES), decoder)
    user, lat, ts = b"\x02u", b"\0" * 8, b"\x80\xa0\xd5\xa9\xf9\x62"
    one, other = frame_of(1) + user + lat + ts, frame_of(2) + lat + user + ts
    assert {record.user for record in messages.records([one] * 10) if isinstance(record, CheckIn)} == {"u"}
    batch = [one, other] * 70 + [frame_of(3) + user]
    found = messages.records(batch)
    assert found[-1] is None
    assert {record.user for record in found[:-1] if isinstance(record, CheckIn)} == {"u"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": "long"},
        {"type": "map", "values": "long"},
        ["null", "long", "string"],
        {"type": "bytes", "logicalType": "decimal", "precision": 4},
        "string",
        "boolean",
        {"type": "record", "name": "In", "fields": []},
    ],
)
def test_what_has_no_columns(schema: Any) -> None:
    """
    Lists, maps, larger unions, and values that a time or a position cannot be.
    """
    found = avro_reader(json.dumps({"type": "record", "name": "R", "fields": [{"name": "ts", "type": schema}]}))
    assert isinstance(found, AvroReader)
    assert found.columns(CheckIn, {"user": ("user",), "ts": ("ts",)}) is None
    with pytest.raises(NoColumnsError):
        AvroColumns("long", CheckIn, {"user": ("a", "b"), "ts": ("a",)})
