"""Windows that cannot be released or take long, and more rows than a worker may hold: the feed goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner

from core.records.instants import rfc3339
from core.records.record import Kind, Source
from core.release.outcome import WithholdReason
from stream.feeds.feed import build_feeds
from tests.builders.feeds import (
    ONE_SHARD,
    SETTINGS,
    WITHIN_S,
    assert_all_is_released_in_one_way,
    crowd,
    expected,
    wait_for_windows,
    window,
)
from tests.builders.inputs import decoder
from tests.cluster.brokers import ApacheKafka
from tests.cluster.faulty_worker import BURN_S, LEAK, faulty
from tests.cluster.workers import Place, Worker, wait_until

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]


def windows_by(worker: Worker, outcome: str) -> float:
    return worker.metric("shoal_windows_total", kind="checkins", outcome=outcome)


def records_by(worker: Worker, outcome: str) -> float:
    return worker.metric("shoal_records_total", kind="checkins", outcome=outcome)


class TestWindowsThatCannotBeReleased:
    @pytest.mark.parametrize(
        ("fault", "reason", "alarm"),
        [
            ("anonymizer-lets-all-through", WithholdReason.VERIFICATION_FAILED, "release refused: "),
            ("anonymizer-raises", WithholdReason.ANONYMIZER_FAILED, "the anonymizer failed: ValueError at "),
            ("anonymizer-exits", WithholdReason.ANONYMIZER_FAILED, "the anonymizer's process died twice"),
        ],
    )
    def test_is_withheld_and_the_feed_goes_on(
        self, apache_kafka: ApacheKafka, tmp_path: Path, fault: str, reason: WithholdReason, alarm: str
    ) -> None:
        """
        A window that the verifier refuses, or on which the anonymizer raises or dies, is withheld with its reason and
        an alarm; the windows before, beside and after it are released; the log names nobody and no place.
        """
        place, messages = Place(apache_kafka, SETTINGS | {"window.idle_timeout": "3s"}), crowd(0, 4, people=80)
        wanted = expected(place, messages, tmp_path)
        start = rfc3339(window(1).start_ms)
        struck = {key for key, value in wanted["windows"].items() if json.loads(value)["window"][0] == start}
        assert len(struck) == 4  # one of every cohort, on both partitions
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker(program=faulty(fault, 1)) as worker:
            wait_for_windows(place, worker, 16)
            wait_until(lambda: windows_by(worker, "released") == 12, within_s=WITHIN_S, what="the last one is counted")
            assert windows_by(worker, "refused" if reason is WithholdReason.VERIFICATION_FAILED else "withheld") == 4
            assert worker.metric("shoal_withheld_windows_total", kind="checkins", reason=reason) == 4
            assert worker.log.count(alarm) == 4
            words = (*LEAK.split(" at "), "u1 ", '"u1', "48.2000", "16.3000")
            assert [word for word in words if word in worker.log] == []
            assert worker.stop() == 0
        found = place.released()
        told = [json.loads(found["windows"].pop(key)) for key in sorted(struck)]
        assert [(one["outcome"], one["reason"], one["verified"]) for one in told] == 4 * [("withheld", reason, False)]
        for topic, values in found.items():
            left = {key: value for key, value in wanted[topic].items() if key.partition(b":")[0] not in struck}
            assert values == left


class TestAWindowThatTakesLong:
    def test_heartbeats_go_on(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        While a window takes more than three session time-outs of pure computing nobody is thrown out of a group,
        /healthz answers, and records are taken in; then the window leaves.
        """
        place, now, later = Place(apache_kafka, ONE_SHARD), crowd(0, 2, people=40), crowd(2, 2, people=40)
        wanted = expected(place, now + later, tmp_path)
        place.create_topics()
        with place.worker(program=faulty("anonymizer-burns", 0)) as worker:
            rebalances = worker.metric("shoal_rebalances_total")
            place.produce("checkins", now)
            wait_until(lambda: "shoal_open_windows 2.0" in worker.get("/metrics")[1], within_s=WITHIN_S, what="rows")
            place.produce("checkins", later)
            slowest_s, begun_s = 0.0, time.monotonic()
            while not windows_by(worker, "released"):
                asked_s = time.monotonic()
                assert worker.get("/healthz")[0] == 200
                slowest_s = max(slowest_s, time.monotonic() - asked_s)
                assert asked_s - begun_s < WITHIN_S, worker.log[-3000:]
                time.sleep(0.25)
            assert time.monotonic() - begun_s > BURN_S["anonymizer-burns"] / 2
            assert slowest_s < 1.0
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.metric("shoal_rebalances_total") == rebalances
            assert records_by(worker, "late") == 0
            assert worker.stop() == 0


LIMIT, CHUNK = 1000, 200
FEW_ROWS = {"limits.buffered_rows": str(LIMIT), "ingest.max_records": str(CHUNK)}


