"""Audit: whether what workers did to a set of topics is one release a window, recomputed from the bytes alone.

Shares no code with the window stage: it reads the topics from the start, finds the seal of each window that counts,
takes the rows that it covers, and computes what must have left. Only then it looks at what did.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.models.common.plan import Plan
from core.pipeline import release_window
from core.records.record import ROW_TYPES, Kind, Rows, Source
from core.release.outcome import Outcome
from core.windows.history import History, Roster
from core.windows.seal import Seal, SealedUntil
from core.windows.window import WindowKey, window_starts
from stream.feeds.feed import Feed
from stream.formats.chunks import chunk_from_bytes
from stream.formats.release.messages import outcome_messages
from stream.formats.seals import seal_from_bytes
from tests.cluster.workers import Record

__all__ = ["Audit", "InputLog", "Known", "Topics", "audit"]

_BEGUN = "begun"
_Shard = tuple[Kind, str]
_Log = tuple[Source, str]
"""A partition of an input topic, and its id: a topic that is created again has another one."""


@dataclass(frozen=True, slots=True)
class InputLog:
    """All that an input topic held, as long as it had one id."""

    topic: str
    log_id: str
    records: Sequence[Record]
    """What was committed and is no tombstone, each partition in its order."""

    never_there: Sequence[Record]
    """Tombstones, and what was sent in transactions that were aborted."""

    is_deleted: bool
    """Whether it was deleted, perhaps before all of it was read."""


@dataclass(frozen=True, slots=True)
class Topics:
    """All that the topics hold, each partition in its order."""

    inputs: Sequence[InputLog]

    shards: Sequence[Record]
    seals: Sequence[Record]
    dead_letters: Sequence[Record]
    anonymized: Sequence[Record]
    windows: Sequence[Record]


@dataclass(slots=True)
class Audit:
    """What was found; ``violations`` is empty where all is well."""

    breaches: list[str] = field(default_factory=list)
    """Violations, without those of records that have no fate, or two."""

    records: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    """Input records by where they ended, the rows of one together: every one is in exactly one of these counts."""

    never_there: int = 0
    """Tombstones, and records that were never committed: they have no fate."""

    unread: int = 0
    """Records that were deleted with their topic before anybody read them."""

    lost: int = 0
    """Records without a fate. These three counts are 0 where all is well."""

    counted_twice: int = 0
    """Records in two windows."""

    kept_and_rejected: int = 0
    """Records in a window, and in the dead letters too."""

    windows: Counter[str] = field(default_factory=Counter)
    """Windows by outcome."""

    withheld: Counter[str] = field(default_factory=Counter)
    """Withheld windows by reason."""

    begun: int = 0
    """Of them those whose release had begun: some of its trajectories are out, and will never be committed."""

    rejected: Counter[str] = field(default_factory=Counter)
    """Rejected records by reason."""

    messages: int = 0
    repeated: int = 0
    """Messages on the output topics that repeat a key: what a consumer sees that does not drop them."""

    @property
    def violations(self) -> list[str]:
        """All that must not be."""
        found = [*self.breaches]
        total = sum(self.fates.values())
        if self.lost or self.counted_twice or self.kept_and_rejected:
            found.append(
                f"{self.lost} input records are lost, {self.counted_twice} are in two windows, "
                f"{self.kept_and_rejected} are in a window and turned away"
            )
        elif total != self.records:
            found.append(f"{self.records} input records have {total} fates")
        return found


@dataclass(slots=True)
class _Window:
    seal: Seal
    feed: Feed | None
    """That of the settings under which it was sealed; None if no worker had such settings."""

    begins_ms: int
    """Event time of its first rows. After a change of size it may be later than the start, because less is left."""

    rows: list[Rows] = field(default_factory=list)
    logs: list[_Log] = field(default_factory=list)
    """Where each of these parts comes from."""

    is_kept: bool = True
    """Whether its rows end in this window. A row of a window that is withheld because settings changed may be rejected,
    or located again, instead."""


@dataclass(slots=True)
class _Seen:
    """Offsets of one log."""

    in_chunks: set[int] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    """Of rows whose window nobody has sealed, at least as far as these rows were read."""


Known = dict[tuple[Seal, str], Outcome]
"""Outcomes of windows by seal and by the digest of the plan that completes them."""


def audit(topics: Topics, feeds: Sequence[Mapping[Kind, Feed]], *, known: Known | None = None) -> Audit:
    """Check every invariant of the seal protocol.

    A window is released under the settings under which it was sealed, or withheld by workers with other settings.

    Args:
        topics: What the topics hold, at rest: every window is sealed and released.
        feeds: The feeds of all workers that there were; one set for each of their settings.
        known: Outcomes that an earlier audit of the same topics has computed; those of this one are added.
    """
    found = Audit()
    windows, open_ms = _windows(topics.seals, feeds, found)
    seen = _rows(topics.shards, windows, open_ms, feeds)
    expected = _expected(windows, topics.windows, feeds, found, {} if known is None else known)
    _outputs(topics, expected, found)
    _inputs(topics, windows.values(), seen, found)
    return found


def _windows(
    seals: Sequence[Record], feeds: Sequence[Mapping[Kind, Feed]], found: Audit
) -> tuple[dict[WindowKey, _Window], dict[tuple[Kind, str], int]]:
    """Find the seal that counts of each window: the first one, and none behind a later window's."""
    windows: dict[WindowKey, _Window] = {}
    by_digest = {feed.plan.digest: feed for one in feeds for feed in one.values()}
    sealed_ms: dict[_Shard, int] = defaultdict(lambda: -(1 << 62))
    until_ms: dict[_Shard, int] = {}
    for record in seals:
        if record.value is None:
            continue
        one = seal_from_bytes(record.value)
        if not isinstance(one, Seal | SealedUntil):
            continue
        if isinstance(one, SealedUntil):
            sealed_ms[one.kind, one.shard] = max(sealed_ms[one.kind, one.shard], one.until_ms)
            until_ms[one.kind, one.shard] = one.until_ms
        elif one.key.end_ms > sealed_ms[one.key.kind, one.key.shard]:
            begins_ms = max(one.key.start_ms, sealed_ms[one.key.kind, one.key.shard])
            sealed_ms[one.key.kind, one.key.shard] = one.key.end_ms
            windows[one.key] = _Window(one, by_digest.get(one.digest), begins_ms)
    for key, window in windows.items():
        if key.end_ms > until_ms.get((key.kind, key.shard), key.start_ms):
            found.breaches.append(f"a window of {key.kind} is sealed and was never completed")
        if window.feed is None:
            found.breaches.append(f"a window of {key.kind} is sealed under settings that no worker had")
    return windows, until_ms


