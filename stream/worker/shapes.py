"""Shapes: what a map draws of one release. Made only from its published messages and the public vocabulary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

import h3
import msgspec
import numpy as np

from core.models.registry import family_of
from core.places.drawn_regions import DrawnRegions
from core.places.locate import EARTH_MERIDIAN_M, AreaGrid, H3Cells, Locator, MetricGrid, Venues
from core.places.pois import PointsOfInterest

__all__ = [
    "DRAWN_CELLS",
    "DRAWN_REGIONS",
    "NAMED_MEMBERS",
    "NamedPlace",
    "Region",
    "Shapes",
    "Trajectory",
    "outline",
    "shapes",
]

DRAWN_REGIONS = 400
"""Most generalized locations of one release on the map."""

DRAWN_CELLS = 2_000
"""Most members of generalized locations of one release with an outline on the map."""

NAMED_MEMBERS = 8
"""Most members of one generalized location with a name on the map."""

_DIGITS = 6  # a decimetre

_CIRCLE_CORNERS = 24

Corners = list[tuple[float, float]]
"""Degrees north and east; one corner is a point."""


class Region(msgspec.Struct, kw_only=True, frozen=True):
    """One generalized location."""

    lat: float
    """Latitude of the members' centroid or of the area's centre, degrees."""

    lon: float
    """Longitude of the members' centroid or of the area's centre, degrees."""

    n_members: int
    """Number of locations that were merged."""

    members: list[str]
    """The first :data:`NAMED_MEMBERS` members, by name."""

    cells: list[Corners]
    """Outlines of its members, each a list of latitude and longitude; :data:`DRAWN_CELLS` in a release at most."""


class Trajectory(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One released trajectory, without its pseudonym."""

    locations: list[int] | None = None
    """Indices of regions, in order of visit; of a flow its origin and its destination."""

    people: int | None = None
    """How many people a flow counts."""

    points: list[tuple[float, float]] | None = None
    """Latitude and longitude of each point, degrees."""

    first: str | None = None
    """Time of its first point."""

    last: str | None = None
    """Time of its last point."""


class Shapes(msgspec.Struct, kw_only=True, frozen=True):
    """The answer of ``/api/windows?release=``."""

    release: str
    """Id of the release."""

    regions: list[Region]
    """Generalized locations; at most :data:`DRAWN_REGIONS`."""

    n_regions: int
    """Number of regions in the release; may be more than in ``regions``."""

    trajectories: list[Trajectory]
    """Released trajectories that the map shows; none for models that release sets of locations, which have no order."""

    n_trajectories: int
    """Number of trajectories in the release; may be more than in ``trajectories``."""


class NamedPlace(msgspec.Struct):
    """A generalized location as a windows message describes it."""

    members: list[str]
    lat: float
    lon: float
    radius_m: float | None = None


class _Window(msgspec.Struct):
    release: str
    model: str
    trajectories: int
    locations: list[NamedPlace] = []


class _Emitted(msgspec.Struct):
    locations: list[list[str]] | None = None
    points: list[tuple[str, float, float]] | None = None
    origin: str | None = None
    destination: str | None = None
    people: int | None = None


_window = msgspec.json.Decoder(_Window)
_emitted = msgspec.json.Decoder(_Emitted)


