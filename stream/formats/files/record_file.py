"""Files of records: every element of a file as a record, or as the reason why there is none."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import Any

from core.records.record import Kind, Reason
from stream.formats.files.avro_container import AvroRows
from stream.formats.files.columns import Columns, columns_of, reads_whole_rows, top_levels
from stream.formats.files.csv_files.csv_records import CsvLines, HeaderError
from stream.formats.files.csv_files.dialect import COMMAS, Dialect
from stream.formats.files.csv_files.headers import is_comment, separator_in
from stream.formats.files.csv_files.lines import NumberedLines
from stream.formats.files.form_error import FormError
from stream.formats.files.forms import Form, binary_form, form_of, may_be_message
from stream.formats.files.gpx import gpx_points, refuse_other_names
from stream.formats.files.json_documents import document_entries, whole, without_limits
from stream.formats.files.json_values import elements, texts_of_sequence
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.files.opened_file import HEAD, OpenedFile, why_unreadable
from stream.formats.files.parquet import ParquetRows
from stream.formats.input.encodings.decoding import Decoder
from stream.formats.input.json_messages import BOM
from stream.formats.input.mapping import DocumentMapping, Entry, MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin, names_in

__all__ = ["FileFormatError", "Place", "RecordFile"]

Place = tuple[int, int | None]
"""Number of a line or an element of a file, and the number of a record in the list that it holds, if it holds one."""


class FileFormatError(Exception):
    """A file cannot be read as records; the message names the file and the place, and says what is allowed."""


class RecordFile:
    """One file of records, read from front to back.

    Args:
        path: The file; its form is found by its first bytes and its name; see
            :mod:`stream.formats.files.forms`.
        kind: What it holds.
        options: Where its records and their fields are.
        max_bytes: Longest line, and longest element of a JSON array.
        dialect: How a CSV is written.
        projection: What the metres and times of a ``.tsv`` file of fragments mean; None to read it as CSV.
        needed: Fields, by our names, that every record must have, beside ``user`` and ``ts``.
        decoder: Decodes a file that is one message in another encoding than JSON; None if files are not.

    Raises:
        FileFormatError: The file cannot be opened, does not have a supported form, its header lacks a column, or a
            library that its form needs is not installed.
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
        decoder: Decoder | None = None,
    ) -> None:
        self.path, self._kind, self._options, self._max_bytes = path, kind, options, max_bytes
        self._projection, self._dialect, self._decoder = projection, dialect, decoder
        self._csv: CsvLines | None = None
        self._n_before = 0
        """Number of lines up to the header of a CSV, or before its first record."""
        self._table: ParquetRows | AvroRows | None = None
        self._origin = Origin(file=path.name.split(".")[0] or path.name)
        try:
            self._file = OpenedFile(path)
        except FormError as fault:
            raise FileFormatError(f"{path}: {fault}") from None
        self.size = self._file.size
        try:
            self._form = self._found_form()
            self._prepare(needed)
        except (FormError, HeaderError) as fault:
            self.close()
            raise FileFormatError(f"{path}: {fault}{self._metres_hint()}") from None
        except (OSError, EOFError, zlib.error) as fault:
            self.close()
            raise FileFormatError(f"{path}: cannot be read ({why_unreadable(fault)})") from None

    @property
    def position(self) -> int:
        """Bytes of the file read so far, for showing progress; ``size`` is the end."""
        if isinstance(self._table, ParquetRows):  # which is not read from front to back
            return self.size * self._table.n_read // max(self._table.n_rows, 1)
        return self._file.position

    @property
    def unit(self) -> str:
        """What the numbers of entries count, such as ``line`` or ``element``."""
        return self._form.unit

    @property
    def has_header(self) -> bool:
        """Whether the first line that is not blank is a header."""
        return self._csv is not None and not self._dialect.columns

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        """Yield one entry per record with the number of its line or element; see :meth:`entries`."""
        return ((number, entry) for (number, _), entry in self.entries())

    def entries(self) -> Iterator[tuple[Place, Entry]]:
        """Yield one entry per record, with its place in the file: the record, or why it cannot be read.

        Every line that is not blank, every element of a JSON array, every row of a table, or every point of a GPX file
        is one record, or a list of records.

        Raises:
            FileFormatError: The file is damaged, or is JSON without an end, or without records where the settings look
                for them.
        """
        try:
            yield from self._entries()
        except FormError as fault:
            raise FileFormatError(f"{self.path}: {fault}") from None
        except (EOFError, zlib.error, OSError) as fault:
            raise FileFormatError(
                f"{self.path}: is damaged or cut off ({type(fault).__name__}): copy the file again; `gzip -t` checks a "
                "gzipped one"
            ) from None

    def _entries(self) -> Iterator[tuple[Place, Entry]]:
        if self._table is not None:
            yield from self._mapped(self._table.read())
        elif self._form is Form.MESSAGE:
            reader = MessageReader(self._kind, without_limits(self._options), self._decoder)
            yield from self._alone(whole(self._file.binary.read(), reader, self._origin))
        elif self._form is Form.GPX:
            encoding = None if self._dialect.encoding == "utf-8" else "utf-8"
            yield from self._mapped(gpx_points(self._file.content(), self._max_bytes, encoding))
        elif self._form is Form.JSON_ARRAY:
            yield from self._json(elements(b"".join(self._file.content())))
        elif self._form is Form.SEQUENCE:
            yield from self._json(texts_of_sequence(self._file.content(), self._max_bytes))
        elif self._form is Form.DOCUMENT:
            content = b"".join(self._file.content())
            yield from self._alone(
                document_entries(content, self._kind, self._options, self._origin, max_bytes=self._max_bytes)
            )
        elif self._form is Form.METRES and self._projection is not None:
            yield from self._alone(self._projection.read(self._file.lines(self._max_bytes), self._max_bytes))
        elif self._csv is not None:
            yield from self._rows(self._csv)
        else:
            yield from self._json(self._file.lines(self._max_bytes))

    def _found_form(self) -> Form:
        found = binary_form(self._file.magic)
        if found is None and self._decoder is not None and may_be_message(self.path, self._file.magic):
            found = Form.MESSAGE
        if found is not None:
            return found
        self._file.read_head(self._dialect.encoding)
        return form_of(
            self.path,
            self._file.head,
            is_whole=self._file.is_whole,
            is_metres=self._projection is not None,
            has_list=bool(self._options.records),
        )

    def _metres_hint(self) -> str:
        is_table = self._kind is Kind.FRAGMENTS and self._projection is None and ".tsv" in self.path.suffixes
        return "; lines of user, time, x and y in metres need files.metres" if is_table else ""

    def _prepare(self, needed: Collection[str]) -> None:
        """Read what stands before the records."""
        if self._form is Form.CSV:
            self._csv = self._first_line(needed)
        elif self._form is Form.GPX:
            refuse_other_names(self._options)
        elif self._form is Form.AVRO:
            self._table = AvroRows(self._file.binary)
        elif self._form is Form.PARQUET:
            self._table = ParquetRows(self._file.seekable())
            if not reads_whole_rows(self._options):
                self._table.choose(columns_of(self._options, self._kind, needed, nested=self._table.columns))

    def _json(self, messages: NumberedLines) -> Iterator[tuple[Place, Entry]]:
        reader = MessageReader(self._kind, self._options)
        for number, line in messages:
            message = line.strip()
            if not message and self._form is Form.NDJSON:
                continue
            if len(message) > self._max_bytes:
                detail = f"the {self.unit} is longer than {self._max_bytes} bytes"
                yield (number, None), Unreadable(Reason.MESSAGE_TOO_LARGE, detail)
                continue
            for element, entry in reader.read(message, self._origin):
                yield (number, element), entry

    @staticmethod
    def _alone(records: Iterator[tuple[int, Entry]]) -> Iterator[tuple[Place, Entry]]:
        """Yield records that are in no list of their own."""
        return (((number, None), entry) for number, entry in records)

    def _mapped(self, documents: Iterator[tuple[int, Any]]) -> Iterator[tuple[Place, Entry]]:
        mapping = DocumentMapping(self._kind, self._options)
        for number, document in documents:
            for element, entry in mapping.entries(document, self._origin):
                yield (number, element), entry

    def _rows(self, csv: CsvLines) -> Iterator[tuple[Place, Entry]]:
        options = replace(self._options, records="", numbers_as_text=True, decimal=self._dialect.decimal)
        mapping, origin = DocumentMapping(self._kind, options), self._origin
        lines = dropwhile(lambda one: one[0] <= self._n_before, self._file.lines(self._max_bytes))
        for number, row in csv.read(lines, self._max_bytes):
            if isinstance(row, Unreadable):
                yield (number, None), row
            else:
                for _, entry in mapping.entries(row, origin):
                    yield (number, None), entry

    def _first_line(self, needed: Collection[str]) -> CsvLines:
        head, is_whole, dialect = self._file.head, self._file.is_whole, self._dialect
        columns = [columns_of(self._options, self._kind, needed)]
        if self._kind is Kind.FRAGMENTS:  # a line may be a whole fragment, with its points in JSON
            points = top_levels(names_in(self._options.names["points"]))
            columns.append(columns_of(self._options, self._kind, needed, nested=points))
        lines = head.removeprefix(BOM).splitlines(keepends=True)
        filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        if not filled and is_whole:
            raise HeaderError("is empty: a CSV must begin with a header of its columns, even if it has no records")
        if filled and (sign := separator_in(filled[0][1])) is not None:
            dialect = replace(dialect, delimiter=dialect.delimiter or sign)
            self._n_before = filled.pop(0)[0]
        fault: HeaderError | None = None
        for number, line in filled:
            if not (is_whole or line.endswith((b"\n", b"\r"))) or len(line) > self._max_bytes:
                fault = None
                break
            # A header may begin as comments do, with a name such as "# Timestamp".
            for first in (line, line.lstrip(b"# \t")) if is_comment(line) else (line,):
                try:
                    csv = _csv_lines(first.rstrip(b"\r\n"), columns, dialect)
                except HeaderError as found:
                    fault = found
                    continue
                if dialect.columns and is_comment(first) and not csv.fits(first):
                    break
                self._n_before = number - bool(dialect.columns)
                return csv
            if not is_comment(line):
                break
        raise fault or HeaderError(f"its header does not end within {min(self._max_bytes, HEAD)} bytes")


def _csv_lines(first: bytes, columns: Sequence[Columns], dialect: Dialect) -> CsvLines:
    """Return the reader of a CSV with the first of several lists of columns that its header has.

    Raises:
        HeaderError: It has none of them; the message says what the first one lacks.
    """
    faults: list[HeaderError] = []
    for one in columns:
        try:
            return CsvLines(first, one, dialect)
        except HeaderError as fault:
            faults.append(fault)
    raise faults[0]
