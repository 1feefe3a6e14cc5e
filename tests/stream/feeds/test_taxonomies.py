"""Files of meaning: each wrong one ends in a sentence, real ones load, and their content is part of a release."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.models.km.algorithms import SDSeqAnon, USeqAnon
from core.models.km.plan import KmPlan
from core.places.taxonomy import Categories, TaxonomyError
from core.places.vocabulary import Vocabulary
from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.feeds.sensitive_locations import sensitive_locations
from stream.replay.replay import Replay
from stream.replay.summary import Summary
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.builders.inputs import record_file
from tests.builders.windows import VENUES
from tests.paths import DATA

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment

TREE = "category,parent\nfood,\nbakery,food\nculture,\nmuseum,culture\n"
PLACES = "venue,lat,lon,category\nv1,52.5,13.3,bakery\nv2,52.51,13.31,Food > food\nv3,52.52,13.32, museum \n"
LIST = "location,constraint\nv1,east\nv2,east\nv3,west\n"


class Files:
    """A taxonomy, venues and constraints that fit, to be spoiled."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.places, self.listed = folder / "tree.csv", folder / "places.csv", folder / "list.csv"
        self.tree.write_text(TREE)
        self.places.write_text(PLACES)
        self.listed.write_text(LIST)

    def feed(self, model: str = "sd-seqanon", **given: object) -> Feed:
        """Wire check-ins with them."""
        base: dict[str, Any] = {"location.kind": "venues", "location.venues_file": str(self.places)}
        base |= {"checkins.privacy.model": model, "privacy.taxonomy": str(self.tree)}
        if model == "u-seqanon":
            base["privacy.constraints"] = str(self.listed)
        settings = load_settings(given=base | {name.replace("__", "."): value for name, value in given.items()})
        return Feed(settings, Kind.CHECKINS, secret=SECRET)

    def complaint(self, model: str = "sd-seqanon", **given: object) -> str:
        """Return the sentence that the start ends with."""
        with pytest.raises(SettingsError) as fault:
            self.feed(model, **given)
        return str(fault.value)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def everything(feed: Feed) -> Vocabulary:
    """A vocabulary of all venues of a feed."""
    plan = feed.plan
    assert isinstance(plan, KmPlan)
    ids = plan.locator.locate(VENUES.lat_deg[:3], VENUES.lon_deg[:3], ["v1", "v2", "v3"])[0]
    names, lat, lon = plan.locator.describe(ids)
    return Vocabulary(ids=ids, names=tuple(names), lat_deg=lat, lon_deg=lon, xy_m=VENUES.lat_deg[:3, None] * [1, 1])


# ---------------------------------------------------------------- files that fit


def test_a_taxonomy_and_the_categories_of_venues_are_read(files: Files) -> None:
    """
    A category given as a path stands for its last part, spaces around it do not count, inner nodes may have venues.
    """
    plan = files.feed().plan
    assert isinstance(plan, KmPlan)
    assert isinstance(plan.algorithm, SDSeqAnon)
    paths = plan.algorithm.taxonomy.paths(everything(files.feed()))
    assert paths == [("food", "bakery"), ("food",), ("culture", "museum")]


def test_constraints_are_read_from_a_list_or_a_level(files: Files) -> None:
    """
    ``level:1`` of the file's taxonomy, of the own one, or a list.
    """
    expected: list[tuple[dict[str, object], list[object]]] = [
        ({}, ["east", "east", "west"]),
        ({"privacy__constraints": "level:1"}, [("food",), ("food",), ("culture",)]),
        ({"privacy__constraints": "level:2"}, [("food", "bakery"), ("food",), ("culture", "museum")]),
        ({"privacy__constraints": "level:1", "privacy__taxonomy": "own"}, [((1, 1),)] * 3),
    ]
    for given, labels in expected:
        plan = files.feed("u-seqanon", **given).plan
        assert isinstance(plan, KmPlan)
        assert isinstance(plan.algorithm, USeqAnon)
        assert plan.algorithm.constraints.labels(everything(files.feed())) == labels


