"""Locate: what a cell is, that a position lies in it, and what happens at poles, antimeridian and borders."""

from __future__ import annotations

import h3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from core.places.locate import Area, AreaGrid, H3Cells, Located, Locator, MetricGrid, Venues
from core.records.arrays import FloatArray
from core.records.record import Reason
from tests.builders.strategies import LATITUDES, LONGITUDES, positions

WGS84 = Geod(ellps="WGS84")


def locate(locator: Locator, lat_deg: FloatArray, lon_deg: FloatArray) -> Located:
    return locator.locate(lat_deg, lon_deg, [None] * len(lat_deg))


def at(locator: Locator, lat_deg: float, lon_deg: float) -> int | None:
    """The location of one position."""
    ids, found = locate(locator, np.array([lat_deg]), np.array([lon_deg]))
    return int(ids[0]) if found[0] else None


def centre(locator: Locator, location: int) -> tuple[float, float]:
    _, lat, lon = locator.describe(np.array([location]))
    return float(lat[0]), float(lon[0])


def turned_deg(from_deg: FloatArray, to_deg: FloatArray) -> FloatArray:
    """The shorter way between two longitudes."""
    return np.abs((to_deg - from_deg + 180.0) % 360.0 - 180.0)


def distance_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    return float(WGS84.inv(a[1], a[0], b[1], b[0])[2])


AREAS = [
    Area(south=40.0, west=-74.3, north=41.0, east=-73.7),
    Area(south=-18.0, west=177.0, north=-16.0, east=-179.0),  # Fiji, across the antimeridian
    Area(south=-90.0, west=-180.0, north=90.0, east=180.0),
    Area(south=-90.0, west=10.0, north=90.0, east=9.0),
]
AREA_GRIDS = [AreaGrid(area, rows=7, columns=11) for area in AREAS]


# ---------------------------------------------------------------- every vocabulary of positions


@pytest.mark.parametrize("locator", [MetricGrid(250.0), MetricGrid(5e6), H3Cells(9), H3Cells(0), *AREA_GRIDS[2:]])
@given(where=positions())
def test_a_location_contains_its_own_centre(locator: Locator, where: tuple[FloatArray, FloatArray]) -> None:
    """
    The published centre of a location is located in that same location; names tell locations apart.
    """
    ids, found = locate(locator, *where)
    names, lat, lon = locator.describe(ids[found])
    assert (np.abs(lat) <= 90).all()
    assert (np.abs(lon) <= 180).all()
    again, all_found = locate(locator, lat, lon)
    assert all_found.all()
    assert again.tolist() == ids[found].tolist()
    assert len(set(names)) == len(set(ids[found].tolist()))


@pytest.mark.parametrize("locator", [MetricGrid(250.0), H3Cells(9), *AREA_GRIDS])
def test_a_record_without_a_position_is_not_found(locator: Locator) -> None:
    """
    NaN is no position, and does not disturb the others of its batch.
    """
    lat, lon = np.array([np.nan, 40.5, 0.0]), np.array([0.0, -74.0, np.nan])
    _, found = locate(locator, lat, lon)
    assert not found[[0, 2]].any()
    ids, _ = locate(locator, lat[1:2], lon[1:2])
    assert ids[0] == locate(locator, lat, lon)[0][1]


@pytest.mark.parametrize("locator", [MetricGrid(250.0), H3Cells(9), *AREA_GRIDS])
def test_no_records_have_no_locations(locator: Locator) -> None:
    """
    An empty batch is located and described.
    """
    ids, found = locate(locator, np.empty(0), np.empty(0))
    names, lat, lon = locator.describe(ids)
    assert (len(ids), len(found), names, len(lat), len(lon)) == (0, 0, [], 0, 0)
    assert locator.needs_position


# ---------------------------------------------------------------- the metric grid


