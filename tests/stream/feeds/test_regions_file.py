"""The file of regions: what a person may draw, and the sentence about everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.places.drawn_regions import DrawnRegions
from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.feeds.regions_file import read_regions
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.worker.shapes import outline
from tests.builders.reference_systems import OTHERS

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
BOW_TIE = [[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]


def feature(name: object, geometry: object, **properties: object) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"name": name, **properties}, "geometry": geometry}


def polygon(*rings: object) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def moved(east: float, north: float = 0.0) -> list[list[float]]:
    return [[x + east, y + north] for x, y in SQUARE]


def collection(*features: object, **members: object) -> str:
    return json.dumps({"type": "FeatureCollection", **members, "features": list(features)})


def read(tmp_path: Path, content: str | bytes) -> DrawnRegions:
    file = tmp_path / "regions.geojson"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_regions(file)


def test_polygons_of_any_editor_are_read(tmp_path: Path) -> None:
    """
    Parts, holes, altitudes, other properties, rings in either direction, numbers as names, and the crs of QGIS.
    """
    hole = [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6], [0.4, 0.4]]
    high = [[x, y, 310.5] for x, y in moved(7)]
    regions = read(
        tmp_path,
        collection(
            feature("  Old   town\u0301 ", polygon(SQUARE, hole), people=15, note=None),
            feature(7, {"type": "MultiPolygon", "coordinates": [[moved(3)[::-1]], [moved(5)]]}),
            feature("high", polygon(high)) | {"id": 3, "bbox": [0, 0, 1, 1]},
            name="regions",
            crs={"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
        ),
    )
    assert regions.names == ["7", "Old toẃn".replace("ẃn", "wń"), "high"]
    ids, found = regions.locate(np.array([0.1, 0.5, 0.5, 0.5, 0.5]), np.array([0.1, 0.5, 3.5, 5.5, 7.5]))
    assert found.tolist() == [True, False, True, True, True]
    assert ids[found].tolist() == [1, 0, 0, 2]


def test_a_byte_order_mark_and_white_space_do_not_matter(tmp_path: Path) -> None:
    """
    As some editors on Windows write them.
    """
    assert read(tmp_path, b"\xef\xbb\xbf\r\n" + collection(feature("a", polygon(SQUARE))).encode()).names == ["a"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ": must be a GeoJSON FeatureCollection whose features are polygons with a property name"),
        ("name,lat,lon\n", ": must be a GeoJSON FeatureCollection"),
        (json.dumps(feature("a", polygon(SQUARE))), ": must be a GeoJSON FeatureCollection"),
        (collection(feature("a", polygon(SQUARE)))[:-20], "must be a GeoJSON FeatureCollection"),
        (collection("a"), ": must be a GeoJSON FeatureCollection"),
        (collection(), ": needs at least one region"),
        (
            collection(feature("a", polygon(SQUARE)), crs={"properties": {"name": "EPSG:3857"}}),
            ": is GeoJSON whose crs is not longitude and latitude: write the file in EPSG:4326",
        ),
        *(
            (collection(one), ", feature 1: states a reference system (crs or spatialReference) that is not longitude")
            for stated in OTHERS
            for one in (feature("a", polygon(SQUARE)) | stated, feature("a", polygon(SQUARE) | stated))
        ),
        (collection(feature("", polygon(SQUARE))), ", feature 1: has no name: it needs a property name, a text"),
        (collection(feature(None, polygon(SQUARE))), ", feature 1: has no name"),
        (collection(feature(True, polygon(SQUARE))), ", feature 1: has no name"),
        (collection(feature("a", polygon(SQUARE)) | {"properties": None}), ", feature 1: has no name"),
        (
            collection(feature("a b", polygon(SQUARE)), feature("a  b", polygon(moved(5)))),
            ", feature 2: the name 'a b' occurs before: give each region its own name",
        ),
        (collection(feature("a", None)), ", region 'a': its geometry must be a Polygon or a MultiPolygon"),
        (collection(feature("a", {"type": "Point", "coordinates": [0, 0]})), ", region 'a': its geometry must be"),
        (collection(feature("a", polygon())), ", region 'a': its geometry must be a Polygon or a MultiPolygon"),
        (collection(feature("a", {"type": "MultiPolygon", "coordinates": [[]]})), ", region 'a': a polygon is a list"),
        (
            collection(feature("a", polygon(SQUARE[:-1]))),
            ", region 'a': a ring needs at least four positions, of which",
        ),
        (collection(feature("a", polygon(SQUARE[:2]))), ", region 'a': a ring needs at least four positions"),
        (collection(feature("a", polygon([["0", 0], *SQUARE]))), ", region 'a': a ring is a list of positions"),
        (collection(feature("a", polygon([0, 1]))), ", region 'a': a ring is a list of positions"),
        (collection(feature("a", polygon(BOW_TIE))), ", region 'a': is not a valid area (self-intersection): draw it"),
        (
            collection(feature("a", polygon(moved(0, 89.5)))),
            ", region 'a': a position must be from -180 to 180 degrees east, then from -90 to 90 degrees north; a "
            "region across the antimeridian is a MultiPolygon of two polygons that end at it",
        ),
        (collection(feature("a", polygon(moved(179.5)))), ", region 'a': a position must be from -180 to 180"),
        (
            collection(feature("a", polygon([[179, 0], [-179, 0], [-179, 1], [179, 1], [179, 0]]))),
            ", region 'a': an edge is longer than 180 degrees of longitude; a region across the antimeridian is",
        ),
        (
            collection(feature("b", polygon(moved(0.5))), feature("a", polygon(SQUARE))),
            ": regions 'a' and 'b' overlap by 6,",
        ),
        (collection(feature("a", polygon(SQUARE))).replace("[1, 1]", "[NaN, 1]"), ", region 'a': a position must be"),
    ],
)
def test_everything_else_is_refused_with_a_sentence(content: str, says: str, tmp_path: Path) -> None:
    """
    The sentence names the setting, the file and the region, says what is allowed, and has no coordinates.
    """
    with pytest.raises(SettingsError) as fault:
        read(tmp_path, content)
    sentence = str(fault.value)
    assert sentence.startswith(f"location.regions_file {tmp_path / 'regions.geojson'}")
    assert says in sentence
    assert "[" not in sentence


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """
    And so is the setting if it is not set.
    """
    with pytest.raises(
        SettingsError, match=r"location.regions_file .*none.geojson: cannot be read \(No such file.*\): check"
    ):
        read_regions(tmp_path / "none.geojson")
    with pytest.raises(SettingsError, match=r"location.regions_file is not set: location.kind regions needs"):
        feed(None)


def feed(file: Path | None, **given: object) -> Feed:
    """Wire check-ins whose locations are regions."""
    named = {name.replace("__", "."): value for name, value in given.items()}
    if file is not None:
        named["location.regions_file"] = str(file)
    return Feed(load_settings(given={"location.kind": "regions", **named}), Kind.CHECKINS, secret=SECRET)


def two_regions(tmp_path: Path, name: str = "old town") -> Path:
    file = tmp_path / f"{name.replace(' ', '-')}.geojson"
    file.write_text(collection(feature(name, polygon(SQUARE)), feature("harbour", polygon(moved(1)))))
    return file


def test_another_file_is_another_vocabulary(tmp_path: Path) -> None:
    """
    Records that were located by other regions must not be mixed; the name and the folder of the file do not matter.
    """
    file = two_regions(tmp_path)
    copy = tmp_path / "copy.geojson"
    copy.write_bytes(file.read_bytes())
    assert feed(file).vocabulary == feed(copy).vocabulary
    assert feed(file).vocabulary != feed(two_regions(tmp_path, "new town")).vocabulary
    assert feed(file).needed == ("user", "ts", "lat", "lon")


def test_sensitive_regions_and_constraints_name_regions(tmp_path: Path) -> None:
    """
    In any spelling; a name that no region has is refused, or a region would silently not be protected.
    """
    file = two_regions(tmp_path)
    sensitive = {"privacy__model": "sga", "privacy__sensitive_locations": "Old Town"}
    assert feed(file, **sensitive).plan.sensitive == frozenset({"old town"})  # type: ignore[attr-defined]
    with pytest.raises(SettingsError, match=r"'oldtown': it must be a region of location.regions_file"):
        feed(file, privacy__model="sga", privacy__sensitive_locations="oldtown")
    constraints = tmp_path / "constraints.csv"
    constraints.write_text("location,constraint\nOLD TOWN,centre\n")
    with pytest.raises(SettingsError, match=r"1 regions are not listed: set privacy.default_constraint"):
        feed(file, privacy__model="u-seqanon", privacy__constraints=str(constraints))


def test_the_live_page_draws_regions(tmp_path: Path) -> None:
    """
    The outline of a name is its border; no other name has one.
    """
    regions = read_regions(two_regions(tmp_path))
    assert set(outline(regions, "old town")) == {(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)}
    assert outline(regions, "nowhere") == []