def _rows(
    shards: Sequence[Record],
    windows: Mapping[WindowKey, _Window],
    until_ms: Mapping[_Shard, int],
    feeds: Sequence[Mapping[Kind, Feed]],
) -> dict[_Log, _Seen]:
    """Give each row to its window, the first time it is seen, if the window's seal covers it."""
    of_shard: dict[_Shard, list[_Window]] = defaultdict(list)
    for key, window in windows.items():
        of_shard[key.kind, key.shard].append(window)
    sizes_ms = {kind: {one[kind].policy.size_ms for one in feeds} for kind in feeds[0]}
    heard: dict[tuple[_Shard, _Log, str], set[int]] = defaultdict(set)
    seen: dict[_Log, _Seen] = defaultdict(_Seen)
    for record in shards:
        if record.value is None:
            continue
        chunk = chunk_from_bytes(record.value)
        shard, log = (chunk.kind, chunk.shard), (chunk.source, chunk.log_id)
        before = heard[shard, log, chunk.vocabulary]
        offsets = chunk.rows["offset"].tolist()
        rows = chunk.rows[np.array([offset not in before for offset in offsets], dtype=np.bool_)]
        before.update(offsets)
        seen[log].in_chunks.update(offsets)
        first_ms, last_ms = (int(rows["ts_ms"].min()), int(rows["ts_ms"].max())) if len(rows) else (0, -1)
        for window in of_shard[shard]:
            if window.begins_ms > last_ms or window.seal.key.end_ms <= first_ms:
                continue
            ours = (rows["ts_ms"] >= window.begins_ms) & (rows["ts_ms"] < window.seal.key.end_ms)
            is_covered = record.offset <= window.seal.last_offset
            if ours.any() and is_covered and window.feed is not None and window.feed.vocabulary == chunk.vocabulary:
                window.rows.append(rows[ours])
                window.logs.append(log)
                rows = rows[~ours]
        ends = [window_starts(rows["ts_ms"], size_ms=size_ms) + size_ms for size_ms in sizes_ms[chunk.kind]]
        is_late = np.max(ends, axis=0) <= until_ms.get(shard, -(1 << 62))
        seen[log].waiting.update(rows["offset"][~is_late].tolist())
    return seen


def _expected(
    windows: Mapping[WindowKey, _Window],
    told: Sequence[Record],
    feeds: Sequence[Mapping[Kind, Feed]],
    found: Audit,
    known: Known,
) -> dict[str, dict[bytes, bytes]]:
    """Compute what must have left, from each seal and its rows."""
    expected: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}, _BEGUN: {}}
    rosters: dict[_Shard, list[Roster]] = defaultdict(list)
    contents = {record.key: record.value for record in told}
    for key, window in sorted(windows.items()):  # each with what those before it released
        before, seal, feed = rosters[key.kind, key.shard], window.seal, window.feed
        if not seal.n_rows or feed is None:
            continue  # sealed so that its shard could forget what earlier windows released; or a violation already
        rows = np.concatenate([np.zeros(0, dtype=ROW_TYPES[key.kind]), *window.rows])
        plan = feed.plan.after(History.of(key, before, horizon=feed.plan.horizon))

        def completed(by: Plan, seal: Seal = seal, rows: Rows = rows, history: History = plan.history) -> Outcome:
            if (seal, by.digest) not in known:
                known[seal, by.digest] = release_window(seal, rows, by.after(history))
            return known[seal, by.digest]

        # Other settings withhold it, however many of the rows they know.
        withheld = [completed(one[key.kind].plan) for one in feeds if one[key.kind].plan.digest != seal.digest]
        is_told = contents.get(seal.release_id.encode())
        outcome = next((one for one in withheld if _windows_message(one) == is_told), None)
        window.is_kept = outcome is None
        released = completed(feed.plan)
        if outcome is None:
            outcome = released
            if len(rows) != seal.n_rows:
                found.breaches.append(f"a seal counts {seal.n_rows} rows, the topic holds {len(rows)} of them")
        else:
            expected[_BEGUN] |= {one.key: one.value for one in outcome_messages(released) if one.topic == "anonymized"}
        if outcome.roster is not None:
            before.append(outcome.roster)
        account = outcome.account
        if window.is_kept and account.condensed is not None:
            found.fates["condensed"] += account.condensed
        elif window.is_kept:
            for fate in ("released", "suppressed", "withheld", "duplicates"):
                found.fates[fate] += getattr(account, fate)
        for message in outcome_messages(outcome):
            expected[message.topic][message.key] = message.value
        content = json.loads(expected["windows"][seal.release_id.encode()])
        found.windows[content["outcome"]] += 1
        if "reason" in content:
            found.withheld[content["reason"]] += 1
    return expected


