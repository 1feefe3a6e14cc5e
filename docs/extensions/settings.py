"""The reference of settings, from their types and docstrings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from core.models.common.settings import Context, PlanInputs
from core.models.registry import FAMILIES, models_of
from core.places.locate import MetricGrid
from core.records.profile import Numeric, Profile
from core.records.record import INPUT_KINDS, Kind
from core.trajectories.assemble import Limits
from core.trajectories.joining import Joining
from deploy.chart.settings import CHART_DEFAULTS, Setting, sections, settings
from docs.extensions.markdown import code, listed, plain
from stream.settings.kinds import OverrideSettings, ReleaseOverrideSettings
from stream.settings.model import Settings

__all__ = ["allowed", "models_that_read", "settings_markdown"]

_FEEDS: dict[str, tuple[str, ...]] = {
    "m": ("m",),
    "l": ("l",),
    "delta_m": ("delta_m",),
    "taxonomy": ("taxonomy", "default_category"),
    "constraints": ("constraints", "default_constraint", "taxonomy", "default_category"),
    "sensitive_locations": ("sensitive_locations", "taxonomy", "default_category"),
    "attributes": ("attributes",),
    "sensitive_field": ("sensitive_field", "sensitive_values"),
}
"""For each field of :class:`PlanInputs` the settings that it is made of; those of all models are not here."""


def settings_markdown() -> str:
    """Return all settings by section."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    defaults = json.loads(Settings.model_construct().model_dump_json())
    readers = models_that_read()
    described = sections()
    section = ""
    yield (
        f"The sections {listed(_overridable(described, OverrideSettings), 'and')} can differ for one kind of feed: "
        "write `checkins.` or `fragments.` before the name. `stops.` stands before "
        f"{listed(_overridable(described, ReleaseOverrideSettings), 'and')}.\n"
    )
    for one in settings():
        if one.section != section:
            section = one.section
            yield f"\n## {section}\n"
            yield f"{plain(described[section].__doc__ or '')}\n"
            if section in OverrideSettings.model_fields:
                example = f"checkins.{one.dotted}"
                others = ["fragments", *(["stops"] if section in ReleaseOverrideSettings.model_fields else [])]
                yield (
                    f"One kind of feed may differ: {code(example)} ({code(_variable(example))}), "
                    f"{listed((f'{kind}.{one.dotted}' for kind in others), 'and')}.\n"
                )
        yield f"{code(one.dotted)}{{#setting-{_anchor(one.dotted)}}}"
        yield f": {plain(one.description)}\n"
        facts = [f"Variable {code(_variable(one.dotted))}", f"default {_default(defaults[section][one.name])}"]
        if one.dotted in CHART_DEFAULTS:
            facts.append(f"default of the Helm chart {_default(CHART_DEFAULTS[one.dotted])}")
        yield f"  {' · '.join([*facts, f'allowed: {allowed(one)}'])}\n"
        if section == "privacy" and (models := readers.get(one.name)):
            yield f"  Used by {listed(models, 'and')}.\n"


def _overridable(described: Iterable[str], overrides: type[ReleaseOverrideSettings]) -> list[str]:
    """Return the sections that a feed may override, in the order of the page."""
    return [section for section in described if section in overrides.model_fields]


def _variable(dotted: str) -> str:
    return f"SHOAL_{dotted.replace('.', '__').upper()}"


def _anchor(dotted: str) -> str:
    return dotted.replace(".", "-").replace("_", "-")


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if value in ("", [], {}):
        return "empty"
    return code(int(value) if isinstance(value, float) and value.is_integer() else value)


