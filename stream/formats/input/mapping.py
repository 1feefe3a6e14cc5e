"""The mapping: the records of a document, found by the paths that the settings state.

A document is what a message or an element of a file decodes to: dicts, lists, texts, numbers, booleans, None, and
datetimes from encodings that have a type for times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from core.records.record import CheckIn, Fragment, Kind, Reason, attribute_field, checkin_type
from stream.formats.input.conditions import condition_from
from stream.formats.input.errors import UnreadableError
from stream.formats.input.numbers import to_number
from stream.formats.input.paths import Origin, Path, is_of_lists, path_from
from stream.formats.input.record_path import MISSING, RecordPath
from stream.formats.input.rejection_reasons import rejection_reason
from stream.formats.input.times import TextTimes

__all__ = ["DocumentMapping", "Entry", "MappingOptions", "Skipped", "Unreadable"]


class Skipped(Enum):
    """A part of a document that is no record, and no fault either."""

    FILTERED = "filtered"
    """A condition of the settings does not hold."""

    TOMBSTONE = "tombstone"
    """The document says that something was deleted: the record in it is null."""


class Unreadable(NamedTuple):
    """Why a record cannot be read."""

    reason: Reason
    detail: str


Entry = CheckIn | Fragment | Unreadable | Skipped
"""A record, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingOptions:
    """How documents are read; each option is the setting of its name in the section ``input``."""

    names: Mapping[str, str]
    """For each of our fields its path in the feed."""

    attributes: Sequence[str] = ()
    """Paths of the attributes of a person that check-ins carry."""

    records: str = ""
    """Path of the record, or of the list of records, in a document; empty if the document is the record."""

    only: Sequence[str] = ()
    """Conditions; a record that does not meet all of them is filtered."""

    numbers_as_text: bool = False
    decimal: str = "."
    """Decimal sign of numbers that are given as text."""

    degrees_per_unit: float = 1.0
    times: TextTimes = field(default_factory=TextTimes)

    max_records: int = 5_000
    """Most records of one document. Those of one message are forwarded together."""

    max_points: int = 10_000
    """Most points of all fragments of one document together."""

    @property
    def is_as_it_is(self) -> bool:
        """Whether values are read as they are: no text is a number, no time lacks an offset, degrees are degrees."""
        return not self.numbers_as_text and self.degrees_per_unit == 1.0 and self.times == TextTimes()


_NUMBERS = ("lat", "lon", "k", "delta_m")
_POINT = ("ts", "lat", "lon")
_OWN_POINT = re.compile(r"\$\.points\[[0-9]+\]\[([0-2])\]")


