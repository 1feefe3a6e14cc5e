"""Files as people have them: every public case of a file that Shoal has to read, with the settings that read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from tests.paths import CASES

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="../shared/cases is absent: the public cases are not at hand"
)

SETTINGS = {
    "window.size": "1h",
    "location.cell_m": "1000",
    "privacy.k": "5",
    "release.withheld": "announced",
    "privacy.secret": "a secret of the tests, long enough",
}


class Case(NamedTuple):
    """A file of a case, and the settings that the documentation recommends for it."""

    file: str
    settings: dict[str, str]
    kind: str = "checkins"
    points: int = 12
    filtered: int = 0
    rejected: int = 0

    def __str__(self) -> str:
        return f"{self.file} as {self.kind}, {' '.join(self.settings) or 'no settings'}"


class Outcome(NamedTuple):
    """What became of a replay."""

    exit_code: int
    errors: str
    summary: dict[str, Any]
    windows: list[dict[str, Any]]


def replayed(tmp_path: Path, path: Path, kind: str, given: dict[str, str]) -> Outcome:
    """Run ``shoal replay`` on a file."""
    options = [part for name, value in (SETTINGS | given).items() for part in ("--set", f"{name}={value}")]
    output = tmp_path / "out"
    result = CliRunner().invoke(
        main, ["replay", str(path), "--kind", kind, "--output", str(output), "--json", *options]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    windows = output / "windows.ndjson"
    return Outcome(
        result.exit_code,
        result.stderr,
        json.loads(result.stdout) if result.stdout else {},
        [json.loads(line) for line in windows.read_text().splitlines()] if windows.exists() else [],
    )


GEOJSON = {
    "fields.user": "properties.user",
    "fields.ts": "properties.timestamp",
    "fields.lat": "geometry.coordinates[1]",
    "fields.lon": "geometry.coordinates[0]",
}
OVERLAND = {
    "input.records": "locations",
    "fields.user": "properties.device_id",
    "fields.ts": "properties.timestamp",
    "fields.lat": "geometry.coordinates[1]",
    "fields.lon": "geometry.coordinates[0]",
}
TRACCAR = {
    "fields.user": "device.uniqueId",
    "fields.ts": "position.fixTime",
    "fields.lat": "position.latitude",
    "fields.lon": "position.longitude",
}
OWNTRACKS = {"fields.user": "tid", "fields.ts": "tst"}
TRACKINTEL = {
    "fields.user": "user_id",
    "fields.ts": "tracked_at",
    "fields.lat": "latitude",
    "fields.lon": "longitude",
}
HEADER_CASE = {"fields.ts": "timestamp", "fields.lat": "latitude", "fields.lon": "longitude"}
AIS = {"fields.user": "MMSI", "fields.ts": "BaseDateTime", "fields.lat": "LAT", "fields.lon": "LON"}
SKMOB = {"fields.user": "uid", "fields.ts": "datetime", "fields.lon": "lng"}
GTFS = {
    "input.encoding": "gtfs-realtime",
    "input.records": "entity",
    "input.only": "vehicle.position",
    "fields.user": "vehicle.vehicle.id",
    "fields.ts": "vehicle.timestamp|/header.timestamp",
    "fields.lat": "vehicle.position.latitude",
    "fields.lon": "vehicle.position.longitude",
}

READ = [
    Case("csv-decimal-comma/quoted.csv", {"input.decimal": ","}),
    Case("csv-decimal-comma/semicolons.csv", {"input.decimal": ","}),
    Case("csv-header-case/records.csv", HEADER_CASE),
    Case("csv-semicolon/records.csv", {}),
    Case("csv-semicolon/records.csv", {"input.delimiter": "semicolon"}),
    Case("csv-semicolon/records.csv", {}, kind="fragments"),
    Case("csv-semicolon/trackintel.csv", TRACKINTEL),
    Case("epoch-microseconds/records.ndjson", {"time.unit": "us"}),
    Case("geojson-features/points.geojson", GEOJSON),
    Case("geojson-features/points.geojson", GEOJSON | {"input.records": "features"}),
    Case("geojson-features/points.geojson", GEOJSON, kind="fragments"),
    Case("geojson-features/points.geojson", {"input.preset": "geojson"}),
    Case("geojson-features/features.ndjson", GEOJSON),
    Case("geojson-features/features.ndjson", {"input.preset": "geojson"}),
    Case("gtfs-realtime-protobuf/vehicle_positions.pb", GTFS),
    Case("gtfs-realtime-protobuf/vehicle_positions.pb", {"input.preset": "gtfs-realtime"}),
    Case("gtfs-realtime-protobuf/vehicle_positions.pb", {"input.preset": "gtfs-realtime"}, kind="fragments"),
    Case("latlon-e7/records.ndjson", {"input.degrees_per_unit": "1e-7"}),
    Case("numbers-as-text/records.ndjson", {"input.numbers_as_text": "true"}),
    Case("numbers-as-text/owntracks.ndjson", OWNTRACKS | {"input.numbers_as_text": "true"}),
    Case("numbers-as-text/owntracks.ndjson", {"input.preset": "owntracks"}),
    Case("overland-batch/array.ndjson", {}),
    Case("owntracks-one-point/records.ndjson", {"input.preset": "owntracks"}, kind="fragments", filtered=2),
    Case(
        "owntracks-one-point/records.ndjson",
        OWNTRACKS | {"input.only": "_type=location"},
        kind="fragments",
        filtered=2,
    ),
    Case("points-as-objects/records.ndjson", {}, kind="fragments", points=36),
    Case("time-foursquare/records.csv", {"time.format": "%a %b %d %H:%M:%S %z %Y"}),
    Case("time-postgres-offset/records.csv", {}),
    Case("time-without-zone/ais.csv", AIS | {"time.zone": "UTC"}),
    Case("time-without-zone/ais.csv", AIS | {"time.zone": "Europe/Vienna"}),
    Case("time-without-zone/skmob.csv", SKMOB | {"time.zone": "Europe/Vienna"}),
    Case("traccar-nested/records.ndjson", TRACCAR),
    Case("traccar-nested/records.ndjson", TRACCAR, kind="fragments"),
    Case("traccar-nested/records.ndjson", {"input.preset": "traccar"}),
    Case("tsv-headerless/brightkite.txt", {"input.columns": "user,ts,lat,lon,venue"}),
    Case("tsv-headerless/with_header.csv", {}),
    Case("tsv-headerless/with_header.csv", {"input.delimiter": "tab"}),
]


@pytest.mark.parametrize("case", READ, ids=str)
def test_a_file_is_read_with_the_settings_for_it(case: Case, tmp_path: Path) -> None:
    """
    Six people and all of their points are released, and nothing is rejected that is no fault of a record.
    """
    found = replayed(tmp_path, CASES / case.file, case.kind, case.settings)
    assert found.exit_code == 0, found.errors
    assert (found.summary["rejected"], found.summary["filtered"]) == (case.rejected, case.filtered)
    assert [window["outcome"] for window in found.windows] == ["released"] * len(found.windows)
    assert sum(window["people"] for window in found.windows) == 6
    assert found.summary["rows"] == case.points
    if case.kind == "checkins":  # the model of fragments releases points at other instants, so maybe more of them
        assert sum(window["points_released"] for window in found.windows) == case.points


@pytest.mark.parametrize("settings", [OVERLAND, {"input.preset": "overland"}], ids=["paths", "preset"])
@pytest.mark.parametrize("is_one_document", [False, True])
def test_lists_of_positions_are_read(settings: dict[str, str], is_one_document: bool, tmp_path: Path) -> None:
    """
    Whether each line has a list of them, or an export holds all in one list.
    """
    lines = (CASES / "overland-batch" / "messages.ndjson").read_text().splitlines()
    batches = [json.loads(json.loads(line)["value"]) for line in lines]
    path = tmp_path / "overland.json"
    if is_one_document:
        path.write_text(json.dumps({"locations": [one for batch in batches for one in batch["locations"]]}, indent=1))
    else:
        path.write_text("\n".join(map(json.dumps, batches)))
    found = replayed(tmp_path, path, "checkins", settings)
    assert found.summary["rejected"] == 0
    assert [(window["people"], window["points_released"]) for window in found.windows] == [(6, 12)]


def test_records_in_envelopes_are_read(tmp_path: Path) -> None:
    """
    What Kafka Connect writes around a record is no part of it.
    """
    lines = (CASES / "connect-envelope" / "messages.ndjson").read_text().splitlines()
    path = tmp_path / "feed.ndjson"
    path.write_text("\n".join(json.loads(line)["value"] for line in lines))
    found = replayed(tmp_path, path, "checkins", {"input.records": "payload"})
    assert [(window["people"], window["points_released"]) for window in found.windows] == [(6, 12)]


@pytest.mark.parametrize("settings", [{"fields.ts": "time", "fields.user": "track"}, {"input.preset": "gpx"}], ids=str)
@pytest.mark.parametrize("kind", ["fragments", "checkins"])
def test_a_gpx_track_of_one_person_is_read_and_not_released(
    settings: dict[str, str], kind: str, tmp_path: Path
) -> None:
    """
    Both points are read; one person is fewer than k.
    """
    found = replayed(tmp_path, CASES / "gpx-track" / "p01.gpx", kind, settings)
    assert (found.exit_code, found.summary["records"], found.summary["rejected"]) == (0, 2, 0)
    assert [(window["outcome"], window["reason"]) for window in found.windows] == [("withheld", "too_few_people")]


@pytest.mark.parametrize(
    ("file", "settings", "reason", "says"),
    [
        ("csv-decimal-comma/quoted.csv", {}, "wrong_type", "lat must be a number"),
        ("epoch-microseconds/records.ndjson", {}, "time_out_of_range", "microseconds"),
        ("latlon-e7/records.ndjson", {}, "position_out_of_range", ""),
        ("numbers-as-text/records.ndjson", {}, "wrong_type", "lat must be a number; a text was found"),
        ("time-foursquare/records.csv", {}, "wrong_type", "ts must be RFC 3339"),
        ("time-without-zone/ais.csv", AIS, "wrong_type", "BaseDateTime has no offset"),
        ("time-without-zone/skmob.csv", SKMOB, "wrong_type", "datetime has no offset"),
        ("geojson-features/features.ndjson", {}, "missing_field", "user is needed"),
    ],
)
def test_without_its_setting_a_file_is_rejected_with_a_reason(
    file: str, settings: dict[str, str], reason: str, says: str, tmp_path: Path
) -> None:
    """
    Nothing is guessed: every record is in the count of the reason, and the run fails.
    """
    found = replayed(tmp_path, CASES / file, "checkins", settings)
    assert found.exit_code == 1
    assert (found.summary["rejected"], found.summary["reasons"]) == (12, {reason: 12})
    assert says in found.errors


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("csv-header-case/records.csv", "has no column ts"),
        ("csv-header-case/records.csv", "Timestamp"),
        ("tsv-headerless/brightkite.txt", "input.columns"),
        ("geojson-features/points.geojson", "is GeoJSON: set input.preset to geojson"),
        ("gpx-track/p01.gpx", "is GPX: set input.preset to gpx"),
        ("gtfs-realtime-protobuf/vehicle_positions.pb", "GTFS-realtime"),
    ],
)
def test_without_its_setting_a_file_is_refused_in_a_sentence(file: str, says: str, tmp_path: Path) -> None:
    """
    The sentence says what the file is, or what it has, and what to set.
    """
    found = replayed(tmp_path, CASES / file, "checkins", {})
    assert (found.exit_code, found.windows) == (1, [])
    assert says in found.errors
