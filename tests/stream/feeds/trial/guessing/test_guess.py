"""Guesses: where position, time and person are, by names and values, and what is never guessed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records.record import Kind
from stream.feeds.trial.beginning import beginning_of_json
from stream.feeds.trial.guessing.guess import Guess, guess_documents
from stream.feeds.trial.guessing.looks import FRAMED_AVRO, FRAMED_PROTOBUF, looks_like
from stream.feeds.trial.guessing.shape import escaped, shape_of
from stream.feeds.trial.guessing.tables import guess_table
from stream.feeds.trial.guessing.values import FORMATS, degrees_unit, degrees_units, time_form
from stream.feeds.trial.sample import Sample
from stream.formats.input.paths import NOWHERE, Origin, path_from
from stream.formats.input.times.texts import TextTimes
from tests.budgets import examples

T = 1_760_000_000
ISO = "2025-10-09T08:53:20Z"


def guessed(*documents: Any, kind: Kind = Kind.CHECKINS, **origin: Any) -> Guess:
    found = guess_documents(Sample(list(documents), [Origin(**origin) for _ in documents]), kind)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("document", "settings"),
    [
        ({"uid": "a", "time": T, "lat": 1.5, "lng": 2.5}, {"ts": "time", "user": "uid", "lat": "lat", "lon": "lng"}),
        (
            {"vehicle": {"id": "a"}, "gps": {"LAT": 1.5, "LON": 2.5}, "at": ISO},
            {"user": "vehicle.id", "lat": "gps.LAT", "lon": "gps.LON", "ts": "at"},
        ),
        (
            {"user_id": 7, "pos": {"type": "Point", "coordinates": [16.4, 48.2]}, "t": T},
            {"user": "user_id", "lat": "pos.coordinates[1]", "lon": "pos.coordinates[0]", "ts": "t"},
        ),
        ({"user": "a", "latLng": "48.2°, 16.4°", "time": ISO}, {"lat": "latLng[0]", "lon": "latLng[1]"}),
        ({"user": "a", "geom": "POINT(16.4 48.2)", "time": ISO}, {"lat": "geom[1]", "lon": "geom[0]"}),
        (
            {"user": "a", "g": "0101000020E610000000000000000030400000000000004840", "time": ISO},
            {"lat": "g[1]", "lon": "g[0]"},
        ),
        (
            {"Timestamp": ISO, "Message": json.dumps({"userId": "a", "lat": 1.5, "lon": 2.5, "timestamp": T})},
            {"user": "Message.userId", "lat": "Message.lat", "lon": "Message.lon", "ts": "Message.timestamp"},
        ),
        (
            {"time": ISO, "gps": {"fix": {"lat": 1.5, "lon": 2.5}, "time": T}, "user": "a"},
            {"lat": "gps.fix.lat", "ts": "gps.time"},
        ),
        (
            {
                "userId": {"$oid": "68e7"},
                "lat": {"$numberDouble": "1.5"},
                "lon": {"$numberInt": "2"},
                "at": {"$date": ISO},
            },
            {"user": "userId", "lat": "lat", "lon": "lon", "ts": "at"},
        ),
        ({"user": "a", "lonlat": [16.4, 48.2], "ts": T}, {"lat": "lonlat[1]", "lon": "lonlat[0]"}),
        ({"user": "a", "x": 16.4, "y": 48.2, "ts": T}, {"lat": "y", "lon": "x"}),
        (
            {
                "driver": {"name": "a"},
                "end_longitude": 2.5,
                "start_latitude": 1.5,
                "start_longitude": 2.5,
                "pickup_time": ISO,
            },
            {"user": "driver.name", "lat": "start_latitude", "lon": "start_longitude", "ts": "pickup_time"},
        ),
        ({"data": {"rows": [{"user": "a", "lat": 1.5, "lon": 2.5, "ts": T}]}}, {"user": "user"}),
        ({"user": "a", "deep": {"list": [{"lat": 1.5, "lon": 2.5, "ts": T}]}}, {"user": "/user"}),
        ({"u.v": {"user": "a"}, "lat": 1.5, "lon": 2.5, "ts": T}, {"user": r"u\.v.user"}),
    ],
)
def test_fields_by_their_names(document: dict[str, Any], settings: dict[str, str]) -> None:
    """
    Fields are found under usual names, at any depth and in any of the forms of a position.
    """
    found = guessed(document).settings
    assert {name: found[f"fields.{name}"] for name in settings} == settings


def test_lists_of_records_and_of_points() -> None:
    """
    A list of objects is a list of records; as fragments of the person around it, it is a list of points.
    """
    document = {"user": "a", "track": [{"lat": 1.5, "lon": 2.5, "ts": T}]}
    assert guessed(document).settings["input.records"] == "track"
    assert guessed(document, kind=Kind.FRAGMENTS).settings["fields.points"] == "track"
    triples = {"user": "a", "positions": [[T, 48.2, 16.4], [T + 1, 48.3, 16.5]]}
    assert guessed(triples, kind=Kind.FRAGMENTS).settings["fields.points"] == "positions"


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"ts": T * 1000}, {"time.unit": "ms"}),
        ({"ts": T * 10**6}, {"time.unit": "us"}),
        ({"ts": T * 10**9}, {"time.unit": "ns"}),
        ({"ts": str(T)}, {"input.numbers_as_text": True}),
        ({"lat": "48.2"}, {"input.numbers_as_text": True}),
        ({"lat": "48,2082", "lon": "16,3738"}, {"input.numbers_as_text": True, "input.decimal": ","}),
        ({"ts": "09.10.2025 08:53:20"}, {"time.format": "%d.%m.%Y %H:%M:%S"}),
        ({"ts": "Thu Oct 09 08:53:20 +0000 2025"}, {"time.format": "%a %b %d %H:%M:%S %z %Y"}),
        ({"lat": None, "lon": None, "latE6": 48_208_200, "lonE6": 16_373_800}, {"input.degrees_per_unit": 1e-6}),
        ({"lat": 482_082_000, "lon": 163_738_000}, {"input.degrees_per_unit": 1e-7}),
    ],
)
def test_how_values_are_written(values: dict[str, Any], settings: dict[str, Any]) -> None:
    """
    Units of times, numbers as text, forms of times and integers of degrees are seen from the values.
    """
    found = guessed({"user": "a", "ts": T, "lat": 48.2, "lon": 16.4} | values).settings
    assert found.items() >= settings.items()


@pytest.mark.parametrize("name", ["latlng", "latLng", "point", "where"])
@pytest.mark.parametrize(
    "text",
    ["48,20; 16,37", "48,2°, 16,3°", "33.80°, 70.6°, S W", "geo:48.2,16.3;crs=EPSG:31287", "SRID=31287;POINT(16 48)"],
)
def test_a_text_that_is_no_position(name: str, text: str) -> None:
    """
    Although it has two numbers of a position, nobody can say where it is.
    """
    found = guess_documents(Sample([{"user": "a", "ts": T, name: text}], [Origin()]), Kind.CHECKINS)
    assert found is None or not found.has_position


def test_what_only_the_owner_knows() -> None:
    """
    A zone, the order of day and month, and an unnamed order of coordinates are asked for and not guessed.
    """
    plain = {"user": "a", "lat": 48.2, "lon": 16.4}
    found = guessed(plain | {"ts": "2025-10-09 08:53:20"})
    assert (set(found.needs), "time.zone" in found.settings) == ({"time.zone"}, False)
    assert set(guessed(plain | {"ts": "09/10/2025 08:53:20"}).needs) == {"time.zone", "time.format"}
    assert set(guessed(plain | {"ts": "19/10/2025 08:53:20"}).needs) == {"time.zone"}
    unknown = guessed({"user": "a", "position": [48.2, 16.4], "ts": T})
    assert not unknown.has_position
    assert "nothing says which of them is the latitude" in unknown.remarks[0]


def test_the_person_around_a_message() -> None:
    """
    A header with the name of a person's id is taken before the key; the id of a record never is.
    """
    document = {"id": "r1", "ts": T, "lat": 48.2, "lon": 16.4}
    assert guessed(document, key=b"k").settings["fields.user"] == "kafka:key"
    found = guessed(document, key=b"k", headers=(("device_id", b"d"),))
    assert found.settings["fields.user"] == "kafka:header:device_id"
    assert "fields.user" not in guessed(document).settings


def test_keys_that_are_no_text() -> None:
    """
    Numbers in bytes are read as numbers; a message in the key is nobody's id.
    """
    document = {"id": "r1", "ts": T, "lat": 48.2, "lon": 16.4}
    assert guessed(document, key=bytes([0, 0, 0, 0, 0, 0, 1, 7])).settings["fields.user"] == "kafka:key:integer"
    assert "fields.user" not in guessed(document, key=bytes([0, 0, 0, 0, 7, 6]) + b"p01").settings


@pytest.mark.parametrize("name", ["rxInfo", "rx_metadata", "gateways"])
def test_the_position_of_a_gateway_is_nobodys(name: str) -> None:
    """
    What heard a device says where it is itself.
    """
    heard = [{"gatewayId": "g", "location": {"latitude": 48.2, "longitude": 16.4}}]
    document = {"deviceName": "a", "time": ISO, name: heard}
    found = guess_documents(Sample([document], [Origin()]), Kind.CHECKINS)
    assert found is None or not found.has_position


def test_an_id_beside_a_list() -> None:
    """
    An id beside a list of points may be the person's, which is to be checked; a key of the message comes first.
    """
    document = {"id": "a", "meta": {"id": "m"}, "trace": [{"lat": 1.5, "lon": 2.5, "time": T * 1000}]}
    found = guessed(document, kind=Kind.FRAGMENTS)
    assert found.settings == {
        "fields.points": "trace",
        "fields.user": "id",
        "fields.ts": "time",
        "fields.lat": "lat",
        "fields.lon": "lon",
        "time.unit": "ms",
    }
    assert "check that it is the id of the person" in found.remarks[0]
    found = guessed(document)
    assert (found.settings["input.records"], found.settings["fields.user"]) == ("trace", "/id")
    assert "check that it is the id of the person" in found.remarks[0]
    assert guessed(document, kind=Kind.FRAGMENTS, key=b"k").settings["fields.user"] == "kafka:key"
    lists = {"uuid": "a", "points": [[T, 48.2, 16.4], [T + 1, 48.3, 16.5]]}
    assert guessed(lists, kind=Kind.FRAGMENTS).settings["fields.user"] == "uuid"
    with_users = {"id": "a", "items": [{"uid": "b", "lat": 1.5, "lon": 2.5, "time": T}]}
    assert guessed(with_users, kind=Kind.FRAGMENTS).settings["fields.user"] == "uid"


PLAIN = {"ts": T, "lat": 48.2, "lon": 16.4}


@pytest.mark.parametrize(
    "name", ["OBJECTID", "objectid", "FID", "OGC_FID", "gid", "rowid", "row_number", "index", "nr", "record_id", "seq"]
)
@pytest.mark.parametrize("holder", [None, "attributes", "properties"])
def test_the_number_of_a_row_is_no_person(name: str, holder: str | None) -> None:
    """
    Each record would count as a person, so that one person is released as many.
    """
    documents = [PLAIN | ({name: i} if holder is None else {holder: {name: i}}) for i in range(6)]
    found = guessed(*documents)
    assert "fields.user" not in found.settings
    assert found.remarks == []


@pytest.mark.parametrize(
    "name", ["tid", "traj_id", "trajectoryid", "trip_id", "TrackID", "session_id", "journey_uuid", "ride_id"]
)
@pytest.mark.parametrize("is_table", [False, True])
def test_the_id_of_a_trip_is_to_be_checked(name: str, *, is_table: bool) -> None:
    """
    It is taken if there is nothing else, with a remark; a person's id comes first.
    """

    def found(*names: str) -> Guess:
        if is_table:
            row = ",".join(["1760000000,48.2,16.4", *(f"a{i}" for i in range(len(names)))])
            guess = guess_table([",".join(["ts", "lat", "lon", *names]).encode(), row.encode()])
            assert guess is not None
            return guess
        return guessed(PLAIN | {one: f"a{i}" for i, one in enumerate(names)})

    weak = found(name)
    assert weak.settings["fields.user"] == name
    assert "check that it is the id of the person" in weak.remarks[0]
    strong = found(name, "device")
    assert strong.settings["fields.user"] == "device"
    assert strong.remarks == []


def test_a_column_that_counts_is_no_person() -> None:
    """
    Without a header the first column that is something else is; if there is none, the owner is asked.
    """
    rows = [(f"{i}", f"{ISO[:17]}{10 + i}Z", f"48.{i}2", f"16.{i}3", f"p{i % 2}") for i in range(5)]
    for columns, user in ((slice(None), "user"), (slice(4), None)):
        found = guess_table([",".join(row[columns]).encode() for row in rows])
        assert found is not None
        assert found.settings.get("fields.user") == user
        assert found.settings["input.columns"][0] == "column1"


WEST = {"lat": 33.85, "lon": 70.65}


@pytest.mark.parametrize(
    ("signs", "paths"),
    [
        ({"N/S": "S", "E/W": "W"}, ("N/S", "E/W")),
        ({"latitudeRef": "S", "longitudeRef": "W"}, ("latitudeRef", "longitudeRef")),
        ({"h1": "North", "h2": "East"}, ("h1", "h2")),
        ({"lat_hemisphere": "s"}, ("lat_hemisphere", None)),
        ({"EW": "w"}, (None, "EW")),
    ],
)
@pytest.mark.parametrize("is_table", [False, True])
def test_signs_beside_positions(signs: dict[str, str], paths: tuple[str | None, ...], *, is_table: bool) -> None:
    """
    Fields with the hemispheres are where the signs are, if the numbers have none.
    """

    def found(values: dict[str, Any]) -> Guess:
        if is_table:
            lines = [values.keys(), *[map(str, values.values())] * 3]
            guess = guess_table([",".join(line).encode() for line in lines])
            assert guess is not None
            return guess
        return guessed(*[values] * 3)

    settings = found({"user": "a", "ts": T} | WEST | signs).settings
    assert tuple(settings.get(f"input.{name}_sign") for name in ("latitude", "longitude")) == paths
    signed = found({"user": "a", "ts": T, "lat": -33.85, "lon": -70.65} | signs).settings
    assert not any(name.endswith("_sign") for name in signed)


@pytest.mark.parametrize("name", ["direction", "heading", "bound"])
def test_a_direction_is_no_sign(name: str) -> None:
    """
    North or south alone may be where somebody goes.
    """
    found = guessed(*[{"user": "a", "ts": T, name: "S"} | WEST] * 3)
    assert not any(key.endswith("_sign") for key in found.settings)


@pytest.mark.parametrize(
    ("names", "needs"),
    [
        (("latitude", "longitude_W"), {"input.longitude_sign"}),
        (("lat", "longitudeWest"), {"input.longitude_sign"}),
        (("latitudeS", "longitude"), {"input.latitude_sign"}),
        (("latS", "lonW"), {"input.latitude_sign", "input.longitude_sign"}),
        (("latitude", "longitude"), set()),
        (("y", "x"), set()),
    ],
)
def test_names_that_may_turn_the_sign(names: tuple[str, str], needs: set[str]) -> None:
    """
    Whether positive numbers are west or south is asked, and never guessed; negative ones answer it.
    """
    lat, lon = names
    assert set(guessed({"user": "a", "ts": T, lat: 33.85, lon: 70.65}).needs) == needs
    assert set(guessed({"user": "a", "ts": T, lat: -33.85, lon: -70.65}).needs) == set()


@pytest.mark.parametrize(
    ("lat", "lon", "units"),
    [
        (482_082_000, 163_738_000, [1e-7]),
        (48_208_200, 16_373_800, [1e-7, 1e-6]),
        (4_820_820, 1_637_380, [1e-7, 1e-6, 1e-5]),
        (56_000_000, -2_000_000, [1e-7, 1e-6]),
        (-33_850_000, 151_200_000, [1e-7, 1e-6]),
    ],
)
def test_a_power_of_ten_is_asked_for(lat: int, lon: int, units: list[float]) -> None:
    """
    A unit is taken if it is the only one that makes positions, or if the name of the field says it.
    """
    assert degrees_units([lat], [lon]) == units
    found = guessed({"user": "a", "ts": T, "lat": lat, "lon": lon})
    assert ("input.degrees_per_unit" in found.needs) is (len(units) > 1)
    assert found.settings.get("input.degrees_per_unit") == (units[0] if len(units) == 1 else None)
    named = guessed({"user": "a", "ts": T, "latE6": lat, "lonE6": lon})
    assert (named.settings["input.degrees_per_unit"], named.needs) == (1e-6, {})


@pytest.mark.parametrize(
    ("names", "n"), [(("y", "x"), 1), (("Y", "X"), 1), (("ycoord", "xcoord"), 1), (("lat", "lon"), 0)]
)
def test_x_and_y_may_be_metres(names: tuple[str, str], n: int) -> None:
    """
    A remark says that they must be degrees.
    """
    found = guessed({"user": "a", "ts": T, names[0]: 12.3, names[1]: 45.6})
    assert len(found.remarks) == n
    assert all("and not metres" in remark for remark in found.remarks)


def test_points_whose_time_is_not_first() -> None:
    """
    Nothing says which of two other numbers is the latitude, so both orders are told.
    """
    found = guessed({"user": "a", "trace": [[16.4, 48.2, T], [16.5, 48.3, T + 1]]}, kind=Kind.FRAGMENTS)
    assert not found.has_position
    assert "set fields.points to trace, fields.ts to [2]" in found.remarks[0]


@pytest.mark.parametrize(
    ("values", "path", "settings"),
    [
        ({"Date": "2025-10-09", "Time": "08:53:20"}, "Date + Time", {}),
        ({"Datum": "09.10.2025", "Uhrzeit": "08:53:20"}, "Datum + Uhrzeit", {"time.format": "%d.%m.%Y %H:%M:%S"}),
        ({"day": "20251009", "time": "085320"}, "day + time", {"time.format": "%Y%m%d %H%M%S"}),
        ({"a.b": "2025-10-09", "b": "08:53:20Z"}, r"a\.b + b", {}),
    ],
)
def test_a_time_in_two_fields(values: dict[str, str], path: str, settings: dict[str, str]) -> None:
    """
    A date and the time of day beside it are joined.
    """
    found = guessed({"user": "a", "lat": 1.5, "lon": 2.5} | values)
    assert found.settings["fields.ts"] == path
    assert {name: value for name, value in found.settings.items() if name.startswith("time.")} == settings
    assert ("time.zone" in found.needs) is not ("Z" in values.get("b", ""))


@pytest.mark.parametrize(
    "values", [{"date": 20251009, "time": 85320}, {"size": "20251009", "code": "085320"}, {"x": "2025-10-09"}]
)
def test_what_is_no_time_in_two_fields(values: dict[str, Any]) -> None:
    """
    Numbers may have lost zeros, digits without a name may be anything, and a date is no time.
    """
    assert "fields.ts" not in guessed({"user": "a", "lat": 1.5, "lon": 2.5} | values).settings


COLUMNS = [b"%s;48,2082;16,3738;09.10.2025 10:53:20", b"%s;48,21;16,36;09.10.2025 10:54:20"]


@pytest.mark.parametrize(
    ("text", "form", "needs"),
    [
        ("10/9/2025 8:53 AM", "%d/%m/%Y %I:%M %p", {"time.zone", "time.format"}),
        ("10/19/2025 8:53 PM", "%m/%d/%Y %I:%M %p", {"time.zone"}),
        ("19/10/2025 8:53:20 AM", "%d/%m/%Y %I:%M:%S %p", {"time.zone"}),
        ("Thu, 09 Oct 2025 08:53:20 GMT", "%a, %d %b %Y %H:%M:%S GMT", set()),
        ("Thu, 09 Oct 2025 08:53:20 +0000", "%a, %d %b %Y %H:%M:%S %z", set()),
        ("Thu Oct 09 08:53:20 UTC 2025", "%a %b %d %H:%M:%S UTC %Y", set()),
        ("2025-10-09 08:53:20,123", "%Y-%m-%d %H:%M:%S,%f", {"time.zone"}),
        ("19.10.2025 08:53:20,123", "%d.%m.%Y %H:%M:%S,%f", {"time.zone"}),
    ],
)
def test_forms_of_programs(text: str, form: str, needs: set[str]) -> None:
    """
    What the forms of spreadsheets, mails, Java and Go leave open is asked for, and what is proposed reads them.
    """
    found = guessed({"user": "a", "ts": text, "lat": 48.2, "lon": 16.4})
    assert (found.settings["time.format"], set(found.needs)) == (form, needs)
    zone = found.settings.get("time.zone")
    times = TextTimes(format=form, zone=ZoneInfo(zone or "UTC") if zone or needs else None)
    assert times.read(text, "ts").tzinfo is not None


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-09 08:53:20 +0000",
        "2025-10-09 08:53:20 +0000 UTC",
        "2025-10-09 08:53:20.123 +0000 UTC",
        "2025-10-09T08:53:20,123Z",
        "/Date(1760000000123)/",
    ],
)
def test_forms_that_need_no_format(text: str) -> None:
    """
    Times are read in them as they are.
    """
    assert time_form([text]) == ({}, False, ())


@pytest.mark.parametrize("text", ["Thu Oct 09 08:53:20 CEST 2025", "Thu, 09 Oct 2025 08:53:20 EST"])
def test_names_of_other_zones_are_no_offset(text: str) -> None:
    """
    They mean several offsets, or change with the season.
    """
    assert "fields.ts" not in guessed({"user": "a", "ts": text, "lat": 48.2, "lon": 16.4}).settings


def test_columns_of_unknown_names() -> None:
    """
    Values tell the delimiter, the decimal sign and the time; columns have numbers, as the first line may be a record.
    """
    found = guess_table(["Benutzer;Breite;Länge;Zeit".encode(), *(line % b"p" for line in COLUMNS)])
    assert found is not None
    assert found.settings == {
        "input.delimiter": "semicolon",
        "input.decimal": ",",
        "time.format": "%d.%m.%Y %H:%M:%S",
    }
    assert set(found.needs) == {"fields.lat", "fields.ts", "fields.user", "time.zone"}
    assert found.needs["fields.lat"].startswith("columns 2 and 3 may be latitude and longitude")
    assert found.to_try == {"fields.lat": "Breite", "fields.lon": "Länge", "fields.ts": "Zeit"}
    assert not any(name in sentence for name in ("Breite", "Länge", "Zeit") for sentence in found.needs.values())


def test_unknown_names_beside_known_ones() -> None:
    """
    A header beyond doubt is shown, and beyond 90 degrees there is only a longitude.
    """
    found = guess_table(["id;Breite;Länge;Zeit".encode(), *(line % b"p" for line in COLUMNS)])
    assert found is not None
    assert found.settings["fields.ts"] == "Zeit"
    assert found.needs["fields.lat"].startswith("columns 2 (Breite) and 3 (Länge) may be")
    found = guess_table(
        ["id;Länge;Breite;Zeit".encode(), *((line % b"p").replace(b";48", b";148") for line in COLUMNS)]
    )
    assert found is not None
    assert (found.settings["fields.lat"], found.settings["fields.lon"]) == ("Breite", "Länge")


def test_two_columns_of_a_time_without_a_header() -> None:
    """
    They get names, and their joined texts are the time.
    """
    found = guess_table([b"48.20,16.30,0,492,39744.12,2025-10-09,08:53:20"] * 2)
    assert found is not None
    assert found.settings["input.columns"] == ["lat", "lon", "user", "column4", "column5", "date", "time"]
    assert found.settings["fields.ts"] == "date + time"
    assert "all its values are the same" in found.remarks[0]


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        (["uid|when|y|x", f"a|{ISO}|48.2|16.4"], {"fields.user": "uid", "fields.ts": "when", "fields.lat": "y"}),
        (["user;ts;lat;lon", f"a;{ISO};48,2082;16,3738"], {"input.decimal": ","}),
        (["user,ts,lat,lon", f'a,{ISO},"48,2082","16,3738"'], {"input.decimal": ","}),
        ([f"a;{ISO};48,2082;16,3738", f"b;{ISO};48,21;16,36"], {"input.decimal": ",", "input.delimiter": "semicolon"}),
        (
            [f"a\t{ISO}\t148.2\t16.4", f"b\t{ISO}\t148.3\t16.5"],
            {"input.columns": ["user", "ts", "lon", "lat"], "input.delimiter": "tab"},
        ),
    ],
)
def test_tables(lines: list[str], settings: dict[str, Any]) -> None:
    """
    Delimiter, decimal sign and columns of a table are found; without a header as far as values tell.
    """
    found = guess_table([line.encode() for line in lines])
    assert found is not None
    assert found.settings.items() >= settings.items()


@pytest.mark.parametrize(
    "before", [["sep=;"], ["# comment"], ["# a", "", "#", "# 2025-10-09; Vienna"], ["sep=;", "# comment"]]
)
@pytest.mark.parametrize("header", ["uid;when;lat;lon", "# uid;when;lat;lon"])
def test_lines_before_a_header(before: list[str], header: str) -> None:
    """
    They are no part of the table.
    """
    found = guess_table([line.encode() for line in [*before, header, *[f"a;{ISO};48.2;16.4"] * 2]])
    assert found is not None
    assert found.settings == {
        "fields.user": header.partition(";")[0],
        "fields.ts": "when",
        "fields.lat": "lat",
        "fields.lon": "lon",
    }


@pytest.mark.parametrize(
    ("column", "text", "lat", "lon"),
    [
        ("latlng", "48.2,16.4", "latlng[0]", "latlng[1]"),
        ("lon_lat", "16.4, 48.2", "lon_lat[1]", "lon_lat[0]"),
        ("geometry", "POINT (16.4 48.2)", "geometry[1]", "geometry[0]"),
        ("where", "geo:48.2,16.4", "where[0]", "where[1]"),
        ("geom", '{"type":"Point","coordinates":[16.4,48.2]}', "geom.coordinates[1]", "geom.coordinates[0]"),
        ("at", '{"lat":48.2,"lng":16.4}', "at.lat", "at.lng"),
        ("location", "48.2,16.4", None, None),
        ("location", "[48.2,16.4]", None, None),
    ],
)
def test_a_position_in_one_column(column: str, text: str, lat: str | None, lon: str | None) -> None:
    """
    It is found as in JSON; where nothing says its order, a remark says what can be set.
    """
    quoted = text.replace('"', '""')
    found = guess_table([f"user;ts;{column}".encode(), *[f'a;{ISO};"{quoted}"'.encode()] * 2])
    assert found is not None
    assert (found.settings.get("fields.lat"), found.settings.get("fields.lon")) == (lat, lon)
    assert any("nothing says which of them is the latitude" in remark for remark in found.remarks) is (lat is None)


@pytest.mark.parametrize("kind", [Kind.CHECKINS, Kind.FRAGMENTS])
def test_points_in_one_column(kind: Kind) -> None:
    """
    They are a fragment if they have times; a remark says that positions alone are none.
    """
    found = guess_table([b"uid;trace", *[f"a;[[{T},48.2,16.4],[{T},48.3,16.5]]".encode()] * 2], kind)
    if kind is Kind.FRAGMENTS:
        assert found is not None
        assert found.settings["fields.points"] == "trace"
    polyline = guess_table([b"TAXI_ID;TIMESTAMP;POLYLINE", *[f"7;{T};[[-8.6,41.1],[-8.7,41.2]]".encode()] * 2], kind)
    assert polyline is not None
    assert not polyline.has_position
    assert "without times" in polyline.remarks[0]


def test_text_of_another_encoding() -> None:
    """
    Text that is not UTF-8 may be Latin-1, which nothing can prove.
    """
    found = guess_table([b"user,ts,lat,lon,name", f"a,{ISO},48.2,16.4,Caf\xe9".encode("latin-1")])
    assert found is not None
    assert found.settings["input.text_encoding"] == "latin-1"
    assert found.remarks


@given(st.integers(300_000_000, 4_100_000_000), st.sampled_from(FORMATS))
@settings(max_examples=examples(200), deadline=None)
def test_a_form_that_is_found_reads_the_time(seconds: int, form: str) -> None:
    """
    Whatever the time, a form among those found reads it as it was written.
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.strftime(form)
    found = time_form([text])
    assert found is not None
    chosen, lacks_offset, others = found
    if "unit" in chosen:  # digits alone may be a number, too
        assert text.isdigit()
        return
    assert lacks_offset is not any(word in form for word in ("%z", "GMT", "UTC"))
    assert form in (chosen["format"], *others)


