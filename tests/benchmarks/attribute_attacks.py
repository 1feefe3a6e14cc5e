"""The attack on attributes over several windows: what a person is released with in each is intersected.

The adversary knows everybody's attributes, and in each window of a run the record of one person, attributes alone. The
intersection of these attributes, one by one, is compared with everybody's. Who is in a group besides, and who was
released when, is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.models.kkm.attributes import CategoricalAttribute, Interval, Schema, Value
from core.records.arrays import BoolArray

__all__ = ["Intersections", "ReleasedAttributes", "intersect_over_windows"]

Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedAttributes:
    """The attributes that a window released, and whose they are."""

    number: int
    """Number of the window."""

    values: Mapping[int, Values]
    """Generalized attributes of each released person, by keyed hash."""


@dataclass(slots=True)
class Intersections:
    """What the adversary finds."""

    people: set[int] = field(default_factory=set)
    """People who are released at least twice in some run of windows."""

    found: set[int] = field(default_factory=set)
    """Those of whom in some run fewer than k people fit."""

    fewest: int | None = None
    """Fewest people who fit in any run; None without people."""

    @property
    def share(self) -> float:
        """Share of the people who are found."""
        return len(self.found) / max(len(self.people), 1)


def intersect_over_windows(
    windows: Sequence[ReleasedAttributes],
    true: Mapping[int, Sequence[float | str]],
    schema: Schema,
    *,
    runs_of: int,
    k: int,
) -> Intersections:
    """Intersect what people are released with in every run of successive windows.

    Args:
        windows: Releases in order; gaps shorten the runs around them.
        true: True attributes of everybody in the feed, by keyed hash.
        schema: The attributes.
        runs_of: How many successive windows are a run.
        k: How many people there should be.
    """
    people = _Everybody(true, schema)
    found = Intersections()
    for first in windows:
        run = [one for one in windows if first.number <= one.number < first.number + runs_of]
        for person in first.values:
            shown = [one.values[person] for one in run if person in one.values]
            if len(shown) < 2:
                continue
            fitting = people.fitting(shown)
            found.people.add(person)
            if fitting < k:
                found.found.add(person)
            found.fewest = fitting if found.fewest is None else min(found.fewest, fitting)
    return found


class _Everybody:
    """The people of a feed, by their attributes."""

    def __init__(self, true: Mapping[int, Sequence[float | str]], schema: Schema) -> None:
        self._schema = schema
        self._columns = [np.array(column) for column in zip(*true.values(), strict=True)]
        self._fits: dict[tuple[int, Value], BoolArray] = {}

    def fitting(self, shown: Sequence[Values]) -> int:
        """Count the people whose attributes are within all that is shown."""
        fits = np.ones(len(self._columns[0]), np.bool_)
        for values in shown:
            for at, value in enumerate(values):
                fits &= self._within(at, value)
        return int(fits.sum())

    def _within(self, at: int, value: Value) -> BoolArray:
        if (at, value) not in self._fits:
            attribute, column = self._schema[at], self._columns[at]
            if isinstance(value, Interval):
                self._fits[at, value] = (column >= value.low) & (column <= value.high)
            else:
                assert isinstance(attribute, CategoricalAttribute)
                self._fits[at, value] = np.array([value in attribute.hierarchy.path(one) for one in column.tolist()])
        return self._fits[at, value]