def test_defaults_cover_what_is_left_out(files: Files) -> None:
    """
    Unknown and missing categories, and locations that no line names, have the default.
    """
    files.places.write_text(PLACES.replace("bakery", "zoo").replace(" museum ", ""))
    files.listed.write_text("location,constraint\nv2,east\n")
    sd, u = (
        files.feed(model, privacy__default_category="culture", privacy__default_constraint="rest").plan
        for model in ("sd-seqanon", "u-seqanon")
    )
    assert isinstance(sd, KmPlan) and isinstance(sd.algorithm, SDSeqAnon)  # noqa: PT018
    assert isinstance(u, KmPlan) and isinstance(u.algorithm, USeqAnon)  # noqa: PT018
    names = everything(files.feed("seqanon"))
    assert sd.algorithm.taxonomy.paths(names) == [("culture",), ("food",), ("culture",)]
    assert u.algorithm.constraints.labels(names) == ["rest", "east", "rest"]


@pytest.mark.parametrize("model", ["sd-seqanon", "u-seqanon"])
@pytest.mark.parametrize(
    ("in_places", "in_listed", "in_record"),
    [
        (" v1", "v1 ", '"v1"'),
        ("V1", "v1", "v1"),
        ("Caf\u00e9", "Cafe\u0301", "cafe\u0301"),
        ("a  b", "A B", "a\u00a0b"),
    ],
)
def test_a_venue_may_be_spelled_in_another_way_in_each_file(
    model: str, in_places: str, in_listed: str, in_record: str, files: Files
) -> None:
    """
    Spaces, case and Unicode form of a name do not matter, nor those of a category or of its parent.
    """
    files.places.write_text(PLACES.replace("v1,", f"{in_places},").replace("bakery", "Bakery "))
    files.listed.write_text(files.listed.read_text().replace("v1,", f"{in_listed},"))
    files.tree.write_text(files.tree.read_text().replace(",food", ", FOOD "))
    plan = files.feed(model).plan
    assert isinstance(plan, KmPlan)
    ids, found = plan.locator.locate(VENUES.lat_deg[:1], VENUES.lon_deg[:1], [in_record])
    assert found.all()
    names, lat, lon = plan.locator.describe(ids)
    vocabulary = Vocabulary(
        ids=ids, names=tuple(names), lat_deg=lat, lon_deg=lon, xy_m=VENUES.lat_deg[:1, None] * [1, 1]
    )
    if isinstance(plan.algorithm, SDSeqAnon):
        assert plan.algorithm.taxonomy.paths(vocabulary) == [("food", "bakery")]
    else:
        assert isinstance(plan.algorithm, USeqAnon)
        assert plan.algorithm.constraints.labels(vocabulary) == ["east"]


def test_names_in_settings_may_have_any_spelling(files: Files) -> None:
    """
    Defaults, sensitive venues and sensitive categories are found whatever their case, spaces or Unicode form.
    """
    files.tree.write_text(TREE.replace("culture", "Caf\u00e9"))
    files.places.write_text(PLACES.replace("bakery", "zoo"))
    files.listed.write_text("location,constraint\nv1,East\n")
    sd, u = (
        files.feed(model, privacy__default_category=" CAFE\u0301 ", privacy__default_constraint=" east").plan
        for model in ("sd-seqanon", "u-seqanon")
    )
    assert isinstance(sd, KmPlan) and isinstance(sd.algorithm, SDSeqAnon)  # noqa: PT018
    assert isinstance(u, KmPlan) and isinstance(u.algorithm, USeqAnon)  # noqa: PT018
    names = everything(files.feed("seqanon", privacy__default_category="food"))
    assert sd.algorithm.taxonomy.paths(names) == [("Caf\u00e9",), ("food",), ("Caf\u00e9", "museum")]
    assert u.algorithm.constraints.labels(names) == ["East"] * 3
    given = {
        "location.kind": "venues",
        "location.venues_file": str(files.places),
        "privacy.taxonomy": str(files.tree),
        "checkins.privacy.model": "zga",
        "privacy.default_category": "FOOD",
        "privacy.sensitive_locations": " V1,category: cafe\u0301",
    }
    own = load_settings(given=given).for_kind(Kind.CHECKINS)
    assert sensitive_locations(own, sd.locator) == {"v1", "v3"}


