"""A broker in memory, as far as the seal protocol uses one, that judges everything written to it.

It keeps what a real broker forgets (every seal ever appended, in order), and from that alone, without the code under
test, it tells what each window has to contain. Whatever breaks the protocol raises :class:`ProtocolError` on the spot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from core.records.record import RUN, VISIT, Chunk, Kind, Source
from core.windows.history import NO_RUNS, History, Roster
from core.windows.seal import Seal, SealedUntil, SealRecord
from core.windows.window import WindowKey

__all__ = [
    "HORIZON",
    "KIND",
    "SIZE_MS",
    "Message",
    "ProtocolError",
    "SealsTopic",
    "SimulatedPartition",
    "contents",
    "roster_of",
]

KIND = Kind.CHECKINS
SIZE_MS = 10
HORIZON = 3

Content = tuple[int, ...]
"""What a window contains: the numbers of its records, ascending."""


class ProtocolError(AssertionError):
    """Somebody wrote what the protocol forbids."""


class Message(NamedTuple):
    """One message of a release; ``number`` is None for the windows message."""

    window: WindowKey
    number: int | None
    value: Content


def roster_of(window: WindowKey, content: Content, history: History, *, carries: bool) -> Roster:
    """Return a roster that differs whenever the content or anything of the history does.

    Args:
        window: The window.
        content: What it contains.
        history: What it had to know of earlier windows.
        carries: Whether something of all earlier windows is handed on.
    """
    users = np.array(content, dtype=np.uint64)
    carried = np.zeros(1 if carries else 0, RUN)
    carried["n"] = history.carried["n"].sum() + len(users)  # all before it, however long ago
    return Roster(key=window, users=users, groups=np.arange(len(users)), labels=(history.digest,), carried=carried)


def contents(window: WindowKey, content: Content, history: History, *, seal: Seal) -> list[Message]:
    """Return the messages of a window: one for each record, then the windows message.

    Where the number of rows or the history is not the seal's, the window is withheld, as by
    ``core.pipeline.release_window``. A window that was sealed without rows has none.
    """
    if not content and not seal.n_rows:
        return []
    if len(content) != seal.n_rows or history.digest != seal.history:
        return [Message(window, None, (-1,))]
    return [*(Message(window, i, (one,)) for i, one in enumerate(content)), Message(window, None, content)]


class _Entry(NamedTuple):
    offset: int
    key: bytes
    value: SealRecord | None


class SealsTopic:
    """One partition of a compacted topic; only acknowledged appends can be seen."""

    def __init__(self) -> None:
        self._log: list[_Entry] = []
        self.end = 0

    def append(self, key: bytes, value: SealRecord | None) -> int:
        """Append a record, or a tombstone, and return its offset."""
        self._log.append(_Entry(self.end, key, value))
        self.end += 1
        return self.end - 1

    def read(self, position: int, *, limit: int) -> tuple[list[tuple[bytes, SealRecord | None]], int]:
        """Return the next records from a position, and the position after them."""
        found = [entry for entry in self._log if entry.offset >= position][:limit]
        return [(e.key, e.value) for e in found], found[-1].offset + 1 if found else position

    def compact(self, below: int, *, drop_tombstones: bool) -> None:
        """Keep the last record of each key below an offset; the newest record of all is never touched."""
        below = min(below, self.end - 1)
        last = {entry.key: entry.offset for entry in self._log if entry.offset < below}
        self._log = [
            entry
            for entry in self._log
            if entry.offset >= below
            or (last[entry.key] == entry.offset and not (drop_tombstones and entry.value is None))
        ]

    @property
    def live(self) -> list[SealRecord]:
        """What is left once everything is compacted."""
        values = {entry.key: entry.value for entry in self._log}
        return [value for value in values.values() if value is not None]


@dataclass(slots=True)
class _ShardTruth:
    """What holds for a shard, from the two logs alone."""

    carries: bool
    """Whether each window hands something on to the next one, however much later that is."""

    rows: dict[int, tuple[int, WindowKey]] = field(default_factory=dict)
    """For each record its first offset in the shards topic, and its window."""

    closed_by: dict[WindowKey, Seal] = field(default_factory=dict)
    """For each window that a seal covered the first that did: its own or a later window's."""

    frontier_ms: float = float("-inf")
    """No window that ends by then and has no seal of its own will ever get one that counts."""

    completed_ms: float = float("-inf")
    contents: dict[WindowKey, Content] = field(default_factory=dict)
    """What each sealed window has to contain."""

    seals: dict[WindowKey, Seal] = field(default_factory=dict)
    """The first seal of each of these windows."""

    def history(self, window: WindowKey) -> History:
        """Return what a window of the shard has to know of those before it."""
        rosters: dict[WindowKey, Roster] = {}
        for key in sorted(self.contents):
            since_ms = key.start_ms - (HORIZON - 1) * SIZE_MS
            *_, newest = NO_RUNS, *(one.carried for one in rosters.values())
            within = tuple(one for of, one in rosters.items() if of.start_ms >= since_ms)
            history = History(rosters=within, carried=newest)
            if key == window:
                return history
            if self.contents[key] and history.digest == self.seals[key].history:
                rosters[key] = roster_of(key, self.contents[key], history, carries=self.carries)
        raise KeyError(window)


