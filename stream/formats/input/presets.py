"""Presets: the mappings of feeds whose form is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.records.record import Kind

__all__ = ["PRESETS", "Preset", "preset_settings"]

Sections = Mapping[str, Mapping[str, Any]]
"""Settings by section: ``fields``, ``time`` and ``input``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A known form of feed."""

    title: str
    """What writes it, for people."""

    settings: Sections
    """The settings that read it."""

    of_kind: Mapping[Kind, Sections] = field(default_factory=dict)
    """Settings that differ for one kind of feed."""

    example: str = ""
    """A record with drawn values, as the source writes it."""


PRESETS: Mapping[str, Preset] = {
    "owntracks": Preset(
        title="OwnTracks, JSON over MQTT",
        settings={
            "fields": {"user": "tid|topic|kafka:key", "ts": "tst"},
            "input": {"only": ("_type=location",), "numbers_as_text": True},
        },
    ),
}
"""All presets by name."""


def preset_settings(name: str, kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the settings of a preset for one kind of feed, by section."""
    preset = PRESETS[name]
    own = preset.of_kind.get(kind, {})
    sections = dict.fromkeys([*preset.settings, *own])
    return {section: {**preset.settings.get(section, {}), **own.get(section, {})} for section in sections}
