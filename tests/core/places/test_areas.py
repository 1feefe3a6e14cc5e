"""Areas of a hierarchy: every location is inside each of its areas, and areas have names of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from core.places.areas import distance_m
from core.places.locate import Area, AreaGrid, H3Cells, Locator, MetricGrid
from core.records.arrays import FloatArray
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import VENUES

LOCATORS = [
    MetricGrid(5000.0),
    AreaGrid(Area(south=-90, west=-180, north=90, east=179), rows=5, columns=9),
    AreaGrid(Area(south=-20, west=170, north=20, east=-170), rows=3, columns=3),
    H3Cells(6),
]


@pytest.mark.parametrize("locator", LOCATORS, ids=lambda locator: type(locator).__name__)
@settings(max_examples=examples(100))
@given(at=strategies.positions())
def test_every_location_is_inside_its_areas(locator: Locator, at: tuple[FloatArray, FloatArray]) -> None:
    """
    No farther from the centre than the radius. H3 cells are not exactly inside their parents: they may be half a
    radius away from them.
    """
    ids, found = locator.locate(*at, [None] * len(at[0]))
    ids = ids[found]
    _, lat, lon = locator.describe(ids)
    slack = 1.5 if isinstance(locator, H3Cells) else 1.0
    for location, path in enumerate(locator.ancestors(ids)):
        beginnings = [path[:depth] for depth in range(len(path) + 1)]
        areas = locator.areas(beginnings)
        away_m = distance_m(areas.lat_deg, areas.lon_deg, lat[location], lon[location])
        assert (away_m <= areas.radius_m * slack + 1).all()
        assert len(set(areas.names)) == len(beginnings)
        assert (np.abs(areas.lat_deg) <= 90).all()
        assert (np.abs(areas.lon_deg) <= 180).all()
        assert (np.diff(areas.radius_m) <= 0).all()


def test_an_area_is_named_after_its_node() -> None:
    """
    A quadrant by its division, row and column, an H3 cell by its index, the root as the whole.
    """
    (path,) = VENUES.ancestors(np.array([0]))
    assert VENUES.areas([(), path[:1], path[:3]]).names == ["q0-0-0", "q1-1-1", "q3-6-4"]
    (path,) = H3Cells(9).ancestors(H3Cells(9).locate(np.array([52.5]), np.array([13.4]), [None])[0])
    areas = H3Cells(9).areas([(), path[:1], path])
    assert areas.names == ["earth", "801ffffffffffff", "881f1d48b7fffff"]
    assert areas.radius_m[2] < 700
    assert len(VENUES.areas([]).names) == len(H3Cells(9).areas([]).names) == 0


def test_distances_are_those_on_the_earth() -> None:
    """
    A degree of latitude is 111 km, one of longitude at 60 degrees half as much; nothing is no distance.
    """
    away_m = distance_m(60.0, 10.0, np.array([61.0, 60.0, 60.0]), np.array([10.0, 11.0, 10.0]))
    assert away_m.tolist() == pytest.approx([111_195, 55_597, 0], abs=5)
