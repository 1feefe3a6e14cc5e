"""The sections about feeds: locations, shards, windows, trajectories, ingest and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from core.models.common.values import Duration, PositiveDuration, none_by_name
from core.places.nearby import FARTHEST_M
from stream.settings.section import Section
from stream.settings.values import (
    Count,
    Size,
    four_degrees,
    not_too_large,
    rows_and_columns,
)

__all__ = [
    "IngestSettings",
    "LimitSettings",
    "LocationSettings",
    "ShardKind",
    "ShardSettings",
    "StopRuleSettings",
    "TrajectorySettings",
    "WindowSettings",
]


class LocationSettings(Section):
    """The vocabulary of locations to which check-ins and stops are mapped."""

    kind: Literal["grid", "h3", "venues", "regions", "pois"] = "grid"
    """``grid`` (``cell_m``, or ``area`` and ``cells``), ``h3`` (``h3_resolution``), ``venues`` (``venues_file``: each
    record names its venue), ``regions`` (``regions_file``) or ``pois`` (``pois_file``: each position is linked to a
    place near it)."""

    cell_m: Annotated[float, Field(ge=1, le=1_000_000)] = 500.0
    """Side of a grid cell, metres, if no ``area`` is given; with ``pois`` also of the cells of positions that no place
    fits."""

    area: Annotated[tuple[float, float, float, float] | None, BeforeValidator(four_degrees), NoDecode] = None
    """South, west, north and east of the area of the grid, degrees; records outside it are rejected."""

    cells: Annotated[tuple[Count, Count], BeforeValidator(rows_and_columns), NoDecode] = (20, 20)
    """Rows and columns of the grid over ``area``."""

    h3_resolution: Annotated[int, Field(ge=0, le=15)] = 8
    """Resolution of the H3 cells, for ``h3``."""

    zero: Literal["reject", "accept"] = "reject"
    """What to do with a position of exactly 0,0, which receivers without a fix report: ``reject`` the check-in or the
    point of a fragment, or ``accept`` it as a place in the Gulf of Guinea."""

    venues_file: Path | None = None
    """CSV with the header ``venue,lat,lon``; other columns are allowed."""

    regions_file: Path | None = None
    """GeoJSON of polygons, each with a property ``name``, from ``shoal regions`` or any GIS editor. Regions must not
    overlap. Records outside all of them are rejected."""

    pois_file: Path | None = None
    """Places for ``pois``: a CSV with the columns ``name``, ``lat``, ``lon`` and perhaps ``category`` and ``id``;
    GeoJSON; an extract of OpenStreetMap (``.osm.pbf``, ``.osm``); or Parquet, such as places of Overture Maps."""

    poi_distance_m: Annotated[float, Field(ge=1, le=FARTHEST_M)] = 100.0
    """Greatest distance between a position and the place to which it is linked, metres. The time that linking takes
    grows with its square."""

    poi_agreement: Annotated[float, Field(ge=0, le=1)] = 0.5
    """How well a place must fit the venue and the category that a record names, from 0 to 1. With 0 they only rank the
    places within the distance."""


ShardKind = Literal["single", "region", "user"]


class ShardSettings(Section):
    """How records are divided into shards. Each shard is anonymized on its own."""

    kind: ShardKind = "single"
    """``single`` (one shard for all), ``region`` (one for each H3 cell) or ``user`` (one for each cohort of people)."""

    h3_resolution: Annotated[int, Field(ge=0, le=9)] = 5
    """Resolution of the H3 cells, for ``region``."""

    finest_resolution: Annotated[Annotated[int, Field(ge=0, le=15)] | None, BeforeValidator(none_by_name)] = None
    """Resolution of smaller H3 cells into which the windows of a region are divided, or ``none``. A cell with at least
    ``k`` people is released on its own. The people of all other cells are counted together in the next larger cell, up
    to the region, and are released with those of the smallest cell in which they are at least ``k``."""

    cohorts: Annotated[int, Field(ge=1, le=100_000)] = 8
    """Number of cohorts, for ``user``."""


class WindowSettings(Section):
    """Event-time windows."""

    size: PositiveDuration = 900_000
    """Length of a window."""

    allowed_lateness: Duration = 60_000
    """How long a window stays open, in event time, after the slowest input partition has passed its end."""

    idle_timeout: PositiveDuration = 60_000
    """Time without records after which an input partition no longer keeps windows open. A window that ends in the
    future stays open."""

    max_lead: Annotated[Duration | None, BeforeValidator(none_by_name)] = 60_000
    """How far one input partition may advance the watermark beyond all others while these are silent, or ``none``.
    Without this limit one partition with a clock an hour ahead makes the next records of the others late."""

    max_drift: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """How far ingest reads one input partition ahead of another of the feed that has a backlog, in event time; by
    default the size of a window."""

    hop: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Must equal ``size`` if it is set: only windows that do not overlap are supported."""

    max_open: Annotated[int, Field(ge=1)] = 1000
    """Most open windows of one shard; beyond this the oldest is sealed early, and its later records are late."""


