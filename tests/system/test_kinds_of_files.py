"""Files of six people in every form that Shoal reads: the same release, whatever program wrote them."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner

from core.records.record import INPUT_KINDS, Kind
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.files.record_file import FileFormatError, RecordFile
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from tests.budgets import examples

SETTINGS = {
    "window.size": "1h",
    "location.cell_m": "1000",
    "privacy.k": "5",
    "privacy.secret": "a secret of the tests, long enough",
}
START_S = 1_760_000_000
PLACES = [(48.2082, 16.3738), (48.21, 16.36)]
PEOPLE = [f"p{i}" for i in range(6)]


class Visit(NamedTuple):
    """Somebody at a place."""

    user: str
    ts: int
    lat: float
    lon: float

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.ts, UTC)

    @property
    def local(self) -> datetime:
        """The time on a clock in Vienna."""
        return self.moment.astimezone(ZoneInfo("Europe/Vienna")).replace(tzinfo=None)


VISITS = [Visit(user, START_S + 60 * n + i, *place) for n, place in enumerate(PLACES) for i, user in enumerate(PEOPLE)]


def replayed(tmp_path: Path, paths: Sequence[Path], given: dict[str, str], kind: str = "checkins") -> Any:
    """Run ``shoal replay`` on files; return its exit code, what it said, its counts and the windows."""
    options = [part for name, value in (SETTINGS | given).items() for part in ("--set", f"{name}={value}")]
    output = tmp_path / "out"
    command = ["replay", *map(str, paths), "--kind", kind, "--output", str(output), "--json", *options]
    result = CliRunner().invoke(main, command)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    windows = output / "windows.ndjson"
    lines = windows.read_text().splitlines() if windows.exists() else []
    summary = json.loads(result.stdout) if result.stdout else {}
    return result.exit_code, result.stderr, summary, [json.loads(line) for line in lines]


def check(tmp_path: Path, content: str | bytes, given: dict[str, str], *, name: str = "feed", **counts: int) -> Any:
    """Replay one file and check that the six people and their twelve visits are released."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    exit_code, errors, summary, windows = replayed(tmp_path, [path], given)
    assert exit_code == 0, errors
    assert [(one["outcome"], one["people"], one["points_released"]) for one in windows] == [("released", 6, 12)]
    expected = {"rejected": 0, "filtered": 0} | counts
    assert {key: summary[key] for key in expected} == expected
    return summary


def csv(separator: str, header: Sequence[str], values: Callable[[Visit], Sequence[Any]]) -> str:
    """Write a table."""
    rows = [header, *map(values, VISITS)] if header else list(map(values, VISITS))
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


# ------------------------------------------------------------------ tables of text


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("has_header", [True, False])
def test_any_separator_is_read(separator: str, has_header: bool, tmp_path: Path) -> None:
    """
    It is found by the header, or by the number of columns that the settings name.
    """
    names = ["user", "ts", "lat", "lon"]
    content = csv(separator, names if has_header else [], lambda one: one)
    check(tmp_path, content, {} if has_header else {"input.columns": ",".join(names)}, name="feed.txt")


def test_another_sign_separates_if_the_settings_say_so(tmp_path: Path) -> None:
    """
    Any character can be one.
    """
    check(tmp_path, csv("^", ["user", "ts", "lat", "lon"], lambda one: one), {"input.delimiter": "^"})


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "iso8859-15", "utf-16"])
def test_any_encoding_of_text_is_read(encoding: str, tmp_path: Path) -> None:
    """
    Venues have names with letters beyond ASCII.
    """
    content = csv(",", ["user", "ts", "lat", "lon", "category"], lambda one: [*one, "Caf\u00e9 \u00e0 c\u00f4t\u00e9"])
    check(tmp_path, content.encode(encoding), {"input.text_encoding": encoding}, name="feed.csv")


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read(separator: str, tmp_path: Path) -> None:
    """
    The setting says what a comma means.
    """
    content = csv(separator, ["user", "ts", "lat", "lon"], lambda one: [str(v).replace(".", ",") for v in one])
    check(tmp_path, content, {"input.decimal": ","}, name="feed.csv")


