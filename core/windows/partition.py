"""The seal protocol for one partition of the shards topic, as a deterministic state machine.

Inputs are method calls: chunks in the order of their offsets, seal records in the order of the seals topic, the clock,
and actions that the driver has finished. Outputs are actions, one at a time, which the driver carries out::

    accept(chunk) ...  next_action() -> WriteSeal   -> write it, read the seals topic to its end, apply_seal(each)
                                     -> ReleaseWindow -> anonymize, verify, emit, all acknowledged, then released(seal);
                                                         if something is drawn: first write the Draw, read to the end,
                                                         apply_seal(each), and release by draw(key)
                                     -> WriteCompletion -> write it, acknowledged, then completed(...)
    committable_offset()

When nothing else is due, a shard without open windows forgets what its last windows released, once the watermark has
passed all windows that could depend on it. The last of these is sealed without rows and completed without a release,
so that no late record can open one of them: a window must not be released without the history that it depends on.

A window's content depends on its first seal alone, never on clocks or watermarks, which only decide when to seal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from core.records.record import ROW_TYPES, Chunk, Kind, Rows, Source
from core.windows.draw import Draw
from core.windows.history import History, Roster
from core.windows.open_windows import OpenWindows
from core.windows.seal import Seal, SealedUntil, SealRecord
from core.windows.window import WindowKey, WindowPolicy

__all__ = ["Accepted", "Action", "EarlyBecause", "Partition", "ReleaseWindow", "WriteCompletion", "WriteSeal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Number of rows of one chunk by what happened to them."""

    buffered: int
    late: int
    duplicates: int
    reread: int = 0
    """Rows of completed windows that an earlier worker has read and counted already."""


class EarlyBecause(StrEnum):
    """Why a window is sealed before the watermark has passed its end."""

    BUFFERS_FULL = "buffers_full"
    MANY_OPEN = "many_open"
    """Its shard has more open windows than :attr:`core.windows.window.WindowPolicy.max_open`."""


@dataclass(frozen=True, slots=True, eq=False)
class WriteSeal:
    """Write the seal, then read the seals topic to its end and apply every record."""

    seal: Seal
    rows: Rows = field(repr=False)
    """What the window contains if this seal is the first; nothing of it may leave before that is known."""

    history: History = field(repr=False)
    early: EarlyBecause | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseWindow:
    """Anonymize, verify and emit the rows of a sealed window."""

    seal: Seal
    rows: Rows = field(repr=False)
    history: History = field(repr=False)
    """What earlier windows released, as far as this one depends on it."""

    draw: Draw | None = None
    """What was drawn for this window before, by whoever began to release it; it must not be drawn again."""


@dataclass(frozen=True, slots=True)
class WriteCompletion:
    """Write ``until``, then remove the seal records that it replaces."""

    until: SealedUntil
    obsolete: tuple[SealRecord, ...]


Action = WriteSeal | ReleaseWindow | WriteCompletion


