"""Clocks: a worker's that is wrong is named wherever somebody looks, and nothing is lost once it is set right."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.builders.feeds import ONE_SHARD, SETTINGS, assert_all_is_released_in_one_way, crowd, expected
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, configure, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

REPAIRED = ("tests.cluster.repaired_worker", "worker")
HOURS_3 = 3 * 3600


def at_present(n: int) -> list[tuple[bytes, bytes]]:
    """Check-ins of this moment."""
    now_s = int(time.time())
    return [
        (b"u%d" % i, json.dumps({"user": f"u{i}", "ts": now_s, "lat": 48.2, "lon": 16.3}).encode()) for i in range(n)
    ]


def count(worker: Worker, outcome: str) -> float:
    return worker.metric("shoal_records_total", kind="checkins", outcome=outcome)


def wait_for_the_sentence(worker: Worker, sentence: str) -> None:
    """Wait until the readiness says it, and look for it in the log."""
    wait_until(
        lambda: sentence in worker.get("/readyz")[1],
        within_s=60,
        what=lambda: f"{worker.get('/readyz')}; its log:\n{worker.log[-3000:]}",
    )
    status, said = worker.get("/readyz")
    assert status == 503
    assert "the clock (" in said
    wrong = [line for line in worker.log.splitlines() if "clock_wrong" in line]
    assert wrong
    assert sentence in wrong[0]


class TestAClockThatIsBehind:
    def test_it_is_named_and_records_go_on_when_it_is_right(
        self, apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Three hours behind: records are rejected as ahead, and readiness, log, metric and dead letters say that it is
        the clock. Set right, the worker is ready and takes what comes.
        """
        monkeypatch.setenv("SHIFT_S", str(-HOURS_3))
        place = Place(apache_kafka, SETTINGS)
        place.create_topics()
        with place.worker(program=REPAIRED) as worker:
            place.produce("checkins", at_present(40))
            wait_for_the_sentence(worker, "this machine's clock is 3 h 0 min behind the time stamps of the input")
            assert worker.metric("shoal_clock_wrong", seen_by="input") == 1
            assert worker.metric("shoal_clock_wrong", seen_by="brokers") == 0
            assert worker.metric("shoal_clock_behind_seconds") == pytest.approx(HOURS_3, abs=120)
            wait_until(lambda: count(worker, "rejected") == 40, within_s=30, what="all are rejected")
            letters = [json.loads(letter.value or b"") for letter in place.read("dead_letters")]
            assert {letter["reason"] for letter in letters} == {"time_out_of_range"}
            assert all("the worker's clock was 3 h 0 min behind" in letter["detail"] for letter in letters)

            worker.send(signal.SIGURG)
            worker.wait_until_ready()
            wait_until(lambda: "clock_right_again" in worker.log, within_s=10, what="the log says so")
            assert worker.metric("shoal_clock_wrong", seen_by="input") == 0
            assert worker.metric("shoal_clock_jumps_total") == 1
            assert "clock_jumped" in worker.log
            place.produce("checkins", at_present(40))
            wait_until(lambda: count(worker, "buffered") == 40, within_s=60, what=lambda: worker.log[-3000:])
            assert count(worker, "rejected") == 40
            assert worker.stop() == 0


class TestAClockThatIsAhead:
    def test_a_worker_that_starts_ends_with_a_sentence(
        self, apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Three hours ahead before anything is agreed on: readiness names the clock while the worker waits, and then it
        ends with code 1 and says so.
        """
        monkeypatch.setenv("SHIFT_S", str(HOURS_3))
        place = Place(apache_kafka, SETTINGS | {"kafka.startup_timeout": "12s"})
        place.create_topics()
        with place.worker(program=REPAIRED, ready=False) as worker:
            wait_for_the_sentence(worker, "the brokers refuse the time of this machine's clock as a time stamp")
            assert worker.metric("shoal_clock_wrong", seen_by="brokers") == 1
            assert worker.wait(60) == 1
            said = [line for line in worker.log.splitlines() if line.startswith("shoal: ")]
            assert "the clock is ahead of theirs" in said[-1]
            assert place.topic("seals") in said[-1]

    def test_nothing_is_lost_while_it_is(
        self, apache_kafka: ApacheKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Three hours ahead while records come: the worker waits and names the clock. Set right, it goes on by itself, and
        everything is released, in one way.
        """
        monkeypatch.setenv("SHIFT_S", str(HOURS_3))
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 4)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        with place.worker() as first:
            assert first.stop() == 0
        with place.worker(program=REPAIRED) as worker:
            place.produce("checkins", messages)
            wait_for_the_sentence(worker, "the brokers refuse the time of this machine's clock as a time stamp")
            assert worker.metric("shoal_clock_wrong", seen_by="brokers") == 1
            assert worker.metric("shoal_clock_wrong", seen_by="input") == 0
            assert not place.read("shards")
            worker.send(signal.SIGURG)
            worker.wait_until_ready()
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.metric("shoal_clock_wrong", seen_by="brokers") == 0
            assert worker.stop() == 0


class TestTopicsThatLimitTimeStamps:
    def test_old_windows_leave_all_the_same(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        Output topics that refuse the ends of old windows as time stamps: releases have the present, and the same bytes.
        """
        place, messages = Place(apache_kafka, ONE_SHARD), crowd(0, 3)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        for name in ("anonymized", "windows"):
            configure(apache_kafka, place.topic(name), {"message.timestamp.before.max.ms": "86400000"})
        begun_ms = time.time() * 1000
        with place.worker() as worker:
            place.produce("checkins", messages)
            assert_all_is_released_in_one_way(place, [worker], wanted)
            stamps = [record.timestamp_ms for name in ("anonymized", "windows") for record in place.read(name)]
            assert stamps
            assert min(stamps) > begun_ms - 1000
            assert "release_has_the_present" in worker.log
            assert "clock_wrong" not in worker.log
            assert worker.get("/readyz")[0] == 200
            assert worker.stop() == 0

    @pytest.mark.parametrize("name", ["shards", "seals", "anonymized", "windows"])
    def test_a_limit_that_leaves_no_room_stops_the_start(self, apache_kafka: ApacheKafka, name: str) -> None:
        """
        A topic that takes only time stamps of less than a minute before or after the present: the worker ends with
        code 1, and says what to raise.
        """
        place = Place(apache_kafka, SETTINGS)
        place.create_topics()
        configure(apache_kafka, place.topic(name), {"message.timestamp.after.max.ms": "1000"})
        with place.worker(ready=False) as worker:
            assert worker.wait(60) == 1
            told = f"topic {place.topic(name)} has message.timestamp.after.max.ms=1000: set it to at least 60000"
            assert told in worker.log
