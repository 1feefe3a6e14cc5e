"""Files of records: CSV with a header, NDJSON of the topics' records, one JSON array of them, and tables of metres."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, cast

import msgspec

from core.records.record import Kind, Reason, attribute_field
from stream.formats.files.csv_records import CsvRecords, Entry, HeaderError
from stream.formats.files.forms import Form, FormError, elements, form_of
from stream.formats.files.lines import NumberedLines, blocks, numbered
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.input.json_messages import BOM
from stream.formats.input.messages import decoder
from stream.formats.input.rejection_reasons import rejection_reason

__all__ = ["Entry", "FileFormatError", "RecordFile"]

_HEAD = 2**16
"""Number of bytes at the start from which the form of a file is detected."""


class FileFormatError(Exception):
    """A file cannot be read as records; the message names the file and the place, and says what is allowed."""


class RecordFile:
    """One file of records, read from front to back.

    Args:
        path: The file; gzip is recognized by its first bytes, JSON by its name or its first character.
        kind: What it holds.
        names: For each of our fields its name in the file.
        max_bytes: Longest line, and longest element of a JSON array.
        projection: What the metres and times of a ``.tsv`` file of fragments mean.
        attributes: Attributes of a person that check-ins carry, by the names that the file uses.
        needed: Fields, by our names, that every record must have, beside ``user`` and ``ts``.

    Raises:
        FileFormatError: The file cannot be opened, is not text in UTF-8, does not have a supported form, its header
            lacks a column, or its metres have no projection.
    """

    def __init__(
        self,
        path: Path,
        kind: Kind,
        names: dict[str, str],
        *,
        max_bytes: int,
        projection: MetricProjection | None = None,
        attributes: Sequence[str] = (),
        needed: Collection[str] = (),
    ) -> None:
        self.path, self._kind, self._names, self._max_bytes, self._projection = path, kind, names, max_bytes, projection
        self._attributes = tuple(attributes) if kind is Kind.CHECKINS else ()
        try:
            self._raw = path.open("rb")
            self.size = path.stat().st_size
            packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
            self._stream: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw)) if packed else self._raw
            self._head = self._stream.read(_HEAD)
        except (OSError, EOFError, zlib.error) as fault:
            why = getattr(fault, "strerror", None) or "damaged gzip"
            raise FileFormatError(f"{path}: cannot be read ({why})") from None
        try:
            is_whole, is_metres = len(self._head) < _HEAD, kind is Kind.FRAGMENTS
            self._form = form_of(path, self._head, is_whole=is_whole, is_metres=is_metres)
            self._csv = self._read_header(needed) if self._form is Form.CSV else None
        except (FormError, HeaderError) as fault:
            self.close()
            raise FileFormatError(f"{path}: {fault}") from None
        if self._form is Form.METRES and projection is None:
            raise FileFormatError(
                f"{path}: files.metres is not set: the metres of a .tsv file need a map projection such as EPSG:2100"
            )

    @property
    def position(self) -> int:
        """Bytes of the file read so far, for showing progress; ``size`` is the end."""
        return self.size if self._raw.closed else self._raw.tell()

    @property
    def unit(self) -> str:
        """What the numbers of entries count: ``line``, or ``element`` of a JSON array."""
        return "element" if self._form is Form.JSON_ARRAY else "line"

    @property
    def has_header(self) -> bool:
        """Whether the first line that is not blank is a header."""
        return self._csv is not None

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        """Yield one entry per record, with its number in the file: the record, or why it cannot be read.

        Every line that is not blank, or every element of a JSON array, is one record.

        Raises:
            FileFormatError: The file is damaged, or is a JSON array without an end.
        """
        try:
            if self._form is Form.JSON_ARRAY:
                yield from self._json(elements(b"".join(chain([self._head], blocks(self._stream)))))
            elif self._form is Form.METRES and self._projection is not None:
                yield from self._projection.read(self._lines(), self._max_bytes)
            elif self._csv is not None:
                lines = self._lines()
                next(line for _, line in lines if line.strip())  # the header
                yield from self._csv.read(lines, self._max_bytes)
            else:
                yield from self._json(self._lines())
        except FormError as fault:
            raise FileFormatError(f"{self.path}: {fault}") from None
        except (EOFError, zlib.error, OSError) as fault:
            raise FileFormatError(f"{self.path}: is damaged ({type(fault).__name__})") from None

    def _lines(self) -> NumberedLines:
        return numbered(chain([self._head.removeprefix(BOM)], blocks(self._stream)), self._max_bytes)

    def _json(self, messages: NumberedLines) -> Iterator[tuple[int, Entry]]:
        decode = decoder(self._kind, self._names, self._attributes)
        for number, line in messages:
            message = line.strip()
            if not message and self._form is not Form.JSON_ARRAY:
                continue
            if len(message) > self._max_bytes:
                yield number, (Reason.MESSAGE_TOO_LARGE, f"the {self.unit} is longer than {self._max_bytes} bytes")
                continue
            try:
                yield number, decode(message)
            except msgspec.DecodeError as fault:
                yield number, rejection_reason(fault)

    def _read_header(self, needed: Collection[str]) -> CsvRecords:
        lines = self._head.removeprefix(BOM).splitlines(keepends=True)
        header = next((line for line in lines if line.strip()), None)
        if header is None and len(self._head) < _HEAD:
            raise HeaderError("is empty: a CSV must begin with a header of its columns, even if it has no records")
        has_end = len(self._head) < _HEAD or (header or b"").endswith((b"\n", b"\r"))
        if header is None or not has_end or len(header) > self._max_bytes:
            raise HeaderError(f"its header does not end within {min(self._max_bytes, _HEAD)} bytes")
        fields = dict(self._names)
        if self._kind is Kind.CHECKINS:
            fields |= {attribute_field(i): name for i, name in enumerate(self._attributes)}
            del fields["points"], fields["k"], fields["delta_m"]
        else:
            del fields["venue"], fields["category"], fields["points"]
            needed = {*needed, "lat", "lon"}
        return CsvRecords(header, self._kind, fields, {*needed, "user", "ts"})
