"""The sections that say how a feed is read: its fields, its times, and the form of its messages and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_settings import NoDecode

from core.models.common.values import Duration
from stream.formats.files.csv_files.dialect import DELIMITERS, delimiter_of, text_encoding
from stream.formats.files.metric_projection import projection_in_metres
from stream.formats.input.conditions import condition_from
from stream.formats.input.paths import path_from
from stream.formats.input.times.formats import format_fault
from stream.formats.input.times.texts import Ambiguous
from stream.formats.presets.registry import PRESETS
from stream.settings.section import Section
from stream.settings.values import FieldName, Instant, instant_ms, separated_by_commas

__all__ = ["FieldSettings", "FileSettings", "InputSettings", "TimeSettings"]

TimeUnit = Literal["s", "ms", "us", "ns"]
Encoding = Literal["json", "avro", "protobuf", "gtfs-realtime"]


def _read_by(reader: Callable[[str], object]) -> AfterValidator:
    """Refuse what a reader of paths or conditions refuses, with its sentence."""

    def check(value: str) -> str:
        reader(value)
        return value

    return AfterValidator(check)


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("it must be a time zone of the IANA database, such as UTC or Europe/Vienna") from None
    return value


def _delimiter(value: str) -> str:
    if delimiter_of(value) is None:
        raise ValueError(f"it must be {', '.join(DELIMITERS)} or one character")
    return value


def _text_encoding(value: str) -> str:
    if text_encoding(value) is None:
        raise ValueError(
            "it must be an encoding of text files that Python knows, such as utf-8, latin-1, cp1252 or utf-16"
        )
    return value


def _time_format(value: str) -> str:
    if (fault := format_fault(value)) is not None:
        raise ValueError(fault)
    return value


def _preset(value: str) -> str:
    if value not in PRESETS:
        raise ValueError(f"it must be one of {', '.join(PRESETS)}")
    return value


PathName = Annotated[FieldName, _read_by(path_from)]
OptionalPath = Annotated[
    str,
    _read_by(lambda value: value and path_from(value)),
    WithJsonSchema({"type": "string", "pattern": "^[^\\x00-\\x1f]*$"}),  # empty is allowed
]
Conditions = Annotated[tuple[Annotated[str, _read_by(condition_from)], ...], NoDecode]


class FieldSettings(Section):
    """Where in a record its fields are: each a name, or a path such as ``position.latitude``; see the page on input."""

    user: PathName = "user"
    """Id of the person. A release contains a pseudonym instead, another one in every window."""

    ts: PathName = "ts"
    """Event time of the record; or of a point, for points that are objects."""

    lat: PathName = "lat"
    """Latitude of a check-in, or of a point that is an object, degrees."""

    lon: PathName = "lon"
    """Longitude of a check-in, or of a point that is an object, degrees."""

    venue: PathName = "venue"
    """Venue of a check-in, for ``location.kind: venues``."""

    category: PathName = "category"
    """Category of a check-in's venue."""

    points: PathName = "points"
    """Points of a fragment: each a list that begins with time, latitude and longitude, or an object with ``fields.ts``,
    ``fields.lat`` and ``fields.lon``. A record without them is one point itself."""

    k: PathName = "k"
    """The ``k`` that the person demands for their own trajectories."""

    delta_m: PathName = "delta_m"
    """The ``delta_m`` that the person demands for their own trajectories, metres."""


