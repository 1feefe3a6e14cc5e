"""A guess of how a table is written: its encoding, delimiter, header and decimal sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.records.record import Kind
from stream.feeds.trial.guessing.columns import guess_columns, guess_unknown_names
from stream.feeds.trial.guessing.guess import guess_documents, guess_fields
from stream.feeds.trial.guessing.names import LATITUDES, LONGITUDES, TIMES, USERS, rank
from stream.feeds.trial.guessing.shape import shape_of
from stream.feeds.trial.guessing.values import DECIMAL_COMMA, number_of, time_form
from stream.feeds.trial.guessing.written import Guess
from stream.feeds.trial.sample import Sample
from stream.formats.files.csv_files.dialect import DELIMITERS
from stream.formats.files.csv_files.headers import is_comment, separator_in
from stream.formats.files.csv_files.lines import CsvError, cells
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import json_document
from stream.formats.input.paths import Origin

__all__ = ["guess_table"]

_NAMES_OF_SIGNS = {sign: name for name, sign in DELIMITERS.items() if sign}


def guess_table(lines: Sequence[bytes], kind: Kind = Kind.CHECKINS) -> Guess | None:
    """Return the best guess for the first lines of a table; None if nothing in it looks like a position.

    Args:
        lines: The lines.
        kind: What the table holds.
    """
    filled = [line for line in lines if line.strip()]
    sign = separator_in(filled[0]) if filled else None
    texts, encoding = _decoded(filled if sign is None else filled[1:])
    signs = list(_NAMES_OF_SIGNS) if sign is None else [sign]
    guesses = [_of_delimiter(_without_comments(texts, one), one, kind) for one in signs] if len(texts) > 1 else []
    found = max((one for one in guesses if one is not None), key=lambda one: one.n_found, default=None)
    if found is not None and encoding is not None:
        found.settings["input.text_encoding"] = encoding
        found.remarks.append(f"the text is not UTF-8, and {encoding} can be any text: check letters such as ä in names")
    return found


def _without_comments(texts: Sequence[str], sign: str) -> Sequence[str]:
    """Return the lines without comments before the header, which may begin as they do."""
    at = next((i for i, text in enumerate(texts) if not is_comment(text)), len(texts))
    if at in (0, len(texts)):
        return texts
    last, first = _rows([texts[at - 1]], sign), _rows([texts[at]], sign)
    is_header = bool(last and first) and len(last[0]) == len(first[0]) > 1
    return texts[at - is_header :]


def _decoded(lines: Sequence[bytes]) -> tuple[list[str], str | None]:
    try:
        return [line.decode() for line in lines], None
    except UnicodeDecodeError:
        return [line.decode("latin-1") for line in lines], "latin-1"


def _of_delimiter(lines: Sequence[str], sign: str, kind: Kind) -> Guess | None:
    rows = _rows(lines, sign)
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    header = rows[0]
    if not _is_header(header, rows[1:]):
        return guess_columns(rows, _name_of(sign))
    records = [dict(zip(header, map(_inner, row), strict=False)) for row in rows[1:]]
    decimal = "," if _has_decimal_commas(records) else "."
    guess = guess_fields(shape_of(records), is_text=True, decimal=decimal)
    if not guess.has_position:
        lists = guess_documents(Sample(records, [Origin()] * len(records)), kind)
        if lists is not None and "fields.points" in lists.settings:
            return lists
        if (unknown := guess_unknown_names(header, rows[1:], _name_of(sign))) is not None:
            return unknown
        return next((one for one in (guess, lists) if one is not None and one.remarks), None)
    guess.take_weak_user()
    if decimal == ",":
        guess.settings["input.decimal"] = ","
        if sign == ",":
            guess.remarks.append("numbers have a decimal comma inside quotation marks")
    return guess


def _name_of(sign: str) -> str:
    return _NAMES_OF_SIGNS.get(sign, sign)


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
    values = sum(_is_number(cell) or time_form([cell]) is not None for cell in first)
    return values == 0 and (known > 0 or any(_is_number(cell) for row in others for cell in row))


def _is_number(cell: str) -> bool:
    return number_of(cell) is not None or number_of(cell, ",") is not None


def _has_decimal_commas(records: Sequence[dict[str, Any]]) -> bool:
    names = [name for name in records[0] if rank((name,), LATITUDES) is not None] if records else []
    return any(DECIMAL_COMMA.fullmatch(str(record.get(name, ""))) for record in records for name in names)


def _inner(cell: str) -> Any:
    """Return what a value in JSON holds, if it is a list or an object; else the value."""
    if cell[:1] not in ("{", "["):
        return cell
    try:
        return json_document(cell.encode())
    except UnreadableError:
        return cell
