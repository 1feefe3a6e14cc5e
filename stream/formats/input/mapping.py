"""The mapping: the records of a document, found by the paths that the settings state.

A document is what a message or an element of a file decodes to: dicts, lists, texts, numbers, booleans, None, and
datetimes from encodings that have a type for times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple, cast

import msgspec

from core.records.record import CheckIn, Fragment, Kind, Reason, attribute_field, checkin_type
from stream.formats.input.conditions import condition_from
from stream.formats.input.connect_schemas import with_connect_schema
from stream.formats.input.errors import UnreadableError
from stream.formats.input.extended_json import from_extended_json
from stream.formats.input.json_messages import unfolded
from stream.formats.input.numbers import to_number
from stream.formats.input.paths import FieldPath, Origin, is_of_lists, path_from
from stream.formats.input.positions.texts import NO_POSITION
from stream.formats.input.record_path import MISSING, RecordPath
from stream.formats.input.reference_systems import StatedSystems
from stream.formats.input.rejection_reasons import rejection_reason
from stream.formats.input.signs import LATITUDE_SIGNS, LONGITUDE_SIGNS, signed
from stream.formats.input.times.texts import TextTimes

__all__ = ["DocumentMapping", "Entry", "MappingOptions", "Observer", "Skipped", "Unreadable"]


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


Observer = Callable[[Any, Origin], None]
"""Called with every record that is not filtered, before it is read, and with what surrounds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingOptions:
    """How documents are read, from the sections ``fields``, ``time``, ``input`` and ``limits``."""

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
    """Degrees in one unit of latitude and longitude, which are whole numbers unless it is 1."""

    signs: Mapping[str, str] = field(default_factory=dict)
    """For ``lat`` and ``lon`` the path of the field with their hemisphere, if it is not in the number."""

    times: TextTimes = field(default_factory=TextTimes)

    unit_ms: float = 1000
    """Milliseconds in the unit of times that are numbers."""

    max_records: int = 10_000
    """Most records of one document. Those of one message are forwarded together."""

    max_points: int = 10_000
    """Most points of all fragments of one document together."""

    observer: Observer | None = None

    @property
    def has_columns(self) -> bool:
        """Whether points that are lists have their values where paths such as ``[2]`` say, and not in our order."""
        return any(self.names[name].startswith("[") for name in _POINT)

    @property
    def is_as_it_is(self) -> bool:
        """Whether values are read as they are: no text is a number, no time lacks an offset, degrees are degrees."""
        return (
            not self.numbers_as_text
            and self.degrees_per_unit == 1.0
            and self.times == TextTimes()
            and not self.has_columns
            and not self.signs
        )


