"""Files of places: each form is read, each wrong one ends in a sentence, and every public name is unique."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import osmium
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from osmium.osm import mutable

from stream.feeds.poi_files.found_place import FoundPlace
from stream.feeds.poi_files.read import public_names, read_places
from stream.settings.errors import SettingsError
from tests.builders.reference_systems import OTHERS
from tests.paths import CASES

CSV = "name,lat,lon,category\nNord,48.2,16.37,Health > Clinic\nSüd,-33.5,179.9,\n"
READ = [("Nord", 48.2, 16.37, (("Health", "Clinic"),)), ("Süd", -33.5, 179.9, ())]


def read(path: Path, content: bytes | str) -> list[FoundPlace]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_places(path)


def told(places: Sequence[FoundPlace]) -> list[tuple[str, float, float, tuple[tuple[str, ...], ...]]]:
    return [(one.name, one.lat, one.lon, one.categories) for one in places]


def complaint(path: Path, content: bytes | str) -> str:
    with pytest.raises(SettingsError) as fault:
        read(path, content)
    assert str(fault.value).startswith(f"location.pois_file {path}")
    return str(fault.value).removeprefix(f"location.pois_file {path}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "places.csv"


# ---------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace(",", ";").replace(".", ","),
        lambda text: text.replace(",", "|").replace("\n", "\r\n"),
        lambda text: text.replace("name,lat,lon", "Venue_Name, Latitude ,LNG"),
        lambda text: text.replace("name,lat,lon,category", "TITLE,y,x,fsq_category_labels"),
        lambda text: text.replace("Süd", "Su\u0308d").replace("Health > Clinic", " Health>  Clinic "),
        lambda text: text.replace("Nord", ' "Nord" ').replace("\n", "\n\n"),
        lambda text: (
            text.replace("lon,category", "lon,category,phone")
            .replace("Clinic\n", "Clinic,1\n")
            .replace("9,\n", "9,,\n")
        ),
    ],
)
def test_a_csv_of_another_program_is_read(change: Callable[[str], str], file: Path) -> None:
    """
    Byte order mark, separator, names of columns, Unicode form, spaces and other columns do not matter.
    """
    assert told(read(file, change(CSV))) == READ


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ", line 1: the header must have a column name (or names.primary, title, venue, venue_name, place, poi)"),
        ("name,lat\nA,1\n", ", line 1: the header must have a column lon (or lng, long, longitude, x)"),
        ("name,lat,lon,LAT\nA,1,2,3\n", ", line 1: the header must have the column lat once, but has it 2 times"),
        ("name,lat,lon\nA,1,2\n,1,2\n", ", line 3: the name is empty: every place needs one"),
        ("name,lat,lon\nA,91,2\n", ", line 2: lat must be a number from -90 to 90, degrees"),
        ("name,lat,lon\nA,1,-180.5\n", ", line 2: lon must be a number from -180 to 180, degrees"),
        ("name,lat,lon\nA,nan,2\n", ", line 2: lat must be a number from -90 to 90, degrees"),
        ("name,lat,lon\nA,,2\n", ", line 2: lat must be a number from -90 to 90, degrees"),
        ("name;lat;lon\nA;48,2,0;16,3\n", ", line 2: lat must be a number from -90 to 90, degrees"),
        ("name,lat,lon\nA,48,2,16,3\n", ", line 2: must have 3 values like the header, but has 5"),
        ("id,name,lat,lon\n7,A,1,2\n8,B,1,2\n7,C,1,2\n", ", line 4: has the id of line 2: list each place once"),
        ("name,lat,lon\nA,1,2\n\nA ,1.0,2\n", ", line 4: has the name and position of line 2: list each place once"),
        ("name,lat,lon\n", ": needs at least one place with a name"),
        (CSV.encode("latin-1"), " is not UTF-8 (line 3): save it as UTF-8"),
        (CSV.encode("utf-16"), " is not UTF-8 (line 1): save it as UTF-8"),
        ('name,lat,lon\n"A,1,2\n', ", line 2: is not CSV: the line has a quotation mark"),
    ],
)
def test_a_bad_csv_is_named(content: str | bytes, says: str, file: Path) -> None:
    """
    The sentence names the setting, the file, the line and what is allowed.
    """
    assert complaint(file, content).startswith(says)


@pytest.mark.parametrize("name", ["none.csv", ".", "none.osm.pbf", "none.parquet"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """
    One that is missing, and a folder.
    """
    with pytest.raises(SettingsError, match="cannot be read"):
        read_places(tmp_path / name)


def test_the_published_case_of_latin_1_is_refused() -> None:
    """
    The same file in UTF-8 is read, though it calls a name a venue.
    """
    folder = CASES / "venues-latin1"
    if not folder.exists():
        pytest.skip("needs the cases of ../shared")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        read_places(folder / "venues.csv")
    assert [one.name for one in read_places(folder / "venues_utf8.csv")] == ["Café 0", "Café 1"]


def test_a_long_file_shows_progress(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    On standard error, now and then; a short one shows none.
    """
    content = "id,name,lat,lon\n" + "".join(f"{i},A,1,2\n" for i in range(5_000))
    ticks = iter(range(0, 999))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    assert len(read(file, content)) == 5_000
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"shoal: reading {file}: 1,000 places so far"
    assert 1 < len(lines) < 5
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    assert len(read(file, content)) == 5_000
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------- GeoJSON


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def point(lon: float, lat: float) -> dict[str, Any]:
    return {"type": "Point", "coordinates": [lon, lat]}


