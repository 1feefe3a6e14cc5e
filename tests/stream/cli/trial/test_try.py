"""``shoal try``: what it prints for files and topics of any kind, and what it never prints."""

from __future__ import annotations

import json
import os
import random
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.cli.main import main
from stream.cli.trial.report import as_set_options, as_yaml, report
from stream.feeds.trial.topic_source import TopicSource
from stream.feeds.trial.trial import try_source
from stream.settings.load import load_settings
from tests.budgets import examples
from tests.builders.topic_messages import topic_messages


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


def shoal_try(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["try", *map(str, arguments)])


def test_a_feed_in_the_plain_form(tmp_path: Path) -> None:
    """
    Where everything is understood, the report shows the fields with their types, and proposes nothing.
    """
    file = tmp_path / "feed.ndjson"
    file.write_text("".join(f'{{"user": "a{i}", "ts": {1_760_000_000 + i}, "lat": 1.5, "lon": 2}}\n' for i in range(3)))
    result = shoal_try(file)
    assert result.exit_code == 0
    assert "3 looked at, 3 understood (3 people, 3 places), 0 rejected" in result.stdout
    assert "proposed" not in result.stdout
    found = json.loads(shoal_try(file, "--json").stdout)
    assert found["proposal"] is None
    assert found["fields"] == [
        {"field": "user", "path": "user", "records": 3, "types": {"text": 3}},
        {"field": "ts", "path": "ts", "records": 3, "types": {"whole number": 3}},
        {"field": "lat", "path": "lat", "records": 3, "types": {"number": 3}},
        {"field": "lon", "path": "lon", "records": 3, "types": {"whole number": 3}},
    ]


def test_the_first_records_alone(tmp_path: Path) -> None:
    """
    Only as many records are looked at as the option says; faults after them are not seen.
    """
    file = tmp_path / "feed.ndjson"
    file.write_text('{"user": "a", "ts": 1760000000, "lat": 1, "lon": 2}\n' * 5 + "broken\n")
    assert "5 looked at, 5 understood" in shoal_try(file, "--records", "5").stdout
    result = shoal_try(file)
    assert "1 rejected" in result.stdout
    assert "1 not_json: the message is not JSON: its syntax is wrong (first: line 6)" in result.stdout


def test_what_is_printed_can_be_pasted(tmp_path: Path) -> None:
    """
    The proposal is YAML of a settings file, and options of a shell; both read the feed.
    """
    file = tmp_path / "feed.csv"
    file.write_text(
        "# Timestamp;Vessel | ID;MMSI;Lat;Lng\n" + "".join(f"2025-10-09T08:53:2{i}Z;x;{i};1.5;2\n" for i in range(9))
    )
    proposal = json.loads(shoal_try(file, "--json").stdout)["proposal"]
    assert proposal["settings"]["checkins.fields.ts"] == "# Timestamp"
    config = tmp_path / "settings.yaml"
    config.write_text(as_yaml(proposal["settings"]))
    assert "9 understood" in shoal_try(file, "--config", config).stdout
    options = [
        word for name, value in proposal["settings"].items() for word in ("--set", f"{name}={json.dumps(value)}")
    ]
    assert "9 understood" in shoal_try(file, *options).stdout


@pytest.mark.parametrize("value", ["# x", "a: b", "1", "true", "", "ü|x", ["a", "b"], True, 1e-7, "null", "'"])
def test_settings_survive_the_shell(value: Any) -> None:
    """
    What stands behind ``--set`` is read back as it was meant, whatever signs it has.
    """
    (_, option) = shlex.split(as_set_options({"a.b": value}))
    name, _, text = option.partition("=")
    assert name == "a.b"
    read = yaml.safe_load(text)
    assert (float(read) if isinstance(value, float) else read) == value


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n\n\n", "is empty"),
        (b"\x01\x02" * 500, "is not text"),
        (random.Random(1).randbytes(5_000), ""),
        (b"one line", "the header has no column"),
        (b"{", "not_json"),
        (b"PK\x03\x04" + b"x" * 100, "is a ZIP archive or a spreadsheet"),
        (b"\x1f\x8b" + b"x" * 100, "damaged"),
        (b"<html></html>", "is XML or HTML, but not GPX"),
        (b"[1, 2, 3]", "its first line holds values, not names"),
        (b"null", ""),
        (b'{"a": 1}\n' * 3, "missing_field"),
    ],
)
def test_garbage(tmp_path: Path, content: bytes, says: str) -> None:
    """
    What is no feed gets a clear sentence and exit code 1, and no traceback.
    """
    file = tmp_path / "garbage"
    file.write_bytes(content)
    result = shoal_try(file, "--json")
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert says in result.stdout
    assert json.loads(result.stdout)["proposal"] is None