class SimulatedPartition:
    """One partition of the shards topic and of the seals topic, its committed offset, and what left of it.

    Args:
        carries: Whether each window hands something on to the next one of its shard.
    """

    def __init__(self, *, carries: bool = False) -> None:
        self._carries = carries
        self.chunks: list[Chunk] = []
        self.seals = SealsTopic()
        self.committed = 0
        self.generation = 0
        self.broken = False
        self.attempts = 0
        """Attempts to write a seal, by anybody."""

        self.emitted: dict[tuple[WindowKey, int | None], Content] = {}
        self.drawn: dict[WindowKey, object] = {}
        """The draw that anything that left of a window was made from."""

        self.n_draws = 0
        self.truth: dict[str, _ShardTruth] = {}
        self._numbers: dict[tuple[Source, int], int] = {}

    def forward(self, source: Source, n_partitions: int, shard: str, records: list[tuple[int, int]]) -> None:
        """Append a chunk of records ``(source offset, event time)`` to the shards topic."""
        truth = self.truth.setdefault(shard, _ShardTruth(self._carries))
        rows = np.zeros(len(records), dtype=VISIT)
        for row, (offset, ts_ms) in zip(rows, records, strict=True):
            number = self._numbers.setdefault((source, offset), len(self._numbers))
            row["offset"], row["ts_ms"], row["user"] = offset, ts_ms, number
            start_ms = ts_ms // SIZE_MS * SIZE_MS
            window = WindowKey(start_ms + SIZE_MS, KIND, shard, start_ms)
            truth.rows.setdefault(number, (len(self.chunks), window))
        self.chunks.append(
            Chunk(kind=KIND, shard=shard, source=source, n_partitions=n_partitions, vocabulary="", rows=rows)
        )

    def write_seal(self, key: bytes, record: SealRecord) -> int:
        """Append to the seals topic; from here on the first seal of a window says what it contains."""
        if isinstance(record, Seal):
            self._note_seal(record)
        elif isinstance(record, SealedUntil):
            self._note_completion(record)
        return self.seals.append(key, record)

    def _note_seal(self, seal: Seal) -> None:
        window, truth = seal.key, self.truth[seal.key.shard]
        if window.end_ms <= truth.frontier_ms:
            return  # it has been sealed, or a later window was sealed while this one was empty
        covered = {of for _, of in truth.rows.values() if truth.frontier_ms < of.end_ms <= window.end_ms}
        truth.closed_by |= dict.fromkeys(covered, seal)
        truth.frontier_ms = window.end_ms
        truth.contents[window] = tuple(
            number for number, (offset, of) in truth.rows.items() if of == window and offset <= seal.last_offset
        )
        truth.seals[window] = seal
        if len(truth.contents[window]) != seal.n_rows:
            self._fail("a seal's number of rows is not that of its window")

    def _note_completion(self, until: SealedUntil) -> None:
        truth = self.truth[until.shard]
        for window in truth.contents:
            if window.end_ms <= until.until_ms and not self.is_emitted(window):
                self._fail("a window is completed that has not left")
        truth.completed_ms = max(truth.completed_ms, until.until_ms)

    def remove_seal(self, key: bytes) -> None:
        """Append a tombstone."""
        self.seals.append(key, None)

    def emit(self, message: Message) -> None:
        """Append to the output topics: only what the window's first seal says, and whoever emits, the same."""
        content = self.truth[message.window.shard].contents.get(message.window)
        if content is None:
            self._fail("a window left before a seal of it was written")
        if message not in self._messages(message.window):
            self._fail("a window left with other content than its first seal says")
        key = message.window, message.number
        if self.emitted.setdefault(key, message.value) != message.value:
            self._fail("a window left with two contents")

    def _fail(self, what: str) -> NoReturn:
        self.broken = True
        raise ProtocolError(what)

    def is_emitted(self, window: WindowKey) -> bool:
        """Tell whether all of a window has left."""
        return all((window, message.number) in self.emitted for message in self._messages(window))

    def _messages(self, window: WindowKey) -> list[Message]:
        truth = self.truth[window.shard]
        return contents(window, truth.contents[window], truth.history(window), seal=truth.seals[window])

    def commit(self, offset: int, *, generation: int) -> None:
        """Commit, unless the partition has been given to somebody else since."""
        if generation != self.generation:
            return
        for truth in self.truth.values():
            for number, (at, window) in truth.rows.items():
                if at < offset and window.end_ms > truth.completed_ms and not self.is_late(window.shard, number):
                    self._fail("an offset is committed above the records of an open window")
        self.committed = offset

    def is_late(self, shard: str, number: int) -> bool:
        """Tell whether a record came after the first seal that covers its window."""
        truth = self.truth[shard]
        offset, window = truth.rows[number]
        closing = truth.closed_by.get(window)
        if closing is None:  # a window that had no records when its time was sealed has no entry of its own
            return window.end_ms <= truth.frontier_ms
        return offset > closing.last_offset

    def check_all_accounted_for(self) -> None:
        """Every sealed window has left, and every record is in exactly one window that left, or late."""
        for shard, truth in self.truth.items():
            for window in truth.contents:
                if not self.is_emitted(window):
                    self._fail("a sealed window never left")
            released = [number for content in truth.contents.values() for number in content]
            late = [number for number in truth.rows if self.is_late(shard, number)]
            if sorted([*released, *late]) != sorted(truth.rows):
                self._fail("a record is lost: neither released nor late, or both")
