"""Writes down what later versions of the chart may not change of this one: ``python -m tests.helm.write_released``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import yaml

from tests.helm.chart import CHART, FEATURES
from tests.helm.immutable import immutable_fields
from tests.helm.programs import HELM_4, find

__all__ = ["RELEASED"]

RELEASED = Path(__file__).parent / "released"
"""A file for each released version, by feature, object and field."""


def _write() -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    with tempfile.TemporaryDirectory() as folder:
        helm = find(HELM_4, home=Path(folder))
        fields = {
            feature: immutable_fields(helm.template(CHART, values=[values], name="shoal"))
            for feature, values in FEATURES.items()
        }
    RELEASED.mkdir(exist_ok=True)
    text = json.dumps(fields, indent=1, sort_keys=True) + "\n"
    (RELEASED / f"{version}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write()