def test_a_name_that_could_be_several_is_refused(files: Files) -> None:
    """
    Which one is meant is not for the order of a file to say.
    """
    files.tree.write_text(TREE + "Bakery,food\n")
    assert files.feed(privacy__default_category="Bakery")
    assert files.complaint(privacy__default_category="BAKERY").endswith(
        ", spelled exactly like it, because several differ in their spelling alone"
    )


# ---------------------------------------------------------------- files that do not


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"",
            ", line 1: the header must have each of the columns category, parent once; category occurs 0 times",
        ),
        (b"category\nfood\n", "once; parent occurs 0 times"),
        (b"category,parent\na,b\nb,a\n", "is its own ancestor: a taxonomy has no cycles"),
        (b"category,parent\na,\nb,\nc,a\nc,b\n", "category 'c' has two parents"),
        (b"category,parent\na,nowhere\n", "category 'nowhere' is a parent but has no row of its own"),
        (b"category,parent\n,\n", "a category has no name"),
        (b"category,parent\na,\n\xff,\n", " is not UTF-8 (line 3): save it as UTF-8"),
        ("category,parent\na,\n".encode("utf-16"), " is not UTF-8 (line 1): save it as UTF-8"),
        ("category,parent\na,\n".encode("utf-16-be"), " is not UTF-8 (line 1): save it as UTF-8"),
        (b'category,parent\n"a' + b"x" * 200_000, ", line 2: is not CSV: the line has a quotation mark"),
        (b'category,parent\n"a,\nb,"\n', ", line 2: is not CSV: the line has a quotation mark"),
        (b"category,parent\na\0,\n", ", line 2: is not CSV: the line has a NUL character"),
        (b"category,parent\na,,b\n", ", line 2: must have 2 values like the header, but has 3"),
        (b"category,parent,parent\na,,b\n", ", line 1: the header must have each of the columns category, parent once"),
    ],
)
def test_a_bad_taxonomy_is_named(content: bytes, says: str, files: Files) -> None:
    """
    The sentence names the setting, the file, and what is wrong.
    """
    files.tree.write_bytes(content)
    complaint = files.complaint()
    assert complaint.startswith(f"privacy.taxonomy {files.tree}")
    assert says in complaint


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the columns location, constraint once; location occurs 0 times"),
        (b"location\nv1\n", "once; constraint occurs 0 times"),
        (
            b"location,constraint\nv1,east\n\nv1,west\n",
            ", line 4: the location has another constraint in line 2: it must have one",
        ),
        (
            b"location,constraint\nv1,east\n V1,west\n",
            ", line 3: the location has another constraint in line 2: it must have one",
        ),
        (b"location,constraint\nv1\n", ", line 2: must have 2 values like the header, but has 1"),
        (b"location,constraint\nv1, \n", ", line 2: the location has no constraint: every row needs one"),
        (b"location,constraint\nv1,east\n", "2 venues are not listed: set privacy.default_constraint"),
        (b"location,constraint\nv1,\xff\n", " is not UTF-8 (line 2): save it as UTF-8"),
    ],
)
def test_bad_constraints_are_named(content: bytes, says: str, files: Files) -> None:
    """
    The sentence names the setting, the file, and what is wrong; never a location.
    """
    files.listed.write_bytes(content)
    complaint = files.complaint("u-seqanon")
    assert complaint.startswith(f"privacy.constraints {files.listed}")
    assert says in complaint
    assert "v1" not in complaint


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
@pytest.mark.parametrize(
    ("setting", "model"),
    [("privacy.taxonomy", "sd-seqanon"), ("privacy.constraints", "u-seqanon"), ("privacy.taxonomy", "seqanon")],
)
def test_a_file_that_cannot_be_read_is_named(setting: str, model: str, name: str, files: Files, tmp_path: Path) -> None:
    """
    One that is missing, and a folder; also where the model has no use for it: what a setting names must exist.
    """
    complaint = files.complaint(model, **{setting.replace(".", "__"): str(tmp_path / name)})
    assert complaint.startswith(f"{setting} {tmp_path / name}: cannot be read (")
    assert complaint.endswith(
        "): check the path, and that this user may read the file (in a container or Pod: that it is mounted)"
    )