@given(
    st.integers(300_000_000, 4_100_000_000), st.sampled_from([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
)
def test_units_do_not_overlap(seconds: int, unit: tuple[str, int]) -> None:
    """
    The magnitude of a number says its unit, from 1979 to 2100.
    """
    assert time_form([seconds * unit[1]]) == ({"unit": unit[0]}, False, ())


@given(st.integers(300_000_000, 4_100_000_000), st.sampled_from([("s", 1), ("ms", 10**3)]))
def test_a_unix_time_as_text_is_no_date(seconds: int, unit: tuple[str, int]) -> None:
    """
    1712123456 also fits %Y%m%d%H%M%S, in a year of which no feed speaks.
    """
    found = time_form([str(seconds * unit[1])])
    assert found is not None
    assert found[0] == {"unit": unit[0]} or 1979 <= int(str(seconds)[:4]) <= 2103


def test_degrees() -> None:
    """
    Degrees are themselves; integers beyond them have one unit; other numbers are no positions.
    """
    assert degrees_unit([48.2], [16.4]) == 1.0
    assert degrees_unit([482_082_000.0], [163_738_000.0]) == 1e-7
    assert degrees_unit([4_207_591.63], [486_253.85]) is None
    assert degrees_unit([], []) is None


def test_keys_that_are_ids_are_no_names() -> None:
    """
    A key with digits like those of an id never becomes part of a path.
    """
    shape = shape_of([{"u12345": {"lat": 1.5}, "4f2a": {"lat": 1.5}, "pos": {"lat_1": 2.5}}])
    assert [leaf.path for leaf in shape.leaves] == ["pos.lat_1"]


@given(st.text("ab.|&+\\[]/=:", min_size=1, max_size=8))
def test_names_are_escaped(name: str) -> None:
    """
    The path of a field leads to the field, whatever signs its name has.
    """
    assert path_from(escaped(name))({name: 7}, NOWHERE) == 7


JSON = st.recursive(
    st.integers() | st.text(max_size=5) | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
)


@given(st.dictionaries(st.text(max_size=3), JSON, min_size=1), st.integers(0, 200))
def test_the_beginning_of_a_document(document: dict[str, Any], at: int) -> None:
    """
    What is cut off is a document again, and holds nothing that the whole does not.
    """
    text = json.dumps(document).encode()
    found = beginning_of_json(text[:at])
    if found is not None:
        begun = json.loads(found)
        assert begun.keys() <= document.keys()
        assert len(found) <= at + 20
    assert beginning_of_json(text) == text


@pytest.mark.parametrize(
    ("value", "looks"),
    [
        (b'{"a": 1}', None),
        (b" ", "nothing: it is empty"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"Obj\x01", "an Avro container file"),
        (b"\0\0\0\0\7\x06p01\x80\xa0", FRAMED_AVRO),
        (b"\0\0\0\0\7\0\x0a\x03p01\x11" + bytes(8), FRAMED_PROTOBUF),
        (b'\0\0\0\0\7{"a": 1}', "messages of a schema registry: a byte 0, the id of a schema, then JSON"),
        (b"\x0a\x03p01\x11" + bytes(8), "Protobuf"),
        ('{"a": 1}'.encode("utf-16"), "text in UTF-16"),
        (b"<gpx/>", "XML"),
        (b"a,b,c", "text that is not JSON"),
        (bytes(range(128, 200)), "an unknown encoding"),
    ],
)
def test_what_bytes_look_like(value: bytes, looks: str | None) -> None:
    """
    Messages that are not JSON are recognized by their first bytes and their structure.
    """
    found = looks_like(value)
    assert (found is None) if looks is None else (found or "").startswith(looks)


def test_local_times_are_no_times_with_an_offset() -> None:
    """
    The same instant with an offset needs no zone; datetimes never do.
    """
    local = datetime(2025, 10, 9, 8, 53, 20, tzinfo=ZoneInfo("Europe/Vienna"))
    assert time_form([local]) == ({}, False, ())
    assert time_form([local.isoformat()]) == ({}, False, ())
    assert time_form([local.replace(tzinfo=None).isoformat()]) == ({}, True, ())
