"""A guess, and what it says of how the values of fields are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stream.feeds.trial.guessing.names import normal
from stream.feeds.trial.guessing.values import degrees_units, numbers_of, time_form

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
        units = degrees_units(numbers_of(lat, decimal), numbers_of(lon, decimal))
        if not units or units == [1.0]:
            return
        if (named := re.search("e([5-7])$", normal(name))) is not None:
            units = [float(f"1e-{named[1]}")]
        if len(units) > 1:
            self.needs["input.degrees_per_unit"] = (
                f"positions are whole numbers, and {_either(units)} degrees in one unit would make positions of them, "
                "at different places: set input.degrees_per_unit to what the source means"
            )
            return
        self.settings["input.degrees_per_unit"] = units[0]
        self.remarks.append(
            f"positions are whole numbers, and {units[0]:g} degrees in one unit would make positions of them: check on "
            "a map that this is what the source means"
        )

    def take_weak_user(self) -> None:
        """Take what may be a person's id, if nothing else is, and say that it is to be checked."""
        if not self.weak_user or "fields.user" in self.settings:
            return
        self.settings["fields.user"] = self.weak_user
        self.n_found += 1
        self.remarks.append(
            f"fields.user is {self.weak_user}: check that it is the id of the person, and not of the record or the "
            "trip, each of which would count as a person"
        )

    def add_text_numbers(self, values: Sequence[Any], *, is_text: bool) -> None:
        """Say whether numbers are text; see :meth:`add_time`."""
        if not is_text and any(isinstance(value, str) for value in values):
            self.settings["input.numbers_as_text"] = True


def _either(units: Sequence[float]) -> str:
    shown = [f"{unit:g}" for unit in units]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
