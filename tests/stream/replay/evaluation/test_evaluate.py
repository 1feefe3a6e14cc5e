"""Comparisons: equal to the measures of a replay, perfect for a release that is the raw feed, and right on examples."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.records.record import Kind
from core.trajectories.journeys import Journeys
from core.utility.window_measures import MeasureOptions
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.release.encodings import needs_points
from stream.replay.evaluation import found_risks
from stream.replay.evaluation.attacks import attack
from stream.replay.evaluation.evaluate import EvaluateOptions, Evaluation, evaluate
from stream.replay.evaluation.figures import FIGURES
from stream.replay.evaluation.itemsets import ItemRows
from stream.replay.evaluation.piecewise import open_in_pieces
from stream.replay.evaluation.sources import DataSource, EvaluationError, read_source
from stream.replay.replay import Replay
from stream.replay.results.formats import FORMATS
from stream.settings.load import load_settings
from tests.paths import DATA, EXAMPLES

START_S = 1_599_955_200  # midnight
SETTINGS: dict[str, Any] = {
    "location.area": "52,13,53,14",
    "location.cells": "3x3",
    "window.size": "1d",
    "privacy.k": 3,
}
OPTIONS = MeasureOptions(queries=2_000)
NOW_MS = 1_700_000_000_000


def feed_csv(path: Path, *, attributes: bool = False) -> Path:
    """Write two days of check-ins: a few common ways, and a person's own detours."""
    rng = random.Random(7)
    rows = []
    for person in range(45):
        for day in range(2):
            way = [rng.randrange(3) + 3 * rng.randrange(2) for _ in range(2)] + [person % 4, 8][: 1 + person % 2]
            for step, cell in enumerate(way):
                lat, lon = 52 + (cell // 3 + 0.5) / 3, 13 + (cell % 3 + 0.5) / 3
                age = f",{20 + person % 7}" if attributes else ""
                rows.append(f"p{person},{lat},{lon},{START_S + 86_400 * day + 3600 * step + person}{age}\n")
    path.write_text("user,lat,lon,ts" + (",age" if attributes else "") + "\n" + "".join(rows))
    return path


def replayed(
    path: Path, folder: Path, given: Mapping[str, object], formats: Sequence[str] = FORMATS[:1]
) -> dict[str, float | None]:
    """Replay a file into a folder and return its measures."""
    settings = load_settings(None, SETTINGS | dict(given))
    feed = Feed(settings, Kind.CHECKINS, secret="a secret of the tests")  # noqa: S106 - of no real deployment
    files = open_files(settings, feed, [path])
    summary = Replay(feed, files, now_ms=NOW_MS, max_bytes=2**20, measure=OPTIONS).run(folder, formats=formats)
    for file in files:
        file.close()
    measures = summary.as_dict()["measures"]
    assert isinstance(measures, dict)
    return measures


def compared(path: Path, folder: Path, **given: object) -> Evaluation:
    """Compare what a replay wrote with its file."""
    raw = read_source(path, kind=Kind.CHECKINS, settings=load_settings(None, SETTINGS | given))
    options = EvaluateOptions(k=3, measures=OPTIONS, cell_m=20_000)
    (found,) = evaluate(raw, [read_source(folder)], options)
    return found


EXACT = {
    "seqanon": ("kl_locations", "kl_locations_lost", "patterns_frequent"),
    "p2ka": ("sim1", "sim2"),
    "disassociation": (),
    "rum-bound": ("ul",),
}
"""Measures of a replay that draw nothing."""

NEAR = {
    "seqanon": ("are", "kl_pairs", "kl_pairs_lost", "patterns_kept", "patterns_invented"),
    "p2ka": (),
    "disassociation": ("tkd", "re"),
    "rum-bound": (),
}
"""Measures that draw queries, projections or a reconstruction; both sides draw their own."""


@pytest.mark.parametrize("model", EXACT)
def test_figures_are_those_of_the_replay(model: str, tmp_path: Path) -> None:
    """
    Read from the files that a replay wrote, every shared measure is the one that the replay took itself.
    """
    given: dict[str, object] = {"privacy.model": model}
    if model == "rum-bound":
        given |= {"privacy.attributes.age": "0..100", "privacy.horizon": 1, "privacy.max_loss": 1.0}
    path = feed_csv(tmp_path / "feed.csv", attributes=model == "rum-bound")
    measures = replayed(path, tmp_path / "out", given)
    found = compared(path, tmp_path / "out", **given)
    for name in EXACT[model]:
        assert found.figures[name] == pytest.approx(measures[name], abs=2e-6), name
    for name in NEAR[model]:
        assert found.figures[name] == pytest.approx(measures[name], abs=0.06), name
    if model == "rum-bound":
        assert found.stated["ncp"] == pytest.approx(measures["ncp"], abs=1e-5)
    has_people = model != "disassociation"
    assert ("risk_highest" in found.figures) is has_people
    if has_people and model != "rum-bound":
        assert found.figures["risk_highest"] <= 1 / 3 + 1e-9
        assert found.figures["risk_above_1_k"] == 0


@pytest.mark.parametrize("model", ["seqanon", "coat", "p2ka", "rum-bound", "disassociation", "flows"])
def test_a_release_has_the_same_figures_in_every_format(model: str, tmp_path: Path) -> None:
    """
    One window, released once and written in all formats; sets have no order, so that nothing is said of trips.
    """
    given: dict[str, object] = {"privacy.model": model}
    if model == "rum-bound":
        given |= {"privacy.attributes.age": "0..100", "privacy.horizon": 1, "privacy.max_loss": 1.0}
    elif model == "coat":
        given |= {"privacy.constraints": "level:1", "privacy.suppression_percent": 60}
    path = feed_csv(tmp_path / "feed.csv", attributes=model == "rum-bound")
    formats = [name for name in FORMATS if needs_points(name, model) is None]
    replayed(path, tmp_path / "out", given, formats)
    raw = read_source(path, kind=Kind.CHECKINS, settings=load_settings(None, SETTINGS | given))
    options = EvaluateOptions(k=3, measures=MeasureOptions(queries=50), cell_m=20_000)
    files = sorted((tmp_path / "out").glob("anonymized.*"))
    assert len(files) == len(formats) == 5
    first, *others = evaluate(raw, [read_source(file) for file in files], options)
    assert ("od_divergence" in first.figures) is (model not in ("coat", "rum-bound", "disassociation"))
    for other in others:
        assert (other.figures, other.stated) == (first.figures, first.stated)


def test_range_queries_are_those_of_the_replay(tmp_path: Path) -> None:
    """
    Of fragments, window by window with the uncertainty of the model; what a release states is shown as stated.
    """
    rng = np.random.default_rng(3)
    rows = ["user,lat,lon,ts\n"]
    for person in range(24):
        lat, lon = 52.5 + 0.004 * (person % 4), 13.4
        for step in range(120):
            lat, lon = lat + rng.normal(0, 0.0002), lon + rng.normal(0.0003, 0.0002)
            rows.append(f"p{person},{lat:.6f},{lon:.6f},{START_S + 30 * step}\n")
    path = tmp_path / "points.csv"
    path.write_text("".join(rows))
    settings = load_settings(None, {"window.size": "30m", "privacy.k": 3, "privacy.delta_m": 500})
    feed = Feed(settings, Kind.FRAGMENTS, secret="a secret of the tests")  # noqa: S106 - of no real deployment
    (file,) = open_files(settings, feed, [path])
    replay = Replay(feed, [file], now_ms=NOW_MS, max_bytes=2**20, measure=OPTIONS)
    measures = replay.run(tmp_path / "out", formats=FORMATS).as_dict()["measures"]
    file.close()
    assert isinstance(measures, dict)
    options = EvaluateOptions(k=3, delta_m=500, measures=OPTIONS)
    releases = [read_source(file) for file in sorted((tmp_path / "out").glob("anonymized.*"))]
    found, *others = evaluate(read_source(path), releases, options)
    assert len(others) == 5
    for other in others:  # the same release in other formats
        assert (other.figures, other.stated) == (found.figures, found.stated)
    for name in ("range_distortion_possibly", "range_distortion_definitely"):
        assert found.figures[name] == pytest.approx(measures[name], abs=0.03), name
    assert found.stated["mean_space_translation_m"] == pytest.approx(measures["mean_space_translation_m"], rel=0.05)


def test_a_release_that_is_the_raw_feed_loses_nothing(tmp_path: Path) -> None:
    """
    No divergence, shift, translation or error; every pattern is kept; risks are those of the raw feed.
    """
    path = feed_csv(tmp_path / "feed.csv")
    raw = read_source(path)
    (found,) = evaluate(raw, [read_source(path)], EvaluateOptions(cell_m=1000))
    assert {name for name, value in found.figures.items() if FIGURES[name].better == "higher" and value != 1} == set()
    at_most = {"risk_highest": "risk_raw_highest", "risk_mean": "risk_raw_mean"}
    for name, value in found.figures.items():
        if name in at_most:
            assert value == found.figures[at_most[name]]
        elif FIGURES[name].better == "lower" and not name.startswith("risk"):
            assert value == 0, name
    assert found.figures["people_paired"] == 45
    # Who knows a position of a person, and finds the released person at it, may find others, too.
    assert 0 < found.figures["risk_paired_times_highest"] <= 1


def rows_of(trajectories: dict[str, list[str]], path: Path) -> DataSource:
    """Write trajectories as rows of items and read them; ``a|b`` is a generalized location."""
    lines = [
        "|".join("{" + item.replace("|", ",") + "}" if "|" in item else item for item in one)
        for one in trajectories.values()
    ]
    path.write_text("".join(f"{name}|{line}\n" for name, line in zip(trajectories, lines, strict=True)))
    return read_source(path, items=ItemRows(form="sequences", has_ids=True))


def test_the_example_of_seqanon_by_hand(tmp_path: Path) -> None:
    """
    Poulis et al. 2014, Example 4. The published infrequent pairs single people out of the raw data; in the release two
    people fit every two locations. UL: a trajectory with the locations {a,b,c}, d and e loses (2^3 - 1) / (2^5 - 1),
    one with {a,b,c} and one other 7 / 15, t6 nothing. No location is lost, and supports are those of the figure.
    """
    case = json.loads((EXAMPLES / "seqanon_example4.json").read_text("utf-8"))
    raw = rows_of(case["trajectories"], tmp_path / "raw.csv")
    released = rows_of(case["generalized"], tmp_path / "released.csv")
    (found,) = evaluate(raw, [released], EvaluateOptions(k=2))
    figures = found.figures
    assert (figures["risk_raw_highest"], figures["risk_highest"], figures["risk_above_1_k"]) == (1, 0.5, 0)
    losses = {"t1": 7 / 31, "t2": 7 / 15, "t3": 7 / 31, "t4": 7 / 31, "t5": 7 / 15, "t6": 0}
    assert figures["ul"] == pytest.approx(sum(losses.values()) / 6)
    assert (figures["kl_locations_lost"], figures["visits_kept_share"]) == (0, 1)
    # Supports of a..e: 3, 2, 4, 5, 5 of 19; of their generalized locations 5, 5, 5, 5, 5 of 25.
    before = np.array([3, 2, 4, 5, 5]) / 19
    assert figures["kl_locations"] == pytest.approx(float((before * np.log(before / 0.2)).sum()))
    assert figures["risk_paired_highest"] <= 0.5


def test_overlapping_generalized_locations_are_measured_on_a_projection(tmp_path: Path) -> None:
    """
    Local recoding: a location is in two labels. Every figure of a global recoding is there.
    """
    raw = rows_of({"t1": ["a", "b"], "t2": ["b", "c"], "t3": ["a", "c"]}, tmp_path / "raw.csv")
    released = rows_of({"t1": ["a|b", "b|c"], "t2": ["b|c", "c"], "t3": ["a|b", "c"]}, tmp_path / "released.csv")
    (found,) = evaluate(raw, [released], EvaluateOptions(k=2))
    assert {"are", "kl_locations", "patterns_kept", "sim1", "tkd", "re", "ul"} <= found.figures.keys() | {
        "patterns_kept"
    }
    assert 0 <= found.figures["tkd"] <= 1


def test_sets_are_compared_without_order(tmp_path: Path) -> None:
    """
    The same sets in another order, as Amnesia writes them, lose nothing.
    """
    (tmp_path / "raw.csv").write_text("items\na,b,c\nb,c\nc,d\n")
    (tmp_path / "released.csv").write_text("items\nc,b,a\nc,b\nd,c\n")
    rows = ItemRows(form="sets", has_header=True)
    raw, released = (read_source(tmp_path / name, items=rows) for name in ("raw.csv", "released.csv"))
    (found,) = evaluate(raw, [released], EvaluateOptions(k=2))
    zero = {"are", "kl_locations", "kl_pairs", "tkd", "re", "ul", "patterns_invented"}
    assert {name: found.figures[name] for name in zero} == dict.fromkeys(zero, 0)
    assert (found.figures["patterns_kept"], found.figures["sim1"], found.figures["sim2"]) == (1, 1, 1)


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    """
    Other names and other coordinates leave figures out, with a note; windows need times.
    """
    raw = rows_of({"t1": ["a", "b"]}, tmp_path / "raw.csv")
    other = rows_of({"u1": ["x"]}, tmp_path / "other.csv")
    (found,) = evaluate(raw, [other], EvaluateOptions())
    assert [note.split(":")[0] for note in found.notes] == ["positions", "locations"]
    with pytest.raises(EvaluationError, match="has no times"):
        evaluate(raw, [other], EvaluateOptions(), window_ms=1)
    metres = Journeys(
        users=np.array([0]),
        windows_ms=np.array([0]),
        starts=np.array([0, 1]),
        t_ms=np.array([0]),
        xy=np.zeros((1, 2)),
        is_metres=True,
    )
    degrees = read_source(feed_csv(tmp_path / "feed.csv"))
    (found,) = evaluate(degrees, [DataSource(name="m", journeys=metres, form="")], EvaluateOptions())
    assert "heat_map_divergence" not in found.figures


def test_the_same_seed_gives_the_same_figures(tmp_path: Path) -> None:
    """
    Queries and projections depend on the seed alone.
    """
    path = feed_csv(tmp_path / "feed.csv")
    replayed(path, tmp_path / "out", {"privacy.model": "seqanon"})
    one, again = (compared(path, tmp_path / "out") for _ in range(2))
    assert one.figures == again.figures


@pytest.mark.skipif(not (DATA / "w4m_reference_trucks_k5.out.gz").is_file(), reason="the trucks of Athens are not here")
def test_the_authors_release_counts_as_their_log_does() -> None:
    """
    Trash, created and deleted points are those of the log of Wait for Me. Its pairs are not the even ones, and its mean
    translation is larger (:mod:`tests.benchmarks.wait4me.pairs`).
    """
    raw, released = (
        read_source(DATA / name) for name in ("athens_trucks_w4m.tsv.gz", "w4m_reference_trucks_k5.out.gz")
    )
    (found,) = evaluate(raw, [released], EvaluateOptions(cell_m=5_000))
    log = (DATA / "w4m_reference_trucks_k5.log").read_text("utf-8")

    def logged(label: str) -> float:
        match = re.search(rf"{re.escape(label)}\s*:\s*([0-9.]+)", log)
        assert match is not None
        return float(match[1])

    figures = found.figures
    assert figures["people_missing"] == logged("Trash_size")
    assert figures["points_trashed"] == logged("Number of trashed points")
    assert figures["points_created"] == logged("Number of created pts")
    assert figures["points_deleted"] == logged("Number of deleted pts")
    assert 0.8 < figures["translation_m"] / logged("Mean spatial translation (per point)") < 1
    # Five people share a set, and are within 500 m of each other: none is found with certainty.
    assert figures["risk_paired_times_highest"] < 1


DAY_MS = 86_400_000
ONLY_AT_ONCE = {"risk_paired_highest", "risk_paired_mean", "risk_paired_times_highest", "risk_paired_times_mean"}
"""Figures that need everybody in a file at once."""

WITHOUT_WINDOWS = {
    *("journeys", "journeys_kept_share", "visits_kept_share"),
    *("heat_map_divergence", "od_divergence", "trip_length_shift_m", "gyration_shift_m"),
    *("people_paired", "people_missing", "points_trashed", "points_created", "points_deleted"),
    *("translation_m", "translation_s", "distance_at_time_m"),
}
"""Figures that need no more than everything of a person at once."""


def in_pieces(raw: Path, release: Path, folder: Path, window_ms: int | None, **given: Any) -> Evaluation:
    """Compare two files cut into pieces."""
    files = [open_in_pieces(raw, folder / "0", **given), open_in_pieces(release, folder / "1")]
    (found,) = evaluate(files[0], files[1:], PIECES_OPTIONS, window_ms=window_ms)
    return found


PIECES_OPTIONS = EvaluateOptions(k=3, cell_m=30_000, measures=MeasureOptions(queries=50))


def check_pieces(found: Evaluation, whole: Evaluation, without: set[str]) -> None:
    """Check that pieces have the figures of the whole file."""
    assert found.figures.keys() == whole.figures.keys() - without
    for name, value in found.figures.items():
        assert value == pytest.approx(whole.figures[name], rel=1e-9, abs=1e-9), name
    assert found.stated == pytest.approx(whole.stated)


@pytest.mark.parametrize("window_ms", [None, DAY_MS])
@pytest.mark.parametrize("batch", [7, 20_000])
def test_pieces_have_the_figures_of_the_whole_file(
    batch: int, window_ms: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Of tables with ids: with windows all figures but those that need everybody at once, without windows those that look
    at one person after the other. Rows may have any order.
    """
    path = feed_csv(tmp_path / "feed.csv")
    lines = path.read_text().splitlines(keepends=True)
    moved = tmp_path / "moved.csv"
    moved.write_text(lines[0] + "".join(line.replace(",13.1", ",13.2") for line in lines[:0:-2]))
    (whole,) = evaluate(read_source(path), [read_source(moved)], PIECES_OPTIONS, window_ms=window_ms)
    monkeypatch.setattr("stream.replay.evaluation.records._BATCH", batch)
    found = in_pieces(path, moved, tmp_path, window_ms)
    without = whole.figures.keys() - WITHOUT_WINDOWS if window_ms is None else ONLY_AT_ONCE
    check_pieces(found, whole, set(without))
    assert any("give --window" in note for note in found.notes) is (window_ms is None)
    assert any("risk paired: needs everybody" in note for note in found.notes)


@pytest.mark.parametrize("model", ["seqanon", "rum-bound", "disassociation", "flows"])
def test_pieces_of_a_release_of_shoal_have_its_figures(model: str, tmp_path: Path) -> None:
    """
    Also ARE, patterns, UL, risks and what the release states, from any of its formats.
    """
    given: dict[str, object] = {"privacy.model": model}
    if model == "rum-bound":
        given |= {"privacy.attributes.age": "0..100", "privacy.horizon": 1, "privacy.max_loss": 1.0}
    path = feed_csv(tmp_path / "feed.csv", attributes=model == "rum-bound")
    replayed(path, tmp_path / "out", given, ["csv"])
    settings = load_settings(None, SETTINGS | given)
    raw = read_source(path, kind=Kind.CHECKINS, settings=settings)
    (whole,) = evaluate(raw, [read_source(tmp_path / "out")], PIECES_OPTIONS)
    found = in_pieces(path, tmp_path / "out", tmp_path, None, kind=Kind.CHECKINS, settings=settings)
    assert "are" in found.figures
    assert not list(tmp_path.glob("*/people"))  # nobody has an id that lasts, so nobody is looked for
    check_pieces(found, whole, set())


def test_pieces_in_metres_have_the_figures_of_the_whole_file(tmp_path: Path) -> None:
    """
    Points of Wait for Me; the other file must be in metres, too.
    """
    rng = np.random.default_rng(1)
    rows = [(person, 60 * step, *rng.normal(0, 3_000, 2)) for person in range(9) for step in range(40)]
    for name, shift in (("raw.tsv", 0), ("released.tsv", 70)):
        lines = (f"{person}\t{t_s}\t{x + shift:.3f}\t{y:.3f}\n" for person, t_s, x, y in rows if person or not shift)
        (tmp_path / name).write_text("".join(lines))
    raw, released = tmp_path / "raw.tsv", tmp_path / "released.tsv"
    (whole,) = evaluate(read_source(raw), [read_source(released)], PIECES_OPTIONS, window_ms=600_000)
    check_pieces(in_pieces(raw, released, tmp_path / "pieces", 600_000), whole, ONLY_AT_ONCE)
    other = in_pieces(raw, feed_csv(tmp_path / "feed.csv"), tmp_path / "others", 600_000)
    assert other.notes[0].startswith("positions: not in both")


def test_several_releases_attack_the_raw_feed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What is known of it is the same for every release; each release is attacked itself.
    """
    attacked: list[int] = []
    real = attack

    def counted(journeys: Journeys, *others: Any, **named: Any) -> Any:
        attacked.append(journeys.n_visits)
        return real(journeys, *others, **named)

    monkeypatch.setattr(found_risks, "attack", counted)
    path = feed_csv(tmp_path / "feed.csv")
    less = tmp_path / "less.csv"
    less.write_text("".join(path.read_text().splitlines(keepends=True)[:-9]))
    raw = read_source(path)
    found = evaluate(raw, [read_source(less), read_source(less)], PIECES_OPTIONS)
    assert attacked == [raw.journeys.n_visits, *[raw.journeys.n_visits - 9] * 2]
    assert found[0].figures == found[1].figures
    assert "risk_raw_mean" in found[0].figures
