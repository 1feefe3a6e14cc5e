"""One name everywhere: every setting of the program is in values, schema and README of the chart, and back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from core.records.record import INPUT_KINDS, Kind
from deploy.chart.generate import CHART, durations, names, schema, values
from deploy.chart.settings import CHART_DEFAULTS, SECRETS, overridable, settings

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
README = (CHART / "README.md").read_text(encoding="utf-8")
ROWS: dict[str, tuple[str, str]] = {
    key: (default, text)
    for key, default, text in re.findall(r"^\| `([\w.]+)` \| \w+ \| (.*?) \| (.*) \|$", README, re.M)
}
"""Default and description by value, as the README has them."""

SETTINGS = {setting.dotted: setting for setting in settings()}
PLAIN = {name: setting for name, setting in SETTINGS.items() if not setting.is_secret}
AGAIN = "run `make chart`"


def described(path: str) -> str | None:
    """Return the comment of a value in values.yaml that begins with two dashes, on one line."""
    found, at = None, -1
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    for depth, part in enumerate(path.split(".")):
        indent = "  " * depth
        at = next(i for i in range(at + 1, len(lines)) if lines[i].startswith(f"{indent}{part}:"))
        above = []
        for line in reversed(lines[:at]):
            if not line.startswith(f"{indent}#"):
                break
            above.append(line.strip().removeprefix("#").strip())
        text = " ".join(line for line in reversed(above) if not line.startswith("@"))
        found = re.sub(r"^-- (\(\w+\) )?", "", text) if text.startswith("--") else None
    return found


def documented(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the values that have a description, each the topmost on its path."""
    for name, value in node.items():
        dotted = f"{path}{name}"
        if described(dotted) is not None:
            yield dotted
        elif isinstance(value, dict):
            yield from documented(value, f"{dotted}.")


DOCUMENTED = list(documented(VALUES))


def at(path: str) -> dict[str, Any]:
    """Return the values below a path."""
    node = VALUES
    for part in path.split(".") if path else []:
        node = node[part]
    return node


