"""The audit, where workers with different settings have met: whatever a record's fate, it has one, or is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from core.pipeline import release_window
from core.records.record import VISIT, Chunk, Kind, Reason, Rejected, Rows, Source
from core.windows.seal import Seal, SealedUntil
from core.windows.window import WindowKey
from stream.feeds.feed import Feed, build_feeds
from stream.formats.chunks import chunk_key, chunk_to_bytes
from stream.formats.dead_letters import dead_letter
from stream.formats.release.messages import outcome_messages
from stream.formats.seals import seal_key, seal_to_bytes
from stream.settings.load import load_settings
from tests.chaos.audit import Audit, InputLog, Topics, audit
from tests.cluster.workers import SECRET, Record

KIND = Kind.CHECKINS
SOURCE = Source("checkins", 0)
N_PEOPLE = 12
MINUTE_MS = 60_000


def feeds_of(**changed: Any) -> Mapping[Kind, Feed]:
    given = {"topics.fragments": "", "window.size": "1m", "privacy.secret": SECRET}
    return build_feeds(load_settings(given=given | {name.replace("__", "."): value for name, value in changed.items()}))


@pytest.fixture(scope="module")
def before() -> Mapping[Kind, Feed]:
    """The first settings."""
    return feeds_of()


@pytest.fixture(scope="module")
def with_larger_k() -> Mapping[Kind, Feed]:
    """Other settings with the same vocabulary."""
    return feeds_of(privacy__k=6)


@pytest.fixture(scope="module")
def with_larger_cells() -> Mapping[Kind, Feed]:
    """Other settings that locate records elsewhere."""
    return feeds_of(location__cell_m=900)


@pytest.fixture(scope="module")
def with_longer_windows() -> Mapping[Kind, Feed]:
    """Other settings whose windows overlap those before."""
    return feeds_of(window__size="2m")


class Log:
    """The topics of one shard, filled by hand."""

    def __init__(self) -> None:
        self.held = 0
        self.topics: dict[str, list[Record]] = {name: [] for name in Topics.__slots__ if name != "inputs"}
        self.released = self.visits(0)
        """The records of the first window."""

    def _add(self, topic: str, key: bytes, value: bytes) -> int:
        found = self.topics[topic]
        found.append(Record(0, len(found), key, value))
        return len(found) - 1

    def visits(self, minute: int) -> Rows:
        """Return a new record of each person, in a minute; all are at the same place."""
        rows = np.zeros(N_PEOPLE, dtype=VISIT)
        rows["offset"] = np.arange(self.held, self.held + N_PEOPLE)
        rows["user"], rows["ts_ms"] = np.arange(N_PEOPLE) + 1, minute * MINUTE_MS
        self.held += N_PEOPLE
        return rows

    def chunk(self, rows: Rows, feed: Feed) -> None:
        """Forward located records."""
        chunk = Chunk(
            kind=KIND, shard="all", source=SOURCE, n_partitions=1, vocabulary=feed.vocabulary, rows=rows, log_id="log"
        )
        self._add("shards", chunk_key(chunk), chunk_to_bytes(chunk))

    def seal(self, rows: Rows, feed: Feed, first: int, last: int) -> Seal:
        """Seal a window of whole minutes, with all that has been forwarded."""
        key = WindowKey(last * MINUTE_MS, KIND, "all", first * MINUTE_MS)
        sealed = feed.plan.seal(key, len(self.topics["shards"]) - 1, len(rows), "writer")
        self._add("seals", seal_key(sealed), seal_to_bytes(sealed))
        return sealed

    def complete(self, seal: Seal, rows: Rows, feed: Feed) -> None:
        """Send what a worker makes of a sealed window, and complete it."""
        for message in outcome_messages(release_window(seal, rows, feed.plan)):
            self._add(message.topic, message.key, message.value)
        until = SealedUntil(kind=KIND, shard="all", until_ms=seal.key.end_ms, last_offset=seal.last_offset)
        self._add("seals", seal_key(until), seal_to_bytes(until))

    def reject(self, rows: Rows) -> None:
        """Turn records away."""
        for offset in rows["offset"].tolist():
            fault = Rejected(reason=Reason.SETTINGS_CHANGED, detail="", source=SOURCE, offset=offset)
            self._add("dead_letters", b"", dead_letter(KIND, fault, "log"))

    def audit(self, feeds: Sequence[Mapping[Kind, Feed]]) -> Audit:
        held = [Record(0, offset, None, None) for offset in range(self.held)]
        return audit(Topics(inputs=[InputLog("checkins", "log", held, [], is_deleted=False)], **self.topics), feeds)


@pytest.fixture
def log(before: Mapping[Kind, Feed]) -> Log:
    """A log with one window that was released under the first settings."""
    found = Log()
    rows = found.released
    found.chunk(rows, before[KIND])
    found.complete(found.seal(rows, before[KIND], 0, 1), rows, before[KIND])
    return found


def test_each_window_is_released_under_the_settings_it_was_sealed_under(
    log: Log, before: Mapping[Kind, Feed], with_larger_k: Mapping[Kind, Feed]
) -> None:
    """After a change of k, windows of both settings are as they must be."""
    rows = log.visits(1)
    log.chunk(rows, before[KIND])
    log.complete(log.seal(rows, with_larger_k[KIND], 1, 2), rows, with_larger_k[KIND])
    found = log.audit([before, with_larger_k])
    assert (found.violations, found.windows) == ([], {"released": 2})
    assert found.records == found.fates["released"] + found.fates["suppressed"] == 2 * N_PEOPLE
    assert log.audit([before]).violations != [], "sealed under settings that nobody had"


def test_a_window_that_other_workers_complete_is_withheld(
    log: Log, before: Mapping[Kind, Feed], with_larger_k: Mapping[Kind, Feed]
) -> None:
    """Sealed under k=5 and completed by workers with k=6: nothing of it leaves, and its records are withheld."""
    rows = log.visits(1)
    log.chunk(rows, before[KIND])
    log.complete(log.seal(rows, before[KIND], 1, 2), rows, with_larger_k[KIND])
    found = log.audit([before, with_larger_k])
    assert (found.violations, found.withheld) == ([], {"settings_changed": 1})
    assert found.fates["withheld"] == N_PEOPLE


def test_records_of_a_withheld_window_that_are_turned_away_are_rejected(
    log: Log, before: Mapping[Kind, Feed], with_larger_cells: Mapping[Kind, Feed]
) -> None:
    """Located and sealed before the change, turned away after it: one fate, with its reason."""
    rows = log.visits(1)
    log.chunk(rows, before[KIND])
    log.reject(rows)
    log.complete(log.seal(rows, before[KIND], 1, 2), rows[:0], with_larger_cells[KIND])
    found = log.audit([before, with_larger_cells])
    assert (found.violations, found.rejected) == ([], {"settings_changed": N_PEOPLE})
    assert found.fates["withheld"] == 0


def test_records_may_be_located_again(
    log: Log, before: Mapping[Kind, Feed], with_larger_cells: Mapping[Kind, Feed]
) -> None:
    """Forwarded under both vocabularies and released under the second one: one fate."""
    rows = log.visits(1)
    log.chunk(rows, before[KIND])
    log.chunk(rows, with_larger_cells[KIND])
    log.complete(log.seal(rows, with_larger_cells[KIND], 1, 2), rows, with_larger_cells[KIND])
    found = log.audit([before, with_larger_cells])
    assert (found.violations, found.windows) == ([], {"released": 2})


def test_a_released_record_that_is_turned_away_is_a_violation(
    log: Log, before: Mapping[Kind, Feed], with_larger_cells: Mapping[Kind, Feed]
) -> None:
    """Released before the change, read again and turned away after it."""
    log.reject(log.released[:1])
    found = log.audit([before, with_larger_cells])
    assert (found.kept_and_rejected, len(found.violations)) == (1, 1)


def test_a_record_in_two_windows_is_a_violation(
    log: Log, before: Mapping[Kind, Feed], with_longer_windows: Mapping[Kind, Feed]
) -> None:
    """Released in a window of a minute, and once more in one of two minutes, whose seal counts too many."""
    again, new = log.released, log.visits(1)
    log.chunk(new, before[KIND])
    both = np.concatenate([again, new])
    log.complete(log.seal(both, with_longer_windows[KIND], 0, 2), both, with_longer_windows[KIND])
    found = log.audit([before, with_longer_windows])
    assert any("a seal counts 24 rows" in one for one in found.breaches)


def test_a_record_that_nobody_has_read_is_lost(log: Log, before: Mapping[Kind, Feed]) -> None:
    """It is in no chunk and in no dead letter."""
    log.held += 1
    assert (log.audit([before]).lost, len(log.audit([before]).violations)) == (1, 1)


def test_a_record_whose_window_is_never_sealed_waits(log: Log, before: Mapping[Kind, Feed]) -> None:
    """At rest no record may wait; one that came after its window was sealed is late."""
    late, waiting = log.visits(0), log.visits(5)
    log.chunk(late, before[KIND])
    assert log.audit([before]).fates["late"] == N_PEOPLE
    log.chunk(waiting, before[KIND])
    assert any("wait for a window" in one for one in log.audit([before]).breaches)


def test_a_release_may_have_begun_before_it_is_withheld(
    log: Log, before: Mapping[Kind, Feed], with_larger_k: Mapping[Kind, Feed]
) -> None:
    """What is out of it has the bytes that its seal decides; anything else under its keys is a violation."""
    rows = log.visits(1)
    log.chunk(rows, before[KIND])
    seal = log.seal(rows, before[KIND], 1, 2)
    begun = next(outcome_messages(release_window(seal, rows, before[KIND].plan)))
    log.topics[begun.topic].append(Record(0, N_PEOPLE, begun.key, begun.value))
    log.complete(seal, rows, with_larger_k[KIND])
    found = log.audit([before, with_larger_k])
    assert (found.violations, found.begun, found.fates["withheld"]) == ([], 1, N_PEOPLE)
    log.topics[begun.topic].append(Record(0, N_PEOPLE + 1, begun.key, b"{}"))
    assert log.audit([before, with_larger_k]).violations != []
