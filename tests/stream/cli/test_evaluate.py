"""``shoal evaluate`` and ``shoal attack``: what they print in every form, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stream.cli.main import main
from stream.replay.evaluation.figures import FIGURES
from stream.replay.evaluation.known_visits import MEANINGS, KnownVisits

SHOAL = Callable[..., Result]

TOY = """lat,lng,datetime,uid
43.8430139,10.507994,2011-02-03 08:34:04,1
43.54427,10.32615,2011-02-03 09:34:04,1
43.70853,10.4036,2011-02-03 10:34:04,1
43.77925,11.24626,2011-02-04 10:34:04,1
43.8430139,10.507994,2011-02-03 08:34:04,2
43.70853,10.4036,2011-02-03 09:34:04,2
43.8430139,10.507994,2011-02-04 10:34:04,2
43.54427,10.32615,2011-02-04 11:34:04,2
43.54427,10.32615,2011-02-03 08:34:04,3
43.70853,10.4036,2011-02-03 09:34:04,3
43.8430139,10.507994,2011-02-04 10:34:04,3
43.77925,11.24626,2011-02-04 11:34:04,3
43.70853,10.4036,2011-02-04 10:34:04,4
43.54427,10.32615,2011-02-04 11:34:04,4
43.77925,11.24626,2011-02-04 12:34:04,4
43.70853,10.4036,2011-02-04 10:34:04,5
43.77925,11.24626,2011-02-04 11:34:04,5
43.8430139,10.507994,2011-02-05 12:34:04,5
43.8430139,10.507994,2011-02-04 10:34:04,6
43.54427,10.32615,2011-02-04 11:34:04,6
43.8430139,10.507994,2011-02-04 10:34:04,7
43.8430139,10.507994,2011-02-04 11:34:04,7
43.77925,11.24626,2011-02-05 12:34:04,7
"""
"""The table of scikit-mobility's documentation."""


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch) -> SHOAL:
    """Run the command line with arguments; no setting comes from the environment of the tests."""
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)

    def shoal(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return shoal


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The people of the documentation, as a file."""
    path = tmp_path / "toy.csv"
    path.write_text(TOY)
    return path


@pytest.mark.parametrize(
    ("attack", "known", "risks"),
    [
        ("sequence", 2, [0.5, 0.5, 1, 0.5, 1, 0.333333, 0.5]),
        ("location", 3, [0.5, 1, 0.5, 0.333333, 0.333333, 0.25, 1]),
        ("unique-location", 2, [0.333333, 0.25, 0.333333, 0.333333, 0.25, 0.25, 0.25]),
        ("frequency", 2, [0.333333, 1, 0.333333, 0.333333, 0.333333, 0.333333, 1]),
        ("probability", 2, [0.5, 1, 0.5, 1, 1, 1, 1]),
        ("proportion", 2, [0.333333, 1, 0.333333, 0.333333, 0.333333, 0.333333, 1]),
    ],
)
def test_risks_are_those_of_the_documentation(
    attack: str, known: int, risks: list[float], shoal: SHOAL, toy: Path, tmp_path: Path
) -> None:
    """
    With exact positions, from the file to the risk of each person.
    """
    people = tmp_path / "people.csv"
    found = shoal("attack", toy, "--cell-m", 0, "--attack", attack, "--known", known, "--people", people, "--json")
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(people.read_text().splitlines()))
    assert [(row["attack"], row["person"]) for row in rows] == [(attack, str(i)) for i in range(1, 8)]
    assert [float(row["risk"]) for row in rows] == pytest.approx(risks)
    (row,) = json.loads(found.stdout)["attacks"]
    assert (row["highest"], row["mean"]) == (max(risks), pytest.approx(sum(risks) / 7, abs=1e-5))
    assert row["above_1_k"] == 1


def test_a_file_of_people_is_csv_whatever_its_feed_is_called(shoal: SHOAL, toy: Path, tmp_path: Path) -> None:
    """
    A comma and a quotation mark in the name of the attacked file.
    """
    odd, people = tmp_path / f'a, "b"{"".join(toy.suffixes)}', tmp_path / "people.csv"
    odd.write_bytes(toy.read_bytes())
    assert shoal("attack", odd, "--attack", "location", "--people", people, "--json").exit_code == 0
    rows = list(csv.DictReader(people.read_text().splitlines()))
    assert {row["file"] for row in rows} == {odd.name}
    assert len(rows) == 7


def test_all_attacks_are_tabled_with_what_they_know(shoal: SHOAL, toy: Path) -> None:
    """
    Every attack is in table and CSV; the one that needs windows is said to be impossible without.
    """
    table = shoal("attack", toy, "--slot", "1d")
    assert table.exit_code == 0, table.output
    assert "linking: not possible" in " ".join(table.output.split())
    for kind in set(KnownVisits) - {KnownVisits.LINKING}:
        assert f" {kind} " in table.output
    rows = list(csv.DictReader(io.StringIO(shoal("attack", toy, "--csv").stdout)))
    assert [row["attack"] for row in rows] == [kind.value for kind in KnownVisits]
    assert {row["known"] for row in rows} == set(MEANINGS.values())
    linked = shoal("attack", toy, "--attack", "linking", "--window", "1d", "--json")
    assert json.loads(linked.stdout)["attacks"][0]["people"] == 7


def test_figures_are_printed_in_every_form(shoal: SHOAL, toy: Path, tmp_path: Path) -> None:
    """
    Table, JSON and CSV have the same figures, each with its meaning and its better direction.
    """
    released = tmp_path / "released.csv"
    released.write_text(TOY.replace("43.54427,10.32615", "43.7,10.4"))
    table = shoal("evaluate", toy, released)
    assert table.exit_code == 0, table.output
    found = json.loads(shoal("evaluate", toy, released, "--json").stdout)
    figures = found["releases"][0]["figures"]
    assert figures["people_paired"] == 7
    assert figures["heat_map_divergence"] > 0
    assert figures["translation_m"] == figures["distance_at_time_m"] > 0
    assert figures["translation_s"] == 0
    rows = list(csv.DictReader(io.StringIO(shoal("evaluate", toy, released, "--csv").stdout)))
    assert [row["figure"] for row in rows] == list(figures) == [name for name in FIGURES if name in figures]
    for name in figures:
        assert name.replace("_", " ") in table.output
        assert found["meanings"][name]["meaning"] == FIGURES[name].meaning
    for row in rows:
        assert (row["better"], row["meaning"]) == (FIGURES[row["figure"]].better, FIGURES[row["figure"]].meaning)


def test_large_files_are_compared_piece_by_piece(
    shoal: SHOAL, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The figures of the whole file, without a loss where nothing changed. No piece is left behind.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = json.loads(shoal("evaluate", toy, toy, "--piecewise", "--window", "1d", "--json").stdout)
    whole = json.loads(shoal("evaluate", toy, toy, "--window", "1d", "--json").stdout)
    figures = found["releases"][0]["figures"]
    assert figures.items() <= whole["releases"][0]["figures"].items()
    assert {"visits_kept_share", "range_distortion_possibly", "translation_m", "risk_highest"} <= figures.keys()
    assert list(tmp_path.glob("shoal-evaluate-*")) == []


def test_rows_of_items_are_compared(shoal: SHOAL, tmp_path: Path) -> None:
    """
    Sets with a header and a hierarchy, as Amnesia writes them.
    """
    (tmp_path / "raw.csv").write_text("items\na,c\nb,c\na,b\n")
    (tmp_path / "released.csv").write_text("items\nX,c\nX,c\nX\n")
    (tmp_path / "tree.csv").write_text("item,parent\na,X\nb,X\n")
    options = ("--items", "sets", "--header", "--hierarchy", tmp_path / "tree.csv", "--json")
    found = shoal("evaluate", tmp_path / "raw.csv", tmp_path / "released.csv", *options, "--k", 2)
    assert found.exit_code == 0, found.output
    figures = json.loads(found.stdout)["releases"][0]["figures"]
    assert figures["ul"] == pytest.approx((3 / 7 + 3 / 7 + 1) / 3, abs=1e-5)
    assert "od_divergence" not in figures


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--json", "--csv"), "--json and --csv exclude each other"),
        (("--header",), "need --items"),
        (("--kind", "checkins", "--items", "sets"), "--kind and --items exclude each other"),
        (("--set", "privacy.k=3"), "--config and --set need --kind"),
        (("--items", "sets", "--separator", "ab"), "--separator takes one character"),
        (("--window", "soon"), "it must be a duration"),
        (("--window", "0"), "it must be longer than zero"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], said: str, shoal: SHOAL, toy: Path) -> None:
    """
    Exit code 2 and a sentence that says what is allowed.
    """
    for arguments in (("evaluate", toy, toy), ("attack", toy)):
        found = shoal(*arguments, *options)
        assert found.exit_code == 2
        assert said in " ".join(found.output.split())


def test_what_cannot_be_done_is_one_sentence(shoal: SHOAL, toy: Path, tmp_path: Path) -> None:
    """
    Exit code 1: no attack was possible, a file has no times, rows of items are read piecewise, a file is no table.
    """
    rows = tmp_path / "rows.csv"
    rows.write_text("a|b\n")
    lacking = shoal("attack", rows, "--items", "sets", "--attack", "sequence")
    assert (lacking.exit_code, "no attack was possible" in lacking.output) == (1, True)
    untimed = shoal("attack", rows, "--items", "sets", "--window", "1d")
    assert (untimed.exit_code, "has no times" in untimed.output) == (1, True)
    other = shoal("evaluate", toy, rows)
    assert other.exit_code == 1
    assert "rows.csv" in other.output
    assert shoal("evaluate", rows, rows, "--items", "sets", "--piecewise").exit_code == 2
