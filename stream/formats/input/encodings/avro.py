"""Avro: messages become documents, by the schema that they were written with."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.records.record import Reason
from stream.formats.input.encodings.avro_columns import AvroColumns, NoColumnsError
from stream.formats.input.encodings.extras import needs_extra
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import text_of
from stream.formats.input.times.calendar import day_text, local_text, moment_at, time_text

__all__ = ["AvroReader", "AvroSchemaError", "avro_reader"]

_NAMED = ("record", "error", "enum", "fixed")
_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

_TIMES = {
    "timestamp-millis": "shoal-millis",
    "timestamp-micros": "shoal-micros",
    "timestamp-nanos": "shoal-nanos",
    "local-timestamp-millis": "shoal-local-millis",
    "local-timestamp-micros": "shoal-local-micros",
    "local-timestamp-nanos": "shoal-local-nanos",
    "time-micros": "shoal-time-micros",
}
"""Logical types of ``long``, and our own, whose readers return what a document holds."""


_OF_INT = {"date": "shoal-date", "time-millis": "shoal-time-millis"}
"""The same of ``int``."""


_MOST_BYTES = 1_000
"""Of a decimal."""


class AvroSchemaError(Exception):
    """A text is not a schema that can be used; the message says why, and repeats none of it."""


def avro_reader(text: str, references: Sequence[str] = ()) -> AvroReader:
    """Return a function that decodes messages with their schema.

    Times with a logical type become datetimes, or texts if they are local times. Decimals become numbers, dates and
    UUIDs texts, and so do times of day. Bytes become texts: JSON as it is, all
    others their hexadecimal digits.

    Args:
        text: The schema, JSON.
        references: Schemas with the types that it names, each after those that it refers to itself.

    Raises:
        AvroSchemaError: The schema cannot be used.
    """
    with needs_extra("avro", "fastavro"):
        import fastavro  # noqa: PLC0415 - an optional extra
        from fastavro import read  # noqa: PLC0415
        from fastavro._read_py import schemaless_reader as careful_reader  # noqa: PLC0415

    read.LOGICAL_READERS.update(_READERS)
    rewriting = _Rewriting()
    named: dict[str, Any] = {}
    fault: str | None = None
    try:
        for one in (*references, text):
            prepared = rewriting.rewrite(_loaded(one))
            schema = fastavro.parse_schema(prepared, named_schemas=named)
    except AvroSchemaError:
        raise
    except Exception as error:  # of many kinds, for what a schema can have wrong
        fault = type(error).__name__
    if fault is not None:
        raise AvroSchemaError(f"it is not an Avro schema ({fault})")
    # The fast reader would overflow the stack where a message nests values of a recursive type a million times.
    if rewriting.is_recursive:
        return AvroReader(careful_reader, schema, None)
    return AvroReader(fastavro.schemaless_reader, schema, None if references else prepared)


def _loaded(text: str) -> Any:
    text = text.strip()
    if text in _PRIMITIVE:  # registries hand out such a schema with or without quotation marks
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise AvroSchemaError("it is not JSON") from None


class AvroReader:
    """Decodes messages of one schema.

    Args:
        read: The function that reads one value from a stream.
        parsed: The schema for it.
        schema: The schema with our logical types; None if it needs others, or contains itself.
    """

    def __init__(self, read: Callable[[Any, Any, None], Any], parsed: Any, schema: Any) -> None:
        self._read, self._parsed, self._schema = read, parsed, schema
        self._columns: dict[Any, AvroColumns | None] = {}

    def __call__(self, value: bytes) -> Any:
        """Return the document of a message.

        Raises:
            UnreadableError: It is not a message of the schema.
        """
        source = io.BytesIO(value)
        try:
            found = self._read(source, self._parsed, None)
            why = None if source.tell() == len(value) else "something follows its end"
        except EOFError:
            why = "it ends too early"
        except RecursionError:
            why = "it is nested too deep"
        except Exception:  # of many kinds, by what the bytes seem to be
            why = "a value is not of its type"
        # Raised outside of an except clause: otherwise its context would be an exception that holds the message.
        if why is not None:
            raise UnreadableError(Reason.NOT_AVRO, f"the message is not Avro of its schema: {why}")
        return found

    def columns(self, base: type[Any], paths: Mapping[str, tuple[str, ...]]) -> AvroColumns | None:
        """Return what reads many messages at once into records; None if the schema does not allow it."""
        key = (base, *paths.items())
        if key not in self._columns:
            self._columns[key] = None
            if self._schema is not None:
                with contextlib.suppress(NoColumnsError):
                    self._columns[key] = AvroColumns(self._schema, base, paths)
        return self._columns[key]


class _Rewriting:
    """Prepares schemas: logical types become ours.

    It also finds types that contain themselves, and refuses lists whose items take no bytes: a message of ten bytes
    could hold any number of them.
    """

    def __init__(self) -> None:
        self.is_recursive = False
        self._open: list[str] = []
        """Full names of the named types around the current one."""
        self._is_empty: dict[str, bool] = {}
        """Whether values of a named type take no bytes."""

    def rewrite(self, schema: Any, namespace: str = "") -> Any:
        """Return a schema with the types that the reader of messages needs."""
        return self._rewrite(schema, namespace)[0]

    def _rewrite(self, schema: Any, namespace: str) -> tuple[Any, bool]:
        """Return the schema, and whether its values take no bytes."""
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        if isinstance(schema, list):
            return [self._rewrite(one, namespace)[0] for one in schema], False
        if not isinstance(schema, dict):
            raise AvroSchemaError("it is not an Avro schema")
        return self._complex(schema, namespace)

    def _complex(self, schema: dict[str, Any], namespace: str) -> tuple[Any, bool]:
        kind = schema.get("type")
        if isinstance(kind, dict | list):
            return self._rewrite(kind, namespace)
        if kind in _NAMED:
            return self._named(schema, namespace)
        if kind in ("array", "map"):
            below = "items" if kind == "array" else "values"
            found, is_empty = self._rewrite(schema.get(below), namespace)
            if is_empty and kind == "array":
                raise AvroSchemaError("it has a list whose items take no bytes")
            return {"type": kind, below: found}, False
        if kind in _PRIMITIVE:
            return _primitive(kind, schema), kind == "null"
        return self._by_name(str(kind), namespace)

    def _by_name(self, name: str, namespace: str) -> tuple[Any, bool]:
        if name in _PRIMITIVE:
            return _primitive(name, {}), name == "null"
        full = _full(name, namespace)
        if full not in self._is_empty and full not in self._open:
            full = name  # of no namespace
        self.is_recursive |= full in self._open
        return full, self._is_empty.get(full, False)

    def _named(self, schema: dict[str, Any], namespace: str) -> tuple[Any, bool]:
        kind, name = schema["type"], str(schema.get("name"))
        full = _full(name, str(schema.get("namespace", namespace)))
        namespace = full.rpartition(".")[0]
        found: dict[str, Any] = {"type": kind, "name": full}
        if kind == "enum":
            found["symbols"] = schema.get("symbols")
            is_empty = False
        elif kind == "fixed":
            found["size"] = schema.get("size")
            found |= _decimal(schema) or {"logicalType": "shoal-bytes"}
            is_empty = schema.get("size") == 0
        else:
            self._open.append(full)
            fields = [self._field(one, namespace) for one in schema.get("fields") or ()]
            self._open.pop()
            found["fields"] = [{"name": name, "type": one} for name, (one, _) in fields]
            is_empty = all(is_empty for _, (_, is_empty) in fields)
        self._is_empty[full] = is_empty
        return found, is_empty

    def _field(self, field: Any, namespace: str) -> tuple[str, tuple[Any, bool]]:
        if not isinstance(field, dict):
            raise AvroSchemaError("it is not an Avro schema")
        # People often write the logical type beside the type, one level too high, and mean what they write.
        kind = field.get("type")
        if isinstance(kind, str) and "logicalType" in field:
            kind = {"type": kind, "logicalType": field["logicalType"]}
        return str(field.get("name")), self._rewrite(kind, namespace)


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _primitive(kind: str, schema: dict[str, Any]) -> Any:
    logical = schema.get("logicalType")
    if kind == "bytes":
        return {"type": kind} | (_decimal(schema) or {"logicalType": "shoal-bytes"})
    if kind == "int" and logical in _OF_INT:
        return {"type": kind, "logicalType": _OF_INT[logical]}
    if kind == "long" and isinstance(logical, str) and logical in _TIMES:
        return {"type": kind, "logicalType": _TIMES[logical]}
    return kind


def _decimal(schema: dict[str, Any]) -> dict[str, Any] | None:
    scale = schema.get("scale", 0)
    if schema.get("logicalType") != "decimal" or not isinstance(scale, int) or not 0 <= scale <= 300:
        return None
    return {"logicalType": "shoal-decimal", "scale": scale}


# ---------------------------------------------------------------------- what stands in a document


def _number(value: bytes, schema: dict[str, Any]) -> float:
    # A longer number is none of a database, and to write it as text would take time quadratic in its length.
    is_too_long = len(value) > _MOST_BYTES
    unscaled = int.from_bytes(value[:1] if is_too_long else value, "big", signed=True)
    try:
        if not is_too_long:
            return unscaled / 10 ** schema["scale"] if schema["scale"] else unscaled
    except OverflowError:
        pass
    return float("-inf") if unscaled < 0 else float("inf")


_READERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "long-shoal-millis": lambda value, *_: moment_at(value * 1000),
    "long-shoal-micros": lambda value, *_: moment_at(value),
    "long-shoal-nanos": lambda value, *_: moment_at(value // 1000),
    "long-shoal-local-millis": lambda value, *_: local_text(value * 1000),
    "long-shoal-local-micros": lambda value, *_: local_text(value),
    "long-shoal-local-nanos": lambda value, *_: local_text(value // 1000),
    "long-shoal-time-micros": lambda value, *_: time_text(value),
    "int-shoal-time-millis": lambda value, *_: time_text(value * 1000),
    "int-shoal-date": lambda value, *_: day_text(value),
    "bytes-shoal-decimal": lambda value, schema, *_: _number(value, schema),
    "fixed-shoal-decimal": lambda value, schema, *_: _number(value, schema),
    "bytes-shoal-bytes": lambda value, *_: text_of(value),
    "fixed-shoal-bytes": lambda value, *_: text_of(value),
}
