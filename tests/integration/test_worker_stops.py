"""Stops of fragments on a real broker: beside their trajectories or alone, and carried over crashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.records.record import Kind
from tests.builders.feeds import SIZE_S, START_S, Messages, assert_all_is_released_in_one_way
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, replay, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

N_WINDOWS = 8
PEOPLE = 24
SETTINGS = {
    "topics.checkins": "",
    "kafka.partitions": "1",
    "window.size": f"{SIZE_S}s",
    "window.idle_timeout": "3s",
    "window.allowed_lateness": "30s",
    "privacy.k": "3",
    "privacy.delta_m": "2000",
    "privacy.across": "none",
    "stops.of_fragments": "beside",
    "stops.min_duration": "20m",
    "stops.location.cell_m": "1000",
}


def commuters() -> Messages:
    """People who stay for half an hour at one of three places, drive on, and stay again; a point every two minutes."""
    found: Messages = []
    for step in range(N_WINDOWS * SIZE_S // 120):
        at_s = step * 120
        for user in range(PEOPLE):
            phase_s = at_s + 60 * (user % 7)
            leg, since_s = divmod(phase_s, 2400)
            driven = max(0.0, (since_s - 1800) / 600)
            lat = 48.2 + 0.05 * ((leg + user) % 3 + driven)
            point = [START_S + at_s, lat + user / 1e5, 16.3]
            found.append((b"u%d" % user, json.dumps({"user": f"u{user}", "points": [point]}).encode()))
    return found


def test_stops_are_released_beside_trajectories_also_after_a_crash(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    A worker is killed while people stop, and another goes on: it releases the same stops as a replay of the whole feed,
    although stops last longer than a window, and the same trajectories as without stops.
    """
    messages = commuters()
    file = tmp_path / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    place = Place(apache_kafka, SETTINGS)
    place.create_topics()
    wanted: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}}
    for kind in (Kind.FRAGMENTS, Kind.STOPS):
        summary, found = replay(place, kind, [file], tmp_path / kind)
        assert summary.windows_refused == 0
        assert summary.windows_released >= 4
        for topic, values in found.items():
            wanted[topic] |= values
    place.produce("fragments", messages)
    with place.worker(ready=False) as worker:
        wait_until(lambda: len(place.windows()) >= 4, within_s=120, what=lambda: worker.log[-3000:], every_s=0.05)
        worker.kill()
    with place.worker(ready=False) as worker:
        assert_all_is_released_in_one_way(place, [worker], wanted)


def test_fragments_can_be_released_as_stops_alone(apache_kafka: ApacheKafka) -> None:
    """
    No trajectory leaves, every point is counted once, and a bad record has one dead letter.
    """
    messages = commuters()
    place = Place(apache_kafka, SETTINGS | {"stops.of_fragments": "only"})
    place.create_topics()
    place.produce("fragments", [(None, b"not a record"), *messages])
    with place.worker(ready=False) as worker:
        wait_until(lambda: len(place.windows()) >= 4, within_s=120, what=lambda: worker.log[-3000:], every_s=0.2)
        assert {window["kind"] for window in place.windows()} == {"stops"}
        assert {window["model"] for window in place.windows()} == {"seqanon"}
        (letter,) = place.read("dead_letters")
        assert json.loads(letter.value or b"")["reason"] == "not_json"
        buffered = worker.metric("shoal_records_total", kind="stops", outcome="buffered")
        assert buffered == len(messages)
        wait_until(
            lambda: worker.metric("shoal_stops_total", outcome="released") > 0,
            within_s=60,
            what=lambda: worker.log[-3000:],
        )
