"""Records as journeys: a raw feed with its own settings, or a table of points of another tool."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, islice
from pathlib import Path
from typing import cast

import numpy as np

from core.ingest.validate import validate_checkins, validate_fragments
from core.places.locate import Locator
from core.records.arrays import BoolArray, FloatArray, IntArray, numbered
from core.records.by_user import same_as_before, starts_of_users
from core.records.record import CheckIn, Fragment, Kind, Source
from core.trajectories.journeys import Journeys
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.files.opened_file import open_unpacked
from stream.formats.files.record_file import FileFormatError
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["RecordBatch", "RecordBatches", "table_settings"]

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
    with open_unpacked(path) as file:
        head = file.read(1 << 14)
    has_slashes = _SLASHES.search(head) is not None
    return load_settings(None, _TABLE | ({"time.format": "%Y/%m/%d %H:%M:%S"} if has_slashes else {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBatch:
    """Valid records of a part of a file, as columns of shape ``(n,)``."""

    hashes: list[int] = field(repr=False)
    """Keyed hash of each person."""

    ids: list[str] = field(repr=False)
    t_ms: IntArray = field(repr=False)
    xy: FloatArray = field(repr=False)
    """Longitude and latitude, shape ``(n, 2)``; NaN where a location has no position."""

    locations: IntArray | None = field(repr=False)
    left_out: int
    """Records that are not valid."""

    def only(self, rows: BoolArray) -> RecordBatch:
        """Return some of the records; those that are not valid are not counted again."""
        return RecordBatch(
            hashes=list(compress(self.hashes, rows.tolist())),
            ids=list(compress(self.ids, rows.tolist())),
            t_ms=self.t_ms[rows],
            xy=self.xy[rows],
            locations=None if self.locations is None else self.locations[rows],
            left_out=0,
        )


class RecordBatches:
    """The valid records of a file, validated as a replay does, part by part.

    Args:
        settings: How records are read and located.
        kind: What they are; stops are not found, so fragments are read in their place.
        path: The file.
        is_table: Whether only positions count, so that nothing is located.
        progress: Called after every part.
    """

    def __init__(
        self,
        settings: Settings,
        kind: Kind,
        path: Path,
        progress: Callable[[str], None] = lambda _: None,
        *,
        is_table: bool = False,
    ) -> None:
        self._settings, self._path, self._progress = settings, path, progress
        self._feed = Feed(settings, kind, secret=new_secret())
        self._locator = _locator(self._feed, is_table)
        self.left_out = 0
        """Records read so far that are not valid; a replay says why."""

    def __iter__(self) -> Iterator[RecordBatch]:
        """Yield the batches.

        Raises:
            FileFormatError: No record is valid, or the file cannot be read as such records.
        """
        n_rows = self.left_out = 0
        for batch in _batches_of(self._settings, self._feed, [self._path], self._locator):
            n_rows, self.left_out = n_rows + len(batch.ids), self.left_out + batch.left_out
            self._progress(f"reading {self._path.name}: {n_rows:,} rows")
            yield batch
        if not n_rows:
            raise FileFormatError(
                f"{self._path}: none of its {self.left_out:,} records is valid: shoal try says why, and how to read it"
            )

    def journeys(self, batches: Sequence[RecordBatch]) -> Journeys:
        """Return batches of this file as journeys: each person has one."""
        return _journeys(batches, self._locator)


def _locator(feed: Feed, is_table: bool) -> Locator | None:
    return None if is_table or feed.kind is not Kind.CHECKINS else feed.plan.locator


def _batches_of(
    settings: Settings, feed: Feed, paths: Sequence[Path], locator: Locator | None
) -> Iterator[RecordBatch]:
    now_ms = round(time.time() * 1000)
    for number, file in enumerate(open_files(settings, feed, paths)):
        source = Source("evaluation", number)
        try:
            entries = file.entries()
            while part := list(islice(entries, _BATCH)):
                # Numbered anew, because several records may be in one line.
                records = list(enumerate(entry for _, entry in part if isinstance(entry, CheckIn | Fragment)))
                unreadable = len(part) - len(records)
                if feed.kind is Kind.CHECKINS:
                    checkins = cast("list[tuple[int, CheckIn]]", records)
                    yield _checkins(checkins, unreadable, feed, source, now_ms, locator)
                else:
                    fragments = cast("list[tuple[int, Fragment]]", records)
                    yield _fragments(fragments, unreadable, feed, source, now_ms)
        finally:
            file.close()


def _checkins(
    records: list[tuple[int, CheckIn]],
    unreadable: int,
    feed: Feed,
    source: Source,
    now_ms: int,
    locator: Locator | None,
) -> RecordBatch:
    needs_position = locator is None or locator.needs_position
    valid, rejected = validate_checkins(
        records,
        feed.rules,
        source=source,
        now_ms=now_ms,
        needs_position=needs_position,
        reads_category=locator is not None and locator.reads_category,
    )
    found = np.ones(len(valid.users), np.bool_)
    xy = np.column_stack([valid.lon_deg, valid.lat_deg])
    locations: IntArray | None = None
    if locator is not None:
        locations, found = locator.locate(valid.lat_deg, valid.lon_deg, valid.venues, valid.categories)
        locations = locations[found]
        if not needs_position:
            _, lat, lon = locator.describe(locations)
            xy[found] = np.column_stack([lon, lat])
    return RecordBatch(
        hashes=valid.users[found].tolist(),
        ids=[str(records[i][1].user) for i in valid.numbers[found].tolist()],
        t_ms=valid.ts_ms[found].astype(np.int64),
        xy=xy[found],
        locations=locations,
        left_out=unreadable + len(rejected) + int((~found).sum()),
    )


def _fragments(
    records: list[tuple[int, Fragment]], unreadable: int, feed: Feed, source: Source, now_ms: int
) -> RecordBatch:
    points, rejected, left_out = validate_fragments(records, feed.rules, source=source, now_ms=now_ms)
    return RecordBatch(
        hashes=points["user"].tolist(),
        ids=[str(records[i][1].user) for i in points["offset"].tolist()],
        t_ms=points["ts_ms"].astype(np.int64),
        xy=np.column_stack([points["lon"], points["lat"]]),
        locations=None,
        left_out=unreadable + len(rejected) + sum(left_out.values()),
    )


def _journeys(batches: Sequence[RecordBatch], locator: Locator | None) -> Journeys:
    user, _ = numbered(chain.from_iterable(batch.hashes for batch in batches))
    ids = dict(zip(user.tolist(), chain.from_iterable(batch.ids for batch in batches), strict=True))
    t_ms = np.concatenate([np.zeros(0, np.int64), *(batch.t_ms for batch in batches)])
    xy = np.concatenate([np.zeros((0, 2)), *(batch.xy for batch in batches)])
    location = np.zeros(len(user), np.int64)
    if locator is not None:
        found = [batch.locations for batch in batches if batch.locations is not None]
        location = np.concatenate([np.zeros(0, np.int64), *found])
    order = np.lexsort((xy[:, 1], xy[:, 0], location, t_ms, user))
    user, t_ms, xy, location = user[order], t_ms[order], xy[order], location[order]
    again = same_as_before(user, t_ms, *([location] if locator is not None else xy.T))
    user, t_ms, xy, location = user[~again], t_ms[~again], xy[~again], location[~again]
    begins = starts_of_users(user)
    labels: tuple[tuple[str, ...], ...] = ()
    label_of: IntArray | None = None
    if locator is not None:
        present, label_of = np.unique(location, return_inverse=True)
        number, names = numbered(locator.describe(present)[0])
        labels, label_of = tuple((name,) for name in names), number[label_of]
    return Journeys(
        users=user[begins[:-1]],
        windows_ms=np.zeros(len(begins) - 1, np.int64),
        starts=begins,
        t_ms=t_ms,
        xy=xy,
        labels=labels,
        label_of=label_of,
        people=tuple(ids[number] for number in range(len(ids))),
    )
