"""A window is released once, whatever happens: a short run of what ``make chaos`` does at length."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.audit import Audit, Topics
from tests.chaos.run import Report, run
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Record

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]


@pytest.fixture(scope="module")
def report(apache_kafka: ApacheKafka) -> Report:
    """One run for all; it has a Kafka of its own, which it may stop."""
    return run(rounds=5, seed=5)


def test_nothing_is_lost_and_nothing_is_released_twice(report: Report) -> None:
    """
    Three workers on a real Kafka, five faults, one of them an input topic that is made again: what left is what the
    first seals say, every record has one fate, and what was never committed has none.
    """
    assert report.audit.violations == []
    assert report.audit.windows["released"] > 5
    assert report.audit.fates["rejected"] > 0
    assert sum(report.faults.values()) == 5
    assert report.faults["recreate input"] == 1
    assert report.audit.never_there > 0


def test_nor_does_it_if_windows_depend_on_earlier_ones() -> None:
    """
    The same with a promise over three windows: what was known of earlier windows is known after every fault.
    """
    audit = run(rounds=4, seed=6, horizon=3).audit
    assert audit.violations == []
    assert audit.windows["released"] > 3  # at least one of them depends on others; a busy machine releases few


def _changed(record: Record) -> Record:
    assert record.value is not None
    return record._replace(value=record.value[:-1] + b" " + record.value[-1:])


def _without(records: list[Record], index: int) -> list[Record]:
    return records[:index] + records[index + 1 :]


def _first_seal(records: Sequence[Record]) -> int:
    return next(i for i, record in enumerate(records) if b'"type":"seal"' in (record.value or b""))


def _without_one_record(topics: Topics) -> list[Record]:
    """
    Leave out the dead letters of one record, which has one for each fault, of an input topic that is still there: of
    a deleted one nobody knows how far it was read.
    """
    kept = {log.log_id for log in topics.inputs if not log.is_deleted}
    letters = [(json.loads(record.value or b"{}"), record) for record in topics.dead_letters]
    lost = next(letter for letter, _ in letters if letter["log"] in kept)
    same = ("log", "partition", "offset")
    return [record for letter, record in letters if any(letter[name] != lost[name] for name in same)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: {"anonymized": [*t.anonymized, _changed(t.anonymized[0])]}, "more than one content"),
        (lambda t: {"windows": _without(list(t.windows), 3)}, "1 messages of the windows topic are missing"),
        (lambda t: {"anonymized": [_changed(t.anonymized[0]), *t.anonymized[1:]]}, "not what the first seals say"),
        (lambda t: {"windows": [*t.windows, t.windows[0]._replace(key=b"another")]}, "not what the first seals say"),
        (lambda t: {"seals": _without(list(t.seals), _first_seal(t.seals))}, ""),
        (lambda t: {"shards": [r for r in t.shards if r.partition != t.shards[0].partition]}, "input records are lost"),
        (lambda t: {"dead_letters": _without_one_record(t)}, "1 input records are lost"),
    ],
)
def test_the_audit_finds_what_is_wrong(report: Report, change: Callable[[Topics], dict[str, Any]], says: str) -> None:
    """
    A second content, a message that is missing or none of ours, a lost seal, chunk or dead letter: each is a violation.
    """
    assert report.topics is not None
    assert report.again is not None
    changed: dict[str, Any] = change(report.topics)
    found: Audit = report.again(replace(report.topics, **changed))
    assert any(says in violation for violation in found.violations)
