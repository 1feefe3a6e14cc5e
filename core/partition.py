"""The seal protocol for one partition of the shards topic, as a deterministic state machine.

Inputs are method calls: chunks in the order of their offsets, seal records in the order of the seals topic, the clock,
and what the driver has finished. Outputs are actions, one at a time, that the driver carries out:

    accept(chunk) ...  next_action() -> WriteSeal   -> write it, read the seals topic to its end, apply_seal(each)
                                     -> ReleaseWindow -> anonymize, verify, emit, all acknowledged, then released(seal)
                                     -> WriteCompletion -> write it, acknowledged, then completed(...)
    committable_offset()

A window's content depends on its first seal alone, never on clocks or watermarks: those only decide when to seal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from sortedcontainers import SortedDict

from core.records import ROW_TYPES, Chunk, Kind, Rows, Source
from core.seal import Seal, SealedUntil, SealRecord
from core.watermark import Watermark
from core.window import WindowKey, window_starts

__all__ = ["Accepted", "Action", "Partition", "ReleaseWindow", "WindowPolicy", "WriteCompletion", "WriteSeal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPolicy:
    """How the windows of one kind of feed behave."""

    size_ms: int
    """Length of a window."""

    allowed_lateness_ms: int
    """How far behind the newest event time a record may come."""

    idle_timeout_ms: int
    """After how much silence a source stops holding windows open."""

    max_open: int
    """Most open windows of one shard; the oldest is sealed early beyond it."""

    max_lead_ms: int | None = None
    """How far the event time of one source may push the others; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of the rows of one chunk."""

    buffered: int
    late: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class WriteSeal:
    """Write the seal, then apply all that the seals topic holds, to its end."""

    seal: Seal


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseWindow:
    """Anonymize, verify and emit the rows under their seal."""

    seal: Seal
    rows: Rows = field(repr=False)


@dataclass(frozen=True, slots=True)
class WriteCompletion:
    """Write ``until``, then drop the seal records that it replaces."""

    until: SealedUntil
    obsolete: tuple[SealRecord, ...]


Action = WriteSeal | ReleaseWindow | WriteCompletion


@dataclass(slots=True)
class _OpenWindow:
    pieces: list[tuple[int, Rows]] = field(default_factory=list, repr=False)
    """Rows with the offset of the chunk that brought them; offsets ascend."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(len(rows) for _, rows in self.pieces)


@dataclass(slots=True)
class _Shard:
    open_windows: set[WindowKey] = field(default_factory=set)
    seals: dict[WindowKey, Seal] = field(default_factory=dict)
    """First seals of open windows."""

    sealed_ms: float = -math.inf
    """Windows that end by then are sealed, completed, or empty for good."""

    known: set[SealRecord] = field(default_factory=set)
    heard: dict[Source, int] = field(default_factory=dict)


