"""Schemas of Kafka Connect: values are read by what their schema says."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import CheckIn, Kind
from stream.formats.input.connect_schemas import with_connect_schema
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.messages import MessageReader
from tests.builders.inputs import NAMES

UTC = dt.UTC
CONNECT, TIME = "org.apache.kafka.connect.data", "io.debezium.time"
MOMENT = dt.datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)


def typed(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, "optional": True, **more}


def read(schema: Any, value: Any) -> Any:
    """Return a value that stands in a field, in a list and in a map of a payload, where it must be the same."""
    fields = [
        {"field": "one", **schema},
        {"field": "many", "type": "array", "items": schema},
        {"field": "named", "type": "map", "values": schema},
        {"field": "in", "type": "struct", "fields": [{"field": "one", **schema}]},
    ]
    payload = {"one": value, "many": [value], "named": {"x": value}, "in": {"one": value}, "other": value}
    document = json.loads(json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": payload}))
    found = with_connect_schema(document)["payload"]
    assert found["many"] == [found["one"]]
    assert found["named"] == {"x": found["one"]}
    assert found["in"] == {"one": found["one"]}
    assert found["other"] == value
    return found["one"]


def in_base64(unscaled: int) -> str:
    """Write a whole number as Java's BigInteger does."""
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)).decode()


@given(st.integers(-(10**12), 10**12), st.integers(0, 9))
def test_decimals(unscaled: int, scale: int) -> None:
    """
    They are numbers, whether their scale is in the schema or beside them.
    """
    expected = float(decimal.Decimal(unscaled).scaleb(-scale))
    text = in_base64(unscaled)
    assert read(typed("bytes", f"{CONNECT}.Decimal", parameters={"scale": str(scale)}), text) == expected
    variable = typed("struct", "io.debezium.data.VariableScaleDecimal")
    assert read(variable, {"scale": scale, "value": text}) == expected


@given(st.integers(2**53, 2**200))
def test_ids_that_are_decimals_stay_whole(number: int) -> None:
    """
    Oracle has no other type for them.
    """
    assert read(typed("bytes", f"{CONNECT}.Decimal", parameters={"scale": "0"}), in_base64(number)) == number


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (f"{CONNECT}.Timestamp", 1_760_000_000_000, MOMENT),
        (f"{TIME}.Timestamp", 1_760_000_000_000, MOMENT),
        (f"{TIME}.MicroTimestamp", 1_760_000_000_000_000, MOMENT),
        (f"{TIME}.NanoTimestamp", 1_760_000_000_000_000_000, MOMENT),
        (f"{CONNECT}.Date", 20_370, "2025-10-09"),
        (f"{TIME}.Date", 20_370, "2025-10-09"),
        (f"{CONNECT}.Time", 32_000_000, "08:53:20"),
        (f"{TIME}.Time", 32_000_000, "08:53:20"),
        (f"{TIME}.MicroTime", 32_000_000_000, "08:53:20"),
        (f"{TIME}.NanoTime", 32_000_000_000_000, "08:53:20"),
        (f"{TIME}.ZonedTimestamp", "2025-10-09T08:53:20Z", "2025-10-09T08:53:20Z"),
    ],
)
def test_times(name: str, value: Any, expected: Any) -> None:
    """
    They are instants, or texts, whatever their unit.
    """
    assert read(typed("int64", name), value) == expected
    assert read(typed("int64", name), None) is None


@pytest.mark.parametrize(
    "value", ["x", "AQ", [], {}, True, 1.5, {"scale": "x", "value": "AQ=="}, {"scale": 10**9, "value": "AQ=="}]
)
@pytest.mark.parametrize("name", ["Decimal", "Timestamp", "Date", "Time"])
def test_a_value_that_is_not_of_its_schema_stays(name: str, value: Any) -> None:
    """
    It is rejected where it is read.
    """
    assert read(typed("bytes", f"{CONNECT}.{name}", parameters={"scale": "7"}), value) == value
    assert read(typed("struct", "io.debezium.data.VariableScaleDecimal"), value) == value


@pytest.mark.parametrize(
    "schema", [None, 5, {}, {"type": "struct"}, {"type": "struct", "fields": 5}, {"type": "struct", "fields": [5, {}]}]
)
def test_a_schema_of_another_form_says_nothing(schema: Any) -> None:
    """
    Nor does one beside other fields.
    """
    for document in ({"schema": schema, "payload": {"ts": 5}}, {"schema": schema, "payload": {"ts": 5}, "x": 1}):
        assert with_connect_schema(document) == document


def test_a_row_of_a_database_is_read_by_its_schema() -> None:
    """
    Also where messages are decoded straight into records if they have no schema.
    """
    fields = [
        {"field": "user", **typed("bytes", f"{CONNECT}.Decimal", parameters={"scale": "0"})},
        {"field": "ts", **typed("int64", f"{TIME}.MicroTimestamp")},
        *(
            {"field": name, **typed("bytes", f"{CONNECT}.Decimal", parameters={"scale": "7"})}
            for name in ("lat", "lon")
        ),
    ]
    payload = {"user": in_base64(7), "ts": 1_760_000_000_000_000, "lat": in_base64(482_082_000), "lon": in_base64(5)}
    reader = MessageReader(Kind.CHECKINS, MappingOptions(names=NAMES, records="payload"))
    document: dict[str, Any] = {"schema": {"type": "struct", "fields": fields}, "payload": payload}
    plain = {"schema": None, "payload": {"user": 7, "ts": 1_760_000_000, "lat": 48.2082, "lon": 5e-7}}
    for one in (document, plain):
        values = [json.dumps(one).encode()]
        ((_, entry),) = reader.read(values[0])
        assert isinstance(entry, CheckIn)
        assert (entry.user, entry.lat, entry.lon) == (7, 48.2082, 5e-7)
        assert reader.records(values) == [entry if one is plain else None]