# ------------------------------------------------------------------ times


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_any_unit_of_time_is_read(unit: str, factor: int, tmp_path: Path) -> None:
    """
    In every unit the same instants.
    """
    lines = [json.dumps(one._asdict() | {"ts": one.ts * factor}) for one in VISITS]
    check(tmp_path, "\n".join(lines), {"time.unit": unit})


@pytest.mark.parametrize(
    ("form", "settings"),
    [
        ("%Y-%m-%d %H:%M:%S", {}),
        ("%d.%m.%Y %H:%M:%S", {"time.format": "%d.%m.%Y %H:%M:%S"}),
        ("%m/%d/%Y %I:%M:%S %p", {"time.format": "%m/%d/%Y %I:%M:%S %p"}),
        ("%Y%m%d%H%M%S", {"time.format": "%Y%m%d%H%M%S", "input.numbers_as_text": "false"}),
    ],
)
def test_local_times_of_any_form_are_read(form: str, settings: dict[str, str], tmp_path: Path) -> None:
    """
    The settings state the zone and the form.
    """
    lines = [json.dumps(one._asdict() | {"ts": one.local.strftime(form)}) for one in VISITS]
    check(tmp_path, "\n".join(lines), {"time.zone": "Europe/Vienna"} | settings)


# ------------------------------------------------------------------ JSON documents


def nested(value: Any, *names: str) -> Any:
    """Return a value below some names."""
    for name in reversed(names):
        value = {"version": "1.0", name: value, "next": None}
    return value


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("names", [("locations",), ("data", "bikes"), ("response", "body", "items")])
def test_a_list_anywhere_in_a_document_is_read(names: Sequence[str], indent: int | None, tmp_path: Path) -> None:
    """
    On one line or many, and its elements are counted.
    """
    content = json.dumps(nested([one._asdict() for one in VISITS], *names), indent=indent)
    summary = check(tmp_path, content, {"input.records": ".".join(names)}, name="export.json")
    assert summary["records"] == 12


def test_a_value_beside_the_list_serves_all_of_its_records(tmp_path: Path) -> None:
    """
    Each record is read alone, with what its document says of all.
    """
    documents = [
        {"last_updated": one.ts, "data": {"bikes": [{"bike_id": one.user, "lat": one.lat, "lon": one.lon}]}}
        for one in VISITS
    ]
    content = "\n".join(json.dumps(one, indent=1) for one in documents)
    settings = {"input.records": "data.bikes", "fields.user": "bike_id", "fields.ts": "/last_updated"}
    check(tmp_path, content, settings, name="gbfs.json")


def test_a_line_longer_than_a_message_may_be_all_of_an_export(tmp_path: Path) -> None:
    """
    Limits are those of a record, not of the file.
    """
    records = [one._asdict() | {"note": "x" * 60_000} for one in VISITS]
    content = json.dumps({"locations": records})
    given = {"input.records": "locations", "limits.message_bytes": "100000"}
    assert len(content) > 700_000
    check(tmp_path, content, given, name="export.json")


def test_one_bad_element_costs_itself_and_is_named(tmp_path: Path) -> None:
    """
    Whether it is no JSON, too long, or lacks a field.
    """
    good = [json.dumps(one._asdict()) for one in VISITS]
    bad = ['{"user": "p9", oops}', '{"user": "p9"}', "null", json.dumps({"user": "p9", "note": "x" * 200_000})]
    content = '{"locations": [' + ",\n".join([*good[:6], *bad, *good[6:]]) + "]}"
    given = {"input.records": "locations", "limits.message_bytes": "100000"}
    summary = check(tmp_path, content, given, name="export.json", rejected=4, records=16)
    assert sorted(one["element"] for one in summary["rejections"]) == [7, 8, 9, 10]


def test_an_export_without_the_list_says_which_setting_looks_for_it(tmp_path: Path) -> None:
    """
    And the run fails, as nothing was read.
    """
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"positions": [one._asdict() for one in VISITS]}, indent=1))
    exit_code, errors, _, windows = replayed(tmp_path, [path], {"input.records": "locations"})
    assert (exit_code, windows) == (1, [])
    assert "locations is needed (input.records)" in errors