@pytest.mark.parametrize("level", ["level:0", "level:", "level:-1", "level:100", "level:two"])
def test_a_level_is_one_to_ninety_nine(level: str, files: Files) -> None:
    """
    Anything else is taken for a file, which is not there.
    """
    assert files.complaint("u-seqanon", privacy__constraints=level).startswith(
        f"privacy.constraints {level}: cannot be read (No such file or directory): check the path"
    )


def test_a_default_category_must_be_one(files: Files) -> None:
    """
    A default that the taxonomy does not hold would cover nothing.
    """
    complaint = files.complaint(privacy__default_category="zoo")
    assert complaint.startswith("privacy.default_category is 'zoo': it must be a category of privacy.taxonomy")


def test_venues_without_a_category_are_counted(files: Files) -> None:
    """
    Two of three have none in the taxonomy; the sentence says what to do, and names no venue.
    """
    files.places.write_text(PLACES.replace("bakery", "zoo").replace(" museum ", ""))
    complaint = files.complaint()
    assert "2 of 3 places have no category of privacy.taxonomy" in complaint
    assert "privacy.default_category" in complaint
    files.places.write_text("venue,lat,lon\nv1,52,13\n")
    assert "the columns venue, category once; category occurs 0 times" in files.complaint()


def test_constraints_on_a_grid_need_a_default(files: Files) -> None:
    """
    Nobody lists every cell of the earth.
    """
    given = {"location.kind": "grid", "privacy.model": "u-seqanon", "privacy.constraints": str(files.listed)}
    with pytest.raises(SettingsError, match="locations that are not listed may occur: set"):
        Feed(
            load_settings(given={f"checkins.{name}": value for name, value in given.items()}),
            Kind.CHECKINS,
            secret=SECRET,
        )
    given["privacy.default_constraint"] = "rest"
    settings = load_settings(given={f"checkins.{name}": value for name, value in given.items()})
    assert Feed(settings, Kind.CHECKINS, secret=SECRET).plan.model == "u-seqanon"


# ---------------------------------------------------------------- what a release depends on


def test_what_a_file_says_is_part_of_the_digest_and_its_place_is_not(files: Files, tmp_path: Path) -> None:
    """
    A window that was sealed under another taxonomy would come out differently; under a copy elsewhere it would not.
    """
    one = files.feed("u-seqanon", privacy__constraints="level:1")
    two = files.feed("u-seqanon")
    copies = Files(tmp_path)
    copies.tree, copies.listed = (
        path.rename(path.with_name(f"moved-{path.name}")) for path in (files.tree, files.listed)
    )
    assert copies.feed("u-seqanon", privacy__constraints="level:1").plan.digest == one.plan.digest
    assert copies.feed("u-seqanon").plan.digest == two.plan.digest
    for path in (copies.tree, copies.listed):
        before = copies.feed("u-seqanon").plan.digest
        path.write_text(path.read_text() + "\n")
        assert copies.feed("u-seqanon").plan.digest != before
    assert copies.feed("u-seqanon").vocabulary == two.vocabulary


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy__constraints": "level:2"},
        {"privacy__taxonomy": "own"},
        {"privacy__default_category": "food"},
        {"privacy__default_constraint": "rest"},
        {"privacy__suppression_percent": 6},
        {"checkins__privacy__model": "sd-seqanon"},
    ],
)
def test_each_setting_of_meaning_is_part_of_the_digest(changes: dict[str, Any], files: Files) -> None:
    """
    Level 2 releases other locations than level 1, also where the taxonomy is the same file.
    """
    given = {"privacy__constraints": "level:1"}
    assert files.feed("u-seqanon", **given | changes).plan.digest != files.feed("u-seqanon", **given).plan.digest


