"""The sections that say what the feeds hold, where they are, and in which windows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from core.models.common.values import Duration, PositiveDuration, none_by_name
from stream.formats.metric_projection import projection_in_metres
from stream.settings.section import Section
from stream.settings.values import (
    Count,
    FieldName,
    Instant,
    Size,
    four_degrees,
    instant_ms,
    not_too_large,
    rows_and_columns,
)

__all__ = [
    "FieldSettings",
    "FileSettings",
    "IngestSettings",
    "LimitSettings",
    "LocationSettings",
    "ShardKind",
    "ShardSettings",
    "TimeSettings",
    "TrajectorySettings",
    "WindowSettings",
]


class FieldSettings(Section):
    """Names that an existing feed uses for our fields."""

    user: FieldName = "user"
    """Who; leaves only as a pseudonym that no other window shares."""

    ts: FieldName = "ts"
    """When."""

    lat: FieldName = "lat"
    """Latitude of a check-in, degrees."""

    lon: FieldName = "lon"
    """Longitude of a check-in, degrees."""

    venue: FieldName = "venue"
    """Venue of a check-in, for ``location.kind: venues``."""

    category: FieldName = "category"
    """Category of a check-in's venue."""

    points: FieldName = "points"
    """Points of a fragment: time, latitude, longitude."""

    k: FieldName = "k"
    """The least number of people that a user demands."""

    delta_m: FieldName = "delta_m"
    """The greatest distance that a user demands, metres."""


class FileSettings(Section):
    """How ``.tsv`` files of fragments are read: lines of user, time, x and y, without a header. For ``replay``."""

    metres: Annotated[str, AfterValidator(projection_in_metres)] | None = None
    """The map projection that x and y are metres of, such as ``EPSG:2100``; without it these files are refused."""

    start: Instant | None = None
    """What their times count from; 1970 where it is not set. ``time.unit`` is their unit."""


class LocationSettings(Section):
    """The vocabulary of locations that check-ins are told in."""

    kind: Literal["grid", "h3", "venues"] = "grid"
    """``grid`` (``cell_m``, or ``area`` and ``cells``), ``h3`` (``h3_resolution``) or ``venues`` (``venues_file``)."""

    cell_m: Annotated[float, Field(ge=1, le=1_000_000)] = 500.0
    """Side of a grid cell, metres, where no area is given."""

    area: Annotated[tuple[float, float, float, float] | None, BeforeValidator(four_degrees), NoDecode] = None
    """South, west, north, east of the only area served, degrees; records outside are rejected."""

    cells: Annotated[tuple[Count, Count], BeforeValidator(rows_and_columns), NoDecode] = (20, 20)
    """Rows and columns of the grid over the area."""

    h3_resolution: Annotated[int, Field(ge=0, le=15)] = 8
    """Resolution of the cells of ``h3``."""

    zero: Literal["reject", "accept"] = "reject"
    """What to do with a position of exactly 0,0, which receivers without a fix report: ``reject`` the record, or the
    point of a fragment alone, or ``accept`` it as a place in the Gulf of Guinea."""

    venues_file: Path | None = None
    """CSV with the header ``venue,lat,lon`` (more columns are ignored)."""


ShardKind = Literal["single", "region", "user"]


class ShardSettings(Section):
    """What is anonymized on its own."""

    kind: ShardKind = "single"
    """``single`` (one crowd), ``region`` (an H3 cell each) or ``user`` (cohorts)."""

    h3_resolution: Annotated[int, Field(ge=0, le=9)] = 5
    """Resolution of the cells of ``region``."""

    cohorts: Annotated[int, Field(ge=1, le=100_000)] = 8
    """Number of cohorts of ``user``."""


class WindowSettings(Section):
    """Event-time windows."""

    size: PositiveDuration = 900_000
    """Length of a window."""

    allowed_lateness: Duration = 60_000
    """How much older than the newest record of its source a record may be."""

    idle_timeout: PositiveDuration = 60_000
    """After how much silence a source stops holding windows open. A window that ends in the future stays open."""

    max_lead: Annotated[Duration | None, BeforeValidator(none_by_name)] = 60_000
    """How far ahead of all other sources one may push the windows while these are silent, or ``none``: a source whose
    clock is an hour ahead would turn their next records late."""

    max_drift: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """How far ingest reads one partition of the input ahead of another that has a backlog, in event time; where it is
    not set, as far as a window is long."""

    hop: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Tumbling windows only: where it is set it must be the size."""

    max_open: Annotated[int, Field(ge=1)] = 1000
    """Most open windows of one shard; beyond it the oldest is sealed early."""


class TrajectorySettings(Section):
    """How the fragments of one person in one window become trajectories."""

    max_speed_m_s: Annotated[Annotated[float, Field(gt=0, le=300_000_000)] | None, BeforeValidator(none_by_name)] = (
        100.0
    )
    """Fastest that anybody moves, metres a second, or ``none``: of each person the most points that one journey can
    visit stay, the others are suppressed. The default fits what moves on ground or water; aircraft need 350."""

    max_gap: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Longest time between two points of one trajectory, or ``none``; a longer one cuts it, and the pieces stay one
    person in every count."""

    resample: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Step of a common grid of times that trajectories are interpolated on in straight lines, or ``none``. A point is
    then counted as the one of the grid that is nearest in time."""


class TimeSettings(Section):
    """Which event times are accepted, and how numbers are read."""

    earliest: Instant = instant_ms("2000-01-01T00:00:00Z")
    """Records before it are rejected."""

    latest: Instant = instant_ms("2100-01-01T00:00:00Z")
    """Records after it are rejected."""

    max_ahead: Duration = 600_000
    """How far an event time may lie in the future."""

    unit: Literal["s", "ms"] = "s"
    """Unit of time stamps given as numbers; strings are always RFC 3339."""


class LimitSettings(Section):
    """What keeps one user or one flood from stopping a shard."""

    message_bytes: Annotated[Size, AfterValidator(not_too_large)] = 1024**2
    """Longest message that is read or sent; the brokers must take it."""

    user_length: Annotated[int, Field(ge=1)] = 256
    """Longest user id, characters."""

    points_per_fragment: Annotated[int, Field(ge=1)] = 10_000
    """Most points of one fragment."""

    points_per_user: Annotated[int, Field(ge=1)] = 10_000
    """Most visits or points of one user in one window."""

    trajectory_length: Annotated[int, Field(ge=1)] | None = None
    """Longest sequence of locations; longer ones are cut, and the pieces stay one user in every count. Where it is not
    set: up to 100, as long as there are at most 170,000 subtrajectories (100 for m = 2 and 3, 45 for m = 4)."""

    buffered_rows: Annotated[int, Field(ge=1000)] = 5_000_000
    """Most rows that a worker buffers, at about 50 bytes each; consumption pauses beyond it. Where no
    window can close, the oldest is sealed as it is: nothing would ever be read again otherwise."""


class IngestSettings(Section):
    """How input is read in batches."""

    max_records: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Most messages of one batch."""

    max_wait: PositiveDuration = 200
    """Longest wait for a batch."""

    chunk_bytes: Size = 512 * 1024
    """Most bytes of rows in one message of the shards topic."""
