"""The rules: each alert fires when it should and only then, and leads to a section that says what to do."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.promql import DEPLOY, RULES, rules

RULES_TEST = DEPLOY / "prometheus" / "rules_test.yaml"
RUNBOOK = DEPLOY.parent / "docs" / "operate" / "alerts.md"
ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}


def anchors(markdown: str) -> set[str]:
    """Return the anchors of the headings of a page, as the usual hosts make them.

    >>> sorted(anchors("# Some words, here"))
    ['some-words-here']
    """
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_to_do(name: str) -> None:
    """
    Severity, summary, description, and a runbook whose section exists and bears the alert's name.
    """
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    page, anchor = rule["annotations"]["runbook_url"].split("#")
    assert anchor == name.lower()
    assert anchor in anchors((DEPLOY.parent / page).read_text(encoding="utf-8"))


def test_the_runbook_has_no_section_of_an_alert_that_is_gone() -> None:
    """
    Sections named like alerts are those of the alerts, and the page's table has a row for each, with its severity.
    """
    page = RUNBOOK.read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (Shoal\w+)$", page, re.MULTILINE)) == sorted(ALERTS)
    assert dict(re.findall(r"^\| \[(Shoal\w+)\]\(#\w+\) \| (\w+) \|", page, re.MULTILINE)) == {
        name: rule["labels"]["severity"] for name, rule in ALERTS.items()
    }


def test_every_alert_is_tested_both_ways() -> None:
    """
    For each alert there is a moment at which it fires, and one at which it does not.
    """
    fires: dict[str, set[bool]] = defaultdict(set)
    for test in yaml.safe_load(RULES_TEST.read_text(encoding="utf-8"))["tests"]:
        for moment in test["alert_rule_test"]:
            fires[moment["alertname"]].add(bool(moment["exp_alerts"]))
    assert fires == {name: {True, False} for name in ALERTS}


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def test_prometheus_understands_rules_and_configuration(promtool: str) -> None:
    """
    promtool finds nothing wrong, not even a matter of taste.
    """
    for what in (
        ("check", "rules", "--lint-fatal", RULES),
        ("check", "config", RULES_TEST.with_name("prometheus.yml")),
    ):
        checked = _run(promtool, *what)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alerts_fire_when_they_should_and_only_then(promtool: str) -> None:
    """
    What the tests of the rules say is what Prometheus does, to the words of each annotation.
    """
    tested = _run(promtool, "test", "rules", RULES_TEST)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.parametrize("instead", ["vector(0) > 1", "vector(1)"], ids=["never fires", "always fires"])
def test_broken_alerts_are_found(promtool: str, tmp_path: Path, instead: str) -> None:
    """
    The tests of the rules can fail: an alert that never fires, or always, is found by them, whichever it is.
    """
    content: dict[str, Any] = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for group in content["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = instead
    (tmp_path / RULES.name).write_text(yaml.safe_dump(content))
    (tmp_path / RULES_TEST.name).write_text(RULES_TEST.read_text(encoding="utf-8"))
    tested = _run(promtool, "test", "rules", tmp_path / RULES_TEST.name)
    assert tested.returncode != 0
    failed = set(re.findall(r"alertname: (\w+)", tested.stdout + tested.stderr))
    assert failed == ALERTS.keys()
