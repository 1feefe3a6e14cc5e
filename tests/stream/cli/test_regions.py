"""``shoal regions``: from a file of records to regions that a replay locates records in."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from shapely import Point
from shapely.geometry import shape

from core.records.record import Kind
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.replay.places.file_positions import FilePositions
from stream.replay.places.region_search import RegionSearch
from stream.settings.load import load_settings
from tests.paths import DATA

SHOAL = Callable[..., Result]

CENTRES = [(52.50 + 0.02 * i, 13.40, 20 - 4 * i) for i in range(4)]
"""Latitude, longitude and people of four busy places. Everyone is also alone somewhere."""

ROWS = "user,lat,lon,ts\n" + "".join(
    f"p{person},{lat},{lon},{1_600_000_000 + person}\np{person},{lat + 0.005},{lon + 0.1 + person / 100},1600000000\n"
    for lat, lon, people in CENTRES
    for person in range(people)
)


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch) -> SHOAL:
    """Run the command line with arguments; no setting comes from the environment of the tests."""
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)

    def shoal(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return shoal


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    """A small feed of check-ins."""
    path = tmp_path / "feed.csv"
    path.write_text(ROWS)
    return path


@pytest.mark.parametrize("cells", [("--cell-m", 300), ("--h3-resolution", 8)])
def test_regions_are_found_drawn_and_printed(
    cells: tuple[object, ...], shoal: SHOAL, feed: Path, tmp_path: Path
) -> None:
    """
    The file is GeoJSON with names, rounded people and cells; the map and the table show the same.
    """
    out = tmp_path / "maps" / "regions.geojson"
    result = shoal("regions", feed, "--kind", "checkins", "--out", out, "--density", 0.3, "--k", 6, *cells)
    assert result.exit_code == 0, result.output
    features = json.loads(out.read_text())["features"]
    assert [one["properties"] for one in features] == [
        {"name": "r01", "people": 6, "cells": 1},
        {"name": "r02", "people": 12, "cells": 1},
        {"name": "r03", "people": 12, "cells": 1},
        {"name": "r04", "people": 18, "cells": 1},
    ]
    for one, (lat, lon, _) in zip(features, reversed(CENTRES), strict=True):
        assert shape(one["geometry"]).covers(Point(lon, lat))
        assert shape(one["geometry"]).exterior.is_ccw
    picture = out.with_suffix(".svg").read_text()
    ElementTree.fromstring(picture)  # noqa: S314 - our own picture
    for words in ("r01", "r04: 18 people or more", "north is up", "km</text>"):
        assert words in picture
    for words in ("4 regions in", "r04", "18+", "90.0%"):
        assert words in result.stdout
    assert list(out.parent.glob("*.part")) == []


def test_records_are_located_in_the_regions(shoal: SHOAL, feed: Path, tmp_path: Path) -> None:
    """
    With the file in the settings, releases name regions; records outside them are rejected, and the reason is counted.
    """
    out, replayed = tmp_path / "regions.geojson", tmp_path / "out"
    named = ("--set", "location.kind=regions", "--set", f"location.regions_file={out}")
    # The settings may name the file before it exists.
    assert shoal("regions", feed, "--kind", "checkins", "--out", out, "--density", 0.3, *named).exit_code == 0
    result = shoal(
        *("replay", feed, "--kind", "checkins", "--output", replayed, "--json", *named),
        *("--set", "privacy.model=least-loss", "--set", "window.size=1h"),
    )
    assert result.exit_code == 0, result.output
    counts = json.loads(result.stdout)
    n_alone = sum(people for _, _, people in CENTRES)
    assert counts["reasons"] == {"outside_area": n_alone}
    assert counts["rejections"][0]["detail"] == "the position is in no region of location.regions_file"
    released = [json.loads(line) for line in (replayed / "anonymized.ndjson").read_text().splitlines()]
    assert {name for one in released for place in one["locations"] for name in place} == {"r01", "r02", "r03", "r04"}


def test_regions_of_stops_are_those_of_the_fragments(shoal: SHOAL, feed: Path, tmp_path: Path) -> None:
    """
    Settings whose model is one of check-ins are enough, even if they name the file of regions already.
    """
    found = []
    for kind, sets in (
        ("fragments", ()),
        ("stops", ("privacy.model=p2ka", "stops.location.kind=regions", "stops.location.regions_file=none.geojson")),
    ):
        out = tmp_path / f"{kind}.geojson"
        given = [part for one in sets for part in ("--set", one)]
        result = shoal("regions", feed, "--kind", kind, "--out", out, "--density", 0.3, *given)
        assert result.exit_code == 0, result.output
        found.append(out.read_bytes())
    assert found[0] == found[1]


def test_the_number_of_regions_chooses_the_density(shoal: SHOAL, feed: Path, tmp_path: Path) -> None:
    """
    Fewer regions need denser cells.
    """
    out = tmp_path / "regions.geojson"
    for wanted in (1, 2, 3, 4):
        result = shoal("regions", feed, "--kind", "checkins", "--out", out, "--regions", wanted, "--json")
        printed = json.loads(result.stdout)
        assert len(printed["regions"]) == len(json.loads(out.read_text())["features"]) == wanted
        assert printed["least_people"] == 25 - 5 * wanted  # a multiple of k, not the number of one cell
    result = shoal("regions", feed, "--kind", "checkins", "--out", out, "--k", 2, "--json")
    assert json.loads(result.stdout)["least_people"] == 8


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--cell-m", 100, "--h3-resolution", 8), 2, "--cell-m and --h3-resolution exclude each other"),
        (("--out", "regions.svg"), 2, "--out ends with .svg, as the map does: name a file such as regions.geojson"),
        (("--density", 0.1, "--regions", 8), 2, "--density and --regions exclude each other"),
        (("--k", 21), 1, "no cell had 21 people or more: make cells larger"),
        (("--density", 1, "--k", 6, "--set", "privacy.k=3"), 0, ""),
        (("--set", "fields.user=name"), 1, "user"),
        (("--set", "time.latest=2010-01-01T00:00:00Z"), 1, "no record was accepted"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    options: tuple[object, ...], code: int, says: str, shoal: SHOAL, feed: Path, tmp_path: Path
) -> None:
    """
    It says what to do; nothing is written, and no exit without a reason.
    """
    out = tmp_path / "regions.geojson"
    result = shoal("regions", feed, "--kind", "checkins", "--out", out, *options)
    assert result.exit_code == code
    assert "Traceback" not in result.output
    assert says in " ".join(result.stderr.split())
    assert out.exists() == (code == 0)


def test_a_density_that_no_cell_has_is_named(shoal: SHOAL, tmp_path: Path) -> None:
    """
    The sentence says how dense the densest cell is, rounded down to a multiple of k.
    """
    feed = tmp_path / "feed.csv"
    rows = [f"p{person},{1 + person // 8},1,1600000000\n" for person in range(16)]
    feed.write_text("user,lat,lon,ts\n" + "".join(rows))
    result = shoal("regions", feed, "--kind", "checkins", "--out", tmp_path / "r.geojson", "--density", 0.9)
    assert result.exit_code == 1
    assert "no cell had 15 people or more" in result.stderr
    assert "the densest cell had 5 or more" in " ".join(result.stderr.split())


def test_a_feed_larger_than_memory_has_the_same_regions(feed: Path) -> None:
    """
    With room for ten pairs, the file is read several times.
    """
    settings = load_settings(given={"privacy.secret": "a secret of the tests"})
    files = FilePositions(
        settings=settings, feed=Feed(settings, Kind.CHECKINS, secret="x" * 8 + "yz" * 8 + "abc"), paths=[feed]
    )

    def search(most_pairs: int) -> RegionSearch:
        return RegionSearch(k=5, n_regions=30, density=None, cell_m=300.0, h3_resolution=0, most_pairs=most_pairs)

    whole, in_parts = search(1000).run(files), search(10).run(files)
    assert (whole.passes, in_parts.passes > 3) == (1, True)
    assert whole.regions == in_parts.regions


@pytest.mark.skipif(not DATA.is_dir(), reason="the real feeds are not here: ../shared/data beside the repository")
@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("gowalla_nyc.csv.gz", "checkins", ("--cell-m", 500)),
        ("cabs_sf_20080608.csv.gz", "fragments", ("--h3-resolution", 9)),
    ],
)
@pytest.mark.deep
def test_regions_of_real_feeds_have_k_people(
    name: str, kind: str, options: tuple[object, ...], shoal: SHOAL, tmp_path: Path
) -> None:
    """
    Counted again from the files alone, by the polygons that were written.
    """
    out = tmp_path / "regions.geojson"
    result = shoal("regions", DATA / name, "--kind", kind, "--out", out, "--k", 7, "--regions", 20, *options)
    assert result.exit_code == 0, result.output
    features = json.loads(out.read_text())["features"]
    assert 15 <= len(features) <= 25
    positions = defaultdict(set)
    with gzip.open(DATA / name, "rt") as lines:
        for row in csv.DictReader(lines):
            positions[row["user"]].add((float(row["lon"]), float(row["lat"])))
    for feature in features:
        west, south, east, north = shape(feature["geometry"]).bounds
        area = shape(feature["geometry"])
        people = sum(
            any(west <= lon <= east and south <= lat <= north and area.covers(Point(lon, lat)) for lon, lat in places)
            for places in positions.values()
        )
        assert people >= feature["properties"]["people"] >= 7