class Partition:
    """State of one partition: buffered windows, their seals, and one watermark per kind of feed.

    Args:
        policies: How the windows of each kind behave.
        make_seal: Makes the seal of a window, given its key, the last offset that it includes, and its number of rows.
    """

    def __init__(self, policies: Mapping[Kind, WindowPolicy], make_seal: Callable[[WindowKey, int, int], Seal]) -> None:
        self._policies = policies
        self._make_seal = make_seal
        self._watermarks = {
            kind: Watermark(
                allowed_lateness_ms=p.allowed_lateness_ms,
                idle_timeout_ms=p.idle_timeout_ms,
                max_lead_ms=p.max_lead_ms,
            )
            for kind, p in policies.items()
        }
        self._windows: SortedDict[WindowKey, _OpenWindow] = SortedDict()
        self._shards: dict[tuple[Kind, str], _Shard] = {}
        self._next_offset: int | None = None
        self._pending_completion: WriteCompletion | None = None
        self.buffered_rows = 0

    # ------------------------------------------------------------------ inputs

    def accept(self, chunk: Chunk, offset: int, *, clock_ms: int) -> Accepted:
        """Buffer a chunk read at ``offset``; offsets ascend. Late rows and repeated ones are left out and counted."""
        self._next_offset = offset + 1
        watermark = self._watermarks[chunk.kind]
        watermark.expect(chunk.source.topic, chunk.n_partitions, clock_ms=clock_ms)
        shard = self._shard(chunk.kind, chunk.shard)
        rows = chunk.rows
        heard = shard.heard.get(chunk.source, -1)
        fresh = rows[rows["offset"] > heard]
        duplicates = len(rows) - len(fresh)
        if not len(fresh):
            return Accepted(buffered=0, late=0, duplicates=duplicates)
        shard.heard[chunk.source] = int(fresh["offset"][-1])
        reached_ms = int(fresh["ts_ms"].max()) if chunk.complete_ms is None else chunk.complete_ms
        watermark.advance(chunk.source, reached_ms, clock_ms=clock_ms)

        size_ms = self._policies[chunk.kind].size_ms
        starts = window_starts(fresh["ts_ms"], size_ms=size_ms)
        late = 0
        for start_ms in np.unique(starts).tolist():
            part = fresh[starts == start_ms]
            key = WindowKey(start_ms + size_ms, chunk.kind, chunk.shard, start_ms)
            if self._is_late(shard, key, offset):
                late += len(part)
            else:
                self._buffer(shard, key, offset, part)
        return Accepted(buffered=len(fresh) - late, late=late, duplicates=duplicates)

    def skip(self, offset: int) -> None:
        """Take note of a message that holds no chunk for this partition's windows."""
        self._next_offset = offset + 1

    def apply_seal(self, record: SealRecord) -> int:
        """Learn what the seals topic says next, and return how many buffered rows that turns late.

        Of several seals of one window the first one applied counts, and none after a later window's: that one's
        writer, who seals in order, had no rows of the earlier window, and may have released and completed its own.
        """
        kind, name = (record.key.kind, record.key.shard) if isinstance(record, Seal) else (record.kind, record.shard)
        shard = self._shard(kind, name)
        shard.known.add(record)
        if isinstance(record, SealedUntil):
            shard.sealed_ms = max(shard.sealed_ms, record.until_ms)
            shard.seals = {k: s for k, s in shard.seals.items() if k.end_ms > record.until_ms}
            return sum(self._close(shard, k) for k in self._ending_by(shard, record.until_ms))
        key = record.key
        if key.end_ms <= shard.sealed_ms:
            return 0
        shard.sealed_ms = key.end_ms
        shard.seals[key] = record
        self._open(shard, key)  # even if its rows are gone, the window has to come to an end
        empty = [k for k in self._ending_by(shard, key.end_ms) if k not in shard.seals]
        return self._trim(record) + sum(self._close(shard, k) for k in empty)

    def retire(self, kind: Kind, source: Source) -> None:
        """Stop waiting for a source that has come to its end."""
        self._watermarks[kind].retire(source)

    def released(self, seal: Seal) -> None:
        """The window is emitted and acknowledged: its completion comes next."""
        shard = self._shard(seal.key.kind, seal.key.shard)
        until = SealedUntil(kind=seal.key.kind, shard=seal.key.shard, until_ms=seal.key.end_ms)
        obsolete = tuple(r for r in sorted(shard.known, key=repr) if _replaces(until, r))
        self._pending_completion = WriteCompletion(until, obsolete)

    def completed(self, completion: WriteCompletion) -> None:
        """The completion is written: the window's rows may go."""
        self._pending_completion = None
        self.apply_seal(completion.until)  # drops the rows, which have left
        shard = self._shard(completion.until.kind, completion.until.shard)
        shard.known -= set(completion.obsolete)

    # ----------------------------------------------------------------- outputs

    def next_action(self, *, clock_ms: int) -> Action | None:
        """Return what to do next, or None when nothing is due; ask again after every input."""
        if self._pending_completion is not None:
            return self._pending_completion
        unsealed: WindowKey | None = None
        blocked: set[tuple[Kind, str]] = set()  # shards whose oldest window has to wait
        for key, window in self._windows.items():
            shard_id = (key.kind, key.shard)
            if shard_id in blocked:
                continue
            blocked.add(shard_id)
            seal = self._shards[shard_id].seals.get(key)
            if seal is None:
                if unsealed is None and self._is_due(key, clock_ms):
                    unsealed = key
            elif self._next_offset is not None and self._next_offset > seal.last_offset:
                return ReleaseWindow(seal, _join(key.kind, window))
        if unsealed is None or self._next_offset is None:
            return None
        return WriteSeal(self._make_seal(unsealed, self._next_offset - 1, self._windows[unsealed].n_rows))

    def committable_offset(self) -> int | None:
        """Return the offset from which a successor must read, or None before the first message."""
        held = [window.pieces[0][0] for window in self._windows.values() if window.pieces]
        return min(held) if held else self._next_offset

    @property
    def open_windows(self) -> int:
        """Number of windows that hold rows."""
        return len(self._windows)

    def watermark_ms(self, kind: Kind, *, clock_ms: int) -> int | None:
        """Return the watermark of one kind of feed, or None while it cannot be told."""
        return self._watermarks[kind].value_ms(clock_ms=clock_ms)

    def lead_ms(self, kind: Kind, *, clock_ms: int) -> int:
        """Return how far one source of a kind of feed is ahead of all others."""
        return self._watermarks[kind].lead_ms(clock_ms=clock_ms)

    # ---------------------------------------------------------------- internals

    def _shard(self, kind: Kind, name: str) -> _Shard:
        return self._shards.setdefault((kind, name), _Shard())

    def _open(self, shard: _Shard, key: WindowKey) -> _OpenWindow:
        shard.open_windows.add(key)
        window: _OpenWindow = self._windows.setdefault(key, _OpenWindow())
        return window

    def _buffer(self, shard: _Shard, key: WindowKey, offset: int, rows: Rows) -> None:
        self._open(shard, key).pieces.append((offset, rows))
        self.buffered_rows += len(rows)

    def _is_late(self, shard: _Shard, key: WindowKey, offset: int) -> bool:
        own = shard.seals.get(key)
        return offset > own.last_offset if own is not None else key.end_ms <= shard.sealed_ms

    def _is_due(self, key: WindowKey, clock_ms: int) -> bool:
        watermark = self._watermarks[key.kind]
        value = watermark.value_ms(clock_ms=clock_ms)
        if value is not None and key.end_ms <= value:
            return True
        shard = self._shards[key.kind, key.shard]
        return watermark.is_idle(clock_ms=clock_ms) or len(shard.open_windows) > self._policies[key.kind].max_open

    def _ending_by(self, shard: _Shard, end_ms: int) -> list[WindowKey]:
        return sorted(key for key in shard.open_windows if key.end_ms <= end_ms)

    def _trim(self, seal: Seal) -> int:
        """Drop the rows that came too late for the window's seal."""
        window = self._windows[seal.key]
        before = window.n_rows
        window.pieces = [(offset, rows) for offset, rows in window.pieces if offset <= seal.last_offset]
        dropped: int = before - window.n_rows
        self.buffered_rows -= dropped
        return dropped

    def _close(self, shard: _Shard, key: WindowKey) -> int:
        window: _OpenWindow = self._windows.pop(key)
        shard.open_windows.discard(key)
        n_rows: int = window.n_rows
        self.buffered_rows -= n_rows
        return n_rows


def _join(kind: Kind, window: _OpenWindow) -> Rows:
    pieces = [rows for _, rows in window.pieces]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=ROW_TYPES[kind])


def _replaces(until: SealedUntil, record: SealRecord) -> bool:
    if isinstance(record, Seal):
        return record.key.end_ms <= until.until_ms
    return record.until_ms < until.until_ms
