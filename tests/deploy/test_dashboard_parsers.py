"""Dashboards by parsers of Grafana's makers: every field is one that they know, and of its type."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.promql import DASHBOARDS

Document = dict[str, Any]

FOLDER = Path(__file__).parent / "strict_parser"

DAMAGES: dict[str, Callable[[Document], Any]] = {
    "a field of a dashboard": lambda one: one.update(refreshes="30s"),
    "a field of a panel": lambda one: one["panels"][1].update(titel="x"),
    "an option": lambda one: one["panels"][1]["options"].update(sideways=True),
    "an option of lines": lambda one: one["panels"][1]["fieldConfig"]["defaults"]["custom"].update(thickness=2),
    "a field of a query": lambda one: one["panels"][1]["targets"][0].update(query="up"),
}


def a_dashboard() -> Document:
    """Return the dashboard whose first panel has lines."""
    (path,) = (path for path in DASHBOARDS if path.stem == "operations")
    document: Document = json.loads(path.read_text(encoding="utf-8"))
    return document


def damaged(name: str) -> Document:
    document = copy.deepcopy(a_dashboard())
    DAMAGES[name](document)
    return document


def unknown_to_python(document: Document) -> bool:
    """Whether Grafana's library for Python loses something of a dashboard, or cannot read it."""
    pytest.importorskip("grafana_foundation_sdk", reason="the group `dashboards` is not installed: make install")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: PLC0415 - needs what may be missing
    from grafana_foundation_sdk.cog.plugins import register_default_plugins  # noqa: PLC0415
    from grafana_foundation_sdk.models.dashboard import Dashboard  # noqa: PLC0415

    register_default_plugins()
    known = json.loads(json.dumps(Dashboard.from_json(document), cls=JSONEncoder))
    return bool(known | {"id": None} != document)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_field_is_known(path: Path) -> None:
    """
    What is read by Grafana's library for Python and written again is the same.
    """
    assert not unknown_to_python(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_unknown_field_is_found(damage: str) -> None:
    """
    The check above can fail.
    """
    assert unknown_to_python(damaged(damage))


def strict(*files: Path) -> subprocess.CompletedProcess[str]:
    """Parse dashboards by Grafana's library for Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go, which builds the strict parser of dashboards")
    return subprocess.run([go, "run", ".", *map(str, files)], cwd=FOLDER, capture_output=True, text=True, check=False)


@pytest.mark.deep
def test_a_strict_parser_accepts_all_dashboards_and_no_damaged_one(tmp_path: Path) -> None:
    """
    It refuses unknown fields, missing ones and wrong types, and names them; the first run builds it in a minute or two.
    """
    accepted = strict(*DASHBOARDS)
    assert (accepted.returncode, accepted.stdout) == (0, ""), accepted.stderr[-2000:]
    wrong_type, missing = copy.deepcopy(a_dashboard()), copy.deepcopy(a_dashboard())
    wrong_type["panels"][1]["targets"][0]["exemplar"] = "yes"
    del missing["schemaVersion"]
    spoiled = {name: damaged(name) for name in DAMAGES} | {"a type": wrong_type, "what is missing": missing}
    files = [tmp_path / f"{name}.json" for name in spoiled]
    for file, document in zip(files, spoiled.values(), strict=True):
        file.write_text(json.dumps(document))
    refused = strict(*files)
    assert refused.returncode == 1
    assert [file.name for file in files if f"{file}: " not in refused.stdout] == []
