"""The axes of a comparison: settings that vary, with their values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from core.models.common.family import Variant
from core.models.registry import FAMILIES, models_of
from core.records.record import Kind
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings
from stream.settings.privacy import PrivacySettings

__all__ = [
    "MODEL",
    "RANGES",
    "Axis",
    "checked_values",
    "frontier_axes",
    "override_name",
    "read_axes",
    "shown",
    "variants_of",
]

MODEL = "privacy.model"
"""The axis of models; its values may be names of variants as well."""

RANGES: dict[str, tuple[float, ...]] = {"k": (3, 5, 10), "m": (2, 3)}
"""Values of the frontier, unless others are given; other axes use the setting."""

_ALL_KINDS = tuple(Kind)
_SECTIONS: dict[str, tuple[Kind, ...]] = {
    "privacy": _ALL_KINDS,
    "window": _ALL_KINDS,
    "location": (Kind.CHECKINS, Kind.STOPS),
    "shard": _ALL_KINDS,
    "stops": (Kind.STOPS,),
    "trajectories": (Kind.FRAGMENTS,),
}
"""Sections with settings that decide releases, and for which kinds they do."""

_FIXED = {
    "privacy.secret": "a secret decides which random choices are made, not what is promised",
    "privacy.noise": "releases are compared without noise, which differs in every draw",
    "shard.finest_resolution": "whole windows of a shard are compared",
}
"""Settings that cannot vary, with the reason."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting that varies."""

    name: str
    """Its dotted name, such as ``privacy.k``."""

    values: tuple[Any, ...]
    """Its values, each once; plain data as YAML reads it."""


def read_axes(given: Sequence[str], kind: Kind) -> list[Axis]:
    """Read axes from texts such as ``privacy.k=2,5,10``.

    The values are a YAML list without its brackets: a value with a comma stands in quotes.

    Args:
        given: The texts, in their order.
        kind: What is released.

    Raises:
        SettingsError: A text is not of this form, or its setting cannot vary.

    >>> read_axes(["privacy.k=2,5", "window.size=15m,1h"], Kind.CHECKINS)
    [Axis(name='privacy.k', values=(2, 5)), Axis(name='window.size', values=('15m', '1h'))]
    """
    axes = [_axis(text, kind) for text in given]
    for i, axis in enumerate(axes):
        if axis.name in (before.name for before in axes[:i]):
            raise SettingsError(f"--vary has {axis.name} twice: give all its values at once")
    return axes


def _axis(text: str, kind: Kind) -> Axis:
    name, equals, listed = text.partition("=")
    name = name.strip()
    if not equals or not listed.strip():
        raise SettingsError("--vary takes KEY=VALUE,VALUE,..., for instance --vary privacy.k=2,5,10")
    _check_name(name, kind)
    try:
        values = yaml.safe_load(f"[{listed}]")
    except (yaml.YAMLError, ValueError):  # it looks like a date or a number, and is none
        raise SettingsError(
            f"--vary {text}: the values must be separated by commas; a value with a comma or a bracket, and a date "
            "that does not exist, stands in quotes"
        ) from None
    if name == MODEL and (unknown := [value for value in values if value not in _names(kind)]):
        raise SettingsError(f"--vary {MODEL} has {unknown[0]!r}: {kind} allow {', '.join(_names(kind))}")
    return Axis(name, tuple({shown(value): value for value in values}.values()))


