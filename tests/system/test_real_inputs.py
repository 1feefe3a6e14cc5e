"""What feeds really hold, from file to release: who counts, what is a place, and which records are used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.records.record import Kind
from stream.feeds.feed import build_feeds
from stream.feeds.record_files import open_files
from stream.replay.replay import Replay
from stream.replay.summary import Summary
from stream.settings.load import load_settings

START_S = 1_483_225_200  # 2016-12-31T23:00:00Z
PLACES = [(48.2, 16.3), (48.3, 16.4)]
SETTINGS: dict[str, Any] = {
    "privacy.secret": "a secret of the tests, long enough",
    "privacy.k": 5,
    "release.withheld": "announced",
    "privacy.span_step": "30s",  # then a release has as many points as the feed
    "window.size": "1h",
    "location.cell_m": "1000",
}
SIX = [f"p{i:02d}" for i in range(6)]


def replayed(tmp_path: Path, name: str, content: str | bytes, kind: Kind) -> tuple[Summary, list[dict[str, Any]]]:
    """Replay a file and return the counts and the windows."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    settings = load_settings(given=SETTINGS)
    feed = build_feeds(settings)[kind]
    files = open_files(settings, feed, [path])
    run = Replay(feed, files, now_ms=2**41, max_bytes=settings.limits.message_bytes)
    summary = run.run(tmp_path / "out")
    for file in files:
        file.close()
    return summary, [json.loads(line) for line in (tmp_path / "out" / "windows.ndjson").read_text().splitlines()]


def check_ins(users: Sequence[Any], **more: Any) -> list[dict[str, Any]]:
    """Everybody visits both places."""
    return [
        {"user": user, "ts": START_S + 60 * i + n, "lat": lat, "lon": lon} | more
        for n, (lat, lon) in enumerate(PLACES)
        for i, user in enumerate(users)
    ]


def ndjson(records: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    "users",
    [
        ["p01", "p01 ", "p02", "p03", "p04"],
        ["jos\u00e9", "jose\u0301", "p02", "p03", "p04"],
        [7, "7", "p02", "p03", "p04"],
        [7.0, "007", "p02", "p03", "p04"],
        ["P01", "p01\u200b", "p02", "p03", "p04"],
        ["{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "3f2504e04f8911d39a0c0305e82c3301", "p02", "p03", "p04"],
    ],
)
@pytest.mark.parametrize("form", ["ndjson", "csv", "json"])
def test_four_people_are_four_however_they_are_spelled(users: list[Any], form: str, tmp_path: Path) -> None:
    """
    Five ids of four people, and k is 5: the window is withheld, whatever the file.
    """
    records = check_ins(users)
    content = {
        "ndjson": ndjson(records),
        "json": json.dumps(records),
        "csv": "user,ts,lat,lon\n" + "".join(",".join(map(str, one.values())) + "\n" for one in records),
    }[form]
    summary, (window,) = replayed(tmp_path, f"feed.{form}", content, Kind.CHECKINS)
    assert (window["outcome"], window["reason"]) == ("withheld", "too_few_people")
    assert (summary.rejected, summary.withheld_records) == (0, 10)


@pytest.mark.parametrize("nobody", ["", " ", None, "null", "NaN", "00000000-0000-0000-0000-000000000000"])
def test_nobody_is_not_a_person(nobody: Any, tmp_path: Path) -> None:
    """
    Four people, and records without an id: together these are no fifth.
    """
    summary, (window,) = replayed(tmp_path, "feed.ndjson", ndjson(check_ins([*SIX[:4], nobody])), Kind.CHECKINS)
    assert window["reason"] == "too_few_people"
    assert summary.rejected == 2


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + ndjson(check_ins(SIX)),
        json.dumps(check_ins(SIX)),
        json.dumps(check_ins(SIX), indent=2),
        ndjson(check_ins(SIX, speed=float("nan"), altitude=float("-inf"))),
        ndjson(check_ins(SIX)).replace(str(START_S), '"2016-12-31T23:59:60Z"'),
        ndjson([*check_ins(SIX), *({"user": user, "ts": START_S, "lat": 0, "lon": 0} for user in SIX)]),
    ],
    ids=["a byte order mark", "an array", "an array over lines", "NaN nobody reads", "leap seconds", "0,0"],
)
def test_six_people_and_twelve_visits_are_released(content: str, tmp_path: Path) -> None:
    """
    However programs write them, and whatever they write beside them.
    """
    _, (window,) = replayed(tmp_path, "feed.ndjson", content, Kind.CHECKINS)
    assert (window["outcome"], window["people"], window["points_released"]) == ("released", 6, 12)


@pytest.mark.parametrize("extra", [[None, None], [0, 0], [0.0, -0.0], [None, 16.3], []])
def test_a_receiver_without_a_fix_costs_one_point(extra: list[Any], tmp_path: Path) -> None:
    """
    Six fragments of six points, with altitude and accuracy, and each with one more without a position.
    """
    fragments = []
    for i, user in enumerate(SIX):
        good = [[START_S + 30 * n, 48.2 + i * 1e-4, 16.3 + n * 1e-3, 171.5, {"accuracy": 4}] for n in range(6)]
        fragments.append({"user": user, "points": [*good[:3], [START_S + 75, *extra], *good[3:]]})
    summary, (window,) = replayed(tmp_path, "feed.ndjson", ndjson(fragments), Kind.FRAGMENTS)
    assert (window["outcome"], window["people"], window["points_released"]) == ("released", 6, 36)
    assert (summary.rejected, summary.points_left_out) == (0, 6)


def test_a_quotation_mark_that_nobody_closes_costs_one_line(tmp_path: Path) -> None:
    """
    Twelve lines are twelve records: the one at fault is rejected with its line, the others are used.
    """
    lines = [f"{one['user']},{one['ts']},{one['lat']},{one['lon']},Bar" for one in check_ins(SIX)]
    lines[2] = lines[2].replace("Bar", '"Joe Bar')
    summary, (window,) = replayed(tmp_path, "feed.csv", "user,ts,lat,lon,venue\n" + "\n".join(lines), Kind.CHECKINS)
    assert (summary.records, summary.rejected, window["points_released"]) == (12, 1, 11)
    (fault,) = summary.rejections.sorted()
    assert fault.as_dict()["line"] == 4
