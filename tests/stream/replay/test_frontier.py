"""The frontier of a file: figures are those of replays, marks those of the definition, and nothing raw is told."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import stream.replay.comparison.one_combination
from core.models.kdelta.algorithms import WaitForMe
from core.models.measures import measure_loss
from core.models.registry import models_of
from core.records.record import Kind
from core.utility.window_measures import MeasureOptions
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.formats.files.record_file import RecordFile
from stream.formats.release.result import WindowResult
from stream.replay.comparison.axes import variants_of
from stream.replay.comparison.frontier_picture import frontier_svg
from stream.replay.comparison.table import NOTICE, ComparisonRow
from stream.replay.picture_labels import LabelPoint, places
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from stream.windows.releasing import release
from tests.builders.inputs import record_file

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
START_S = 1_600_000_200  # where a window of 15 minutes begins
SETTINGS: dict[str, object] = {
    "location.area": "52,13,53,14",
    "location.cells": "4x4",
    "privacy.secret": SECRET,
    "privacy.constraints": "level:1",
    "privacy.attributes": "{age: 18..90}",
}
CHECKINS = models_of(Kind.CHECKINS)
FRAGMENTS = models_of(Kind.FRAGMENTS)
MEASURED = ("seqanon", "sd-seqanon", "u-seqanon", "least-loss", "auto", "lm-anon", "zga", "sga")
"""Models of check-ins whose measures have D as well."""

Shoal = Callable[..., Result]
Row = Mapping[str, str]


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch) -> Shoal:
    """Run ``shoal replay --frontier``; no setting comes from the environment of the tests."""
    _forget_settings(monkeypatch)
    return _shoal


def _forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


def _shoal(feed: Path, out: Path, *more: str, kind: str = "checkins", given: Mapping[str, object] = SETTINGS) -> Result:
    named = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    return CliRunner().invoke(
        main,
        ["replay", str(feed), "--kind", kind, "--frontier", "--processes", "1", "--output", str(out), *named, *more],
    )


@pytest.fixture(scope="session")
def checkins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check-ins of 30 people in two windows, the second with too few of them for a k of 5."""
    chance = random.Random(1)
    path = tmp_path_factory.mktemp("feed") / "checkins.ndjson"
    homes = [(chance.uniform(52, 53), chance.uniform(13, 14)) for _ in range(6)]
    with path.open("w") as out:
        for i in range(240):
            who = chance.randrange(30) if i < 210 else chance.randrange(4)
            lat, lon = chance.choice(homes)
            at = START_S + (i * 4 if i < 210 else 900 + i)
            record = {"user": f"person-{who:02}", "ts": at, "lat": round(lat, 6), "lon": round(lon, 6)}
            out.write(json.dumps({**record, "age": 20 + who}) + "\n")
    return path


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points of 12 people, in two groups that go the same way."""
    path = tmp_path_factory.mktemp("feed") / "walks.csv"
    chance = random.Random(2)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("user", "lat", "lon", "ts"))
        for at_s in range(0, 1500, 30):
            for who in range(12):
                lat = 52.5 + at_s * 1e-5 + chance.uniform(0, 1e-4)
                lon = 13.4 + who * 1e-4 + (who % 2) * 0.05
                writer.writerow((f"walker-{who:02}", round(lat, 6), round(lon, 6), START_S + at_s))
    return path


@pytest.fixture(scope="module")
def of_all(checkins: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The folder and the result of one run with every model, k and m: nobody writes there."""
    out = tmp_path_factory.mktemp("frontier")
    with pytest.MonkeyPatch.context() as patch:
        _forget_settings(patch)
        result = _shoal(checkins, out)
    assert result.exit_code == 0, result.output
    return out, result


def rows_of(out: Path) -> list[Row]:
    """Read what was written, as RFC 4180 has it."""
    text = (out / "frontier.csv").read_bytes().decode()
    assert text.count("\r\n") == text.count("\n")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def panel(row: Row) -> tuple[str, str, str]:
    """Tell with what a row is compared."""
    return row["k"], row["m"], row["delta_m"]


def replayed(feed: Path, kind: Kind, given: Mapping[str, object], out: Path) -> Any:
    """Replay the same file once, measured, as anybody would who compares by hand."""
    settings = load_settings(given=dict(given) | {"privacy.attributes": {"age": "18..90"}})
    its = Feed(settings, kind, secret=SECRET)
    file = record_file(feed, kind, settings.fields.model_dump(), max_bytes=10**6, attributes=its.attributes)
    run = Replay(its, [file], now_ms=1_700_000_000_000, max_bytes=2**20, measure=MeasureOptions(projections=1))
    summary = run.run(out)
    file.close()
    return summary