# ------------------------------------------------------------------ GeoJSON


def feature(one: Visit, *more: float, **properties: Any) -> dict[str, Any]:
    """Return a GeoJSON feature."""
    geometry = {"type": "Point", "coordinates": [one.lon, one.lat, *more]}
    return {"type": "Feature", "geometry": geometry, "properties": {"user": one.user, "timestamp": one.ts} | properties}


GEOJSON = {"input.preset": "geojson"}
NOT_POINTS: list[dict[str, Any]] = [
    {"type": "Feature", "geometry": None, "properties": {"user": "p9", "timestamp": START_S}},
    {
        "type": "Feature",
        "geometry": {"type": "MultiPoint", "coordinates": [[16.0, 48.0]]},
        "properties": {"user": "p9", "timestamp": START_S},
    },
    {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
        "properties": {"user": "p9", "timestamp": START_S},
    },
]


def collection(features: Iterable[dict[str, Any]], *, is_last: bool = False) -> dict[str, Any]:
    """Return a FeatureCollection, which states its type first or last."""
    members = {"name": "walk", "features": list(features)}
    return members | {"type": "FeatureCollection"} if is_last else {"type": "FeatureCollection"} | members


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("n_more", [0, 2_000])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_collection_of_points_is_read(
    indent: int | None, is_last: bool, n_more: int, is_packed: bool, tmp_path: Path
) -> None:
    """
    On one line or many, whatever the order of its members, long or short; altitudes change nothing.
    """
    features = [feature(one, 171.0, note="]}" * (n_more and 10)) for one in VISITS]
    text = json.dumps(collection([*features, *NOT_POINTS[1:] * n_more], is_last=is_last), indent=indent)
    content = gzip.compress(text.encode()) if is_packed else text
    check(tmp_path, content, GEOJSON, name="walk.geojson", filtered=2 * n_more)


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(json.dumps(feature(one)) for one in VISITS),
        "".join(f"\x1e{json.dumps(feature(one))}\n" for one in VISITS),
        "".join(f"\x1e{json.dumps(feature(one), indent=1)}\n" for one in VISITS),
        json.dumps([feature(one) for one in VISITS]),
        json.dumps([feature(one) for one in VISITS], indent=2),
        "\n".join(json.dumps(collection([feature(one)])) for one in VISITS),
        "\n".join(json.dumps(collection([feature(one)]), indent=1) for one in VISITS),
        "\n".join(json.dumps(feature(one), indent=1) for one in VISITS),
        "\ufeff" + json.dumps(collection(map(feature, VISITS)), indent=2).replace("\n", "\r\n"),
        json.dumps(collection([feature(one, speed=float("nan")) for one in VISITS])),
    ],
    ids=[
        "a feature a line",
        "a text sequence",
        "a text sequence over lines",
        "a list",
        "a list over lines",
        "a collection a line",
        "collections over lines",
        "features over lines",
        "a byte order mark and CR LF",
        "NaN",
    ],
)  # fmt: skip
def test_features_are_read_however_they_follow_one_another(content: str, tmp_path: Path) -> None:
    """
    RFC 7946 has one form for files, RFC 8142 another, and programs have more.
    """
    check(tmp_path, content, GEOJSON, name="walk.json")


def test_features_that_are_no_points_are_skipped_by_the_preset(tmp_path: Path) -> None:
    """
    Without the preset they are rejected, each for itself.
    """
    content = json.dumps(collection([*map(feature, VISITS), *NOT_POINTS]))
    check(tmp_path, content, GEOJSON, filtered=3)
    paths = {
        "fields.user": "properties.user",
        "fields.ts": "properties.timestamp",
        "fields.lat": "geometry.coordinates[1]",
        "fields.lon": "geometry.coordinates[0]",
    }
    check(tmp_path, content, paths, rejected=3)


