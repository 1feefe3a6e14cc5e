"""Flows with noise on a real broker: what was drawn survives a crash, and nobody sees two draws of a window."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from core.windows.draw import Draw
from stream.formats.seals import seal_from_bytes
from tests.builders.feeds import SIZE_S, START_S, Messages
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, wait_until

pytest.importorskip("opendp", reason="the extra dp is not installed")
pytestmark = [pytest.mark.broker, pytest.mark.kafka]

N_WINDOWS = 6
SETTINGS = {
    "topics.fragments": "",
    "kafka.partitions": "1",
    "window.size": f"{SIZE_S}s",
    "window.idle_timeout": "3s",
    "window.allowed_lateness": "30s",
    "location.cell_m": "2000",
    "privacy.model": "flows",
    "privacy.noise": "laplace",
    "privacy.epsilon": "5",
    "privacy.epsilon_per_day": "1000",
}


def commuters(windows: range) -> Messages:
    """Sixty people who go from one of two places to the other one, and back, in each of some windows."""
    found: Messages = []
    for window in windows:
        for step in range(3):
            for user in range(60):
                at_s = START_S + window * SIZE_S + 120 * step + user
                lat = 48.2 + (user + step) % 2 / 20
                record = {"user": f"u{user}", "ts": at_s, "lat": lat, "lon": 16.3}
                found.append((b"u%d" % user, json.dumps(record).encode()))
    return found


def draws(place: Place) -> list[Draw]:
    """Every draw on the seals topic that was not removed."""
    live: dict[bytes | None, bytes | None] = {}
    for record in place.read("seals"):
        live[record.key] = record.value
    records = [seal_from_bytes(value) for value in live.values() if value is not None]
    return [record for record in records if isinstance(record, Draw)]


def n_drawn(place: Place) -> int:
    """How many windows something was ever drawn for: a draw is removed soon after its window has left."""
    values = [record.value for record in place.read("seals") if record.value is not None]
    return len({one.key for one in map(seal_from_bytes, values) if isinstance(one, Draw)})


def test_a_window_has_one_draw_whatever_happens(apache_kafka: ApacheKafka) -> None:
    """
    Workers are killed as soon as something is drawn, and others go on. Whatever was sent of a window, also twice, has
    the same bytes; what was spent is counted, and no draw is kept.
    """
    place = Place(apache_kafka, SETTINGS)
    place.create_topics()
    place.produce("checkins", commuters(range(N_WINDOWS - 1)))
    for n_before in range(2):
        with place.worker(ready=False) as worker:
            wait_until(
                lambda n=n_before: n_drawn(place) > n,  # type: ignore[misc]
                within_s=120,
                what=lambda: worker.log[-3000:],
                every_s=0.02,
            )
            worker.kill()
    # However much the others have released before their end, something is left to be drawn, and counted.
    place.produce("checkins", commuters(range(N_WINDOWS - 1, N_WINDOWS)))
    with place.worker(ready=False) as worker:
        wait_until(
            lambda: len({window["release"] for window in place.windows()}) == N_WINDOWS and not draws(place),
            within_s=120,
            what=lambda: worker.log[-3000:],
        )
        spent = [
            line for line in worker.get("/metrics")[1].splitlines() if line.startswith("shoal_epsilon_spent_total")
        ]
    sent: defaultdict[tuple[str, bytes | None], set[bytes | None]] = defaultdict(set)
    for topic in ("anonymized", "windows"):
        for record in place.read(topic):
            sent[topic, record.key].add(record.value)
    assert {len(values) for values in sent.values()} == {1}
    assert all(window["outcome"] == "released" and window["people"] is None for window in place.windows())
    assert len({window["points_released"] for window in place.windows()}) > 1  # sixty people each way, with noise
    assert 5 <= float(spent[0].split()[-1]) <= 5 * N_WINDOWS