U_SHAPE = {"type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3], [0, 0]]]}
FEATURES = [
    feature(point(16.37, 48.2), name="Nord", category="Health > Clinic"),
    feature(point(179.9, -33.5), Name="Süd"),
]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"type": "FeatureCollection", "features": FEATURES}),
        "\ufeff " + json.dumps({"type": "FeatureCollection", "features": FEATURES}, indent=1),
        "\n".join(map(json.dumps, FEATURES)),
        json.dumps(FEATURES, indent=1),
        "".join(f"\x1e{json.dumps(one)}\n" for one in FEATURES),
    ],
)
def test_features_are_places(content: str, file: Path) -> None:
    """
    As a collection, a feature a line, or a text sequence; whatever the name of the file.
    """
    assert told(read(file, content)) == READ


def test_a_polygon_is_where_its_inside_is(file: Path) -> None:
    """
    The middle of a building around a yard lies in the yard, which is not the building.
    """
    (place,) = read(file, json.dumps(feature(U_SHAPE, name="U")))
    in_bar = 0 < place.lat < 1 and 0 < place.lon < 3
    in_arms = 0 < place.lat < 3 and (0 < place.lon < 1 or 2 < place.lon < 3)
    assert in_bar or in_arms


def test_overture_in_geojson_is_read(file: Path) -> None:
    """
    Names and categories are structures there; the new hierarchy is preferred to the old category.
    """
    place = feature(
        point(16.37, 48.2),
        names={"primary": "Nord", "common": None},
        categories={"primary": "doctor"},
        taxonomy={"primary": "clinic", "hierarchy": ["health_care", "clinic"]},
    )
    assert told(read(file, json.dumps(place | {"id": "08f1"}))) == [
        ("Nord", 48.2, 16.37, (("health_care", "clinic"), ("doctor",)))
    ]
    assert read(file, json.dumps(place | {"id": "08f1"}))[0].id == "08f1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps([FEATURES[0]]).replace("[", "{", 1), ": is no GeoJSON of places: "),
        ('{"type": "FeatureCollection", "features": [', ": is no GeoJSON of places: "),
        ('{"name": "A"}', ", feature 1: must be a Feature with properties"),
        (json.dumps(feature(None, name="A")), ", feature 1: needs a geometry with coordinates, such as a Point"),
        (json.dumps(feature({"type": "Point"}, name="A")), ", feature 1: needs a geometry with coordinates"),
        (json.dumps(feature({"type": "Point", "coordinates": []}, name="A")), ", feature 1: needs a geometry with"),
        (json.dumps(feature({"type": "Point", "coordinates": ["x", 1]}, name="A")), ", feature 1: needs a geometry"),
        (json.dumps(feature(point(48.2, 116.37), name="A")), ", feature 1: lat must be a number from -90 to 90"),
        (json.dumps(feature(point(1, 2))), ", feature 1: the name is empty: every place needs one"),
        (
            json.dumps({"type": "FeatureCollection", "features": FEATURES * 2}),
            ", feature 3: has the name and position of feature 1: list each place once",
        ),
        (
            json.dumps({"type": "FeatureCollection", "crs": {"properties": {"name": "EPSG:3857"}}, "features": []}),
            ": is no GeoJSON of places: is GeoJSON whose crs is not longitude and latitude",
        ),
        *(
            (json.dumps(one), ", feature 1: states a reference system (crs or spatialReference) that is not longitude")
            for stated in OTHERS
            for one in (feature(point(1, 2), name="A") | stated, feature(point(1, 2) | stated, name="A"))
        ),
    ],
)
def test_bad_geojson_is_named(content: str, says: str, file: Path) -> None:
    """
    The sentence names the feature.
    """
    assert complaint(file, content).startswith(says)


