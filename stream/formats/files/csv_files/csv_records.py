"""CSV: the columns of the header, and one document for each line below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from core.records.record import Reason
from stream.formats.files.columns import Columns
from stream.formats.files.csv_files.dialect import DELIMITERS, Dialect
from stream.formats.files.csv_files.headers import are_names, hold_values, shown_names
from stream.formats.files.csv_files.lines import CsvError, NumberedLines, cells
from stream.formats.files.form_error import FormError
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import json_document
from stream.formats.input.mapping import Unreadable
from stream.formats.input.rejection_reasons import NOT_UTF8

__all__ = ["CsvLines", "CsvRow", "HeaderError"]

CsvRow = dict[str, Any]
"""The values of a line that are not empty, by the names that paths use for their columns: texts or, where a path leads
into them, the objects and lists that they are in JSON."""


_SPELLINGS = (str.lower, str.upper, str.title, str.capitalize)


class HeaderError(Exception):
    """The first line of a CSV does not name the columns; the message says which are missing, and repeats no value."""


class CsvLines:
    """Reads the lines of one CSV as documents.

    Args:
        first: The first line, which is the header unless the dialect names the columns.
        columns: The columns that the feed reads.
        dialect: How the file is written.

    Raises:
        HeaderError: The header lacks a column that is needed, or has one of the columns twice.
    """

    def __init__(self, first: bytes, columns: Columns, dialect: Dialect) -> None:
        try:
            text = first.decode()
        except UnicodeDecodeError:
            raise HeaderError(
                "its first line is not UTF-8: save the file as UTF-8, or name its encoding in input.text_encoding"
            ) from None
        try:
            self._delimiter, names = _split(text, columns, dialect)
        except CsvError as fault:
            raise HeaderError(f"its first line is not a header: {fault}") from None
        self._n_columns = len(names)
        at = {name: _found(name, names) for name in columns.used}
        if twice := sorted({name for name, found in at.items() if len(found) > 1}):
            raise HeaderError(f"the header has the column {twice[0]} more than once: it must occur once")
        self._columns = [(name, found[0]) for name, found in at.items() if found]
        self._nested = [name for name, _ in self._columns if name in columns.nested]
        self._own_names = {i: names[i].casefold() for _, i in self._columns}
        if missing := _missing(columns, names):
            is_header = not dialect.columns
            raise HeaderError(_without(missing, names, columns.used) if is_header else _unnamed(missing, names))

    def fits(self, line: bytes) -> bool:
        """Whether a line has a value for each column."""
        try:
            return len(cells(line.decode(), self._delimiter)) == self._n_columns
        except (UnicodeDecodeError, CsvError):
            return False

    def read(self, lines: NumberedLines, max_bytes: int) -> Iterator[tuple[int, CsvRow | Unreadable]]:
        """Yield the values of each line that is not blank, or why they cannot be read.

        Raises:
            FormError: A line names the columns in another order.
        """
        columns, n_columns, delimiter = self._columns, self._n_columns, self._delimiter
        nested = self._nested
        names = frozenset(write(name) for name in self._own_names.values() for write in _SPELLINGS)
        for number, line in lines:
            if not line.strip():
                continue
            if len(line) > max_bytes:
                yield number, Unreadable(Reason.MESSAGE_TOO_LARGE, f"the line is longer than {max_bytes} bytes")
                continue
            try:
                text = line.decode()
                row = text.split(delimiter) if b'"' not in line and b"\0" not in line else cells(text, delimiter)
                if len(row) != n_columns:
                    row = _filled(row, n_columns)
            except UnicodeDecodeError:
                yield number, Unreadable(Reason.NOT_UTF8, f"the line {NOT_UTF8}")
            except CsvError as fault:
                yield number, Unreadable(Reason.NOT_CSV, str(fault))
            else:
                found: CsvRow = {name: value for name, i in columns if (value := row[i].strip())}
                if not names.isdisjoint(found.values()):
                    self._refuse_other_header(number, row)
                for name in nested:
                    if found.get(name, "")[:1] in ("{", "["):
                        found[name] = _inner(found[name])
                yield number, found

    def _refuse_other_header(self, number: int, row: Sequence[str]) -> None:
        """Refuse a table that goes on with its columns in another order: values would be read as those of others."""
        names = frozenset(self._own_names.values())
        found = {i: cell for i in self._own_names if (cell := row[i].strip().casefold()) in names}
        if len(found) > 1 and any(cell != self._own_names[i] for i, cell in found.items()):
            raise FormError(
                f"line {number} is another header, with the columns in another order: write what follows it to a file "
                "of its own"
            )


def _inner(text: str) -> Any:
    """Return what a value in JSON holds; the text itself if it is none."""
    try:
        return json_document(text.encode())
    except UnreadableError:
        return text


def _split(line: str, columns: Columns, dialect: Dialect) -> tuple[str, list[str]]:
    """Return the delimiter, and the names of the columns."""
    tried = [dialect.delimiter] if dialect.delimiter else [sign for sign in DELIMITERS.values() if sign]
    if dialect.decimal in tried and len(tried) > 1:
        tried = [sign for sign in tried if sign != dialect.decimal] + [dialect.decimal]
    if dialect.columns:
        fitting = (sign for sign in tried if len(cells(line, sign)) == len(dialect.columns))
        return next(fitting, tried[0]), list(dialect.columns)
    for sign in tried:
        try:
            names = cells(line, sign)
        except CsvError:
            continue
        if not _missing(columns, names):
            return sign, names
    return _with_most_columns(line, tried)


def _with_most_columns(line: str, tried: Sequence[str]) -> tuple[str, list[str]]:
    found: list[tuple[str, list[str]]] = []
    faults: list[CsvError] = []
    for sign in tried:
        try:
            found.append((sign, cells(line, sign)))
        except CsvError as fault:
            faults.append(fault)
    if not found:
        raise faults[0]
    return max(found, key=lambda one: len(one[1]))


def _found(name: str, names: Sequence[str]) -> list[int]:
    """Return the indices of the columns with a name; upper and lower case differ only where both are there."""
    same = [i for i, one in enumerate(names) if one == name]
    return same or [i for i, one in enumerate(names) if one.casefold() == name.casefold()]


def _missing(columns: Columns, names: Sequence[str]) -> list[str]:
    return [" or ".join(either) for either in columns.needed if not any(_found(name, names) for name in either)]


def _filled(row: list[str], n_columns: int) -> list[str]:
    """Extend a row to the number of columns: values that are missing at its end are empty."""
    if any(value.strip() for value in row[n_columns:]):
        # A decimal comma, as in 48,2082, would shift all values after it by one column.
        raise CsvError("the line has more values than the header: a comma inside a value needs quotation marks")
    return row + [""] * (n_columns - len(row))


def _unnamed(missing: list[str], names: Sequence[str]) -> str:
    return f"input.columns has no {', '.join(missing)}; it has {', '.join(names)}: name every column that is needed"


def _without(missing: list[str], found: list[str], known: Sequence[str]) -> str:
    """Return which columns the header lacks and, unless they could be values of a record, which it has."""
    lacks = f"the header has no column {', '.join(missing)}"
    needs = (
        "a CSV begins with a header of the columns user, ts, lat, lon, venue and so on (or fields.* in the settings)"
    )
    if hold_values(found, is_known=any(_found(name, found) for name in known)):
        return (
            "its first line holds values, not names: a header is needed, or the names of the columns in input.columns; "
            f"{lacks}: {needs}"
        )
    others = [name for name, sign in DELIMITERS.items() if sign and sign in found[0]] if len(found) == 1 else []
    if others and are_names(found):
        return f"{lacks}; it is one column, which input.delimiter {' or '.join(others)} would divide: {needs}"
    if (names := shown_names(found, known)) is None:
        return f"{lacks}, nor any other known name: {needs}"
    return f"{lacks}; it has {names}: {needs}"
