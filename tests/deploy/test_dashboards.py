"""The dashboards: what the generator gives, complete for a reader, and only about what is measured."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.grafana.queries import series
from tests.deploy.promql import (
    DASHBOARDS,
    Query,
    all_queries,
    dashboard_queries,
    declared_text,
    filled,
    metric_names,
    missing_metrics,
    panels_of,
    unknown_labels,
)

Document = dict[str, Any]


def complaints(document: Document) -> Iterator[str]:
    """Return what Grafana or a reader would miss."""
    if document.get("id", 0) is not None:
        yield "id is not null"
    if not 8 <= len(document.get("uid", "")) <= 40:
        yield "no stable uid"
    if "__inputs" in document or "${DS_" in json.dumps(document):
        yield "asks for inputs"
    variables = {one["name"]: one for one in document["templating"]["list"]}
    if variables.get("datasource", {}).get("query") != "prometheus":
        yield "no variable that chooses a Prometheus"
    numbers: set[int] = set()
    cells: set[tuple[int, int]] = set()
    for panel in panels_of(document):
        name, at = panel["title"], panel["gridPos"]
        if panel["id"] in numbers:
            yield f"{name}: number {panel['id']} twice"
        numbers.add(panel["id"])
        taken = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if taken & cells or at["x"] + at["w"] > 24:
            yield f"{name}: overlaps, or leaves the grid"
        cells |= taken
        if panel["type"] != "row":
            yield from (f"{name}: {what}" for what in _complaints_of_a_panel(panel, set(variables)))


def _complaints_of_a_panel(panel: Document, variables: set[str]) -> Iterator[str]:
    targets = panel.get("targets") or []
    if not panel.get("description"):
        yield "no description"
    if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
        yield "no unit"
    if not targets or len({target["refId"] for target in targets}) != len(targets):
        yield "no queries, or two of one name"
    for one in [panel, *targets]:
        if one.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
            yield "another data source than the reader's choice"
    for target in targets:
        if not target.get("legendFormat"):
            yield "no legend"
        try:
            filled(target["expr"])
        except KeyError as variable:
            yield f"unknown variable {variable}"
        for used in ("job", "kind"):
            if f"${used}" in target["expr"] and used not in variables:
                yield f"no variable {used}"


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def document(request: pytest.FixtureRequest) -> Document:
    loaded: Document = json.loads(request.param.read_text(encoding="utf-8"))
    return loaded


def test_the_committed_dashboards_are_what_the_generator_gives() -> None:
    """
    A dashboard is changed in deploy/grafana; then `make dashboards`.
    """
    pytest.importorskip("grafana_foundation_sdk", reason="the group `dashboards` is not installed: make install")
    from deploy.grafana.generate import documents  # noqa: PLC0415 - needs what may be missing

    generated = documents()
    assert sorted(generated) == DASHBOARDS
    for path, content in generated.items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name} is not current: make dashboards"


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("shoal_renamed_total", {}),
        ("shoal_windows", {}),
        ("shoal_stage_seconds", {}),
        ("shoal_open_windows_bucket", {}),
        ("shoal_windows_total", {"reason": "refused"}),
        ("shoal_windows_total", {"outcome": "lost"}),
    ],
)
def test_a_metric_that_is_not_declared_cannot_be_drawn(name: str, labels: dict[str, str]) -> None:
    """
    Names, labels and their values come from the declarations: a renamed metric fails generation.
    """
    with pytest.raises(ValueError, match=r"stream/observe/metrics\.py"):
        series(name, **labels)


def test_a_dashboard_is_complete(document: Document) -> None:
    """
    Provisioned anywhere it finds its data source; every panel says what it tells, in which unit.
    """
    assert list(complaints(document)) == []


def _without(*path: str | int) -> Callable[[Document], None]:
    def damage(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return damage


def _with(value: object, *path: str | int) -> Callable[[Document], None]:
    def damage(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _without("id"),
        _with(7, "id"),
        _without("uid"),
        _with([], "__inputs"),
        _with("${DS_PROMETHEUS}", "panels", 1, "datasource", "uid"),
        _with([], "templating", "list"),
        _without("panels", 1, "description"),
        _without("panels", 1, "fieldConfig", "defaults", "unit"),
        _with([], "panels", 1, "targets"),
        _with("", "panels", 1, "targets", 0, "legendFormat"),
        _with("up{x=~'$mistyped'}", "panels", 1, "targets", 0, "expr"),
        _with("another", "panels", 1, "targets", 0, "datasource", "uid"),
        _with(1, "panels", 1, "id"),
        _with({"x": 20, "y": 900, "w": 8, "h": 4}, "panels", 1, "gridPos"),
        _with({"x": 0, "y": 0, "w": 8, "h": 4}, "panels", 1, "gridPos"),
    ],
)
def test_what_is_missing_is_found(document: Document, damage: Callable[[Document], None]) -> None:
    """
    The check above can fail: whatever is taken away or spoiled, it says so.
    """
    damaged = copy.deepcopy(document)
    damage(damaged)
    assert list(complaints(damaged))


def test_every_query_names_what_a_worker_serves() -> None:
    """
    Dashboards and rules ask for metrics, labels and values that exist.
    """
    assert missing_metrics(declared_text()) == {}
    assert [wrong for query in all_queries() for wrong in unknown_labels(query.expression)] == []


def test_a_metric_that_a_scrape_lacks_is_found() -> None:
    """
    The check above can fail: without one metric in the scrape, it names each query that needs it.
    """
    text = declared_text().replace("# TYPE shoal_windows_total counter", "")
    missing = missing_metrics(text)
    assert {name for names in missing.values() for name in names} == {"shoal_windows_total"}
    assert "ShoalWindowRefused" in missing
    assert unknown_labels('rate(shoal_windows_total{outcome="lost"}[5m])') == ["shoal_windows_total: outcome=lost"]
    assert unknown_labels('shoal_open_windows{kind="checkins"}') == ["shoal_open_windows: kind=checkins"]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('sum by (kind) (rate(a_total{x="b_total"}[5m]))', {"a_total"}),
        ("max(a) by (b) / on (c) group_left (d) e:f", {"a", "e:f"}),
        ("a > 5 and on (job) time() - b > 3600 unless c offset 1h", {"a", "b", "c"}),
        ("1 / a", {"a"}),
    ],
)
def test_the_metrics_of_a_query(expression: str, names: set[str]) -> None:
    """
    What is neither a function, a label, a string, a number nor a word of the language is a metric.
    """
    assert metric_names(expression) == names


def _checked(promtool: str, queries: list[Query], directory: Path) -> subprocess.CompletedProcess[str]:
    recorded = [{"record": f"query:{n}", "expr": filled(query.expression)} for n, query in enumerate(queries)]
    path = directory / "queries.json"
    path.write_text(json.dumps({"groups": [{"name": "queries", "rules": recorded}]}))
    return subprocess.run(
        [promtool, "check", "rules", "--lint=none", str(path)], capture_output=True, text=True, check=False
    )


def test_prometheus_understands_every_query(promtool: str, tmp_path: Path) -> None:
    """
    Every query of the dashboards is PromQL; what is not is found.
    """
    queries = [query for path in DASHBOARDS for query in dashboard_queries(path)]
    checked = _checked(promtool, queries, tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert _checked(promtool, [*queries, Query("a mistake", "rate(shoal_windows_total)")], tmp_path).returncode != 0