_DEMANDS = ("k", "delta_m")
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
        else:
            self._type, fields = Fragment, ("user", *_DEMANDS)
            self._points = path_from(self._names["points"])
        self._paths: list[tuple[str, FieldPath]] = [(name, path_from(self._names[name])) for name in fields]
        self._point = tuple(_point_path(name, self._names[name], options.signs.get(name)) for name in _POINT)
        self._is_parallel = any(is_of_lists(self._names[name]) for name in _POINT)
        """Whether times and positions are lists side by side rather than a list of points."""
        # A list [ts, lat, lon] needs no paths, unless they say that its values stand in another order.
        self._has_columns, self._is_as_it_is = options.has_columns, options.is_as_it_is
        self._systems = StatedSystems(self._names, options.records)
        self._observer = options.observer

    def entries(self, document: Any, origin: Origin) -> Iterable[tuple[int | None, Entry]]:
        """Return the records of a document, each with its number in the document's list; the first is 1.

        The number is None if the document is one record. A fault costs one record, not the document.
        """
        origin.document = document = with_connect_schema(unfolded(document))
        found = _opened(document if self._records is None else self._records(document, origin))
        if self._observer is not None:
            self._show(self._observer, found, origin)
        if isinstance(found, dict) and not self._is_parallel:
            return ((None, self._of(found, origin)),)
        return self._within_limits(self._found(found, origin))

    def _show(self, observer: Observer, found: Any, origin: Origin) -> None:
        for record in found if isinstance(found, list) else [found]:
            if isinstance(record, dict) and self._is_meant(record, origin):
                observer(record, origin)

    def _within_limits(self, entries: Iterable[tuple[int | None, Entry]]) -> Iterator[tuple[int | None, Entry]]:
        n_points = n_records = 0
        for number, entry in entries:
            n_records += not isinstance(entry, (Unreadable, Skipped))
            n_points += len(entry.points) if isinstance(entry, Fragment) else 0
            if n_records > self._options.max_records or (n_records > 1 and n_points > self._options.max_points):
                most = f"{self._options.max_records} records or {self._options.max_points} points"
                yield (
                    number,
                    Unreadable(Reason.TOO_MANY_RECORDS, f"the message has more than {most}: the rest is not read"),
                )
                return
            yield number, entry

    def _found(self, found: Any, origin: Origin) -> Iterator[tuple[int | None, Entry]]:
        if found is None and self._records is not None:
            yield None, Skipped.TOMBSTONE
        elif found is MISSING:
            yield None, Unreadable(Reason.MISSING_FIELD, f"{self._options.records} is needed (input.records)")
        else:
            numbered = enumerate(found, 1) if isinstance(found, list) else ((None, found),)
            for number, record in numbered:
                if self._is_parallel and self._type is not Fragment and isinstance(record, dict):
                    yield from ((number, entry) for entry in self._side_by_side(record, origin))
                else:
                    yield number, self._of(record, origin)

    def _is_meant(self, record: Any, origin: Origin) -> bool:
        """Whether a record meets all conditions."""
        return not self._only or all(condition.holds(record, origin) for condition in self._only)

    def _of(self, record: Any, origin: Origin) -> Entry:
        """Return what a record of the feed comes to."""
        try:
            if not self._is_meant(record, origin):
                return Skipped.FILTERED
            if not isinstance(record, dict):
                return Unreadable(Reason.WRONG_TYPE, f"a record must be an object; {_kind_of(record)} was found")
            self._systems.refuse_others(record, origin)
            return self._fragment(record, origin) if self._type is Fragment else self._check_in(record, origin)
        except UnreadableError as fault:
            return Unreadable(fault.reason, fault.detail)

    # ----------------------------------------------------------- check-ins

    def _check_in(self, record: dict[str, Any], origin: Origin) -> Entry:
        values, place = self._values(record, origin), [path(record, origin) for path in self._point]
        if self._is_as_it_is:
            # Most records need no reading of their values. All others, right or wrong, take the long way.
            try:
                return cast("CheckIn", msgspec.convert(values | _given(place), self._type))
            except msgspec.ValidationError:
                pass
        return self._made(values | _given(self._read(place)))

    def _side_by_side(self, record: dict[str, Any], origin: Origin) -> Iterator[Entry]:
        """Yield the check-ins of a record with lists of times and positions."""
        try:
            if not self._is_meant(record, origin):
                yield Skipped.FILTERED
                return
            self._systems.refuse_others(record, origin)
            values, places = self._values(record, origin), self._places(record, origin)
        except UnreadableError as fault:
            yield Unreadable(fault.reason, fault.detail)
            return
        if not places:
            paths = ", ".join(self._names[name] for name in _POINT)
            yield Unreadable(Reason.MISSING_FIELD, f"the record has no place: the lists at {paths} are empty")
        for place in places:
            try:
                yield self._made(values | _given(self._read(place)))
            except UnreadableError as fault:
                yield Unreadable(fault.reason, fault.detail)

    def _places(self, record: dict[str, Any], origin: Origin) -> list[Sequence[Any]]:
        """Return the times, latitudes and longitudes of a record as they are written."""
        columns = [path(record, origin) for path in self._point]
        if not self._is_parallel:
            return [columns]
        n = max((len(column) for column in columns if isinstance(column, list)), default=1)
        spread = [column if isinstance(column, list) else [column] * n for column in columns]
        # One time for several places would say that somebody was everywhere at once.
        if any(len(column) != n for column in spread) or (n > 1 and not isinstance(columns[0], list)):
            paths = ", ".join(self._names[name] for name in _POINT)
            raise UnreadableError(Reason.WRONG_TYPE, f"{paths} must be lists of the same length")
        return list(zip(*spread, strict=True))

    def _read(self, place: Sequence[Any]) -> tuple[Any, Any, Any]:
        (ts, lat, lon), names = place, self._names
        return self._time(ts, names["ts"]), self._degrees(lat, names["lat"]), self._degrees(lon, names["lon"])

    # ----------------------------------------------------------- fragments

    def _fragment(self, record: dict[str, Any], origin: Origin) -> Entry:
        values = self._values(record, origin)
        points = unfolded(self._points(record, origin))
        if points is None:
            return self._made(values | {"points": self._own_points(record, origin)}, has_own_point=True)
        if isinstance(points, list):
            if self._is_as_it_is:
                try:
                    return msgspec.convert(values | {"points": points}, Fragment)
                except msgspec.ValidationError:
                    pass
            points = [self._listed_point(point, i, origin) for i, point in enumerate(points)]
        return self._made(values | {"points": points})

    def _own_points(self, record: dict[str, Any], origin: Origin) -> list[Sequence[Any]]:
        """Return the points of a record without a list of points: it is a point itself, or has parallel lists."""
        places, names = self._places(record, origin), self._names
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
            self._systems.refuse_others(point, origin)
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
        values = {name: value for name, path in self._paths if (value := path(record, origin)) is not None}
        values |= {name: from_extended_json(value) for name, value in values.items() if isinstance(value, dict)}
        for name in self._options.numbers_as_text * _DEMANDS:
            if (value := values.get(name)) is not None:
                values[name] = self._number(value, self._names[name])
        return values

    def _time(self, value: Any, name: str) -> Any:
        _refuse_no_position(value, name)
        value = from_extended_json(value)
        if not isinstance(value, str):
            return value
        if self._options.numbers_as_text:
            if not value.strip():
                return None
            if self._options.times.format is None:  # 20251009085320 is a number, too
                try:
                    return to_number(value, self._options.decimal)
                except ValueError:
                    pass
        return self._options.times.read(value, name)

    def _degrees(self, value: Any, name: str) -> Any:
        _refuse_no_position(value, name)
        value = self._number(from_extended_json(value), name)
        per_unit = self._options.degrees_per_unit
        if per_unit == 1.0 or not isinstance(value, (int, float)) or isinstance(value, bool):
            return value
        if isinstance(value, float) and math.isfinite(value) and not value.is_integer():
            # It would be a place near 0,0, the same for everybody: most likely it is in degrees already.
            raise UnreadableError(
                Reason.WRONG_TYPE,
                f"{name} must be a whole number, as input.degrees_per_unit is set; a number with a fraction was found",
            )
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


def _opened(found: Any) -> Any:
    """Return a record, or a list of records, of which each may be a text that holds it as JSON."""
    found = unfolded(found)
    return [unfolded(one) for one in found] if isinstance(found, list) else found


def _point_path(name: str, path: str, sign: str | None) -> FieldPath:
    if sign is None:
        return path_from(path)
    return signed(path, sign, LATITUDE_SIGNS if name == "lat" else LONGITUDE_SIGNS)


def _given(place: Sequence[Any]) -> dict[str, Any]:
    """Return the time, the latitude and the longitude that a record states, by our names."""
    return {name: value for name, value in zip(_POINT, place, strict=True) if value is not None}


def _refuse_no_position(value: Any, name: str) -> None:
    if value is NO_POSITION:
        raise UnreadableError(
            Reason.WRONG_TYPE,
            f"{name} must be a number of a position such as 48.2, 16.4 or geo:48.2,16.4 or POINT(16.4 48.2), in "
            "degrees of WGS 84 with decimal points; a text of another form was found",
        )


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, (str, datetime)) or value is NO_POSITION:
        return "a text"
    return "null" if value is None else "a list"
