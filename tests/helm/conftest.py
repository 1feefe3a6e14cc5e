"""The programs that the tests of the chart need, each found once."""

from __future__ import annotations

import pytest

from tests.helm.programs import HELM_3, HELM_4, Helm, find_or_skip


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
    """Each major version in turn; a test that takes it runs once with every one."""
    found: Helm = request.getfixturevalue(request.param)
    return found
