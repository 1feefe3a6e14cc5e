"""Files of records: every element of a file as a record, or as the reason why there is none."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, cast

from core.records.record import Kind, Reason, attribute_field
from stream.formats.files.csv_records import Columns, CsvLines, HeaderError
from stream.formats.files.dialect import COMMAS, Dialect, Transcoded
from stream.formats.files.forms import Form, FormError, elements, form_of
from stream.formats.files.lines import NumberedLines, blocks, numbered
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.input.conditions import names_of_condition
from stream.formats.input.json_messages import BOM
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin, is_elsewhere, names_in

__all__ = ["FileFormatError", "Place", "RecordFile"]

Place = tuple[int, int | None]
"""Number of a line or an element of a file, and the number of a record in the list that it holds, if it holds one."""

_HEAD = 2**16
"""Number of bytes at the start from which the form of a file is detected."""


class FileFormatError(Exception):
    """A file cannot be read as records; the message names the file and the place, and says what is allowed."""


class RecordFile:
    """One file of records, read from front to back.

    Args:
        path: The file; gzip is recognized by its first bytes, JSON by its name or its first character.
        kind: What it holds.
        options: Where its records and their fields are.
        max_bytes: Longest line, and longest element of a JSON array.
        dialect: How a CSV is written.
        projection: What the metres and times of a ``.tsv`` file of fragments mean; None to read it as CSV.
        needed: Fields, by our names, that every record must have, beside ``user`` and ``ts``.

    Raises:
        FileFormatError: The file cannot be opened, is not text, does not have a supported form, or its header lacks a
            column.
    """

    def __init__(
        self,
        path: Path,
        kind: Kind,
        options: MappingOptions,
        *,
        max_bytes: int,
        dialect: Dialect = COMMAS,
        projection: MetricProjection | None = None,
        needed: Collection[str] = (),
    ) -> None:
        self.path, self._kind, self._options, self._max_bytes = path, kind, options, max_bytes
        self._projection, self._dialect = projection, dialect
        self._origin = Origin(file=path.name.split(".")[0] or path.name)
        try:
            self._raw = path.open("rb")
            self.size = path.stat().st_size
            self._stream = self._opened()
            self._head = self._stream.read(_HEAD)
        except (OSError, EOFError, zlib.error) as fault:
            why = getattr(fault, "strerror", None) or "damaged gzip"
            raise FileFormatError(f"{path}: cannot be read ({why})") from None
        try:
            is_whole = len(self._head) < _HEAD
            self._form = form_of(path, self._head, is_whole=is_whole, is_metres=projection is not None)
            self._csv = self._first_line(needed) if self._form is Form.CSV else None
        except (FormError, HeaderError) as fault:
            self.close()
            raise FileFormatError(f"{path}: {fault}") from None

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
        return self._csv is not None and not self._dialect.columns

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        """Yield one entry per record with the number of its line or element; see :meth:`entries`."""
        return ((number, entry) for (number, _), entry in self.entries())

    def entries(self) -> Iterator[tuple[Place, Entry]]:
        """Yield one entry per record, with its place in the file: the record, or why it cannot be read.

        Every line that is not blank, or every element of a JSON array, is one record, or a list of records.

        Raises:
            FileFormatError: The file is damaged, or is a JSON array without an end.
        """
        try:
            if self._form is Form.JSON_ARRAY:
                yield from self._json(elements(b"".join(chain([self._head], blocks(self._stream)))))
            elif self._form is Form.METRES and self._projection is not None:
                for number, entry in self._projection.read(self._lines(), self._max_bytes):
                    yield (number, None), entry
            elif self._csv is not None:
                yield from self._rows(self._csv)
            else:
                yield from self._json(self._lines())
        except FormError as fault:
            raise FileFormatError(f"{self.path}: {fault}") from None
        except (EOFError, zlib.error, OSError) as fault:
            raise FileFormatError(f"{self.path}: is damaged ({type(fault).__name__})") from None

    def _opened(self) -> IO[bytes]:
        is_packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw)) if is_packed else self._raw
        if self._dialect.encoding == "utf-8":
            return stream
        return cast("IO[bytes]", Transcoded(stream, self._dialect.encoding))

    def _lines(self) -> NumberedLines:
        return numbered(chain([self._head.removeprefix(BOM)], blocks(self._stream)), self._max_bytes)

    def _json(self, messages: NumberedLines) -> Iterator[tuple[Place, Entry]]:
        reader = MessageReader(self._kind, self._options)
        for number, line in messages:
            message = line.strip()
            if not message and self._form is not Form.JSON_ARRAY:
                continue
            if len(message) > self._max_bytes:
                detail = f"the {self.unit} is longer than {self._max_bytes} bytes"
                yield (number, None), Unreadable(Reason.MESSAGE_TOO_LARGE, detail)
                continue
            for element, entry in reader.read(message, self._origin):
                yield (number, element), entry

    def _rows(self, csv: CsvLines) -> Iterator[tuple[Place, Entry]]:
        options = replace(self._options, records="", numbers_as_text=True, decimal=self._dialect.decimal)
        mapping, origin = DocumentMapping(self._kind, options), self._origin
        lines = self._lines()
        if self.has_header:
            next(line for _, line in lines if line.strip())
        for number, row in csv.read(lines, self._max_bytes):
            if isinstance(row, Unreadable):
                yield (number, None), row
            else:
                for _, entry in mapping.entries(row, origin):
                    yield (number, None), entry

    def _first_line(self, needed: Collection[str]) -> CsvLines:
        lines = self._head.removeprefix(BOM).splitlines(keepends=True)
        first = next((line for line in lines if line.strip()), None)
        if first is None and len(self._head) < _HEAD:
            raise HeaderError("is empty: a CSV must begin with a header of its columns, even if it has no records")
        has_end = len(self._head) < _HEAD or (first or b"").endswith((b"\n", b"\r"))
        if first is None or not has_end or len(first) > self._max_bytes:
            raise HeaderError(f"its header does not end within {min(self._max_bytes, _HEAD)} bytes")
        return CsvLines(first.rstrip(b"\r\n"), self._columns(needed), self._dialect)

    def _columns(self, needed: Collection[str]) -> Columns:
        paths = dict(self._options.names)
        of_other_kind = ["points", "k", "delta_m"] if self._kind is Kind.CHECKINS else ["points", "venue", "category"]
        for name in of_other_kind:
            del paths[name]
        if self._kind is Kind.CHECKINS:
            paths |= {attribute_field(i): path for i, path in enumerate(self._options.attributes)}
        else:
            needed = {*needed, "lat", "lon"}
        needed = {*needed, "user", "ts"}
        conditions = [name for text in self._options.only for name in names_of_condition(text)]
        return Columns(
            used=list(dict.fromkeys([*chain.from_iterable(map(names_in, paths.values())), *conditions])),
            needed=[names_in(path) for name, path in paths.items() if name in needed and not is_elsewhere(path)],
        )
