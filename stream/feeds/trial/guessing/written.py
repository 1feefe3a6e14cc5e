"""A guess, and what it says of how the values of fields are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stream.feeds.trial.guessing.names import normal
from stream.feeds.trial.guessing.values import degrees_unit, numbers_of, time_form

__all__ = ["NEEDS_USER", "Guess"]

NEEDS_USER = (
    "no field looks like a person's id: set fields.user to the one that is, or to file:name if every file is one person"
)


@dataclass(slots=True)
class Guess:
    """Settings that may read a source, by dotted name below the kind of feed."""

    settings: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    needs: dict[str, str] = field(default_factory=dict)
    """Settings that only the owner of the data can choose, and why."""

    to_try: dict[str, Any] = field(default_factory=dict)
    """Values of such settings that may fit, but must not be shown: they may be values of a record."""

    n_found: int = 0
    """How many of position, time and person were found."""

    weak_user: str = ""
    """Path of what may be a person's id, but of the record's as well."""

    @property
    def has_position(self) -> bool:
        """Whether a position was found."""
        return "fields.lat" in self.settings or "fields.lat" in self.to_try

    def add_time(self, name: str, values: Sequence[Any], *, is_text: bool) -> None:
        """Say how times are written.

        Args:
            name: Where they are, in words.
            values: Some of them.
            is_text: Whether all values are text anyway, as in a table.
        """
        form = time_form(values)
        if form is None:
            return
        settings, lacks_offset, others = form
        self.settings |= {f"time.{key}": value for key, value in settings.items()}
        if "unit" in settings:
            self.add_text_numbers(values, is_text=is_text)
        if lacks_offset:
            self.needs["time.zone"] = (
                f"the times in {name} have no offset: set time.zone to the zone in which they were written, such as "
                "UTC or Europe/Vienna"
            )
        if others:
            self.needs["time.format"] = (
                f"the times in {name} also fit {' and '.join(others)}: set time.format to the one that is meant"
            )

    def add_degrees(self, name: str, lat: Sequence[Any], lon: Sequence[Any], decimal: str = ".") -> None:
        """Say which unit positions have.

        Args:
            name: The name of the latitude, which may tell it.
            lat: Some latitudes.
            lon: Some longitudes.
            decimal: The decimal sign of numbers that are text.
        """
        unit = degrees_unit(numbers_of(lat, decimal), numbers_of(lon, decimal))
        if unit != 1.0 and (named := re.search("e([5-7])$", normal(name))) is not None:
            unit = float(f"1e-{named[1]}")
        if unit is not None and unit != 1.0:
            self.settings["input.degrees_per_unit"] = unit
            self.remarks.append(
                f"positions are whole numbers, and {unit:g} degrees in one unit would make positions of them: check on "
                "a map that this is what the source means, because another power of ten may be accepted as well"
            )

    def add_text_numbers(self, values: Sequence[Any], *, is_text: bool) -> None:
        """Say whether numbers are text; see :meth:`add_time`."""
        if not is_text and any(isinstance(value, str) for value in values):
            self.settings["input.numbers_as_text"] = True