def test_lines_with_a_time_for_each_position_are_read(tmp_path: Path) -> None:
    """
    As exports of tracks have them.
    """
    features = []
    for user in PEOPLE:
        own = [one for one in VISITS if one.user == user]
        line = {"type": "LineString", "coordinates": [[one.lon, one.lat, 171.0] for one in own]}
        times = [one.moment.isoformat() for one in own]
        features.append({"type": "Feature", "geometry": line, "properties": {"user": user, "coordTimes": times}})
    check(tmp_path, json.dumps(collection(features), indent=1), GEOJSON, records=12)


def test_a_collection_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """
    Half a file is not to be taken for the whole.
    """
    path = tmp_path / "walk.geojson"
    path.write_text(json.dumps(collection(map(feature, VISITS)), indent=1)[:-40])
    exit_code, errors, _, windows = replayed(tmp_path, [path], GEOJSON)
    assert (exit_code, windows) == (1, [])
    assert "has no end: is the file cut off?" in errors


# ------------------------------------------------------------------ GPX


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_gpx_file_for_each_person_is_read(is_packed: bool, tmp_path: Path) -> None:
    """
    The person is the name of the file, without its suffixes.
    """
    paths = []
    for user in PEOPLE:
        points = "".join(
            f'<trkpt lat="{one.lat}" lon="{one.lon}"><time>{one.moment.isoformat()}</time></trkpt>'
            for one in VISITS
            if one.user == user
        )
        text = f'<?xml version="1.0"?>\n<gpx version="1.0"><trk><trkseg>{points}</trkseg></trk></gpx>'
        paths.append(tmp_path / (f"{user}.gpx.gz" if is_packed else f"{user}.gpx"))
        paths[-1].write_bytes(gzip.compress(text.encode()) if is_packed else text.encode())
    for kind in ("checkins", "fragments"):
        _, _, summary, windows = replayed(tmp_path, paths, {"input.preset": "gpx"}, kind)
        assert (summary["rows"], summary["rejected"]) == (12, 0)
        assert [(one["outcome"], one["people"]) for one in windows] == [("released", 6)]


def test_tracks_of_several_people_in_one_gpx_file_are_read(tmp_path: Path) -> None:
    """
    The person is the name of the track; a point without a time costs itself.
    """
    tracks = []
    for user in PEOPLE:
        points = "".join(
            f'<trkpt lat="{one.lat}" lon="{one.lon}"><time>{one.moment.isoformat()}</time></trkpt>'
            for one in VISITS
            if one.user == user
        )
        tracks.append(f"<trk><name>{user}</name><trkseg>{points}</trkseg></trk>")
    content = f"<gpx>{''.join(tracks)}<trk><name>p9</name><trkseg><trkpt lat='1' lon='2'/></trkseg></trk></gpx>"
    summary = check(tmp_path, content, {"input.preset": "gpx", "fields.user": "track"}, name="all.gpx", rejected=1)
    assert [(one["reason"], one["point"]) for one in summary["rejections"]] == [("missing_field", 13)]


# ------------------------------------------------------------------ Parquet and Avro


