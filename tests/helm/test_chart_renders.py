"""Every feature of the chart, on Helm 3 and 4: what is rendered is what Kubernetes takes, and fits together."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream.settings.load import load_settings
from tests.helm.chart import CHART, EXTERNAL, FEATURES, MINIMAL, only, render, settings_of
from tests.helm.consistency import consistency
from tests.helm.manifests import Object, name_of
from tests.helm.programs import Helm
from tests.helm.schemas import NEWEST, OLDEST, problems

VERSIONS = (OLDEST, NEWEST)
every_feature = pytest.mark.parametrize("feature", FEATURES)


def environment(objects: list[Object]) -> dict[str, Any]:
    """Return the variables of the workers by name; of secrets where they come from."""
    variables = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in variables}


@every_feature
def test_lint_finds_nothing(helm: Helm, feature: str) -> None:
    """``helm lint --strict`` has nothing against the chart with the values of any feature."""
    helm.lint(CHART, values=[FEATURES[feature]])


@every_feature
def test_kubernetes_takes_what_is_rendered(helm: Helm, feature: str) -> None:
    """Every object is valid, without an unknown field or kind, on the oldest Kubernetes and on the newest."""
    objects = render(helm, values=[FEATURES[feature]])
    assert [(version, problem) for version in VERSIONS for problem in problems(objects, version)] == []


@every_feature
def test_objects_fit_together(helm: Helm, feature: str) -> None:
    """Selectors, references, ports, volumes, names and Pod Security ``restricted`` hold, within the release and with
    what its values name."""
    assert consistency(render(helm, values=[FEATURES[feature]]), EXTERNAL) == []


@every_feature
def test_both_versions_of_helm_render_the_same(helm3: Helm, helm4: Helm, feature: str) -> None:
    """What is installed does not depend on the version of Helm."""
    three, four = (sorted(render(helm, values=[FEATURES[feature]]), key=name_of) for helm in (helm3, helm4))
    assert three == four


@every_feature
def test_workers_read_the_values_as_they_were_written(
    helm: Helm, feature: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The ConfigMap loads as settings, and each has the value of ``config``: no number turned into another type."""
    values, folder = FEATURES[feature], tmp_path_factory.mktemp("settings")
    objects = render(helm, values=[values])
    monkeypatch.setenv("SHOAL_PRIVACY__SECRET", "a secret of the tests")

    def loaded(settings: dict[str, Any]) -> dict[str, Any]:
        file = folder / "settings.yaml"
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        return load_settings(file).masked()

    given = values.get("config", {})
    wanted = loaded(given)
    for suffix in ("", "-topics") if values.get("topicsJob", {}).get("enabled", True) else ("",):
        found = loaded(settings_of(objects, suffix))
        for section, names in given.items():
            assert {name: found[section][name] for name in names} == {name: wanted[section][name] for name in names}


@every_feature
def test_no_secret_is_in_a_config_map(helm: Helm, feature: str) -> None:
    """Secrets are only ever named: none of their settings is in a ConfigMap, and no Secret is rendered."""
    objects = render(helm, values=[FEATURES[feature]])
    assert not [name_of(one) for one in objects if one["kind"] == "Secret"]
    for settings in (
        settings_of(objects),
        settings_of(objects, "-topics") if "Job" in {o["kind"] for o in objects} else {},
    ):
        names = {name for section in settings.values() for name in section}
        assert not names & {"secret", "sasl_password", "oauth_client_secret", "ssl_key_password", "password", "token"}
    for name, value in environment(objects).items():
        if name.endswith(("SECRET", "PASSWORD", "TOKEN")) and feature != "development":
            assert "secretKeyRef" in value


def test_custom_resources_are_rendered_when_asked_for_whatever_the_cluster_says(helm: Helm) -> None:
    """``helm template`` knows no cluster, as GitOps tools do not: what was asked for is rendered all the same."""
    kinds = {one["kind"] for one in render(helm, values=[FEATURES["monitoring"]])}
    assert {"ServiceMonitor", "PrometheusRule"} <= kinds
    assert not {"ServiceMonitor", "PodMonitor", "PrometheusRule", "ScaledObject"} & {
        one["kind"] for one in render(helm, values=[MINIMAL])
    }


def test_a_packaged_chart_is_whole(helm: Helm, tmp_path: Path) -> None:
    """What is left out of the archive changes nothing that is rendered: tests, dashboards and alerts are in it."""
    helm.run("package", CHART, "--destination", tmp_path)
    (archive,) = tmp_path.glob("*.tgz")
    values = [FEATURES["monitoring"]]
    assert helm.template(archive, values=values) == render(helm, values=values)
    with tarfile.open(archive) as content:
        names = content.getnames()
    assert "shoal/templates/tests/test-worker.yaml" in names
    assert "shoal/README.md" in names
    assert not [name for name in names if name.startswith("shoal/ci/")]
