"""Promises over several windows on a real broker: what earlier windows released survives a crash, or is missed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.records.record import Kind
from core.windows.history import Roster
from stream.formats.seals import seal_from_bytes
from tests.builders.feeds import SIZE_S, START_S, Messages, assert_all_is_released_in_one_way
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, replay, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

N_WINDOWS = 8
HORIZON = 3
PEOPLE = 48
COMMON = {
    "kafka.partitions": "1",
    "window.size": f"{SIZE_S}s",
    "window.idle_timeout": "3s",
    "window.allowed_lateness": "30s",
    "privacy.k": "3",
    "privacy.horizon": str(HORIZON),
}
CHECKINS = COMMON | {"topics.fragments": "", "location.cell_m": "2000"}
SETTINGS = {
    "lkc": CHECKINS
    | {
        "privacy.model": "lkc",
        "privacy.m": "1",
        "privacy.sensitive_field": "ward",
        "privacy.sensitive_values": "surgery",
    },
    "least-loss": CHECKINS | {"privacy.model": "least-loss"},
    "mixing": COMMON | {"topics.checkins": "", "privacy.across": "mixing", "privacy.max_radius_m": "20000"},
}
KINDS = {"lkc": Kind.CHECKINS, "least-loss": Kind.CHECKINS, "mixing": Kind.FRAGMENTS}


def check_ins(first: int, n_windows: int) -> Messages:
    """People who stay, others who leave and come back; one in six has been in surgery."""
    found: Messages = []
    for window in range(first, first + n_windows):
        rng = np.random.default_rng(window)
        for user in np.sort(rng.choice(PEOPLE, 40, replace=False)).tolist():
            record = {
                "user": f"u{user}",
                "ts": START_S + window * SIZE_S + user,
                "lat": 48.2 + int(rng.integers(2)) / 20,
                "lon": 16.3,
                "ward": "surgery" if user % 6 == 0 else "none",
            }
            found.append((b"u%d" % user, json.dumps(record).encode()))
    return found


def fragments(first: int, n_windows: int) -> Messages:
    """People on a ring road, at speeds of their own; some are away for a window."""
    found: Messages = []
    for window in range(first, first + n_windows):
        there = np.random.default_rng(window).random(PEOPLE) < 0.9
        for step in range(6):
            for user in np.flatnonzero(there).tolist():
                at_s = window * SIZE_S + step * 120
                angle = 2 * math.pi * (user / PEOPLE + at_s * (1 + user % 4) / (SIZE_S * 12))
                point = [START_S + at_s, 48.2 + 0.02 * math.cos(angle), 16.3 + 0.03 * math.sin(angle)]
                found.append((b"u%d" % user, json.dumps({"user": f"u{user}", "points": [point]}).encode()))
    return found


FEEDS: dict[Kind, Callable[[int, int], Messages]] = {Kind.CHECKINS: check_ins, Kind.FRAGMENTS: fragments}


def rosters(place: Place) -> list[Roster]:
    """The rosters on the seals topic that were not removed."""
    live: dict[bytes | None, bytes | None] = {}
    for record in place.read("seals"):
        live[record.key] = record.value
    records = [seal_from_bytes(value) for value in live.values() if value is not None]
    return [record for record in records if isinstance(record, Roster)]


@pytest.mark.parametrize("promise", list(SETTINGS))
def test_windows_after_a_crash_are_those_of_a_replay(promise: str, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    A worker is killed in the middle of a feed, and another goes on: every window is released as without the crash,
    although each depends on those before it. Of what was released only the last windows are kept.
    """
    kind = KINDS[promise]
    messages = FEEDS[kind](0, N_WINDOWS)
    file = tmp_path / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    place = Place(apache_kafka, SETTINGS[promise])
    place.create_topics()
    summary, expected = replay(place, kind, [file], tmp_path / "out")
    assert (summary.windows_released, summary.windows_refused) == (N_WINDOWS, 0)
    place.produce(kind.value, messages)
    with place.worker(ready=False) as worker:
        wait_until(lambda: len(place.windows()) >= 3, within_s=120, what=lambda: worker.log[-3000:], every_s=0.05)
        worker.kill()
    with place.worker(ready=False) as worker:
        assert_all_is_released_in_one_way(place, [worker], expected)
        wait_until(
            lambda: len({one.key for one in rosters(place)}) == HORIZON - 1,
            within_s=30,
            what=lambda: worker.log[-3000:],
        )


def test_a_shard_without_records_forgets_when_the_feed_goes_on(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    One city's records end after three windows. When the watermark, which another city moves on, has passed the windows
    that depend on them, their rosters are removed; every window is released as by a replay, and no other one.
    """

    def elsewhere(message: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        record = json.loads(message[1])
        ((at, lat, lon),) = record["points"]
        user = f"other {record['user']}"
        return user.encode(), json.dumps({"user": user, "points": [[at, lat, lon + 20]]}).encode()

    def at_s(message: tuple[bytes, bytes]) -> float:
        return float(json.loads(message[1])["points"][0][0])

    ended, going_on = fragments(0, 3), [elsewhere(message) for message in fragments(0, N_WINDOWS)]
    messages = sorted([*ended, *going_on], key=at_s)
    file = tmp_path / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    place = Place(apache_kafka, SETTINGS["mixing"] | {"shard.kind": "region", "shard.h3_resolution": "1"})
    place.create_topics()
    summary, expected = replay(place, Kind.FRAGMENTS, [file], tmp_path / "out")
    assert (summary.windows, summary.windows_released, summary.late) == (N_WINDOWS + 3, N_WINDOWS + 3, 0)
    n_first = 6
    first = [message for message in messages if at_s(message) < START_S + n_first * SIZE_S]
    place.produce("fragments", first)
    with place.worker(ready=False) as worker:
        wait_until(lambda: len(place.windows()) == 3 + n_first, within_s=120, what=lambda: worker.log[-3000:])
        # Ingest takes in all of these at once, so the watermark reaches the oldest.
        place.produce("fragments", messages[len(first) :])
        assert_all_is_released_in_one_way(place, [worker], expected)
        wait_until(
            lambda: (
                [one.key.start_ms // 1000 - START_S for one in rosters(place)]
                == [window * SIZE_S for window in range(N_WINDOWS - HORIZON + 1, N_WINDOWS)]
            ),
            within_s=30,
            what=lambda: worker.log[-3000:],
        )
