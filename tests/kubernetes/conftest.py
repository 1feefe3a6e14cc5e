"""A cluster for the tests of this folder, started once and only when needed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.helm.programs import HELM_3, HELM_4, Helm, find_or_skip
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.kubelet.network import NetworkMissingError
from tests.kubernetes.programs import ProgramsMissingError


@pytest.fixture(scope="session")
def helm3(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 3, with its kubectl."""
    return find_or_skip(HELM_3, home=tmp_path_factory.mktemp("helm3"))


@pytest.fixture(scope="session")
def helm4(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 4, with its kubectl."""
    return find_or_skip(HELM_4, home=tmp_path_factory.mktemp("helm4"))


@pytest.fixture(scope="session", params=["helm3", "helm4"])
def helm(request: pytest.FixtureRequest) -> Helm:
    """Each major version in turn."""
    found: Helm = request.getfixturevalue(request.param)
    return found


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
