"""Points of interest: which place a record is linked to, and what a location of this vocabulary is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ingest.intake import CheckInIntake
from core.ingest.shard import SingleShard
from core.places.locate import MetricGrid
from core.places.meaning import WITHOUT_CATEGORY, VenueTaxonomy
from core.places.nearby import NearbyPoints
from core.places.pois import Places, PointsOfInterest, is_cell_name
from core.places.taxonomy import Categories
from core.places.vocabulary import Vocabulary
from core.records.arrays import FloatArray
from core.records.record import CheckIn, Reason
from tests.budgets import examples
from tests.builders.strategies import positions
from tests.builders.windows import NOW_MS, SOURCE, rules
from tests.oracles.pois import OraclePlace, best_place

TREE = Categories.from_paths([("food", "bakery"), ("food", "bar"), ("health", "clinic", "eye clinic")])
CATEGORIES = [None, *TREE.parent_of]
CELLS = MetricGrid(500.0)
STEP_DEG = 0.0004  # some 45 m in latitude, 30 m in longitude

SITES = st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(
    lambda site: (48.2 + site[0] * STEP_DEG, 16.37 + site[1] * STEP_DEG)
)
TITLES = st.sampled_from(["Nord", "Bar Nord", "Café Süd", "Clinic", "Nordbahn Bar", "X"])


def path(category: str | None) -> tuple[str, ...]:
    return () if category is None else TREE.path(category)


@st.composite
def tables(draw: st.DrawFn) -> list[OraclePlace]:
    """Up to twelve places on a lattice of streets, some at one position."""
    drawn = draw(st.lists(st.tuples(TITLES, SITES, st.sampled_from(CATEGORIES)), min_size=1, max_size=12))
    return [
        OraclePlace(f"p{i:02d}", title, f"id{i}", *site, path(category))
        for i, (title, site, category) in enumerate(drawn)
    ]


def built(places: list[OraclePlace], *, distance_m: float = 100.0, agreement: float = 0.5) -> PointsOfInterest:
    return PointsOfInterest(
        Places(
            names=[one.name for one in places],
            titles=[one.title for one in places],
            ids=[one.own_id for one in places],
            lat_deg=np.array([one.lat for one in places]),
            lon_deg=np.array([one.lon for one in places]),
            categories=[one.path[-1] if one.path else None for one in places],
        ),
        TREE,
        cells=CELLS,
        distance_m=distance_m,
        agreement=agreement,
    )


def linked(
    locator: PointsOfInterest, lat: float, lon: float, venue: str | None = None, category: str | None = None
) -> str:
    """The public name of the location of one record."""
    ids, found = locator.locate(np.array([lat]), np.array([lon]), [venue], [category])
    assert found.all()
    return locator.describe(ids)[0][0]


BAKERY = OraclePlace("a bakery", "Süd", "n1", 48.2, 16.37, ("food", "food > bakery"))
CLINIC = OraclePlace("b clinic", "Nord", "n2", 48.2, 16.3704, ("health", "health > clinic"))  # 30 m east
STREET = [BAKERY, CLINIC]


# ---------------------------------------------------------------- which place


@settings(max_examples=examples(400))
@given(
    places=tables(),
    records=st.lists(
        st.tuples(SITES, st.none() | TITLES | st.sampled_from(["id0", "id3"]), st.sampled_from(CATEGORIES)), max_size=6
    ),
    distance_m=st.sampled_from([20.0, 60.0, 100.0, 350.0]),
    agreement=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
)
def test_a_record_is_linked_as_the_formulas_say(
    places: list[OraclePlace],
    records: list[tuple[tuple[float, float], str | None, str | None]],
    distance_m: float,
    agreement: float,
) -> None:
    """
    Places at one position, texts that fit in part, no text: the best place is that of a loop over all pairs. What one
    record says changes nothing for the others of its batch.
    """
    locator = built(places, distance_m=distance_m, agreement=agreement)
    lat, lon = np.array([site for site, _, _ in records]).reshape(-1, 2).T
    ids, found = locator.locate(lat, lon, [venue for _, venue, _ in records], [one for _, _, one in records])
    assert found.all()
    names = locator.describe(ids)[0]
    cells = CELLS.describe(CELLS.locate(lat, lon, [])[0])[0]
    for (site, venue, category), name, cell in zip(records, names, cells, strict=True):
        best = best_place(*site, venue, path(category), places, distance_m=distance_m, agreement=agreement)
        assert name == (cell if best is None else best)


@pytest.mark.parametrize(
    ("venue", "category", "expected"),
    [
        (None, None, "a bakery"),  # the nearest
        ("NORD", None, "b clinic"),
        (" n\u00f6rd ", None, "b clinic"),  # three letters of four
        ("n2", None, "b clinic"),  # its id
        ("null", None, "a bakery"),  # no name
        ("x" * 1_000_000, None, "a bakery"),  # no name either
        ("Zentralfriedhof", None, "000000"),  # fits neither: a cell
        (None, "health", "b clinic"),  # the clinic is below
        (None, "Health>Clinic", "b clinic"),
        (None, "eye clinic", "000000"),  # the clinic may be none for eyes
        (None, "zoo", "a bakery"),  # the tree does not have it: it says nothing
        ("n2", "bakery", "b clinic"),  # (2 * 1 + 0) / 3 is more than a half
    ],
)
def test_what_a_record_says_decides(venue: str | None, category: str | None, expected: str) -> None:
    """
    The record is 10 m from the bakery and 20 m from the clinic.
    """
    name = linked(built(STREET), 48.2, 16.37013, venue, category)
    assert is_cell_name(name) if expected == "000000" else name == expected


def test_without_agreement_text_only_ranks() -> None:
    """
    A feed whose venues are numbers is linked by position, because all names are equally unlike.
    """
    assert linked(built(STREET, agreement=0.0), 48.2, 16.37013, "4b3fcbf7f964a520") == "a bakery"
    assert is_cell_name(linked(built(STREET, agreement=0.5), 48.2, 16.37013, "4b3fcbf7f964a520"))


def test_equal_places_are_told_apart_by_name() -> None:
    """
    Two halls of one building, at one position: the first by name, in whatever batch.
    """
    halls = [OraclePlace(f"hall {i}", "Hall", "", 48.2, 16.37, ()) for i in (1, 2)]
    assert linked(built(halls), 48.2, 16.37) == linked(built(halls), 48.2001, 16.37, "Hall") == "hall 1"


def test_of_equal_scores_the_nearest_wins() -> None:
    """
    Whose category differs, at the position, has (1 + 0) / 2; who agrees, at the greatest distance, (0 + 1) / 2.
    """
    far_m = float(
        NearbyPoints(np.array([48.2]), np.array([16.37]), 100.0).pairs(np.array([48.2]), np.array([16.3704]))[2][0]
    )
    near = OraclePlace("z bakery", "Süd", "", 48.2, 16.37, BAKERY.path)
    for places in ([BAKERY, CLINIC], [CLINIC, near]):
        assert linked(built(places, distance_m=far_m, agreement=0.0), 48.2, 16.37, None, "clinic") == (
            "a bakery" if places[0] is BAKERY else "z bakery"
        )
        assert linked(built(places, distance_m=far_m), 48.2, 16.37, None, "clinic") == "b clinic"


@pytest.mark.parametrize(("north_m", "expected"), [(45, "far"), (55, "near")])
def test_a_name_counts_twice_as_much_as_closeness(north_m: float, expected: str) -> None:
    """
    "abcd" has 3 of 4 letters with one place, all with the other, which is farther: (1 + 2 * 0.75) against
    (1 - d / 100 + 2), equal at 50 m.
    """
    places = [
        OraclePlace("far", "abcd", "", 48.2 + north_m / 111_200, 16.37, ()),
        OraclePlace("near", "abcx", "", 48.2, 16.37, ()),
    ]
    assert linked(built(places), 48.2, 16.37, "ABCD") == expected


def test_stops_have_positions_alone() -> None:
    """
    Neither venues nor categories are needed: None stands for those of all records.
    """
    ids, _ = built(STREET).locate(np.array([48.2, 48.3]), np.array([16.3704, 16.5]), None, None)
    names = built(STREET).describe(ids)[0]
    assert names[0] == "b clinic"
    assert is_cell_name(names[1])


def test_a_large_batch_is_its_parts() -> None:
    """
    Beyond the number of positions that are handled at once nothing changes.
    """
    random = np.random.default_rng(5)
    lat, lon = 48.2 + random.normal(0, 1e-3, 9_000), 16.37 + random.normal(0, 1e-3, 9_000)
    venues = [("Nord", None, "Süd")[i % 3] for i in range(9_000)]
    locator = built(STREET)
    whole, _ = locator.locate(lat, lon, venues)
    parts = [locator.locate(lat[i : i + 999], lon[i : i + 999], venues[i : i + 999])[0] for i in range(0, 9_000, 999)]
    assert whole.tolist() == np.concatenate(parts).tolist()
    assert 1_000 < (whole >= 1 << 62).sum() < 9_000


# ---------------------------------------------------------------- what a location is


@given(where=positions())
def test_ids_of_cells_and_places_differ(where: tuple[FloatArray, FloatArray]) -> None:
    """
    Every location is described by its id alone, by another process: names tell locations apart, a cell contains its
    centre, a place is where the file says.
    """
    lat, lon = np.append(where[0], [-90.0, 48.2]), np.append(where[1], [0.0, 16.37])
    ids, found = built(STREET).locate(lat, lon, [None] * len(lat))
    names, lat_deg, lon_deg = built(STREET).describe(ids)
    assert found.all()
    assert len(set(names)) == len(set(ids.tolist()))
    assert names[-1] == "a bakery"
    assert (lat_deg[-1], lon_deg[-1]) == (48.2, 16.37)
    again, _ = built(STREET).locate(lat_deg, lon_deg, [None] * len(lat))
    assert again.tolist() == ids.tolist()


def test_the_finest_cells_do_not_reach_the_places() -> None:
    """
    Cells of a metre, up to the north pole and the last column, have smaller ids.
    """
    ids, _ = MetricGrid(1.0).locate(np.array([90.0, 0.0]), np.array([0.0, 179.9999999999]), [None] * 2)
    assert ids.max() < 1 << 62


def test_a_location_is_in_the_quadrants_of_its_position() -> None:
    """
    A place and the cell around it have the same larger areas; they are nested.
    """
    locator = built(STREET)
    (cell,), _ = CELLS.locate(np.array([48.2]), np.array([16.37]), [None])
    (place,), _ = locator.locate(np.array([48.2]), np.array([16.37]), [None])
    assert cell != place
    assert (
        locator.ancestors(np.array([place])) == locator.ancestors(np.array([cell])) == CELLS.ancestors(np.array([cell]))
    )


def test_a_record_without_a_position_is_rejected() -> None:
    """
    NaN is nowhere, whatever the record names.
    """
    locator = built(STREET)
    _, found = locator.locate(np.array([np.nan, 48.2]), np.array([16.37, 16.37]), ["Nord", None])
    assert found.tolist() == [False, True]
    assert locator.refusal == (Reason.MISSING_FIELD, "lat and lon are needed")


@pytest.mark.parametrize("names", [["b", "a"], ["a", "a"], ["a", "000123-000456"], ["a"]])
def test_a_wrong_table_of_places_is_refused(names: list[str]) -> None:
    """
    Names out of order, twice, or of a cell, and columns of unequal length.
    """
    with pytest.raises(ValueError, match="places: "):
        Places(
            names=names, titles=["x"] * 2, ids=["", ""], lat_deg=np.zeros(2), lon_deg=np.zeros(2), categories=[None] * 2
        )


def test_cells_have_no_category() -> None:
    """
    They are together, apart from every category, whatever its name.
    """
    locator = built(STREET)
    ids, _ = locator.locate(np.array([48.2, 48.3]), np.array([16.37, 16.5]), None)
    names, lat, lon = locator.describe(ids)
    vocabulary = Vocabulary(ids=ids, names=tuple(names), lat_deg=lat, lon_deg=lon, xy_m=np.zeros((2, 2)))
    taxonomy = VenueTaxonomy(locator.tree, locator.category_of, "categories", locator)
    assert taxonomy.paths(vocabulary) == [("food", "food > bakery"), WITHOUT_CATEGORY]
    assert all(isinstance(node, str) for one in TREE.parent_of for node in TREE.path(one))


# ---------------------------------------------------------------- on the way of a record


def test_the_category_of_a_record_reaches_the_vocabulary() -> None:
    """
    Of the accepted records, in their order: a rejected one before them moves nothing. Numbers are categories, too.
    """
    said: list[tuple[int, str | int | None]] = [
        (10**15, "health"),
        (NOW_MS // 1000, "health"),
        (NOW_MS // 1000, 7),
        (NOW_MS // 1000, None),
    ]
    records = [CheckIn(user="u", ts=ts, lat=48.2, lon=16.37, category=category) for ts, category in said]
    locator = built(STREET)
    taken = CheckInIntake(rules(), locator, SingleShard(), vocabulary="v").run(
        list(enumerate(records)), source=SOURCE, n_partitions=1, now_ms=NOW_MS
    )
    (chunk,) = taken.chunks
    assert locator.describe(chunk.rows["location"])[0] == ["b clinic", "a bakery", "a bakery"]
    assert len(taken.rejected) == 1