def buffered(worker: Worker) -> float:
    return worker.metric("shoal_buffered_rows")


def by_partition(place: Place, people: int) -> list[list[int]]:
    """Return for each partition of the shards topic which of the crowd's people are in its shards."""
    feed, numbers = build_feeds(place.settings)[Kind.CHECKINS], list(range(place.settings.kafka.partitions))
    found: list[list[int]] = [[] for _ in numbers]
    decode = decoder(Kind.CHECKINS, place.settings.fields.model_dump())
    for key, value in crowd(0, 1, people=people, visits=1):
        (chunk,), *_ = feed.intake.run([(0, decode(value))], source=Source("", 0), n_partitions=1, now_ms=2**41)
        found[DefaultPartitioner()(f"checkins/{chunk.shard}".encode(), numbers, numbers)].append(int(key[1:]))
    return found


class TestMoreRowsThanAWorkerMayHold:
    def test_it_pauses_and_goes_on(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        While a window takes long, rows pile up to the limit and by less than a chunk beyond it; then consumption goes
        on by itself, and everything is released as a replay does it.
        """
        # Longer than the window takes: what happens else is the last test's matter.
        place = Place(apache_kafka, ONE_SHARD | FEW_ROWS | {"window.idle_timeout": "7s"})
        messages = crowd(0, 10, people=50)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        seen: list[float] = []

        def done() -> bool:
            seen.append(buffered(worker))
            return windows_by(worker, "released") == len(wanted["windows"])

        with place.worker(program=faulty("anonymizer-is-slow", 0)) as worker:
            wait_until(done, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
            assert LIMIT <= max(seen) < LIMIT + CHUNK
            assert records_by(worker, "late") == 0
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.stop() == 0

    def test_a_window_that_does_not_fit(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        A window of more rows than a worker may hold is sealed when it has waited for the idle time-out: the rows that
        fitted are released, the others are late, each is counted, and the next windows are whole.
        """
        place = Place(apache_kafka, ONE_SHARD | FEW_ROWS)
        large, later = crowd(0, 1, people=250, visits=10), crowd(1, 2, people=50)
        wanted = expected(place, large + later, tmp_path)
        place.create_topics()
        place.produce("checkins", large + later)
        with place.worker() as worker:
            wait_for_windows(place, worker, 3)
            wait_until(lambda: windows_by(worker, "released") == 3, within_s=WITHIN_S, what="the last one is counted")
            late = records_by(worker, "late")
            assert len(large) - LIMIT - CHUNK < late <= len(large) - LIMIT
            assert records_by(worker, "buffered") == len(large + later) - late
            first, *others = place.windows()
            assert first["outcome"] == "released"
            for one in others:
                assert json.loads(wanted["windows"][one["release"].encode()]) == one

    def test_one_partition_holds_all_of_them(self, apache_kafka: ApacheKafka) -> None:
        """
        One partition holds as many rows as a worker may, its window is still open, and a record of another partition
        waits: the feed goes on.
        """
        place = Place(apache_kafka, SETTINGS | FEW_ROWS | {"window.idle_timeout": "5s"})
        hot, cold = by_partition(place, 100)
        messages = crowd(0, 1, people=hot, visits=1600 // len(hot))
        place.create_topics()
        with place.worker() as worker:
            place.produce("checkins", messages[:LIMIT])
            wait_until(lambda: buffered(worker) >= LIMIT, within_s=WITHIN_S, what="it is full", every_s=0.1)
            place.produce("checkins", crowd(0, 1, people=cold[:10], visits=1))
            time.sleep(0.5)
            place.produce("checkins", messages[LIMIT:])
            wait_until(place.windows, within_s=20, what=lambda: f"windows; its log:\n{worker.log[-2000:]}", every_s=1)

    def test_nobody_is_late_because_another_partition_is_slow(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        Rows of one partition wait at the limit for longer than the idle time-out while another's window takes long:
        its open window is not closed before they are in.
        """
        place = Place(apache_kafka, SETTINGS | FEW_ROWS | {"window.idle_timeout": "4s"})
        slow, other = by_partition(place, 100)
        first = crowd(0, 3, people=slow[:40], visits=8)
        second = crowd(3, 1, people=other[:40], visits=10)
        wanted = expected(place, first + second, tmp_path)
        place.create_topics()
        with place.worker(program=faulty("anonymizer-is-slow", 0)) as worker:
            place.produce("checkins", first)
            wait_until(lambda: buffered(worker) >= len(first), within_s=WITHIN_S, what="all is in", every_s=0.1)
            place.produce("checkins", second)
            wait_for_windows(place, worker, len(wanted["windows"]))
            assert records_by(worker, "late") == 0
            assert_all_is_released_in_one_way(place, [worker], wanted)