def groups(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths that only hold values with a description, the whole first."""
    yield path
    for name, value in node.items():
        below = f"{path}.{name}".removeprefix(".")
        if below not in DOCUMENTED and isinstance(value, dict):
            yield from groups(value, below)


@pytest.mark.parametrize("name", PLAIN)
def test_a_setting_is_in_values_schema_and_readme(name: str) -> None:
    """Every setting that is no secret has its name, default and description in all three."""
    setting = PLAIN[name]
    assert VALUES["config"][setting.section][setting.name] == setting.default, AGAIN
    of_schema = SCHEMA["properties"]["config"]["properties"][setting.section]["properties"][setting.name]
    assert of_schema["description"] == setting.description, AGAIN
    default, text = ROWS[f"config.{name}"]
    value = VALUES["config"][setting.section][setting.name]
    assert text == setting.description, AGAIN
    if isinstance(value, float) and not value.is_integer():
        assert float(default.strip("`")) == value, AGAIN  # a small one is written in either of two ways
    else:
        assert default == f"`{'nil' if value is None else json.dumps(value, separators=(',', ':'))}`", AGAIN


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting.is_secret])
def test_a_secret_has_values_that_name_where_it_is(name: str) -> None:
    """A secret is in neither values nor schema; a value of the chart names its Secret, and the README says which."""
    section, setting = name.split(".")
    assert setting not in VALUES["config"][section]
    assert setting not in SCHEMA["properties"]["config"]["properties"][section]["properties"]
    assert f"{SECRETS[name]}.existingSecret" in DOCUMENTED
    assert re.search(rf"^\| .*`{SECRETS[name]}`.*`{name}`.*\|$", README, re.M)


def test_nothing_but_settings_is_below_config() -> None:
    """Back: what values, schema and README have below ``config`` is a setting, or a section for one feed."""
    overrides = {kind.value for kind in INPUT_KINDS}
    of_stops = {f"{Kind.STOPS}.{name}" for name in overridable()}
    sections = {name: section for name, section in VALUES["config"].items() if name not in overrides}
    assert {f"{section}.{name}" for section, names in sections.items() for name in names} == set(PLAIN) | of_stops
    of_schema = SCHEMA["properties"]["config"]["properties"]
    assert {f"{s}.{n}" for s, of in of_schema.items() if s not in overrides for n in of["properties"]} == {
        *PLAIN,
        *of_stops,
    }
    rows = {row.removeprefix("config.") for row in ROWS if row.startswith("config.")}
    assert rows == set(PLAIN) | overrides | of_stops
    for kind in overrides:
        for section, of in of_schema[kind]["properties"].items():
            wanted = {setting.name for setting in PLAIN.values() if setting.section == section}
            assert set(of["properties"]) == wanted


def test_secrets_and_defaults_of_the_chart_name_settings() -> None:
    """What the chart treats in its own way is a setting still."""
    assert set(SECRETS) == {name for name, setting in SETTINGS.items() if setting.is_secret}
    assert set(CHART_DEFAULTS) <= set(PLAIN)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_value_is_in_the_readme(name: str) -> None:
    """Every value with a description has its row in the README, with the same words."""
    assert ROWS[name][1] == described(name), AGAIN


def of_schema(path: str) -> dict[str, Any]:
    """Return the part of the schema that is about a value, references followed."""
    found = SCHEMA
    for part in path.split(".") if path else []:
        found = found["properties"][part]
        while "$ref" in found:
            found = SCHEMA["definitions"][found["$ref"].rsplit("/", 1)[1]]
    return found


@pytest.mark.parametrize("path", [path for path in groups(VALUES) if path.partition(".")[0] != "config"])
def test_values_and_schema_have_the_same_names(path: str) -> None:
    """A group of values, and the whole, is closed in the schema, with the names that values.yaml has; and the one with
    which a chart that has this one among its dependencies switches it on."""
    assert of_schema(path)["additionalProperties"] is False
    assert set(of_schema(path)["properties"]) - ({"enabled"} if not path else set()) == set(at(path))


def test_no_value_is_without_a_description() -> None:
    """What is no group has one, and the README has a row for each and for nothing else."""
    undescribed = [
        f"{path}.{name}".removeprefix(".")
        for path in groups(VALUES)
        for name in at(path)
        if f"{path}.{name}".removeprefix(".") not in {*DOCUMENTED, *groups(VALUES)}
    ]
    assert undescribed == []
    assert set(ROWS) == set(DOCUMENTED)


def test_what_is_generated_is_up_to_date() -> None:
    """Values and schema are what the settings say now."""
    assert (CHART / "values.yaml").read_text(encoding="utf-8") == values(), AGAIN
    assert (CHART / "values.schema.json").read_text(encoding="utf-8") == schema(), AGAIN
    assert (CHART / "files" / "settings.yaml").read_text(encoding="utf-8") == names(), AGAIN
    assert (CHART / "files" / "durations.yaml").read_text(encoding="utf-8") == durations(), AGAIN


def test_the_templates_know_every_setting() -> None:
    """The names that they look for are those of all settings but secrets."""
    found: dict[str, list[str]] = yaml.safe_load((CHART / "files" / "settings.yaml").read_text(encoding="utf-8"))
    assert [f"{section}.{name}" for section, of_section in found.items() for name in of_section] == list(PLAIN)


def test_the_readme_has_the_text_of_its_template() -> None:
    """What stands in the template before the values stands in the README, filled in."""
    template = (CHART / "README.md.gotmpl").read_text(encoding="utf-8").partition("## Values")[0]
    pattern = r".*?".join(re.escape(part) for part in re.split(r"\{\{.*?\}\}", template))
    assert re.match(pattern, README, re.S), AGAIN


def test_the_chart_runs_this_version_of_the_program() -> None:
    """The image's tag is the version of the program, where nobody says another."""
    project = tomllib.loads((CHART.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"] == project["version"]
