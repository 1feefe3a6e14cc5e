"""Cells that join where people are few, and silence about the rest, on a real broker and across a crash."""

from __future__ import annotations

import json
import random
from pathlib import Path

import h3
import pytest

from core.records.record import Kind
from tests.builders.feeds import assert_all_is_released_in_one_way
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, replay, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

START_S = 1_700_002_800  # where an hour begins
N_WINDOWS = 8
REGION = h3.latlng_to_cell(48.2, 16.4, 3)
CELLS = sorted(
    cell for cell in h3.cell_to_children(REGION, 6) if h3.latlng_to_cell(*h3.cell_to_latlng(cell), 3) == REGION
)
"""Those whose middle is inside: a cell's children stand out a little."""

FAR = h3.latlng_to_cell(10.0, 10.0, 6)
SETTINGS = {
    "kafka.partitions": "1",
    "topics.fragments": "",
    "window.size": "1h",
    "window.idle_timeout": "3s",
    "location.kind": "h3",
    "privacy.k": "3",
    "shard.kind": "region",
    "shard.h3_resolution": "3",
    "shard.finest_resolution": "6",
    "release.withheld": "silent",
}


def feed() -> list[tuple[bytes, bytes]]:
    """In every window: two crowded cells, a few people scattered in the region, and two people in another region."""
    chance = random.Random(3)
    found = []
    for window in range(N_WINDOWS):
        people = [(f"a{i}", CELLS[0]) for i in range(5)] + [(f"b{i}", CELLS[-1]) for i in range(4)]
        people += [(f"c{i}", chance.choice(CELLS[1:-1])) for i in range(6)] + [(f"d{i}", FAR) for i in range(2)]
        for i, (user, cell) in enumerate(people):
            lat, lon = h3.cell_to_latlng(cell)
            record = {"user": user, "ts": START_S + 3600 * window + i, "lat": lat, "lon": lon}
            found.append((user.encode(), json.dumps(record).encode()))
    return found


def test_cells_are_those_of_a_replay_and_nothing_is_said_of_the_others(
    apache_kafka: ApacheKafka, tmp_path: Path
) -> None:
    """
    A worker is killed between the cells of its windows, and another goes on: each cell is released in one way, and
    no message names a cell with fewer than k people, or says that there is one.
    """
    messages = feed()
    file = tmp_path / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    place = Place(apache_kafka, SETTINGS)
    place.create_topics()
    place.produce("checkins", messages)
    with place.worker(ready=False) as worker:
        wait_until(place.windows, within_s=120, what=lambda: worker.log[-3000:], every_s=0.05)
        worker.kill()
    summary, expected = replay(place, Kind.CHECKINS, [file], tmp_path / "out")
    assert summary.windows_released >= 3 * N_WINDOWS
    assert (summary.windows_withheld, summary.withheld_records) == (N_WINDOWS, 2 * N_WINDOWS)
    with place.worker(ready=False) as worker:
        assert_all_is_released_in_one_way(place, [worker], expected)
        wait_until(
            lambda: worker.metric("shoal_windows_total", kind="checkins", outcome="withheld") >= 1,
            within_s=60,
            what=lambda: worker.log[-3000:],
        )
    windows = place.windows()
    assert {window["outcome"] for window in windows} == {"released"}
    shards = {window["shard"] for window in windows}
    assert {f"{REGION}/{cell}" for cell in (CELLS[0], CELLS[-1])} <= shards
    assert {shard.partition("/")[0] for shard in shards} == {REGION}
    written = json.dumps(windows) + "".join(str(record.value) for record in place.read("anonymized"))
    assert FAR not in written
