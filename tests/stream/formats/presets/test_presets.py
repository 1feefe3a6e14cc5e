"""Presets: every example is read, as a message and as a file, with its person, time and place."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from core.records.instants import UNIT_MS
from core.records.record import CheckIn, Fragment, Kind
from stream.feeds.feed import Feed
from stream.feeds.inputs import message_reader
from stream.feeds.record_files import open_files
from stream.formats.input.mapping import Entry, Skipped
from stream.formats.input.paths import Origin
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
    ],
)
def test_deletions_are_tombstones(name: str, value: bytes) -> None:
    """
    An envelope without a row says that one was deleted, whichever of its forms it has.
    """
    assert read_one(name, Kind.CHECKINS, value) == [Skipped.TOMBSTONE]
