"""Settings with more than those in force, for one kind of feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.records.record import Kind
from stream.settings.errors import SettingsError
from stream.settings.model import Settings

__all__ = ["with_more"]


def with_more(settings: Settings, kind: Kind, more: Mapping[str, Any]) -> Settings:
    """Return settings with other values in the sections that say how a kind of feed is read.

    Args:
        settings: The settings in force.
        kind: The kind of feed.
        more: Values by dotted name, such as ``input.preset``; they win.

    Raises:
        SettingsError: A value does not fit.
    """
    overrides = getattr(settings, kind.value)
    by_section: dict[str, dict[str, Any]] = {}
    for dotted, value in more.items():
        section, _, name = dotted.partition(".")
        by_section.setdefault(section, {})[name] = value
    changed = {}
    for section, values in by_section.items():
        now = getattr(overrides, section)
        try:
            read = type(now).model_validate(values)
        except ValidationError:
            raise SettingsError(f"{kind.value}.{section}: a value does not fit") from None
        changed[section] = now.model_copy(update={name: getattr(read, name) for name in values})
    found = settings.model_copy(update={kind.value: overrides.model_copy(update=changed)})
    found.check_input(kind)
    return found
