"""A cluster for the tests of this folder, started once and only when needed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError
from tests.helm.conftest import helm, helm3, helm4
from tests.helm.programs import Helm
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.kubelet.network import NetworkMissingError
from tests.kubernetes.programs import ProgramsMissingError

__all__ = ["cluster", "helm", "helm3", "helm4", "kafka"]


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
