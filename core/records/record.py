"""Input records: raw check-ins and fragments, and the rows that they become once validated and located.

A message value is decoded into :class:`CheckIn` or :class:`Fragment`, one object each. From validation on, records
are rows of a numpy structured array (:data:`VISIT` or :data:`POINT`), so that a buffered record costs tens of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, NamedTuple, cast

import msgspec
import numpy as np
import numpy.typing as npt

from core.records.identity import Identifier
from core.records.profile import AttributeValue

__all__ = [
    "INPUT_KINDS",
    "POINT",
    "ROW_TYPES",
    "RUN",
    "VISIT",
    "CheckIn",
    "Chunk",
    "Fragment",
    "Kind",
    "Moment",
    "Point",
    "Reason",
    "Rejected",
    "Rows",
    "Source",
    "Timestamp",
    "attribute_field",
    "checkin_type",
]


class Kind(StrEnum):
    """What a feed carries."""

    CHECKINS = "checkins"
    FRAGMENTS = "fragments"
    STOPS = "stops"
    """Fragments in, and where people stop out."""

    @property
    def input_kind(self) -> Kind:
        """The kind whose records are read."""
        return Kind.FRAGMENTS if self is Kind.STOPS else self

    @property
    def model_kind(self) -> Kind:
        """The kind whose models release it: a stop is released as a check-in is."""
        return Kind.CHECKINS if self is Kind.STOPS else self


INPUT_KINDS = (Kind.CHECKINS, Kind.FRAGMENTS)
"""The kinds of which there are records to read."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339 with an offset."""

Timestamp = Moment | int | float
"""RFC 3339 with an offset, or a Unix time whose unit the settings state."""


class CheckIn(msgspec.Struct, frozen=True, gc=False):
    """One visit: user ``user`` was at a position, or at a venue. Unknown fields are ignored."""

    user: Identifier
    ts: Timestamp
    lat: float | None = None
    lon: float | None = None
    venue: Identifier | None = None
    category: Identifier | None = None

    def __repr__(self) -> str:
        """Show the type alone: the values are the whereabouts of a person."""
        return "CheckIn(...)"


class Point(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One point of a fragment, ``[ts, lat, lon]``; further values, such as altitude or accuracy, are ignored."""

    ts: Timestamp
    lat: float | None = None
    lon: float | None = None

    def __repr__(self) -> str:
        """Show the type alone: the values are the whereabouts of a person."""
        return "Point(...)"


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of a GPS trajectory: points of one user, and the user's own demands."""

    user: Identifier
    points: list[Point]
    k: int | None = None
    delta_m: float | None = None

    def __repr__(self) -> str:
        """Show the number of points alone: the values are the whereabouts of a person."""
        return f"Fragment(<{len(self.points)} points>)"


def attribute_field(index: int) -> str:
    """Return the name of the field in which a check-in holds an attribute of its person."""
    return f"attribute_{index}"


@cache
def checkin_type(n_attributes: int) -> type[CheckIn]:
    """Return the type of check-ins with that many attributes of their person, each optional.

    >>> checkin_type(1)(user="u1", ts=0, attribute_0=41)
    CheckIn(...)
    """
    if not n_attributes:
        return CheckIn
    fields = [(attribute_field(i), AttributeValue, None) for i in range(n_attributes)]
    made = msgspec.defstruct("CheckIn", fields, bases=(CheckIn,), frozen=True, gc=False)
    return cast("type[CheckIn]", made)


VISIT = np.dtype([("offset", "<i8"), ("user", "<u8"), ("ts_ms", "<i8"), ("location", "<i8"), ("profile", "<u4")])
"""One located check-in: offset in its source, keyed hash of the user, event time, location of the vocabulary, and
the attributes of the person, a code of :class:`core.records.profile.Profile`, 0 if none is given."""

POINT = np.dtype(
    [
        ("offset", "<i8"),
        ("user", "<u8"),
        ("ts_ms", "<i8"),
        ("lat", "<f8"),
        ("lon", "<f8"),
        ("k", "<i4"),
        ("delta_m", "<f4"),
    ]
)
"""One point of a fragment; ``k`` is 0 and ``delta_m`` infinite if the user makes no demand."""

RUN = np.dtype(
    [
        ("user", "<u8"),
        ("n", "<i8"),
        ("first_ms", "<i8"),
        ("last_ms", "<i8"),
        ("lat", "<f8"),
        ("lon", "<f8"),
        ("north", "<f8"),
        ("east", "<f8"),
    ]
)
"""Where a person may be stopping when a window ends: the number of points so far, the times of the first and the last
of them, the position of the first, degrees, and the sums over all of the degrees north and east of it."""

ROW_TYPES = {Kind.CHECKINS: VISIT, Kind.FRAGMENTS: POINT, Kind.STOPS: POINT}

Rows = npt.NDArray[np.void]
"""A structured array of :data:`VISIT`, :data:`POINT` or :data:`RUN`, shape ``(n,)``."""


class Source(NamedTuple):
    """One partition of an input topic (or one file of a replay)."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunk:
    """Located records of one source and one shard, forwarded together."""

    kind: Kind
    shard: str
    source: Source
    n_partitions: int
    """Number of partitions of the source's topic: a watermark waits for all of them."""

    vocabulary: str
    """Digest of the settings that located the records; records with different digests must not be mixed."""

    rows: Rows = field(repr=False)
    """The records, in the order of their source offsets; the points of one record share its offset."""

    log_id: str = ""
    """Id of the log that the source's offsets belong to: if a topic is created again, its offsets start at 0 again."""

    complete_ms: int | None = None
    """Event time, milliseconds, that the source has reached with this chunk, for every shard; None means that of the
    newest row. Chunks of the same batch for other shards may arrive later."""


class Reason(StrEnum):
    """Why a record was rejected: a closed set, safe as a metric label."""

    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    NOT_CSV = "not_csv"
    NOT_AVRO = "not_avro"
    NOT_PROTOBUF = "not_protobuf"
    UNKNOWN_SCHEMA = "unknown_schema"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    USER_ID_TOO_LONG = "user_id_too_long"
    POSITION_OUT_OF_RANGE = "position_out_of_range"
    POSITION_ZERO = "position_zero"
    OUTSIDE_AREA = "outside_area"
    UNKNOWN_VENUE = "unknown_venue"
    TIME_OUT_OF_RANGE = "time_out_of_range"
    TIME_AMBIGUOUS = "time_ambiguous"
    EMPTY_FRAGMENT = "empty_fragment"
    TOO_MANY_POINTS = "too_many_points"
    TOO_MANY_RECORDS = "too_many_records"
    DEMAND_OUT_OF_RANGE = "demand_out_of_range"
    ATTRIBUTE_MISSING = "attribute_missing"
    ATTRIBUTE_OUT_OF_RANGE = "attribute_out_of_range"
    MESSAGE_TOO_LARGE = "message_too_large"
    SETTINGS_CHANGED = "settings_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A rejected record: what was wrong and its source and offset, but nothing about the person or the position."""

    reason: Reason
    detail: str
    source: Source
    offset: int
    element: int | None = None
    """Number of the record in the list of its message, the first is 1; None if the message is one record."""
