"""Avro messages of one schema, many at once: their fields are read as columns, and become records without documents.

A step reads one field of all messages: it knows where the field begins in each, and finds where the next one begins. A
message that does not end where its last field does, or whose values are not what a record needs, is left to the reader
of single messages, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from core.records.record import CheckIn

__all__ = ["AvroColumns", "NoColumnsError"]

ByteOffsets = npt.NDArray[np.int64]
"""Where a field begins in each message."""

_FARTHEST_US = 250_000_000_000_000_000
_FROM_MS, _TO_MS = 946_684_800_000, 4_102_444_800_000
"""The years 2000 to 2100: as seconds, milliseconds, microseconds and nanoseconds their times do not overlap."""

_PAD = 32
_ZERO = np.zeros(1, dtype=np.int32)
_NUMBERS = ("int", "long", "float", "double")
_TIMES_PER_US = {"shoal-millis": (1_000, 1), "shoal-micros": (1, 1), "shoal-nanos": (1, 1_000)}
_ALLOWED = {
    "user": ("string", "enum", *_NUMBERS),
    "venue": ("string", "enum", *_NUMBERS),
    "category": ("string", "enum", *_NUMBERS),
    "lat": _NUMBERS,
    "lon": _NUMBERS,
    "ts": (*_NUMBERS, *_TIMES_PER_US),
}
_ALLOWED_ATTRIBUTE = ("string", "enum", "boolean", *_NUMBERS)
_NEEDED = ("user", "ts")


class NoColumnsError(Exception):
    """The messages of a schema cannot be read as columns."""


class _Batch:
    """Messages one after the other."""

    def __init__(self, values: Sequence[bytes], unit_ms: float) -> None:
        self.size, self.unit_ms = len(values), unit_ms
        self.data = b"".join(values)
        self.bytes = np.frombuffer(self.data + bytes(_PAD), dtype=np.uint8)
        self.text = self.data.decode("latin-1")
        self.beyond = len(self.data) + 1
        """The position of a message that turned out wrong: beyond all ends, and no step leads back from it."""
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=self.size)
        self.ends = np.cumsum(lengths)
        self.begins = self.ends - lengths
        self._eights = np.lib.stride_tricks.sliding_window_view(self.bytes, 8)
        self._n_not_ascii = np.concatenate([_ZERO, np.cumsum(self.bytes >= 128, dtype=np.int32)])
        self.columns: dict[str, list[Any]] = {}

    def capped(self, at: ByteOffsets) -> ByteOffsets:
        return np.minimum(at, self.beyond)

    def varints(self, at: ByteOffsets) -> tuple[ByteOffsets, ByteOffsets]:
        """Return numbers, and the positions behind them."""
        byte = self.bytes[at]
        found = (byte & 127).astype(np.uint64)
        at = at + 1
        more, shift = np.flatnonzero(byte >= 128), 7
        while len(more):
            if shift > 63:
                at[more] = self.beyond
                break
            here = self.capped(at[more])
            byte = self.bytes[here]
            found[more] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            at[more] = here + 1
            more, shift = more[byte >= 128], shift + 7
        one = np.uint64(1)
        return (found >> one).astype(np.int64) ^ -(found & one).astype(np.int64), self.capped(at)

    def lengths(self, at: ByteOffsets) -> tuple[ByteOffsets, ByteOffsets]:
        """Return where texts or bytes begin, and where they end."""
        length, begin = self.varints(at)
        end = begin + np.clip(length, 0, self.beyond)
        return begin, self.capped(np.where(length < 0, self.beyond, end))

    def floats(self, at: ByteOffsets, kind: str, size: int) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(self._eights[at][:, :size]).view(kind)[:, 0].astype(np.float64)

    def texts(self, begin: ByteOffsets, end: ByteOffsets) -> tuple[list[str | None], ByteOffsets]:
        """Return texts, and where they end; of one that is not UTF-8, None."""
        text = self.text
        found: list[str | None] = [text[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
        inside = np.minimum(end, len(self.data))
        for i in np.flatnonzero(self._n_not_ascii[inside] > self._n_not_ascii[np.minimum(begin, inside)]).tolist():
            try:
                found[i] = self.data[int(begin[i]) : int(end[i])].decode()
            except UnicodeDecodeError:
                found[i] = None
                end[i] = self.beyond
        return found, end


Step = Callable[[_Batch, ByteOffsets, ByteOffsets | None], ByteOffsets]
"""Reads a field of a batch at positions, of some messages by their numbers or of all; returns the positions behind."""


class AvroColumns:
    """Reads messages of one schema.

    Args:
        schema: The schema, as :mod:`stream.formats.input.encodings.avro` prepares it.
        base: The type of the records; its fields have the order of its arguments.
        paths: For each of its fields the names that lead to it.

    Raises:
        NoColumnsError: The schema has lists, or values that a record cannot hold; or the records are not check-ins.
    """

    def __init__(self, schema: Any, base: type[Any], paths: Mapping[str, tuple[str, ...]]) -> None:
        if not issubclass(base, CheckIn):
            raise NoColumnsError
        wanted: dict[str, Any] = {}
        for field, path in paths.items():
            at = wanted
            for name in path[:-1]:
                at = at.setdefault(name, {})
                if not isinstance(at, dict):
                    raise NoColumnsError
            if path[-1] in at:
                raise NoColumnsError
            at[path[-1]] = field
        self._base, self._fields = base, list(base.__struct_fields__)
        self._step = _Compiler().step(schema, wanted)

    def records(self, values: Sequence[bytes], *, skip: int, unit_ms: float) -> list[Any]:
        """Return the record of each message, or None for a message to read by itself.

        Args:
            values: The messages.
            skip: Bytes before each of them.
            unit_ms: Milliseconds in the unit of times that are numbers.
        """
        batch = _Batch(values, unit_ms)
        ends = self._step(batch, batch.capped(batch.begins + skip), None)
        nothing = [None] * batch.size
        columns = [batch.columns.get(field, nothing) for field in self._fields]
        is_right = (ends == batch.ends).tolist()
        for field, column in zip(self._fields, columns, strict=True):
            if field in _NEEDED and None in column:
                is_right = [right and one is not None for right, one in zip(is_right, column, strict=True)]
        made = map(self._base, *columns)
        return (
            list(made) if all(is_right) else [one if right else None for right, one in zip(is_right, made, strict=True)]
        )


class _Compiler:
    """Makes steps of schemas."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def step(self, schema: Any, wanted: Any) -> Step:
        """Return the step that reads values of a schema.

        Args:
            schema: The schema.
            wanted: The field that a value becomes, the fields below it, or None to pass over it.
        """
        if isinstance(schema, str):
            if schema in self._named:
                return self.step(self._named[schema], wanted)
            return _primitive(schema, schema, wanted)
        if isinstance(schema, list):
            return self._union(schema, wanted)
        kind = schema["type"]
        if kind == "record":
            return self._record(schema, wanted)
        if kind in ("enum", "fixed"):
            self._named[schema["name"]] = schema
            return _enum(schema, wanted) if kind == "enum" else _fixed(schema["size"], wanted)
        if kind in ("array", "map"):
            raise NoColumnsError
        return _primitive(kind, schema.get("logicalType", kind), wanted)

    def _record(self, schema: dict[str, Any], wanted: Any) -> Step:
        if not isinstance(wanted, dict | None):
            raise NoColumnsError
        below = wanted or {}
        steps = [self.step(field["type"], below.get(field["name"])) for field in schema["fields"]]
        self._named[schema["name"]] = schema  # known only now: a type that contains itself has no columns

        def read(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
            for step in steps:
                at = step(batch, at, rows)
            return at

        return read

    def _union(self, schema: list[Any], wanted: Any) -> Step:
        if len(schema) != 2 or "null" not in schema:
            raise NoColumnsError
        null = schema.index("null")
        some = self.step(schema[1 - null], wanted)

        def read(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
            which, at = batch.varints(at)
            at[(which != 0) & (which != 1)] = batch.beyond
            given = np.flatnonzero(which == 1 - null)
            if len(given):
                at[given] = some(batch, at[given], given if rows is None else rows[given])
            return at

        return read


def _allowed(wanted: Any) -> Sequence[str]:
    """Return the types that the values of a field may have; none if there are fields below it."""
    return _ALLOWED.get(wanted, _ALLOWED_ATTRIBUTE) if isinstance(wanted, str) else ()


def _primitive(kind: str, logical: str, wanted: Any) -> Step:
    if wanted is not None and logical not in _allowed(wanted):
        raise NoColumnsError

    def keep(batch: _Batch, rows: ByteOffsets | None, values: list[Any]) -> None:
        _keep(batch, wanted, rows, values)

    if kind == "null":
        return lambda batch, at, rows: at
    if kind in ("string", "bytes"):

        def read_text(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
            begin, end = batch.lengths(at)
            if wanted is not None:
                texts, end = batch.texts(begin, end)
                keep(batch, rows, texts)
            elif kind == "string":  # not text, not a message of the schema
                _, end = batch.texts(begin, end)
            return end

        return read_text
    if kind in ("int", "long"):

        def read_whole(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
            numbers, at = batch.varints(at)
            if wanted is not None:
                if logical in _TIMES_PER_US:
                    found = _times(numbers, logical, batch.unit_ms)
                else:
                    found = (numbers.astype(np.float64) if wanted in ("lat", "lon") else numbers).tolist()
                keep(batch, rows, found)
            return at

        return read_whole
    if kind in ("float", "double"):
        size, code = (4, "<f4") if kind == "float" else (8, "<f8")

        def read_float(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
            if wanted is not None:
                keep(batch, rows, batch.floats(at, code, size).tolist())
            return batch.capped(at + size)

        return read_float
    if kind != "boolean":
        raise NoColumnsError

    def read_boolean(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
        if wanted is not None:
            keep(batch, rows, (batch.bytes[at] != 0).tolist())
        return batch.capped(at + 1)

    return read_boolean


def _times(numbers: ByteOffsets, logical: str, unit_ms: float) -> list[Any]:
    """Return times as numbers in the feed's unit, each the same millisecond as the datetime that it stands for.

    A time that is far from all plausible ones is None: as a number it would look like one in another unit.
    """
    scale, per = _TIMES_PER_US[logical]
    us = np.clip(numbers // per, -_FARTHEST_US // scale, _FARTHEST_US // scale) * scale
    ms = np.rint(us / 1e6 * 1000)
    found: list[Any] = (ms / unit_ms).tolist()
    for i in np.flatnonzero((ms < _FROM_MS) | (ms > _TO_MS)).tolist():
        found[i] = None
    return found


def _enum(schema: dict[str, Any], wanted: Any) -> Step:
    if wanted is not None and "enum" not in _allowed(wanted):
        raise NoColumnsError
    symbols = list(schema["symbols"])

    def read(batch: _Batch, at: ByteOffsets, rows: ByteOffsets | None) -> ByteOffsets:
        index, at = batch.varints(at)
        is_wrong = (index < 0) | (index >= len(symbols))
        at[is_wrong] = batch.beyond
        if wanted is not None:
            _keep(batch, wanted, rows, [symbols[i] for i in np.where(is_wrong, 0, index).tolist()])
        return at

    return read


def _fixed(size: int, wanted: Any) -> Step:
    if wanted is not None:
        raise NoColumnsError
    return lambda batch, at, rows: batch.capped(at + size)


def _keep(batch: _Batch, field: str, rows: ByteOffsets | None, values: list[Any]) -> None:
    """Keep the values of a field: of all messages, or of those with the numbers given."""
    if rows is None:
        batch.columns[field] = values
        return
    column = batch.columns[field] = [None] * batch.size
    for row, value in zip(rows.tolist(), values, strict=True):
        column[row] = value
