"""Replay: files go through the service's own code, every record is accounted for, and nothing depends on reading."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from pyproj import Geod

from core.models.km.measure import KmMeasures
from core.models.km.verify import KmReport
from core.records.record import INPUT_KINDS, Kind
from core.release.outcome import WithholdReason
from core.utility.window_measures import MeasureOptions
from stream.feeds.feed import Feed
from stream.formats.files.record_file import FileFormatError
from stream.replay.replay import Replay
from stream.replay.summary import Means, Summary
from stream.settings.load import load_settings
from tests.builders.inputs import record_file

DAY_S = 86_400
START_S = 1_600_000_200  # 2020-09-13T12:30:00Z, where a window of 15 minutes begins
SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NOW_MS = 1_700_000_000_000
SETTINGS = {"location.area": "52,13,53,14", "location.cells": "3x3", "privacy.k": 3, "release.withheld": "announced"}


@dataclass(frozen=True)
class Result:
    """What a replay gave."""

    summary: Summary
    anonymized: bytes
    windows: bytes
    alarms: list[str]

    @property
    def bytes(self) -> tuple[bytes, bytes]:
        """All that leaves."""
        return self.anonymized, self.windows

    @property
    def window_records(self) -> list[dict[str, Any]]:
        """The windows messages."""
        return [json.loads(line) for line in self.windows.splitlines()]

    @property
    def trajectories(self) -> list[dict[str, Any]]:
        """The released trajectories."""
        return [json.loads(line) for line in self.anonymized.splitlines()]


@dataclass(frozen=True)
class Row:
    """One check-in, or one point."""

    user: str
    at_s: int
    lat: float
    lon: float


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Replay contents, each a file of its own."""
    runs = 0

    def run(
        *contents: bytes,
        kind: Kind = Kind.CHECKINS,
        secret: str = SECRET,
        batch: int = 5_000,
        max_bytes: int = 2**20,
        measure: MeasureOptions | None = None,
        **given: object,
    ) -> Result:
        nonlocal runs
        runs += 1
        folder = tmp_path / f"run-{runs}"
        folder.mkdir()
        monkeypatch.setattr("stream.replay.file_windows._BATCH", batch)
        settings = load_settings(given=SETTINGS | {name.replace("__", "."): value for name, value in given.items()})
        files = []
        for i, content in enumerate(contents):
            path = folder / f"input-{i}"
            path.write_bytes(content)
            files.append(record_file(path, kind, settings.fields.model_dump(), max_bytes=10**6))
        alarms: list[str] = []
        feed = Feed(settings, kind, secret=secret)
        replay = Replay(feed, files, now_ms=NOW_MS, max_bytes=max_bytes, measure=measure)
        summary = replay.run(folder / "out", alarm=alarms.append)
        for file in files:
            file.close()
        out = folder / "out"
        return Result(summary, (out / "anonymized.ndjson").read_bytes(), (out / "windows.ndjson").read_bytes(), alarms)

    return run


