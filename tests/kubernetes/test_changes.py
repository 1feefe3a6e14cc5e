"""Pods on a real Kafka are changed while records arrive: each change costs no more than it may."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place
from tests.helm.programs import Helm
from tests.kubernetes.changes.changes import CHANGES, SETTINGS, Change
from tests.kubernetes.changes.run import Row, Run, table
from tests.kubernetes.chart_release import RESTRICTED, ChartRelease
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.kubelet.container import PACKAGES
from tests.kubernetes.pods_fleet import Pods
from tests.paths import ROOT

pytestmark = pytest.mark.cluster

TABLE = ROOT / "build" / "changes.md"

RATE = int(os.environ.get("RATE") or 1000)
"""Records a second."""


def other_bytes(folder: Path) -> Path:
    """Copy Shoal's code with a comment more in each module; kernels stay, because compiling them takes minutes."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)
    for module in folder.rglob("*.py"):
        if "kernels" not in module.relative_to(folder).parts:
            module.write_text(module.read_text(encoding="utf-8") + "\n# Another version.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(cluster: Cluster, kafka: ApacheKafka, helm4: Helm, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three workers as Pods, one after another changed by the tests of this module, in their order."""
    cluster.add_image("shoal:1")
    cluster.add_image("shoal:2", other_bytes(tmp_path_factory.mktemp("version")))
    place = Place(kafka, SETTINGS)
    release = ChartRelease(cluster, helm4, "changes", RESTRICTED)
    return Run(place, Pods(cluster, release, place, cluster.kafka_for_pods(kafka)), rate=RATE, say=print)


@pytest.fixture(scope="module")
def rows() -> Iterator[list[Row]]:
    """What the changes cost; written as a table after the last."""
    found: list[Row] = []
    yield found
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("".join(f"{line}\n" for line in table(found)))


@pytest.mark.parametrize("change", CHANGES, ids=[one.name for one in CHANGES])
def test_a_change_costs_what_it_may(run: Run, rows: list[Row], change: Change) -> None:
    """
    Every record is in one count, nothing is released twice, no worker fails, and windows are withheld and records
    turned away only for the reasons that the change may have.
    """
    row = run.make(change)
    rows.append(row)
    assert row.too_much() == []
    assert row.windows["released"] > 0
