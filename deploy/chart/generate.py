"""Generates the chart's files that depend on the settings: ``make chart``.

It writes the values below ``config`` in ``helm/values.yaml``; ``helm/values.schema.json``, where ``schema.yaml`` in
this folder describes all other values; and ``helm/files/settings.yaml`` and ``durations.yaml``, the names of settings
for the templates.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from core.records.record import INPUT_KINDS, Kind
from deploy.chart.settings import SECRETS, Setting, overridable, overrides_schema, settings

__all__ = ["CHART", "durations", "names", "schema", "values"]

CHART = Path(__file__).parents[2] / "helm"
_BEGIN = "# What follows is written by `make chart`.\n"
_WIDTH = 118


def values() -> str:
    """Return ``helm/values.yaml`` with a new ``config`` section."""
    by_hand = (CHART / "values.yaml").read_text(encoding="utf-8").partition(_BEGIN)[0].rstrip("\n")
    return "\n".join([by_hand, "", _BEGIN.rstrip("\n"), "config:", *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    for section, of_section in groupby(settings(), key=lambda setting: setting.section):
        yield f"  {section}:"
        for setting in of_section:
            if setting.is_secret:
                yield f"    # {setting.name} is a secret: {SECRETS[setting.dotted]} names where it is.\n"
            else:
                yield from _described(setting)
        if section == Kind.STOPS:
            for name in overridable():
                yield f"    # -- The section `{name}`, where it differs for stops."
                yield "    # @section -- Settings"
                yield f"    {name}: {{}}\n"
    for kind in INPUT_KINDS:
        yield f"  # -- Sections that differ for {kind} alone, such as `window: {{size: 30m}}`."
        yield "  # @section -- Settings"
        yield f"  {kind}: {{}}\n"


def _described(setting: Setting) -> Iterator[str]:
    kind = f"({_type(setting.schema)}) " if setting.default is None else ""
    for line in textwrap.wrap(
        f"-- {kind}{setting.description}", _WIDTH - 6, break_long_words=False, break_on_hyphens=False
    ):
        yield f"    # {line}"
    yield "    # @section -- Settings"
    yield f"    {setting.name}: {_scalar(setting.default)}\n"


def _type(schema: dict[str, Any]) -> str:
    """Return the name that helm-docs uses for the type of a value that is not set."""
    first = schema["anyOf"][0] if "anyOf" in schema else schema
    named = first.get("type", "string")
    json_type = named[0] if isinstance(named, list) else named
    return {"integer": "int", "number": "float", "array": "list", "boolean": "bool"}.get(json_type, str(json_type))


def _scalar(value: Any) -> str:
    """Write a value for YAML; a whole float is written without a fraction, as Helm does."""
    if isinstance(value, float):
        # PyYAML takes 1e-06 for a text.
        return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
    return json.dumps(value)


def names() -> str:
    """Return ``helm/files/settings.yaml``: the names of all settings except secrets, by section."""
    return _by_section(setting for setting in settings() if not setting.is_secret)


def durations() -> str:
    """Return ``helm/files/durations.yaml``: the names of the settings that are durations, by section."""
    return _by_section(setting for setting in settings() if setting.is_duration)


def _by_section(listed: Iterable[Setting]) -> str:
    lines = ["# Written by `make chart`."]
    for section, of_section in groupby(listed, key=lambda setting: setting.section):
        plain = ", ".join(setting.name for setting in of_section)
        lines += textwrap.wrap(f"{section}: [{plain}]", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def schema() -> str:
    """Return ``helm/values.schema.json``."""
    whole = yaml.safe_load(Path(__file__).with_name("schema.yaml").read_text(encoding="utf-8"))
    config: dict[str, Any] = {}
    for setting in settings():
        section = config.setdefault(
            setting.section, {"type": "object", "additionalProperties": False, "properties": {}}
        )
        if not setting.is_secret:
            section["properties"][setting.name] = setting.schema
    # The only setting without a usable default may be empty here: the chart has an error message of its own for it.
    servers = config["kafka"]["properties"]["bootstrap_servers"]
    servers["pattern"] = rf"^$|{servers['pattern']}"
    for kind in INPUT_KINDS:
        config[kind.value] = overrides_schema(kind)
    config[Kind.STOPS.value]["properties"] |= overrides_schema(Kind.STOPS)["properties"]
    whole["properties"]["config"] = {
        "description": "The settings of Shoal, by the names that they have everywhere.",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in config if name not in INPUT_KINDS],
        "properties": config,
    }
    _demand(whole, yaml.safe_load(values()))
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _demand(schema: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Add to ``required`` the values that templates need: all except free maps and lists. Null would remove a value."""
    needed = schema.get("required", [])
    for name, value in defaults.items():
        below = schema["properties"][name]
        is_group = below.get("additionalProperties") is False
        if value is not None and (is_group or not isinstance(value, dict | list)) and name not in needed:
            needed.append(name)
        if is_group and name != "config":
            _demand(below, value)
    schema["required"] = needed


if __name__ == "__main__":
    (CHART / "values.yaml").write_text(values(), encoding="utf-8")
    (CHART / "values.schema.json").write_text(schema(), encoding="utf-8")
    (CHART / "files" / "settings.yaml").write_text(names(), encoding="utf-8")
    (CHART / "files" / "durations.yaml").write_text(durations(), encoding="utf-8")