# Figures


def test_every_model_and_every_k_and_m_has_its_row_with_the_figures_of_a_replay(
    checkins: Path, tmp_path: Path, shoal: Shoal
) -> None:
    """
    Rows stand by k, then m, then as the settings list the models, named variants last; each counts as a replay under
    its settings does, and has the distance that this measures.
    """
    result = shoal(checkins, tmp_path, "--frontier-k", "5,3", "--frontier-m", "2,1")
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path)
    variants = {variant.name: variant for variant in variants_of(Kind.CHECKINS)}
    assert list(rows[0]) == [field.name for field in fields(ComparisonRow) if field.name != "varied"]
    wanted = [(str(k), str(m), model) for k in (3, 5) for m in (1, 2) for model in variants]
    assert [(row["k"], row["m"], row["model"]) for row in rows] == wanted
    for row in rows:
        variant = variants[row["model"]]
        given = {**SETTINGS, "privacy.model": variant.model, "privacy.k": int(row["k"]), "privacy.m": int(row["m"])}
        given |= {f"privacy.{name}": value for name, value in variant.given.items()}
        summary = replayed(checkins, Kind.CHECKINS, given, tmp_path / "replay")
        assert int(row["points_released"]) == summary.points_released
        followed = summary.highest_linkage
        assert row["highest_linkage"] == ("" if followed is None else str(round(followed, 4)))
        assert int(row["points_suppressed"]) == summary.points_suppressed
        assert int(row["points_withheld"]) == summary.withheld_records
        assert (int(row["windows"]), int(row["windows_released"])) == (summary.windows, summary.windows_released)
        assert row["windows_failed"] == "0"
        unreleased = summary.points_suppressed + summary.withheld_records
        if summary.points_released:
            share = 100 * unreleased / (unreleased + summary.points_released)
            assert float(row["unreleased_percent"]) == pytest.approx(share, abs=1e-3)
        if row["model"] in MEASURED and summary.windows_released == 1:
            assert float(row["distance_m"]) == pytest.approx(summary.measures.as_dict()["distance_m"], abs=0.06)
        assert (row["status"], row["notice"]) == ("complete", NOTICE)


def test_places_that_are_released_as_they_are_have_no_distance(checkins: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    ``lkc``, ``p2ka`` and ``disassociation`` generalize nothing; the others do, and as sets too.
    """
    assert (
        shoal(checkins, tmp_path, "--frontier-k", "3", "--frontier-m", "2", "--set", "privacy.time_slot=15m").exit_code
        == 0
    )
    distance = {row["model"]: row["distance_m"] for row in rows_of(tmp_path)}
    assert {distance[model] for model in ("lkc", "p2ka", "disassociation")} == {"0.0"}
    assert float(distance["rum-bound"]) > 1000
    promise = {row["model"]: row["promise"] for row in rows_of(tmp_path)}
    assert promise["zga"] == promise["seqanon"] == "k^m"  # no location is sensitive


def test_fragments_are_compared_by_k_and_delta(walks: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    Loss is the mean translation; it and the counts are those of a replay, though each window is anonymized only once.
    """
    given = {"privacy.secret": SECRET}
    more = ("--frontier-k", "3", "--frontier-delta-m", "200,50")
    result = shoal(walks, tmp_path, *more, kind="fragments", given=given)
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path)
    assert [(row["delta_m"], row["model"]) for row in rows] == [(d, m) for d in ("50.0", "200.0") for m in FRAGMENTS]
    for row in rows:
        own = {**given, "privacy.model": row["model"], "privacy.k": 3, "privacy.delta_m": float(row["delta_m"])}
        summary = replayed(walks, Kind.FRAGMENTS, own | {"privacy.attributes": "{}"}, tmp_path / "replay")
        assert int(row["points_released"]) == summary.points_released
        assert row["m"] == ""
        measured = summary.measures.as_dict()
        assert float(row["distance_m"]) == pytest.approx(measured["mean_space_translation_m"], rel=0.1, abs=0.1)
        assert float(row["time_s"]) == pytest.approx(measured["mean_time_translation_s"], rel=0.1, abs=0.1)