def parquet(columns: dict[str, Any], **metadata: str) -> bytes:
    """Write a Parquet file."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'shoal[parquet]'")
    pq = pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata or None), stream, row_group_size=5)
    return stream.getvalue()


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("time", ["number", "instant", "local"])
def test_a_parquet_file_is_read(time: str, is_packed: bool, tmp_path: Path) -> None:
    """
    Instants need no setting; local times need their zone; columns that nobody needs cost nothing.
    """
    times = {"number": lambda one: one.ts, "instant": lambda one: one.moment, "local": lambda one: one.local}[time]
    columns = {
        "user": [one.user for one in VISITS],
        "ts": list(map(times, VISITS)),
        "lat": [one.lat for one in VISITS],
        "lon": [one.lon for one in VISITS],
        "payload": [b"\xff"] * 12,
    }
    content = parquet(columns)
    settings = {"time.zone": "Europe/Vienna"} if time == "local" else {}
    summary = check(tmp_path, gzip.compress(content) if is_packed else content, settings, name="feed.parquet")
    assert summary["records"] == 12


def test_nested_columns_and_lists_of_points_are_read(tmp_path: Path) -> None:
    """
    Paths lead into structures; a row may be a whole fragment.
    """
    columns = {
        "device": [{"id": one.user} for one in VISITS],
        "position": [{"at": one.moment, "lat": one.lat, "lng": one.lon} for one in VISITS],
    }
    settings = {"fields.user": "device.id"} | {
        f"fields.{name}": f"position.{path}" for name, path in (("ts", "at"), ("lat", "lat"), ("lon", "lng"))
    }
    check(tmp_path, parquet(columns), settings)
    own = {user: [one for one in VISITS if one.user == user] for user in PEOPLE}
    rows = {
        "user": PEOPLE,
        "points": [[{"ts": one.moment, "lat": one.lat, "lon": one.lon} for one in own[user]] for user in PEOPLE],
    }
    path = tmp_path / "fragments.parquet"
    path.write_bytes(parquet(rows))
    exit_code, errors, summary, windows = replayed(tmp_path, [path], {}, "fragments")
    assert exit_code == 0, errors
    assert (summary["records"], summary["rows"], windows[0]["people"]) == (6, 12, 6)


def test_a_geoparquet_file_is_read(tmp_path: Path) -> None:
    """
    A geometry is read as in GeoJSON.
    """
    shapely = pytest.importorskip("shapely", reason="shapely is not installed: geometries have no other writer here")
    columns = {
        "user": [one.user for one in VISITS],
        "ts": [one.moment for one in VISITS],
        "geometry": [shapely.to_wkb(shapely.Point(one.lon, one.lat)) for one in VISITS],
    }
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
    settings = {"fields.lat": "geometry.coordinates[1]", "fields.lon": "geometry.coordinates[0]"}
    check(tmp_path, parquet(columns, geo=json.dumps(geo)), settings, name="feed.geoparquet")


def test_a_parquet_file_without_a_column_names_those_that_it_has(tmp_path: Path) -> None:
    """
    So that the settings can name them.
    """
    path = tmp_path / "feed.parquet"
    path.write_bytes(parquet({"person": ["a"], "ts": [1], "lat": [1.0], "lon": [1.0]}))
    exit_code, errors, _, _ = replayed(tmp_path, [path], {})
    assert exit_code == 1
    assert "has no column user (fields.*); it has person, ts, lat, lon" in errors


AVRO = {
    "type": "record",
    "name": "Visit",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": ["null", "double"]},
    ],
}


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_an_avro_file_is_read(codec: str, is_packed: bool, tmp_path: Path) -> None:
    """
    Its schema is in it, so no setting is needed.
    """
    fastavro = pytest.importorskip("fastavro", reason="fastavro is not installed: pip install 'shoal[avro]'")
    stream = io.BytesIO()
    fastavro.writer(stream, AVRO, [one._asdict() | {"ts": one.moment} for one in VISITS], codec=codec)
    content = stream.getvalue()
    check(tmp_path, gzip.compress(content) if is_packed else content, {"time.unit": "ns"}, name="feed.avro")


@pytest.mark.parametrize(("library", "start"), [("pyarrow", b"PAR1"), ("fastavro", b"Obj\x01\x00" + b"\0" * 16)])
def test_a_library_that_is_missing_is_named_with_its_extra(
    library: str, start: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The sentence is what has to be typed.
    """
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = tmp_path / "feed"
    path.write_bytes(start)
    exit_code, errors, _, _ = replayed(tmp_path, [path], {})
    assert exit_code == 1
    assert f"needs {library}: pip install 'shoal[" in errors


# ------------------------------------------------------------------ messages of other encodings


def snapshot(visits: Sequence[Visit], *, has_times: bool = True) -> bytes:
    """Return a FeedMessage of GTFS-realtime; without times a vehicle has that of the message."""
    realtime = pytest.importorskip("google.transit.gtfs_realtime_pb2", reason="gtfs-realtime-bindings is not installed")
    message = realtime.FeedMessage()
    message.header.gtfs_realtime_version = "2.0"
    message.header.timestamp = visits[0].ts
    for i, one in enumerate(visits):
        entity = message.entity.add(id=str(i))
        entity.vehicle.vehicle.id = one.user
        entity.vehicle.position.latitude, entity.vehicle.position.longitude = one.lat, one.lon
        if has_times:
            entity.vehicle.timestamp = one.ts
    message.entity.add(id="alert").alert.SetInParent()
    content: bytes = message.SerializeToString()
    return content