def _windows_message(outcome: Outcome) -> bytes:
    """Return the windows message, which is the last one."""
    *_, last = outcome_messages(outcome)
    return last.value


def _outputs(topics: Topics, expected: Mapping[str, Mapping[bytes, bytes]], found: Audit) -> None:
    for name, records in (("anonymized", topics.anonymized), ("windows", topics.windows)):
        contents: dict[bytes, set[bytes]] = defaultdict(set)
        for record in records:
            contents[record.key or b""].add(record.value or b"")
        found.messages += len(records)
        found.repeated += len(records) - len(contents)
        several = sum(len(values) > 1 for values in contents.values())
        if several:
            found.breaches.append(f"{several} keys of the {name} topic have more than one content")
        if name == "anonymized":  # a worker may have begun what another one withholds
            begun = {key for key, value in expected[_BEGUN].items() if contents.get(key) == {value}}
            found.begun = len({key.rpartition(b":")[0] for key in begun})
            contents = {key: values for key, values in contents.items() if key not in begun}
        missing = len(expected[name].keys() - contents.keys())
        if missing:
            found.breaches.append(f"{missing} messages of the {name} topic are missing")
        unexpected = sum(values != {expected[name].get(key)} for key, values in contents.items())
        if unexpected:
            found.breaches.append(f"{unexpected} messages of the {name} topic are not what the first seals say")


def _inputs(topics: Topics, windows: Iterable[_Window], seen: Mapping[_Log, _Seen], found: Audit) -> None:
    """Every input record was forwarded or turned away, and not both; what was never there was neither."""
    turned_away: dict[_Log, dict[int, str]] = defaultdict(dict)
    for record in topics.dead_letters:
        letter = json.loads(record.value or b"{}")
        turned_away[Source(letter["topic"], letter["partition"]), letter["log"]][letter["offset"]] = letter["reason"]
    in_windows: dict[_Log, Counter[int]] = defaultdict(Counter)
    for window in sorted(windows, key=lambda one: not one.is_kept):
        for log_of, rows in zip(window.logs, window.rows, strict=True):
            offsets = set(rows["offset"].tolist())
            if not window.is_kept:
                offsets -= turned_away[log_of].keys() | in_windows[log_of].keys()
                found.fates["withheld"] += len(offsets)
            in_windows[log_of].update(offsets)
    for log in topics.inputs:
        held, ghosts = _offsets(log.records), _offsets(log.never_there)
        found.never_there += len(log.never_there)
        for partition, all_held in held.items():
            of = Source(log.topic, partition), log.log_id
            its_seen, rejected, kept = seen.get(of, _Seen()), turned_away[of], in_windows[of]
            read = its_seen.in_chunks | rejected.keys()
            # A log may have been deleted before its last records were read.
            read_until = max(read, default=-1) if log.is_deleted else max(all_held)
            its = {offset for offset in all_held if offset <= read_until}
            found.unread += len(all_held) - len(its)
            found.records += len(its)
            found.fates["rejected"] += len(rejected)
            found.rejected.update(rejected.values())
            unkept = its_seen.in_chunks - kept.keys() - rejected.keys()
            found.fates["late"] += len(unkept - its_seen.waiting)
            if unkept & its_seen.waiting:
                found.breaches.append(f"{len(unkept & its_seen.waiting)} rows wait for a window that nobody has sealed")
            found.lost += len(its - read)
            found.counted_twice += sum(n > 1 for n in kept.values())
            found.kept_and_rejected += len(kept.keys() & rejected.keys())
            if not read <= its or ghosts.get(partition, set()) & read:
                found.breaches.append("what was never committed, or is a tombstone, was taken for a record")


def _offsets(records: Sequence[Record]) -> dict[int, set[int]]:
    """Return the offsets of records, by partition."""
    offsets: dict[int, set[int]] = defaultdict(set)
    for record in records:
        offsets[record.partition].add(record.offset)
    return offsets