# ---------------------------------------------------------------- OpenStreetMap


def extract(path: Path) -> Path:
    """A clinic, a shop without a name, a bus stop, a mall, a park and a wall."""
    writer = osmium.SimpleWriter(str(path))
    corners = [(16.0, 48.0), (16.001, 48.0), (16.001, 48.001), (16.0, 48.001)]
    for number, where in enumerate(corners, 1):
        writer.add_node(mutable.Node(id=number, location=where))
    for number, tags in enumerate(
        [
            {"amenity": "clinic;doctors", "healthcare": "clinic", "name": "Nord"},
            {"shop": "bakery"},
            {"highway": "bus_stop", "name": "Nordbahnhof"},
            {"public_transport": "platform", "name": "Nordbahnhof"},
            {"railway": "station", "name": "Nordbahnhof"},
            {"shop": "vacant", "name": "Süd"},
        ],
        10,
    ):
        writer.add_node(mutable.Node(id=number, location=(16.37, 48.2), tags=tags))
    writer.add_way(mutable.Way(id=20, nodes=[1, 2, 3, 4, 1], tags={"shop": "mall", "name": "Nord"}))
    writer.add_way(mutable.Way(id=21, nodes=[1, 2, 3], tags={"historic": "wall", "name": "Stadtmauer"}))
    writer.add_way(mutable.Way(id=22, nodes=[1, 2, 3, 4, 1]))
    park = {"type": "multipolygon", "leisure": "park", "name": "Prater"}
    writer.add_relation(mutable.Relation(id=30, members=[("w", 22, "outer")], tags=park))
    writer.close()
    return path


@pytest.mark.parametrize("name", ["city.osm.pbf", "city.pbf", "city.osm", "city.osm.gz", "city.osm.bz2"])
def test_an_extract_of_openstreetmap_is_read(name: str, tmp_path: Path) -> None:
    """
    Nodes, closed ways and multipolygons that have a name and a tag of places; the tag lies below its key.
    """
    places = read_places(extract(tmp_path / name))
    assert [(one.id, one.name, one.categories) for one in places] == [
        ("n10", "Nord", (("amenity", "amenity=clinic"),)),
        ("n14", "Nordbahnhof", (("railway", "railway=station"),)),
        ("w20", "Nord", (("shop", "shop=mall"),)),
        ("r30", "Prater", (("leisure", "leisure=park"),)),
    ]
    assert [(round(one.lat, 4), round(one.lon, 4)) for one in places] == [(48.2, 16.37)] * 2 + [(48.0005, 16.0005)] * 2
    assert public_names(places) == ["Nord (n10)", "Nordbahnhof", "Nord (w20)", "Prater"]


NODE = (
    b"<osm version='0.6'><node id='1' version='1' lat='1' lon='2'>"
    b"<tag k='shop' v='a'/><tag k='name' v='b'/></node></osm>"
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no protocol buffers" * 99,
        b"<osm version='0.6'><node id='1' lat='1' lon='2'>",
    ],
)
def test_a_damaged_extract_is_named(content: bytes, tmp_path: Path) -> None:
    """
    Cut, empty, or another form.
    """
    for name in ("city.osm.pbf", "city.osm"):
        assert ": is damaged, or no extract of OpenStreetMap (" in complaint(tmp_path / name, content)


@pytest.mark.parametrize("lat", [b"", b"lat='91'"])
def test_a_node_that_is_nowhere_is_named(lat: bytes, tmp_path: Path) -> None:
    """
    Without a position, or beyond the pole.
    """
    says = ", node 1: lat must be a number from -90 to 90, degrees"
    assert complaint(tmp_path / "city.osm", NODE.replace(b"lat='1'", lat)) == says
    says = ": has a position that is no number of degrees"
    assert complaint(tmp_path / "city.osm", NODE.replace(b"lat='1'", b"lat='x'")) == says


# ---------------------------------------------------------------- Parquet


def wkb(lon: float, lat: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, lon, lat)


