"""Files of records: CSV with a header, NDJSON of the topics' records, and tables of metres, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

import msgspec

from core.records import CheckIn, Fragment, Kind, Moment, Point, Reason, Timestamp, attribute_field, checkin_type
from stream.codec import decoder, refusal
from stream.plane import Plane

__all__ = ["FileFormatError", "RecordFile"]

Entry = CheckIn | Fragment | tuple[Reason, str]


class FileFormatError(Exception):
    """A file cannot be read as records; says which and what is allowed."""


class RecordFile:
    """One file of records, read from front to back.

    Args:
        path: The file; gzip is recognized by its first bytes, NDJSON by its name or its first character.
        kind: What it holds.
        names: For each of our fields the name that the file uses.
        max_bytes: Longest NDJSON line.
        plane: What the metres and times of a ``.tsv`` file of fragments mean.
        attributes: What check-ins tell of their person as well, by the names that the file uses.

    Raises:
        FileFormatError: It cannot be opened, its header lacks a column, or its metres have no plane.
    """

    def __init__(
        self,
        path: Path,
        kind: Kind,
        names: dict[str, str],
        *,
        max_bytes: int,
        plane: Plane | None = None,
        attributes: Sequence[str] = (),
    ) -> None:
        suffixes = {s.lower() for s in path.suffixes}
        self._is_metres, self._plane = kind is Kind.FRAGMENTS and ".tsv" in suffixes, plane
        if self._is_metres and plane is None:
            raise FileFormatError(
                f"{path}: files.metres is not set: the metres of a .tsv file need a map projection such as EPSG:2100"
            )
        self.path, self._kind, self._names, self._max_bytes = path, kind, names, max_bytes
        self._attributes = tuple(attributes) if kind is Kind.CHECKINS else ()
        try:
            self._raw = path.open("rb")
            self.size = path.stat().st_size
            packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
            self._lines: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw)) if packed else self._raw
            start = cast(io.BufferedReader, self._lines).peek(1)[:1]
        except (OSError, EOFError, zlib.error) as fault:
            why = getattr(fault, "strerror", None) or "damaged gzip"
            raise FileFormatError(f"{path}: cannot be read ({why})") from None
        self._is_ndjson = bool(suffixes & {".ndjson", ".jsonl", ".json"}) or start == b"{"

    @property
    def position(self) -> int:
        """Bytes of the file read so far, for showing progress; ``size`` is the end."""
        return self.size if self._raw.closed else self._raw.tell()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
        self._raw.close()

    def __iter__(self) -> Iterator[Entry]:
        """Yield one entry per record: the record, or why it cannot be read.

        Raises:
            FileFormatError: The file is damaged, or is not of the expected form.
        """
        try:
            if self._is_metres and self._plane is not None:
                yield from self._plane.read(self._lines)
            else:
                yield from self._ndjson() if self._is_ndjson else self._csv()
        except (EOFError, zlib.error, csv.Error, OSError) as fault:
            raise FileFormatError(f"{self.path}: is damaged ({type(fault).__name__})") from None

    def _ndjson(self) -> Iterator[Entry]:
        decode = decoder(self._kind, self._names, self._attributes)
        for line in self._lines:
            line = line.strip()  # noqa: PLW2901 - the message, as it would stand on the topic
            if not line:
                continue
            if len(line) > self._max_bytes:
                yield Reason.MESSAGE_TOO_LARGE, f"the line is longer than {self._max_bytes} bytes"
                continue
            try:
                yield decode(line)
            except msgspec.DecodeError as fault:
                yield refusal(fault)

    def _csv(self) -> Iterator[Entry]:
        text = io.TextIOWrapper(self._lines, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(text)
        header = [name.strip() for name in next(rows, [])]
        names = self._names | {attribute_field(i): name for i, name in enumerate(self._attributes)}
        column = {field: header.index(name) for field, name in names.items() if name in header}
        needed = {"user", "ts"} if self._kind is Kind.CHECKINS else {"user", "ts", "lat", "lon"}
        if missing := sorted(self._names[field] for field in needed - column.keys()):
            raise FileFormatError(
                f"{self.path}: the header has no column {', '.join(missing)}: a CSV needs user, ts, lat and lon "
                "(or fields.* in the settings), and NDJSON files end in .ndjson"
            )
        build = self._check_in if self._kind is Kind.CHECKINS else self._one_point
        for row in rows:
            if len(row) < 2 and not "".join(row).strip():
                continue  # a blank line
            values = {field: row[i].strip() if i < len(row) else "" for field, i in column.items()}
            try:
                yield build(values)
            except _BadValueError as bad:
                yield bad.reason, bad.detail

    def _check_in(self, values: dict[str, str]) -> CheckIn:
        fields = [attribute_field(i) for i in range(len(self._attributes))]
        return checkin_type(len(fields))(
            user=values["user"],
            ts=_timestamp(values["ts"]),
            lat=_optional(values, "lat"),
            lon=_optional(values, "lon"),
            venue=values.get("venue") or None,
            category=values.get("category") or None,
            **{field: values.get(field) or None for field in fields},
        )

    def _one_point(self, values: dict[str, str]) -> Fragment:
        lat, lon, k = _optional(values, "lat"), _optional(values, "lon"), _optional(values, "k")
        if lat is None or lon is None:
            raise _BadValueError(Reason.MISSING_FIELD, "lat and lon are needed")
        if k is not None and not k.is_integer():
            raise _BadValueError(Reason.WRONG_TYPE, "k is not a whole number")
        return Fragment(
            user=values["user"],
            points=[Point(_timestamp(values["ts"]), lat, lon)],
            k=None if k is None else int(k),
            delta_m=_optional(values, "delta_m"),
        )


class _BadValueError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


def _optional(values: dict[str, str], field: str) -> float | None:
    text = values.get(field, "")
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise _BadValueError(Reason.WRONG_TYPE, f"{field} is not a number") from None


def _timestamp(text: str) -> Timestamp:
    if not text:
        raise _BadValueError(Reason.MISSING_FIELD, "ts is needed")
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        raise _BadValueError(Reason.WRONG_TYPE, "ts is neither a number nor RFC 3339") from None
