"""Points of interest in a feed: categories as taxonomy, sensitive places by category, what a release depends on."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.models.km.algorithms import SDSeqAnon, USeqAnon
from core.models.km.plan import KmPlan
from core.places.meaning import WITHOUT_CATEGORY
from core.places.pois import PointsOfInterest, is_cell_name
from core.places.vocabulary import Vocabulary
from core.records.record import CheckIn, Kind
from stream.feeds.feed import Feed
from stream.feeds.sensitive_locations import sensitive_locations
from stream.feeds.vocabulary import build_locator
from stream.replay.replay import Replay
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.worker.shapes import outline
from tests.builders.inputs import record_file
from tests.builders.windows import NOW_MS, SOURCE
from tests.paths import DATA

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment

PLACES = (
    "name,lat,lon,category\n"
    "Backhaus,52.5,13.3,Food > Bakery\n"
    "Charité,52.51,13.3,Health > Clinic\n"
    "Arkaden,52.52,13.3,Food\n"
    "Auge,52.53,13.3,Health > Clinic > Eye Clinic\n"
)
TREE = "category,parent\nfood,\nbakery,food\nhealth,\nclinic,health\neye clinic,clinic\nzoo,\n"


class Files:
    """Places and a taxonomy that fit, to be spoiled."""

    def __init__(self, folder: Path) -> None:
        self.places, self.tree, self.listed = folder / "places.csv", folder / "tree.csv", folder / "list.csv"
        self.places.write_text(PLACES)
        self.tree.write_text(TREE)

    def given(self, model: str, **given: object) -> dict[str, Any]:
        base: dict[str, Any] = {"location.kind": "pois", "location.pois_file": str(self.places)}
        base |= {"checkins.privacy.model": model, "privacy.taxonomy": "categories"}
        return base | {name.replace("__", "."): value for name, value in given.items()}

    def feed(self, model: str = "sd-seqanon", **given: object) -> Feed:
        """Wire check-ins with them."""
        return Feed(load_settings(given=self.given(model, **given)), Kind.CHECKINS, secret=SECRET)

    def complaint(self, model: str = "sd-seqanon", **given: object) -> str:
        """Return the sentence that the start ends with."""
        with pytest.raises(SettingsError) as fault:
            self.feed(model, **given)
        return str(fault.value)

    def sensitive(self, *names: str, **given: object) -> frozenset[str]:
        feed = self.feed("zga", privacy__sensitive_locations=list(names), **given)
        own = load_settings(given=self.given("zga", privacy__sensitive_locations=list(names), **given))
        assert feed.plan.locator is not None
        return sensitive_locations(own.for_kind(Kind.CHECKINS), feed.plan.locator)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def everywhere(feed: Feed) -> Vocabulary:
    """A vocabulary of all places of a feed, and a cell."""
    locator = feed.plan.locator
    assert isinstance(locator, PointsOfInterest)
    ids, _ = locator.locate(np.array([52.5, 52.51, 52.52, 52.53, 52.6]), np.full(5, 13.3), None)
    names, lat, lon = locator.describe(ids)
    order = np.argsort(names)
    return Vocabulary(
        ids=ids[order],
        names=tuple(sorted(names)),
        lat_deg=lat[order],
        lon_deg=lon[order],
        xy_m=np.zeros((5, 2)),
    )


def paths(feed: Feed) -> dict[str, Any]:
    """The path of each location by the feed's taxonomy; a cell's by ``cell``."""
    plan = feed.plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, SDSeqAnon)
    vocabulary = everywhere(feed)
    names = ["cell" if is_cell_name(name) else name for name in vocabulary.names]
    return dict(zip(names, plan.algorithm.taxonomy.paths(vocabulary), strict=True))


# ---------------------------------------------------------------- taxonomy


def test_the_categories_of_places_are_a_taxonomy(files: Files) -> None:
    """
    Paths in the file are its hierarchy; cells are apart.
    """
    assert paths(files.feed()) == {
        "Arkaden": ("Food",),
        "Auge": ("Health", "Health > Clinic", "Health > Clinic > Eye Clinic"),
        "Backhaus": ("Food", "Food > Bakery"),
        "Charité": ("Health", "Health > Clinic"),
        "cell": WITHOUT_CATEGORY,
    }
    plan = files.feed().plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, SDSeqAnon)
    assert plan.algorithm.taxonomy.name == "categories"


def test_a_file_may_say_what_is_below_what(files: Files) -> None:
    """
    The last part of a path is then a category of that file, in any spelling.
    """
    found = paths(files.feed(privacy__taxonomy=str(files.tree)))
    assert found["Auge"] == ("health", "clinic", "eye clinic")
    assert found["cell"] == WITHOUT_CATEGORY
    complaint = files.complaint(privacy__taxonomy=str(files.tree.rename(files.tree.with_name("gone")).parent / "x"))
    assert complaint.startswith("privacy.taxonomy ")


def test_places_without_a_category_need_a_default_in_a_file(files: Files) -> None:
    """
    With categories of their own they are beside the cells.
    """
    files.places.write_text(PLACES.replace(",Food > Bakery", ","))
    assert paths(files.feed())["Backhaus"] == WITHOUT_CATEGORY
    assert paths(files.feed(privacy__default_category="FOOD"))["Backhaus"] == ("Food",)
    assert "1 of 4 places have no category of privacy.taxonomy" in files.complaint(privacy__taxonomy=str(files.tree))
    found = paths(files.feed(privacy__taxonomy=str(files.tree), privacy__default_category="zoo"))
    assert found["Backhaus"] == ("zoo",)


def test_geography_is_the_default(files: Files) -> None:
    """
    Quadrants of the earth, for places and cells alike.
    """
    found = paths(files.feed(privacy__taxonomy="own"))
    assert len({path[:3] for path in found.values()}) == 1
    assert len({*found.values()}) == 5


def test_categories_of_venues_are_a_taxonomy_too(files: Files) -> None:
    """
    The file of venues may have paths; ``category:`` needs no other file then.
    """
    files.places.write_text(PLACES.replace("name,", "venue,"))
    given = {"location__kind": "venues", "location__venues_file": str(files.places)}
    assert files.sensitive("category:clinic", **given) == {"Charité", "Auge"}
    plan = files.feed(**given).plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, SDSeqAnon)


def test_levels_of_categories_are_constraints(files: Files) -> None:
    """
    Food is merged with food, and cells with cells.
    """
    plan = files.feed("u-seqanon", privacy__constraints="level:1").plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, USeqAnon)
    vocabulary = everywhere(files.feed())
    labels = plan.algorithm.constraints.labels(vocabulary)
    assert set(labels) == {("Food",), ("Health",), WITHOUT_CATEGORY}
    files.listed.write_text("location,constraint\narkaden,east\n")
    given: dict[str, object] = {"privacy__constraints": str(files.listed)}
    assert "locations that are not listed may occur" in files.complaint("u-seqanon", **given)
    plan = files.feed("u-seqanon", **given, privacy__default_constraint="west").plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, USeqAnon)
    assert sorted(map(str, plan.algorithm.constraints.labels(vocabulary))) == ["east", *["west"] * 4]


# ---------------------------------------------------------------- sensitive locations


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (["category:clinic"], {"Charité", "Auge"}),
        (["category: HEALTH > clinic"], {"Charité", "Auge"}),
        (["category:eye clinic", "Backhaus"], {"Auge", "Backhaus"}),
        (["category:food", "category:health"], {"Charité", "Auge", "Backhaus", "Arkaden"}),
        (["charite\u0301", "000123-000456"], {"Charité", "000123-000456"}),
    ],
)
@pytest.mark.parametrize("taxonomy", ["own", "categories", "file"])
def test_sensitive_places_are_found_by_category(named: list[str], found: set[str], taxonomy: str, files: Files) -> None:
    """
    Every place of a category or below it, whatever the taxonomy of generalizing; and places and cells by name.
    """
    if taxonomy == "file":
        taxonomy = str(files.tree)
        named = [one.replace(" HEALTH > clinic", "clinic") for one in named]
    assert files.sensitive(*named, privacy__taxonomy=taxonomy) == found


@pytest.mark.parametrize(
    ("named", "says"),
    [
        (
            "category:clinics",
            "privacy.sensitive_locations names the category 'clinics': it must be a category of location.pois_file; "
            "did you mean 'Health > Clinic'",
        ),
        ("category:qqq", "names the category 'qqq': it must be a category of location.pois_file"),
        ("category:", "names the category '': it must be a category of location.pois_file"),
        ("Charite", "names 'Charite': it must be a place of location.pois_file, or a cell"),
    ],
)
def test_an_unknown_sensitive_place_is_refused(named: str, says: str, files: Files) -> None:
    """
    Taken for nothing it would protect nobody; the nearest spellings are offered.
    """
    assert says in files.complaint("zga", privacy__sensitive_locations=[named])


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"location__pois_file": None}, "location.pois_file is not set: location.kind pois needs a file of places"),
        ({"location__kind": "grid"}, "privacy.taxonomy is categories: this needs location.kind venues or pois"),
        ({"location__poi_distance_m": 5001}, "location.poi_distance_m is 5001"),
        ({"location__poi_agreement": 1.5}, "location.poi_agreement is 1.5"),
        ({"location__area": "1,2,3,4"}, "location.area is set: this needs location.kind grid, not pois"),
    ],
)
def test_settings_that_do_not_fit_are_named(given: dict[str, Any], says: str, files: Files) -> None:
    """
    The start ends with a sentence that says what is allowed.
    """
    assert says in files.complaint(**given)


def test_what_links_a_record_is_part_of_the_digest(files: Files) -> None:
    """
    Another place, distance, agreement, taxonomy file or default links records in another way; where the files are does
    not matter. Other vocabularies have the digest that they had without these settings.
    """
    base = files.feed().vocabulary
    tree = str(files.tree)
    digests = {
        base,
        files.feed(location__poi_distance_m=50).vocabulary,
        files.feed(location__poi_agreement=0).vocabulary,
        files.feed(location__cell_m=400).vocabulary,
        files.feed(privacy__default_category="food").vocabulary,
        files.feed(privacy__taxonomy=tree).vocabulary,
    }
    files.tree.write_text(TREE + "shop,\n")
    digests.add(files.feed(privacy__taxonomy=tree).vocabulary)
    moved = files.places.rename(files.places.with_name("moved.csv"))
    assert files.feed(location__pois_file=str(moved)).vocabulary == base
    moved.write_text(PLACES.replace("52.53", "52.54"))
    digests.add(files.feed(location__pois_file=str(moved)).vocabulary)
    assert len(digests) == 8
    grid = {"location__kind": "grid", "privacy__taxonomy": "own"}
    assert files.feed(**grid).vocabulary == files.feed(**grid, location__poi_agreement=1).vocabulary


# ---------------------------------------------------------------- records


def test_a_check_in_is_linked_on_its_way(files: Files) -> None:
    """
    By position, venue and category; one far from all places is at its cell, one without a position is rejected.
    """
    feed = files.feed()
    said: list[dict[str, Any]] = [
        {"lat": 52.5003, "lon": 13.3},
        {"lat": 52.5003, "lon": 13.3, "category": "Clinic"},
        {"lat": 52.51, "lon": 13.3, "venue": "CHARITE\u0301"},
        {"lat": 53.0, "lon": 13.3},
        {"venue": "Arkaden"},
    ]
    records = [CheckIn(user=f"u{i}", ts=NOW_MS / 1000, **one) for i, one in enumerate(said)]
    taken = feed.intake.run(list(enumerate(records)), source=SOURCE, n_partitions=1, now_ms=NOW_MS)
    (chunk,) = taken.chunks
    locator = feed.plan.locator
    assert locator is not None
    names = locator.describe(chunk.rows["location"])[0]
    assert [names[0], names[2]] == ["Backhaus", "Charité"]
    assert is_cell_name(names[1])
    assert is_cell_name(names[3])
    assert len(taken.rejected) == 1
    assert feed.needed == ("user", "ts", "lat", "lon")


def test_the_map_draws_places_and_cells(files: Files) -> None:
    """
    A place is a point, a cell a box around its centre, anything else nothing.
    """
    locator = files.feed().plan.locator
    assert isinstance(locator, PointsOfInterest)
    assert outline(locator, "Backhaus") == [(52.5, 13.3)]
    (name,), (lat,), (lon,) = locator.cells.describe(locator.cells.locate(np.array([53.0]), np.array([13.0]), [])[0])
    corners = np.array(outline(locator, name))
    assert corners.min(axis=0)[0] < lat < corners.max(axis=0)[0]
    assert corners.min(axis=0)[1] < lon < corners.max(axis=0)[1]
    assert outline(locator, "nowhere") == []


# ---------------------------------------------------------------- a real feed


@pytest.fixture(scope="module")
def calgary(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    """The venues of fsq_calgary as a file of places, and the records, at their venue but some 30 m off."""
    if not DATA.exists():
        pytest.skip("needs the real feeds in ../shared/data")
    with gzip.open(DATA / "fsq_calgary.csv.gz", "rt", encoding="utf-8", errors="replace") as lines:
        records = list(csv.DictReader(lines))
    venues = {row["venue"]: row for row in reversed(records)}
    file = tmp_path_factory.mktemp("calgary") / "places.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "name", "lat", "lon", "category"])
        writer.writerows([name, f"venue {name}", v["lat"], v["lon"], v["category"]] for name, v in venues.items())
    off_deg = np.random.default_rng(1).normal(0, 30 / 111_195 / 2**0.5, (len(records), 2))
    for row, (north, east) in zip(records, off_deg.tolist(), strict=True):
        venue = venues[row["venue"]]
        row["lat"] = str(float(venue["lat"]) + north)
        row["lon"] = str(float(venue["lon"]) + east / np.cos(np.radians(51.0)))
    return file, records


def test_what_a_real_record_says_brings_it_to_its_venue(calgary: tuple[Path, list[dict[str, str]]]) -> None:
    """
    By position alone most are right; the category adds some, the venue's name or id nearly all that is left.
    """
    file, records = calgary
    settings = load_settings(given={"location.kind": "pois", "location.pois_file": str(file)})
    locator = build_locator(settings.location, settings.privacy)
    lat, lon = (np.array([float(row[name]) for row in records]) for name in ("lat", "lon"))
    categories, ids = [row["category"] for row in records], [row["venue"] for row in records]
    shares = []
    for venues, said in ((None, None), (None, categories), (ids, None), ([f"Venue {one}" for one in ids], categories)):
        found, _ = locator.locate(lat, lon, venues or [None] * len(ids), said)
        names = locator.describe(found)[0]
        shares.append(sum(name == f"venue {own}" for name, own in zip(names, ids, strict=True)) / len(ids))
    assert 0.8 < shares[0] < shares[1] < min(shares[2:])
    assert shares[1] > 0.95
    assert shares[2] > 0.99


@pytest.mark.parametrize("model", ["sd-seqanon", "zga"])
def test_a_real_feed_is_released_by_its_places(
    model: str, calgary: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    """
    By the month with the published taxonomy: every row is accounted for, no window is refused, and most released
    locations are places.
    """
    file, _ = calgary
    given = {"location.kind": "pois", "location.pois_file": str(file), "window.size": "30d", "privacy.model": model}
    given |= {"privacy.taxonomy": str(DATA / "venue_categories.csv"), "privacy.default_category": "Shop & Service"}
    if model == "zga":
        given["privacy.sensitive_locations"] = "category:Medical Center"
    settings = load_settings(given=given)
    records = record_file(DATA / "fsq_calgary.csv.gz", Kind.CHECKINS)
    replay = Replay(Feed(settings, Kind.CHECKINS, secret=SECRET), [records], now_ms=1_900_000_000_000, max_bytes=2**20)
    summary = replay.run(tmp_path)
    records.close()
    assert (summary.records, summary.windows_refused, summary.rejected) == (9_317, 0, 0)
    assert summary.windows_released > 10
    accounted = summary.late + summary.duplicates + summary.withheld_records
    assert accounted + summary.points_released + summary.points_suppressed == 9_317
    windows = [json.loads(line) for line in (tmp_path / "windows.ndjson").read_bytes().splitlines()]
    members = [name for window in windows for place in window.get("locations", []) for name in place["members"]]
    assert sum(name.startswith("venue ") for name in members) > 0.9 * len(members)
