"""Records as journeys: a raw feed with its own settings, or a table of points of another tool."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np

from core.ingest.validate import validate_checkins, validate_fragments
from core.places.locate import Locator
from core.records.arrays import FloatArray, IntArray, numbered
from core.records.by_user import same_as_before
from core.records.record import CheckIn, Fragment, Kind, Source
from core.trajectories.journeys import Journeys
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.files.record_file import FileFormatError, RecordFile
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["ReadRecords", "read_records", "table_settings"]

_BATCH = 20_000

_TABLE = {
    "fields.user": "user|user_id|uid|id|trajectory_id|tid",
    "fields.ts": "ts|timestamp|datetime|time|t",
    "fields.lat": "lat|latitude",
    "fields.lon": "lon|lng|longitude",
    "time.zone": "UTC",
    "time.earliest": "1970-01-01T00:00:00Z",
}
"""Names that tools give the columns of points. Times without an offset are UTC, as these tools write them."""

_SLASHES = re.compile(rb"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
"""How mdl-anonymizer writes times."""


def table_settings(path: Path) -> Settings:
    """Return the settings with which a table of points is read.

    Raises:
        OSError: The file cannot be opened.
    """
    with path.open("rb") as file:
        head = file.read(1 << 14)
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path, "rb") as file:
            head = file.read(1 << 14)
    has_slashes = _SLASHES.search(head) is not None
    return load_settings(None, _TABLE | ({"time.format": "%Y/%m/%d %H:%M:%S"} if has_slashes else {}))


@dataclass(frozen=True, kw_only=True)
class ReadRecords:
    """The journeys of some files of records."""

    journeys: Journeys
    """Each person has one."""

    left_out: int
    """Records that were rejected; a replay says why."""


@dataclass
class _Rows:
    """Columns of the records read so far."""

    users: list[IntArray] = field(default_factory=list)
    t_ms: list[IntArray] = field(default_factory=list)
    xy: list[FloatArray] = field(default_factory=list)
    locations: list[IntArray] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    """Number of each person by keyed hash, in the order in which they occur."""

    ids: list[str] = field(default_factory=list)
    left_out: int = 0

    def add(self, hashes: Sequence[int], ids: Sequence[str], t_ms: IntArray, xy: FloatArray) -> None:
        """Add rows, and number their people."""
        for hashed, name in zip(hashes, ids, strict=True):
            if hashed not in self.numbers:
                self.numbers[hashed] = len(self.ids)
                self.ids.append(name)
        self.users.append(np.array([self.numbers[hashed] for hashed in hashes], np.int64))
        self.t_ms.append(t_ms.astype(np.int64))
        self.xy.append(xy)


def read_records(
    settings: Settings,
    kind: Kind,
    paths: Sequence[Path],
    progress: Callable[[str], None] = lambda _: None,
    *,
    is_table: bool = False,
) -> ReadRecords:
    """Read records and validate them as a replay does; check-ins are located as the settings say.

    Args:
        settings: How records are read and located.
        kind: What they are; stops are not found, so fragments are read in their place.
        paths: The files.
        progress: Called after every batch.
        is_table: Whether only positions count, so that nothing is located.

    Raises:
        FileFormatError: A file cannot be read as such records, or no record of it is valid.
    """
    feed = Feed(settings, kind, secret=new_secret())
    rows, now_ms = _Rows(), round(time.time() * 1000)
    locator = None if is_table or kind is not Kind.CHECKINS else feed.plan.locator
    for number, file in enumerate(open_files(settings, feed, paths)):
        try:
            source = Source("evaluation", number)
            for batch in _batches(file, rows):
                if kind is Kind.CHECKINS:
                    _take_checkins(rows, cast("list[tuple[int, CheckIn]]", batch), feed, source, now_ms, locator)
                else:
                    _take_fragments(rows, cast("list[tuple[int, Fragment]]", batch), feed, source, now_ms)
                progress(f"reading {file.path.name}: {sum(map(len, rows.users)):,} rows")
        finally:
            file.close()
    if not rows.ids:
        raise FileFormatError(
            f"{paths[0]}: none of its {rows.left_out:,} records is valid: shoal try says why, and how to read it"
        )
    return ReadRecords(journeys=_journeys(rows, locator), left_out=rows.left_out)


def _batches(file: RecordFile, rows: _Rows) -> Iterator[list[tuple[int, CheckIn | Fragment]]]:
    """Yield the records of a file, numbered anew, so that records of one line differ."""
    entries = file.entries()
    while batch := list(islice(entries, _BATCH)):
        records = [entry for _, entry in batch if isinstance(entry, CheckIn | Fragment)]
        rows.left_out += len(batch) - len(records)
        yield list(enumerate(records))


def _take_checkins(
    rows: _Rows,
    batch: list[tuple[int, CheckIn]],
    feed: Feed,
    source: Source,
    now_ms: int,
    locator: Locator | None,
) -> None:
    needs_position = locator is None or locator.needs_position
    valid, rejected = validate_checkins(
        batch,
        feed.rules,
        source=source,
        now_ms=now_ms,
        needs_position=needs_position,
        reads_category=locator is not None and locator.reads_category,
    )
    found = np.ones(len(valid.users), np.bool_)
    xy = np.column_stack([valid.lon_deg, valid.lat_deg])
    if locator is not None:
        locations, found = locator.locate(valid.lat_deg, valid.lon_deg, valid.venues, valid.categories)
        rows.locations.append(locations[found])
        if not needs_position:
            _, lat, lon = locator.describe(locations[found])
            xy[found] = np.column_stack([lon, lat])
    numbers = valid.numbers[found].tolist()
    rows.add(valid.users[found].tolist(), [str(batch[i][1].user) for i in numbers], valid.ts_ms[found], xy[found])
    rows.left_out += len(rejected) + int((~found).sum())


def _take_fragments(rows: _Rows, batch: list[tuple[int, Fragment]], feed: Feed, source: Source, now_ms: int) -> None:
    points, rejected, left_out = validate_fragments(batch, feed.rules, source=source, now_ms=now_ms)
    ids = [str(batch[i][1].user) for i in points["offset"].tolist()]
    rows.add(points["user"].tolist(), ids, points["ts_ms"], np.column_stack([points["lon"], points["lat"]]))
    rows.left_out += len(rejected) + sum(left_out.values())


def _journeys(rows: _Rows, locator: Locator | None) -> Journeys:
    user, t_ms, xy = np.concatenate(rows.users), np.concatenate(rows.t_ms), np.concatenate(rows.xy)
    location = np.concatenate(rows.locations) if rows.locations else np.zeros(len(user), np.int64)
    order = np.lexsort((xy[:, 1], xy[:, 0], location, t_ms, user))
    user, t_ms, xy, location = user[order], t_ms[order], xy[order], location[order]
    again = same_as_before(user, t_ms, *([location] if locator is not None else xy.T))
    user, t_ms, xy, location = user[~again], t_ms[~again], xy[~again], location[~again]
    begins = np.flatnonzero(~same_as_before(user))
    labels: tuple[tuple[str, ...], ...] = ()
    label_of: IntArray | None = None
    if locator is not None:
        present, label_of = np.unique(location, return_inverse=True)
        names = locator.describe(present)[0]
        number, distinct_names = numbered(names)
        labels, label_of = tuple((name,) for name in distinct_names), number[label_of]
    return Journeys(
        users=user[begins],
        windows_ms=np.zeros(len(begins), np.int64),
        starts=np.append(begins, len(user)).astype(np.int64),
        t_ms=t_ms,
        xy=xy,
        labels=labels,
        label_of=label_of,
        people=tuple(rows.ids),
    )
