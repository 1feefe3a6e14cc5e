"""Logs that are not what they were: records that were never committed, deleted, or of a topic that was made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, configure, produce, recreate_topic, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

HOUR_S = 3600
START_S = 1_700_000_000 - 1_700_000_000 % HOUR_S
SETTINGS: dict[str, Any] = {
    "topics.fragments": "",
    "kafka.partitions": "1",
    "window.size": "1h",
    "window.allowed_lateness": "0s",
    "window.idle_timeout": "2s",
    "location.cell_m": "1000",
    "privacy.k": "5",
}
PLACES = [(48.2, 16.3), (48.3, 16.4), (48.4, 16.5)]


def crowd(hour: int, *, people: int = 6, places: Sequence[int] = (0, 1), name: str = "p") -> list[bytes]:
    """People who all visit some places in one hour."""
    return [
        json.dumps(
            {
                "user": f"{name}{person}",
                "ts": START_S + hour * HOUR_S + 60 * number + person,
                "lat": PLACES[place][0],
                "lon": PLACES[place][1],
            }
        ).encode()
        for number, place in enumerate(places)
        for person in range(people)
    ]


def send(place: Place, values: Sequence[bytes | None]) -> None:
    place.produce("checkins", [(b"a key", value) for value in values])


def released(place: Place) -> list[tuple[str, int, int]]:
    """Begin, people and visits of every window that was released, once each."""
    found = {(one["window"][0], one["people"], one["points_released"]) for one in place.windows() if one["verified"]}
    return sorted(found)


def wait_for(place: Place, worker: Worker, n: int) -> list[tuple[str, int, int]]:
    """Wait until so many windows have been released."""
    wait_until(lambda: len(released(place)) >= n, within_s=60, what=lambda: worker.log[-3000:])
    return released(place)


def in_transactions(place: Place, *parts: tuple[bool, Sequence[bytes]]) -> None:
    """Send records in transactions that are committed or aborted."""
    for is_committed, values in parts:
        messages = [(None, value) for value in values]
        produce(place.broker, place.topic("checkins"), messages, transaction=is_committed)


def recreate(place: Place, name: str) -> None:
    """Delete a topic and create it again under its name."""
    config = {"cleanup.policy": "compact"} if name == "seals" else {}
    recreate_topic(place.broker, place.topic(name), n_partitions=1, config=config)


@pytest.fixture
def place(apache_kafka: ApacheKafka) -> Place:
    there = Place(apache_kafka, SETTINGS)
    there.create_topics()
    return there


def test_who_was_never_committed_counts_nowhere(place: Place) -> None:
    """
    Records of an aborted transaction are not read: their people are nobody. The markers of transactions are neither
    waited for nor lag.
    """
    in_transactions(place, (True, crowd(0)), (False, crowd(0, places=[2, 2, 2], name="never")), (True, crowd(1)))
    with place.worker() as worker:
        assert [(people, visits) for _, people, visits in wait_for(place, worker, 2)] == [(6, 12), (6, 12)]
        assert worker.metric("shoal_records_total", kind="checkins", outcome="read") == 24
        wait_until(lambda: worker.metric("shoal_input_lag_records", kind="checkins") == 0, within_s=10, what="no lag")
        assert worker.get("/readyz")[0] == 200
        assert worker.metric("shoal_lost_input_records_total", kind="checkins") == 0
        assert worker.stop() == 0


def test_uncommitted_records_are_read_where_somebody_says_so(place: Place) -> None:
    """
    kafka.isolation_level: who wants what was aborted as well gets it.
    """
    in_transactions(place, (True, crowd(0)), (False, crowd(0, places=[0], name="never")))
    with place.worker({"kafka.isolation_level": "read_uncommitted"}) as worker:
        assert [(people, visits) for _, people, visits in wait_for(place, worker, 1)] == [(12, 18)]


def test_a_tombstone_is_no_record_and_no_fault(place: Place) -> None:
    """
    A connector sends a null value after every deletion: it is counted apart, and no dead letter is written.
    """
    values: list[bytes | None] = [*crowd(0)]
    for at in (0, 4, 9, 13):
        values.insert(at, None)
    with place.worker() as worker:
        send(place, [*values, None])
        assert [(people, visits) for _, people, visits in wait_for(place, worker, 1)] == [(6, 12)]
        count = "shoal_records_total"
        assert worker.metric(count, kind="checkins", outcome="tombstone") == 5
        assert worker.metric(count, kind="checkins", outcome="rejected") == 0
        assert place.read("dead_letters") == []
        assert worker.stop() == 0


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
@pytest.mark.parametrize("n_after", [1, 2, 3])
def test_an_input_topic_that_is_made_again_is_read_anew(place: Place, is_running: bool, n_after: int) -> None:
    """
    Its offsets begin at 0 again, fewer, as many or more than before: each window is released, none twice, and log and
    metric say at once what happened.
    """
    with place.worker() as worker:
        send(place, crowd(0))
        wait_for(place, worker, 1)
        if is_running:
            recreate(place, "checkins")
            after = worker
        else:
            assert worker.stop() == 0
            recreate(place, "checkins")
            after = Worker(place.values())
        try:
            more = [
                value for hour in range(1, n_after + 1) for value in crowd(hour, places=[0, 1][: 1 + (n_after > 1)])
            ]
            send(place, more)
            found = wait_for(place, after, 1 + n_after)
            assert [people for _, people, _ in found] == [6] * (1 + n_after)
            assert sum(visits for _, _, visits in found) == 12 + len(more)
            jumps = {
                jump: after.metric("shoal_input_jumps_total", kind="checkins", jump=jump)
                for jump in ("recreated", "forgotten", "went_back", "deleted")
            }
            assert jumps["recreated"] + jumps["forgotten"] == 1
            assert "input_recreated" in after.log or "input_forgotten" in after.log
            assert after.metric("shoal_records_total", kind="checkins", outcome="duplicate") == 0
            place.released()
            assert after.stop() == 0
        finally:
            after.close()


def test_records_deleted_before_they_were_read_are_reported(place: Place) -> None:
    """
    Retention overtook a worker that was away: it says how many offsets are missing, and reads what is left.
    """
    with place.worker() as worker:
        send(place, crowd(0))
        wait_for(place, worker, 1)
        assert worker.stop() == 0
    send(place, [*crowd(1), *crowd(2)])
    place.delete_records("checkins", 24)
    with place.worker() as worker:
        assert [begin[11:13] for begin, _, _ in wait_for(place, worker, 2)] == ["22", "00"]
        assert worker.metric("shoal_lost_input_records_total", kind="checkins") == 12
        assert worker.metric("shoal_input_jumps_total", kind="checkins", jump="deleted") == 1
        assert '"input_deleted"' in worker.log or "input_deleted" in worker.log
        assert worker.stop() == 0


def test_deleted_records_are_reported_even_if_nothing_follows(place: Place) -> None:
    """
    All that was unread is gone, and no record comes that would show the gap.
    """
    with place.worker() as worker:
        send(place, crowd(0))
        wait_for(place, worker, 1)
        assert worker.stop() == 0
    send(place, crowd(1))
    place.delete_records("checkins", 24)
    with place.worker() as worker:
        wait_until(
            lambda: worker.metric("shoal_lost_input_records_total", kind="checkins") == 12,
            within_s=20,
            what=lambda: worker.log[-2000:],
        )


def test_committed_offsets_beyond_the_end_are_not_waited_for(place: Place) -> None:
    """
    A topic restored from a copy under the same id ends before what was read: it is read anew, and what left is late.
    """
    with place.worker() as worker:
        send(place, [*crowd(0), *crowd(1)])
        wait_for(place, worker, 2)
        assert worker.stop() == 0
    place.commit("ingest", "checkins", 1000)
    send(place, crowd(2))
    with place.worker() as worker:
        assert len(wait_for(place, worker, 3)) == 3
        assert worker.metric("shoal_input_jumps_total", kind="checkins", jump="went_back") == 1
        assert len({one["release"] for one in place.windows()}) == 3
        assert worker.stop() == 0


@pytest.mark.parametrize("name", ["shards", "seals"])
def test_an_internal_topic_that_is_made_again_stops_the_worker(place: Place, name: str) -> None:
    """
    Which windows have left is gone with it: the worker ends and says what to do, and does not start again.
    """
    with place.worker() as worker:
        send(place, crowd(0))
        wait_for(place, worker, 1)
        recreate(place, name)
        assert worker.wait(30) == 70
        assert "internal_topic_recreated" in worker.log
        assert place.topic(name) in worker.log
    with place.worker(ready=False) as again:
        assert again.wait(40) == 1
        assert f"topic {place.topic(name)} was deleted and created again" in again.log
        assert "start afresh" in again.log
    send(place, crowd(1))
    fresh = {"topics.shards": f"{place.topic('shards')}-2", "topics.seals": f"{place.topic('seals')}-2"}
    anew = Place(place.broker, SETTINGS)
    anew.names.update(place.names | fresh)
    anew.create_topics()
    with anew.worker() as worker:
        assert len(wait_for(anew, worker, 2)) == 2


def test_seals_that_were_deleted_stop_the_worker(place: Place) -> None:
    """
    Without every seal a window could be released twice.
    """
    with place.worker() as worker:
        send(place, crowd(0))
        wait_for(place, worker, 1)
        assert worker.stop() == 0
    configure(place.broker, place.topic("seals"), {"cleanup.policy": "delete"})
    place.delete_records("seals", 2)
    configure(place.broker, place.topic("seals"), {"cleanup.policy": "compact"})
    with place.worker(ready=False) as worker:
        assert worker.wait(40) == 1
        assert "its oldest seals were deleted" in worker.log


def test_chunks_that_were_deleted_are_reported(place: Place) -> None:
    """
    What waited for its window is gone: the worker says so, goes on, and releases what comes.
    """
    with place.worker({"window.idle_timeout": "1h"}) as worker:
        send(place, crowd(0))
        wait_until(lambda: worker.metric("shoal_buffered_rows") == 12, within_s=30, what=lambda: worker.log[-2000:])
        wait_until(lambda: place.committed().get(0) == 0, within_s=10, what="the first commit")
        assert worker.stop() == 0
    place.delete_records("shards", len(place.read("shards")))
    with place.worker() as worker:
        send(place, crowd(1))
        assert len(wait_for(place, worker, 1)) == 1
        assert worker.metric("shoal_lost_chunks_total") >= 1
        assert "shards_lost" in worker.log
        assert worker.stop() == 0


def test_a_foreign_transaction_on_the_seals_topic_only_delays(place: Place) -> None:
    """
    What lies behind an open transaction cannot be read: the worker waits until it ends, seals once, and releases.
    """

    async def hold_open() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=place.bootstrap_servers, transactional_id=place.topic("seals"))
        await producer.start()
        try:
            await producer.begin_transaction()
            await producer.send_and_wait(place.topic("seals"), None, key=b"foreign", partition=0)
            await asyncio.to_thread(send, place, crowd(0))
            await asyncio.sleep(6)
            assert await asyncio.to_thread(released, place) == []
            await producer.abort_transaction()
        finally:
            await producer.stop()

    with place.worker() as worker:
        asyncio.run(hold_open())
        wait_for(place, worker, 1)
        n_seals = sum(b'"type":"seal"' in (one.value or b"") for one in place.read("seals"))
        assert n_seals == 1
        assert worker.stop() == 0


def test_records_without_a_time_stamp_or_a_key_are_read(place: Place) -> None:
    """
    What a producer need not send is not needed.
    """
    produce(place.broker, place.topic("checkins"), [(b"\xff\x00", value) for value in crowd(0)])
    with place.worker() as worker:
        assert len(wait_for(place, worker, 1)) == 1
