"""Stops of real feeds: each point is counted once, and windows find the stops of the whole tracks.

The feeds are not part of the project: without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from core.kernels.oracles.runs import TrackPoint, TrackStop, stops_of_track
from core.places.locate import Locator, MetricGrid
from core.records.record import Kind, Rows
from core.windows.history import Roster
from core.windows.window import WindowKey
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from tests.paths import DATA

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NOW_MS = 1_900_000_000_000
MINUTE_MS = 60_000
SIZES = ("15m", "1h", "1d")
CELL_M = 1000.0


class RealFeed(NamedTuple):
    """A feed of fragments, and how it is read."""

    file: str
    points: int
    given: dict[str, object]
    min_minutes: int
    max_gap_minutes: int

    @property
    def settings(self) -> dict[str, object]:
        """How it is read, and when somebody stops."""
        rule = {"stops.min_duration": f"{self.min_minutes}m", "stops.max_gap": f"{self.max_gap_minutes}m"}
        return {**self.given, **rule, "location.cell_m": CELL_M}


FEEDS = {
    "cabs": RealFeed("cabs_sf_20080608.csv.gz", 240_280, {}, 10, 720),
    "trucks": RealFeed(
        "athens_trucks_w4m.tsv.gz",
        112_203,
        {
            "files.metres": "EPSG:2100",
            "files.start": "2010-01-04T00:00:00Z",
            "window.allowed_lateness": "7d",  # the file goes by truck, not by time
        },
        10,
        60,
    ),
    "ships": RealFeed("ais_us_20220103.csv.gz", 99_999, {}, 3, 4),  # nearly all of it is of 22 minutes
}

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the real feeds are not in {DATA}"),
]


class FoundInWindow(NamedTuple):
    """The points of a window, and the stops that end in it."""

    key: WindowKey
    points: Rows
    visits: Rows


def windows_of(name: str, size: str) -> Iterator[FoundInWindow]:
    """Read a feed as a replay does, and find the stops of each window."""
    real = FEEDS[name]
    settings = load_settings(given={"window.size": size, **real.settings})
    feed = Feed(settings, Kind.STOPS, secret=SECRET)
    files = open_files(settings, feed, [DATA / real.file])
    windows = FileWindows(feed, files, now_ms=NOW_MS, summary=Summary())
    for window in windows:
        key = window.seal.key
        found = feed.plan.after(window.history).find_stops(window.seal, window.rows)
        windows.remember(key, [replace(Roster.of_nobody(key), carried=found.runs)])
        yield FoundInWindow(key, window.rows, found.visits)
    for file in files:
        file.close()


@cache
def stops_of_tracks(name: str) -> list[tuple[int, TrackStop]]:
    """Find the stops of every person's whole track by the oracle, those that never end as well."""
    rows = np.concatenate([window.points for window in windows_of(name, "1d")])
    assert len(rows) == FEEDS[name].points
    rows = rows[np.lexsort((rows["offset"], rows["ts_ms"], rows["user"]))]
    users, starts = np.unique(rows["user"], return_index=True)
    found = []
    for user, track in zip(users.tolist(), np.split(rows, starts[1:]), strict=True):
        points = zip(track["ts_ms"].tolist(), track["lat"].tolist(), track["lon"].tolist(), strict=True)
        stops = stops_of_track(
            [TrackPoint(ts_ms, lat, lon, 0) for ts_ms, lat, lon in points],
            radius_m=100.0,
            min_duration_ms=FEEDS[name].min_minutes * MINUTE_MS,
            max_gap_ms=FEEDS[name].max_gap_minutes * MINUTE_MS,
            until_ms=NOW_MS,
        )
        found += [(user, stop) for stop in stops]
    return found


def place_of(stop: TrackStop, locator: Locator) -> int:
    places, _ = locator.locate(np.array([stop.lat]), np.array([stop.lon]), [None])
    return int(places[0])


def expected_of(name: str, windows: list[WindowKey]) -> list[tuple[int, int, int]]:
    """Return user, time and place of each stop that has ended when the last window ends.

    A stop is told in the first window with records that ends after it has ended.
    """
    ends, starts = [one.end_ms for one in windows], [one.start_ms for one in windows]
    grid, found = MetricGrid(CELL_M), []
    for user, stop in stops_of_tracks(name):
        at = int(np.searchsorted(ends, stop.ended_ms, side="right"))
        if at < len(ends):
            found.append((user, max(stop.ended_ms, starts[at]), place_of(stop, grid)))
    return sorted(found)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FEEDS)
def test_windows_find_the_stops_of_whole_tracks(name: str, size: str) -> None:
    """
    However a day is cut into windows: the same people stop at the same places, and each stop is told once.
    """
    windows = list(windows_of(name, size))
    assert sum(len(window.points) for window in windows) == FEEDS[name].points
    found = [
        (int(visit["user"]), int(visit["ts_ms"]), int(visit["location"]))
        for window in windows
        for visit in window.visits
    ]
    expected = expected_of(name, [window.key for window in windows])
    assert len(expected) >= 20
    assert sorted(found) == expected


@pytest.mark.parametrize("model", ["seqanon", "p2ka", "flows"])
@pytest.mark.parametrize("size", ["1h", "1d"])
@pytest.mark.parametrize("name", FEEDS)
def test_every_point_and_every_stop_is_counted_once(name: str, size: str, model: str, tmp_path: Path) -> None:
    """
    Points are late, duplicates or condensed; stops are released, suppressed or withheld; no release is refused.
    """
    real = FEEDS[name]
    given = {**real.settings, "privacy.secret": SECRET, "window.size": size, "privacy.model": model}
    command = ["replay", str(DATA / real.file), "--kind", "stops", "--output", str(tmp_path), "--json"]
    sets = [part for one in given.items() for part in ("--set", f"{one[0]}={one[1]}")]
    result = CliRunner().invoke(main, [*command, *sets])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["records"] == summary["rows"] == real.points
    assert summary["late"] + summary["duplicates"] + summary["points_condensed"] == real.points
    n_stops = sum(summary[f"stops_{which}"] for which in ("released", "suppressed", "withheld", "nowhere"))
    assert n_stops == len(expected_of(name, [window.key for window in windows_of(name, size)]))
    assert summary["windows_refused"] == 0
    assert not {"anonymizer_failed", "verification_failed"} & summary["reasons"].keys()
    windows = [json.loads(line) for line in (tmp_path / "windows.ndjson").read_bytes().splitlines()]
    assert len(windows) == summary["windows_released"]
    assert all(window["verified"] and window["kind"] == "stops" for window in windows)
