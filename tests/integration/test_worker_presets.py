"""Feeds in the form of each preset on a real broker: a worker releases what a replay of the same messages releases."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from core.records.record import INPUT_KINDS, Kind
from stream.formats.presets.registry import PRESETS
from tests.builders.feeds import assert_all_is_released_in_one_way
from tests.builders.preset_feeds import messages
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, replay

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

PEOPLE = 6
ON_TOPICS = {
    name: example for name, preset in PRESETS.items() for example in preset.examples[:1] if not example.is_file
}
SETTINGS = {
    "kafka.partitions": "1",
    "shard.kind": "single",
    "window.size": "1h",
    "window.idle_timeout": "3s",
    "location.cell_m": "1000",
    "privacy.k": "5",
    "privacy.delta_m": "3000",
}


def kinds_of(name: str) -> Sequence[Kind]:
    return ON_TOPICS[name].kinds


def place_for(broker: ApacheKafka, name: str) -> Place:
    unused = {f"topics.{kind.value}": "" for kind in INPUT_KINDS if kind not in kinds_of(name)}
    return Place(broker, SETTINGS | unused | {f"{kind.value}.input.preset": name for kind in kinds_of(name)})


def files(name: str, folder: Path) -> Iterator[Path]:
    """Write the messages of a feed as files: one with all of them, or one for each if they are not JSON."""
    folder.mkdir()
    values = [value for _, value in messages(name, ON_TOPICS[name], PEOPLE)]
    if name == "gtfs-realtime":
        for i, value in enumerate(values):
            (folder / f"{i}.pb").write_bytes(value)
    else:
        (folder / "feed.ndjson").write_bytes(b"".join(value + b"\n" for value in values))
    yield from sorted(folder.iterdir())


def assert_released(broker: ApacheKafka, names: Sequence[str], folder: Path) -> None:
    """Let a worker for each preset, all side by side, read feeds of both kinds, and compare with replays of them."""
    places = {name: place_for(broker, name) for name in names}
    with contextlib.ExitStack() as stack:
        workers = {}
        for name, place in places.items():
            place.create_topics()
            for kind in kinds_of(name):
                place.produce(kind.value, messages(name, ON_TOPICS[name], PEOPLE))
            workers[name] = stack.enter_context(place.worker(ready=False))
        for name, place in places.items():
            expected: dict[str, dict[bytes, bytes]] = defaultdict(dict)
            written = list(files(name, folder / name))
            for kind in kinds_of(name):
                summary, found = replay(place, kind, written, folder / f"{name}-{kind}")
                assert (summary.rejected, summary.trajectories_released) == (0, PEOPLE), (name, kind, summary)
                for topic, contents in found.items():
                    expected[topic] |= contents
            assert_all_is_released_in_one_way(place, [workers[name]], expected)
        for name, worker in workers.items():
            assert worker.returncode is None, f"{name}: {worker.log[-3000:]}"


@pytest.mark.deep
def test_lists_and_envelopes(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    Batches of one person, changes of a table, and whole journeys: check-ins and fragments are what a replay makes.
    """
    assert_released(apache_kafka, ["overland", "debezium", "mf-json"], tmp_path)


@pytest.mark.deep
def test_every_preset(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    So they are for every preset of messages.
    """
    assert_released(apache_kafka, list(ON_TOPICS), tmp_path)