def test_a_taxonomy_and_a_list_with_the_same_content_are_not_mixed_up(files: Files) -> None:
    """
    Which of the two settings names a file counts, not only what the files say.
    """
    both = "category,parent,location,constraint\nfood,,v1,a\n"
    files.tree.write_text(both)
    files.listed.write_text(both)
    given: dict[str, object] = {"privacy__default_constraint": "rest", "privacy__default_category": "food"}
    listed = files.feed("u-seqanon", privacy__taxonomy="own", **given)
    level = files.feed("u-seqanon", privacy__constraints="level:1", **given)
    assert listed.plan.digest != level.plan.digest


# ---------------------------------------------------------------- real taxonomies and a real feed


@pytest.fixture(scope="module")
def real() -> Path:
    """The folder of real data, or the test is skipped."""
    if not DATA.is_dir():
        pytest.skip("the real feeds are not here: they belong into ../shared/data, beside the repository")
    return DATA


def rows_of(path: Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Read some columns of a CSV."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") if path.suffix == ".gz" else path.open() as lines:
        return [tuple(row[name] for name in columns) for row in csv.DictReader(lines)]


@pytest.fixture(scope="module")
def calgary(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The venues of fsq_calgary as a file, made from the feed."""
    path = tmp_path_factory.mktemp("calgary") / "venues.csv"
    venues = {row[0]: row for row in rows_of(real / "fsq_calgary.csv.gz", ("venue", "lat", "lon", "category"))}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["venue", "lat", "lon", "category"])
        writer.writerows(venues[name] for name in sorted(venues))
    return path


@pytest.mark.parametrize(
    ("name", "n_rows", "missing"),
    [
        ("venue_categories", 970, []),
        ("overture_categories", 2_117, ["boat_hire_service", "community_services", "diving_instruction"]),
    ],
)
def test_a_real_taxonomy_is_a_tree(name: str, n_rows: int, missing: list[str], real: Path) -> None:
    """
    Every category has a path that ends with it and begins below the root, each step a row of the file. Overture's
    file, as published, names three parents that it does not list: it is refused until they have rows.
    """
    rows = rows_of(real / f"{name}.csv", ("category", "parent"))
    assert len(rows) == n_rows
    pairs = [(category, parent) for category, parent in rows]
    for i in range(len(missing)):
        with pytest.raises(TaxonomyError, match=f"category '({'|'.join(missing[i:])})' is a parent but has no row"):
            Categories.from_rows([*pairs, *((category, "") for category in missing[:i])])
    pairs += [(category, "") for category in missing]
    categories = Categories.from_rows(pairs)
    assert len(categories.parent_of) == n_rows + len(missing)
    steps = set(pairs)
    for category, _ in pairs:
        path = categories.path(category)
        assert path[-1] == category
        assert all(step in steps for step in zip(path, ("", *path), strict=False))


REAL = {
    "release.withheld": "announced",
    "location.kind": "venues",
    "window.size": "30d",
    "privacy.k": 5,
    "privacy.m": 2,
}


@pytest.fixture
def replayed(calgary: Path, real: Path, tmp_path: Path) -> Callable[..., tuple[Summary, list[dict[str, Any]]]]:
    """Replay fsq_calgary over its venues."""

    def replayed(**given: object) -> tuple[Summary, list[dict[str, Any]]]:
        named = {name.replace("__", "."): value for name, value in given.items()}
        settings = load_settings(given=REAL | {"location.venues_file": str(calgary)} | named)
        file = record_file(real / "fsq_calgary.csv.gz", Kind.CHECKINS, settings.fields.model_dump(), max_bytes=10**6)
        replay = Replay(Feed(settings, Kind.CHECKINS, secret=SECRET), [file], now_ms=1_900_000_000_000, max_bytes=2**20)
        summary = replay.run(tmp_path)
        file.close()
        return summary, [json.loads(line) for line in (tmp_path / "windows.ndjson").read_bytes().splitlines()]

    return replayed


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("model", "constraints"), [("seqanon", None), ("sd-seqanon", None), ("u-seqanon", "level:1")])
def test_a_real_feed_is_released_with_each_model(
    model: str,
    constraints: str | None,
    own: bool,
    replayed: Callable[..., tuple[Summary, list[dict[str, Any]]]],
    real: Path,
) -> None:
    """
    Calgary by month: no window is refused, every row is accounted for, and what locations mean is told by name.
    """
    given: dict[str, object] = {"checkins__privacy__model": model, "privacy__suppression_percent": 100}
    if not own:
        file = real / "venue_categories.csv"
        given |= {"privacy__taxonomy": str(file), "privacy__default_category": "Shop & Service"}
    if constraints is not None:
        given["privacy__constraints"] = constraints
    summary, windows = replayed(**given)
    assert (summary.records, summary.windows_refused, summary.rejected) == (9_317, 0, 0)
    assert summary.windows_released > 10
    accounted = summary.late + summary.duplicates + summary.withheld_records
    assert accounted + summary.points_released + summary.points_suppressed == 9_317
    for window in windows:
        assert window["model"] == model
        name = window["parameters"].get("taxonomy" if model == "sd-seqanon" else "constraints", "")
        told = {"seqanon": "", "sd-seqanon": "own" if own else "venue_categories:", "u-seqanon": " level 1"}[model]
        assert told in name
        assert name.startswith("own" if own else "venue_categories:") or model == "seqanon"


def test_constraints_of_a_real_feed_are_kept(
    replayed: Callable[..., tuple[Summary, list[dict[str, Any]]]], calgary: Path, real: Path
) -> None:
    """
    Every published generalized location is of one category of level 1, by the file alone.
    """
    categories = Categories.from_rows(
        (category, parent) for category, parent in rows_of(real / "venue_categories.csv", ("category", "parent"))
    )
    top = {}
    for venue, category in rows_of(calgary, ("venue", "category")):
        last = category.rpartition(">")[2].strip()
        top[venue] = categories.path(last if last in categories.parent_of else "Shop & Service")[0]
    _, windows = replayed(
        checkins__privacy__model="u-seqanon", privacy__constraints="level:1", privacy__suppression_percent=100,
        privacy__taxonomy=str(real / "venue_categories.csv"), privacy__default_category="Shop & Service",
    )  # fmt: skip
    together = [location["members"] for window in windows for location in window.get("locations", [])]
    assert any(len(members) > 1 for members in together)
    assert all(len({top[member] for member in members}) == 1 for members in together)


def test_a_small_budget_withholds_windows_of_a_real_feed(
    replayed: Callable[..., tuple[Summary, list[dict[str, Any]]]],
) -> None:
    """
    Kept apart by quadrants of some kilometres and without a budget, months are withheld with their reason, not refused.
    """
    summary, windows = replayed(
        checkins__privacy__model="u-seqanon", privacy__constraints="level:12", privacy__suppression_percent=0
    )
    reasons = [window["reason"] for window in windows if window["outcome"] == "withheld"]
    assert summary.windows_refused == 0
    assert reasons.count("constraints_not_satisfied") == summary.reasons["constraints_not_satisfied"] > 10


def test_meaning_brings_alike_venues_together(
    replayed: Callable[..., tuple[Summary, list[dict[str, Any]]]], calgary: Path, real: Path
) -> None:
    """
    With the taxonomy, the members of generalized locations have a nearer common ancestor, on average over the visits
    to choose among, than by distance alone.
    """
    categories = Categories.from_rows(
        (category, parent) for category, parent in rows_of(real / "venue_categories.csv", ("category", "parent"))
    )
    paths: dict[str, tuple[str, ...]] = {}
    for venue, category in rows_of(calgary, ("venue", "category")):
        last = category.rpartition(">")[2].strip()
        paths[venue] = categories.path(last if last in categories.parent_of else "Shop & Service")
    mean: dict[str, float] = {}
    for model in ("seqanon", "sd-seqanon"):
        _, windows = replayed(
            checkins__privacy__model=model, privacy__m=1, privacy__taxonomy=str(real / "venue_categories.csv"),
            privacy__default_category="Shop & Service",
        )  # fmt: skip
        together = [location["members"] for window in windows for location in window.get("locations", [])]
        shared = [len({paths[member][0] for member in members}) == 1 for members in together if len(members) > 1]
        mean[model] = sum(shared) / len(shared)
    assert mean["sd-seqanon"] > mean["seqanon"]
