"""All presets by name, and the settings that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.records.record import Kind
from stream.formats.presets.envelopes import ENVELOPES
from stream.formats.presets.geometry import GEOMETRY
from stream.formats.presets.google import GOOGLE
from stream.formats.presets.mobility import MOBILITY
from stream.formats.presets.preset import Preset
from stream.formats.presets.tables import TABLES
from stream.formats.presets.trackers import TRACKERS

__all__ = ["PRESETS", "preset_settings"]

PRESETS: Mapping[str, Preset] = {**TRACKERS, **GOOGLE, **MOBILITY, **TABLES, **GEOMETRY, **ENVELOPES}


def preset_settings(name: str, kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the settings of a preset for one kind of feed, by section."""
    preset = PRESETS[name]
    own = preset.of_kind.get(kind, {})
    sections = dict.fromkeys([*preset.settings, *own])
    return {section: {**preset.settings.get(section, {}), **own.get(section, {})} for section in sections}
