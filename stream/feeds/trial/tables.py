"""A guess of how a table is written: its encoding, delimiter, header, decimal sign and columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stream.feeds.trial.guess import Guess, guess_fields
from stream.feeds.trial.names import LATITUDES, LONGITUDES, TIMES, USERS, rank
from stream.feeds.trial.shape import shape_of
from stream.feeds.trial.values import number_of, time_form
from stream.formats.files.dialect import DELIMITERS
from stream.formats.files.lines import CsvError, cells

__all__ = ["guess_table"]

_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,3},\d+")
_METRES = (
    "two columns may be metres of a map projection: as fragments, a .tsv of person, time, x and y is read if "
    "files.metres names the projection, such as EPSG:2100"
)
_NAMES_OF_SIGNS = {sign: name for name, sign in DELIMITERS.items() if sign}


def guess_table(lines: Sequence[bytes]) -> Guess | None:
    """Return the best guess for the first lines of a table; None if nothing in it looks like a position."""
    texts, encoding = _decoded([line for line in lines if line.strip()])
    guesses = [_of_delimiter(texts, sign) for sign in _NAMES_OF_SIGNS] if len(texts) > 1 else []
    found = max((one for one in guesses if one is not None), key=lambda one: one.n_found, default=None)
    if found is not None and encoding is not None:
        found.settings["input.text_encoding"] = encoding
        found.remarks.append(f"the text is not UTF-8, and {encoding} can be any text: check letters such as ä in names")
    return found


def _decoded(lines: Sequence[bytes]) -> tuple[list[str], str | None]:
    try:
        return [line.decode() for line in lines], None
    except UnicodeDecodeError:
        return [line.decode("latin-1") for line in lines], "latin-1"


def _of_delimiter(lines: Sequence[str], sign: str) -> Guess | None:
    rows = _rows(lines, sign)
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    header = rows[0]
    if not _is_header(header, rows[1:]):
        return _without_header(rows, sign)
    records = [dict(zip(header, row, strict=False)) for row in rows[1:]]
    decimal = "," if _has_decimal_commas(records) else "."
    guess = guess_fields(shape_of(records), is_text=True, decimal=decimal)
    if not guess.has_position:
        return None
    if decimal == ",":
        guess.settings["input.decimal"] = ","
        if sign == ",":
            guess.remarks.append("numbers have a decimal comma inside quotation marks")
    return guess


def _without_header(rows: Sequence[Sequence[str]], sign: str) -> Guess | None:
    """Return a guess for columns without names, as far as their values say what they are."""
    width = max(map(len, rows))
    columns = [[row[i] for row in rows if i < len(row) and row[i]] for i in range(width)]
    times = [i for i, column in enumerate(columns) if time_form(column) is not None]
    decimals = [i for i, column in enumerate(columns) if _are_degrees(column) and i not in times]
    if len([column for column in columns if _are_metres(column)]) == 2 and sign == "\t":
        return Guess(remarks=[_METRES])
    if len(times) < 1 or len(decimals) != 2:
        return None
    first, second = decimals
    guess = Guess(n_found=2)
    form = time_form(columns[times[0]])
    names = {times[0]: "ts", first: "lat", second: "lon"}
    if _beyond_90(columns[first]):
        names |= {first: "lon", second: "lat"}
    elif not _beyond_90(columns[second]):
        guess.needs["input.columns"] = (
            "there is no header, and nothing says which of two columns is the latitude: check lat and lon in "
            "input.columns"
        )
    others = [i for i in range(width) if i not in names]
    if others:
        names[others[0]] = "user"
        guess.n_found += 1
        guess.remarks.append(
            "there is no header: the first column that is no time and no position is taken for the person"
        )
    guess.settings |= {
        "input.delimiter": _NAMES_OF_SIGNS[sign],
        "input.columns": [names.get(i, f"column{i + 1}") for i in range(width)],
        **{f"fields.{name}": name for name in ("user", "ts", "lat", "lon")},
    }
    if form is not None:
        guess.settings |= {f"time.{name}": value for name, value in form[0].items()}
        if form[1]:
            guess.needs["time.zone"] = "the times have no offset: set time.zone to the zone in which they were written"
    return guess


def _rows(lines: Sequence[str], sign: str) -> list[list[str]]:
    rows = []
    for line in lines:
        try:
            rows.append(cells(line, sign))
        except CsvError:
            continue
    return rows


def _is_header(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    known = sum(
        rank((name,), names) is not None for name in first if name for names in (USERS, TIMES, LATITUDES, LONGITUDES)
    )
    values = sum(number_of(cell) is not None or time_form([cell]) is not None for cell in first)
    return values == 0 and (known > 0 or any(number_of(cell) is not None for row in others for cell in row))


def _has_decimal_commas(records: Sequence[dict[str, Any]]) -> bool:
    names = [name for name in records[0] if rank((name,), LATITUDES) is not None] if records else []
    return any(_DECIMAL_COMMA.fullmatch(record.get(name, "")) for record in records for name in names)


def _are_degrees(column: Sequence[str]) -> bool:
    numbers = [number_of(cell) for cell in column]
    found = [number for number in numbers if number is not None]
    return (
        len(found) >= 0.8 * len(column) > 0
        and all(abs(number) <= 180 for number in found)
        and any("." in cell for cell in column)
    )


def _are_metres(column: Sequence[str]) -> bool:
    numbers = [number for cell in column if (number := number_of(cell)) is not None]
    return (
        len(numbers) == len(column) > 0
        and all(abs(one) > 1_000 for one in numbers)
        and any("." in one for one in column)
    )


def _beyond_90(column: Sequence[str]) -> bool:
    return any(abs(number) > 90 for cell in column if (number := number_of(cell)) is not None)
