"""MongoDB's extended JSON: values in objects are read as what they stand for."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import INPUT_KINDS, CheckIn, Fragment, Kind
from stream.formats.input.extended_json import from_extended_json
from stream.formats.input.mapping import MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from tests.builders.inputs import NAMES

MOMENT = dt.datetime(2025, 10, 9, 8, 53, 20, tzinfo=dt.UTC)
TIMES = [
    {"$date": "2025-10-09T08:53:20Z"},
    {"$date": {"$numberLong": "1760000000000"}},
    {"$date": 1_760_000_000_000},
    {"$timestamp": {"t": 1_760_000_000, "i": 1}},
]
NUMBERS: list[Any] = [
    48,
    {"$numberInt": "48"},
    {"$numberLong": "48"},
    {"$numberDouble": "48.0"},
    {"$numberDecimal": "48"},
]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("ts", TIMES)
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_a_document_of_mongodb(kind: Kind, ts: Any, number: Any, as_text: bool) -> None:
    """
    Its times do not depend on a unit, and its positions may be GeoJSON; one by one, or as a text in a change event.
    """
    record = {
        "user": {"$oid": "68e77a40"},
        "ts": ts,
        "at": {"type": "Point", "coordinates": [{"$numberInt": "16"}, number]},
    }
    names = NAMES | {"lat": "at.coordinates[1]", "lon": "at.coordinates[0]"}
    reader = MessageReader(kind, MappingOptions(names=names, records="after", unit_ms=1e-6))
    ((_, entry),) = reader.read(json.dumps({"after": json.dumps(record) if as_text else record}).encode())
    assert isinstance(entry, CheckIn | Fragment)
    place = entry if isinstance(entry, CheckIn) else entry.points[0]
    assert (entry.user, place.ts, place.lat, place.lon) == ("68e77a40", MOMENT, 48.0, 16.0)


@given(st.integers(-(2**63), 2**63 - 1))
def test_ids_stay_whole(number: int) -> None:
    """
    A number in a text has all its digits.
    """
    assert from_extended_json({"$numberLong": str(number)}) == number


@given(st.binary(max_size=20))
def test_bytes_are_hexadecimal_digits(value: bytes) -> None:
    """
    As those of Avro and Protobuf are.
    """
    text = base64.b64encode(value).decode()
    assert from_extended_json({"$binary": {"base64": text, "subType": "04"}}) == value.hex()


@pytest.mark.parametrize(
    "value",
    [
        {"$numberLong": "x"},
        {"$numberLong": 5},
        {"$numberLong": "9" * 10_000},
        {"$numberDouble": ""},
        {"$date": True},
        {"$date": []},
        {"$date": {"$numberLong": "1.5"}},
        {"$binary": {"base64": "A"}},
        {"$oid": {}},
        {"$ref": "x", "$id": 5},
        {"other": 5},
        {},
    ],
)
@pytest.mark.parametrize("field", ["user", "ts", "lat"])
def test_what_stands_for_nothing_is_rejected(field: str, value: Any) -> None:
    """
    As any other object, with the name of its field.
    """
    record = {"user": "p", "ts": 1, "lat": 1, "lon": 2} | {field: value}
    for as_text in (False, True):
        reader = MessageReader(Kind.CHECKINS, MappingOptions(names=NAMES, numbers_as_text=as_text))
        ((_, entry),) = reader.read(json.dumps(record).encode())
        assert isinstance(entry, Unreadable)
        assert entry.detail.startswith(f"{field} must be")
        assert entry.detail.endswith("an object was found")
