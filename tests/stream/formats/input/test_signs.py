"""Signs of positions in fields of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.records.record import CheckIn, Fragment, Kind, Reason
from stream.formats.files.record_file import FileFormatError, RecordFile
from stream.formats.input.mapping import Entry, MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.builders.inputs import NAMES

SIGNS = {"lat": "N/S", "lon": "E/W"}


def read(record: dict[str, Any], kind: Kind = Kind.CHECKINS, signs: dict[str, str] = SIGNS, **given: Any) -> Entry:
    """Read one message."""
    options = MappingOptions(names=NAMES | given.pop("names", {}), signs=signs, **given)
    ((_, entry),) = MessageReader(kind, options).read(json.dumps({"user": "a", "ts": 5} | record).encode())
    return entry


def table(path: Path, content: str, kind: Kind = Kind.CHECKINS, signs: dict[str, str] = SIGNS) -> list[Entry]:
    """Read a CSV."""
    path.write_text(content)
    file = RecordFile(path, kind, MappingOptions(names=NAMES, signs=signs), max_bytes=1000, needed=("lat", "lon"))
    try:
        return [entry for _, entry in file]
    finally:
        file.close()


@pytest.mark.parametrize(
    ("ns", "ew", "lat", "lon"),
    [
        ("N", "E", 33.5, 70.5),
        ("S", "W", -33.5, -70.5),
        (" s ", "w", -33.5, -70.5),
        ("south", "East", -33.5, 70.5),
        ("-", "+", -33.5, 70.5),
        ("N", "West", 33.5, -70.5),
    ],
)
def test_the_sign_of_a_number(tmp_path: Path, ns: str, ew: str, lat: float, lon: float) -> None:
    """
    It is the same in messages and in tables, as numbers and as texts, as check-ins and as points.
    """
    record = {"lat": 33.5, "lon": 70.5, "N/S": ns, "E/W": ew}
    expected = CheckIn(user="a", ts=5, lat=lat, lon=lon)
    assert read(record) == expected
    assert read(record | {"lat": "33.5", "lon": "+70.5"}, numbers_as_text=True) == expected
    found = read(record, Kind.FRAGMENTS)
    assert isinstance(found, Fragment)
    assert [(point.lat, point.lon) for point in found.points] == [(lat, lon)]
    content = f"user,ts,lat,N/S,lon,E/W\na,5,33.5,{ns},70.5,{ew}\n"
    assert table(tmp_path / "feed.csv", content) == [expected]


def test_units_and_a_constant_sign() -> None:
    """
    Whole numbers have a sign like others, and a sign may be that of all records.
    """
    record = {"lat": 335_000_000, "lon": 705_000_000, "ns": "S"}
    found = read(record, signs={"lat": "ns", "lon": "=W"}, degrees_per_unit=1e-7)
    assert isinstance(found, CheckIn)
    assert (found.lat, found.lon) == pytest.approx((-33.5, -70.5))


def test_points_in_a_list() -> None:
    """
    Each point has its own sign, in a list of objects as in lists side by side.
    """
    points = [{"ts": i, "lat": 33.5, "lon": 70.5, "ns": ns} for i, ns in enumerate("NS")]
    found = read({"points": points}, Kind.FRAGMENTS, {"lat": "ns"})
    assert isinstance(found, Fragment)
    assert [point.lat for point in found.points] == [33.5, -33.5]
    names = {name: f"p[].{name}" for name in ("ts", "lat", "lon")}
    side_by_side = read({"p": points}, Kind.FRAGMENTS, {"lat": "p[].ns"}, names=names)
    assert side_by_side == found


@pytest.mark.parametrize(
    ("values", "reason", "detail"),
    [
        ({"N/S": None}, Reason.MISSING_FIELD, "N/S is needed"),
        ({"N/S": "E"}, Reason.WRONG_TYPE, "N/S must be one of N, +, S, -"),
        ({"E/W": "S"}, Reason.WRONG_TYPE, "E/W must be one of E, +, W, -"),
        ({"E/W": 1}, Reason.WRONG_TYPE, "E/W must be one of E, +, W, -"),
        ({"lat": -33.5}, Reason.WRONG_TYPE, "lat has a sign of its own beside N/S"),
    ],
)
def test_a_sign_that_cannot_be_meant(values: dict[str, Any], reason: Reason, detail: str) -> None:
    """
    The record is rejected: its position would be on the other half of the Earth.
    """
    record = {"lat": 33.5, "lon": 70.5, "N/S": "S", "E/W": "W"}
    assert read(record | values) == Unreadable(reason, detail)


def test_a_table_needs_the_column_of_the_sign(tmp_path: Path) -> None:
    """
    Unless it is a constant.
    """
    content = "user,ts,lat,lon\na,5,33.5,70.5\n"
    with pytest.raises(FileFormatError, match="no column N/S, E/W"):
        table(tmp_path / "feed.csv", content)
    assert table(tmp_path / "feed.csv", content, signs={"lat": "=S"}) == [CheckIn(user="a", ts=5, lat=-33.5, lon=70.5)]


@pytest.mark.parametrize("name", ["latitude_sign", "longitude_sign"])
@pytest.mark.parametrize("value", ["", "a[", "kafka:no"])
def test_what_is_no_path_stops_the_start(name: str, value: str) -> None:
    """
    With a sentence that names the setting.
    """
    with pytest.raises(SettingsError, match=f"input.{name}"):
        load_settings(given={f"input.{name}": value})