class InputSettings(Section):
    """The form of messages and files: where records are in them, and how their values are written."""

    with_rules_for_empty = frozenset({"records"})

    preset: Annotated[str, AfterValidator(_preset)] | None = None
    """A known form of feed, such as ``owntracks`` or ``gtfs-realtime``. It sets the defaults of ``fields``, ``time``
    and ``input``; what is set explicitly wins. ``shoal try`` finds the one that fits."""

    encoding: Encoding = "json"
    """How messages of topics are encoded. With ``registry.url`` JSON, Avro and Protobuf may be framed with the id of
    their schema, as Confluent's serializers write them."""

    schema_file: Path | None = None
    """Schema of ``avro`` (``.avsc``) or ``protobuf`` (``.proto``, ``.desc``) messages, if there is no registry."""

    message: str | None = None
    """Name of the Protobuf message in ``schema_file``; by default its first one."""

    records: OptionalPath = ""
    """Path of the record in a message, such as ``payload``, or of a list of records, such as ``locations``. Empty if
    the message itself is the record, or a list of records."""

    only: Annotated[Conditions, BeforeValidator(separated_by_commas)] = ()
    """Conditions such as ``_type=location``, ``valid=true``, ``event!=exit|dwell`` or ``position`` (there is a value).
    A record that does not meet all of them is skipped, and counted as filtered. For ``true`` and ``false`` other words
    count as well, such as ``True``, ``t``, ``yes`` and ``1``."""

    numbers_as_text: bool = False
    """Whether numbers, and times as numbers, may be given as text. In CSV they always are."""

    degrees_per_unit: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Degrees in one unit of latitude and longitude: ``1e-7`` for integers such as 482082000. Numbers with a fraction
    are then rejected: they are most likely degrees."""

    latitude_sign: PathName | None = None
    """Path of the field with the hemisphere of the latitude, if its numbers have no sign: ``N`` or ``+``, ``S`` or
    ``-``. ``=S`` is south for all."""

    longitude_sign: PathName | None = None
    """Path of the field with the hemisphere of the longitude, if its numbers have no sign: ``E`` or ``+``, ``W`` or
    ``-``. ``=W`` is west for all."""

    delimiter: Annotated[str, AfterValidator(_delimiter)] = "auto"
    """What separates the values of a CSV: ``comma``, ``semicolon``, ``tab``, ``pipe``, any one character, or ``auto``:
    the one with which the first line has the columns that are needed."""

    decimal: Literal[".", ","] = "."
    """The decimal sign of numbers in a CSV, and of those that ``input.numbers_as_text`` reads."""

    columns: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """Names of the columns of a CSV that has no header."""

    text_encoding: Annotated[str, AfterValidator(_text_encoding)] = "utf-8"
    """Encoding of the text of files, such as ``latin-1``. ``utf-16`` and ``utf-32`` need a byte order mark; without
    one, the order is part of the name, as in ``utf-16-le``."""


class TimeSettings(Section):
    """Which event times are accepted, and how time stamps are read."""

    earliest: Instant = instant_ms("2000-01-01T00:00:00Z")
    """Records before this instant are rejected."""

    latest: Instant = instant_ms("2100-01-01T00:00:00Z")
    """Records after this instant are rejected."""

    max_ahead: Duration = 600_000
    """How far in the future an event time may be."""

    unit: TimeUnit = "s"
    """Unit of time stamps given as numbers: seconds to nanoseconds since 1970."""

    zone: Annotated[str, AfterValidator(_zone)] | None = None
    """Time zone of time stamps without an offset, such as ``UTC`` or ``Europe/Vienna``; without it they are rejected. A
    local time that never occurs, because clocks are put forward over it, is always rejected."""

    ambiguous: Ambiguous = "reject"
    """What to do with a local time of ``time.zone`` that occurs twice, because clocks are put back: ``reject`` it, or
    take the ``earlier`` or the ``later`` instant."""

    format: Annotated[str, AfterValidator(_time_format)] | None = None
    """The only form of time stamps given as text, in the notation of Python's ``strptime``, such as ``%d/%m/%Y
    %H:%M:%S``. It must say a whole date and an hour. Of names of zones, ``%Z`` reads ``UTC``, ``GMT`` and ``Z``. By
    default RFC 3339, such as ``2025-10-09T08:53:20Z``."""


class FileSettings(Section):
    """How ``shoal replay`` reads ``.tsv`` files of fragments: lines of user, time, x and y, without a header."""

    metres: Annotated[str, AfterValidator(projection_in_metres)] | None = None
    """Map projection of x and y, in metres, such as ``EPSG:2100``. Without it a ``.tsv`` file is read as CSV."""

    start: Instant | None = None
    """Instant from which the times in ``.tsv`` files count; by default 1970. Their unit is ``time.unit``."""