@pytest.mark.parametrize("has_times", [True, False])
@pytest.mark.parametrize("is_packed", [False, True])
def test_snapshots_of_gtfs_realtime_are_read(has_times: bool, is_packed: bool, tmp_path: Path) -> None:
    """
    A file for each; what a later one repeats counts once; what is no vehicle is skipped.
    """
    first, second = VISITS[:6], VISITS[6:]
    contents = [snapshot(first, has_times=has_times), snapshot(second, has_times=has_times)]
    if has_times:
        contents.append(snapshot(second))
    paths = []
    for i, content in enumerate(contents):
        paths.append(tmp_path / f"{i}.pb")
        paths[-1].write_bytes(gzip.compress(content) if is_packed else content)
    exit_code, errors, summary, windows = replayed(tmp_path, paths, {"input.preset": "gtfs-realtime"})
    assert exit_code == 0, errors
    assert (summary["rejected"], summary["filtered"]) == (0, len(contents))
    assert summary["duplicates"] == (6 if has_times else 0)
    assert [(one["outcome"], one["people"], one["points_released"]) for one in windows] == [("released", 6, 12)]


def test_settings_of_another_encoding_also_read_text(tmp_path: Path) -> None:
    """
    The encoding is that of messages; a table of the same feed says by its name that it is text.
    """
    given = {"input.encoding": "gtfs-realtime"}
    check(tmp_path, csv(",", ["user", "ts", "lat", "lon"], lambda one: one), given, name="feed.csv")
    check(tmp_path, "\n".join(json.dumps(one._asdict()) for one in VISITS), given, name="feed")


@pytest.mark.parametrize("encoding", ["avro", "protobuf"])
def test_a_file_may_be_one_message_of_a_schema(encoding: str, tmp_path: Path) -> None:
    """
    As a worker reads it from a topic.
    """
    batch = {
        "type": "record",
        "name": "Batch",
        "fields": [{"name": "visits", "type": {"type": "array", "items": AVRO}}],
    }
    if encoding == "avro":
        fastavro = pytest.importorskip("fastavro", reason="fastavro is not installed: pip install 'shoal[avro]'")
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, batch, {"visits": [one._asdict() | {"ts": one.moment} for one in VISITS]})
        content, schema = stream.getvalue(), tmp_path / "batch.avsc"
        schema.write_text(json.dumps(batch))
    else:
        pytest.importorskip("google.protobuf", reason="protobuf is not installed: pip install 'shoal[protobuf]'")
        schema = tmp_path / "batch.proto"
        schema.write_text(
            'syntax = "proto3"; message Batch { repeated Visit visits = 1; }'
            " message Visit { string user = 1; int64 ts = 2; double lat = 3; double lon = 4; }"
        )
        content = b"".join(b"\x0a" + bytes([len(one)]) + one for one in map(_visit_in_protobuf, VISITS))
    given = {"input.encoding": encoding, "input.schema_file": str(schema), "input.records": "visits"}
    check(tmp_path, content, given, name="batch.bin", records=12)


def _visit_in_protobuf(visit: Visit) -> bytes:
    """Write a message by hand: a text, a whole number, two numbers."""
    ts, varint = visit.ts, b""
    while ts > 0x7F:
        ts, varint = ts >> 7, varint + bytes([ts & 0x7F | 0x80])
    user = visit.user.encode()
    numbers = b"\x19" + struct.pack("<d", visit.lat) + b"\x21" + struct.pack("<d", visit.lon)
    return b"\x0a" + bytes([len(user)]) + user + b"\x10" + varint + bytes([ts]) + numbers


