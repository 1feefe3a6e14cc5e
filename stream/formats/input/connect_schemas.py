"""Schemas of Kafka Connect in JSON: values whose schema says what they are become what a document holds.

``JsonConverter`` writes ``{"schema": ..., "payload": ...}``. Decimals are bytes in Base64 there, and times, dates and
times of day are numbers, whose units only the names in the schema say.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from typing import Any

from stream.formats.input.times.calendar import day_text, moment_at, time_text

__all__ = ["with_connect_schema"]

_ENVELOPE = {"schema", "payload"}
_MOST_DIGITS = 300
_MOST_BYTES = 1_000
"""Of a number; no database has larger ones."""


def with_connect_schema(document: Any) -> Any:
    """Return a document whose payload is read by its schema; any other document as it is.

    Decimals become numbers, times become instants, dates and times of day become texts, wherever they are.

    >>> field = {"field": "ts", "type": "int64", "name": "io.debezium.time.MicroTimestamp"}
    >>> schema = {"type": "struct", "fields": [field]}
    >>> str(with_connect_schema({"schema": schema, "payload": {"ts": 1760000000000000}})["payload"]["ts"])
    '2025-10-09 08:53:20+00:00'
    """
    if not isinstance(document, dict) or document.keys() != _ENVELOPE or not isinstance(document["schema"], dict):
        return document
    return document | {"payload": _read(document["payload"], document["schema"])}


def _read(value: Any, schema: Any) -> Any:
    if value is None or not isinstance(schema, dict):
        return value
    if (read := _READERS.get(str(schema.get("name")))) is not None:
        return read(value, schema)
    kind = schema.get("type")
    if kind == "struct" and isinstance(value, dict):
        fields = schema.get("fields")
        of_dicts = [one for one in fields if isinstance(one, dict)] if isinstance(fields, list) else []
        known = {str(one.get("field")): one for one in of_dicts}
        return {name: _read(inner, known.get(name)) for name, inner in value.items()}
    if kind == "array" and isinstance(value, list):
        return [_read(inner, schema.get("items")) for inner in value]
    if kind == "map" and isinstance(value, dict):
        return {name: _read(inner, schema.get("values")) for name, inner in value.items()}
    return value


def _whole(read: Callable[[int], Any]) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Return a reader of whole numbers, which leaves all other values as they are."""
    return lambda value, _: read(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _decimal(value: Any, schema: Mapping[str, Any]) -> Any:
    parameters = schema.get("parameters")
    found = _scaled(value, parameters.get("scale") if isinstance(parameters, dict) else None)
    return value if found is None else found


def _variable_decimal(value: Any, _: Mapping[str, Any]) -> Any:
    found = _scaled(value.get("value"), value.get("scale")) if isinstance(value, dict) else None
    return value if found is None else found


def _scaled(value: Any, scale: Any) -> float | None:
    """Return the number whose digits are bytes in Base64; None if it is none."""
    if not isinstance(value, str) or len(value) > _MOST_BYTES:
        return None
    try:
        scale = int(scale)
        unscaled = int.from_bytes(binascii.a2b_base64(value, strict_mode=True), "big", signed=True)
        if not -_MOST_DIGITS <= scale <= _MOST_DIGITS:
            return None
        return unscaled / 10**scale if scale > 0 else unscaled * int(10**-scale)
    except (TypeError, ValueError, OverflowError):
        return None


_READERS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "org.apache.kafka.connect.data.Timestamp": _whole(lambda ms: moment_at(ms * 1000)),
    "org.apache.kafka.connect.data.Date": _whole(day_text),
    "org.apache.kafka.connect.data.Time": _whole(lambda ms: time_text(ms * 1000)),
    "io.debezium.data.VariableScaleDecimal": _variable_decimal,
    "io.debezium.time.Timestamp": _whole(lambda ms: moment_at(ms * 1000)),
    "io.debezium.time.MicroTimestamp": _whole(moment_at),
    "io.debezium.time.NanoTimestamp": _whole(lambda ns: moment_at(ns // 1000)),
    "io.debezium.time.Date": _whole(day_text),
    "io.debezium.time.Time": _whole(lambda ms: time_text(ms * 1000)),
    "io.debezium.time.MicroTime": _whole(time_text),
    "io.debezium.time.NanoTime": _whole(lambda ns: time_text(ns // 1000)),
}
"""By the names that Kafka Connect and Debezium give to their types."""