class Partition:
    """State of one partition: buffered windows, their seals, and one watermark per kind of feed.

    Args:
        policies: How the windows of each kind behave.
        make_seal: Makes the seal of a window from its key, the last offset that it includes, its number of rows, and
            the history that its release depends on.
    """

    def __init__(
        self, policies: Mapping[Kind, WindowPolicy], make_seal: Callable[[WindowKey, int, int, History], Seal]
    ) -> None:
        self._make_seal = make_seal
        self._feeds = {kind: OpenWindows(kind, policy) for kind, policy in policies.items()}
        self._next_offset: int | None = None
        self._pending_completion: WriteCompletion | None = None
        self.buffered_rows = 0

    # ------------------------------------------------------------------ inputs

    def expect(self, kind: Kind, topics: Mapping[str, int], *, clock_ms: int) -> None:
        """Close no window of a feed before every partition of its input topics has records or is idle.

        Without this call a topic is expected only from its first chunk on. The wait begins with the first chunk of the
        feed, or now if there was one.

        Args:
            kind: The feed.
            topics: Number of partitions by input topic; topics that were expected before still are.
            clock_ms: The clock, which does not advance while messages wait to be read.
        """
        if kind in self._feeds:
            self._feeds[kind].watermark.expect_inputs(topics, clock_ms=clock_ms)

    def accept(self, chunk: Chunk, offset: int, *, clock_ms: int) -> Accepted:
        """Buffer a chunk read at ``offset``. Late rows and duplicates are left out and counted.

        Raises:
            ValueError: The offset is not above all earlier ones.
        """
        self._pass(offset)
        feed = self._feeds[chunk.kind]
        feed.watermark.expect(chunk.source.topic, chunk.n_partitions, clock_ms=clock_ms)
        shard = feed.shard(chunk.shard)
        rows = chunk.rows
        highest = shard.highest_offsets.get((chunk.source, chunk.log_id), -1)
        fresh = rows[rows["offset"] > highest]
        duplicates = len(rows) - len(fresh)
        if not len(fresh):
            return Accepted(buffered=0, late=0, duplicates=duplicates)
        shard.highest_offsets[chunk.source, chunk.log_id] = int(fresh["offset"][-1])
        reached_ms = int(fresh["ts_ms"].max()) if chunk.complete_ms is None else chunk.complete_ms
        feed.watermark.advance(chunk.source, reached_ms, clock_ms=clock_ms)

        late = reread = 0
        for key, part in feed.by_window(chunk.shard, fresh):
            kept = part[~feed.are_late(key, offset, part["ts_ms"])]
            if offset <= shard.completed_offset:
                reread += len(part) - len(kept)
            else:
                late += len(part) - len(kept)
            if len(kept):
                feed.open_window(key).add(offset, kept)
                self.buffered_rows += len(kept)
        buffered = len(fresh) - late - reread
        return Accepted(buffered=buffered, late=late, duplicates=duplicates, reread=reread)

    def skip(self, offset: int) -> None:
        """Record the offset of a message that is not a chunk for this partition's windows.

        Raises:
            ValueError: The offset is not above all earlier ones.
        """
        self._pass(offset)

    def apply_seal(self, record: SealRecord) -> int:
        """Apply the next record of the seals topic, and return how many buffered rows become late by it.

        Of several seals of one window the first one applied counts. A seal that follows the seal of a later window
        does not count: windows are sealed in order, so the writer of the later seal had no rows of the earlier window,
        and may have released and completed the later one already.
        """
        feed = self._feeds.get(record.kind)
        if feed is None:
            return 0  # this kind of feed is switched off: its windows wait until it is read again
        shard = feed.shard(record.shard)
        if isinstance(record, Roster):
            feed.remember(record)
            return 0
        if isinstance(record, Draw):
            shard.draws.setdefault(record.key, []).append(record)
            return 0
        shard.known.add(record)
        if isinstance(record, SealedUntil):
            shard.sealed_ms = max(shard.sealed_ms, record.until_ms)
            feed.begin_after(record.shard, record.until_ms)
            shard.completed_offset = max(shard.completed_offset, record.last_offset)
            return self._close(feed, feed.ending_by(record.shard, record.until_ms))
        key = record.key
        if key.end_ms <= shard.sealed_ms:
            return 0
        feed.begins_ms[key] = shard.sealed_ms
        shard.sealed_ms = key.end_ms
        window = feed.open_window(key)  # even a window whose rows are gone must be completed
        feed.collect(key)
        feed.seals[key] = record
        trimmed = window.trim(record.last_offset)
        self.buffered_rows -= trimmed
        return trimmed + self._close(feed, [k for k in feed.ending_by(key.shard, key.end_ms) if k not in feed.seals])

    def has_roster(self, key: WindowKey) -> bool:
        """Return whether the roster of a window is written already, by whoever began to release it."""
        return self._feeds[key.kind].has_roster(key)

    def draw(self, key: WindowKey) -> Draw | None:
        """Return the draw of a window that counts, or None if nothing was drawn for it yet."""
        return self._feeds[key.kind].draw(key)

    def is_to_be_released(self, seal: Seal) -> bool:
        """Return whether a window still has to be released: nobody has completed it."""
        return seal.key in self._feeds[seal.kind].seals

    def retire(self, kind: Kind, source: Source) -> None:
        """Stop waiting for a source that has ended."""
        self._feeds[kind].watermark.retire(source)

    def released(self, seal: Seal) -> None:
        """Record that the window is emitted and acknowledged; the next action is its completion."""
        self._pending_completion = self._completion(seal.key, seal.key.end_ms, seal.last_offset)

    def completed(self, completion: WriteCompletion) -> None:
        """Record that the completion is written, and drop the rows of the window."""
        self._pending_completion = None
        self.apply_seal(completion.until)  # drops the released rows
        feed = self._feeds[completion.until.kind]
        shard = feed.shard(completion.until.shard)
        for record in completion.obsolete:
            if isinstance(record, Roster):
                feed.forget(record)
            elif isinstance(record, Draw):
                shard.draws.pop(record.key, None)
            else:
                shard.known.discard(record)

    # ----------------------------------------------------------------- outputs

    def next_action(
        self, *, clock_ms: int, now_ms: float = math.inf, early: bool = False, may_seal: bool = True
    ) -> Action | None:
        """Return the next action, or None if nothing is due; call this again after every input.

        Args:
            clock_ms: The clock, which does not advance while messages wait to be read.
            now_ms: The present in event time; silence of sources closes no window that ends later.
            early: Whether to seal the oldest window if none is due, because nothing more can be buffered.
            may_seal: Whether to seal windows, and not only to finish those that are sealed.
        """
        if self._pending_completion is not None:
            return self._pending_completion
        next_offset, feeds = self._next_offset, self._feeds
        if next_offset is None:
            return None
        if ready := [key for feed in feeds.values() if (key := feed.releasable(next_offset)) is not None]:
            key = min(ready)
            feed = feeds[key.kind]
            seal, rows = feed.seals[key], feed.windows[key].rows
            if not seal.n_rows and not len(rows):  # see _forget
                return self._completion(key, key.end_ms, seal.last_offset)
            return ReleaseWindow(seal, rows, feed.history(key), feed.draw(key))
        return self._seal_or_forget(next_offset, clock_ms, now_ms, early=early) if may_seal else None

    def _seal_or_forget(self, next_offset: int, clock_ms: int, now_ms: float, *, early: bool) -> Action | None:
        feeds = self._feeds.values()
        because: EarlyBecause | None = None
        due = min((key for feed in feeds if (key := feed.due(clock_ms, now_ms)) is not None), default=None)
        if due is None:
            due = min((key for feed in feeds if (key := feed.one_too_many()) is not None), default=None)
            because = EarlyBecause.MANY_OPEN
        if due is None and early:
            due, because = self.oldest_unsealed, EarlyBecause.BUFFERS_FULL
        if due is None:
            return self._forget(next_offset)
        return self._write_seal(due, self._feeds[due.kind].windows[due].rows, next_offset, because)

    def _write_seal(
        self, key: WindowKey, rows: Rows, next_offset: int, because: EarlyBecause | None = None
    ) -> WriteSeal:
        history = self._feeds[key.kind].history(key)
        return WriteSeal(self._make_seal(key, next_offset - 1, len(rows), history), rows, history, because)

    def _forget(self, next_offset: int) -> Action | None:
        """Return the next step by which one shard without open windows forgets its rosters, or None."""
        passed = (key for feed in self._feeds.values() if (key := feed.passed_last_dependent_window()) is not None)
        key = min(passed, default=None)
        if key is None:
            return None
        shard = self._feeds[key.kind].shard(key.shard)
        if shard.sealed_ms < key.end_ms:
            return self._write_seal(key, np.empty(0, dtype=ROW_TYPES[key.kind]), next_offset)
        # A worker stopped after it had written this completion, before it had removed everything.
        return self._completion(key, int(shard.sealed_ms), shard.completed_offset)

    def _completion(self, key: WindowKey, until_ms: int, last_offset: int) -> WriteCompletion:
        """Return the completion of all windows in the shard of a window up to a time."""
        feed = self._feeds[key.kind]
        until = SealedUntil(kind=key.kind, shard=key.shard, until_ms=until_ms, last_offset=last_offset)
        replaced = (r for r in sorted(feed.shard(key.shard).known, key=repr) if _replaces(until, r))
        return WriteCompletion(until, (*replaced, *feed.forgettable(key.shard, until_ms)))

    def committable_offset(self) -> int | None:
        """Return the offset from which a successor must read, or None before the first message."""
        firsts = (window.first_offset for feed in self._feeds.values() for window in feed.windows.values())
        return min((offset for offset in firsts if offset is not None), default=self._next_offset)

    @property
    def oldest_unsealed(self) -> WindowKey | None:
        """The window that would be sealed early, or None if there is none without a seal before it."""
        return min((key for feed in self._feeds.values() if (key := feed.oldest_unsealed()) is not None), default=None)

    @property
    def sealed_windows(self) -> int:
        """Number of windows that are sealed and not completed."""
        return sum(len(feed.seals) for feed in self._feeds.values())

    @property
    def open_windows(self) -> int:
        """Number of windows that hold rows."""
        return sum(len(feed.windows) for feed in self._feeds.values())

    def watermark_ms(self, kind: Kind, *, clock_ms: int) -> int | None:
        """Return the watermark of one kind of feed, or None while it is unknown."""
        return self._feeds[kind].watermark.value_ms(clock_ms=clock_ms)

    def lead_ms(self, kind: Kind, *, clock_ms: int) -> int:
        """Return how far one source of a kind of feed is ahead of all others."""
        return self._feeds[kind].watermark.lead_ms(clock_ms=clock_ms)

    def _pass(self, offset: int) -> None:
        # Rows that arrive out of order would count as duplicates, and seals would fix windows that lack rows.
        if self._next_offset is not None and offset < self._next_offset:
            raise ValueError(f"offset {offset} after offset {self._next_offset - 1}: offsets must ascend")
        self._next_offset = offset + 1

    def _close(self, feed: OpenWindows, keys: list[WindowKey]) -> int:
        n_rows = sum(feed.close_window(key) for key in keys)
        self.buffered_rows -= n_rows
        return n_rows


def _replaces(until: SealedUntil, record: Seal | SealedUntil) -> bool:
    if isinstance(record, Seal):
        return record.key.end_ms <= until.until_ms
    return record.until_ms < until.until_ms