def frontier_axes(
    axes: Sequence[Axis], kind: Kind, models: str | None, ranges: Mapping[str, Sequence[float] | None]
) -> list[Axis]:
    """Return the axes of a frontier: models, k, m or delta, then all others.

    Args:
        axes: What ``--vary`` gives; its values of models, k, m or delta take the place of the frontier's own.
        kind: What is released.
        models: Names of models, separated by commas; None for all.
        ranges: Values of ``k``, ``m`` and ``delta_m``; None where none are given.

    Raises:
        SettingsError: A value is given twice, or not for this kind.
    """
    foreign, needed = ("m", Kind.CHECKINS) if kind is Kind.FRAGMENTS else ("delta_m", Kind.FRAGMENTS)
    if ranges[foreign] is not None:
        raise SettingsError(f"--frontier-{foreign.replace('_', '-')} needs --kind {needed}")
    others = {axis.name: axis for axis in axes}
    own: list[Axis] = []
    for name in ("models", "k", "delta_m" if kind is Kind.FRAGMENTS else "m"):
        setting = MODEL if name == "models" else f"privacy.{name}"
        given = models if name == "models" else ranges[name]
        if given is not None and setting in others:
            raise SettingsError(f"--frontier-{name.replace('_', '-')} and --vary {setting} say the same: give one")
        values = _named_models(kind, models) if name == "models" else ranges[name] or RANGES.get(name)
        if setting in others:
            own.append(others.pop(setting))
        elif values:
            own.append(Axis(setting, tuple(values)))
    return [*own, *others.values()]


def _named_models(kind: Kind, given: str | None) -> Sequence[str]:
    if given is None:
        return _names(kind)
    named = [name.strip() for name in given.split(",")]
    if unknown := [name for name in named if name not in _names(kind)]:
        raise SettingsError(f"--frontier-models has {unknown[0]!r}: {kind} allow {', '.join(_names(kind))}")
    return named


def _names(kind: Kind) -> list[str]:
    return [variant.name for variant in variants_of(kind)]


def _check_name(name: str, kind: Kind) -> None:
    """Refuse a setting that does not exist, or does not decide releases."""
    section, _, leaf = name.partition(".")
    if section not in _SECTIONS or (section == "window" and leaf != "size"):
        allowed = ", ".join("window.size" if one == "window" else f"{one}.*" for one in _SECTIONS)
        raise SettingsError(f"--vary {name}: only settings that decide releases can vary: {allowed}")
    if kind not in _SECTIONS[section]:
        kinds = " or ".join(_SECTIONS[section])
        raise SettingsError(f"--vary {name}: it decides nothing for {kind}; it needs --kind {kinds}")
    if name in _FIXED:
        raise SettingsError(f"--vary {name}: it cannot vary, because {_FIXED[name]}")
    model = KindSettings.model_fields[section].annotation
    if not isinstance(model, type) or not issubclass(model, BaseModel) or leaf not in model.model_fields:
        raise SettingsError(f"--vary {name}: {name} is not a setting: `shoal check-config` lists them")


def override_name(name: str, kind: Kind) -> str:
    """Return the name under which a setting of one kind of feed overrides all others.

    >>> override_name("privacy.k", Kind.CHECKINS), override_name("stops.radius_m", Kind.STOPS)
    ('checkins.privacy.k', 'stops.radius_m')
    """
    return name if name.startswith(("stops.", "trajectories.")) else f"{kind}.{name}"


def shown(value: Any) -> str:
    """Return a value as readers see it: text and numbers as they are, all others as JSON.

    >>> shown("15m"), shown(5), shown(None), shown([1, 2])
    ('15m', '5', 'none', '[1, 2]')
    """
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, default=str)


def variants_of(kind: Kind) -> tuple[Variant, ...]:
    """Return all variants to compare: each model, in the order of the settings, then the named variants."""
    named = (variant for family in FAMILIES if family.kind is kind.model_kind for variant in family.variants)
    return (*(Variant(name=model, model=model) for model in models_of(kind)), *named)


def checked_values(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return values of a setting of ``privacy``, each once, ascending.

    Raises:
        ValueError: The setting does not allow one of the values; the message says what it allows.
    """
    for value in values:
        try:
            PrivacySettings.model_validate({name: value})
        except ValidationError as fault:
            rule = fault.errors()[0]["msg"].removeprefix("Input ")
            raise ValueError(f"{value:g}: it {rule}") from None
    return tuple(sorted(set(values)))