def as_csv(rows: Sequence[Row]) -> bytes:
    """Write rows as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["user", "lat", "lon", "ts"])
    writer.writerows((row.user, row.lat, row.lon, row.at_s) for row in rows)
    return out.getvalue().encode()


def as_ndjson(rows: Sequence[Row], kind: Kind = Kind.CHECKINS) -> bytes:
    """Write rows as NDJSON, one record a row."""
    if kind is Kind.CHECKINS:
        records = [{"user": row.user, "ts": row.at_s, "lat": row.lat, "lon": row.lon} for row in rows]
    else:
        records = [{"user": row.user, "points": [[row.at_s, row.lat, row.lon]]} for row in rows]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def crowd(n: int = 240, *, people: int = 8, every_s: int = 20, start_s: int = START_S, seed: int = 1) -> list[Row]:
    """Return check-ins all over the area, one after the other."""
    chance = random.Random(seed)
    return [
        Row(
            f"person-{chance.randrange(people)}",
            start_s + i * every_s,
            round(chance.uniform(52, 53), 4),
            round(chance.uniform(13, 14), 4),
        )
        for i in range(n)
    ]


def walkers(*, people: int = 6, minutes: int = 40) -> list[Row]:
    """Return points of people who go the same way, a few metres from one another, by time."""
    return [
        Row(f"walker-{who}", START_S + at_s, round(52.5 + at_s * 1e-5, 6), round(13.4 + who * 1e-4, 6))
        for at_s in range(0, 60 * minutes, 30)
        for who in range(people)
    ]


def check_account(summary: Summary, *, rows_per_record_is_one: bool = True) -> None:
    """Check that every record is in exactly one count."""
    accounted = (
        summary.late
        + summary.duplicates
        + summary.withheld_records
        + summary.points_released
        + summary.points_suppressed
    )
    assert accounted == summary.rows
    if rows_per_record_is_one:
        assert summary.records == summary.rejected + accounted
    assert summary.windows == summary.windows_released + summary.windows_withheld + summary.windows_refused
    assert sum(summary.reasons.values()) == summary.rejected + summary.windows_withheld + summary.windows_refused


# Nothing depends on reading


def test_the_form_of_a_file_changes_nothing(run: Run) -> None:
    """
    CSV and NDJSON of the same records, packed or not, give the same release.
    """
    rows = crowd()
    expected = run(as_csv(rows))
    assert expected.summary.points_released > 0
    assert run(as_ndjson(rows)).bytes == expected.bytes
    assert run(gzip.compress(as_csv(rows))).bytes == expected.bytes


def test_the_form_of_fragments_changes_nothing(run: Run) -> None:
    """
    One point a CSV line, one point a fragment, or all of a user's points in one: the same release.
    """
    rows = walkers(minutes=15)
    expected = run(as_csv(rows), kind=Kind.FRAGMENTS)
    assert expected.summary.trajectories_released > 0
    assert run(as_ndjson(rows, Kind.FRAGMENTS), kind=Kind.FRAGMENTS).bytes == expected.bytes
    whole = [
        {"user": user, "points": [[row.at_s, row.lat, row.lon] for row in rows if row.user == user]}
        for user in sorted({row.user for row in rows})
    ]
    content = "\n".join(json.dumps(record) for record in whole).encode()
    result = run(content, kind=Kind.FRAGMENTS)
    assert result.bytes == expected.bytes
    assert (result.summary.records, result.summary.rows) == (6, len(rows))
    check_account(result.summary, rows_per_record_is_one=False)


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_the_batch_size_changes_nothing(kind: Kind, batch: int, run: Run) -> None:
    """
    How much is read at a time decides when windows are sealed, not what is in them.
    """
    content = as_csv(crowd() if kind is Kind.CHECKINS else walkers())
    expected = run(content, kind=kind)
    assert expected.summary.windows_released > 1
    assert run(content, kind=kind, batch=batch).bytes == expected.bytes


@pytest.mark.parametrize("shard", ["single", "region", "user"])
@pytest.mark.parametrize("batch", [3, 5_000])
def test_files_side_by_side_are_one_feed(batch: int, shard: str, run: Run) -> None:
    """
    Records dealt out over files give the same bytes as in one file, in whatever order the files are named.
    """
    rows = crowd(400)
    deal = random.Random(2)
    hands = [deal.choice([0, 0, 0, 1, 2]) for _ in rows]
    parts = [as_csv([row for row, hand in zip(rows, hands, strict=True) if hand == i]) for i in range(3)]
    settings = {"shard__kind": shard, "shard__h3_resolution": 3, "shard__cohorts": 2}
    expected = run(as_csv(rows), **settings)
    for files in (parts, parts[::-1]):
        result = run(*files, batch=batch, **settings)
        assert result.summary.late == 0
        assert result.bytes == expected.bytes


@pytest.mark.parametrize("batch", [2, 5_000])
def test_nothing_is_late_only_because_its_file_was_read_late(batch: int, run: Run) -> None:
    """
    Files that overlap, follow one another in the wrong order, or are empty: each is read when its time has come.
    """
    #  first read   [===================]   100 days, more than window.max_open
    #  second read            [=========]
    #  third read   [=========]
    rows = crowd(600, every_s=14_400)
    files = [as_csv(rows[::2]), as_csv(rows[301::2]), as_csv(rows[1:301:2]), b"user,lat,lon,ts\n"]
    settings = {"window__size": "1d", "window__allowed_lateness": "0", "window__max_open": 30}
    result = run(*files, batch=batch, **settings)
    assert result.summary.late == 0
    assert result.summary.windows_released > 30
    assert result.bytes == run(as_csv(rows), **settings).bytes


@pytest.mark.parametrize("first", [0, 1])
def test_a_file_that_ends_early_does_not_hold_the_others(first: int, run: Run) -> None:
    """
    A source at its end stops holding windows open, and every window comes to its end.
    """
    rows = crowd(300)
    files = [as_csv(rows[:40:2]), as_csv([*rows[1:40:2], *rows[40:]])]
    result = run(files[first], files[1 - first], batch=10)
    assert result.bytes == run(as_csv(rows)).bytes
    check_account(result.summary)


def test_another_secret_gives_other_pseudonyms_and_the_same_places(run: Run) -> None:
    """
    Pseudonyms and ids hang on the secret alone; what SeqAnon releases does not.
    """
    content = as_csv(crowd())
    one, other = run(content), run(content, secret="another" + SECRET)
    assert not {t["pseudonym"] for t in one.trajectories} & {t["pseudonym"] for t in other.trajectories}
    assert not {w["release"] for w in one.window_records} & {w["release"] for w in other.window_records}
    assert sorted(t["locations"] for t in one.trajectories) == sorted(t["locations"] for t in other.trajectories)


def test_pseudonyms_are_fresh_in_every_window(run: Run) -> None:
    """
    Nobody can be followed from one release to the next.
    """
    trajectories = run(as_csv(crowd(400))).trajectories
    assert len({t["release"] for t in trajectories}) > 1
    assert len({t["pseudonym"] for t in trajectories}) == len(trajectories)


# Every record is accounted for


def test_counts_add_up_over_dirt(run: Run) -> None:
    """
    ``records = rejected + late + duplicates + withheld + released + suppressed``, and rejections have reasons.
    """
    rows = crowd(400)
    lines = as_csv(rows).decode().splitlines()
    dirt = [
        "person-1,95,13.4,1600000300",
        "person-1,nan,13.4,1600000300",
        "person-1,51.9,13.4,1600000300",
        "person-1,52.5,13.4,-3339576000",
        "person-1,52.5,13.4,99999999999",
        "person-1,52.5,13.4,",
        ",52.5,13.4,1600000300",
        "person-1,,13.4,1600000300",
        "x" * 300 + ",52.5,13.4,1600000300",
        "person-1,52.5,13.4,soon",
    ]
    spread = [*lines[:5], *dirt, *lines[5:300], *lines[290:300], *lines[300:], lines[1]]
    result = run("\n".join(spread).encode(), batch=50)
    assert result.summary.records == len(spread) - 1
    assert result.summary.rejected == len(dirt)
    assert result.summary.duplicates == 10
    assert result.summary.late == 1  # the first row again, hours later
    assert {reason: n for reason, n in result.summary.reasons.items() if reason in REJECTIONS} == REJECTIONS
    check_account(result.summary)


REJECTIONS = {
    "position_out_of_range": 2,
    "outside_area": 1,
    "time_out_of_range": 2,
    "missing_field": 3,
    "user_id_too_long": 1,
    "wrong_type": 1,
}


def test_a_late_record_is_counted_and_not_released(run: Run) -> None:
    """
    Behind the watermark and in a sealed window: late. Within the allowed lateness: in its window.
    """
    #  window   [0-------------15m)[15m--
    #  rows      ooooooooooooooooo | o(16m30) ^ (14m59)
    people = [Row(f"p{i}", START_S + i, 52.5, 13.5) for i in range(5)]
    after = Row("p0", START_S + 990, 52.5, 13.5)
    straggler = Row("p5", START_S + 899, 52.5, 13.5)
    late = run(as_csv([*people, after, straggler]), batch=1, window__allowed_lateness="1m")
    assert (late.summary.late, late.window_records[0]["population"]) == (1, 5)
    in_time = run(as_csv([*people, after, straggler]), batch=1, window__allowed_lateness="2m")
    assert (in_time.summary.late, in_time.window_records[0]["population"]) == (0, 6)
    check_account(late.summary)
    check_account(in_time.summary)


def test_a_record_on_the_edge_belongs_to_the_later_window(run: Run) -> None:
    """
    Windows are half-open.
    """
    #  12:30:00 [---------) 12:45:00
    #                      [---------)
    rows = [Row(f"p{i}", START_S + at_s, 52.5, 13.5) for at_s in (0, 900) for i in range(3)]
    first, second = run(as_csv(rows)).window_records
    assert first["window"] == ["2020-09-13T12:30:00Z", "2020-09-13T12:45:00Z"]
    assert second["window"] == ["2020-09-13T12:45:00Z", "2020-09-13T13:00:00Z"]
    assert (first["population"], second["population"]) == (3, 3)


def test_points_are_accounted_for_row_by_row(run: Run) -> None:
    """
    A fragment of three points is one record and three rows; one bad point rejects the record.
    """
    fragments = [
        {"user": f"w{i}", "points": [[START_S + s, 52.5 + s * 1e-5, 13.4 + i * 1e-4] for s in (0, 30, 60)]}
        for i in range(5)
    ]
    bad = {"user": "w9", "points": [[START_S, 52.5, 13.4], [START_S + 30, 95.0, 13.4]]}
    content = "\n".join(json.dumps(record) for record in [*fragments, bad, fragments[0]]).encode()
    summary = run(content, kind=Kind.FRAGMENTS).summary
    assert (summary.records, summary.rejected, summary.rows, summary.duplicates) == (7, 1, 18, 3)
    check_account(summary, rows_per_record_is_one=False)


def test_files_without_a_record_give_no_window(run: Run) -> None:
    """
    Nothing came, or nothing that could be read: nothing leaves, and both outputs are there.
    """
    for content in (b"user,lat,lon,ts\n", b"user,lat,lon,ts\n,,,\n" * 3):
        result = run(content)
        assert result.bytes == (b"", b"")
        assert (result.summary.windows, result.summary.rows) == (0, 0)
        check_account(result.summary)


@pytest.mark.parametrize("batch", [1, 3, 5_000])
def test_each_fault_is_counted_with_its_first_place(batch: int, run: Run) -> None:
    """
    Per reason and detail: how many records, and file and line of the first, however the files are read; those
    that cost most come first, and they sum up to what was rejected.
    """
    head = "user,lat,lon,ts\n"
    ok = "".join(f"p{i},52.5,13.5,{START_S + i}\n" for i in range(5))
    first = head + ok + "p1,95,13.5,1600000300\n\np1,x,13.5,1600000300\n" + "p1,52.5,13.5,\n" * 3
    second = head + '"p1,52.5,13.5,1600000300\n' + ok + "p1,y,13.5,1600000300\n"
    result = run(first.encode(), second.encode(), batch=batch)
    found = [one.as_dict() for one in result.summary.rejections.sorted()]
    assert found == result.summary.as_dict()["rejections"]
    names = {Path(str(one["file"])).name for one in found}
    assert names <= {"input-0", "input-1"}
    told = {(one["reason"], one["detail"]): (one["records"], Path(str(one["file"])).name, one["line"]) for one in found}
    assert told == {
        ("wrong_type", "lat must be a number; a text was found"): (2, "input-0", 9),
        ("missing_field", "ts is needed"): (3, "input-0", 10),
        ("position_out_of_range", "lat must be a number from -90 to 90"): (1, "input-0", 7),
        (
            "not_csv",
            "the line has a quotation mark that is not closed, or that is inside a value",
        ): (1, "input-1", 2),
    }
    assert [one["records"] for one in found] == [3, 2, 1, 1]
    check_account(result.summary)


def test_the_first_place_is_the_first_in_the_file(run: Run) -> None:
    """
    Whichever check finds a fault, and whichever point of a fragment has it: points count as one fault.
    """
    records = [
        {"user": "u1", "points": [[START_S, 52.5, 13.5], [START_S, "x", 13.5]]},
        {"user": "u1", "points": [["noon", 52.5, 13.5]]},
        {"user": "u1", "points": [["noon", 52.5, 13.5]]},
        {"user": "u1", "points": [["x", "x", 13.5]]},
        {"user": "u1", "points": [[START_S, "x", 13.5]]},
    ]
    summary = run("\n\n".join(map(json.dumps, records)).encode(), kind=Kind.FRAGMENTS).summary
    found = [(one.detail, one.records, one.unit, one.number) for one in summary.rejections.sorted()]
    assert found == [
        ("points[0] ts must be RFC 3339 with an offset, or a number; a text of another form was found", 3, "line", 3),
        ("points[1] lat must be a number; a text was found", 2, "line", 1),
    ]


def test_elements_of_an_array_have_numbers(run: Run) -> None:
    """
    The place in a JSON array is the element's number, under that name.
    """
    rows = [json.loads(line) for line in as_ndjson(crowd()).splitlines()]
    expected = run(as_csv(crowd()))
    result = run(json.dumps([*rows[:10], {"user": "u"}, *rows[10:]], indent=1).encode())
    assert result.bytes == expected.bytes
    (fault,) = (one.as_dict() for one in result.summary.rejections.sorted())
    assert fault.pop("file")
    assert fault == {"reason": "missing_field", "detail": "ts is needed", "records": 1, "element": 11}


def test_a_run_without_an_accepted_record_has_a_complaint(run: Run) -> None:
    """
    It names the most frequent fault and its place; one accepted record, or none at all, is no reason for it.
    """
    bad, good = "p1,x,13.5,5\n", f"p1,52.5,13.5,{START_S}\n"
    head = "user,lat,lon,ts\n"
    all_alike = run((head + bad * 2).encode()).summary.complaint
    assert all_alike is not None
    assert all_alike.startswith(
        "no record was accepted: 2 of 2 were rejected for wrong_type: lat must be a number; a text was found (first: "
    )
    assert all_alike.endswith("input-0, line 2)")
    mixed = run((head + "p1,1,1,\n" + bad * 2).encode()).summary.complaint
    assert mixed is not None
    assert mixed.startswith("no record was accepted: 2 of 3 were rejected for wrong_type: lat must be a number")
    assert mixed.endswith("input-0, line 3)")
    assert run((head + bad + good).encode()).summary.complaint is None
    assert run(head.encode()).summary.complaint is None


# What may not leave


@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_fewer_than_k_people_leave_nothing(kind: Kind, run: Run) -> None:
    """
    The window is withheld with a reason; no count says how many they were, or how often they came.
    """
    rows = [Row(f"p{i % 2}", START_S + i, 52.5, 13.5) for i in range(77)]
    result = run(as_csv(rows), kind=kind)
    assert result.anonymized == b""
    (window,) = result.window_records
    assert (window["outcome"], window["reason"], window["verified"]) == ("withheld", "too_few_people", False)
    numbers = {name for name, value in window.items() if isinstance(value, int | float) and not isinstance(value, bool)}
    assert numbers == {"schema"}
    assert "77" not in json.dumps(window | {"release": ""})
    assert result.summary.withheld_records == 77
    check_account(result.summary)


@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_a_withheld_window_looks_like_a_window_without_records(kind: Kind, run: Run) -> None:
    """
    By default: ten people and then two, or ten and nobody else, are told alike.
    """
    crowd = [Row(f"p{i}", START_S + i, 52.5, 13.5) for i in range(10)]
    few = [Row(f"q{i}", START_S + DAY_S + i, 52.5, 13.5) for i in range(2)]
    given = {"release__withheld": "silent", "window__size": "1h"}
    alone = run(as_csv(crowd), kind=kind, **given)
    both = run(as_csv(crowd + few), kind=kind, **given)
    assert (both.anonymized, both.windows) == (alone.anonymized, alone.windows)
    assert len(both.window_records) == 1
    assert (both.summary.windows, both.summary.reasons["too_few_people"], both.summary.withheld_records) == (2, 1, 2)


def test_many_visits_are_not_many_people(run: Run) -> None:
    """
    k counts people: 500 visits of two people are withheld, three people with one visit each are not.
    """
    many = run(as_csv([Row(f"p{i % 2}", START_S + i, 52.5, 13.5) for i in range(500)]))
    few = run(as_csv([Row(f"p{i}", START_S + i, 52.5, 13.5) for i in range(3)]))
    assert (many.summary.windows_released, few.summary.windows_released) == (0, 1)


def test_a_refused_release_leaves_nothing_and_raises_an_alarm(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Where the verifier finds a violation the window is withheld, counted as refused, and somebody is told.
    """
    broken = KmReport(smallest_support=1, violations=3)
    monkeypatch.setattr("core.models.km.release.verify_km", lambda *_: broken)
    result = run(as_csv(crowd(40)))
    assert result.anonymized == b""
    assert {window["reason"] for window in result.window_records} == {WithholdReason.VERIFICATION_FAILED}
    assert (result.summary.windows_refused, result.summary.windows_released) == (result.summary.windows, 0)
    assert result.alarms == ["release refused: 3 subtrajectories of length <= 2 have support below k=3"]
    check_account(result.summary)


