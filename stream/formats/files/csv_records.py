"""CSV records: the columns of the header, and one record for each line below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from core.records.record import CheckIn, Fragment, Kind, Point, Reason, Timestamp, attribute_field, checkin_type
from stream.formats.files.lines import CsvError, NumberedLines, cells, to_number
from stream.formats.input.rejection_reasons import NOT_UTF8, rejection_reason
from stream.formats.input.times import moment

__all__ = ["CsvRecords", "Entry", "HeaderError"]

Entry = CheckIn | Fragment | tuple[Reason, str]
"""A record, or why it cannot be read."""

_NUMBER_OR_TIME = re.compile(
    r"[-+]?(?:nan|inf(?:inity)?|\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*", re.IGNORECASE
)
_NUMBER_INSIDE = re.compile(r"(?:^|[^\w])[-+]?\d|\d{4}")
_HEADER_WORD = re.compile(
    "(?<![a-z])(?:users?|uid|userid|username|id|person|device|driver|vehicle|lat|latitude|lon|lng|long|longitude|geom|"
    "geometry|ts|time|timestamp|date|datetime|venue|place|poi|location|category|points)(?![a-z])",
    re.IGNORECASE,
)
"""Words of headers: a first line without any of them may be the record of a person."""

_MOST_SHOWN = 20


class HeaderError(Exception):
    """The first line of a CSV does not name the columns; the message says which are missing, and repeats no value."""


class CsvRecords:
    """Reads the lines of one CSV as records.

    Args:
        header: The first line.
        kind: What the lines hold.
        names: For each field its name in the file, including the attributes of the person.
        needed: Fields that every record must have.

    Raises:
        HeaderError: The header lacks a column that is needed, or has one of these columns twice.
    """

    def __init__(self, header: bytes, kind: Kind, names: Mapping[str, str], needed: Collection[str]) -> None:
        try:
            found = cells(header.decode())
        except UnicodeDecodeError:
            raise HeaderError("its first line is not UTF-8: save the file as UTF-8") from None
        except CsvError as fault:
            raise HeaderError(f"its first line is not a header: {fault}") from None
        self._names, self._n_columns = names, len(found)
        if twice := sorted({name for name in names.values() if found.count(name) > 1}):
            raise HeaderError(f"the header has the column {twice[0]} more than once: it must occur once")
        self._columns = {field: found.index(name) for field, name in names.items() if name in found}
        if missing := [names[field] for field in names if field in needed and field not in self._columns]:
            raise HeaderError(_without(missing, found, known=bool(self._columns)))
        n_attributes = sum(attribute_field(i) in names for i in range(len(names)))
        self._attributes = [attribute_field(i) for i in range(n_attributes)]
        self._checkin = checkin_type(n_attributes)
        self._build = self._check_in if kind is Kind.CHECKINS else self._one_point

    def read(self, lines: NumberedLines, max_bytes: int) -> Iterator[tuple[int, Entry]]:
        """Yield one entry for each line that is not blank."""
        columns, n_columns, build = tuple(self._columns.items()), self._n_columns, self._build
        for number, line in lines:
            if not line.strip():
                continue
            if len(line) > max_bytes:
                yield number, (Reason.MESSAGE_TOO_LARGE, f"the line is longer than {max_bytes} bytes")
                continue
            try:
                text = line.decode()
                row = text.split(",") if b'"' not in line and b"\0" not in line else cells(text)
                if len(row) != n_columns:
                    row = _filled(row, n_columns)
                yield number, build({field: row[i].strip() for field, i in columns})
            except UnicodeDecodeError:
                yield number, (Reason.NOT_UTF8, f"the line {NOT_UTF8}")
            except CsvError as fault:
                yield number, (Reason.NOT_CSV, str(fault))
            except _BadValueError as bad:
                yield number, (bad.reason, bad.detail)

    def _check_in(self, values: dict[str, str]) -> CheckIn:
        return self._checkin(
            user=values["user"],
            ts=self._timestamp(values["ts"]),
            lat=self._number(values, "lat"),
            lon=self._number(values, "lon"),
            venue=values.get("venue") or None,
            category=values.get("category") or None,
            **{field: values.get(field) or None for field in self._attributes},
        )

    def _one_point(self, values: dict[str, str]) -> Fragment:
        lat, lon, k = self._number(values, "lat"), self._number(values, "lon"), self._number(values, "k")
        if lat is None or lon is None:
            raise _BadValueError(Reason.MISSING_FIELD, f"{self._names['lat']} and {self._names['lon']} are needed")
        if k is not None and not k.is_integer():
            raise _BadValueError(
                Reason.WRONG_TYPE, f"{self._names['k']} must be a whole number; another kind of number was found"
            )
        return Fragment(
            user=values["user"],
            points=[Point(self._timestamp(values["ts"]), lat, lon)],
            k=None if k is None else int(k),
            delta_m=self._number(values, "delta_m"),
        )

    def _number(self, values: dict[str, str], field: str) -> float | None:
        text = values.get(field)
        if not text:
            return None
        try:
            return to_number(text)
        except ValueError:
            raise _BadValueError(
                Reason.WRONG_TYPE, f"{self._names[field]} must be a number; a text was found"
            ) from None

    def _timestamp(self, text: str) -> Timestamp:
        name = self._names["ts"]
        if not text:
            raise _BadValueError(Reason.MISSING_FIELD, f"{name} is needed")
        try:
            return to_number(text)
        except ValueError:
            pass
        try:
            return moment(text)
        except msgspec.ValidationError as fault:
            raise _BadValueError(*rejection_reason(msgspec.ValidationError(f"{fault} - at `$.{name}`"))) from None


class _BadValueError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


def _filled(row: list[str], n_columns: int) -> list[str]:
    """Extend a row to the number of columns: values that are missing at its end are empty."""
    if any(value.strip() for value in row[n_columns:]):
        # A decimal comma, as in 48,2082, would shift all values after it by one column.
        raise CsvError("the line has more values than the header: a comma inside a value needs quotation marks")
    return row + [""] * (n_columns - len(row))


def _without(missing: list[str], found: list[str], *, known: bool) -> str:
    """Return which columns the header lacks and, unless they could be values of a record, which it has."""
    lacks = f"the header has no column {', '.join(missing)}"
    needs = (
        "a CSV begins with a header of the columns user, ts, lat, lon, venue and so on (or fields.* in the settings)"
    )
    is_header = known or any(_HEADER_WORD.search(name) for name in found)
    if any(_NUMBER_OR_TIME.fullmatch(name) for name in found) or (
        not known and any(_NUMBER_INSIDE.search(name) for name in found)
    ):
        return f"its first line holds values, not names: a header is needed; {lacks}: {needs}"
    if not is_header:
        return f"{lacks}, nor any other known name: {needs}"
    shown = [name[:40] or "(empty)" for name in found if name.isprintable()][:_MOST_SHOWN]
    if more := len(found) - len(shown):
        shown.append(f"and {more} more")
    return f"{lacks}; it has {', '.join(shown)}: {needs}"