@given(where=positions(), cell_m=st.sampled_from([1.0, 50.0, 250.0, 1000.0, 20_000.0]))
def test_a_position_lies_within_half_a_cell_of_its_centre(where: tuple[FloatArray, FloatArray], cell_m: float) -> None:
    """
    In latitude by half a row, in longitude by half of the row's equal cells: the cells tile the earth.
    """
    grid = MetricGrid(cell_m)
    ids, found = locate(grid, *where)
    assert found.all()
    _, lat, lon = grid.describe(ids)
    assert (np.abs(lat - where[0]) <= 90.0 / grid.n_rows + 1e-9).all()
    columns = [len_of_row(grid, float(one)) for one in lat]
    assert (turned_deg(lon, where[1]) <= 180.0 / np.array(columns) + 1e-9).all()


def len_of_row(grid: MetricGrid, lat_deg: float) -> int:
    """Cells of the row at a latitude: the last one, a centimetre before the antimeridian, tells."""
    location = at(grid, lat_deg, 179.9999999)
    assert location is not None
    return (location & 0xFFFFFFFF) + 1


@pytest.mark.parametrize("cell_m", [100.0, 1000.0, 10_000.0])
@given(lat=st.floats(-90, 90), lon=LONGITUDES)
def test_cells_are_about_as_wide_and_high_as_asked(cell_m: float, lat: float, lon: float) -> None:
    """
    On the ellipsoid a cell measures cell_m by cell_m up to 1.5 %, from the equator to a hundred cells from a pole.
    """
    lat *= 1 - 100 * cell_m / 1e7 if abs(lat) > 45 else 1
    grid = MetricGrid(cell_m)
    location = at(grid, lat, lon)
    assert location is not None
    mid_lat, mid_lon = centre(grid, location)
    half_row, half_column = 90.0 / grid.n_rows, 180.0 / len_of_row(grid, mid_lat)
    high_m = distance_m((mid_lat - half_row, mid_lon), (mid_lat + half_row, mid_lon))
    wide_m = distance_m((mid_lat, mid_lon - half_column), (mid_lat, mid_lon + half_column))
    assert high_m == pytest.approx(cell_m, rel=0.015)
    assert wide_m == pytest.approx(cell_m, rel=0.015)


@pytest.mark.parametrize("pole", [-90.0, 90.0])
def test_a_pole_is_the_corner_of_three_cells(pole: float) -> None:
    """
    The last row is a disc of cell_m around the pole; three cells share it, so none is a sliver.
    """
    grid = MetricGrid(1000.0)
    assert len_of_row(grid, pole) == 3
    assert len({at(grid, pole, lon) for lon in np.linspace(-180, 180, 37)}) == 3
    assert at(grid, pole, 0.0) == at(grid, pole - np.sign(pole) * 0.001, 0.0)


@pytest.mark.parametrize("lat", [-89.99, -45.0, 0.0, 52.5, 90.0])
def test_the_antimeridian_is_one_border_with_two_names(lat: float) -> None:
    """
    180 E and 180 W are one place; a step across it is a step to a neighbour, a step beside it stays.
    """
    #        179.9999 E | 179.9999 W
    #  ... [ last cell ][ cell 0 ] ...
    grid = MetricGrid(1000.0)
    assert at(grid, lat, 180.0) == at(grid, lat, -180.0) == at(grid, lat, -179.9999)
    here, there = at(grid, lat, 179.9999), at(grid, lat, -179.9999)
    assert here is not None
    assert there is not None
    assert there & 0xFFFFFFFF == 0
    assert here & 0xFFFFFFFF == len_of_row(grid, lat) - 1
    (here_lat, here_lon), (there_lat, there_lon) = centre(grid, here), centre(grid, there)
    assert here_lat == there_lat
    assert 0 < here_lon < 180
    assert here_lon == pytest.approx(-there_lon)


def test_the_grid_is_pinned() -> None:
    """
    Ids and names are stored in buffered rows and releases: another version must number alike.
    """
    grid = MetricGrid(250.0)
    ids, _ = locate(grid, np.array([52.516, -33.857, 0.0]), np.array([13.378, 151.215, 0.0]))
    assert ids.tolist() == [272245092043894, 107249628470753, 171927540938940]
    assert grid.describe(ids)[0] == ["063387-052342", "024971-122337", "040030-080060"]