def test_an_anonymizer_that_fails_leaves_nothing_and_raises_an_alarm(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The feed goes on; the alarm names the exception's type and place, not its text, which could hold a person.
    """

    def fail(*_: object) -> None:
        raise RuntimeError("person-1 was at 52.5, 13.4")

    monkeypatch.setattr("stream.windows.releasing.release_window", fail)
    result = run(as_csv(crowd(40)))
    assert result.anonymized == b""
    assert {window["reason"] for window in result.window_records} == {WithholdReason.ANONYMIZER_FAILED}
    (alarm,) = result.alarms
    assert alarm.startswith("the anonymizer failed: RuntimeError at ")
    assert "person-1" not in alarm
    check_account(result.summary)


def test_a_release_with_a_message_too_large_for_the_topics_is_withheld(run: Run) -> None:
    """
    Nothing of it may leave if not all of it can.
    """
    result = run(as_csv(crowd(40)), max_bytes=600)
    assert result.anonymized == b""
    assert {window["reason"] for window in result.window_records} == {WithholdReason.TOO_LARGE}
    assert "limits.message_bytes=600" in result.alarms[0]
    check_account(result.summary)


def test_a_damaged_file_ends_the_replay_by_name(run: Run) -> None:
    """
    Who replays half a feed has to know.
    """
    content = gzip.compress(as_csv(crowd(4000)))
    with pytest.raises(FileFormatError, match=r"is damaged or cut off \(EOFError\): copy the file again; `gzip"):
        run(content[:-20])


# What users demand


DEMANDS = {
    **dict.fromkeys((f"walker-{i}" for i in range(4)), (6, None)),
    "walker-1": (5, 40.0),
    "walker-5": (None, 30.0),
}
"""Five of twelve; what they all are given is three people and 500 m."""


def said(rows: Sequence[Row], by: Mapping[str, tuple[int | None, float | None]]) -> bytes:
    """Write points as fragments that say what their users demand."""
    records = []
    for row in rows:
        k, delta_m = by.get(row.user, (None, None))
        record = {"user": row.user, "points": [[row.at_s, row.lat, row.lon]], "k": k, "delta_m": delta_m}
        records.append({name: value for name, value in record.items() if value is not None})
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def listed(folder: Path, by: Mapping[str, tuple[int | None, float | None]]) -> str:
    """Write a file of demands."""
    lines = [f"{user},{'' if k is None else k},{'' if m is None else m}\n" for user, (k, m) in by.items()]
    (folder / "demands.csv").write_text("user,k,delta_m\n" + "".join(lines))
    return str(folder / "demands.csv")


@pytest.mark.parametrize("model", ["w4m", "pw4m"])
def test_a_default_is_as_good_as_saying_it_every_time(model: str, run: Run, tmp_path: Path) -> None:
    """
    Demands from the file and the same ones in every record: the same bytes, under either model. Nobody's: others.
    """
    rows = walkers(people=12)
    given: dict[str, Any] = {"kind": Kind.FRAGMENTS, "privacy__model": model, "topics__checkins": ""}
    expected = run(said(rows, DEMANDS), **given)
    assert expected.summary.windows_released > 1
    result = run(said(rows, {}), **given, privacy__demands_file=listed(tmp_path, DEMANDS))
    assert result.bytes == expected.bytes
    assert result.bytes != run(said(rows, {}), **given).bytes
    check_account(result.summary)


def test_sets_honour_what_users_demand_by_default(run: Run, tmp_path: Path) -> None:
    """
    Two crowds far apart: in the one that demands six people within 40 m everybody has them at every time stamp; the
    windows message counts who demanded more.
    """
    here = walkers(people=6, minutes=15)
    there = [Row(f"other-{row.user}", row.at_s, row.lat, row.lon + 0.3) for row in here]
    by = {f"walker-{i}": (6, 40.0) for i in range(6)}
    file = listed(tmp_path, by)
    given: dict[str, Any] = {"kind": Kind.FRAGMENTS, "privacy__model": "pw4m", "privacy__demands_file": file}
    result = run(as_csv([*here, *there]), **given)
    (window,) = result.window_records
    assert (window["model"], window["parameters"]["k"]) == ("pw4m", 3)
    assert window["information_loss"]["people_demanding_more"] == 6
    crowd_here = [t["points"] for t in result.trajectories if t["points"][0][2] < 13.55]
    assert len(crowd_here) == 6
    for instant in zip(*crowd_here, strict=True):
        assert len({at for at, _, _ in instant}) == 1
        assert max(_apart_m(one, other) for one in instant for other in instant) <= 40.0


@pytest.mark.parametrize(("k", "delta_m", "told"), [(2, None, 0), (None, 30.0, 6), (8, None, 6), (3, 600.0, 0)])
def test_a_record_that_speaks_for_itself_is_not_asked_for_the_default(
    k: int | None, delta_m: float | None, told: int, run: Run, tmp_path: Path
) -> None:
    """
    Six of twelve demand more by default. They do so no longer in records that ask for less of what they demanded: told
    are those who still demand more than all are given.
    """
    rows = walkers(people=12, minutes=15)
    default = (None if k is None else 9, None if delta_m is None else 40.0)
    file = listed(tmp_path, {f"walker-{i}": default for i in range(6)})
    speaking = said(rows, {f"walker-{i}": (k, delta_m) for i in range(6)})
    result = run(speaking, kind=Kind.FRAGMENTS, privacy__model="pw4m", privacy__demands_file=file)
    (window,) = result.window_records
    assert window["information_loss"]["people_demanding_more"] == told


def _apart_m(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Distance of two published points on WGS84."""
    return float(Geod(ellps="WGS84").inv(one[2], one[1], other[2], other[1])[2])


# Measures


MEASURE = MeasureOptions(queries=10, projections=2)


@pytest.mark.parametrize("kind", list(INPUT_KINDS))
def test_measuring_changes_nothing_that_leaves(kind: Kind, run: Run) -> None:
    """
    The same bytes and counts with and without; the measures are beside the counts, and only where asked for.
    """
    content = as_csv(crowd() if kind is Kind.CHECKINS else walkers())
    plain, measured = run(content, kind=kind), run(content, kind=kind, measure=MEASURE)
    assert plain.summary.windows_released > 1
    assert measured.bytes == plain.bytes
    counts = measured.summary.as_dict()
    assert counts.pop("measures")
    assert counts | {"seconds": 0} == plain.summary.as_dict() | {"seconds": 0}


def test_the_same_secret_measures_the_same(run: Run) -> None:
    """
    What is drawn hangs on the secret and the releases: queries, pairs, projections.
    """
    content = as_csv(crowd())
    one, again = (run(content, measure=MEASURE).summary.as_dict()["measures"] for _ in range(2))
    other = run(content, measure=MEASURE, secret="another" + SECRET).summary.as_dict()["measures"]
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert one == again
    assert one.keys() == {field.name for field in fields(KmMeasures)}
    assert one["are"] != other["are"]
    assert one["distance_m"] == other["distance_m"]


def test_measures_are_means_weighted_by_trajectories(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A window counts as often as it has trajectories; withheld ones are not measured, and NaN counts for nothing.
    """
    #  released  [12:30 8 people)  withheld [12:45 1)  released [13:00 3 people)
    people = [Row(f"p{i}", START_S + at_s, 52.5, 13.5) for at_s, n in ((0, 8), (900, 1), (1800, 3)) for i in range(n)]
    values = iter([(1.0, 5.0), (2.0, float("nan"))])

    def measured(*_: object) -> KmMeasures:
        distance_m, are = next(values)
        other = dict.fromkeys([field.name for field in fields(KmMeasures)], float("nan"))
        return KmMeasures(**other | {"distance_m": distance_m, "are": are})

    monkeypatch.setattr("stream.replay.replay.measure_window", measured)
    found = run(as_csv(people), measure=MEASURE).summary.as_dict()["measures"]
    assert isinstance(found, dict)
    assert found["distance_m"] == pytest.approx((8 * 1.0 + 3 * 2.0) / 11, abs=1e-6)
    assert found["are"] == 5.0
    assert found["kl_pairs"] is None
    assert next(values, None) is None


def test_means_of_no_window_are_empty() -> None:
    """
    Nothing was released: there is no measure, rather than one of 0.
    """
    assert Means().as_dict() == {}


def test_of_fragments_the_published_figures_are_coarse_means_of_the_measured(run: Run) -> None:
    """
    The translations of the windows messages are those measured, to two digits; the measures are weighted by
    trajectories.
    """
    rows = walkers()
    apart = [row for row in rows if row.at_s < START_S + 900 or row.user not in {"walker-0", "walker-1"}]
    result = run(as_csv(apart), kind=Kind.FRAGMENTS, measure=MEASURE)
    weights = Counter(trajectory["release"] for trajectory in result.trajectories)
    assert len(set(weights.values())) > 1
    found = result.summary.as_dict()["measures"]
    assert isinstance(found, dict)
    assert {"total_distortion_m", "range_distortion_possibly", "range_distortion_definitely"} <= found.keys()
    for name in ("mean_space_translation_m", "mean_time_translation_s"):
        told = {window["release"]: window["information_loss"][name] for window in result.window_records}
        assert all(value == float(f"{value:.2g}") for value in told.values())
        expected = sum(weights[release] * loss for release, loss in told.items()) / weights.total()
        assert found[name] == pytest.approx(expected, rel=0.05, abs=0.05)  # told in tenths


# People are followed from window to window


def test_a_replay_counts_how_well_people_are_followed(run: Run) -> None:
    """
    Two sets of people who walk together are followed with all their members, unless windows mix. One window alone is
    compared with nothing, and one set in it is no news.
    """
    far = [replace(row, user=f"far-{row.user}", lat=row.lat + 0.01) for row in walkers()]
    rows = sorted([*walkers(), *far], key=lambda row: row.at_s)
    options: dict[str, Any] = {"privacy__k": 6, "window__size": "10m"}
    apart = run(as_ndjson(rows, Kind.FRAGMENTS), kind=Kind.FRAGMENTS, privacy__across="none", **options).summary
    assert apart.windows_released > 1
    assert (apart.highest_linkage, apart.mean_linkage) == (1.0, 1.0)
    mixed = run(as_ndjson(rows, Kind.FRAGMENTS), kind=Kind.FRAGMENTS, **options | {"privacy__k": 3}).summary
    assert mixed.highest_linkage is not None
    assert mixed.highest_linkage <= 0.5
    one_set = run(as_ndjson(walkers(), Kind.FRAGMENTS), kind=Kind.FRAGMENTS, privacy__k=6).summary
    assert one_set.windows_released > 1
    assert (one_set.highest_linkage, one_set.mean_linkage) == (None, None)
    alone = run(as_ndjson(walkers(minutes=14), Kind.FRAGMENTS), kind=Kind.FRAGMENTS).summary
    assert alone.windows_released == 1
    assert (alone.highest_linkage, alone.mean_linkage) == (None, None)
