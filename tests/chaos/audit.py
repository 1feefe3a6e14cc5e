"""Audit: whether what workers did to a set of topics is one release a window, recomputed from the bytes alone.

Shares no code with the window stage: it reads the topics from the start, finds the seal of each window that counts,
takes the rows that it covers, and computes what must have left. Only then it looks at what did.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.models.common.plan import Plan
from core.pipeline import release_window
from core.records.record import ROW_TYPES, Kind, Rows, Source
from core.windows.history import History, Trace
from core.windows.seal import Seal, SealedUntil
from core.windows.window import WindowKey, window_starts
from stream.formats.chunks import chunk_from_bytes
from stream.formats.release.messages import outcome_messages
from stream.formats.seals import seal_from_bytes
from tests.cluster.workers import Record

__all__ = ["Audit", "InputLog", "Topics", "audit"]


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

    violations: list[str] = field(default_factory=list)
    records: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    """Input records by where they ended, the rows of one together: every one is in exactly one of these counts."""

    never_there: int = 0
    """Tombstones, and records that were never committed: they have no fate."""

    unread: int = 0
    """Records that were deleted with their topic before anybody read them."""

    windows: Counter[str] = field(default_factory=Counter)
    """Windows by outcome."""

    messages: int = 0
    repeated: int = 0
    """Messages on the output topics that repeat a key: what a consumer sees that does not drop them."""


@dataclass(slots=True)
class _Window:
    seal: Seal
    rows: list[Rows] = field(default_factory=list)


def audit(topics: Topics, plans: Mapping[Kind, Plan], sizes_ms: Mapping[Kind, int]) -> Audit:
    """Check every invariant of the seal protocol.

    Args:
        topics: What the topics hold, at rest: every window is sealed and released.
        plans: How each kind of feed is released.
        sizes_ms: Length of its windows.
    """
    found = Audit()
    windows, open_ms = _windows(topics.seals, found)
    seen = _rows(topics.shards, windows, open_ms, sizes_ms, found)
    expected = _expected(windows, plans, found)
    _outputs(topics, expected, found)
    _inputs(topics, seen, found)
    return found


def _windows(seals: Sequence[Record], found: Audit) -> tuple[dict[WindowKey, _Window], dict[tuple[int, str], int]]:
    """Find the seal that counts of each window: the first one, and none behind a later window's."""
    windows: dict[WindowKey, _Window] = {}
    sealed_ms: dict[tuple[Kind, str], int] = defaultdict(lambda: -(1 << 62))
    until_ms: dict[tuple[int, str], int] = {}
    for record in seals:
        if record.value is None:
            continue
        one = seal_from_bytes(record.value)
        if not isinstance(one, Seal | SealedUntil):
            continue
        if isinstance(one, SealedUntil):
            sealed_ms[one.kind, one.shard] = max(sealed_ms[one.kind, one.shard], one.until_ms)
            until_ms[record.partition, f"{one.kind}/{one.shard}"] = one.until_ms
        elif one.key.end_ms > sealed_ms[one.key.kind, one.key.shard]:
            sealed_ms[one.key.kind, one.key.shard] = one.key.end_ms
            windows[one.key] = _Window(one)
    for key in windows:
        if not any(key.end_ms <= end and name == f"{key.kind}/{key.shard}" for (_, name), end in until_ms.items()):
            found.violations.append(f"a window of {key.kind} is sealed and was never completed")
    return windows, until_ms


def _rows(
    shards: Sequence[Record],
    windows: Mapping[WindowKey, _Window],
    until_ms: Mapping[tuple[int, str], int],
    sizes_ms: Mapping[Kind, int],
    found: Audit,
) -> dict[tuple[Source, str], set[int]]:
    """Give each row to its window, the first time it is seen, if the window's seal covers it."""
    heard: set[tuple[Kind, str, Source, str, int]] = set()
    seen: dict[tuple[Source, str], set[int]] = defaultdict(set)
    for record in shards:
        if record.value is None:
            continue
        chunk = chunk_from_bytes(record.value)
        of = (chunk.kind, chunk.shard, chunk.source, chunk.log_id)
        fresh = np.array(
            [(*of, offset) not in heard for offset in chunk.rows["offset"].tolist()],
            dtype=np.bool_,
        )
        heard |= {(*of, offset) for offset in chunk.rows["offset"].tolist()}
        rows = chunk.rows[fresh]
        seen[chunk.source, chunk.log_id] |= set(rows["offset"].tolist())
        size_ms = sizes_ms[chunk.kind]
        starts = window_starts(rows["ts_ms"], size_ms=size_ms)
        for start_ms in np.unique(starts).tolist():
            its = rows[starts == start_ms]
            window = windows.get(WindowKey(start_ms + size_ms, chunk.kind, chunk.shard, start_ms))
            if window is not None and record.offset <= window.seal.last_offset:
                window.rows.append(its)
            elif window is None and until_ms.get((record.partition, f"{chunk.kind}/{chunk.shard}"), 0) < start_ms:
                found.violations.append(f"rows of {chunk.kind} wait for a window that nobody has sealed")
            else:
                found.fates["late"] += len(its)
    return seen