@pytest.mark.parametrize(
    ("source", "says"),
    [(".", "is a folder"), ("no/such/file", "cannot be the name of a topic"), ("", "cannot be the name of a topic")],
)
def test_what_cannot_be_tried(source: str, says: str) -> None:
    """
    A source that is neither a file nor a topic is named in a sentence.
    """
    result = shoal_try(source)
    assert result.exit_code == 1
    assert says in result.stderr
    assert says == "is a folder" or "; give the path of a file, or the name of a topic" in result.stderr


def test_a_cluster_that_does_not_answer() -> None:
    """
    Where no file has the name and no broker answers, both are said.
    """
    result = shoal_try("no-such-topic", "--set", "kafka.bootstrap_servers=127.0.0.1:1")
    assert result.exit_code == 1
    assert "no-such-topic is not a file here, and no topic can be read" in result.stderr


# ---------------------------------------------------------------------- no values

MARK = st.text("bcdfghjklmnpqrstvwxz", min_size=8, max_size=12)
DEGREES = st.floats(10, 80).map(lambda value: round(value, 7)).filter(lambda value: len(str(value)) > 8)
SECONDS = st.integers(1_600_000_000, 1_780_000_000)


@st.composite
def marked(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Return a record of some shape, and the texts of all its values, and of the keys that are ids."""
    user, other, seconds = draw(MARK), draw(MARK), draw(SECONDS)
    lat, lon = draw(DEGREES), draw(DEGREES)
    names = draw(
        st.sampled_from([("user", "ts", "lat", "lon"), ("uid", "time", "latitude", "lng"), ("a", "b", "c", "d")])
    )
    values = draw(st.permutations([user, seconds, lat, lon])) if draw(st.booleans()) else [user, seconds, lat, lon]
    if draw(st.booleans()):
        values = [str(value) for value in values]
    record: dict[str, Any] = dict(zip(names, values, strict=True)) | {"note": other}
    match draw(st.integers(0, 4)):
        case 1:
            record = {"payload": record}
        case 2:
            record = {"locations": [record, record]}
        case 3:
            record = {f"{user}{seconds}": record}
        case 4:
            record = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [lon, lat]}, "properties": record}
    return record, [user, other, str(seconds), str(lat), str(lon)]


@given(st.lists(marked(), min_size=1, max_size=4), st.sampled_from(["ndjson", "array", "csv", "headerless", "topic"]))
@settings(max_examples=examples(60), deadline=None)
def test_nothing_of_a_record_is_printed(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[dict[str, Any], list[str]]], form: str
) -> None:
    """
    Neither the report nor the JSON has a value of a record, whatever the shape of the feed.
    """
    file = tmp_path_factory.mktemp("try") / "feed.txt"
    records = [record for record, _ in drawn]
    if form in ("csv", "headerless"):
        rows = [
            ",".join(str(value) for value in record.values() if not isinstance(value, dict | list))
            for record in records
        ]
        file.write_text("\n".join([*(["user,ts,lat,lon,note"] if form == "csv" else []), *rows]))
    elif form == "array":
        file.write_text(json.dumps(records))
    else:
        file.write_text("\n".join(map(json.dumps, records)))
    if form == "topic":
        messages = topic_messages((values[0].encode(), json.dumps(record).encode()) for record, values in drawn)
        trial = try_source(TopicSource("feed", messages), load_settings(), None, 10)
        printed = report(trial) + json.dumps(trial.as_dict())
    else:
        printed = shoal_try(file).output + shoal_try(file, "--json").output
    assert [value for _, values in drawn for value in values if value in printed] == []


@pytest.mark.deep
def test_a_large_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of a large JSON document only the beginning is read, and nothing of it is left behind.
    """
    one = {
        "timestamp": "2025-10-09T08:53:20Z",
        "latitudeE7": 482_082_000,
        "longitudeE7": 163_738_000,
        "note": "x" * 900,
    }
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    file = tmp_path / "p01.json"
    file.write_text(json.dumps({"locations": [one] * 6_000}))
    result = shoal_try(file, "--json")
    found = json.loads(result.stdout)
    assert (found["source"], found["proposal"]["preset"]) == (str(file), "google-records")
    assert found["proposal"]["records"]["understood"] == 100
    assert not list(folder.iterdir())
