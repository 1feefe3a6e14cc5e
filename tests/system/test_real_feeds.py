"""Real feeds through the whole path, and what was released checked again from the files alone.

The checks here share nothing with the anonymizers or the verifiers: they read the two files that a replay writes, and
count and measure by brute force. The feeds are not part of the project: without them these tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

from stream.cli.main import main
from tests.oracles.km import is_km_anonymous
from tests.paths import DATA

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real feeds are not here: they belong into ../shared/data, beside the repository"
)

Released = dict[str, list[dict[str, Any]]]
"""Trajectories by release id."""


@dataclass(frozen=True)
class Replayed:
    """What a replay said and wrote."""

    summary: dict[str, Any]
    windows: list[dict[str, Any]]
    trajectories: Released

    @property
    def released(self) -> list[dict[str, Any]]:
        """The windows that left."""
        return [window for window in self.windows if window["outcome"] == "released"]


Replay = Callable[..., Replayed]


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Replay a file by the command line and read back what it wrote."""

    def replay(path: Path, kind: str, **settings: object) -> Replayed:
        given = {"privacy.secret": SECRET, "release.withheld": "announced"} | {
            name.replace("__", "."): value for name, value in settings.items()
        }
        arguments = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
        command = ["replay", str(path), "--kind", kind, "--output", str(tmp_path / "out"), "--json", *arguments]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        trajectories: Released = defaultdict(list)
        for line in (tmp_path / "out" / "anonymized.ndjson").read_bytes().splitlines():
            trajectory = json.loads(line)
            trajectories[trajectory["release"]].append(trajectory)
        windows = [json.loads(line) for line in (tmp_path / "out" / "windows.ndjson").read_bytes().splitlines()]
        return Replayed(json.loads(result.stdout), windows, trajectories)

    return replay


@pytest.fixture
def first_rows(tmp_path: Path) -> Callable[[str, int], Path]:
    """Cut a feed after some rows."""

    def first_rows(name: str, n: int) -> Path:
        path = tmp_path / f"{name}.csv"
        with gzip.open(DATA / f"{name}.csv.gz") as whole, path.open("wb") as part:
            part.writelines(line for _, line in zip(range(n + 1), whole, strict=False))
        return path

    return first_rows


def times_of(name: str) -> list[float]:
    """Return the time stamps of a feed, Unix seconds."""
    with gzip.open(DATA / f"{name}.csv.gz", "rt", encoding="utf-8", errors="replace") as lines:
        return [float(row["ts"]) for row in csv.DictReader(lines)]


def check_account(replayed: Replayed, n_rows: int) -> None:
    """Every row of the file is in exactly one count, and the windows messages agree with the summary."""
    summary = replayed.summary
    assert summary["records"] == n_rows
    places = ("rejected", "late", "duplicates", "withheld_records", "points_released", "points_suppressed")
    assert sum(summary[place] for place in places) == n_rows
    assert summary["windows"] == len(replayed.windows)
    assert summary["windows_released"] == len(replayed.released) > 0
    assert summary["windows_released"] + summary["windows_withheld"] == summary["windows"]
    assert summary["windows_refused"] == 0
    assert summary["trajectories_released"] == sum(map(len, replayed.trajectories.values()))
    for window in replayed.released:
        lengths = [len(one["points" if "points" in one else "locations"]) for one in trajectories_of(replayed, window)]
        assert window["points_released"] == sum(lengths)
    if replayed.windows[0]["kind"] == "checkins":  # of trajectories what is released stands for other points
        assert summary["points_released"] == sum(window["points_released"] for window in replayed.released)


def trajectories_of(replayed: Replayed, window: dict[str, Any]) -> list[dict[str, Any]]:
    """What a window released."""
    return replayed.trajectories[window["release"]]


def check_windows(replayed: Replayed, k: int) -> None:
    """A window is released, verified and complete, or withheld without a trajectory and without a count."""
    seen = Counter((window["shard"], *window["window"]) for window in replayed.windows)
    assert set(seen.values()) == {1}
    assert set(replayed.trajectories) == {window["release"] for window in replayed.released}
    pseudonyms = [trajectory["pseudonym"] for own in replayed.trajectories.values() for trajectory in own]
    assert len(set(pseudonyms)) == len(pseudonyms)
    for window in replayed.windows:
        if window["outcome"] == "withheld":
            assert window["verified"] is False
            assert not {"population", "people", "trajectories", "points_released"} & window.keys()
            continue
        own = replayed.trajectories[window["release"]]
        assert window["verified"] is True
        assert window["trajectories"] == len(own)
        assert [t["pseudonym"] for t in own] == sorted(t["pseudonym"] for t in own)
        assert all((t["window"], t["shard"]) == (window["window"], window["shard"]) for t in own)
        assert k <= window["smallest_support"] <= window["people"] <= len(own)
        assert window["population"] is None or window["population"] - window["people"] not in range(1, k)
        assert window["points_suppressed"] is None or window["points_suppressed"] not in range(1, k)


