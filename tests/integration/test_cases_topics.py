"""Cases of others about topics: one topic for each device group, and a topic with months of history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.brokers import ApacheKafka, unique
from tests.cluster.workers import Place, Worker, produce, wait_until
from tests.paths import CASES

pytestmark = [
    pytest.mark.broker,
    pytest.mark.kafka,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"the cases of other systems are not at hand: {CASES}"),
]

SETTINGS = {
    "topics.fragments": "",
    "kafka.partitions": "1",
    "window.size": "1h",
    "window.idle_timeout": "3s",
    "location.cell_m": "1000",
    "privacy.k": "5",
}


def messages(file: Path) -> list[tuple[bytes | None, bytes | None]]:
    """Return the keys and values of a case's file."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [(None if one["key"] is None else one["key"].encode(), one["value"].encode()) for one in lines]


def release(place: Place, worker: Worker) -> tuple[int, int]:
    """Wait for the one release, and return its people and points."""
    wait_until(lambda: place.windows() != [], within_s=60, what=lambda: worker.log[-3000:])
    (one,) = place.windows()
    assert (one["outcome"], place.read("dead_letters")) == ("released", [])
    return one["people"], one["points_released"]


@pytest.mark.parametrize("written", ["{0}.a,{0}.b", r"^{0}\..*"], ids=["list", "pattern"])
def test_one_topic_for_each_group(apache_kafka: ApacheKafka, written: str) -> None:
    """
    Three people on each of two topics are one feed and one release: 6 people, 12 points.
    """
    gps = unique("gps")
    given: dict[str, Any] = SETTINGS | {"topics.checkins": f"{gps}.a,{gps}.b"}
    place = Place(apache_kafka, given)
    place.create_topics()
    for name in ("a", "b"):
        produce(apache_kafka, f"{gps}.{name}", messages(CASES / "kafka-topic-pattern" / f"{name}.ndjson"))
    with place.worker({"topics.checkins": written.format(gps)}) as worker:
        assert release(place, worker) == (6, 12)


def test_months_of_history(apache_kafka: ApacheKafka) -> None:
    """
    With `kafka.start: latest` nothing that was there is read or rejected; the same records, produced afterwards, are
    released: 6 people, 12 points.
    """
    place = Place(apache_kafka, SETTINGS | {"kafka.start": "latest"})
    place.create_topics()
    history = messages(CASES / "kafka-start-at-end" / "messages.ndjson")
    place.produce("checkins", history)
    with place.worker() as worker:
        place.produce("checkins", history)
        assert release(place, worker) == (6, 12)
        assert worker.metric("shoal_records_total", kind="checkins", outcome="read") == len(history)