class DocumentMapping:
    """Finds the records in the documents of one kind of feed.

    Args:
        kind: What the documents hold.
        options: How they are read.

    Raises:
        PathError: A path or a condition is not written as it must be.
    """

    def __init__(self, kind: Kind, options: MappingOptions) -> None:
        self._options, self._names = options, dict(options.names)
        self._records = RecordPath(options.records) if options.records else None
        self._only = [condition_from(text) for text in options.only]
        if kind is Kind.CHECKINS:
            attributes = {attribute_field(i): path for i, path in enumerate(options.attributes)}
            self._names |= attributes
            self._type: type[CheckIn] | type[Fragment] = checkin_type(len(attributes))
            fields = ("user", "venue", "category", *attributes)
            self._entries = self._check_ins
        else:
            self._type, fields = Fragment, ("user", "k", "delta_m")
            self._entries = self._fragments
            self._points = path_from(self._names["points"])
        self._paths: list[tuple[str, Path]] = [(name, path_from(self._names[name])) for name in fields]
        self._point = tuple(path_from(self._names[name]) for name in _POINT)
        self._is_parallel = any(is_of_lists(self._names[name]) for name in _POINT)
        """Whether times and positions are lists side by side rather than a list of points."""
        # A list [ts, lat, lon] needs no paths, unless they say that its values stand in another order.
        self._has_columns = any(self._names[name].startswith("[") for name in _POINT)
        self._is_as_it_is = options.is_as_it_is and not self._has_columns

    def entries(self, document: Any, origin: Origin) -> Iterator[tuple[int | None, Entry]]:
        """Yield the records of a document, each with its number in the document's list; the first is 1.

        The number is None if the document is one record. A fault costs one record, not the document.
        """
        origin.document = document
        found = document if self._records is None else self._records(document, origin)
        n_points = n_records = 0
        for number, entry in self._found(found, origin):
            n_records += not isinstance(entry, (Unreadable, Skipped))
            n_points += len(entry.points) if isinstance(entry, Fragment) else 0
            if n_records > self._options.max_records or (n_records > 1 and n_points > self._options.max_points):
                most = f"{self._options.max_records} records or {self._options.max_points} points"
                yield number, Unreadable(Reason.TOO_MANY_RECORDS, f"the message has more than {most}: the rest is lost")
                return
            yield number, entry

    def _found(self, found: Any, origin: Origin) -> Iterator[tuple[int | None, Entry]]:
        if found is None and self._records is not None:
            yield None, Skipped.TOMBSTONE
        elif found is MISSING:
            yield None, Unreadable(Reason.MISSING_FIELD, f"{self._options.records} is needed (input.records)")
        elif isinstance(found, list):
            for number, record in enumerate(found, 1):
                for entry in self._of(record, origin):
                    yield number, entry
        else:
            for entry in self._of(found, origin):
                yield None, entry

    def _of(self, record: Any, origin: Origin) -> Iterator[Entry]:
        """Yield what a record of the feed comes to; a record with parallel lists may be several check-ins."""
        try:
            if self._only and not all(condition.holds(record, origin) for condition in self._only):
                yield Skipped.FILTERED
            elif not isinstance(record, dict):
                yield Unreadable(Reason.WRONG_TYPE, f"a record must be an object; {_kind_of(record)} was found")
            else:
                yield from self._entries(record, origin)
        except UnreadableError as fault:
            yield Unreadable(fault.reason, fault.detail)

    # ----------------------------------------------------------- check-ins

    def _check_ins(self, record: dict[str, Any], origin: Origin) -> Iterator[Entry]:
        values = self._values(record, origin)
        for place in self._places(record, origin):
            try:
                given = dict(zip(_POINT, self._read(place), strict=True))
            except UnreadableError as fault:
                yield Unreadable(fault.reason, fault.detail)
            else:
                yield self._made(values | {name: value for name, value in given.items() if value is not None})

    def _places(self, record: dict[str, Any], origin: Origin) -> Iterator[Sequence[Any]]:
        """Yield time, latitude and longitude of a record as they are written."""
        columns = [path(record, origin) for path in self._point]
        if not self._is_parallel:
            yield columns
            return
        n = max((len(column) for column in columns if isinstance(column, list)), default=1)
        spread = [column if isinstance(column, list) else [column] * n for column in columns]
        # One time for several places would say that somebody was everywhere at once.
        if any(len(column) != n for column in spread) or (n > 1 and not isinstance(columns[0], list)):
            paths = ", ".join(self._names[name] for name in _POINT)
            raise UnreadableError(Reason.WRONG_TYPE, f"{paths} must be lists of the same length")
        yield from zip(*spread, strict=True)

    def _read(self, place: Sequence[Any]) -> tuple[Any, Any, Any]:
        (ts, lat, lon), names = place, self._names
        return self._time(ts, names["ts"]), self._degrees(lat, names["lat"]), self._degrees(lon, names["lon"])

    # ----------------------------------------------------------- fragments

    def _fragments(self, record: dict[str, Any], origin: Origin) -> Iterator[Entry]:
        values = self._values(record, origin)
        points = self._points(record, origin)
        if points is None:
            values["points"] = self._own_points(record, origin)
            yield self._made(values, has_own_point=True)
        elif not isinstance(points, list):
            yield self._made(values | {"points": points})
        elif not self._is_as_it_is or isinstance(made := self._made(values | {"points": points}), Unreadable):
            values["points"] = [self._listed_point(point, i, origin) for i, point in enumerate(points)]
            yield self._made(values)
        else:
            yield made

    def _own_points(self, record: dict[str, Any], origin: Origin) -> list[Sequence[Any]]:
        """Return the points of a record without a list of points: it is a point itself, or has parallel lists."""
        places = list(self._places(record, origin))
        names = self._names
        if len(places) == 1:
            ts, lat, lon = places[0]
            if ts is None and lat is None and lon is None:
                raise UnreadableError(Reason.MISSING_FIELD, f"{names['points']} is needed")
            if ts is None:
                raise UnreadableError(Reason.MISSING_FIELD, f"{names['ts']} is needed")
            if lat is None or lon is None:
                raise UnreadableError(Reason.MISSING_FIELD, f"{names['lat']} and {names['lon']} are needed")
        return [self._read(place) for place in places]

    def _listed_point(self, point: Any, index: int, origin: Origin) -> Any:
        if isinstance(point, dict) or (self._has_columns and isinstance(point, list)):
            ts, lat, lon = (path(point, origin) for path in self._point)
        elif isinstance(point, list) and point:
            ts, lat, lon = (*point, None, None)[:3]
        else:
            return point
        at = f"{self._names['points']}[{index}]"
        names = self._names if isinstance(point, dict) else {name: name for name in _POINT}
        if ts is None:
            raise UnreadableError(Reason.MISSING_FIELD, f"{at} {names['ts']} is needed")
        return (
            self._time(ts, f"{at} {names['ts']}"),
            self._degrees(lat, f"{at} {names['lat']}"),
            self._degrees(lon, f"{at} {names['lon']}"),
        )

    # -------------------------------------------------------------- values

    def _values(self, record: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Return the fields of a record that is not a point, by our names, without those that it lacks."""
        values = {}
        for name, path in self._paths:
            if (value := path(record, origin)) is not None:
                values[name] = self._number(value, self._names[name]) if name in _NUMBERS else value
        return values

    def _time(self, value: Any, name: str) -> Any:
        if not isinstance(value, str):
            return value
        if self._options.numbers_as_text:
            if not value.strip():
                return None
            try:
                return to_number(value, self._options.decimal)
            except ValueError:
                pass
        return self._options.times.read(value, name)

    def _degrees(self, value: Any, name: str) -> Any:
        value = self._number(value, name)
        per_unit = self._options.degrees_per_unit
        if per_unit == 1.0 or not isinstance(value, (int, float)) or isinstance(value, bool):
            return value
        return value * per_unit

    def _number(self, value: Any, name: str) -> Any:
        if not self._options.numbers_as_text or not isinstance(value, str):
            return value
        if not value.strip():
            return None
        try:
            number = to_number(value, self._options.decimal)
        except ValueError:
            raise UnreadableError(Reason.WRONG_TYPE, f"{name} must be a number; a text was found") from None
        return int(number) if number.is_integer() and name == self._names["k"] else number

    def _made(self, values: dict[str, Any], *, has_own_point: bool = False) -> Entry:
        try:
            made: CheckIn | Fragment = msgspec.convert(values, self._type)
        except msgspec.ValidationError as fault:
            text = str(fault)
            if has_own_point:  # the record itself is the point, so its fields have names of their own
                text = _OWN_POINT.sub(lambda match: f"$.{_POINT[int(match[1])]}", text)
            return Unreadable(*rejection_reason(msgspec.ValidationError(text), self._names))
        return made


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, (str, datetime)):
        return "a text"
    return "null" if value is None else "a list"
