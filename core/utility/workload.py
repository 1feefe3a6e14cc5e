"""Workloads: COUNT queries that people write, or that are drawn from a raw window.

A query asks how many people visited some places, in order or not, perhaps at some time of the day, perhaps only of
people with some attributes. It names places in the words of the world, not of one window, so the same query can be
counted on every window, raw or released, of every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import h3
import numpy as np

from core.places.areas import distance_m
from core.records.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "MOST_PLACES",
    "AroundPlace",
    "CellPlace",
    "CountQuery",
    "LocationPlace",
    "QueryPlace",
    "RectanglePlace",
    "Spots",
    "TimeOfDay",
    "Workload",
]

MOST_PLACES = 5
"""Most places of a query: without an order, the work doubles with each."""

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spots:
    """Positions where people may have been: the locations of a window, or its points."""

    lat_deg: FloatArray
    """Degrees north, shape ``(s,)``."""

    lon_deg: FloatArray
    """Degrees east, shape ``(s,)``."""

    names: Sequence[str] | None = None
    """Public name of each; None for points, which have none."""

    _number: dict[str, int] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._number.update((name, number) for number, name in enumerate(self.names or ()))

    def numbers(self, names: Sequence[str]) -> list[int]:
        """Return which spots have these names."""
        return [self._number[name] for name in names]

    def named(self, name: str) -> BoolArray:
        """Return which spot has this name, shape ``(s,)``; none if it is unknown."""
        found = np.zeros(len(self.lat_deg), np.bool_)
        if name in self._number:
            found[self._number[name]] = True
        return found


class QueryPlace(Protocol):
    """A place of a query."""

    def contains(self, spots: Spots) -> BoolArray:
        """Return which spots are in the place, shape ``(s,)``."""
        ...


@dataclass(frozen=True, slots=True)
class LocationPlace:
    """The location with a name: a cell, a venue or a region."""

    name: str = field(repr=False)

    def contains(self, spots: Spots) -> BoolArray:
        """See :meth:`QueryPlace.contains`."""
        return spots.named(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RectanglePlace:
    """All positions between two parallels and two meridians, borders included.

    Raises:
        ValueError: The corners are not south-west and north-east, in degrees.
    """

    south: float = field(repr=False)
    west: float = field(repr=False)
    north: float = field(repr=False)
    east: float = field(repr=False)

    def __post_init__(self) -> None:
        if not (-90 <= self.south < self.north <= 90 and -180 <= self.west < self.east <= 180):
            raise ValueError("a rectangle is south, west, north, east in degrees, south < north and west < east")

    def contains(self, spots: Spots) -> BoolArray:
        """See :meth:`QueryPlace.contains`."""
        lat, lon = spots.lat_deg, spots.lon_deg
        inside: BoolArray = (lat >= self.south) & (lat <= self.north) & (lon >= self.west) & (lon <= self.east)
        return inside


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundPlace:
    """All positions within a distance of a point.

    Raises:
        ValueError: The point is not on earth, or the radius is not above 0.
    """

    lat_deg: float = field(repr=False)
    lon_deg: float = field(repr=False)
    radius_m: float

    def __post_init__(self) -> None:
        if not (-90 <= self.lat_deg <= 90 and -180 <= self.lon_deg <= 180 and 0 < self.radius_m < float("inf")):
            raise ValueError("a disc has a latitude and a longitude in degrees, and a radius in metres above 0")

    def contains(self, spots: Spots) -> BoolArray:
        """See :meth:`QueryPlace.contains`."""
        inside: BoolArray = distance_m(self.lat_deg, self.lon_deg, spots.lat_deg, spots.lon_deg) <= self.radius_m
        return inside


@dataclass(frozen=True, slots=True)
class CellPlace:
    """All positions in an H3 cell; a location is in it if its centre is.

    Raises:
        ValueError: It is no H3 cell.
    """

    cell: str = field(repr=False)

    def __post_init__(self) -> None:
        if not h3.is_valid_cell(self.cell):
            raise ValueError("this is not the index of an H3 cell, such as 892a100d2c3ffff")

    def contains(self, spots: Spots) -> BoolArray:
        """See :meth:`QueryPlace.contains`."""
        lat, lon = h3.cell_to_latlng(self.cell)
        corners = np.array(h3.cell_to_boundary(self.cell))
        reach_m = 1.01 * distance_m(lat, lon, corners[:, 0], corners[:, 1]).max()  # an edge is no straight line
        inside = np.zeros(len(spots.lat_deg), np.bool_)
        near = np.flatnonzero(distance_m(lat, lon, spots.lat_deg, spots.lon_deg) <= reach_m)
        level = h3.get_resolution(self.cell)
        at = zip(spots.lat_deg[near].tolist(), spots.lon_deg[near].tolist(), strict=True)
        inside[near] = [h3.latlng_to_cell(*one, level) == self.cell for one in at]
        return inside


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOfDay:
    """A span of every day, UTC; it may go over midnight.

    Raises:
        ValueError: A time is no time of day, or the span is empty.
    """

    from_ms: int
    """First instant, milliseconds after midnight."""

    to_ms: int
    """First instant after it, milliseconds after midnight, up to a whole day."""

    def __post_init__(self) -> None:
        if not (0 <= self.from_ms < _DAY_MS and 0 <= self.to_ms <= _DAY_MS and self.from_ms != self.to_ms):
            raise ValueError("a span of the day has two different times, from 00:00 to 24:00")

    def share(self, begins_ms: IntArray, ends_ms: IntArray) -> FloatArray:
        """Return which share of some intervals is inside the span.

        Args:
            begins_ms: First instant of each, Unix milliseconds or milliseconds after midnight, shape ``(p,)``.
            ends_ms: First instant after each, above ``begins_ms``.

        >>> hour = 3_600_000
        >>> TimeOfDay(from_ms=22 * hour, to_ms=2 * hour).share(np.array([21 * hour]), np.array([23 * hour])).tolist()
        [0.5]
        """
        length_ms = (self.to_ms - self.from_ms) % _DAY_MS or _DAY_MS

        def inside_until(ms: IntArray) -> IntArray:
            days, rest = np.divmod(ms - self.from_ms, _DAY_MS)
            until: IntArray = days * length_ms + np.minimum(rest, length_ms)
            return until

        share: FloatArray = (inside_until(ends_ms) - inside_until(begins_ms)) / (ends_ms - begins_ms)
        return share


@dataclass(frozen=True, slots=True, kw_only=True)
class CountQuery:
    """How many people visited some places.

    Raises:
        ValueError: There is no place, or too many.
    """

    places: tuple[QueryPlace, ...]
    """One to :data:`MOST_PLACES`."""

    in_order: bool = True
    """Whether the places were visited in this order, others in between allowed."""

    during: TimeOfDay | None = None
    """When each of the visits was; at any time if None."""

    attributes: Mapping[str, str | tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))
    """What holds of the people: a value of a hierarchy or one below it, or smallest and largest number."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.places) <= MOST_PLACES:
            raise ValueError(f"a query has {len(self.places)} places: it must have 1 to {MOST_PLACES}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The queries by which a release is measured.

    Raises:
        ValueError: A number is out of its range.
    """

    queries: tuple[CountQuery, ...] | None = None
    """What people ask; None to draw queries from each raw window."""

    n_drawn: int = 100
    """How many are drawn of each window, if ``queries`` is None. At least 1."""

    largest_drawn: int = 2
    """Most places of a drawn query. At least 1."""

    sanity_percent: float = 0.1
    """Errors are relative to the raw answer, but at least to this share of the window's people, percent, and to one
    person. Without it, a query that nobody matches would have an error without bound. In ``0..100``."""

    def __post_init__(self) -> None:
        if self.n_drawn < 1 or not 1 <= self.largest_drawn <= MOST_PLACES:
            raise ValueError(f"draw at least 1 query, with 1 to {MOST_PLACES} places")
        if not 0 <= self.sanity_percent <= 100:
            raise ValueError(f"sanity_percent is {self.sanity_percent}: it must be in 0..100")

    def sanity_bound(self, people: int) -> float:
        """Return the least number of people that an error is relative to."""
        return max(1.0, people * self.sanity_percent / 100)
