"""``kafka.start``: a feed that begins at the end of its topics, or at an instant, on a real Kafka."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from stream.settings.values import show_instant
from tests.builders.feeds import ONE_SHARD, crowd, window
from tests.cluster.brokers import ApacheKafka, unique
from tests.cluster.workers import Place, Worker, produce, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

TWO = ONE_SHARD | {"kafka.partitions": "2", "kafka.start": "latest"}
HISTORY = crowd(0, 3, people=30, visits=3)


def read(*workers: Worker) -> float:
    return sum(one.metric("shoal_records_total", kind="checkins", outcome="read") for one in workers)


def wait_for(n: int, *workers: Worker) -> None:
    """Wait until workers have read so many records; more would be history."""
    wait_until(lambda: read(*workers) >= n, within_s=180, what=lambda: workers[0].log[-3000:])
    time.sleep(1.0)
    assert read(*workers) == n


def ends(place: Place) -> set[str]:
    """Return the ends of the windows that were released."""
    return {one["window"][1] for one in place.windows() if one["outcome"] == "released"}


def end(n: int) -> str:
    return datetime.fromtimestamp(window(n).end_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def add_partitions(place: Place, n: int) -> None:
    """Let the check-ins have so many partitions."""

    async def add() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
        await admin.start()
        try:
            await admin.create_partitions({place.topic("checkins"): NewPartitions(n)})
        finally:
            await admin.close()

    asyncio.run(add())


@pytest.mark.deep
class TestLatest:
    def test_history_is_not_read_and_nothing_later_is_lost(self, apache_kafka: ApacheKafka) -> None:
        """
        What is there before the first start is neither read nor rejected. What comes then is released; what comes while
        no worker runs is read at the restart; and a partition that is added is read from its beginning.
        """
        place = Place(apache_kafka, TWO | {"time.earliest": "2023-11-14T22:45:00Z"})
        place.create_topics()
        place.produce("checkins", HISTORY)
        with place.worker() as worker:
            place.produce("checkins", crowd(3, 1, people=30, visits=3))
            wait_for(90, worker)
            wait_until(lambda: ends(place) == {end(3)}, within_s=180, what=lambda: worker.log[-3000:])
            assert worker.stop() == 0
        place.produce("checkins", crowd(4, 1, people=30, visits=3))
        add_partitions(place, 3)
        place.produce("checkins", crowd(5, 1, people=30, visits=3), partition=2)
        with place.worker() as worker:
            wait_for(180, worker)
            wait_until(
                lambda: ends(place) == {end(n) for n in (3, 4, 5)}, within_s=180, what=lambda: worker.log[-3000:]
            )
        assert place.read("dead_letters") == []

    def test_two_workers_that_start_together(self, apache_kafka: ApacheKafka) -> None:
        """
        Both begin at the same offsets, whichever of them first commits one.
        """
        place = Place(apache_kafka, TWO | {"kafka.partitions": "4"})
        place.create_topics()
        for number in range(4):
            place.produce("checkins", HISTORY, partition=number)
        with place.worker(ready=False) as one, place.worker(ready=False) as other:
            one.wait_until_ready()
            other.wait_until_ready()
            for number in range(4):
                place.produce("checkins", crowd(3, 1, people=30, visits=3), partition=number)
            wait_for(360, one, other)

    def test_a_restart_before_anything_was_read(self, apache_kafka: ApacheKafka) -> None:
        """
        The first start decides, even if that worker is killed at once: what came since is not passed over.
        """
        place = Place(apache_kafka, TWO)
        place.create_topics()
        place.produce("checkins", HISTORY)
        with place.worker(ready=False) as worker:
            wait_until(lambda: "feed_start" in worker.log, within_s=180, what=lambda: worker.log[-3000:])
            worker.kill()
        place.produce("checkins", crowd(3, 1, people=30, visits=3))
        with place.worker() as worker:
            wait_for(90, worker)

    def test_a_topic_that_appears_later(self, apache_kafka: ApacheKafka) -> None:
        """
        A pattern that matches nothing at the first start has no history: its first topic is read from its beginning.
        """
        gps = unique("gps")
        place = Place(apache_kafka, TWO | {"topics.checkins": rf"^{gps}\..*"})
        other = Place(apache_kafka, TWO | {"topics.checkins": f"{gps}.a"})
        place.create_topics()
        with place.worker() as worker:
            worker.stop()
        other.create_topics()
        produce(apache_kafka, f"{gps}.a", crowd(3, 1, people=30, visits=3))
        with place.worker() as worker:
            wait_for(90, worker)


@pytest.mark.deep
def test_an_instant(apache_kafka: ApacheKafka) -> None:
    """
    Records that Kafka got before the instant are not read, later ones are; a partition without later ones is begun at
    its end.
    """
    place = Place(apache_kafka, TWO)
    place.create_topics()
    for number in range(2):
        place.produce("checkins", HISTORY, partition=number)
    time.sleep(0.1)
    instant = show_instant(round(time.time() * 1000))
    time.sleep(0.1)
    place.produce("checkins", crowd(3, 1, people=30, visits=3), partition=0)
    with place.worker({"kafka.start": instant}) as worker:
        wait_for(90, worker)
        place.produce("checkins", crowd(4, 1, people=30, visits=3), partition=1)
        wait_for(180, worker)
        wait_until(lambda: ends(place) == {end(3), end(4)}, within_s=180, what=lambda: worker.log[-3000:])
        assert worker.stop() == 0
    with place.worker({"kafka.start": "latest"}) as worker:  # the group has offsets
        place.produce("checkins", crowd(5, 1, people=30, visits=3), partition=1)
        wait_for(90, worker)


def test_the_default_is_the_beginning(apache_kafka: ApacheKafka) -> None:
    """
    All that is there is read.
    """
    place = Place(apache_kafka, TWO | {"kafka.start": "earliest"})
    place.create_topics()
    place.produce("checkins", HISTORY)
    with place.worker() as worker:
        wait_for(len(HISTORY), worker)