def shapes(window: bytes, trajectories: Sequence[bytes], locator: Locator | None) -> Shapes:
    """Draw one release.

    Args:
        window: The value of its windows message.
        trajectories: Values of the messages of its trajectories.
        locator: The vocabulary of its locations; None for points.
    """
    decoded = _window.decode(window)
    left = DRAWN_CELLS
    regions: list[Region] = []
    index: dict[tuple[str, ...], int] = {}
    for place in decoded.locations[:DRAWN_REGIONS]:
        drawn = place.members[:left] if locator is not None else []
        left -= len(drawn)
        cells = [corners for name in drawn if locator is not None and (corners := outline(locator, name))]
        if place.radius_m is not None and not cells:
            cells = [_circle(place.lat, place.lon, place.radius_m)]
        index[tuple(place.members)] = len(regions)
        regions.append(
            Region(
                lat=place.lat,
                lon=place.lon,
                n_members=len(place.members),
                members=place.members[:NAMED_MEMBERS],
                cells=cells,
            )
        )
    # Of a set of locations, which has no order, no line can be drawn.
    ordered = trajectories if family_of(decoded.model).released.is_ordered else ()
    drawn_trajectories = [_drawn(_emitted.decode(value), index) for value in ordered]
    return Shapes(
        release=decoded.release,
        regions=regions,
        n_regions=len(decoded.locations),
        trajectories=[one for one in drawn_trajectories if one is not None],
        n_trajectories=decoded.trajectories,
    )


def _drawn(emitted: _Emitted, index: dict[tuple[str, ...], int]) -> Trajectory | None:
    if emitted.points:
        points = [(lat, lon) for _, lat, lon in emitted.points]
        return Trajectory(points=points, first=emitted.points[0][0], last=emitted.points[-1][0])
    named = emitted.locations or [[name] for name in (emitted.origin, emitted.destination) if name is not None]
    visits = [index.get(tuple(members), -1) for members in named]
    return Trajectory(locations=visits, people=emitted.people) if min(visits, default=-1) >= 0 else None


def outline(locator: Locator, name: str) -> Corners:
    """Return the corners of a location by its public name; none if the vocabulary does not have it."""
    try:
        return [(round(lat, _DIGITS), round(lon, _DIGITS)) for lat, lon in _corners(locator, name)]
    except (ValueError, IndexError, h3.H3BaseException):
        return []


@singledispatch
def _corners(locator: Locator, name: str) -> Corners:
    return []


@_corners.register
def _(locator: PointsOfInterest, name: str) -> Corners:
    place = locator.position(name)
    return [place] if place is not None else _corners(locator.cells, name)


@_corners.register
def _(locator: H3Cells, name: str) -> Corners:
    return list(h3.cell_to_boundary(name))


@_corners.register
def _(locator: MetricGrid, name: str) -> Corners:
    row, column = map(int, name.split("-"))
    _, _, (first,) = locator.describe(np.array([row << 32]))
    width, height = 2 * (float(first) + 180.0), 180.0 / locator.n_rows
    return _box(row * height - 90.0, column * width - 180.0, height, width)


@_corners.register
def _(locator: AreaGrid, name: str) -> Corners:
    row, column = map(int, name.removeprefix("r").split("c"))
    area = locator.area
    width, height = area.width_deg / locator.columns, (area.north - area.south) / locator.rows
    return _box(area.south + row * height, area.west + column * width, height, width)


@_corners.register
def _(locator: Venues, name: str) -> Corners:
    ids, known = locator.locate(np.empty(1), np.empty(1), [name])
    _, lat, lon = locator.describe(ids[known])
    return list(zip(lat.tolist(), lon.tolist(), strict=True))


@_corners.register
def _(locator: DrawnRegions, name: str) -> Corners:
    return locator.border(name)


def _circle(lat: float, lon: float, radius_m: float) -> Corners:
    """Corners around an area of which only the centre and the radius are known."""
    north = radius_m / EARTH_MERIDIAN_M
    east = north / max(0.01, math.cos(math.radians(lat)))
    turns = [2 * math.pi * i / _CIRCLE_CORNERS for i in range(_CIRCLE_CORNERS)]
    corners = [(lat + north * math.sin(turn), lon + east * math.cos(turn)) for turn in turns]
    return [(round(max(-90.0, min(90.0, up)), _DIGITS), round(along, _DIGITS)) for up, along in corners]


def _box(south: float, west: float, height: float, width: float) -> Corners:
    """Four corners; degrees may exceed 180 at the antimeridian, so that a box stays in one piece."""
    north, east = south + height, west + width
    return [(south, west), (south, east), (north, east), (north, west)]
