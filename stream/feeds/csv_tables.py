"""Reads the CSV files that settings name, strictly: a worker must not start with a file that was read in part."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from core.records.identity import Names, canonical
from stream.formats.files.csv_files.dialect import DELIMITERS
from stream.formats.files.csv_files.lines import CsvError, blocks, cells, numbered
from stream.formats.input.json_messages import BOM, is_utf16
from stream.settings.errors import SettingsError, cannot_be_read

__all__ = ["TableRow", "find_name", "listed_name", "read_named_table", "read_table", "written", "wrong_line"]

_LONGEST_LINE = 2**20


class TableRow(NamedTuple):
    """One line of a table."""

    line: int
    """Its number in the file; the first is 1."""

    values: tuple[str, ...]
    """One value for each requested column: composed characters (NFC), single spaces inside and none around."""

    def __repr__(self) -> str:
        """Show the line number alone: a value could be an id."""
        return f"TableRow(line={self.line})"


def read_table(file: Path, setting: str, columns: Sequence[str]) -> Iterator[TableRow]:
    """Yield the lines below the header that are not blank.

    Args:
        file: A CSV in UTF-8; it may have other columns, too.
        setting: The setting that names it.
        columns: The columns to return.

    Raises:
        SettingsError: The file cannot be read, is not CSV in UTF-8, or lacks a column. The message names the setting,
            the file and the line, and repeats no value.
    """

    def indices(names: Sequence[str]) -> list[int]:
        for name in columns:
            if names.count(name) != 1:
                rule = f"the header must have each of the columns {', '.join(columns)} once; {name} occurs "
                raise CsvError(f"{rule}{names.count(name)} times")
        return [names.index(name) for name in columns]

    return _rows(file, setting, [","], indices)


def read_named_table(
    file: Path, setting: str, columns: Mapping[str, Sequence[str]], *, optional: Collection[str]
) -> Iterator[TableRow]:
    """Yield the lines of a CSV that other programs wrote, as :func:`read_table` does.

    Args:
        file: A CSV in UTF-8. Semicolons, tabs or pipes may stand between its values.
        setting: The setting that names it.
        columns: The columns to return, and the names under which each is found, the preferred first; case does not
            count.
        optional: Those of them that the file may lack; their values are then empty.

    Raises:
        SettingsError: As for :func:`read_table`.
    """

    def indices(names: Sequence[str]) -> list[int]:
        folded = [name.casefold() for name in names]
        found: list[int] = []
        for column, known in columns.items():
            name = next((one for one in known if one in folded), None)
            if name is None and column not in optional:
                raise CsvError(f"the header must have a column {column} (or {', '.join(known[1:])})")
            if name is not None and folded.count(name) > 1:
                raise CsvError(f"the header must have the column {name} once, but has it {folded.count(name)} times")
            found.append(len(names) if name is None else folded.index(name))
        return found

    return _rows(file, setting, list(filter(None, DELIMITERS.values())), indices)


def _rows(
    file: Path, setting: str, delimiters: Sequence[str], indices_in: Callable[[Sequence[str]], list[int]]
) -> Iterator[TableRow]:
    """Yield the lines of a table; ``indices_in`` finds the columns in the names of a header, one beyond for none."""
    try:
        with file.open("rb") as stream:
            filled = ((number, line) for number, line in numbered(blocks(stream), _LONGEST_LINE) if line.strip())
            number, header = next(filled, (1, b""))
            header = header.removeprefix(BOM)
            delimiter = max(delimiters, key=lambda sign: header.count(sign.encode()))
            names = _cells(header, setting, file, number, delimiter)
            try:
                indices = indices_in(names)
            except CsvError as fault:
                raise wrong_line(setting, file, number, str(fault)) from None
            for number, line in filled:
                values = _cells(line, setting, file, number, delimiter)
                # An extra comma, as in 1,5 for 1.5, would shift the values after it by one column.
                if len(values) != len(names):
                    rule = f"must have {len(names)} values like the header, but has {len(values)}"
                    raise wrong_line(setting, file, number, rule)
                values.append("")
                yield TableRow(number, tuple(written(values[i]) for i in indices))
    except OSError as fault:
        raise SettingsError(f"{setting} {file}: {cannot_be_read(fault)}") from None


def find_name(name: str, names: Names, known: Sequence[str]) -> str | None:
    """Find a name in a list, in any spelling; None if it matches no name of the list, or several.

    Args:
        name: The name, in any spelling.
        names: Index of the list.
        known: The list.
    """
    found = names.find(written(name))
    return known[found] if found >= 0 else None


def listed_name(name: str, names: Names, known: Sequence[str], setting: str, allowed: str) -> str:
    """Find the name in a list that a setting refers to.

    Args:
        name: The name, in any spelling.
        names: Index of the list.
        known: The list.
        setting: Start of the error message: the setting and a verb.
        allowed: What the name must be.

    Raises:
        SettingsError: The name matches no name of the list, or several.
    """
    if (found := find_name(name, names, known)) is None:
        is_several = any(canonical(one) == canonical(name) for one in known)
        how = ", spelled exactly like it, because several differ in their spelling alone" if is_several else ""
        raise SettingsError(f"{setting} {name.strip()!r}: it must be {allowed}{how}")
    return found


def wrong_line(setting: str, file: Path, line: int, rule: str) -> SettingsError:
    """Return the error for a line; ``rule`` says what the line must be."""
    return SettingsError(f"{setting} {file}, line {line}: {rule}")


def written(value: str) -> str:
    """Return a text in composed characters (NFC), with single spaces inside and none around."""
    return " ".join((value if value.isascii() else unicodedata.normalize("NFC", value)).split())


def _cells(line: bytes, setting: str, file: Path, number: int, delimiter: str) -> list[str]:
    if len(line) > _LONGEST_LINE:
        raise wrong_line(setting, file, number, f"is longer than {_LONGEST_LINE} bytes")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or is_utf16(line):
        raise SettingsError(f"{setting} {file} is not UTF-8 (line {number}): save it as UTF-8")
    try:
        return cells(text, delimiter)
    except CsvError as fault:
        raise wrong_line(setting, file, number, f"is not CSV: {fault}") from None
