"""Utility constraints from the settings: which locations may be generalized together."""

from __future__ import annotations

import re
from pathlib import Path

from core.places.constraints import Constraints, LevelConstraints, ListedConstraints
from core.places.drawn_regions import DrawnRegions
from core.places.locate import Locator, Venues
from core.places.pois import PointsOfInterest
from core.records.identity import Names
from stream.feeds.csv_tables import find_name, read_table, wrong_line
from stream.feeds.digests import file_label
from stream.feeds.taxonomies import build_taxonomy
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["build_constraints", "constraint_level"]


def build_constraints(settings: KindSettings, locator: Locator) -> Constraints:
    """Read which locations may be generalized together.

    Raises:
        SettingsError: A file cannot be read, gives a location two constraints, or leaves a location out.
    """
    privacy = settings.privacy
    name = privacy.constraints or ""
    if (level := constraint_level(name)) is not None:
        return LevelConstraints(build_taxonomy(settings, locator), level)
    file, setting = Path(name), "privacy.constraints"
    known = locator.names if isinstance(locator, Venues | DrawnRegions | PointsOfInterest) else []
    venues = Names(known)
    constraint_of: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for line, (location, constraint) in read_table(file, setting, ("location", "constraint")):
        if not constraint:
            raise wrong_line(setting, file, line, "the location has no constraint: every row needs one")
        name = find_name(location, venues, known) or location
        first = line_of.setdefault(name, line)
        if constraint_of.setdefault(name, constraint) != constraint:
            raise wrong_line(
                setting, file, line, f"the location has another constraint in line {first}: it must have one"
            )
    listed = sorted(set(constraint_of.values()))
    default = privacy.default_constraint
    if default is not None:
        default = find_name(default, Names(listed), listed) or default
    if default is None:
        left_out = (
            [name for name in known if name not in constraint_of]
            if isinstance(locator, Venues | DrawnRegions)
            else None
        )
        if left_out is None or left_out:
            how_many = (
                "locations that are not listed may occur"
                if left_out is None
                else f"{len(left_out)} {'venues' if isinstance(locator, Venues) else 'regions'} are not listed"
            )
            raise SettingsError(f"{setting} {file}: {how_many}: set privacy.default_constraint")
    return ListedConstraints(constraint_of, default, file_label(file))


def constraint_level(name: str) -> int | None:
    """Return N of ``level:N``; None if the setting names something else, such as a file."""
    match = re.fullmatch(r"level:([1-9]\d?)", name)
    return int(match[1]) if match else None