def check_km(replayed: Replayed, k: int, m: int) -> None:
    """Count the supporters of every subtrajectory that was published, by hand (Poulis et al. 2014, Definition 4).

    No trajectory was cut in these replays, so each is another person.
    """
    for window in replayed.released:
        sequences = [
            tuple("+".join(location) for location in trajectory["locations"])
            for trajectory in replayed.trajectories[window["release"]]
        ]
        assert window["people"] == len(sequences)
        assert window["points_released"] == sum(map(len, sequences))
        supports: Counter[tuple[str, ...]] = Counter()
        for sequence in sequences:
            supports.update({part for size in range(1, m + 1) for part in combinations(sequence, size)})
        assert min(supports.values()) == window["smallest_support"] >= k
        listed = ["+".join(location["members"]) for location in window["locations"]]
        assert set(listed) == {location for sequence in sequences for location in sequence}
        members = [member for location in window["locations"] for member in location["members"]]
        assert len(set(members)) == len(members)  # a location belongs to one generalized location


def ms_of(moment: str) -> float:
    """Read an instant."""
    return datetime.fromisoformat(moment).timestamp() * 1000


def geocentric_m(lat_deg: npt.NDArray[np.float64], lon_deg: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return positions on the WGS84 ellipsoid, metres, one more axis of three."""
    a_m, e2 = 6_378_137.0, 0.00669437999014
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    n_m = a_m / np.sqrt(1 - e2 * np.sin(lat) ** 2)
    return np.stack(
        [n_m * np.cos(lat) * np.cos(lon), n_m * np.cos(lat) * np.sin(lon), n_m * (1 - e2) * np.sin(lat)], -1
    )


def check_kdelta(replayed: Replayed, k: int, delta_m: float) -> None:
    """Measure every pair that was published with the same time stamps (Theodosopoulos 2013, Definitions 2 to 4).

    Each trajectory must have ``k - 1`` others within ``delta_m`` at all of its time stamps. Lines are straight: over
    such distances they fall short of the ground by less than a micrometre.
    """
    for window in replayed.released:
        own = replayed.trajectories[window["release"]]
        start_ms, end_ms = map(ms_of, window["window"])
        together: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
        for trajectory in own:
            times = tuple(point[0] for point in trajectory["points"])
            assert all(start_ms <= ms_of(moment) <= end_ms for moment in (times[0], times[-1]))
            assert list(times) == sorted(set(times))
            together[times].append([point[1:] for point in trajectory["points"]])
        assert window["people"] == len(own)
        for alike in together.values():
            positions = np.array(alike)  # (n, t, 2)
            xyz_m = geocentric_m(positions[..., 0], positions[..., 1])  # (n, t, 3)
            for one_m in xyz_m:
                near = (np.square(xyz_m - one_m).sum(axis=2) <= delta_m**2).all(axis=1)  # (n,) itself too
                assert near.sum() >= k


# Check-ins


@pytest.mark.deep
def test_check_ins_of_new_york_are_released_week_by_week(replay: Replay) -> None:
    """
    gowalla_nyc: 18 months in weekly windows, one crowd, a grid over the city: every released week is 5^2-anonymous.
    """
    replayed = replay(
        DATA / "gowalla_nyc.csv.gz", "checkins",
        window__size="7d", privacy__k=5, privacy__m=2, limits__trajectory_length=10_000,
        location__area="40.5,-74.3,41.0,-73.6", location__cells="20x20",
    )  # fmt: skip
    check_account(replayed, 138_957)
    check_windows(replayed, k=5)
    check_km(replayed, k=5, m=2)
    assert replayed.summary["points_released"] > 0.95 * 138_957


FLICKR = ("flickr_edin", "flickr_melb", "flickr_toro")
Y2000_S = 946_684_800


@pytest.mark.parametrize("name", FLICKR)
def test_dirty_times_are_rejected_and_counted(name: str, replay: Replay) -> None:
    """
    Photographs of 1903 and 1982 are cameras with a wrong clock: before ``time.earliest`` they are rejected.
    """
    times = times_of(name)
    replayed = replay(
        DATA / f"{name}.csv.gz", "checkins", window__size="30d", privacy__k=3, privacy__m=2,
        limits__trajectory_length=1000, location__kind="h3", location__h3_resolution=9,
    )  # fmt: skip
    too_old = sum(ts < Y2000_S for ts in times)
    assert replayed.summary["rejected"] == replayed.summary["reasons"].get("time_out_of_range", 0) == too_old
    check_account(replayed, len(times))
    check_windows(replayed, k=3)
    check_km(replayed, k=3, m=2)


@pytest.mark.parametrize("name", FLICKR)
@pytest.mark.deep
def test_old_times_are_windowed_where_they_are_accepted(name: str, replay: Replay) -> None:
    """
    With an earlier ``time.earliest`` each of them has its window, before 1970 too, and is counted there.
    """
    times = times_of(name)
    replayed = replay(
        DATA / f"{name}.csv.gz", "checkins", window__size="30d", privacy__k=3, privacy__m=2,
        limits__trajectory_length=1000, location__kind="h3", location__h3_resolution=9, time__earliest="1800-01-01",
    )  # fmt: skip
    assert replayed.summary["rejected"] == 0
    check_account(replayed, len(times))
    check_windows(replayed, k=3)
    size_s = 30 * 86_400
    expected = {int(ts // size_s) * size_s for ts in times}
    starts = {int(ms_of(window["window"][0])) // 1000 for window in replayed.windows}
    assert starts == expected
    for window in replayed.released:  # small enough to look for every subtrajectory in every trajectory
        number: dict[str, int] = {}
        crowd = [
            (i, tuple(number.setdefault("+".join(x), len(number)) for x in trajectory["locations"]))
            for i, trajectory in enumerate(replayed.trajectories[window["release"]])
        ]
        assert is_km_anonymous(crowd, 3, 2)


def test_the_flickr_feeds_hold_the_times_that_these_tests_are_about() -> None:
    """
    There are old time stamps to reject, some of them before 1970.
    """
    years = {datetime.fromtimestamp(ts, tz=UTC).year for name in FLICKR for ts in times_of(name) if ts < Y2000_S}
    assert {1903, 1982} <= years


def test_check_ins_of_calgary_are_released(replay: Replay) -> None:
    """
    fsq_calgary: every field is there, some categories hold broken characters, which harm nobody.
    """
    replayed = replay(
        DATA / "fsq_calgary.csv.gz", "checkins", window__size="7d", privacy__k=5, privacy__m=2,
        location__cell_m=1000, limits__trajectory_length=1000,
    )  # fmt: skip
    check_account(replayed, 9_317)
    assert replayed.summary["rejected"] == 0
    check_windows(replayed, k=5)
    check_km(replayed, k=5, m=2)


# Fragments


@pytest.mark.deep
def test_the_first_cabs_of_a_day_are_released(replay: Replay, first_rows: Callable[[str, int], Path]) -> None:
    """
    cabs_sf, 30,000 points in windows of 15 minutes: k = 5, delta = 500 m.
    """
    replayed = replay(
        first_rows("cabs_sf_20080608", 30_000), "fragments",
        window__size="15m", privacy__k=5, privacy__delta_m=500,
    )  # fmt: skip
    check_account(replayed, 30_000)
    check_windows(replayed, k=5)
    check_kdelta(replayed, k=5, delta_m=500.0)


@pytest.mark.parametrize("translation", ["minimal", "exchangeable"])
@pytest.mark.deep
def test_the_trucks_of_the_papers_are_released(translation: str, replay: Replay) -> None:
    """
    athens_trucks, in metres and with lost start times, as one window: every line is counted and nobody is refused.
    """
    replayed = replay(
        DATA / "athens_trucks_w4m.tsv.gz", "fragments", files__metres="EPSG:2100", files__start="2002-08-01",
        window__size="1d", privacy__k=5, privacy__delta_m=500, privacy__translation=translation, privacy__across="none",
    )  # fmt: skip
    check_account(replayed, 112_203)
    assert (replayed.summary["rejected"], replayed.summary["windows"]) == (0, 1)
    assert replayed.windows[0]["population"] == 276
    check_windows(replayed, k=5)
    check_kdelta(replayed, k=5, delta_m=500.0)
    for trajectory in replayed.trajectories[replayed.windows[0]["release"]]:
        lat, lon = np.array([point[1:] for point in trajectory["points"]]).T
        assert (lat.min() > 37.5, lat.max() < 38.5, lon.min() > 23.0, lon.max() < 24.5) == (True,) * 4  # Attica


@pytest.mark.slow
def test_a_day_of_cabs_is_released(replay: Replay) -> None:
    """
    cabs_sf, the whole day.
    """
    replayed = replay(
        DATA / "cabs_sf_20080608.csv.gz", "fragments", window__size="15m", privacy__k=5, privacy__delta_m=500
    )
    check_account(replayed, 240_280)
    check_windows(replayed, k=5)
    check_kdelta(replayed, k=5, delta_m=500.0)


def check_ships(replayed: Replayed, n_rows: int) -> None:
    """Sparse and wide: much is moved far, and what cannot be is left out, but nothing is refused."""
    check_account(replayed, n_rows)
    check_windows(replayed, k=5)
    check_kdelta(replayed, k=5, delta_m=500.0)


@pytest.mark.deep
def test_ships_of_a_whole_country_are_released(replay: Replay, first_rows: Callable[[str, int], Path]) -> None:
    """
    ais_us, half a minute of all coasts, from Guam to Maine, as one crowd.
    """
    replayed = replay(
        first_rows("ais_us_20220103", 2_000), "fragments", window__size="1m", privacy__k=5, privacy__delta_m=500
    )
    check_ships(replayed, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("cohorts", [1, 8])
def test_more_ships_of_a_whole_country_are_released(
    cohorts: int, replay: Replay, first_rows: Callable[[str, int], Path]
) -> None:
    """
    Four minutes of them, as one crowd or in cohorts of which each has all coasts.
    """
    replayed = replay(
        first_rows("ais_us_20220103", 20_000), "fragments",
        window__size="2m", privacy__k=5, privacy__delta_m=500, shard__kind="user", shard__cohorts=cohorts,
    )  # fmt: skip
    assert len({window["shard"] for window in replayed.windows}) == cohorts
    check_ships(replayed, 20_000)
