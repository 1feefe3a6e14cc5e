"""Cases of others on topics: forms of messages, one topic for each device group, a topic with months of history."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

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
    wait_until(lambda: place.windows() != [], within_s=180, what=lambda: worker.log[-3000:])
    (one,) = place.windows()
    assert (one["outcome"], place.read("dead_letters")) == ("released", [])
    return one["people"], one["points_released"]


@pytest.mark.parametrize(
    "written",
    [pytest.param("{0}.a,{0}.b", id="list"), pytest.param(r"^{0}\..*", id="pattern", marks=pytest.mark.deep)],
)
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


class Case(NamedTuple):
    """A file of messages, and the settings that the documentation recommends for it."""

    file: str
    settings: dict[str, str]
    kind: str = "checkins"
    filtered: int = 0


IN_KEY = {"fields.user": "kafka:key"}
FORMS = [
    Case("connect-envelope/messages.ndjson", {"input.records": "payload"}),
    Case("connect-envelope/messages.ndjson", {"input.preset": "connect-json"}),
    Case("epoch-microseconds/records.ndjson", {"time.unit": "us"}),
    Case("geojson-features/features.ndjson", {"input.preset": "geojson"}),
    Case("geojson-features/points.geojson", {"input.preset": "geojson"}),
    Case("kafka-user-in-key/messages.ndjson", IN_KEY),
    Case("latlon-e7/records.ndjson", {"input.degrees_per_unit": "1e-7"}),
    Case("numbers-as-text/owntracks.ndjson", {"input.preset": "owntracks"}),
    Case("numbers-as-text/records.ndjson", {"input.numbers_as_text": "true"}),
    Case("overland-batch/array.ndjson", {}),
    Case("overland-batch/messages.ndjson", {"input.preset": "overland"}),
    Case("owntracks-one-point/records.ndjson", {"input.preset": "owntracks"}, kind="fragments", filtered=2),
    Case("points-as-objects/records.ndjson", {}, kind="fragments"),
    Case("traccar-nested/records.ndjson", {"input.preset": "traccar"}),
    Case("traccar-nested/records.ndjson", {"input.preset": "traccar"}, kind="fragments"),
]


def messages_of(file: Path) -> list[tuple[bytes | None, bytes | None]]:
    """Return the messages of a case: one a line, with or without its key, or the file as one message."""
    if file.name == "messages.ndjson":
        return messages(file)
    values = file.read_bytes().splitlines() if file.suffix == ".ndjson" else [file.read_bytes()]
    return [(None, value) for value in values]


def assert_read(broker: ApacheKafka, cases: list[Case]) -> None:
    """Let a worker for each case, all side by side, read its messages: six people are released, and their points."""
    places = []
    with contextlib.ExitStack() as stack:
        for case in cases:
            other = {"checkins": "fragments", "fragments": "checkins"}[case.kind]
            given = {name: value for name, value in SETTINGS.items() if not name.startswith("topics.")}
            place = Place(broker, given | {f"topics.{other}": ""} | case.settings)
            place.create_topics()
            place.produce(case.kind, messages_of(CASES / case.file))
            places.append((case, place, stack.enter_context(place.worker(ready=False))))
        for case, place, worker in places:
            people, points = release(place, worker)
            assert people == 6, case
            assert case.kind == "fragments" or points == 12, case
            assert worker.metric("shoal_records_total", kind=case.kind, outcome="filtered") == case.filtered, case


def test_the_person_is_in_the_key(apache_kafka: ApacheKafka) -> None:
    """
    A setting says so: 6 people, 12 points.
    """
    assert_read(apache_kafka, [case for case in FORMS if case.settings is IN_KEY])


@pytest.mark.deep
def test_messages_of_every_form(apache_kafka: ApacheKafka) -> None:
    """
    Each with its settings: 6 people, all of their points, and not one dead letter.
    """
    assert_read(apache_kafka, FORMS)
