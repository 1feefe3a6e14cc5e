"""Proposals for whole sources: presets with what they leave open, and the kind that a source is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.records.record import INPUT_KINDS, Kind
from stream.cli.trial.report import report
from stream.feeds.trial.file_source import FileSource
from stream.feeds.trial.trial import Trial, try_source
from stream.formats.presets.registry import PRESETS
from stream.settings.load import load_settings

T = 1_760_000_000
N = 4
PEOPLE = [f"p{i}" for i in range(N)]


def tried(path: Path, content: list[Any] | Any, kind: Kind | None = None) -> Trial:
    """Write records, one a line, or one document, and try the file."""
    lines = content if isinstance(content, list) else [content]
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    source = FileSource(path, 100)
    try:
        return try_source(source, load_settings(), kind, 100)
    finally:
        source.close()


def proposed(trial: Trial) -> dict[str, Any]:
    assert trial.proposal is not None
    return {name.partition(".")[2]: value for name, value in trial.proposal.settings.items()}


def rows(**names: str) -> list[dict[str, Any]]:
    of = {"user": "user", "ts": "ts", "lat": "lat", "lon": "lon"} | names
    return [
        {of["user"]: user, of["ts"]: (T + i) * 1000, of["lat"]: 48.2, of["lon"]: 16.4} for i, user in enumerate(PEOPLE)
    ]


def change(row: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": None, "after": row, "op": "d" if row is None else "c", "source": {}}


def test_changes_of_a_table_with_times_in_milliseconds(tmp_path: Path) -> None:
    """
    The preset of an envelope is combined with the unit that its rows have, so that a deletion is a tombstone.
    """
    trial = tried(tmp_path / "feed.ndjson", [*map(change, rows()), change(None)])
    assert proposed(trial) == {"input.preset": "debezium", "time.unit": "ms"}
    assert trial.proposal is not None
    found = trial.proposal.findings
    assert found is not None
    assert (found.understood, found.tombstones, found.rejected) == (N, 1, 0)
    assert "1 tombstone, 0 rejected" in report(trial)


def test_changes_of_a_table_with_other_columns(tmp_path: Path) -> None:
    """
    The columns are found in the row, and not in the envelope around it.
    """
    trial = tried(tmp_path / "feed.ndjson", [change(row) for row in rows(user="device_id", ts="at", lat="latitude")])
    assert proposed(trial) == {
        "input.preset": "debezium",
        "fields.user": "device_id",
        "fields.ts": "at",
        "fields.lat": "latitude",
        "time.unit": "ms",
    }


def test_an_envelope_around_nobody(tmp_path: Path) -> None:
    """
    If no column of the row is a person's id, the owner is asked for it, and for the zone of local times.
    """
    local = [row | {"ts": f"2025-10-09 08:53:2{i}"} for i, row in enumerate(rows(user="note"))]
    trial = tried(tmp_path / "feed.ndjson", [{"schema": {}, "payload": row} for row in local])
    assert proposed(trial) == {"input.preset": "connect-json"}
    assert trial.proposal is not None
    assert set(trial.proposal.needs) == {"fields.user", "time.zone"}
    assert " people," not in report(trial)


def test_numbers_as_text_in_an_envelope(tmp_path: Path) -> None:
    """
    A preset is combined with the form of its numbers as well.
    """
    content = [{"schema": {}, "payload": row | {"lat": "48.2", "lon": "16.4"}} for row in rows()]
    assert proposed(tried(tmp_path / "feed.ndjson", content)) == {
        "input.preset": "connect-json",
        "time.unit": "ms",
        "input.numbers_as_text": True,
    }


def lines(name: str) -> dict[str, Any]:
    geometry = {"type": "LineString", "coordinates": [[16.4, 48.2], [16.5, 48.3]]}
    features = [
        {"type": "Feature", "geometry": geometry, "properties": {name: user, "coordTimes": [T * 1000, T * 1000 + 60]}}
        for user in PEOPLE
    ]
    return {"type": "FeatureCollection", "features": features}


@pytest.mark.parametrize("kind", [None, *INPUT_KINDS])
@pytest.mark.parametrize("name", ["user", "vehicle"])
def test_lines_with_times_in_milliseconds(tmp_path: Path, kind: Kind | None, name: str) -> None:
    """
    Lines of GeoJSON need the unit, and the property with the person if the preset does not know its name.
    """
    trial = tried(tmp_path / "feed.geojson", lines(name), kind)
    user = {} if name == "user" else {"fields.user": "properties.vehicle"}
    assert proposed(trial) == {"input.preset": "geojson", "time.unit": "ms"} | user
    assert trial.proposal is not None
    assert trial.proposal.findings is not None
    assert trial.proposal.findings.people == N
    assert trial.in_force.kind is (kind or Kind.FRAGMENTS)


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize("kind", [None, *INPUT_KINDS])
def test_lists_of_points_beside_an_id(tmp_path: Path, kind: Kind | None, is_array: bool) -> None:
    """
    Without a kind they are fragments; as either kind, people are counted by the id beside the list.
    """
    points = [{"time": (T + i) * 1000, "latitude": 48.2, "longitude": 16.4} for i in range(3)]
    content = [{"id": user, "trace": points} for user in PEOPLE]
    trial = tried(tmp_path / "feed.json", json.dumps(content) if is_array else content, kind)
    common = {"fields.lat": "latitude", "fields.lon": "longitude", "fields.ts": "time", "time.unit": "ms"}
    if kind is Kind.CHECKINS:
        assert proposed(trial) == common | {"input.records": "trace", "fields.user": "/id"}
    else:
        assert proposed(trial) == common | {"fields.points": "trace", "fields.user": "id"}
    assert trial.proposal is not None
    found = trial.proposal.findings
    assert found is not None
    assert (found.people, found.points, found.rejected) == (N, 3 * N, 0)
    assert trial.also is (Kind.CHECKINS if kind is None else None)
    assert "read as fragments (--kind checkins is possible as well)" in report(trial) or kind is not None


def test_the_kind_in_the_plain_form(tmp_path: Path) -> None:
    """
    Lists of points are fragments, and points alone check-ins, for which nothing has to be proposed.
    """
    points = [[T, 48.2, 16.4], [T + 60, 48.3, 16.5]]
    fragments = [{"user": user, "points": points, "ts": T, "lat": 48.2, "lon": 16.4} for user in PEOPLE]
    found = [tried(tmp_path / "feed.ndjson", content) for content in (fragments, [row | {"ts": T} for row in rows()])]
    assert [(trial.in_force.kind, trial.proposal, trial.also) for trial in found] == [
        (Kind.FRAGMENTS, None, Kind.CHECKINS),
        (Kind.CHECKINS, None, Kind.FRAGMENTS),
    ]


def test_a_file_of_several_people(tmp_path: Path) -> None:
    """
    A preset that takes a file for one person is not proposed where records name a person.
    """
    content = [{"uid": user, "time": T, "lat": 48.2, "lon": 16.4} for user in PEOPLE]
    assert proposed(tried(tmp_path / "feed.ndjson", content)) == {"fields.user": "uid", "fields.ts": "time"}
    coded = [{"user": user, "timestamp": T, "latitudeE7": 482_000_000, "longitudeE7": 164_000_000} for user in PEOPLE]
    assert proposed(tried(tmp_path / "feed.ndjson", coded))["input.degrees_per_unit"] == 1e-7


def test_records_of_no_known_source(tmp_path: Path) -> None:
    """
    A preset that only names the columns of a table is not combined with records of another form.
    """
    assert proposed(tried(tmp_path / "feed.ndjson", list(rows()))) == {"time.unit": "ms"}


def test_a_fault_at_several_points(tmp_path: Path) -> None:
    """
    The same fault at another point of a fragment is the same fault, as in a replay.
    """
    good, bad = [T, 48.2, 16.4], [T, "north", 16.4]
    content = [{"user": "a", "points": points} for points in ([bad, good], [good, bad], [good, good, bad])]
    (fault,) = tried(tmp_path / "feed.ndjson", content, Kind.FRAGMENTS).in_force.rejections
    assert (fault.records, fault.place) == (3, "line 1")


def test_a_track(tmp_path: Path) -> None:
    """
    GPX is known by its own form.
    """
    point = '<trkpt lat="48.2" lon="16.4"><time>2025-10-09T08:53:20Z</time></trkpt>'
    gpx = f"<gpx><trk><trkseg>{point}</trkseg></trk></gpx>"
    assert proposed(tried(tmp_path / "p01.gpx", gpx)) == {"input.preset": "gpx"}


def test_a_first_line_that_may_be_a_record(tmp_path: Path) -> None:
    """
    What stands in it is nowhere in the report, although it is tried as names of columns.
    """
    content = ["Xquandt;Yfrobnic;Zwobble;Wibbly", *(f"{user};48,2;16,4;09.10.2025 10:53:20" for user in PEOPLE)]
    trial = tried(tmp_path / "feed.csv", content)
    assert trial.proposal is not None
    assert trial.proposal.findings is not None
    assert trial.proposal.findings.understood == N
    printed = report(trial) + json.dumps(trial.as_dict())
    assert "columns 2 and 3" in printed
    assert not any(name in printed for name in ("Xquandt", "Yfrobnic", "Zwobble", "Wibbly"))


@pytest.mark.parametrize(
    ("header", "path"), [("user,lat,lon,Date,Time", "Date + Time"), ("user,lat,lon,day.utc,at", r"day\.utc + at")]
)
def test_a_time_in_two_columns(tmp_path: Path, header: str, path: str) -> None:
    """
    What is proposed reads the file once its zone is chosen.
    """
    trial = tried(tmp_path / "feed.csv", [header, *(f"{user},48.2,16.4,2025-10-09,08:53:20" for user in PEOPLE)])
    assert proposed(trial) == {"fields.ts": path}
    assert trial.proposal is not None
    assert set(trial.proposal.needs) == {"time.zone"}
    assert trial.proposal.findings is not None
    assert trial.proposal.findings.understood == N


@pytest.mark.parametrize("user", ["user", "device_id"])
@pytest.mark.parametrize(("n_people", "doubted"), [(1, False), (5, False), (19, True), (20, True)])
def test_as_many_people_as_records(tmp_path: Path, user: str, n_people: int, *, doubted: bool) -> None:
    """
    A remark says that the id may be that of the record, whether the settings in force read it or a proposal does.
    """
    content = [{user: f"p{i % n_people}", "ts": T + i, "lat": 48.2, "lon": 16.4} for i in range(20)]
    trial = tried(tmp_path / "feed.ndjson", content)
    remarks = trial.remarks if trial.proposal is None else trial.proposal.remarks
    assert any("another person" in remark for remark in remarks) is doubted
    assert ("another person" in report(trial)) is doubted
    few = tried(tmp_path / "feed.ndjson", content[:5])
    assert "another person" not in report(few)


@pytest.mark.parametrize("ending", ["ndjson", "csv"])
@pytest.mark.parametrize(
    "signs", [{"N/S": "S", "E/W": "W"}, {"latitudeRef": "S", "longitudeRef": "W"}, {"lat_hemi": "S"}]
)
def test_settings_that_leave_out_the_signs(tmp_path: Path, ending: str, signs: dict[str, str]) -> None:
    """
    Positions without their signs are not understood; what is proposed reads them, and is then complete.
    """
    row = {"user": "a", "ts": T, "lat": 33.85, "lon": 70.65} | signs
    content = [",".join(row), *[",".join(map(str, row.values()))] * N] if ending == "csv" else [row] * N
    trial = tried(tmp_path / f"feed.{ending}", content)
    assert not trial.in_force.is_all_understood
    assert "without their signs" in report(trial)
    names = dict(zip(("input.latitude_sign", "input.longitude_sign"), signs, strict=False))
    assert proposed(trial) == names
    given = {f"checkins.{name}": value for name, value in names.items()}
    source = FileSource(tmp_path / f"feed.{ending}", 100)
    complete = try_source(source, load_settings(given=given), Kind.CHECKINS, 100)
    assert complete.in_force.is_all_understood
    assert complete.proposal is None


@pytest.mark.parametrize("known", ["user", "venue", "latitude", "id", "traj_id"])
@pytest.mark.parametrize(
    "record",
    [
        ["anna.meier", "48.2082\N{DEGREE SIGN}N, 16.3738\N{DEGREE SIGN}E", "Thu Oct 09 08:53:20 +0000 2025"],
        ["anna.meier", "u2edhx", "Donnerstag"],
        ["anna.meier", "geo:48.2,16.4", "gestern"],
        ["anna.meier", "POINT(16.4 48.2)", "2025-W41"],
    ],
)
def test_no_value_of_a_first_line_is_shown(tmp_path: Path, known: str, record: list[str]) -> None:
    """
    Even if one of its values happens to be a name of a column.
    """
    for first in ([*record, known], [record[0], known, *record[1:]]):
        trial = tried(tmp_path / "feed.csv", [";".join(first)] * 3)
        printed = report(trial) + json.dumps(trial.as_dict(), ensure_ascii=False)
        assert not any(value in printed for value in record)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name.startswith("gtfs")])
@pytest.mark.parametrize("ending", ["json", "ndjson"])
def test_an_encoding_is_that_of_the_file(tmp_path: Path, preset: str, ending: str) -> None:
    """
    A file of text is read by a preset for JSON, whatever other encoding its source has on topics.
    """
    (example,) = PRESETS[preset].examples
    content = example.content if ending == "ndjson" else json.dumps(example.content, indent=1)
    assert proposed(tried(tmp_path / f"feed.{ending}", content)) == {"input.preset": "gtfs-realtime-json"}


@pytest.mark.parametrize(
    ("between", "end", "says"), [("", "\n", "another follows its end"), ("\n", ",", "a comma follows")]
)
def test_documents_that_are_not_divided(tmp_path: Path, between: str, end: str, says: str) -> None:
    """
    What is wrong is said, and what is to be done.
    """
    text = between.join(json.dumps(row | {"ts": T}) + end.strip() for row in rows())
    trial = tried(tmp_path / "feed.ndjson", [text, text])
    assert trial.in_force.understood == 0
    assert says in report(trial)