@pytest.mark.parametrize("cell_m", [3e7, 1e8])
def test_one_cell_may_be_larger_than_the_earth(cell_m: float) -> None:
    """
    A cell that is too large gives a grid of very few cells, not of none.
    """
    grid = MetricGrid(cell_m)
    ids, found = locate(grid, np.array([-90.0, 0.0, 90.0]), np.array([-180.0, 0.0, 180.0]))
    assert found.all()
    assert len(set(ids.tolist())) == 1


# ---------------------------------------------------------------- a grid over an area


@pytest.mark.parametrize("grid", AREA_GRIDS)
@given(up=st.floats(0, 1), along=st.floats(0, 1))
def test_a_position_in_the_area_lies_in_its_cell(grid: AreaGrid, up: float, along: float) -> None:
    """
    Inside the area every position is found, within half a cell of the centre of its cell.
    """
    area = grid.area
    lat = min(area.south + up * (area.north - area.south), area.north)
    lon = (area.west + 1e-9 + along * (area.width_deg - 2e-9) + 180.0) % 360.0 - 180.0
    location = at(grid, lat, lon)
    assert location is not None
    mid_lat, mid_lon = centre(grid, location)
    assert abs(mid_lat - lat) <= (area.north - area.south) / grid.rows / 2 + 1e-9
    assert turned_deg(np.array(mid_lon), np.array(lon)) <= area.width_deg / grid.columns / 2 + 1e-9


@pytest.mark.parametrize("grid", AREA_GRIDS)
def test_the_corners_of_the_area_are_its_corner_cells(grid: AreaGrid) -> None:
    """
    All four borders belong to the area; just outside them nothing is found.
    """
    #  r6c0 ... r6c10
    #   :         :
    #  r0c0 ... r0c10
    area = grid.area
    world = area.width_deg == 360.0
    last = 0 if world else grid.columns - 1  # around the world, the east border is the west border
    assert at(grid, area.south, area.west) == 0
    assert at(grid, area.south, area.east) == last
    assert at(grid, area.north, area.west) == (grid.rows - 1) << 32
    assert at(grid, area.north, area.east) == (grid.rows - 1) << 32 | last
    if area.south > -90:
        assert at(grid, area.south - 1e-6, area.west) is None
        assert at(grid, area.north + 1e-6, area.west) is None
    if not world:
        assert at(grid, area.south, area.west - 1e-6) is None
        assert at(grid, area.south, area.east + 1e-6) is None


def test_an_area_across_the_antimeridian_is_one_area() -> None:
    """
    Columns count from west to east over the antimeridian, whose two names are one place.
    """
    #  177 E        180        179 W
    #  [ c0 | c1 | c2 : c2 | c3 ]       four columns of one degree, were it not for 180
    grid = AreaGrid(Area(south=-18.0, west=177.0, north=-16.0, east=-179.0), rows=1, columns=4)
    assert [at(grid, -17.0, lon) for lon in (177.5, 178.5, 179.5, -179.5)] == [0, 1, 2, 3]
    assert at(grid, -17.0, 180.0) == at(grid, -17.0, -180.0) == 3
    assert at(grid, -17.0, 0.0) is None
    assert grid.describe(np.array([3]))[2].tolist() == [-179.5]


def test_an_area_around_the_world_holds_everything() -> None:
    """
    From 180 W to 180 E is the whole turn, not an empty one.
    """
    grid = AreaGrid(Area(south=-90.0, west=-180.0, north=90.0, east=180.0), rows=2, columns=4)
    lons = np.array([-180.0, -90.0, 0.0, 90.0, 179.0])
    ids, found = locate(grid, np.full(5, -45.0), lons)
    assert found.all()
    assert ids.tolist() == [0, 1, 2, 3, 3]


def test_names_of_cells_are_as_long_as_the_grid_needs() -> None:
    """
    Rows and columns are padded alike, so that names sort like numbers.
    """
    grid = AreaGrid(AREAS[0], rows=2, columns=101)
    assert grid.describe(np.array([0, 1 << 32 | 100]))[0] == ["r000c000", "r001c100"]