class StopRuleSettings(Section):
    """How people who stop are found in fragments."""

    of_fragments: Literal["none", "beside", "only"] = "none"
    """Whether fragments are released as stops, by a model of check-ins: ``none``, ``beside`` (their trajectories are
    released as well) or ``only``."""

    radius_m: Annotated[float, Field(gt=0, le=100_000)] = 100.0
    """Greatest distance of the points of a stop from its first point, metres. Not used with ``location.kind: regions``,
    where a stop lasts as long as somebody is in one region."""

    min_duration: Duration = 600_000
    """Shortest stop, from its first point to its last. With ``location.kind: regions``, ``0s`` counts everybody who
    passes through a region."""

    max_gap: PositiveDuration = 43_200_000
    """Longest time between two points of a stop. Devices that send only while they move are silent during a stop. After
    a longer silence the stop has ended, at the point before it."""


class TrajectorySettings(Section):
    """How the fragments of one person in one window become trajectories."""

    max_speed_m_s: Annotated[Annotated[float, Field(gt=0, le=300_000_000)] | None, BeforeValidator(none_by_name)] = (
        100.0
    )
    """Highest plausible speed, metres a second, or ``none``. Of each person the largest number of points that one
    journey at this speed can visit is kept; the others are suppressed. The default fits movement on ground or water;
    aircraft need 350."""

    max_gap: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Longest time between two points of one trajectory, or ``none``. A longer gap cuts the trajectory; its pieces
    still count as one person."""

    resample: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Step of a common time grid on which trajectories are resampled by linear interpolation, or ``none``. A recorded
    point then counts as the grid point nearest in time."""


class LimitSettings(Section):
    """Limits that keep one person or a flood of records from stopping a shard."""

    message_bytes: Annotated[Size, AfterValidator(not_too_large)] = 1024**2
    """Longest message that is read or sent; the brokers must accept messages of this size."""

    user_length: Annotated[int, Field(ge=1)] = 256
    """Longest user id, characters."""

    points_per_fragment: Annotated[int, Field(ge=1)] = 10_000
    """Most points of one fragment, and of all fragments in one message with a list of them."""

    records_per_message: Annotated[int, Field(ge=1)] = 10_000
    """Most records that are read from one message with a list of them; never more than fit in ``ingest.chunk_bytes``,
    at 36 bytes each. The rest is not read, and one dead letter says so."""

    points_per_user: Annotated[int, Field(ge=1)] = 10_000
    """Most visits or points of one person in one window."""

    trajectory_length: Annotated[int, Field(ge=1)] | None = None
    """Most locations of one trajectory. A longer one is cut; its pieces still count as one person. By default the
    greatest length up to 100 with at most 170,000 subtrajectories: 100 for m = 2 and 3, 45 for m = 4."""

    buffered_rows: Annotated[int, Field(ge=1000)] = 5_000_000
    """Most rows that a worker buffers, at about 50 bytes each; beyond this it pauses consumption. If no window can
    close then, the oldest is sealed early so that consumption can resume."""


class IngestSettings(Section):
    """How input is read in batches."""

    max_records: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Most messages of one batch."""

    max_wait: PositiveDuration = 200
    """Longest wait for a batch."""

    chunk_bytes: Size = 512 * 1024
    """Most bytes of rows in one message of the shards topic."""
