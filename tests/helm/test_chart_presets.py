"""The presets of the chart: values that it takes beside an installation's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.chart.presets import PRESETS
from stream.settings.load import load_settings
from tests.helm.chart import CHART, MINIMAL, merged, only, pod_of, render, settings_of
from tests.helm.programs import Helm

every_preset = pytest.mark.parametrize("preset", PRESETS, ids=lambda file: file.stem)


def values_of(preset: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(preset.read_text(encoding="utf-8"))
    return values


@every_preset
def test_the_schema_takes_a_preset(preset: Path) -> None:
    """
    The values are those that the chart knows, of the types that it knows.
    """
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(merged(defaults, MINIMAL, values_of(preset)), schema)


@every_preset
def test_workers_get_what_the_preset_says(helm: Helm, preset: Path, tmp_path: Path) -> None:
    """
    The Deployment has the preset's replicas and resources, and its settings are those that a worker accepts.
    """
    values = values_of(preset)
    objects = render(helm, values=[MINIMAL, values])
    deployment = only(objects, "Deployment")
    assert deployment["spec"]["replicas"] == values["replicas"]
    (container,) = pod_of(objects)["containers"]
    assert container["resources"] == values["resources"]
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(settings_of(objects)))
    settings = load_settings(file, {"privacy.secret": "0123456789abcdef0123"}).checked()
    assert settings.kafka.partitions == values["config"]["kafka"]["partitions"]
    assert settings.limits.buffered_rows == values["config"]["limits"]["buffered_rows"]
