"""The attributes of a person that check-ins carry: their profile, and the hierarchies that the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from core.places.taxonomy import Categories
from core.records.profile import Categorical, Numeric, Profile
from core.records.record import Kind
from stream.feeds.place_categories import read_categories
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["build_profile", "hierarchy_files", "read_hierarchies"]

_RANGE = re.compile(r"\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s*")


def build_profile(settings: KindSettings, trees: Mapping[str, Categories]) -> Profile | None:
    """Build the profile of a feed of check-ins; None for one without attributes, and for fragments.

    Attributes are sorted by name, whatever their order in the settings, so that all workers number them alike; the
    sensitive one comes last.

    Args:
        settings: The settings of the feed.
        trees: The :func:`read_hierarchies` of its attributes.

    Raises:
        SettingsError: A range is invalid, or there are too many combinations of all values.
    """
    privacy = settings.privacy
    if settings.kind is not Kind.CHECKINS:
        return None
    attributes = [_attribute(name, privacy.attributes[name], trees) for name in sorted(privacy.attributes)]
    if privacy.sensitive_field is not None:
        attributes.append(Categorical(privacy.sensitive_field, privacy.sensitive_values, others=True))
    try:
        return Profile(tuple(attributes)) if attributes else None
    except ValueError as fault:
        raise SettingsError(f"privacy.attributes: {fault}") from None


def read_hierarchies(settings: KindSettings) -> dict[str, Categories]:
    """Read the hierarchies of attributes that have one, by the attributes' names.

    Raises:
        SettingsError: A file cannot be read, or is not a hierarchy.
    """
    found: dict[str, Categories] = {}
    for name, file in _files(settings).items():
        setting = f"privacy.attributes.{name}"
        if not file.is_file():
            raise SettingsError(
                f"{setting} is {settings.privacy.attributes[name]!r}: it must be LOW..HIGH, whole "
                "numbers, or a CSV with category,parent that exists"
            )
        found[name] = read_categories(file, setting)
    return found


def hierarchy_files(settings: KindSettings) -> list[Path]:
    """Return the files of the hierarchies; their content is part of a release's settings."""
    return list(_files(settings).values())


def _files(settings: KindSettings) -> dict[str, Path]:
    if settings.kind is not Kind.CHECKINS:
        return {}
    named = sorted(settings.privacy.attributes.items())
    return {name: Path(value) for name, value in named if not _RANGE.fullmatch(value)}


def _attribute(name: str, value: str, trees: Mapping[str, Categories]) -> Numeric | Categorical:
    try:
        if (match := _RANGE.fullmatch(value)) is not None:
            return Numeric(name, int(match[1]), int(match[2]))
        return Categorical(name, tuple(sorted(trees[name].parent_of)))
    except ValueError as fault:
        raise SettingsError(f"privacy.attributes.{name} is {value}: {fault}") from None
