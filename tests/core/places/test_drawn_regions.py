"""Drawn regions: positions in polygons, compared with an oracle that asks every polygon."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPolygon, Point, Polygon

from core.places.drawn_regions import DrawnRegions, DrawnRegionsError
from core.places.outlines import box_outline
from core.records.arrays import FloatArray
from core.records.record import Reason
from tests.builders.strategies import positions
from tests.oracles.regions import drawn_region_of

RING = Polygon(
    [(0, 0), (6, 0), (6, 6), (0, 6)],
    [[(2, 2), (2, 4), (4, 4), (4, 2)]],
)
"""A square with a hole."""

FIJI = box_outline(south=-20, west=177, north=-15, east=182)
CAP = shapely.box(-180, 80, 180, 90)
SOUTH = Polygon([(-30, -70), (40, -60), (100, -90), (20, -90)])
STAR = Polygon([(20, 0), (22, 5), (27, 6), (22, 7), (21, 12), (19, 7), (14, 6), (19, 5)])
ISLANDS = MultiPolygon([shapely.box(40, 40, 41, 41), shapely.box(43, 40, 44, 41)])
HOOK = Polygon([(60, 0), (70, 0), (70, 10), (60, 10), (60, 9), (69, 9), (69, 1), (60, 1)])
"""Its centroid is outside."""

WORLD = {
    **{"cap": CAP, "fiji": FIJI, "heart": shapely.box(2, 2, 4, 4), "hook": HOOK, "islands": ISLANDS, "ring": RING},
    **{"south": SOUTH, "star": STAR, "wing": shapely.box(6, 1, 9, 5), "zero": shapely.box(170, -3, 180, 3)},
}
"""Regions of all kinds; some have common borders, ``zero`` ends at the antimeridian."""

REGIONS = DrawnRegions(sorted(WORLD), [WORLD[name] for name in sorted(WORLD)])

GRID = [shapely.box(x, y, x + 1, y + 1) for x in range(-3, 4) for y in range(-3, 4) if (x + 2 * y) % 3]
"""Many squares with common borders."""

CORNERS = st.sampled_from(
    [(north, east) for area in WORLD.values() for east, north in shapely.get_coordinates(area).tolist()]
)


def at(regions: DrawnRegions, lat_deg: float, lon_deg: float) -> str | None:
    ids, found = regions.locate(np.array([lat_deg]), np.array([lon_deg]), [None])
    return regions.names[ids[0]] if found[0] else None


def names(n: int) -> list[str]:
    return [f"r{i:03d}" for i in range(n)]


@given(where=positions())
def test_positions_of_the_whole_earth_are_located_as_the_oracle_does(where: tuple[FloatArray, FloatArray]) -> None:
    """
    Poles, the antimeridian, holes and parts included.
    """
    ids, found = REGIONS.locate(*where)
    expected = [drawn_region_of(REGIONS.polygons, lat, lon) for lat, lon in zip(*where, strict=True)]
    assert np.where(found, ids, -1).tolist() == expected


@given(
    places=st.lists(
        st.tuples(
            st.floats(-21, 15) | st.integers(-20, 12).map(float), st.floats(-1, 71) | st.integers(0, 71).map(float)
        )
        | CORNERS,
        min_size=1,
        max_size=30,
    )
)
def test_positions_in_and_on_regions_are_located_as_the_oracle_does(places: list[tuple[float, float]]) -> None:
    """
    Corners and edges included: a common border belongs to the first region by name.
    """
    lat, lon = np.array(places).T
    ids, found = REGIONS.locate(lat, lon)
    expected = [drawn_region_of(REGIONS.polygons, *place) for place in places]
    assert np.where(found, ids, -1).tolist() == expected


@given(
    places=st.lists(st.tuples(*[st.floats(-4, 5) | st.integers(-8, 10).map(lambda half: half / 2)] * 2), min_size=1),
    n=st.integers(1, len(GRID)),
)
def test_the_index_changes_nothing(places: list[tuple[float, float]], n: int) -> None:
    """
    However many regions there are, and wherever the lines of the index fall.
    """
    regions = DrawnRegions(names(n), GRID[:n])
    lat, lon = np.array(places).T
    ids, found = regions.locate(lat, lon)
    assert np.where(found, ids, -1).tolist() == [drawn_region_of(GRID[:n], *place) for place in places]


def test_many_corners_are_thinned_without_a_fault() -> None:
    """
    A circle of a thousand corners has more borders than the index has lines; a far island stretches the index.
    """
    circle, far = Point(10.0, 50.0).buffer(0.5, quad_segs=250), shapely.box(-150, -30, -149, -29)
    regions = DrawnRegions(["circle", "far"], [circle, far])
    rng = np.random.default_rng(3)
    lat, lon = rng.uniform(49.4, 50.6, 3000), rng.uniform(9.4, 10.6, 3000)
    ids, found = regions.locate(lat, lon)
    assert np.where(found, ids, -1).tolist() == [
        drawn_region_of([circle, far], *place) for place in zip(lat.tolist(), lon.tolist(), strict=True)
    ]
    assert 1000 < found.sum() < 2900


@pytest.mark.parametrize(
    ("lat", "lon", "name"),
    [
        (-17, 180, "fiji"),
        (-17, -180, "fiji"),
        (0, 180, "zero"),
        (0, -180, "zero"),
        (0, -179.9999, None),
        (90, 17, "cap"),
        (-90, -120, "south"),
        (3, 3, "heart"),
        (2, 3, "heart"),  # on the border of the hole
        (3, 6, "ring"),  # on the border of the wing, which comes later
        (40.5, 42, None),
        (5, 65, None),
    ],
)
def test_worked_positions(lat: float, lon: float, name: str | None) -> None:
    """
    -180 is 180, a pole has no longitude, a hole is outside, and a border belongs to the first region by name.
    """
    assert at(REGIONS, lat, lon) == name


def test_records_without_a_position_and_empty_batches_are_not_found() -> None:
    """
    NaN is in no region and does not disturb the others; a million points are one call.
    """
    ids, found = REGIONS.locate(np.array([np.nan, 3.0, 3.0]), np.array([3.0, np.nan, 3.0]))
    assert found.tolist() == [False, False, True]
    assert REGIONS.names[ids[2]] == "heart"
    ids, found = REGIONS.locate(np.empty(0), np.empty(0), [])
    assert (len(ids), len(found)) == (0, 0)
    assert REGIONS.needs_position
    assert REGIONS.refusal == (Reason.OUTSIDE_AREA, "the position is in no region of location.regions_file")


def test_the_centre_of_a_region_is_inside_it() -> None:
    """
    The centroid, or a point inside if the centroid is in a hole, between islands or in a bay.
    """
    ids = np.arange(len(REGIONS.names))
    described, lat, lon = REGIONS.describe(ids)
    assert described == REGIONS.names
    again, found = REGIONS.locate(lat, lon)
    assert found.all()
    assert again.tolist() == ids.tolist()
    fiji = REGIONS.names.index("fiji")
    assert (lat[fiji], lon[fiji]) == (pytest.approx(-17.5), pytest.approx(179.5))
    assert (lat[REGIONS.names.index("heart")], lon[REGIONS.names.index("heart")]) == (3.0, 3.0)


def test_near_regions_share_large_quadrants() -> None:
    """
    Ancestors are quadrants around the centres: heart and wing share more of them than heart and star.
    """
    heart, star, wing = REGIONS.ancestors(np.array([REGIONS.names.index(name) for name in ("heart", "star", "wing")]))

    def shared(one: tuple[object, ...], other: tuple[object, ...]) -> int:
        return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))

    assert shared(heart, wing) > shared(heart, star) > 0


def test_another_process_locates_alike() -> None:
    """
    Regions are sent to other processes without their index.
    """
    REGIONS.locate(np.zeros(1), np.zeros(1))
    assert len(pickle.dumps(REGIONS)) < 6_000
    again = pickle.loads(pickle.dumps(REGIONS))  # noqa: S301 - our own bytes
    assert again.names == REGIONS.names
    assert at(again, -17, -179) == "fiji"


def test_the_border_of_a_region_is_drawn_in_one_piece() -> None:
    """
    Of several parts the largest; across the antimeridian degrees east exceed 180.
    """
    assert set(REGIONS.border("heart")) == {(2.0, 2.0), (2.0, 4.0), (4.0, 4.0), (4.0, 2.0)}
    assert {177.0, 182.0} <= {east for _, east in REGIONS.border("fiji")}
    with pytest.raises(ValueError, match="nowhere"):
        REGIONS.border("nowhere")


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (shapely.box(5, 5, 7, 7), "regions 'a' and 'b' overlap by 12,[0-9]{3},[0-9]{3},[0-9]{3} square metres"),
        (shapely.box(1, 1, 2, 2), "overlap"),
        (shapely.box(-3, -3, 9, 9), "overlap"),
        (MultiPolygon([shapely.box(30, 30, 31, 31), shapely.box(5.99, 0, 8, 1)]), "overlap"),
    ],
)
def test_overlapping_regions_are_refused_by_name(second: Polygon | MultiPolygon, says: str) -> None:
    """
    Whether they cross, or one is in the other, or a part of one.
    """
    with pytest.raises(DrawnRegionsError, match=says):
        DrawnRegions(["a", "b"], [RING, second])


def test_a_border_drawn_twice_is_no_overlap() -> None:
    """
    Less than a square metre is the noise of an editor; the first region by name has it.
    """
    regions = DrawnRegions(["a", "b"], [shapely.box(0, 0, 1e-3, 1e-3), shapely.box(1e-3 - 1e-9, 0, 2e-3, 1e-3)])
    assert at(regions, 5e-4, 1e-3 - 5e-10) == "a"


@pytest.mark.parametrize(
    ("given_names", "areas"),
    [([], []), (["a"], []), (["a", "a"], GRID[:2]), (["b", "a"], GRID[:2])],
)
def test_names_are_ascending_and_there_is_a_region(given_names: list[str], areas: list[Polygon]) -> None:
    """
    Ids must be in the order of names.
    """
    with pytest.raises(ValueError, match="drawn regions"):
        DrawnRegions(given_names, areas)