def test_moving_features_are_read(tmp_path: Path) -> None:
    """
    A collection of MF-JSON, whose features each have lists of times and of positions.
    """
    features = []
    for user in PEOPLE:
        own = [one for one in VISITS if one.user == user]
        moving = {
            "type": "MovingPoint",
            "datetimes": [one.moment.isoformat() for one in own],
            "coordinates": [[one.lon, one.lat] for one in own],
        }
        features.append({"type": "Feature", "temporalGeometry": moving, "properties": {"user": user}})
    check(tmp_path, json.dumps(collection(features), indent=1), {"input.preset": "mf-json"}, records=12)


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("name", ["feed.parquet", "feed.avro", "feed.pb", "feed.geojson", "feed.gpx"])
@pytest.mark.parametrize("end", [12, -100, -5])
def test_damaged_gzip_around_any_form_is_named(name: str, end: int, tmp_path: Path) -> None:
    """
    Wherever it is cut off.
    """
    start = {".parquet": b"PAR1", ".avro": b"Obj\x01", ".geojson": b'{"features": [', ".gpx": b"<gpx>"}
    content = start.get(Path(name).suffix, b"") + random.Random(1).randbytes(200_000).hex().encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content)[:end])
    exit_code, errors, _, _ = replayed(tmp_path, [path], {"input.preset": "gtfs-realtime"})
    assert exit_code == 1
    assert f"shoal: {path}: " in errors


def _damaged(content: bytes, numbers: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(numbers.randint(1, 4)):
        at = numbers.randrange(len(changed))
        if numbers.random() < 0.5:
            changed[at] = numbers.randrange(256)
        else:
            changed[at:at] = changed[at : at + numbers.randrange(20)]
    if numbers.random() < 0.1:
        del changed[numbers.randrange(len(changed)) :]
    return bytes(changed)


_POINTS = (f'<trkpt lat="{v.lat}" lon="{v.lon}"><time>{v.moment.isoformat()}</time></trkpt>' for v in VISITS)
GPX = f"<gpx><trk><trkseg>{''.join(_POINTS)}</trkseg></trk></gpx>"
DAMAGED: dict[str, tuple[Callable[[], bytes], dict[str, str]]] = {
    "walk.geojson": (lambda: json.dumps(collection(map(feature, VISITS)), indent=1).encode(), GEOJSON),
    "walk.json": (lambda: json.dumps(collection(map(feature, VISITS))).encode(), GEOJSON),
    "walk.seq": (lambda: "".join(f"\x1e{json.dumps(feature(one))}\n" for one in VISITS).encode(), GEOJSON),
    "all.gpx": (GPX.encode, {"input.preset": "gpx"}),
    "export.json": (
        lambda: json.dumps(nested([one._asdict() for one in VISITS], "data", "bikes"), indent=1).encode(),
        {"input.records": "data.bikes"},
    ),
    "vehicles.pb": (lambda: snapshot(VISITS), {"input.preset": "gtfs-realtime"}),
    "feed.parquet": (lambda: parquet({n: [getattr(v, n) for v in VISITS] for n in Visit._fields}), {}),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_a_damaged_file_is_refused_or_has_each_record_in_one_count(kind: Kind, name: str, tmp_path: Path) -> None:
    """
    Whatever bytes are changed, doubled or missing.
    """
    make, given = DAMAGED[name]
    content, numbers = make(), random.Random(name)
    loaded = load_settings(given=SETTINGS | given)
    feed = Feed(loaded, kind, secret=SETTINGS["privacy.secret"])
    path = tmp_path / name
    for _ in range(examples(200)):
        path.write_bytes(_damaged(content, numbers))
        files: list[RecordFile] = []
        try:
            files = open_files(loaded, feed, [path])
            run = Replay(feed, files, now_ms=2**41, max_bytes=loaded.limits.message_bytes)
            found = run.run(tmp_path / "out")
        except FileFormatError as refused:
            assert str(refused).startswith(f"{path}: ")  # noqa: PT017 - a file may also be read
            continue
        finally:
            for file in files:
                file.close()
        lost = found.late + found.duplicates + found.withheld_records + found.points_released + found.points_suppressed
        assert found.rows == lost or kind is Kind.FRAGMENTS
        assert found.records == found.rejected + found.filtered + found.rows
