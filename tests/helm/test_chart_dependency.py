"""The chart as a dependency: a chart of somebody's own has it in its folder, switches it on and sets its values."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helm.chart import CHART, FEATURES, merged, only, pod_of, render, settings_of
from tests.helm.consistency import consistency
from tests.helm.manifests import name_of
from tests.helm.programs import Helm

EXTERNAL = {"ServiceAccount/default", "Secret/shoal", "Secret/pull"}


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """A chart with nothing but this one, and a condition."""
    folder = tmp_path / "city"
    shutil.copytree(CHART, folder / "charts" / "shoal")
    version = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    dependency = {"name": "shoal", "version": version, "condition": "shoal.enabled"}
    chart = {"apiVersion": "v2", "name": "city", "version": "1.0.0", "dependencies": [dependency]}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart), encoding="utf-8")
    values: dict[str, Any] = {
        "global": {"imageRegistry": "registry.example", "imagePullSecrets": ["pull"], "commonLabels": {"city": "x"}},
        "shoal": merged(FEATURES["minimal"], {"enabled": True, "config": {"privacy": {"k": 9}}}),
    }
    (folder / "values.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder


def test_it_is_whole(helm: Helm, parent: Path) -> None:
    """Everything is rendered under the parent's release, with its global values, and fits together."""
    objects = helm.template(parent)
    assert consistency(objects, EXTERNAL) == []
    alone = render(helm, values=[FEATURES["minimal"]])
    assert {name_of(one) for one in objects} == {name_of(one) for one in alone}
    assert settings_of(objects)["privacy"]["k"] == 9
    assert pod_of(objects)["containers"][0]["image"].startswith("registry.example/")
    assert only(objects, "Service")["metadata"]["labels"]["city"] == "x"


def test_null_reaches_its_workers(helm: Helm, parent: Path) -> None:
    """Given with the installation, as without a parent."""
    objects = helm.template(parent, values=[{"shoal": {"config": {"window": {"max_lead": None}}}}])
    assert settings_of(objects)["window"]["max_lead"] is None


def test_it_can_be_switched_off(helm: Helm, parent: Path) -> None:
    """By the condition, and its values are not asked for then."""
    assert helm.template(parent, values=[{"shoal": {"enabled": False, "pseudonymSecret": None}}]) == []
