"""Presets: every example is read, as a message and as a file, with its person, time and place."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.instants import UNIT_MS
from core.records.record import CheckIn, Fragment, Kind
from stream.feeds.feed import Feed
from stream.feeds.inputs import message_reader
from stream.feeds.record_files import open_files
from stream.formats.input.mapping import Entry, Skipped
from stream.formats.input.paths import Origin
from stream.formats.input.record_path import RecordPath
from stream.formats.presets.preset import Example
from stream.formats.presets.registry import PRESETS
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.builders.preset_feeds import EXAMPLES, files, messages, place_of, time_of
from tests.cluster.workers import SECRET

ON_TOPICS = [one for one in EXAMPLES if not one[1].is_file]


def ids(examples: list[tuple[str, Example, Kind]]) -> list[str]:
    return [f"{name}-{example.file}-{kind}" for name, example, kind in examples]


def settings_of(name: str, kind: Kind) -> Settings:
    return load_settings(given={f"{kind}.input.preset": name})


def read(entries: list[Entry], settings: Settings, kind: Kind) -> list[tuple[str, int, float, float]]:
    """Return person, time in milliseconds, latitude and longitude of all places of records, which all must be read."""
    unit_ms = UNIT_MS[settings.for_kind(kind).time.unit]
    found: list[tuple[str, Any, Any, Any]] = []
    for entry in entries:
        assert isinstance(entry, CheckIn | Fragment), entry
        if isinstance(entry, CheckIn):
            found.append((str(entry.user), entry.ts, entry.lat, entry.lon))
        else:
            found += [(str(entry.user), point.ts, point.lat, point.lon) for point in entry.points]
    return [
        (user, round(ts.timestamp() * 1000 if isinstance(ts, datetime) else ts * unit_ms), round(lat, 4), round(lon, 4))
        for user, ts, lat, lon in found
    ]


def wanted(example: Example, people: int = 6, steps: int = 2) -> list[tuple[str, int, float, float]]:
    return [
        (f"p{user + 1:02}", round(time_of(user, step).timestamp() * 1000), *place_of(step))
        for step in range(steps)
        for user in range(people)
        for _ in range(example.places)
    ]


@pytest.mark.parametrize(("name", "example", "kind"), ON_TOPICS, ids=ids(ON_TOPICS))
def test_an_example_as_messages(name: str, example: Example, kind: Kind) -> None:
    """
    Every message of a feed in the form of the example is read, with its person, time and place.
    """
    settings = settings_of(name, kind)
    reader = message_reader(settings, Feed(settings, kind, secret=SECRET))
    entries = [entry for key, value in messages(name, example) for _, entry in reader.read(value, Origin(key=key))]
    assert read(entries, settings, kind) == wanted(example)


@pytest.mark.parametrize(("name", "example", "kind"), EXAMPLES, ids=ids(EXAMPLES))
def test_an_example_as_files(name: str, example: Example, kind: Kind, tmp_path: Path) -> None:
    """
    So is every file.
    """
    settings = settings_of(name, kind)
    feed = Feed(settings, kind, secret=SECRET)
    opened = open_files(settings, feed, list(files(name, example, tmp_path)))
    entries = [entry for file in opened for _, entry in file.entries()]
    for file in opened:
        file.close()
    assert read(entries, settings, kind) == wanted(example)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_described(name: str) -> None:
    """
    A preset says what writes the feed, and has an example.
    """
    preset = PRESETS[name]
    assert preset.title
    assert preset.examples
    assert not preset.note or preset.note.endswith(".")


def read_one(name: str, kind: Kind, value: bytes, **origin: Any) -> list[Entry]:
    settings = settings_of(name, kind)
    reader = message_reader(settings, Feed(settings, kind, secret=SECRET))
    return [entry for _, entry in reader.read(value, Origin(**origin))]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owntracks", b'{"_type": "lwt", "tst": 1760000000}'),
        ("overland", b'{"locations": [{"type": "Feature", "geometry": null, "properties": {}}]}'),
        ("traccar", b'{"position": {"valid": false}, "device": {"uniqueId": "x"}}'),
        ("google-semantic", b'{"timelineObjects": [{"activitySegment": {}}]}'),
        ("google-timeline", b'{"semanticSegments": [{"activity": {}}]}'),
        ("gtfs-realtime-json", b'{"entity": [{"id": "1", "trip_update": {}}]}'),
        ("gbfs", b'{"data": {"vehicles": [{"vehicle_id": "x", "station_id": "y"}]}}'),
        ("geojson", b'{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}, "properties": {}}'),
        ("debezium", b'{"user": "x", "__deleted": "true"}'),
        ("debezium", b'{"payload": {"op": "t"}}'),
        ("debezium", b'{"user": "x", "lat": 1, "lon": 2, "ts": 3, "__op": "d"}'),
        ("gtfs-realtime-json", b'{"entity": {"isDeleted": true, "vehicle": {"position": {"latitude": 1}}}}'),
        ("gtfs-realtime-json", b'{"entity": {"is_deleted": true, "vehicle": {"position": {"latitude": 1}}}}'),
        ("maxwell", b'{"type": "delete", "xid": 1, "data": {"user": "x", "lat": 1, "lon": 2, "ts": 3}}'),
        ("maxwell", b'{"type": "bootstrap-start", "xid": 1, "data": {}}'),
        ("maxwell", b'{"type": "table-alter", "database": "x"}'),
        ("canal", b'{"type": "DELETE", "isDdl": false, "data": [{"user": "x", "lat": "1", "lon": "2", "ts": "3"}]}'),
        ("aws-dms", b'{"metadata": {"operation": "delete"}, "data": {"user": "x", "lat": 1, "lon": 2, "ts": 3}}'),
        ("aws-dms", b'{"metadata": {"operation": "create-table", "record-type": "control"}}'),
        ("goldengate", b'{"op_type": "D", "before": {"user": "x", "lat": 1, "lon": 2, "ts": 3}}'),
        ("goldengate", b'{"op_type": "D", "user": "x", "lat": 1, "lon": 2, "ts": 3}'),
    ],
)
def test_what_is_no_position_is_filtered(name: str, value: bytes) -> None:
    """
    Messages of the same source that say nothing of a position are skipped, not rejected.
    """
    assert read_one(name, Kind.CHECKINS, value) == [Skipped.FILTERED]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connect-json", b'{"schema": null, "payload": null}'),
        ("debezium", b'{"before": {"user": "x"}, "after": null, "op": "d"}'),
        ("debezium", b'{"schema": {}, "payload": {"before": {"user": "x"}, "after": null, "op": "d"}}'),
        ("debezium", b'{"schema": null, "payload": null}'),
        ("canal", b'{"type": "ALTER", "isDdl": true, "data": null}'),
    ],
)
def test_deletions_are_tombstones(name: str, value: bytes) -> None:
    """
    An envelope without a row says that one was deleted, whichever of its forms it has.
    """
    assert read_one(name, Kind.CHECKINS, value) == [Skipped.TOMBSTONE]


def emptied(draw: st.DrawFn, value: Any) -> Any:
    """Return plain data in which some lists are empty, or hold only empty lists, and elements of others occur twice."""
    if isinstance(value, dict):
        return {name: emptied(draw, inner) for name, inner in value.items()}
    if isinstance(value, list):
        how = draw(st.sampled_from(["kept", "kept", "twice", "empty", "hollow"]))
        kept = [] if how == "empty" else value * (2 if how == "twice" else 1)
        return [[] for _ in kept] if how == "hollow" else [emptied(draw, one) for one in kept]
    return value


IN_JSON = [one for one in EXAMPLES if not isinstance(one[1].content, str) and one[0] != "gtfs-realtime"]


@pytest.mark.parametrize(("name", "example", "kind"), IN_JSON, ids=ids(IN_JSON))
@given(data=st.data())
def test_every_record_is_in_one_count(name: str, example: Example, kind: Kind, data: st.DataObject) -> None:
    """
    Whatever lists are empty, each record of a message is read, rejected or filtered; only an empty list of records
    holds none.
    """
    document = data.draw(st.composite(emptied)(example.content))
    settings = settings_of(name, kind)
    reader = message_reader(settings, Feed(settings, kind, secret=SECRET))
    entries = list(reader.read(json.dumps(document).encode(), Origin(key=b"p", file="p01")))
    path = settings.for_kind(kind).input.records
    found = RecordPath(path)(document, Origin(document=document)) if path else document
    expected = set(range(1, len(found) + 1)) if isinstance(found, list) else {None}
    assert {number for number, _ in entries} == expected


@pytest.mark.parametrize("word", ["false", "False", "FALSE", "f", "0", "no"])
def test_positions_that_a_tracker_calls_invalid(word: str, tmp_path: Path) -> None:
    """
    They are left out of a CSV as well, whichever program wrote it.
    """
    settings = settings_of("traccar", Kind.CHECKINS)
    path = tmp_path / "positions.csv"
    path.write_text(f"deviceId,fixTime,latitude,longitude,valid\np01,1760000000000,48.2,16.3,{word}\n")
    (file,) = open_files(settings, Feed(settings, Kind.CHECKINS, secret=SECRET), [path])
    assert [entry for _, entry in file.entries()] == [Skipped.FILTERED]
    file.close()


@pytest.mark.parametrize("kind", [Kind.CHECKINS, Kind.FRAGMENTS])
def test_numbers_with_a_decimal_comma_in_json(kind: Kind) -> None:
    """
    The settings that read them in a CSV read them where they are text in a message.
    """
    settings = load_settings(given={"input.numbers_as_text": True, "input.decimal": ","})
    reader = message_reader(settings, Feed(settings, kind, secret=SECRET))
    value = b'{"user": "p01", "ts": "1760000000", "lat": "48,2082", "lon": "16,3738"}'
    entries = [entry for _, entry in reader.read(value)]
    assert read(entries, settings, kind) == [("p01", 1_760_000_000_000, 48.2082, 16.3738)]
