"""Comparisons of any settings: what may vary, what is left out, and results that no interruption changes."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import stream.replay.comparison.one_combination
import stream.replay.comparison.svg
from core.records.record import Kind
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.formats.files.record_file import RecordFile
from stream.formats.input.encodings.extras import MissingExtraError
from stream.replay.comparison.axes import read_axes, shown
from stream.replay.comparison.report import approximate
from stream.replay.replay import Replay
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.windows.releasing import release
from tests.budgets import examples
from tests.builders.inputs import record_file

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
START_S = 1_600_000_200  # where a window of 15 minutes begins
SETTINGS: dict[str, object] = {
    "location.area": "52,13,53,14",
    "location.cells": "4x4",
    "privacy.secret": SECRET,
}
Row = Mapping[str, str]
Shoal = Callable[..., Result]


@pytest.fixture(autouse=True)
def _no_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check-ins of 30 people in an hour."""
    chance = random.Random(1)
    path = tmp_path_factory.mktemp("feed") / "checkins.ndjson"
    homes = [(chance.uniform(52, 53), chance.uniform(13, 14)) for _ in range(6)]
    with path.open("w") as out:
        for i in range(240):
            lat, lon = chance.choice(homes)
            record = {"user": f"person-{chance.randrange(30):02}", "ts": START_S + 14 * i}
            out.write(json.dumps({**record, "lat": round(lat, 6), "lon": round(lon, 6)}) + "\n")
    return path


def arguments(feed: Path, out: Path, *more: str, processes: int = 1) -> list[str]:
    """Return a command line; two processes or more are started apart."""
    named = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    chosen = ["--kind", "checkins", "--output", str(out), "--processes", str(processes), "--dated", "2026-01-31"]
    return ["replay", str(feed), *chosen, *named, *more]


def compared(feed: Path, out: Path, *more: str, processes: int = 1) -> Result:
    """Run ``shoal replay`` with more options."""
    return CliRunner().invoke(main, arguments(feed, out, *more, processes=processes))


def rows_of(out: Path) -> list[Row]:
    """Read what was written."""
    return list(csv.DictReader(io.StringIO((out / "comparison.csv").read_text(), newline="")))


def without_time(rows: list[Row]) -> list[dict[str, str]]:
    """Leave out the one column that differs between runs."""
    return [{name: value for name, value in row.items() if name != "cpu_s"} for row in rows]


def said(result: Result) -> str:
    """Return what was printed to standard error, in one line."""
    return " ".join(result.stderr.split())


# Axes


TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]))


@given(st.lists(st.one_of(st.integers(), TEXT, st.booleans(), st.none()), min_size=1, max_size=5))
def test_a_list_of_yaml_is_read_back(values: list[Any]) -> None:
    """
    Whatever the values are, quoted as JSON they are the values of the axis, each once.
    """
    (axis,) = read_axes(["privacy.k=" + ",".join(json.dumps(value) for value in values)], Kind.CHECKINS)
    assert [shown(value) for value in axis.values] == list(dict.fromkeys(shown(value) for value in values))