def allowed(setting: Setting) -> str:
    """Return in words what a setting may be."""
    schema = {name: value for name, value in setting.schema.items() if name != "description"}
    either = [_words(setting, one) for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    words = list(dict.fromkeys(either))
    return (", or " if "," in words[0] else " or ").join(words)


def _words(setting: Setting, schema: dict[str, Any]) -> str:
    kind, pattern = schema.get("type"), schema.get("pattern", "")
    if "const" in schema or "enum" in schema or kind == "boolean":
        return listed(schema.get("enum") or [schema["const"]] if kind != "boolean" else ["true", "false"])
    if kind in ("integer", "number"):
        return f"a {'whole ' if kind == 'integer' else ''}number{_range(schema)}"
    if kind == "array":
        items = schema["items"]
        return f"a list of {len(items)} numbers" if isinstance(items, list) else "a list"
    if kind == "object":
        return "names and values"
    return next((words for unit, words in _UNITS.items() if unit in pattern), _text(setting))


_UNITS = {
    "(ms|s|m|": "a duration such as `500ms`, `30s`, `15m`, `1h` or `7d`",
    "|KiB|": "a size such as `512KiB` or `1MiB`",
}
"""By a part of the pattern that only these texts have."""


def _range(schema: dict[str, Any]) -> str:
    """Return the range of a number in words.

    >>> _range({"minimum": 1, "maximum": 10}), _range({"exclusiveMinimum": 0}), _range({"minimum": 2})
    (' from 1 to 10', ' above 0', ', at least 2')
    """
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    words = []
    if above is not None:
        words.append(f" above {_number(above)}")
    if below is not None:
        words.append(f" below {_number(below)}")
    if high is not None:
        words.append(f" at most {_number(high)}")
    if low is not None:
        words.append(f", at least {_number(low)}")
    return " and".join(words)


def _number(value: float) -> str:
    """Return a number in decimals.

    >>> _number(1e-6), _number(20_000), _number(0.5)
    ('0.000001', '20,000', '0.5')
    """
    return f"{value:,f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


_TEXTS = {
    "kafka.bootstrap_servers": "`host:port`, separated by commas",
    "kafka.oauth_token_url": "an `https` address; `http` on this machine alone",
    "kafka.group": "1 to 200 characters",
    "kafka.start": "`earliest`, `latest`, or an instant such as `2025-10-09T00:00:00Z`",
    "location.area": "`south,west,north,east`",
    "location.cells": "`ROWSxCOLUMNS` such as `20x20`",
    "time.earliest": "an instant such as `2000-01-01T00:00:00Z`",
    "time.latest": "an instant such as `2100-01-01T00:00:00Z`",
    "files.start": "an instant such as `2000-01-01T00:00:00Z`",
    "privacy.sensitive_locations": "a text with commas",
    "privacy.sensitive_values": "a text with commas",
    "web.tile_url": "an address with `{z}`, `{x}` and `{y}`",
}
"""Texts with rules that their schema does not put into words."""


def _text(setting: Setting) -> str:
    if setting.dotted in _TEXTS:
        return _TEXTS[setting.dotted]
    if setting.section == "topics":
        name = "1 to 249 of the characters `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`"
        if setting.name in ("checkins", "fragments"):
            return f"names of {name}, separated by commas or as a list; a pattern that begins with `^`; or empty"
        return f"a name of {name}"
    if setting.section == "fields":
        return "the name of a field, or a path such as `position.lat`"
    if setting.name.endswith(("file", "cafile")):
        return "a path"
    return "a text"


class _Recorder:
    """Stands for an object, and notes which of its attributes are read."""

    def __init__(self, behind: object) -> None:
        self.behind, self.read = behind, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self.behind, name)


def models_that_read() -> dict[str, tuple[str, ...]]:
    """Return for each setting of the section `privacy` the models whose plans read it; not those that all models read.

    Plans are made of objects that note what is read.
    """
    found: dict[str, list[str]] = {}
    for family in FAMILIES:
        for model in family.models:
            given, inputs = _Recorder(family.settings()), _Recorder(_inputs(model))
            family.check(given, Context(model=model, k=5, window_ms=900_000, has_constraints=True))
            family.plan(given, cast("PlanInputs", inputs))
            names = {name for name in given.read if name in family.settings.model_fields}
            names.update(name for field in inputs.read for name in _FEEDS.get(field, ()))
            if family.kind is Kind.FRAGMENTS:
                names.add("demands_file")
            for name in names:
                found.setdefault(name, []).append(model)
    order = [model for kind in INPUT_KINDS for model in models_of(kind)]
    return {name: tuple(sorted(models, key=order.index)) for name, models in found.items()}


def _inputs(model: str) -> PlanInputs:
    def nothing() -> Any:
        return None

    return PlanInputs(
        model=model,
        k=5,
        m=2,
        l=2,
        delta_m=500.0,
        limits=Limits(points_per_user=10_000, trajectory_length=100),
        secret=bytes(32),
        locator=MetricGrid(500.0),
        profile=Profile((Numeric("age", 0, 120),)),
        attributes=("age",),
        sensitive_field=None,
        hierarchies={},
        joining=Joining(max_speed_m_s=None, max_gap_ms=None, step_ms=None),
        window_ms=900_000,
        taxonomy=nothing,
        constraints=nothing,
        sensitive_locations=lambda: frozenset({"somewhere"}),
    )
