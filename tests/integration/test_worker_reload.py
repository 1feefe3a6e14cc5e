"""A worker whose settings change while it runs: safe ones take effect, others wait, and passwords are rotated."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream.kafka.acls import acls
from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError
from tests.cluster.secured_kafka import PASSWORD, PRINCIPALS, SecuredKafka, secured_kafka
from tests.cluster.workers import Place, Worker, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

WITHIN_S = 150.0
START_S = 1_700_000_100
GIVEN: dict[str, Any] = {"topics.fragments": "", "window.idle_timeout": "1s", "kafka.partitions": 1}


def check_ins(window: int) -> list[tuple[None, bytes]]:
    """Six people in one window."""
    start_s = START_S + window * 900
    told = [{"user": f"u{i}", "ts": start_s + i, "lat": 48.2, "lon": 16.3} for i in range(6)]
    return [(None, json.dumps(one).encode()) for one in told]


def lines(worker: Worker, event: str) -> list[str]:
    return [line for line in worker.log.splitlines() if event in line]


def wait_for(worker: Worker, event: str, n: int = 1) -> str:
    """Wait until a line was logged so many times, and return the last one."""
    wait_until(lambda: len(lines(worker, event)) >= n, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
    return lines(worker, event)[-1]


def test_a_settings_file_that_changes(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    The page is turned on and off at once; k waits, and windows keep the k of the start; a wrong file changes nothing.
    """
    place, file = Place(apache_kafka, GIVEN), tmp_path / "settings.yaml"
    place.create_topics()
    file.write_text("web: {page: false}")
    with place.worker(program=("stream.cli.main", "worker", "--config", str(file))) as worker:
        assert "the live page is off" in worker.get("/")[1]
        file.write_text(yaml.safe_dump({"web": {"page": True}, "privacy": {"k": 7}}))
        assert "['web.page']" in wait_for(worker, "settings_reloaded")
        assert "['privacy.k']" in wait_for(worker, "settings_wait_for_restart")
        assert "<!doctype html>" in worker.get("/")[1]
        place.produce("checkins", check_ins(0))
        wait_until(lambda: len(place.windows()) == 1, within_s=WITHIN_S, what=lambda: worker.log[-3000:], every_s=0.5)
        (window,) = place.windows()
        assert (window["outcome"], window["parameters"]["k"]) == ("released", 5)

        file.write_text("privacy: {k: one}")
        assert "privacy.k is 'one'" in wait_for(worker, "settings_not_reloaded")
        worker.send(signal.SIGHUP)
        wait_for(worker, "settings_not_reloaded", 2)
        assert "<!doctype html>" in worker.get("/")[1]

        file.write_text("web: {page: false}")
        wait_for(worker, "settings_reloaded", 2)
        assert "the live page is off" in worker.get("/")[1]
        assert worker.get("/readyz")[0] == 200
        assert worker.stop() == 0


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[SecuredKafka]:
    """A Kafka that wants passwords, for one test, which changes one."""
    try:
        with secured_kafka(tmp_path) as kafka:
            yield kafka
    except KafkaUnavailableError as missing:
        pytest.skip(str(missing))


def test_a_password_that_is_rotated(secured: SecuredKafka, tmp_path: Path) -> None:
    """
    The file with the password changes, then every connection breaks: the worker comes back with the new password,
    releases the next window, and shows neither password.
    """
    way, new = "SCRAM-SHA-512", "the next word of the tests"
    place, file = Place(secured.kafka, GIVEN), tmp_path / "password"
    place.create_topics()
    secured.allow(acls(place.settings, {"worker": PRINCIPALS[way]}, consumer_group="nobody"))
    file.write_text(f"{PASSWORD}\n")
    given = {name: value for name, value in secured.settings(way).items() if name != "kafka.sasl_password"}
    with place.worker(given | {"kafka.sasl_password_file": file}) as worker:
        secured.kafka.set_password("by-scram-sha-512", new)
        file.write_text(f"{new}\n")
        assert "kafka.sasl_password'" in wait_for(worker, "settings_reloaded")
        secured.kafka.stop()
        secured.kafka.start()
        place.produce("checkins", check_ins(0))
        wait_until(lambda: len(place.windows()) == 1, within_s=WITHIN_S, what=lambda: worker.log[-3000:], every_s=0.5)
        worker.wait_until_ready()
        assert worker.stop() == 0
        assert PASSWORD not in worker.log
        assert new not in worker.log
