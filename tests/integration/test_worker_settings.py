"""Workers whose settings differ: which are in force, how they change while records wait, and what no change loses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders.feeds import ONE_SHARD, crowd, expected, wait_for_windows
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, wait_until
from tests.paths import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.kafka]


def approve(place: Place, more: dict[str, Any]) -> str:
    """Run ``shoal approve`` with further settings, as the chart does before an upgrade."""
    values = {f"SHOAL_{name.replace('.', '__').upper()}": str(value) for name, value in (place.values() | more).items()}
    done = subprocess.run(
        [sys.executable, "-m", "stream.cli.main", "approve"],
        cwd=ROOT,
        env=values | {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def letters(place: Place) -> list[dict[str, Any]]:
    """Return the dead letters."""
    return [json.loads(record.value or b"") for record in place.read("dead_letters")]


def wait_for_waiting(worker: Worker, n_rows: int) -> None:
    """Wait until so many records wait in open windows."""
    wait_until(
        lambda: worker.metric("shoal_buffered_rows") == n_rows,
        within_s=60,
        what=lambda: f"{n_rows} rows, not {worker.metric('shoal_buffered_rows')}:\n{worker.log[-2000:]}",
    )


CHANGES = {
    "k": {"privacy.k": "7"},
    "model": {"privacy.model": "least-loss"},
    "secret": {"privacy.secret": "another secret of the tests, as long"},
    "cells": {"location.cell_m": "1000"},
    "longer windows": {"window.size": "1h"},
    "shorter windows": {"window.size": "5m"},
    "shards": {"shard.kind": "user", "shard.cohorts": "1"},
}


QUICK = ("secret", "longer windows")
"""Changes for which records are located again, or go to other windows; the others are like one of these."""


class TestAWorkerWithOtherSettings:
    def test_does_not_start_while_others_run(self, apache_kafka: ApacheKafka) -> None:
        """
        It ends with one sentence: which settings differ, and what to do; the one that runs does not notice.
        """
        place = Place(apache_kafka, ONE_SHARD)
        place.create_topics()
        with place.worker() as running:
            with place.worker({"privacy.k": "7", "location.cell_m": "1000"}, ready=False) as other:
                assert other.wait(60) == 1
                (sentence,) = [line for line in other.log.splitlines() if "other settings are in force" in line]
            assert (
                "location.cell_m is 500.0 in force and 1000.0 in the new settings, "
                "privacy.k is 5 in force and 7 in the new settings" in sentence
            )
            assert "shoal approve" in sentence
            place.produce("checkins", crowd(0, 2, people=60, visits=4))
            wait_for_windows(place, running, 1)
            assert running.returncode is None
        assert [window["outcome"] for window in place.windows()] == ["released"]

    def test_starts_when_nobody_runs(self, apache_kafka: ApacheKafka) -> None:
        """
        Without approval; and with the earlier settings again.
        """
        place = Place(apache_kafka, ONE_SHARD)
        place.create_topics()
        for more in ({}, {"privacy.k": "7"}, {}):
            with place.worker(more) as worker:
                assert worker.stop() == 0

    @pytest.mark.parametrize(
        "what", [pytest.param(what, marks=() if what in QUICK else pytest.mark.deep) for what in CHANGES]
    )
    def test_replaces_the_others_and_loses_nothing(self, apache_kafka: ApacheKafka, tmp_path: Path, what: str) -> None:
        """
        After approval the worker that runs ends by itself. What it had sealed it has released under its own settings;
        what waited for an open window is released under the new ones, as if it had never been read under others.
        """
        place = Place(apache_kafka, ONE_SHARD | {"window.idle_timeout": "10m"})
        new = Place(apache_kafka, place.given | CHANGES[what])
        before, waiting, after = (crowd(n, 1, people=60, visits=4) for n in range(3))
        place.create_topics()
        with place.worker() as old:
            place.produce("checkins", before)
            wait_for_waiting(old, len(before))
            place.produce("checkins", waiting)
            wait_for_windows(place, old, 1)
            wait_for_waiting(old, len(waiting))
            out = place.released()
            assert "approved: " in approve(place, CHANGES[what])
            with place.worker(CHANGES[what] | {"window.idle_timeout": "3s"}) as worker:
                assert old.wait(60) == 0
                assert "settings_replaced" in old.log
                place.produce("checkins", after)
                wanted = expected(new, [*waiting, *after], tmp_path)
                wait_for_windows(place, worker, 1 + len(wanted["windows"]))
                assert worker.stop() == 0
        assert letters(place) == []
        released = place.released()
        for topic, values in out.items():
            assert values.items() <= released[topic].items()
            assert {key: value for key, value in released[topic].items() if key not in values} == wanted[topic]
        assert all(window["outcome"] == "released" for window in place.windows())
