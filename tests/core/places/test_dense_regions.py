"""Regions of interest: compared with an oracle, and what their borders must not tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import h3
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import Point

from core.places.dense_regions import CellDivision, GridDivision, H3Division, dense_rectangles, least_people_for
from core.places.drawn_regions import DrawnRegions
from core.places.found_regions import FoundRegion, find_regions
from core.places.outlines import parts_of
from core.places.people_counts import CellsOfPeople, PeopleCounts, count_people
from core.records.arrays import IntArray
from tests.builders.strategies import positions
from tests.builders.windows import hash_of
from tests.oracles.regions import Cell, density, rectangles, strips

N_ROWS, N_COLUMNS = 6, 7

GRIDS = st.dictionaries(
    st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, N_COLUMNS - 1)), st.integers(1, 12), max_size=40
)
"""People of the cells of a small earth."""

DIVISIONS: list[CellDivision] = [GridDivision(2_000_000.0, 0.0), GridDivision(50_000.0, 52.0), H3Division(2)]

SOME_CELLS = sorted(h3.str_to_int(cell) for cell in h3.grid_disk(h3.latlng_to_cell(48.2, 16.4, 7), 3))


def counts_of(people: Mapping[int, int]) -> PeopleCounts:
    cells = sorted(people)
    return PeopleCounts(
        cells=np.array(cells, np.int64),
        people=np.array([people[cell] for cell in cells], np.int64),
        total=99,
        passes=1,
        pairs=None,
    )


def found(people: Mapping[Cell, int], least: int) -> list[set[Cell]]:
    numbered = {row << 32 | column: n for (row, column), n in people.items()}
    regions = dense_rectangles(counts_of(numbered), least, n_rows=N_ROWS, n_columns=N_COLUMNS)
    return [{(cell >> 32, cell & 0xFFFFFFFF) for cell in region.tolist()} for region in regions]


# ---------------------------------------------------------------- rectangles


@given(people=GRIDS, least=st.integers(1, 12))
def test_rectangles_are_those_of_the_definition(people: dict[Cell, int], least: int) -> None:
    """
    As an oracle with sets of cells finds them, ties included.
    """
    assert found(people, least) == rectangles(people, least, N_ROWS, N_COLUMNS)


@given(people=GRIDS, least=st.integers(1, 12))
def test_rectangles_are_disjoint_dense_and_as_large_as_can_be(people: dict[Cell, int], least: int) -> None:
    """
    They hold every dense cell once, each has the density, and no side can take in more dense cells.
    """
    regions = [frozenset(region) for region in found(people, least)]
    covered = [cell for region in regions for cell in region]
    assert len(covered) == len(set(covered))
    assert {cell for cell, n in people.items() if n >= least} <= set(covered)
    for region in regions:
        assert density(region, people) >= least
        assert max(people.get(cell, 0) for cell in region) >= least
        for strip in strips(region, N_ROWS, N_COLUMNS):
            assert strip & set(covered) or density(strip, people) < least


def test_a_worked_example() -> None:
    """
    The densest cell grows to the north first, where its density is greatest. Then the cells to the east are dense
    together only if the one in the north has at least two people.
    """
    # row 2: .  9  n
    # row 1: 2 10  8
    people = {(1, 0): 2, (1, 1): 10, (1, 2): 8, (2, 1): 9}
    assert found(people | {(2, 2): 1}, 5) == [{(1, 1), (2, 1)}, {(1, 2)}]
    assert found(people | {(2, 2): 2}, 5) == [{(1, 1), (2, 1), (1, 2), (2, 2)}]


def test_a_very_dense_cell_does_not_take_in_the_city() -> None:
    """
    What is added has the density on its own: a single crowded cell stays a region of one cell.
    """
    assert found({(2, 2): 1000, (2, 3): 4, (2, 1): 4, (3, 2): 4}, 5) == [{(2, 2)}]


def test_a_rectangle_crosses_the_antimeridian() -> None:
    """
    The last column is the neighbour of the first.
    """
    assert found({(2, 0): 5, (2, N_COLUMNS - 1): 6}, 5) == [{(2, 0), (2, N_COLUMNS - 1)}]


# ---------------------------------------------------------------- hexagons


@given(people=st.dictionaries(st.sampled_from(SOME_CELLS), st.integers(1, 9), max_size=37), least=st.integers(1, 9))
def test_hexagons_are_joined_with_their_neighbours(people: dict[int, int], least: int) -> None:
    """
    Two dense cells are in one region if and only if a chain of neighbouring dense cells connects them.
    """
    regions = [set(region.tolist()) for region in H3Division(7).regions(counts_of(people), least)]
    dense = {cell for cell, n in people.items() if n >= least}
    label = {cell: cell for cell in dense}
    for _ in dense:  # the smallest number spreads
        for a in dense:
            near = [b for b in dense if h3.are_neighbor_cells(h3.int_to_str(a), h3.int_to_str(b))]
            label[a] = min([label[a], *(label[b] for b in near)])
    assert sorted(map(sorted, regions)) == sorted(
        sorted(cell for cell in dense if label[cell] == one) for one in set(label.values())
    )


# ---------------------------------------------------------------- cells and outlines


@pytest.mark.parametrize("division", DIVISIONS)
@given(where=positions(max_size=4))
def test_a_position_is_in_the_outline_of_its_cell(division: CellDivision, where: tuple[np.ndarray, np.ndarray]) -> None:
    """
    Everywhere on the earth, poles and antimeridian included, to a centimetre; outlines are valid GeoJSON.
    """
    for lat, lon, cell in zip(*where, division.cells(*where).tolist(), strict=True):
        area = division.outline(np.array([cell]))
        assert area.is_valid
        assert shapely.box(-180, -90, 180, 90).covers(area)
        assert all(part.exterior.is_ccw for part in parts_of(area))
        assert all(not hole.is_ccw for part in parts_of(area) for hole in part.interiors)
        # H3 cells of resolution 2 have edges of 180 km, which are not straight in degrees.
        near_deg = 1e-6 if isinstance(division, GridDivision) else 0.2 / max(np.cos(np.radians(lat)), 0.05)
        assert min(area.distance(Point(turned, lat)) for turned in (lon, lon - 360, lon + 360)) <= near_deg


@pytest.mark.parametrize("division", [GridDivision(1000.0, 37.0), H3Division(8)])
def test_a_region_of_several_cells_is_one_area_with_its_holes(division: CellDivision) -> None:
    """
    The area of a region is the sum of its cells', and a ring of hexagons has a hole.
    """
    at = np.linspace(37.0, 37.05, 26)
    lat, lon = (grid.ravel() for grid in np.meshgrid(at, at - 160.0))
    cells = np.unique(division.cells(lat, lon))
    whole = division.outline(cells)
    assert whole.area == pytest.approx(sum(division.outline(np.array([cell])).area for cell in cells), rel=1e-3)
    ring = h3.grid_ring(h3.latlng_to_cell(37.0, -160.0, 8), 1)
    (part,) = parts_of(H3Division(8).outline(np.array([h3.str_to_int(cell) for cell in ring])))
    assert len(part.interiors) == 1


def test_an_area_across_the_antimeridian_is_cut() -> None:
    """
    RFC 7946, 3.1.9: no part reaches beyond 180 degrees, and both parts end there.
    """
    division = GridDivision(10_000.0, -17.0)
    cells = division.cells(np.array([-17.0, -17.0]), np.array([179.99, -179.99]))
    for area in (
        division.outline(np.sort(cells)),
        H3Division(3).outline(H3Division(3).cells(np.array([-17.0]), np.array([180.0]))),
    ):
        assert len(parts_of(area)) == 2
        assert (area.bounds[0], area.bounds[2]) == (-180.0, 180.0)
        assert area.area < 10


def test_a_hexagon_around_a_pole_reaches_all_longitudes() -> None:
    """
    Its ring goes round the earth, so the pole is made its border.
    """
    for pole in (90.0, -90.0):
        area = H3Division(1).outline(H3Division(1).cells(np.array([pole]), np.array([0.0])))
        assert area.is_valid
        assert (area.bounds[0], area.bounds[2]) == (-180.0, 180.0)
        assert pole in (area.bounds[1], area.bounds[3])
        assert area.area > 360


# ---------------------------------------------------------------- the number of regions


@given(people=GRIDS, wanted=st.integers(1, 12), step=st.integers(1, 5))
def test_the_density_fits_the_wanted_number(people: dict[Cell, int], wanted: int, step: int) -> None:
    """
    No multiple of the step above the one that makes most regions comes nearer to the wanted number.
    """
    division = GridDivision(5_000_000.0, 0.0)
    counts = counts_of({(row % division.n_rows) << 32 | column: n for (row, column), n in people.items()})
    least = least_people_for(division, counts, wanted, step=step)
    assert (least is None) == (max(counts.people.tolist(), default=0) < step)
    if least is not None:
        assert least % step == 0
        made = {one: len(division.regions(counts, one)) for one in range(step, max(counts.people) + 1, step)}
        most = min(one for one, n in made.items() if n == max(made.values()))
        nearest = min(abs(n - wanted) for one, n in made.items() if one >= most)
        assert least >= most
        assert abs(made[least] - wanted) == nearest


def test_a_feed_with_many_different_counts_does_not_try_all() -> None:
    """
    A hundred thresholds are tried, whatever the feed holds, and the result is still near.
    """
    tried: list[int] = []

    class Watched(GridDivision):
        def regions(self, counts: PeopleCounts, least: int) -> list[IntArray]:
            tried.append(least)
            return super().regions(counts, least)

    division = Watched(100_000.0, 0.0)
    # Every other cell of a row, so that no two are neighbours.
    counts = counts_of({5 << 32 | 2 * i: 10 + i for i in range(150)})
    least = least_people_for(division, counts, 40, step=1)
    assert len(tried) <= 100
    assert least is not None
    assert abs(len(division.regions(counts, least)) - 40) <= 3


# ---------------------------------------------------------------- what is published


Crowd = list[tuple[int, int]]
"""A person, and the number of the cell that the person was in."""

CROWDS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 11)), min_size=1, max_size=60)


def published(crowd: Crowd, division: CellDivision, *, least: int, k: int, most_pairs: int = 1000) -> list[FoundRegion]:
    """Find the regions of people in twelve cells around a place, four in a row."""
    at = np.array([(40.0 + 0.01 * (cell // 4), 20.0 + 0.01 * (cell % 4)) for _, cell in crowd]).reshape(-1, 2)
    users = np.array([hash_of(person) for person, _ in crowd], np.uint64)

    def batches() -> Iterator[CellsOfPeople]:
        yield division.cells(at[:, 0], at[:, 1]), users

    counts = count_people(batches, most_pairs=most_pairs)
    return find_regions(division, counts, batches, least=least, k=k, most_pairs=most_pairs)


TOWN: list[CellDivision] = [GridDivision(1000.0, 40.0), H3Division(7)]


@pytest.mark.parametrize("division", TOWN)
@given(crowd=CROWDS, k=st.integers(2, 4), more=st.integers(0, 3))
def test_every_region_has_k_people_who_can_be_counted_again(
    division: CellDivision, crowd: Crowd, k: int, more: int
) -> None:
    """
    Located again by the file's polygons, each region has at least k people, and not fewer than it says.
    """
    regions = published(crowd, division, least=k + more, k=k)
    if not regions:
        return
    locator = DrawnRegions([region.name for region in regions], [region.area for region in regions])
    at = np.array([(40.0 + 0.01 * (cell // 4), 20.0 + 0.01 * (cell % 4)) for _, cell in crowd])
    ids, inside = locator.locate(at[:, 0], at[:, 1])
    for i, region in enumerate(regions):
        people = {
            person
            for (person, _), one, here in zip(crowd, ids.tolist(), inside.tolist(), strict=True)
            if here and one == i
        }
        assert len(people) >= region.people >= k
        assert region.people % k == 0


@pytest.mark.parametrize("division", TOWN)
@given(crowd=CROWDS, k=st.integers(2, 4), more=st.integers(0, 3), others=CROWDS)
def test_who_is_in_sparse_cells_changes_nothing(
    division: CellDivision, crowd: Crowd, k: int, more: int, others: Crowd
) -> None:
    """
    An attack: whoever leaves or enters a cell that has fewer than k people before and after, the file is the same.
    """
    regions = published(crowd, division, least=k + more, k=k)
    at = np.array([(40.0 + 0.01 * (cell // 4), 20.0 + 0.01 * (cell % 4)) for cell in range(12)])
    place = division.cells(at[:, 0], at[:, 1]).tolist()

    def people_of(rows: Crowd, cell: int) -> set[int]:
        return {person for person, one in rows if place[one] == cell}

    sparse = {cell for cell in set(place) if len(people_of(crowd, cell)) < k and len(people_of(others, cell)) < k}
    changed = [row for row in crowd if place[row[1]] not in sparse]
    changed += [row for row in others if place[row[1]] in sparse]
    if changed:
        assert published(changed, division, least=k + more, k=k) == regions


@given(crowd=CROWDS)
def test_numbers_are_the_same_in_several_passes(crowd: Crowd) -> None:
    """
    If the pairs do not fit in memory, the feed is read again for the people of regions.
    """
    division = GridDivision(1000.0, 40.0)
    assert published(crowd, division, least=2, k=2) == published(crowd, division, least=2, k=2, most_pairs=3)


def test_names_go_from_north_to_south_and_from_west_to_east() -> None:
    """
    They say where a region is, not how many people it has.
    """
    crowd = [(person, cell) for cell, n in ((0, 9), (2, 3), (9, 6)) for person in range(n)]
    regions = published(crowd, GridDivision(500.0, 40.0), least=2, k=2)
    assert [(region.name, region.people) for region in regions] == [("r01", 6), ("r02", 8), ("r03", 2)]
    wide_m, high_m = regions[0].size_m
    assert [wide_m, high_m] == pytest.approx([500, 500], rel=0.01)


def test_fewer_people_than_k_make_no_region() -> None:
    """
    A threshold below k is refused.
    """
    with pytest.raises(ValueError, match="at least k = 5"):
        published([(1, 1)], TOWN[0], least=4, k=5)
