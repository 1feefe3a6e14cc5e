"""Avro messages: what they become, against the writer of another library, and bytes that are not Avro."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import math
import uuid
from collections.abc import Callable
from typing import Any

import fastavro
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from core.records.identity import canonical
from core.records.record import Reason
from stream.formats.input.encodings.avro import AvroSchemaError, avro_reader
from stream.formats.input.errors import UnreadableError
from tests.budgets import examples

UTC = dt.UTC


def written(schema: Any, value: Any) -> bytes:
    """Write one value as another library does."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    return target.getvalue()


def read(schema: Any, value: bytes) -> Any:
    return avro_reader(json.dumps(schema))(value)


def outcome(reader: Callable[[bytes], Any], value: bytes) -> Any:
    """Return a document, or why there is none."""
    try:
        return reader(value)
    except UnreadableError as fault:
        return fault


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": one} for name, one in fields.items()]}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name} | more


MOMENTS = st.integers(-(2**51), 2**52).map(
    lambda us: dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(microseconds=us)
)


@given(MOMENTS)
def test_times_do_not_depend_on_a_unit(moment: dt.datetime) -> None:
    """
    A number with a logical type of time becomes a datetime of that instant, to its own precision.
    """
    since = moment - dt.datetime(1970, 1, 1, tzinfo=UTC)
    us = since // dt.timedelta(microseconds=1)
    schema = record(
        ms=logical("long", "timestamp-millis"),
        us=logical("long", "timestamp-micros"),
        ns=logical("long", "timestamp-nanos"),
    )
    plain = record(ms="long", us="long", ns="long")
    found = read(schema, written(plain, {"ms": us // 1000, "us": us, "ns": us * 1000 + 999}))
    assert found == {
        "ms": moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        "us": moment,
        "ns": moment,
    }
    assert all(one.tzinfo is not None for one in found.values())


@given(MOMENTS)
def test_local_times_are_texts_without_an_offset(moment: dt.datetime) -> None:
    """
    The time zone of a local time is not in the message: a text leaves it to the settings.
    """
    us = (moment - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)
    for unit, divisor in (("millis", 1000), ("micros", 1)):
        found = read(logical("long", f"local-timestamp-{unit}"), written("long", us // divisor))
        us_found = us // divisor * divisor
        expected = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=us_found)  # noqa: DTZ001 - a local time
        assert found == expected.isoformat()


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("unit", ["millis", "micros", "nanos"])
def test_times_beyond_the_calendar_are_its_ends(number: int, unit: str) -> None:
    """
    An instant that no datetime holds is no crash: the nearest one is out of every range of the settings.
    """
    found = read(logical("long", f"timestamp-{unit}"), written("long", number))
    assert found.tzinfo is not None
    assert found.year < 1700 or found.year > 2200
    assert isinstance(read(logical("int", "date"), written("int", 2**31 - 1)), str | None)


def test_all_types_become_plain_data() -> None:
    """
    Decimals become numbers, dates and UUIDs texts, enumerations their names, bytes hexadecimal digits; types in one
    another, by name, in unions, and in themselves are fine.
    """
    place = {"type": "record", "name": "Place", "namespace": "geo", "fields": [{"name": "lat", "type": "float"}]}
    schema = {
        "type": "record",
        "name": "All",
        "namespace": "demo",
        "fields": [
            {"name": "d", "type": logical("bytes", "decimal", precision=10, scale=3)},
            {
                "name": "f",
                "type": ["null", {"name": "F", "size": 8, **logical("fixed", "decimal", precision=9, scale=2)}],
            },
            {"name": "id", "type": logical("string", "uuid")},
            {"name": "day", "type": logical("int", "date")},
            {"name": "raw", "type": ["null", "bytes"]},
            {"name": "x", "type": {"type": "fixed", "name": "X", "size": 2}},
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
            {"name": "again", "type": "E"},
            {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "demo.F"}}},
            {"name": "at", "type": place},
            {"name": "was", "type": {"type": "array", "items": "geo.Place"}},
            {"name": "next", "type": ["null", "All"]},
            {"name": "b", "type": "boolean"},
        ],
    }
    one = {
        "d": decimal.Decimal("-12.345"),
        "f": decimal.Decimal("1.25"),
        "id": str(uuid.UUID(int=7)),
        "day": dt.date(2020, 2, 29),
        "raw": b"secret",
        "x": b"ab",
        "e": "B",
        "again": "A",
        "m": {"k": [decimal.Decimal("2.50")]},
        "at": {"lat": 0.5},
        "was": [{"lat": 1.5}, {"lat": 2.5}],
        "next": None,
        "b": True,
    }
    plain = one | {
        "d": -12.345,
        "f": 1.25,
        "day": "2020-02-29",
        "raw": "736563726574",
        "x": "6162",
        "m": {"k": [2.5]},
    }
    assert read(schema, written(schema, one | {"next": one})) == plain | {"next": plain}


@given(st.times(), st.booleans())
def test_times_of_day_are_texts(time: dt.time, is_millis: bool) -> None:
    """
    Together with a date they are a local time; what is no time of day is nothing.
    """
    us = time.hour * 3_600_000_000 + time.minute * 60_000_000 + time.second * 1_000_000 + time.microsecond
    unit, kind, n = ("millis", "int", us // 1000) if is_millis else ("micros", "long", us)
    schema = logical(kind, f"time-{unit}")
    found = read(schema, written(kind, n))
    assert dt.time.fromisoformat(found) == (time.replace(microsecond=us // 1000 % 1000 * 1000) if is_millis else time)
    assert read(schema, written(kind, -1)) is None
    assert read(schema, written(kind, 86_400 * 1000 * (1 if is_millis else 1000))) is None


def test_json_in_bytes_is_text() -> None:
    """
    A path goes on in it; bytes that only look like JSON are hexadecimal digits as all others.
    """
    for value in (b'{"lat": 48.2}', b" [1]\n"):
        assert read("bytes", written("bytes", value)) == value.decode()
    for value in (b"{}}", b"{", b"{\xff}", b"[1,]", b""):
        assert read("bytes", written("bytes", value)) == value.hex()


def test_a_uuid_may_be_fixed() -> None:
    """
    Its digits are those of the text.
    """
    schema = {"name": "U", "size": 16, **logical("fixed", "uuid")}
    one = uuid.uuid5(uuid.NAMESPACE_DNS, "p01")
    assert canonical(read(schema, one.bytes)) == canonical(str(one))


def test_a_logical_type_beside_the_type_is_taken() -> None:
    """
    People write it one level too high, and mean it.
    """
    schema = {"type": "record", "name": "R", "fields": [{"name": "ts", **logical("long", "timestamp-millis")}]}
    assert read(schema, written("long", 1_600_000_000_000))["ts"].year == 2020


def test_types_of_referenced_schemas() -> None:
    """
    A schema may name types of the schemas that it refers to, and those types of others.
    """
    lowest = {"type": "enum", "name": "Fix", "namespace": "gps", "symbols": ["NO", "YES"]}
    place = {"type": "record", "name": "Place", "namespace": "geo", "fields": [{"name": "fix", "type": "gps.Fix"}]}
    top = {"type": "record", "name": "Top", "fields": [{"name": "at", "type": ["null", "geo.Place"]}]}
    reader = avro_reader(json.dumps(top), [json.dumps(lowest), json.dumps(place)])
    assert reader(b"\x02\x02") == {"at": {"fix": "YES"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '"nope"',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "Missing"}]}',
        '{"type": "enum", "name": "E"}',
        '{"type": "array"}',
        "[" * 5000 + "]" * 5000,
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    """
    The error repeats nothing of the text, and has no context that would.
    """
    with pytest.raises(AvroSchemaError) as raised:
        avro_reader(text)
    assert "Missing" not in str(raised.value)


@pytest.mark.parametrize(
    "items", ["null", {"type": "fixed", "name": "F", "size": 0}, {"type": "record", "name": "E", "fields": []}]
)
def test_lists_of_items_without_bytes_are_refused(items: Any) -> None:
    """
    A message of ten bytes could hold 2**62 of them.
    """
    with pytest.raises(AvroSchemaError, match="take no bytes"):
        avro_reader(json.dumps(record(a=["null", {"type": "array", "items": items}])))


def test_a_message_nested_a_million_times_is_rejected() -> None:
    """
    A type that contains itself must not overflow the stack.
    """
    node = {"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}
    assert read(node, b"\x02\x02\x00") == {"n": {"n": {"n": None}}}
    with pytest.raises(UnreadableError, match="nested too deep"):
        read(node, b"\x02" * 1_000_000)


CHECK_IN = record(
    user="string",
    lat="double",
    lon=["null", "double"],
    ts=logical("long", "timestamp-millis"),
    tags={"type": "array", "items": {"type": "map", "values": ["string", "long", "bytes"]}},
    e={"type": "enum", "name": "E", "symbols": ["A", "B"]},
    f={"type": "fixed", "name": "F", "size": 3},
)
VALUES = st.fixed_dictionaries(
    {
        "user": st.text(),
        "lat": st.floats(allow_nan=False),
        "lon": st.none() | st.floats(allow_nan=False),
        "ts": st.integers(0, 10**12),
        "tags": st.lists(st.dictionaries(st.text(max_size=3), st.text() | st.integers(-(2**40), 2**40), max_size=3)),
        "e": st.sampled_from("AB"),
        "f": st.binary(min_size=3, max_size=3),
    }
)


@given(VALUES)
def test_what_another_library_wrote(value: dict[str, Any]) -> None:
    """
    Every value comes out as it was; times are instants, and bytes hexadecimal digits.
    """
    found = read(CHECK_IN, written(CHECK_IN, value))
    moment = dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(milliseconds=value["ts"])
    assert found == value | {"ts": moment, "f": value["f"].hex()}


@given(VALUES, st.data())
@settings(max_examples=examples(400))
def test_spoiled_bytes_are_a_document_or_rejected(value: dict[str, Any], data: st.DataObject) -> None:
    """
    Cut, changed or longer messages raise one error, without their content in text or context; or they are Avro still.
    """
    good = bytearray(written(CHECK_IN, value))
    at = data.draw(st.integers(0, len(good) - 1))
    spoiled = data.draw(
        st.sampled_from([good[:at], good[:at] + data.draw(st.binary(max_size=9)) + good[at + 1 :], good + b"\0"])
    )
    reader = avro_reader(json.dumps(CHECK_IN))
    found = outcome(reader, bytes(spoiled))
    if isinstance(found, UnreadableError):
        assert found.reason is Reason.NOT_AVRO
        assert found.__context__ is None
        assert "the message is not Avro of its schema" in found.detail
    else:
        assert isinstance(found["user"], str)
        assert isinstance(found["lat"], float)


def test_decimals_larger_than_any_float_are_infinite() -> None:
    """
    They are rejected as positions, and no crash.
    """
    schema = record(
        d=logical("bytes", "decimal", precision=400, scale=0), e=logical("bytes", "decimal", precision=400, scale=1)
    )
    huge = (10**400).to_bytes(200, "big", signed=True)
    found = read(schema, written(record(d="bytes", e="bytes"), {"d": huge, "e": huge}))
    assert found["d"] == 10**400
    assert math.isinf(found["e"])
    found = read(schema, written(record(d="bytes", e="bytes"), {"d": b"\x7f" * 10**6, "e": b"\x80" * 10**6}))
    assert found == {"d": math.inf, "e": -math.inf}
