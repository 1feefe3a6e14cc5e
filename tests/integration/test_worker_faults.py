"""What holds when something dies: workers, the cluster, and settings that change. Every feed's releases are compared
with those of a replay: nothing is lost, and nothing is released in two ways."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from core.records.record import Kind
from core.release.outcome import WithholdReason
from core.windows.seal import Seal
from core.windows.window import WindowKey
from stream.feeds.feed import build_feeds
from stream.formats.seals import seal_key, seal_to_bytes
from tests.builders.feeds import (
    SETTINGS,
    SIZE_S,
    START_S,
    WITHIN_S,
    assert_all_is_released_in_one_way,
    crowd,
    expected,
    wait_for_windows,
)
from tests.cluster.brokers import ApacheKafka, RunningBroker
from tests.cluster.workers import Place, Worker, children_of, configure, is_running, wait_until

# Whole workers that die, wait and take over: minutes in all.
pytestmark = pytest.mark.deep


def released_windows(worker: Worker) -> float:
    return worker.metric("shoal_windows_total", kind="checkins", outcome="released")


def wait_for_some(worker: Worker, n: int) -> None:
    """Return in the middle of the windows that are due."""
    wait_until(
        lambda: released_windows(worker) >= n,
        within_s=WITHIN_S,
        what=lambda: f"{n} windows; its log:\n{worker.log[-3000:]}",
        every_s=0.05,
    )


class TestAWorkerThatEnds:
    @pytest.mark.broker
    @pytest.mark.kafka
    def test_an_orderly_end_in_the_middle(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        SIGTERM in the middle of many windows: exit code 0 within the grace period, no process is left behind, and the
        next worker does the rest.
        """
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 20)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker() as first:
            wait_for_some(first, 3)
            children = children_of(first.pid)
            assert children
            assert first.stop(within_s=20.0) == 0
            assert "worker_stopped" in first.log
            wait_until(
                lambda: not any(map(is_running, children)), within_s=15, what="the anonymizers have ended", every_s=0.5
            )
            done = len(place.outputs()["windows"])
            assert 3 <= done < len(wanted["windows"])
            with place.worker() as second:
                assert_all_is_released_in_one_way(place, [first, second], wanted)

    @pytest.mark.broker
    def test_a_sudden_death_in_the_middle(self, broker: RunningBroker, tmp_path: Path) -> None:
        """
        kill -9 in the middle of many windows: the anonymizers notice and end, and the next worker releases what is
        missing; what both released is the same byte for byte.
        """
        place, messages = Place(broker, SETTINGS), crowd(0, 20)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker() as first:
            wait_for_some(first, 3)
            children = children_of(first.pid)
            first.kill()
            assert children
            wait_until(
                lambda: not any(map(is_running, children)), within_s=15, what="the anonymizers have ended", every_s=0.5
            )
            assert len(place.outputs()["windows"]) < len(wanted["windows"])
            with place.worker() as second:
                assert_all_is_released_in_one_way(place, [first, second], wanted)


@pytest.mark.broker
@pytest.mark.kafka
class TestSeveralWorkers:
    def test_one_joins_and_one_leaves(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        A second worker joins in the middle and the first leaves in the middle: under each key one content, and
        everything is released.
        """
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 50)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        with place.worker() as first:
            place.produce("checkins", messages[: len(messages) // 2])
            wait_for_some(first, 3)
            with place.worker() as second:
                place.produce("checkins", messages[len(messages) // 2 :])
                wait_for_some(second, 3)
                assert released_windows(first) + released_windows(second) < len(wanted["windows"])
                assert first.stop(within_s=20.0) == 0
                assert_all_is_released_in_one_way(place, [first, second], wanted)

    def test_one_sleeps_until_another_has_taken_over(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        A worker that is paused in the middle loses its partitions; when it wakes up it can only repeat what its
        successor released, and then it works on.
        """
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 20)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker() as sleeper:
            wait_for_some(sleeper, 3)
            for pid in (sleeper.pid, *children_of(sleeper.pid)):
                os.kill(pid, signal.SIGSTOP)
            with place.worker() as successor:
                assert_all_is_released_in_one_way(place, [successor], wanted)
                for pid in (sleeper.pid, *children_of(sleeper.pid)):
                    os.kill(pid, signal.SIGCONT)
                sleeper.wait_until_ready()
                assert successor.stop() == 0
                more = crowd(20, 2)
                wanted = expected(place, messages + more, tmp_path)
                place.produce("checkins", more)
                assert_all_is_released_in_one_way(place, [sleeper, successor], wanted)
                assert sleeper.stop() == 0