def _expected(
    windows: Mapping[WindowKey, _Window], plans: Mapping[Kind, Plan], found: Audit
) -> dict[str, dict[bytes, bytes]]:
    """Compute what must have left, from each seal and its rows."""
    expected: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}}
    traces: dict[tuple[Kind, str], list[Trace]] = defaultdict(list)
    for key, window in sorted(windows.items()):  # each with what those before it released
        before = traces[key.kind, key.shard]
        rows = np.concatenate([np.zeros(0, dtype=ROW_TYPES[key.kind]), *window.rows])
        if len(rows) != window.seal.n_rows:
            found.violations.append(f"a seal counts {window.seal.n_rows} rows, the topic holds {len(rows)} of them")
        plan = plans[key.kind]
        if not window.seal.n_rows:
            continue  # sealed so that its shard could forget what earlier windows released
        outcome = release_window(window.seal, rows, plan.after(History.of(key, before, horizon=plan.horizon)))
        if outcome.trace is not None:
            before.append(outcome.trace)
        account = outcome.account
        if account.condensed is not None:
            found.fates["condensed"] += account.condensed
        else:
            for fate in ("released", "suppressed", "withheld", "duplicates"):
                found.fates[fate] += getattr(account, fate)
        for message in outcome_messages(outcome):
            expected[message.topic][message.key] = message.value
        found.windows[json.loads(expected["windows"][window.seal.release_id.encode()])["outcome"]] += 1
    return expected


def _outputs(topics: Topics, expected: Mapping[str, Mapping[bytes, bytes]], found: Audit) -> None:
    for name, records in (("anonymized", topics.anonymized), ("windows", topics.windows)):
        contents: dict[bytes, set[bytes]] = defaultdict(set)
        for record in records:
            contents[record.key or b""].add(record.value or b"")
        found.messages += len(records)
        found.repeated += len(records) - len(contents)
        several = sum(len(values) > 1 for values in contents.values())
        if several:
            found.violations.append(f"{several} keys of the {name} topic have more than one content")
        missing = len(expected[name].keys() - contents.keys())
        if missing:
            found.violations.append(f"{missing} messages of the {name} topic are missing")
        unexpected = sum(values != {expected[name].get(key)} for key, values in contents.items())
        if unexpected:
            found.violations.append(f"{unexpected} messages of the {name} topic are not what the first seals say")


def _inputs(topics: Topics, seen: Mapping[tuple[Source, str], set[int]], found: Audit) -> None:
    """Every input record was forwarded or turned away, and not both; what was never there was neither."""
    turned_away: dict[tuple[Source, str], set[int]] = defaultdict(set)
    for record in topics.dead_letters:
        letter = json.loads(record.value or b"{}")
        turned_away[Source(letter["topic"], letter["partition"]), letter["log"]].add(letter["offset"])
    for log in topics.inputs:
        held, ghosts = _offsets(log.records), _offsets(log.never_there)
        found.never_there += len(log.never_there)
        for partition, all_held in held.items():
            of = Source(log.topic, partition), log.log_id
            forwarded, rejected = seen.get(of, set()), turned_away.get(of, set())
            # A log may have been deleted before its last records were read.
            read_until = max(forwarded | rejected, default=-1) if log.is_deleted else max(all_held)
            its = {offset for offset in all_held if offset <= read_until}
            found.unread += len(all_held) - len(its)
            found.records += len(its)
            found.fates["rejected"] += len(rejected)
            lost, both = len(its - forwarded - rejected), len(forwarded & rejected)
            if lost or both or not (forwarded | rejected) <= its:
                found.violations.append(f"{lost} input records are lost, {both} are forwarded and turned away")
            if ghosts.get(partition, set()) & (forwarded | rejected):
                found.violations.append("what was never committed, or is a tombstone, was taken for a record")
    total = sum(found.fates.values())
    if total != found.records:
        found.violations.append(f"{found.records} input records have {total} fates")


def _offsets(records: Sequence[Record]) -> dict[int, set[int]]:
    """Return the offsets of records, by partition."""
    offsets: dict[int, set[int]] = defaultdict(set)
    for record in records:
        offsets[record.partition].add(record.offset)
    return offsets
