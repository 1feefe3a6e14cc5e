"""The life of a release on a small API server: installed, upgraded, tested, rolled back, removed, by real Helm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helm.api.server import ApiServer
from tests.helm.chart import CHART, FEATURES, MINIMAL, merged, render
from tests.helm.immutable import immutable_changes, immutable_fields
from tests.helm.manifests import name_of
from tests.helm.programs import Helm, HelmError
from tests.helm.schemas import NEWEST, OLDEST
from tests.helm.write_released import RELEASED


class Release:
    """A release of the chart on one API server."""

    def __init__(self, helm: Helm, server: ApiServer, folder: Path) -> None:
        self._helm, self._server, self._folder = helm, server, folder

    def run(self, verb: str, *arguments: str, values: dict[str, Any] | None = None) -> str:
        """Run ``helm VERB shoal ...``, with the chart where the verb takes one."""
        extra: list[str | Path] = []
        if values is not None:
            file = self._folder / "values.yaml"
            file.write_text(yaml.safe_dump(values))
            extra = [CHART, "--values", file]
        return self._helm.run(verb, "shoal", *extra, *arguments, kubeconfig=self._server.kubeconfig)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that workers have now."""
        loaded: dict[str, Any] = yaml.safe_load(self._server.get("ConfigMap", "shoal")["data"]["settings.yaml"])
        return loaded


def wrote(server: ApiServer) -> list[str]:
    """Return what was created, in order."""
    return [f"{write.kind}/{write.name}" for write in server.writes if write.verb in ("create", "apply")]


@pytest.mark.parametrize("version", [pytest.param(OLDEST, marks=pytest.mark.deep), NEWEST])
def test_a_whole_life(helm: Helm, version: str, tmp_path: Path) -> None:
    """Install, test, upgrade, roll back and uninstall, each waiting until all is ready; nothing is left behind."""
    with ApiServer(version=version, namespaces=("default", "monitoring")) as server:
        release = Release(helm, server, tmp_path)
        said = release.run("install", "--wait", "--timeout=60s", values=FEATURES["monitoring"])
        assert "rollout status deployment/shoal" in said
        assert "serviceMonitorSelector" in said
        names = wrote(server)
        assert names.index("ConfigMap/shoal-topics") < names.index("Job/shoal-topics") < names.index("Deployment/shoal")
        release.run("test")
        assert "Pod/shoal-test" in wrote(server)

        changed = merged(FEATURES["monitoring"], {"config": {"privacy": {"k": 9}}, "replicas": 3})
        release.run("upgrade", "--wait", "--timeout=60s", values=changed)
        assert release.settings["privacy"]["k"] == 9
        assert server.get("Deployment", "shoal")["spec"]["replicas"] == 3
        assert wrote(server).count("Job/shoal-topics") == 2

        release.run("rollback", "1", "--wait", "--timeout=60s")
        assert release.settings["privacy"]["k"] == 5
        release.run("uninstall", "--wait", "--timeout=60s")
        assert server.objects() == []


@pytest.fixture(scope="module")
def minimal(helm4: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiServer, Release]]:
    """A release with the least values, installed once: who changes it brings it back."""
    with ApiServer(namespaces=("default", "monitoring")) as server:
        release = Release(helm4, server, tmp_path_factory.mktemp("minimal"))
        release.run("install", "--wait", "--timeout=60s", values=MINIMAL)
        yield server, release


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.deep
def test_every_feature_can_be_switched_on_and_off(minimal: tuple[ApiServer, Release], feature: str) -> None:
    """From the least values to a feature and back, by upgrades alone."""
    feature_values = {
        key: value for key, value in FEATURES[feature].items() if key not in ("fullnameOverride", "nameOverride")
    }
    server, release = minimal

    def there() -> set[str]:
        """Return what is there, but for Strimzi's topics, which outlive everything."""
        return {name_of(one) for one in server.objects() if one["kind"] != "KafkaTopic"}

    before = there()
    release.run("upgrade", "--wait", "--timeout=60s", values=feature_values)
    release.run("upgrade", "--wait", "--timeout=60s", values=MINIMAL)
    assert there() == before


def test_waiting_is_for_the_worker(helm: Helm, tmp_path: Path) -> None:
    """Of the single worker of a default installation as well: one that is never ready ends in a failure."""
    with (
        ApiServer(failing={"Deployment/shoal"}) as server,
        pytest.raises(HelmError, match=r"not ready|timed out|deadline"),
    ):
        Release(helm, server, tmp_path).run("install", "--wait", "--timeout=8s", values=MINIMAL)


