"""What the deployed queries name, and whether that is declared, or found in a scrape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry, generate_latest

from stream.observe.metrics import LABELS, Metrics
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
CHART_FILES = DEPLOY.parent / "helm" / "files"
DASHBOARDS = sorted((CHART_FILES / "dashboards").glob("*.json"))
RULES = CHART_FILES / "rules.yaml"

_WORDS = {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right"}
_OF_PROMETHEUS = {"up"}
_LABELS_OF_A_TARGET = {"job", "instance", "namespace", "le"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and where it stands."""

    where: str
    expression: str
    legend: str = ""


def panels_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return every panel of a dashboard, rows included."""
    for panel in document["panels"]:
        yield panel
        yield from panel.get("panels") or []


def dashboard_queries(path: Path) -> list[Query]:
    """Return the queries of every panel, and those that fill variables."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found = [
        Query(f"{document['title']} / {panel['title']} / {target['refId']}", target["expr"], target["legendFormat"])
        for panel in panels_of(document)
        for target in panel.get("targets") or []
    ]
    for variable in document["templating"]["list"]:
        if variable["type"] == "query":
            metric = re.fullmatch(r"label_values\((\w+), \w+\)", variable["query"])
            assert metric is not None, variable
            found.append(Query(f"{document['title']} / variable {variable['name']}", metric[1]))
    return found


def rules() -> list[dict[str, Any]]:
    """Return every rule, alerts and recorded ones."""
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def rule_queries() -> list[Query]:
    """Return the expression of every rule."""
    return [Query(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]


def all_queries() -> list[Query]:
    """Return every query of the dashboards and the rules."""
    return [*(query for path in DASHBOARDS for query in dashboard_queries(path)), *rule_queries()]


def filled(expression: str, *, step: str = "5m", shown: str = "1h") -> str:
    """Put values in the place of Grafana's variables.

    Args:
        expression: PromQL as a dashboard has it.
        step: Stands for ``$__rate_interval``.
        shown: The whole time on screen, ``$__range``.
    """
    values = {"__rate_interval": step, "__interval": step, "__range": shown, "job": ".*", "kind": ".*"}
    return re.sub(r"\$(\w+)", lambda name: values[name[1]], expression)


def metric_names(expression: str) -> set[str]:
    """Return the metrics that an expression names.

    >>> sorted(metric_names('sum by (kind) (rate(a_total{x="b"}[5m])) / on (job) c:d unless e offset 1h > 5'))
    ['a_total', 'c:d', 'e']
    """
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", bare)
    return set(re.findall(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()", bare)) - _WORDS


def unknown_labels(expression: str) -> list[str]:
    """Return what an expression selects by and no metric of ours can have."""
    declared = {one.name: one for one in Metrics(CollectorRegistry()).declared}
    wrong = []
    for name, matchers in re.findall(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}", expression):
        metric = declared.get(name) or declared.get(re.sub(r"_(bucket|sum|count)$", "", name))
        for label, operator, value in re.findall(r'(\w+)\s*(=~|=|!=|!~)\s*"([^"]*)"', matchers):
            if label in _LABELS_OF_A_TARGET or value.startswith("$"):
                continue
            values = value.split("|") if operator in ("=~", "!~") else [value]
            if metric is None or label not in metric.labels or not set(values) <= set(LABELS[label]):
                wrong.append(f"{name}: {label}{operator}{value}")
    return wrong


def served_names(metrics_text: str) -> set[str]:
    """Return the names of all series that a scrape has or will have once something is counted."""
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", metrics_text, re.MULTILINE):
        names |= {f"{name}{end}" for end in ("_bucket", "_count", "_sum")} if kind == "histogram" else {name}
    return names


def missing_metrics(metrics_text: str) -> dict[str, set[str]]:
    """Return the metrics that dashboards and rules name and a scrape does not have, by where they stand.

    Args:
        metrics_text: What a worker serves at ``/metrics``.
    """
    known = served_names(metrics_text) | {rule["record"] for rule in rules() if "record" in rule} | _OF_PROMETHEUS
    missing = {query.where: metric_names(query.expression) - known for query in all_queries()}
    return {where: names for where, names in missing.items() if names}


def declared_text() -> str:
    """Return what a worker serves that has counted nothing yet."""
    return generate_latest(Metrics(CollectorRegistry()).registry).decode()