@pytest.mark.parametrize(
    "corners",
    [
        (1.0, 0.0, 1.0, 5.0),
        (2.0, 0.0, 1.0, 5.0),
        (0.0, 5.0, 1.0, 5.0),
        (0.0, 180.0, 1.0, -180.0),
        (-91.0, 0.0, 1.0, 5.0),
        (0.0, 0.0, 90.5, 5.0),
        (0.0, -181.0, 1.0, 5.0),
        (0.0, 0.0, 1.0, 180.5),
        (float("nan"), 0.0, 1.0, 5.0),
        (0.0, float("nan"), 1.0, 5.0),
    ],
)
def test_an_impossible_area_is_refused(corners: tuple[float, float, float, float]) -> None:
    """
    An area that is empty or leaves the earth is an error when it is made, not when records miss it.
    """
    south, west, north, east = corners
    with pytest.raises(ValueError, match="an area"):
        Area(south=south, west=west, north=north, east=east)


# ---------------------------------------------------------------- H3 and venues


@pytest.mark.parametrize("resolution", [0, 7, 9, 15])
@given(lat=LATITUDES, lon=LONGITUDES)
def test_an_h3_cell_is_the_one_h3_names(resolution: int, lat: float, lon: float) -> None:
    """
    Names and centres are those of the h3 library's text interface.
    """
    cells = H3Cells(resolution)
    location = at(cells, lat, lon)
    assert location is not None
    expected = h3.latlng_to_cell(lat, lon, resolution)
    assert cells.describe(np.array([location]))[0] == [expected]
    assert centre(cells, location) == pytest.approx(h3.cell_to_latlng(expected))


def test_a_venue_is_found_by_name_alone() -> None:
    """
    The position of the record does not count, nor how the name is spelled; an unknown name, and none, are not found.
    """
    venues = Venues(["11711", "park"], np.array([40.75, 52.5]), np.array([-73.84, 13.4]))
    wrong = np.array([0.0, np.nan, 0.0, 0.0, 0.0])
    ids, found = venues.locate(wrong, wrong, ["park", "11711", "Park ", None, ""])
    assert found.tolist() == [True, True, True, False, False]
    names, lat, lon = venues.describe(ids[found])
    assert (names[:2], lat.tolist()[:2], lon.tolist()[:2]) == (["park", "11711"], [52.5, 40.75], [13.4, -73.84])
    assert names[2] == "park"
    assert not venues.needs_position
    assert venues.refusal[0] is Reason.UNKNOWN_VENUE


def test_a_venue_of_any_length_is_unknown_at_once() -> None:
    """
    A text that is longer than any venue is not normalized, which would take hours.
    """
    venues = Venues(["bar"], np.zeros(1), np.zeros(1))
    _, found = venues.locate(np.zeros(2), np.zeros(2), ["x" + "\u0301\u0327" * 1_000_000, " BAR "])
    assert found.tolist() == [False, True]


@pytest.mark.parametrize(("names", "n"), [(["b", "a"], 2), (["a", "a"], 2), (["a", "b"], 1), (["a"], 2)])
def test_a_wrong_table_of_venues_is_refused(names: list[str], n: int) -> None:
    """
    Names out of order or twice, or columns of unequal length, would number venues differently elsewhere.
    """
    with pytest.raises(ValueError, match="venues: "):
        Venues(names, np.zeros(n), np.zeros(n))


# ---------------------------------------------------------------- larger and larger places


GRIDS: list[Locator] = [
    *(MetricGrid(cell_m) for cell_m in (99.0, 500.0, 250_000.0, 1e6)),
    *AREA_GRIDS,
    *(AreaGrid(AREAS[0], rows=rows, columns=columns) for rows, columns in ((1, 1), (1, 9), (8, 8), (20, 3), (2, 1))),
]


