"""Compression: every codec that producers and brokers may choose is read, and one that is missing is named."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from stream.kafka.client import new_producer
from stream.windows.emit import Emitter
from tests.builders.feeds import (
    SETTINGS,
    Messages,
    assert_all_is_released_in_one_way,
    crowd,
    expected,
    wait_for_windows,
)
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, configure, wait_until

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

REPAIRED = ("tests.cluster.repaired_worker", "worker")
INTERNAL = ("shards", "seals", "windows")


def produce_compressed(place: Place, messages: Messages, codec: str, *, partition: int | None = None) -> None:
    """Send check-ins as a producer that compresses."""

    async def send() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=place.bootstrap_servers, acks="all", linger_ms=50, compression_type=codec
        ) as producer:
            topic = place.topic("checkins")
            sent = [await producer.send(topic, value, key=key, partition=partition) for key, value in messages]
            await asyncio.gather(*sent)

    asyncio.run(send())


def compress(place: Place, name: str, codec: str) -> None:
    """Let the broker compress what is written to a topic."""
    policy = {"cleanup.policy": "compact"} if name == "seals" else {}
    configure(place.broker, place.topic(name), {"compression.type": codec} | policy)


async def are_out(place: Place, keys: list[str]) -> bool:
    """Look for windows messages as a worker does."""
    producer = new_producer(place.settings)
    async with producer:
        emitter = Emitter(
            place.settings.kafka, producer, {"windows": place.topic("windows")}, on_trouble=lambda _: None
        )
        return all([await emitter.is_out(key) for key in keys])


def count(worker: Worker, outcome: str) -> float:
    return worker.metric("shoal_records_total", kind="checkins", outcome=outcome)


def last_words(worker: Worker) -> str:
    """Return what a worker that does not start said to people."""
    assert worker.wait(60) == 1
    return "\n".join(line for line in worker.log.splitlines() if line.startswith("shoal: "))


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(apache_kafka: ApacheKafka, tmp_path: Path, codec: str) -> None:
    """
    Input compressed by a producer, then by the broker; internal and output topics compressed by the broker; a worker
    that dies in the middle, so that seals and shards are read again: everything is released, in one way.
    """
    place, messages = Place(apache_kafka, SETTINGS), crowd(0, 8)
    wanted = expected(place, messages, tmp_path)
    place.create_topics()
    for name in (*INTERNAL, "anonymized", "dead_letters"):
        compress(place, name, codec)
    half = len(messages) // 2
    with place.worker() as first:
        produce_compressed(place, messages[:half], codec)
        wait_for_windows(place, first, 2)
        first.kill()
        compress(place, "checkins", codec)
        place.produce("checkins", messages[half:])
        with place.worker() as second:
            assert_all_is_released_in_one_way(place, [first, second], wanted)
            assert asyncio.run(are_out(place, [key.decode() for key in wanted["windows"]]))
            assert not asyncio.run(are_out(place, ["another"]))
            assert second.stop() == 0


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_input_by_a_codec_that_is_missing_waits(
    apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """
    The partition is read up to the first record that cannot be, the others go on, and readiness, log and metrics name
    what is missing. With the codec the worker goes on, and each record was taken once.
    """
    monkeypatch.setenv("CODECS_MISSING", "1")
    place, messages = Place(apache_kafka, SETTINGS), crowd(0, 1, people=15)
    place.create_topics()
    with place.worker(program=REPAIRED) as worker:
        place.produce("checkins", messages[:40], partition=0)
        produce_compressed(place, messages[40:80], codec, partition=0)
        place.produce("checkins", messages[80:], partition=1)
        sentence = f"topic {place.topic('checkins')} holds records compressed with {codec}"
        where = "the input (partition 0, offset 40: "
        wait_until(
            lambda: where + sentence in worker.get("/readyz")[1],
            within_s=60,
            what=lambda: f"{worker.get('/readyz')}; its log:\n{worker.log[-3000:]}",
        )
        assert "install the Python package cramjam" in worker.get("/readyz")[1]
        wait_until(lambda: count(worker, "read") == 80, within_s=30, what=lambda: worker.log[-3000:])
        assert worker.metric("shoal_kafka_trouble_total", operation="read input") > 1
        wait_until(lambda: worker.metric("shoal_unreadable_partitions") == 1, within_s=10, what="the metric")
        assert [sentence in line for line in worker.log.splitlines() if "input_unreadable" in line] == [True]
        assert worker.returncode is None
        assert worker.metric("shoal_kafka_up") == 1

        worker.send(signal.SIGURG)
        worker.wait_until_ready()
        wait_until(lambda: count(worker, "read") == 120, within_s=30, what=lambda: worker.log[-3000:])
        place.produce("checkins", messages[:1], partition=0)
        wait_until(lambda: count(worker, "read") == 121, within_s=30, what=lambda: worker.log[-3000:])
        wait_until(lambda: worker.metric("shoal_unreadable_partitions") == 0, within_s=10, what="the metric")
        assert worker.stop() == 0


def test_a_damaged_record_waits_until_it_is_deleted(apache_kafka: ApacheKafka) -> None:
    """
    A byte that has changed on the broker's disk: the partition is read up to there, and the worker says which record it
    is and lives on. When the record is deleted, the worker goes on behind it.
    """
    place, messages = Place(apache_kafka, SETTINGS), crowd(0, 1, people=15)
    place.create_topics()
    place.produce("checkins", messages[:40], partition=0)
    place.produce("checkins", messages[40:41], partition=0)
    place.produce("checkins", messages[41:80], partition=0)
    log = apache_kafka.log.parent / "data" / f"{place.topic('checkins')}-0" / "00000000000000000000.log"
    content = log.read_bytes()
    damaged = content.replace(messages[40][1], messages[40][1].replace(b"48.", b"49."))
    assert len(damaged) == len(content)
    assert damaged != content
    with log.open("r+b") as file:
        file.write(damaged)
    with place.worker(ready=False) as worker:
        told = (
            f"the input (partition 0, offset 40: topic {place.topic('checkins')} holds records that the Kafka client "
        )
        wait_until(lambda: told in worker.get("/readyz")[1], within_s=60, what=lambda: worker.log[-3000:])
        assert "(CorruptRecordException)" in worker.get("/readyz")[1]
        wait_until(lambda: count(worker, "read") == 40, within_s=30, what=lambda: worker.log[-3000:])
        place.delete_records("checkins", 41)
        worker.wait_until_ready()
        wait_until(lambda: count(worker, "read") == 79, within_s=30, what=lambda: worker.log[-3000:])
        assert worker.stop() == 0


@pytest.mark.parametrize("name", INTERNAL)
def test_a_topic_of_ours_by_a_codec_that_is_missing(
    apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """
    A topic that workers read, compressed by the broker with a codec that is missing: the worker ends with code 1, and
    names topic, codec and what to install. Topics that workers only write may have any.
    """
    monkeypatch.setenv("CODECS_MISSING", "1")
    place = Place(apache_kafka, SETTINGS)
    place.create_topics()
    compress(place, "anonymized", "zstd")
    with place.worker(program=REPAIRED) as worker:
        assert worker.stop() == 0
    compress(place, name, "lz4")
    with place.worker(program=REPAIRED, ready=False) as worker:
        said = last_words(worker)
    assert f"topic {place.topic(name)} has compression.type=lz4" in said
    assert "install the Python package cramjam" in said


def test_seals_by_a_codec_that_is_missing(apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Seals that were compressed before: the worker ends with code 1 and names the codec, not somebody's rights.
    """
    place = Place(apache_kafka, SETTINGS)
    place.create_topics()
    compress(place, "seals", "snappy")
    with place.worker() as worker:
        assert worker.stop() == 0
    compress(place, "seals", "producer")
    monkeypatch.setenv("CODECS_MISSING", "1")
    with place.worker(program=REPAIRED, ready=False) as worker:
        said = last_words(worker)
    assert f"topic {place.topic('seals')} holds records compressed with snappy" in said
    assert "install the Python package cramjam" in said