@pytest.mark.broker
@pytest.mark.kafka
class TestRebalancesBeforeAnythingIsCommitted:
    @pytest.mark.parametrize("passes_over", [False, True], ids=["as it is", "all that was there is passed over"])
    def test_windows_have_all_their_rows(
        self, apache_kafka: ApacheKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes_over: bool
    ) -> None:
        """
        Rebalances that take their time while the first windows fill: also where Faust goes on behind all that it had
        fetched, everything is released, in one way.
        """
        monkeypatch.setenv("PASS_OVER", "1" if passes_over else "0")
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 4, people=60)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        with place.worker(program=("tests.cluster.rejoining_worker", "worker")) as worker:
            for at in range(0, len(messages), 20):
                place.produce("checkins", messages[at : at + 20])
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.metric("shoal_rebalances_total") > 1
            assert worker.metric("shoal_passed_over_chunks_total") > 0 or not passes_over


@pytest.mark.broker
@pytest.mark.kafka
class TestAClusterThatGoesAway:
    def test_the_worker_waits_and_goes_on(self, disposable_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        While the cluster is away the worker is alive and not ready, and does not fill the disk with its complaints;
        when it is back the same process goes on, and everything from before and after is released, in one way.
        """
        place = Place(disposable_kafka, SETTINGS)
        before, after = crowd(0, 15), crowd(15, 5)
        wanted = expected(place, before + after, tmp_path)
        place.create_topics()
        with place.worker() as worker:
            place.produce("checkins", before)
            wait_for_some(worker, 3)
            disposable_kafka.kill()
            wait_until(lambda: worker.get("/readyz")[0] == 503, within_s=30, what="it is not ready")
            assert worker.metric("shoal_kafka_up") == 0
            for _ in range(8):
                assert worker.get("/healthz") == (200, "ok\n")
                with pytest.raises(AssertionError):
                    worker.wait(1.0)
            assert "kafka_trouble" in worker.log
            assert len(worker.log.splitlines()) < 300
            disposable_kafka.start()
            worker.wait_until_ready()
            place.produce("checkins", after)
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.metric("shoal_kafka_up") == 1
            assert worker.stop() == 0

    def test_the_worker_ends_when_it_is_told_to(self, disposable_kafka: ApacheKafka) -> None:
        """
        Without a cluster nobody can be told good-bye: the worker ends all the same once its grace period is over,
        and says so.
        """
        place = Place(disposable_kafka, SETTINGS)
        place.create_topics()
        place.produce("checkins", crowd(0, 15))
        with place.worker({"worker.grace_period": "4s"}) as worker:
            wait_for_some(worker, 3)
            children = children_of(worker.pid)
            disposable_kafka.kill()
            wait_until(lambda: worker.get("/readyz")[0] == 503, within_s=30, what="it is not ready")
            assert worker.stop(within_s=20.0) != 0
            assert "worker_stop_overdue" in worker.log
            wait_until(
                lambda: not any(map(is_running, children)), within_s=15, what="the anonymizers have ended", every_s=0.5
            )


@pytest.mark.broker
@pytest.mark.kafka
class TestATopicReadAgain:
    @pytest.mark.parametrize("stages", [("windows",), ("ingest", "windows")])
    def test_from_its_earliest_offset_nothing_is_released_twice(
        self, apache_kafka: ApacheKafka, tmp_path: Path, stages: tuple[str, ...]
    ) -> None:
        """
        Somebody resets the offsets of the shards topic, or of the input topics as well, to their beginning: no window
        leaves a second time, every record is counted as read again or as a duplicate, and what comes then is released.
        """
        place, messages, more = Place(apache_kafka, SETTINGS), crowd(0, 3), crowd(3, 1)
        wanted = expected(place, messages, tmp_path)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker() as worker:
            assert_all_is_released_in_one_way(place, [worker], wanted)
            assert worker.stop() == 0
        for stage in stages:
            topic = {"windows": "shards", "ingest": "checkins"}[stage]
            place.rewind(f"{place.names['kafka.group']}-{stage}", topic)
        n_read = len(stages) * len(messages)  # what ingest forwards again is in the shards topic twice
        with place.worker() as worker:

            def n_known() -> float:
                outcomes = ("reread", "duplicate")
                return sum(worker.metric("shoal_records_total", kind="checkins", outcome=one) for one in outcomes)

            wait_until(lambda: n_known() >= n_read, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
            place.produce("checkins", more)
            assert_all_is_released_in_one_way(place, [worker], expected(place, messages + more, tmp_path))
            assert worker.stop() == 0
        emitted = [record.key for record in place.read("windows")]
        assert len(emitted) == len(set(emitted))


@pytest.mark.broker
@pytest.mark.kafka
class TestATopicThatRefuses:
    @pytest.mark.parametrize("name", ["anonymized", "windows"])
    def test_a_release_that_is_too_long_for_its_topic_is_withheld(self, apache_kafka: ApacheKafka, name: str) -> None:
        """
        Somebody lets an output topic take short messages only, under a running worker: the windows of that time are
        withheld, with the reason, the alarm and what to do, and none has a windows message that says released. The
        feed goes on, and when the topic takes long messages again, the next windows are released.
        """
        one_crowd = {"kafka.partitions": "1", "shard.kind": "single", "window.idle_timeout": "2s"}
        place = Place(apache_kafka, SETTINGS | one_crowd)
        place.create_topics()
        outcomes = []
        with place.worker() as worker:
            for begin, size in ((0, 1024**2), (2, 1_000), (4, 1024**2)):
                configure(apache_kafka, place.topic(name), {"max.message.bytes": str(size)})
                place.produce("checkins", crowd(begin, 2, people=40))
                wait_for_windows(place, worker, begin + 2)
                outcomes.append([(w["outcome"], w.get("reason")) for w in place.windows()][begin:])
            assert "raise its max.message.bytes" in worker.log
            assert worker.stop() == 0
        withheld = ("withheld", WithholdReason.TOO_LARGE)
        assert outcomes == [[("released", None)] * 2, [withheld] * 2, [("released", None)] * 2]


@pytest.mark.broker
@pytest.mark.kafka
class TestSettingsThatChange:
    def test_a_window_sealed_under_others_is_withheld(self, apache_kafka: ApacheKafka) -> None:
        """
        A window whose first seal was made with other settings is withheld, also by the next worker; the windows
        after it are released.
        """
        given = SETTINGS | {"kafka.partitions": "1", "shard.kind": "single"}
        place = Place(apache_kafka, given)
        place.create_topics()
        other = Place(apache_kafka, given | {"privacy.k": "7"})
        key = WindowKey((START_S + SIZE_S) * 1000, Kind.CHECKINS, "all", START_S * 1000)
        seal: Seal = build_feeds(other.settings)[Kind.CHECKINS].plan.seal(key, 0, 40, "an earlier worker")
        place.produce("seals", [(seal_key(seal), seal_to_bytes(seal))])
        with place.worker() as worker:
            place.produce("checkins", crowd(0, 3, people=30, visits=2))
            wait_for_windows(place, worker, 3)
            assert worker.stop() == 0
        with place.worker() as worker:
            place.produce("checkins", crowd(3, 1, people=30, visits=2))
            wait_for_windows(place, worker, 4)

        withheld, *released = place.windows()
        assert (withheld["outcome"], withheld["reason"]) == ("withheld", WithholdReason.SETTINGS_CHANGED)
        assert withheld["release"] == seal.release_id
        assert [window["outcome"] for window in released] == ["released"] * 3
        assert withheld["window"] not in [window["window"] for window in released]
        emitted = {json.loads(record.value or b"")["release"] for record in place.read("anonymized")}
        assert emitted == {window["release"] for window in released}
