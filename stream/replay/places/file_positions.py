"""The positions of people in files, read and validated as a replay reads records."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from core.ingest.validate import validate_checkins, validate_fragments
from core.records.arrays import FloatArray, UserHashes
from core.records.record import CheckIn, Fragment, Kind, Source
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.files.record_file import Place, RecordFile
from stream.formats.input.mapping import Entry, Skipped, Unreadable
from stream.replay.summary import Summary
from stream.settings.model import Settings

__all__ = ["FilePositions", "PeopleAt"]

_BATCH = 5_000


class PeopleAt(NamedTuple):
    """People and where they were, one row for each check-in or point."""

    users: UserHashes
    lat_deg: FloatArray
    lon_deg: FloatArray

    def __repr__(self) -> str:
        """Show the number of rows alone: the values are the whereabouts of people."""
        return f"PeopleAt(<{len(self.users)} rows>)"


@dataclass(kw_only=True)
class FilePositions:
    """The positions in some files of one kind. They can be read several times."""

    settings: Settings
    feed: Feed
    paths: Sequence[Path]
    progress: Callable[[int], None] = lambda _: None
    """Called with the number of bytes read so far in this pass."""

    summary: Summary = field(default_factory=Summary, init=False)
    """Counts the records of the last pass, and those that were rejected."""

    def batches(self) -> Generator[PeopleAt, None, None]:
        """Read the files from their start.

        Raises:
            FileFormatError: A file cannot be read as records of this feed, or is damaged.
        """
        self.summary = Summary()
        files = open_files(self.settings, self.feed, self.paths)
        now_ms, done = round(time.time() * 1000), 0
        try:
            for number, file in enumerate(files):
                entries = file.entries()
                while batch := list(islice(entries, _BATCH)):
                    yield self._positions(batch, file, number, now_ms)
                    self.progress(done + file.position)
                done += file.size
        finally:
            for file in files:
                file.close()

    def _positions(self, batch: Sequence[tuple[Place, Entry]], file: RecordFile, number: int, now_ms: int) -> PeopleAt:
        summary, rules, source = self.summary, self.feed.rules, Source("regions", number)
        records: list[tuple[int, CheckIn | Fragment]] = []
        elements: list[int | None] = []
        for (line, element), entry in batch:
            if isinstance(entry, Unreadable):
                summary.rejected += 1
                summary.rejections.add(entry.reason, entry.detail, file, number, (line, element))
            elif isinstance(entry, Skipped):
                summary.filtered += 1
            else:
                records.append((line, entry))
                elements.append(element)
        if self.feed.kind is Kind.CHECKINS:
            checkins = cast("list[tuple[int, CheckIn]]", records)
            valid, rejected = validate_checkins(
                checkins, rules, source=source, now_ms=now_ms, needs_position=True, elements=elements
            )
            found = PeopleAt(valid.users, valid.lat_deg, valid.lon_deg)
        else:
            fragments = cast("list[tuple[int, Fragment]]", records)
            rows, rejected, _ = validate_fragments(fragments, rules, source=source, now_ms=now_ms, elements=elements)
            found = PeopleAt(*(np.ascontiguousarray(rows[name]) for name in ("user", "lat", "lon")))
        summary.records += len(batch)
        summary.rejected += len(rejected)
        for one in rejected:
            summary.rejections.add(one.reason, one.detail, file, number, (one.offset, one.element))
        return found