BOX = {"xmin": 16.0, "xmax": 16.2, "ymin": 48.0, "ymax": 48.1}
OVERTURE: list[dict[str, Any]] = [
    {"id": "a", "geometry": wkb(16.37, 48.2), "names": {"primary": "Nord"}, "categories": {"primary": "clinic"}},
    {"id": "b", "geometry": None, "names": {"primary": "Box"}, "categories": None, "bbox": BOX},
    {"id": "c", "geometry": wkb(1, 2), "names": {"primary": None}, "categories": {"primary": "clinic"}},
    {"id": "d", "geometry": wkb(1, 2), "names": {"primary": "Gone"}, "confidence": 0.2},
    {
        "id": "e", "geometry": wkb(1, 2), "names": {"primary": "New"}, "confidence": 0.9,
        "categories": {"primary": "doctor"}, "taxonomy": {"primary": "clinic", "hierarchy": ["health_care", "clinic"]},
    },
]  # fmt: skip


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_places_of_overture_are_read(tmp_path: Path) -> None:
    """
    Where a row has no geometry its box counts; those without a name, or that probably do not exist, are left out.
    """
    columns = {name: None for row in OVERTURE for name in row}
    places = read_places(parquet(tmp_path / "places", [columns | row for row in OVERTURE]))
    assert [(one.id, *told([one])[0]) for one in places] == [
        ("a", "Nord", 48.2, 16.37, (("clinic",),)),
        ("b", "Box", 48.05, 16.1, ()),
        ("e", "New", 2.0, 1.0, (("health_care", "clinic"), ("doctor",))),
    ]


def test_places_of_foursquare_and_plain_columns_are_read(tmp_path: Path) -> None:
    """
    Latitude and longitude are columns there, and a category is the first of a list of paths.
    """
    labels = ["Dining and Drinking > Bar", "Retail > Bookstore"]
    row = {"fsq_place_id": "4b", "name": "A", "latitude": 48.2, "longitude": 16.37, "fsq_category_labels": labels}
    (place,) = read_places(parquet(tmp_path / "places.parquet", [row]))
    assert (place.id, *told([place])[0]) == ("4b", "A", 48.2, 16.37, (("Dining and Drinking", "Bar"),))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"name": "A", "lat": 1.0}], ": must have a column name or names, and geometry, bbox, or lat and lon; it has"),
        ([{"lat": 1.0, "lon": 2.0}], ": must have a column name or names"),
        ([{"name": "A", "lat": 1.0, "lon": 200.0}], ", row 1: lon must be a number from -180 to 180, degrees"),
        ([{"name": "A", "lat": 1.0, "lon": None}, {"name": "B", "lat": 1.0, "lon": 2.0}], ", row 1: lon must be a"),
        ([{"name": "A", "geometry": b"\1\2"}], ", row 1: lat must be a number"),
        ([{"name": "A", "lat": "north", "lon": "2"}], ", row 1: lat must be a number"),
        ([{"name": "A", "geometry": "POINT (1 2)"}], ", row 1: lat must be a number"),
        ([{"id": 1, "name": "A", "lat": 1.0, "lon": 2.0}] * 2, ", row 2: has the id of row 1: list each place once"),
        ([{"name": None, "lat": 1.0, "lon": 2.0}], ": needs at least one place with a name"),
    ],
)
def test_bad_parquet_is_named(rows: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    """
    The sentence names the row, and repeats no value.
    """
    path = parquet(tmp_path / "places.parquet", rows)
    assert complaint(path, path.read_bytes()).startswith(says)


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    """
    A download that broke off.
    """
    path = parquet(tmp_path / "places.parquet", OVERTURE[:1])
    assert complaint(path, path.read_bytes()[:-20]) == ": is damaged, or no Parquet that pyarrow reads"


# ---------------------------------------------------------------- public names


NAMES = st.sampled_from(["A", "A (1)", "A (1) (1)", "000001-000002", "A (0.5 0.5)"])
PLACES = st.lists(st.tuples(NAMES, st.sampled_from(["", "1", "2"]), st.sampled_from([0.5, 1.5])), max_size=8)


@given(PLACES, st.randoms())
def test_public_names_are_unique_and_do_not_depend_on_the_order(
    drawn: list[tuple[str, str, float]], random: Any
) -> None:
    """
    Also where a name looks like one that was told apart, or like a cell's; a name that nothing shares stays.
    """
    keys: dict[object, FoundPlace] = {}
    used: set[str] = set()
    for name, own_id, lat in drawn:
        own = own_id or f"{lat} 0.5"
        if (name, own) not in keys and own_id not in used - {""}:
            keys[name, own] = FoundPlace("line 2", own_id, name, lat, 0.5, ())
            used.add(own_id)
    places = list(keys.values())
    names = public_names(places)
    assert len(set(names)) == len(places)
    assert not any(name.startswith("000001") and "(" not in name for name in names)
    shuffled = list(zip(places, names, strict=True))
    random.shuffle(shuffled)
    assert public_names([place for place, _ in shuffled]) == [name for _, name in shuffled]