def test_a_dry_run_on_the_server_takes_every_object(helm: Helm, tmp_path: Path) -> None:
    """Before the release is there, its test too: kubectl asks the server about each."""
    rendered = tmp_path / "rendered.yaml"
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(FEATURES["monitoring"]))
    rendered.write_text(helm.run("template", "shoal", CHART, "--values", values))
    with ApiServer(namespaces=("default", "monitoring")) as server:
        ask = ("apply", "--dry-run=server", "--filename", rendered)
        said = helm.run(*ask, kubeconfig=server.kubeconfig, program=helm.kubectl)
        assert "pod/shoal-test created (server dry run)" in said
        assert server.objects() == []


def test_two_releases_in_a_namespace_share_no_seals(helm: Helm, tmp_path: Path) -> None:
    """A second release with the same topics at the same brokers is refused with a sentence, also at an upgrade; with
    names of its own, at other brokers, or if it is wanted, it is installed."""
    ours = {"kafka": {"group": "b", "bootstrap_servers": "kafka-bootstrap.kafka:9092, b:1"}, "topics": {"seals": "b"}}
    with ApiServer() as server:

        def install(name: str, *more: dict[str, Any]) -> str:
            file = tmp_path / "values.yaml"
            file.write_text(yaml.safe_dump(merged(MINIMAL, *more)))
            arguments = ("upgrade", "--install", name, CHART, "--values", file)
            return helm.run(*arguments, kubeconfig=server.kubeconfig)

        install("a")
        install("a", {"replicas": 2})
        for more, shared in (({}, "kafka.group, shoal"), ({"config": ours}, "topics.shards, shoal-shards")):
            with pytest.raises(HelmError, match=f"the release a in this namespace has the same config.{shared}, at"):
                install("b", more)
        install("b", {"config": merged(ours, {"topics": {"shards": "b"}})})
        install("c", {"config": {"kafka": {"bootstrap_servers": "another:9092"}}})
        install("d", {"allowSharedTopics": True})
        with pytest.raises(HelmError, match="allowSharedTopics=true"):
            install("c")


def test_settings_that_no_worker_would_start_with_replace_nobody(helm: Helm, tmp_path: Path) -> None:
    """The topics Job fails, the upgrade with it, and the workers that run keep their settings."""
    with ApiServer() as server:
        release = Release(helm, server, tmp_path)
        release.run("install", "--wait", "--timeout=60s", values=MINIMAL)
        before = server.get("Deployment", "shoal")
        server.failing.add("Job/shoal-topics")
        with pytest.raises(HelmError):
            release.run("upgrade", "--timeout=10s", values=merged(MINIMAL, {"config": {"privacy": {"k": 9}}}))
        assert server.get("Deployment", "shoal") == before
        assert release.settings["privacy"]["k"] == 5
        server.failing.clear()
        release.run("upgrade", "--wait", "--timeout=60s", values=merged(MINIMAL, {"config": {"privacy": {"k": 9}}}))
        assert release.settings["privacy"]["k"] == 9


@pytest.mark.deep
def test_workers_can_be_stopped_and_come_back(helm: Helm, tmp_path: Path) -> None:
    """As the runbook has it, with an autoscaler and without: by upgrades alone."""
    for feature, off in (("minimal", ()), ("hpa", ("--set", "autoscaling.hpa.enabled=false"))):
        with ApiServer() as server:
            release = Release(helm, server, tmp_path)
            release.run("install", "--wait", "--timeout=60s", values=FEATURES[feature])
            before = {name_of(one) for one in server.objects()}
            stop = ("--reuse-values", "--set", "replicas=0", *off)
            release.run("upgrade", "--wait", "--timeout=60s", *stop, values={})
            assert server.get("Deployment", "shoal")["spec"]["replicas"] == 0
            assert "HorizontalPodAutoscaler/shoal" not in {name_of(one) for one in server.objects()}
            release.run("upgrade", "--wait", "--timeout=60s", values=FEATURES[feature])
            assert server.get("Deployment", "shoal")["spec"]["replicas"] == 1
            assert {name_of(one) for one in server.objects()} == before


@pytest.mark.deep
def test_no_upgrade_from_a_released_version_changes_what_cannot_change(helm4: Helm) -> None:
    """The immutable fields of every feature are those of each version before (``released/VERSION.json``).

    A version that is released adds its file: ``python -m tests.helm.write_released``.
    """
    for file in sorted(RELEASED.glob("*.json")):
        before = json.loads(file.read_text(encoding="utf-8"))
        for feature, fields in before.items():
            now = immutable_fields(render(helm4, values=[FEATURES[feature]], name="shoal"))
            assert immutable_changes(fields, now) == [], f"{file.stem}, {feature}"


def test_the_version_has_its_file() -> None:
    """What the next version is compared with is written down with this one."""
    version = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    assert (RELEASED / f"{version}.json").is_file(), "run `python -m tests.helm.write_released`"