@pytest.mark.parametrize("locator", [*GRIDS, H3Cells(0), H3Cells(1), H3Cells(8)])
@given(where=positions())
def test_ancestors_form_a_tree(locator: Locator, where: tuple[FloatArray, FloatArray]) -> None:
    """
    Every location stands equally deep, and a place lies inside one larger place: who shares a node shares all above.
    """
    ids, found = locate(locator, *where)
    paths = locator.ancestors(ids[found])
    assert len(paths) == found.sum()
    assert len({len(path) for path in paths}) <= 1
    above: dict[tuple[int, object], object] = {}
    for path in paths:
        for level in range(1, len(path)):
            assert above.setdefault((level, path[level]), path[:level]) == path[:level]


@pytest.mark.parametrize("locator", GRIDS)
@given(where=positions(max_size=1))
def test_the_smallest_quadrant_holds_at_most_four_cells(locator: Locator, where: tuple[FloatArray, FloatArray]) -> None:
    """
    Of all cells up to three rows or columns away no more than four have the same parents as a cell, itself included.
    """
    ids, found = locate(locator, *where)
    if not found.all():
        return
    assert isinstance(locator, MetricGrid | AreaGrid)
    lat, lon = centre(locator, int(ids[0]))
    if isinstance(locator, MetricGrid):
        height = 180.0 / locator.n_rows
    else:
        height = (locator.area.north - locator.area.south) / locator.rows
    around: set[int] = set()
    for up in range(-3, 4):
        row_lat = lat + up * height
        if abs(row_lat) > 90:
            continue
        if isinstance(locator, MetricGrid):
            row = round((row_lat + 90) / height - 0.5)
            width = 360.0 / int(locator._columns(np.array([row]))[0])
        else:
            width = locator.area.width_deg / locator.columns
        near = [at(locator, row_lat, (lon + along * width + 180.0) % 360.0 - 180.0) for along in range(-3, 4)]
        around |= {location for location in near if location is not None}
    own = locator.ancestors(ids)[0]
    assert int(ids[0]) in around
    assert 1 <= locator.ancestors(np.array(sorted(around))).count(own) <= 4


def test_every_cell_of_a_grid_is_in_a_quadrant_of_four() -> None:
    """
    A grid of 8 by 8 has two levels of quadrants: 4 of 16 cells, then 16 of 4, each a block of neighbours.
    """
    grid = AreaGrid(AREAS[0], rows=8, columns=8)
    cells = {(row, column): row << 32 | column for row in range(8) for column in range(8)}
    paths = dict(zip(cells, grid.ancestors(np.array(list(cells.values()))), strict=True))
    for (row, column), path in paths.items():
        assert path == ((row // 4, column // 4), (row // 2, column // 2))


@given(where=positions(max_size=1), resolution=st.integers(0, 15))
def test_the_ancestors_of_a_cell_are_its_parents(where: tuple[FloatArray, FloatArray], resolution: int) -> None:
    """
    One H3 cell of each coarser resolution, as h3 itself has it; a base cell has none.
    """
    cells = H3Cells(resolution)
    ids, _ = locate(cells, *where)
    name = cells.describe(ids)[0][0]
    parents = [h3.str_to_int(h3.cell_to_parent(name, coarser)) for coarser in range(resolution)]
    assert list(cells.ancestors(ids)[0]) == parents


@given(where=positions())
def test_venues_stand_in_quadrants_of_the_earth(where: tuple[FloatArray, FloatArray]) -> None:
    """
    Each quadrant of 2^level by 2^level contains the venue, up to rounding at its border.
    """
    lat, lon = where
    venues = Venues([f"v{i:02d}" for i in range(len(lat))], lat, lon)
    for path, up, along in zip(venues.ancestors(np.arange(len(lat))), (lat + 90) / 180, (lon + 180) / 360, strict=True):
        assert len(path) == 19
        for level, node in enumerate(path, start=1):
            assert isinstance(node, tuple)
            row, column = node
            assert row - 1e-6 <= up * 2**level <= row + 1 + 1e-6
            assert column - 1e-6 <= along * 2**level <= column + 1 + 1e-6