@pytest.mark.parametrize(
    ("vary", "kind", "says"),
    [
        ("privacy.k", Kind.CHECKINS, "--vary takes KEY=VALUE,VALUE,..."),
        ("privacy.k=", Kind.CHECKINS, "--vary takes KEY=VALUE,VALUE,..."),
        ("privacy.k=[", Kind.CHECKINS, "stands in quotes"),
        ("location.cell_m=2025-13-45", Kind.CHECKINS, "a date that does not exist, stands in quotes"),
        ("privacy.secret=a,b", Kind.CHECKINS, "a secret decides which random choices are made"),
        ("privacy.noise=laplace", Kind.CHECKINS, "compared without noise"),
        ("shard.finest_resolution=5", Kind.CHECKINS, "whole windows of a shard"),
        ("kafka.bootstrap=a", Kind.CHECKINS, "only settings that decide releases can vary: privacy.*, window.size"),
        ("window.idle_timeout=5m", Kind.CHECKINS, "only settings that decide releases"),
        ("privacy.kk=3", Kind.CHECKINS, "privacy.kk is not a setting"),
        ("stops.radius_m=50", Kind.CHECKINS, "it needs --kind stops"),
        ("trajectories.max_gap=5m", Kind.STOPS, "it needs --kind fragments"),
        ("location.kind=h3", Kind.FRAGMENTS, "it needs --kind checkins or stops"),
        ("privacy.model=w4m", Kind.CHECKINS, "privacy.model has 'w4m': checkins allow seqanon"),
    ],
)
def test_what_cannot_vary_is_refused_with_a_sentence(vary: str, kind: Kind, says: str) -> None:
    """
    Nothing is read before, and a secret can never become a column.
    """
    with pytest.raises(SettingsError, match=re.escape(says)):
        read_axes([vary], kind)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--vary", "privacy.k=3", "--vary", "privacy.k=5"), "--vary has privacy.k twice"),
        (("--vary", "privacy.k=0,1"), "no combination can run with these settings"),
        (("--vary", "privacy.k=3", "--frontier-k", "3"), "--frontier-k needs --frontier"),
        (
            ("--frontier", "--vary", "privacy.k=3", "--frontier-k", "3"),
            "--frontier-k and --vary privacy.k",
        ),
        (("--vary", "privacy.k=3", "--measure", "all"), "--measure cannot be used with --vary"),
        (
            ("--vary", "privacy.k=3", "--set", "shard.kind=region", "--set", "shard.finest_resolution=7"),
            "add --set shard.finest_resolution=none",
        ),
        (("--processes", "2"), "--processes needs --frontier or --vary"),
    ],
)
def test_wrong_options_end_before_anything_is_written(
    more: tuple[str, ...], says: str, feed: Path, tmp_path: Path
) -> None:
    """
    Exit code 2, a sentence, and no folder.
    """
    line = arguments(feed, tmp_path / "out", *more)
    del line[line.index("--processes") : line.index("--dated") + 2]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 2, result.output
    assert says in said(result)
    assert not (tmp_path / "out").exists()


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """
    It could be read only once.
    """
    os.mkfifo(tmp_path / "pipe.csv")
    result = compared(tmp_path / "pipe.csv", tmp_path / "out", "--vary", "privacy.k=3,5")
    assert result.exit_code == 2
    assert "save this one as a file first" in said(result)


# Combinations


def test_rows_are_the_cross_product_with_the_figures_of_replays(feed: Path, tmp_path: Path) -> None:
    """
    Each combination has a row with what a replay under its settings counts, windows of other lengths and other places
    included.
    """
    vary = ("privacy.k=2,4", "window.size=15m,1h", "location.cells=4x4,2x2")
    result = compared(feed, tmp_path, *(part for one in vary for part in ("--vary", one)))
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path)
    varied = [(row["k"], row["window.size"], row["location.cells"]) for row in rows]
    assert varied == [(k, size, cells) for k in ("2", "4") for size in ("15m", "1h") for cells in ("4x4", "2x2")]
    for row in rows:
        own = {name: row[name] for name in ("window.size", "location.cells")} | {"privacy.k": int(row["k"])}
        settings = load_settings(given={**SETTINGS, **own})
        its = Feed(settings, Kind.CHECKINS, secret=SECRET)
        file = record_file(feed, Kind.CHECKINS, settings.fields.model_dump(), max_bytes=10**6)
        summary = Replay(its, [file], now_ms=1_700_000_000_000, max_bytes=2**20).run(tmp_path / "replay")
        file.close()
        assert (int(row["points_released"]), int(row["points_suppressed"]), int(row["points_withheld"])) == (
            summary.points_released,
            summary.points_suppressed,
            summary.withheld_records,
        )
        assert (int(row["windows"]), int(row["windows_released"])) == (summary.windows, summary.windows_released)
        risk = summary.highest_risk
        assert row["highest_risk"] == ("" if risk is None else str(round(risk, 4)))
        assert int(row["people"]) >= int(row["people_released"]) > 0
        assert float(row["cpu_s"]) >= 0