def test_a_window_of_fragments_is_anonymized_once(
    walks: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What is released is measured, and not made once more for that: it can take minutes.
    """
    made, original = 0, WaitForMe.anonymize

    def counted(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        return original(*arguments)

    monkeypatch.setattr(WaitForMe, "anonymize", counted)
    more = ("--frontier-models", "w4m", "--frontier-k", "3,4")
    assert shoal(walks, tmp_path, *more, kind="fragments", given={"privacy.secret": SECRET}).exit_code == 0
    assert made == sum(int(row["windows"]) for row in rows_of(tmp_path))


def test_only_models_that_protect_sensitive_locations_run_where_there_are_some(
    checkins: Path, tmp_path: Path, shoal: Shoal
) -> None:
    """
    The others are refused with them, as in a worker; what is promised is then more.
    """
    given = SETTINGS | {"privacy.sensitive_locations": "r00c00,r01c02"}
    result = shoal(checkins, tmp_path, "--frontier-k", "3", "--frontier-m", "2", given=given)
    assert result.exit_code == 0
    assert "seqanon is left out: privacy.sensitive_locations is set" in " ".join(result.stderr.split())
    promise = {row["model"]: row["promise"] for row in rows_of(tmp_path)}
    assert promise == {
        **dict.fromkeys(("lm-anon", "zga", "sga"), "(k,l)^m"),
        **dict.fromkeys(("rum-bound", "tum-bound"), "(k,l^m)"),
        "disassociation": "disassociated k^m, l-diverse",
    }


@pytest.mark.deep
def test_rows_on_the_frontier_are_marked(of_all: tuple[Path, Result]) -> None:
    """
    A row is on it where no row of the same k and m is as low in both losses and lower in one; on that of its promise,
    where no such row has the same promise.
    """
    rows = rows_of(of_all[0])
    assert {panel(row) for row in rows} == {(str(k), str(m), "") for k in (3, 5, 10) for m in (2, 3)}
    for row in rows:
        if not row["distance_m"]:
            assert (row["frontier"], row["frontier_of_promise"]) == ("no", "no")
            continue
        at = float(row["unreleased_percent"]), float(row["distance_m"])
        better = {
            other["promise"]
            for other in rows
            if panel(other) == panel(row) and other["distance_m"]
            for x, y in [(float(other["unreleased_percent"]), float(other["distance_m"]))]
            if x <= at[0] and y <= at[1] and (x, y) != at
        }
        assert row["frontier"] == ("no" if better else "yes")
        assert row["frontier_of_promise"] == ("no" if row["promise"] in better else "yes")


def test_the_file_is_read_once(checkins: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    However many combinations there are, each record is decoded once.
    """
    read, original = [], RecordFile.entries

    def counted(file: RecordFile) -> Any:
        read.append(file.path)
        return original(file)

    monkeypatch.setattr(RecordFile, "entries", counted)
    assert shoal(checkins, tmp_path, "--frontier-k", "3,5", "--frontier-m", "2").exit_code == 0
    assert len(rows_of(tmp_path)) > len(CHECKINS)
    assert read == [checkins]


def test_json_tells_the_same(checkins: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    ``--json`` prints one object: what was read, what is left out, and the rows.
    """
    result = shoal(checkins, tmp_path, "--json", "--frontier-k", "3", given={"privacy.secret": SECRET})
    told = json.loads(result.stdout)
    assert (told["records"], told["windows"]) == (240, 2)
    assert len(told["rows"]) == len(rows_of(tmp_path))
    assert {line.split()[0] for line in told["left_out"]} == {"u-seqanon", "rum-bound", "tum-bound", "coat", "pcta"}


# The picture


@pytest.mark.deep
def test_the_picture_names_every_model_and_is_the_same_again(
    checkins: Path, tmp_path: Path, shoal: Shoal, of_all: tuple[Path, Result]
) -> None:
    """
    It is XML with a title and a description; in each panel stands each model, at its point or as one without a release.
    """
    assert shoal(checkins, tmp_path).exit_code == 0
    one, two = ((folder / "frontier.svg").read_bytes() for folder in (of_all[0], tmp_path))
    assert one == two
    root = ET.fromstring(one)  # noqa: S314 - our own
    tag = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{tag}title")
    assert "On the frontier" in (root.findtext(f"{tag}desc") or "")
    texts = [text.text or "" for text in root.iter(f"{tag}text")]
    for model in CHECKINS:
        named = sum(text == model for text in texts)
        missing = sum(
            text.startswith("nothing released:") and model in text.replace(",", " ").split() for text in texts
        )
        assert named + missing == 6
    assert any(NOTICE in text for text in texts)
    assert b"prefers-color-scheme:dark" in one
    assert b"http" not in one.replace(b"http://www.w3.org/2000/svg", b"")  # nothing is asked of anybody


@pytest.mark.parametrize("kind", ["checkins", "fragments"])
def test_nothing_raw_is_in_the_results(
    kind: str, checkins: Path, walks: Path, tmp_path: Path, shoal: Shoal, of_all: tuple[Path, Result]
) -> None:
    """
    No id and no coordinate of the input is in table or picture.
    """
    if kind == "checkins":
        records = [json.loads(line) for line in checkins.read_text().splitlines()]
        out, result = of_all
    else:
        records = list(csv.DictReader(walks.open()))
        out, result = tmp_path, shoal(walks, tmp_path, kind=kind, given={"privacy.secret": SECRET})
    assert result.exit_code == 0, result.output
    told = "".join((out / f"frontier.{form}").read_text() for form in ("csv", "svg")) + result.output
    for record in records:
        for name in ("user", "lat", "lon", "ts"):
            assert str(record[name]) not in told


NAMES = st.sampled_from(["zga", "p2ka", "sd-seqanon", "disassociation"])


@given(st.lists(st.builds(LabelPoint, x=st.floats(0, 400), y=st.floats(20, 250), name=NAMES), max_size=14))
def test_no_name_is_on_another(points: list[LabelPoint]) -> None:
    """
    Wherever up to 14 points are, their names stand clear of one another, inside the picture.
    """
    boxes = places(points)
    assert len(boxes) == len(points)
    for i, box in enumerate(boxes):
        assert box.left >= 0
        assert box.right <= 426
        assert 0 <= box.top < box.bottom <= 250
        for other in boxes[:i]:
            beside = box.right <= other.left + 1e-6 or other.right <= box.left + 1e-6
            assert beside or box.bottom <= other.top + 1e-6 or other.bottom <= box.top + 1e-6


def test_names_of_files_are_no_markup() -> None:
    """
    A title is text, whatever the file is called.
    """
    row = ComparisonRow(
        model="a<b>",
        promise="k^m",
        k=3,
        m=2,
        delta_m=None,
        windows=1,
        windows_released=1,
        windows_failed=0,
        people=9,
        people_released=9,
        points=9,
        points_released=9,
        points_suppressed=0,
        points_withheld=0,
        unreleased_percent=0.0,
        people_lost_percent=0.0,
        distance_m=0.0,
        time_s=None,
        highest_risk=None,
        highest_linkage=None,
        mean_linkage=None,
        frontier=True,
        frontier_of_promise=True,
        cpu_s=None,
        status="unfinished",
    )
    svg = frontier_svg([row], title='x<script>"&.csv')
    ET.fromstring(svg)  # noqa: S314 - our own
    assert b"<script>" not in svg
    assert b"ended early" in svg


# What goes wrong


def test_models_without_what_they_need_are_named(checkins: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    What the settings do not let run is left out with the reason, and the others run.
    """
    more = ("--frontier-k", "3,9", "--frontier-m", "2", "--set", "privacy.largest_cluster=6")
    result = shoal(checkins, tmp_path, *more, given={"privacy.secret": SECRET})
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert "u-seqanon is left out: privacy.constraints is not set" in said
    assert "rum-bound is left out: privacy.attributes is not set" in said
    assert "disassociation (k=9, m=2) is left out: privacy.largest_cluster is 6" in said
    assert {(row["model"], row["k"]) for row in rows_of(tmp_path)} >= {("disassociation", "3"), ("seqanon", "9")}
    assert "Left out because settings are missing: u-seqanon, rum-bound" in (tmp_path / "frontier.svg").read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--frontier-k", "3,x"), "3,x: it must be whole numbers separated by commas, such as 3,5,10"),
        (("--frontier-k", "1,5"), "1: it should be greater than or equal to 2"),
        (("--frontier-m", "11"), "11: it should be less than or equal to 10"),
        (("--frontier-m", ""), "it must be whole numbers"),
        (("--frontier-delta-m", "500"), "--frontier-delta-m needs --kind fragments"),
        (("--frontier-models", "seqanon,w4m"), "--frontier-models has 'w4m': checkins allow seqanon, sd-seqanon"),
        (("--frontier-models", "u-seqanon"), "privacy.constraints is not set"),
        (("--set", "location.area=3,2,1,4"), "location.area is 3.0,2.0,1.0,4.0"),
        (("--measure", "all"), "--measure cannot be used with --frontier"),
        (
            ("--set", "shard.kind=region", "--set", "shard.finest_resolution=7"),
            "--frontier compares models on whole windows of a shard: add --set shard.finest_resolution=none",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(
    more: tuple[str, ...], says: str, checkins: Path, tmp_path: Path, shoal: Shoal
) -> None:
    """
    Exit code 2, a sentence that says what is allowed, and no folder.
    """
    result = shoal(checkins, tmp_path / "out", *more, given={"privacy.secret": SECRET})
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_options_of_the_frontier_need_it(checkins: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    A plain replay does not take them silently.
    """
    arguments = ["replay", str(checkins), "--kind", "checkins", "--output", str(tmp_path), "--frontier-k", "3"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "--frontier-k needs --frontier" in result.stderr


def test_a_folder_that_cannot_be_written_is_said_first(checkins: Path, tmp_path: Path, shoal: Shoal) -> None:
    """
    Where a file stands in the way nothing is computed; a file that is not there is a wrong argument.
    """
    (tmp_path / "taken").write_text("")
    result = shoal(checkins, tmp_path / "taken" / "out")
    assert result.exit_code == 1
    assert "Not a directory" in result.stderr
    assert shoal(tmp_path / "nowhere.csv", tmp_path).exit_code == 2


@pytest.mark.deep
def test_a_combination_that_fails_stops_no_other(
    checkins: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch, of_all: tuple[Path, Result]
) -> None:
    """
    It is named once, with what to do; its row has no figures, and all others are as they would have been.
    """
    original = measure_loss

    def failing(seal: Any, rows: Any, plan: Any) -> Any:
        if plan.model == "zga" and plan.guarantee.k == 5:
            raise ValueError("person-01 was at 52.5")
        return original(seal, rows, plan)

    monkeypatch.setattr(stream.replay.comparison.one_combination, "measure_loss", failing)
    result = shoal(checkins, tmp_path / "badly")
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert said.count("zga, k=5, m=2: measuring failed (ValueError)") == 1
    assert "person-01" not in said
    well, badly = rows_of(of_all[0]), rows_of(tmp_path / "badly")
    failed = [row for row in badly if (row["model"], row["k"]) == ("zga", "5")]
    assert {(row["status"], row["distance_m"], row["frontier"]) for row in failed} == {("failed", "", "no")}
    same = ("model", "k", "m", "points_released", "distance_m", "unreleased_percent", "status")
    others = [[row[name] for name in same] for row in badly if row not in failed]
    assert others == [[row[name] for name in same] for row in well if (row["model"], row["k"]) != ("zga", "5")]


def test_an_anonymizer_that_fails_withholds_as_in_a_worker(
    checkins: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The window is withheld, counted as failed, and said once for each combination.
    """

    def failing(*_: object) -> Any:
        raise RuntimeError("person-01")

    monkeypatch.setattr("core.models.p2ka.release.p2ka", failing)
    result = shoal(checkins, tmp_path, "--frontier-models", "p2ka,seqanon", "--frontier-k", "3", "--frontier-m", "2")
    assert result.exit_code == 0
    assert " ".join(result.stderr.split()).count("p2ka, k=3, m=2: the anonymizer failed: RuntimeError") == 1
    assert "person-01" not in result.output
    seqanon, p2ka = rows_of(tmp_path)
    assert (p2ka["windows_failed"], p2ka["unreleased_percent"], p2ka["distance_m"]) == ("2", "100.0", "")
    assert (seqanon["windows_failed"], seqanon["windows_released"]) == ("0", "2")


@pytest.mark.parametrize(("after", "finished"), [(8, 4), (5, 2), (1, 0)])
def test_ctrl_c_leaves_what_is_done(
    after: int, finished: int, checkins: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The rows of finished combinations are complete; all others are unfinished and have no figures.
    """
    calls = 0

    def interrupted(*arguments: Any, **named: Any) -> WindowResult:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return release(*arguments, **named)

    monkeypatch.setattr(stream.replay.comparison.one_combination, "release", interrupted)
    models = ("--frontier-models", "seqanon,lm-anon,p2ka", "--frontier-k", "3", "--frontier-m", "1,2")
    result = shoal(checkins, tmp_path, *models)
    assert result.exit_code == 130
    assert "ended early" in result.stderr
    rows = rows_of(tmp_path)
    assert [row["windows"] for row in rows] == ["2"] * finished + ["0"] * (6 - finished)
    assert [row["status"] for row in rows] == ["complete"] * finished + ["unfinished"] * (6 - finished)
    assert {row["distance_m"] for row in rows[finished:]} == {""}
    assert "ended early" in (tmp_path / "frontier.svg").read_text()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"finished", "frontier.csv", "frontier.svg", "report.html"}
