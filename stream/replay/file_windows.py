"""The windows of files, sealed as a worker would seal them.

Every file is a source of its own. The file whose event time is furthest behind is read next, so that no record becomes
late only because its file was read late.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from core.records.record import CheckIn, Fragment, Reason, Source
from core.windows.history import History, Roster
from core.windows.partition import Partition, ReleaseWindow, WriteSeal
from core.windows.seal import Seal
from core.windows.window import WindowKey, WindowPolicy
from stream.feeds.feed import Feed
from stream.formats.files.record_file import Place, RecordFile
from stream.formats.input.mapping import Entry, Skipped, Unreadable
from stream.replay.summary import Summary

__all__ = ["FileWindows"]

_BATCH = 5_000
_CLOCK_MS = 0  # no source is ever idle here: the end of a file is known


class FileWindows:
    """The sealed windows of some files of one kind, one after the other; none is kept in memory.

    Args:
        feed: How to read and release the records.
        files: The files, read side by side.
        now_ms: The present, Unix milliseconds.
        summary: Counts the records, and what became of the records that are in no window.
        policy: How windows are cut; that of the feed if not given.
    """

    def __init__(
        self,
        feed: Feed,
        files: Sequence[RecordFile],
        *,
        now_ms: int,
        summary: Summary,
        policy: WindowPolicy | None = None,
    ) -> None:
        self._feed, self._files, self._now_ms, self._summary = feed, files, now_ms, summary
        # No limit on open windows: a limit would seal windows for which another file still has records.
        unlimited = replace(policy or feed.policy, max_open=sys.maxsize)
        self._partition = Partition({feed.kind: unlimited}, self._make_seal)
        self._offset = 0

    def _make_seal(self, key: WindowKey, last_offset: int, n_rows: int, history: History) -> Seal:
        return self._feed.plan.after(history).seal(key, last_offset, n_rows, "replay")

    def remember(self, key: WindowKey, rosters: Sequence[Roster]) -> None:
        """Keep what later windows have to know of a window, from the rosters of its shard cells."""
        if rosters:
            self._partition.apply_seal(Roster.of_cells(key, rosters))

    @property
    def position(self) -> int:
        """Bytes of the files read so far."""
        return sum(file.position for file in self._files)

    def __iter__(self) -> Iterator[ReleaseWindow]:
        """Read everything and yield each window with its first seal.

        Raises:
            FileFormatError: A file is damaged or of another form.
        """
        entries = [file.entries() for file in self._files]
        behind = [(float("-inf"), i) for i in range(len(entries))]
        while behind:
            newest_ms, i = heapq.heappop(behind)
            batch = list(islice(entries[i], _BATCH))
            source = Source("replay", i)
            if batch:
                heapq.heappush(behind, (max(newest_ms, self._take(source, batch)), i))
            else:
                self._partition.retire(self._feed.kind, source)
            yield from self._due()

    def _take(self, source: Source, batch: Sequence[tuple[Place, Entry]]) -> float:
        """Take in a batch of entries of a file with their places, and return its newest event time."""
        records: list[tuple[int, CheckIn | Fragment]] = []
        elements: list[int | None] = []
        for (number, element), entry in batch:
            if isinstance(entry, Unreadable):
                self._reject(entry.reason, entry.detail, source.partition, (number, element))
            elif isinstance(entry, Skipped):
                self._summary.filtered += 1
            else:
                records.append((number, entry))
                elements.append(element)
        chunks, rejected, left_out = self._feed.intake.run(
            records, source=source, n_partitions=len(self._files), now_ms=self._now_ms, elements=elements
        )
        self._summary.records += len(batch)
        for one in rejected:
            self._reject(one.reason, one.detail, source.partition, (one.offset, one.element))
        self._summary.points_left_out += sum(left_out.values())
        self._summary.reasons.update(left_out)
        newest_ms = float("-inf")
        for chunk in chunks:
            accepted = self._partition.accept(chunk, self._offset, clock_ms=_CLOCK_MS)
            self._offset += 1
            self._summary.rows += len(chunk.rows)
            self._summary.late += accepted.late
            self._summary.duplicates += accepted.duplicates
            newest_ms = max(newest_ms, float(chunk.rows["ts_ms"].max()))
        return newest_ms

    def _reject(self, reason: Reason, detail: str, nth_file: int, place: Place) -> None:
        self._summary.rejected += 1
        self._summary.reasons[reason] += 1
        self._summary.rejections.add(reason, detail, self._files[nth_file], nth_file, place)

    def _due(self) -> Iterator[ReleaseWindow]:
        while action := self._partition.next_action(clock_ms=_CLOCK_MS):
            if isinstance(action, WriteSeal):
                self._summary.late += self._partition.apply_seal(action.seal)
            elif isinstance(action, ReleaseWindow):
                yield action
                self._partition.released(action.seal)
            else:
                self._partition.completed(action)
