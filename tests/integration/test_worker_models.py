"""Each model of check-ins on a real broker: what a worker releases is what a replay releases, byte for byte."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.places.locate import MetricGrid
from core.records.record import Kind
from tests.builders.feeds import ONE_SHARD, SIZE_S, START_S, Messages, assert_all_is_released_in_one_way
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, replay

LAT, LON = 48.2, 16.3
GRID = MetricGrid(float(ONE_SHARD["location.cell_m"]))
(SENSITIVE,), _, _ = GRID.describe(GRID.locate(np.array([LAT]), np.array([LON]), [None])[0])
"""The cell of one of the places."""

PEOPLE = 40
N_WINDOWS = 2

AGE = {"privacy.attributes.age": "0..120"}
WARD = {"privacy.sensitive_field": "ward", "privacy.sensitive_values": "surgery"}
MODELS: dict[str, dict[str, Any]] = {
    "least-loss": {"privacy.max_suppressed": "10"},
    "auto": {},
    "zga": {"privacy.sensitive_locations": SENSITIVE},
    "sga": {"privacy.clusters": "2"},
    "lm-anon": {},
    "lkc": WARD | {"privacy.time_slot": "5m"},
    "p2ka": {},
    "rum-bound": AGE | WARD | {"privacy.sensitive_locations": SENSITIVE},
    "tum-bound": AGE | {"privacy.max_loss": "0.9"},
    "sets-apriori": {},
    "sets-lra": {"privacy.people_per_part": "12"},
    "sets-vpa": {},
    "coat": {"privacy.constraints": "level:1", "privacy.suppression_percent": "50"},
    "pcta": {"privacy.constraints": "level:1", "privacy.suppression_percent": "50"},
    "disassociation": {"privacy.largest_cluster": "12"},
    "flows": {"privacy.max_suppressed_trips": "90"},
}
"""Settings of each model beside those of all."""


def crowd() -> Messages:
    """Check-ins of a small crowd over some windows, in the order of their times, with an age and a ward."""
    found: Messages = []
    for n in range(N_WINDOWS):
        for step in range(3):
            for user in range(PEOPLE):
                record: dict[str, object] = {
                    "user": f"u{user}",
                    "ts": START_S + n * SIZE_S + 240 * step + user,
                    "lat": LAT + (user + step * (user % 3)) % 2 / 100,
                    "lon": LON + (user + n) % 3 / 100,
                    "age": 20 + user,
                    "ward": "surgery" if user % 10 == 0 else "none",
                }
                found.append((b"u%d" % user, json.dumps(record).encode()))
    return found


@pytest.mark.kafka
def test_every_model_releases_what_a_replay_releases(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    A worker for each model, all side by side, each with topics of its own: what two windows of a crowd come to is the
    same as in a replay, and so are the attributes and sensitive fields that some of them read.
    """
    messages = crowd()
    file = tmp_path / "feed.ndjson"
    file.write_bytes(b"".join(value + b"\n" for _, value in messages))
    places = {
        model: Place(apache_kafka, ONE_SHARD | {"privacy.model": model, "privacy.m": "2"} | given)
        for model, given in MODELS.items()
    }
    with contextlib.ExitStack() as stack:
        workers = {}
        for model, place in places.items():
            place.create_topics()
            place.produce("checkins", messages)
            workers[model] = stack.enter_context(place.worker(ready=False))
        for model, place in places.items():
            summary, expected = replay(place, Kind.CHECKINS, [file], tmp_path / model)
            assert (summary.late, summary.rejected) == (0, 0), model
            assert summary.windows_released == N_WINDOWS, (model, summary)
            assert_all_is_released_in_one_way(place, [workers[model]], expected)
            assert {window["model"] for window in place.windows()} == {model}
        for model, worker in workers.items():
            assert worker.returncode is None, f"{model}: {worker.log[-3000:]}"
            shown = json.loads(worker.get("/api/windows")[1])["windows"]
            assert [window["outcome"] for window in shown] == ["released"] * N_WINDOWS, model