def test_each_way_of_reading_reads_the_records_once(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Two lengths of windows are two readings, however many models and values of k there are.
    """
    read, original = [], RecordFile.entries

    def counted(file: RecordFile) -> Any:
        read.append(file.path)
        return original(file)

    monkeypatch.setattr(RecordFile, "entries", counted)
    vary = ("--vary", "privacy.k=2,3,4", "--vary", "privacy.model=seqanon,p2ka", "--vary", "window.size=15m,1h")
    assert compared(feed, tmp_path, *vary).exit_code == 0
    assert len(rows_of(tmp_path)) == 12
    assert read == [feed, feed]


def test_combinations_that_the_settings_refuse_are_left_out_with_their_sentence(feed: Path, tmp_path: Path) -> None:
    """
    The others run, and the report has the sentence as well.
    """
    vary = ("--vary", "privacy.k=1,3,7", "--vary", "privacy.model=seqanon,disassociation")
    result = compared(feed, tmp_path, *vary, "--set", "privacy.largest_cluster=6")
    assert result.exit_code == 0
    assert "seqanon (k=1) is left out: checkins.privacy.k is 1: it should be greater than or equal to 2" in said(result)
    assert "disassociation (k=7) is left out: privacy.largest_cluster is 6" in said(result)
    ran = [(row["model"], row["k"]) for row in rows_of(tmp_path)]
    assert ran == [("seqanon", "3"), ("disassociation", "3"), ("seqanon", "7")]
    report = " ".join((tmp_path / "report.html").read_text().split())
    assert "disassociation (k=7) is left out: privacy.largest_cluster is 6" in report


# Processes, interruptions


def test_results_do_not_depend_on_the_number_of_processes(feed: Path, tmp_path: Path) -> None:
    """
    One process and three give the same rows, and the same report.
    """
    vary = ("--vary", "privacy.k=2,3", "--vary", "privacy.model=seqanon,lm-anon,p2ka", "--vary", "window.size=15m,1h")
    for processes in (1, 3):
        command = [sys.executable, "-m", "stream.cli.main"]
        line = arguments(feed, tmp_path / str(processes), *vary, processes=processes)
        done = subprocess.run([*command, *line], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert without_time(rows_of(tmp_path / "1")) == without_time(rows_of(tmp_path / "3"))
    assert (tmp_path / "1/report.html").read_bytes() == (tmp_path / "3/report.html").read_bytes()


@pytest.mark.parametrize("seed", range(examples(6)))
def test_however_often_a_run_is_interrupted_the_results_are_the_same(
    seed: int, feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What is finished is kept and not made again; the last run's rows are those of a run in one piece. Windows of raw
    records never stay behind.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    vary = ("--vary", "privacy.k=2,3", "--vary", "privacy.model=seqanon,p2ka", "--vary", "window.size=15m,1h")
    assert compared(feed, tmp_path / "whole", *vary).exit_code == 0
    chance, left, made = random.Random(seed), 0, 0

    def interrupted(*given: Any, **named: Any) -> Any:
        nonlocal left, made
        left, made = left - 1, made + 1
        if left < 0:
            raise KeyboardInterrupt
        return release(*given, **named)

    monkeypatch.setattr(stream.replay.comparison.one_combination, "release", interrupted)
    finished = 0
    while True:
        left = chance.randrange(4, 14)
        result = compared(feed, tmp_path / "pieces", *vary)
        assert not list((tmp_path / "temporary").iterdir())
        rows = rows_of(tmp_path / "pieces")
        complete = sum(row["status"] == "complete" for row in rows)
        assert complete >= finished
        finished = complete
        if result.exit_code == 0:
            break
        assert result.exit_code == 130
        assert f"ended early: {complete} of 8 combinations are finished" in said(result)
        assert {row["status"] for row in rows} <= {"complete", "unfinished"}
    assert rows_of(tmp_path / "pieces") != []
    assert without_time(rows) == without_time(rows_of(tmp_path / "whole"))
    # Nothing is left to do: not one window is released again.
    made = 0
    assert compared(feed, tmp_path / "pieces", *vary).exit_code == 0
    assert made == 0


@pytest.mark.parametrize("change", ["records", "secret", "settings"])
def test_nothing_is_taken_from_a_run_on_something_else(
    change: str, feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Another record, another secret or another setting: every window is released anew.
    """
    other = tmp_path / "checkins.ndjson"
    other.write_bytes(feed.read_bytes())
    vary = ("--vary", "privacy.k=2,3")
    assert compared(other, tmp_path / "out", *vary).exit_code == 0
    made: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        made.append(1)
        return release(*given, **named)

    monkeypatch.setattr(stream.replay.comparison.one_combination, "release", counted)
    assert compared(other, tmp_path / "out", *vary).exit_code == 0
    assert not made
    if change == "records":
        other.write_bytes(b"\n".join(feed.read_bytes().split(b"\n")[:-2]) + b"\n")
    more = {"records": (), "secret": ("--set", f"privacy.secret={SECRET} 2"), "settings": ("--set", "privacy.m=3")}
    assert compared(other, tmp_path / "out", *vary, *more[change]).exit_code == 0
    assert made


def test_a_damaged_part_is_made_again(feed: Path, tmp_path: Path) -> None:
    """
    A file of the folder that cannot be read is as good as none.
    """
    vary = ("--vary", "privacy.k=2,3")
    assert compared(feed, tmp_path, *vary).exit_code == 0
    before = without_time(rows_of(tmp_path))
    for part in (tmp_path / "finished").iterdir():
        part.write_bytes(part.read_bytes()[:20])
    assert compared(feed, tmp_path, *vary).exit_code == 0
    assert without_time(rows_of(tmp_path)) == before


def test_a_signal_ends_all_processes_and_removes_the_windows(feed: Path, tmp_path: Path) -> None:
    """
    Ended by SIGTERM in the middle, the run keeps what is finished, writes it, and leaves no raw record behind.
    """
    (tmp_path / "temporary").mkdir()
    vary = ["--vary", "privacy.k=2,3,4,5", "--vary", "privacy.model=seqanon,p2ka", "--vary", "privacy.m=1,2,3"]
    line = arguments(feed, tmp_path / "out", *vary, "--set", "window.size=5m", processes=2)
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(
        [sys.executable, "-m", "stream.cli.main", *line], env=environment, stderr=subprocess.PIPE, text=True
    ) as run:
        until = time.monotonic() + 120
        while not list((tmp_path / "temporary").iterdir()) and run.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        run.send_signal(signal.SIGTERM)
        _, told = run.communicate(timeout=120)
    assert run.returncode == 130, told
    assert "ended early" in " ".join(told.split())
    assert not list((tmp_path / "temporary").iterdir())
    assert "unfinished" in {row["status"] for row in rows_of(tmp_path / "out")}


# The report


class _Page(HTMLParser):
    """Collects what a page asks for, its ids, and what refers to them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.ids: list[str] = []
        self.named: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.asked += [given[name] for name in ("src", "href") if name in given and not given[name].startswith("#")]
        self.ids += [given["id"]] if "id" in given else []
        self.named += [one[1:] for one in (given.get("href", ""),) if one.startswith("#")]
        self.named += re.findall(r"url\(#([^)]*)\)", " ".join(given.values()))
        if tag == "svg":
            self.pictures += 1
            assert given["role"] == "img"
            self.named += given["aria-labelledby"].split()


def test_the_report_stands_alone_and_is_the_same_again(feed: Path, tmp_path: Path) -> None:
    """
    It asks no host for anything, each id is there once, every reference has its target, and the same comparison with
    the same date gives the same bytes.
    """
    vary = ("--vary", "privacy.k=2,4", "--vary", "privacy.m=1,2", "--vary", "privacy.model=seqanon,p2ka,lm-anon")
    for name in ("one", "two"):
        assert compared(feed, tmp_path / name, *vary).exit_code == 0
    report = (tmp_path / "one/report.html").read_text()
    assert report == (tmp_path / "two/report.html").read_text()
    page = _Page()
    page.feed(report)
    assert page.asked == []
    assert "http" not in report.replace("http://www.w3.org/2000/svg", "")
    assert page.pictures == 5
    assert len(page.ids) == len(set(page.ids))
    assert set(page.named) <= set(page.ids)
    assert "2026-01-31" in report
    for promise in ("finds at least <code>k</code> people who match", "made each released sequence"):
        assert promise in report
    for model in ("seqanon", "p2ka", "lm-anon"):
        assert f">{model}<" in report


def test_nothing_secret_or_raw_is_in_any_result(feed: Path, tmp_path: Path) -> None:
    """
    No id, position or instant of a record, and no secret, in the report, the table, the kept parts or on the terminal;
    and no exact number of people in the report.
    """
    result = compared(feed, tmp_path, "--vary", "privacy.k=3,50", "--vary", "window.size=15m,1h")
    assert result.exit_code == 0
    told = result.output + "".join(path.read_text() for path in sorted(tmp_path.rglob("*.*")))
    for record in map(json.loads, feed.read_text().splitlines()):
        for name in ("user", "lat", "lon", "ts"):
            assert str(record[name]) not in told
    assert SECRET not in told
    assert "fewer than 50" in (tmp_path / "report.html").read_text()


def test_text_of_others_is_no_markup(tmp_path: Path, feed: Path) -> None:
    """
    Names of files and values of settings are text.
    """
    path = tmp_path / "<script>$x^2$&.ndjson"
    path.write_bytes(feed.read_bytes())
    result = compared(path, tmp_path / "out", "--frontier", "--frontier-models", "seqanon", "--frontier-k", "3")
    assert result.exit_code == 0, result.output
    for name in ("report.html", "frontier.svg"):
        written = (tmp_path / "out" / name).read_text()
        assert "<script>" not in written
        assert "&lt;script&gt;$x^2$&amp;.ndjson" in written


def test_without_the_library_there_is_the_table_and_a_sentence(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The figures need no pictures.
    """
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = compared(feed, tmp_path, "--frontier", "--frontier-models", "seqanon", "--frontier-k", "3")
    assert result.exit_code == 0, result.output
    assert "frontier.svg and report.html will be missing: this needs matplotlib: pip install 'shoal[report]'" in said(
        result
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["finished", "frontier.csv"]
    with pytest.raises(MissingExtraError):
        stream.replay.comparison.svg.new_figure(1, 1)


def test_without_the_library_of_the_page_nothing_is_lost_at_the_end(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It is missed before the first window, not after the last.
    """
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = compared(feed, tmp_path, "--vary", "privacy.k=3")
    assert result.exit_code == 0, result.output
    assert "report.html will be missing: this needs Jinja: pip install 'shoal[report]'" in said(result)
    assert len(rows_of(tmp_path)) == 1


@given(st.integers(0, 10**7), st.integers(2, 500))
def test_counts_are_rounded_or_small(count: int, least: int) -> None:
    """
    A count is 0, hidden below the least, or within a twentieth and not more exact than two digits.
    """
    text = approximate(count, least)
    if count == 0:
        assert text == "0"
    elif count < least:
        assert text == f"fewer than {least}"
    else:
        about = int(text.removeprefix("about ").replace(",", ""))
        assert abs(about - count) <= count / 20
        assert len(str(about).rstrip("0")) <= 2


def test_an_evaluation_of_one_combination_has_a_report(feed: Path, tmp_path: Path) -> None:
    """
    One method with one value is a comparison of one row.
    """
    assert compared(feed, tmp_path, "--vary", "privacy.k=3").exit_code == 0
    (row,) = rows_of(tmp_path)
    assert (row["model"], row["k"], row["frontier"]) == ("seqanon", "3", "yes")
    assert "Evaluation of anonymization" in (tmp_path / "report.html").read_text()
    assert np.isfinite(float(row["distance_m"]))


# Other kinds


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points of 12 people who go from one of three places to another, and stop at each for 8 to 30 minutes."""
    chance = random.Random(3)
    path = tmp_path_factory.mktemp("feed") / "journeys.csv"
    places = [(52.50, 13.40), (52.51, 13.42), (52.49, 13.45)]
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("user", "lat", "lon", "ts"))
        rows: list[tuple[str, float, float, int]] = []
        for who in range(12):
            at_s = START_S + chance.randrange(120)
            while at_s < START_S + 3600:
                lat, lon = chance.choice(places)
                for _ in range(chance.randrange(8, 30)):
                    jitter = chance.uniform(-5e-5, 5e-5)
                    rows.append((f"walker-{who:02}", round(lat + jitter, 6), round(lon - jitter, 6), at_s))
                    at_s += 60
                at_s += 300
        rows.sort(key=lambda row: row[3])
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("kind", "vary", "axis"),
    [
        (Kind.STOPS, "stops.radius_m=30,200", "stops.radius_m"),
        (Kind.STOPS, "stops.min_duration=5m,10m", "stops.min_duration"),
        (Kind.FRAGMENTS, "trajectories.max_gap=3m,none", "trajectories.max_gap"),
        (Kind.FRAGMENTS, "privacy.across=none,mixing", "privacy.across"),
    ],
)
def test_fragments_and_stops_have_the_figures_of_replays(
    kind: Kind, vary: str, axis: str, journeys: Path, tmp_path: Path
) -> None:
    """
    Also where a window depends on the one before: stops over a border, and groups that must mix.
    """
    given = {
        "privacy.secret": SECRET,
        "privacy.k": 2,
        "location.area": "52,13,53,14",
        "location.cells": "20x20",
        "window.size": "15m",
    }
    named = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    line = ["replay", str(journeys), "--kind", kind.value, "--output", str(tmp_path), *named, "--processes", "1"]
    result = CliRunner().invoke(main, [*line, "--vary", vary])
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path)
    assert len(rows) == 2
    for row in rows:
        settings = load_settings(given={**given, axis: row[axis]})
        its = Feed(settings, kind, secret=SECRET)
        file = record_file(journeys, kind.input_kind, settings.fields.model_dump(), max_bytes=10**6)
        summary = Replay(its, [file], now_ms=1_700_000_000_000, max_bytes=2**20).run(tmp_path / "replay")
        file.close()
        stops = kind is Kind.STOPS
        released = summary.stops_released if stops else summary.points_released
        suppressed = summary.stops_suppressed if stops else summary.points_suppressed
        withheld = summary.stops_withheld if stops else summary.withheld_records
        assert released > 0
        assert (int(row["points_released"]), int(row["points_suppressed"])) == (released, suppressed)
        assert int(row["points_withheld"]) == withheld
        assert int(row["windows"]) == summary.windows > 2
