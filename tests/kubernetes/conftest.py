"""A cluster for the tests of this folder, started once and only when needed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError
from tests.cluster.workers import Place
from tests.helm.conftest import helm, helm3, helm4
from tests.helm.programs import Helm
from tests.kubernetes.changes.changes import SETTINGS
from tests.kubernetes.changes.run import Row, Run, table
from tests.kubernetes.chart_release import RESTRICTED, ChartRelease
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.kubelet.container import PACKAGES
from tests.kubernetes.kubelet.network import NetworkMissingError
from tests.kubernetes.pods_fleet import Pods
from tests.kubernetes.programs import ProgramsMissingError
from tests.paths import ROOT

__all__ = ["cluster", "helm", "helm3", "helm4", "kafka", "rows", "run", "two_versions"]

RATE = int(os.environ.get("RATE") or 1000)
"""Records a second while Pods are changed."""


@pytest.fixture(scope="session")
def cluster(helm4: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for all tests: take a namespace of your own."""
    missing = ""
    try:
        running = Cluster(tmp_path_factory.mktemp("cluster"), helm4)
        with running:
            yield running
    except (ProgramsMissingError, NetworkMissingError) as error:
        missing = str(error)
    if missing and os.environ.get("SHOAL_REQUIRE_CLUSTER") == "1":
        pytest.fail(f"SHOAL_REQUIRE_CLUSTER=1, but {missing}", pytrace=False)
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="module")
def kafka(cluster: Cluster) -> Iterator[ApacheKafka]:
    """A Kafka that Pods reach."""
    try:
        running = cluster.kafka().start()
    except KafkaUnavailableError as missing:
        pytest.skip(str(missing))
    yield running
    running.close()


@pytest.fixture(scope="session")
def two_versions(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Images of Shoal with the same code and other bytes."""
    other = tmp_path_factory.mktemp("version")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, other / package)
    for module in other.rglob("*.py"):
        if "kernels" not in module.relative_to(other).parts:  # compiling them again would take minutes
            module.write_text(module.read_text(encoding="utf-8") + "\n# Another version.\n", encoding="utf-8")
    cluster.add_image("shoal:1")
    cluster.add_image("shoal:2", other)
    return "shoal:1", "shoal:2"


@pytest.fixture(scope="module")
def run(
    request: pytest.FixtureRequest, cluster: Cluster, two_versions: tuple[str, str], kafka: ApacheKafka, helm4: Helm
) -> Iterator[Run]:
    """Three workers as Pods, one after another changed by the tests of a module, in their order."""
    assert two_versions
    place = Place(kafka, SETTINGS)
    release = ChartRelease(cluster, helm4, _name_of(request).replace("_", "-"), RESTRICTED)
    yield Run(place, Pods(cluster, release, place, cluster.kafka_for_pods(kafka)), rate=RATE, say=print)
    release.run("uninstall")


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> Iterator[list[Row]]:
    """What the changes of a module cost; written as a table in ``build`` after the last."""
    found: list[Row] = []
    yield found
    file = ROOT / "build" / f"{_name_of(request)}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in table(found)))


def _name_of(request: pytest.FixtureRequest) -> str:
    name: str = request.module.__name__
    return name.rpartition("test_")[2]
