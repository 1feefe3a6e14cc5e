"""``shoal taxonomy``: make, check and draw, and what is made is read by a replay."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from stream.cli.main import main

SHOAL = Callable[..., Result]

VENUES = "venue,lat,lon,category\n" + "".join(
    f"v{i},{52.5 + 0.01 * i},13.4,{'Food > Bakery' if i % 2 else 'Shop > Books'}\n" for i in range(8)
)
FEED = "user,ts,venue\n" + "".join(
    f"p{person},{1_600_000_000 + 60 * place},v{place}\n" for person in range(12) for place in range(person % 8 + 1)
)


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch) -> SHOAL:
    """Run the command line; no setting comes from the environment of the tests."""
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """Settings with eight venues."""
    (tmp_path / "venues.csv").write_text(VENUES)
    (tmp_path / "feed.csv").write_text(FEED)
    return ["--set=location.kind=venues", f"--set=location.venues_file={tmp_path / 'venues.csv'}"]


@pytest.mark.parametrize(
    ("source", "depth"),
    [(("--from", "categories"), 2), (("--from", "h3", "--h3-resolutions", 8, 6), 4), (("--from", "counts"), None)],
)
def test_a_hierarchy_is_made_checked_drawn_and_used(
    source: tuple[object, ...], depth: int | None, given: list[str], tmp_path: Path, shoal: SHOAL
) -> None:
    """
    Whatever it is made from, every venue is in it, and a replay with it releases all windows.
    """
    out, feed, picture = tmp_path / "tree.csv", tmp_path / "feed.csv", tmp_path / "tree.svg"
    counts = ("--k", 3, "--fan-out", 2, feed) if "counts" in source else ()
    made = shoal("taxonomy", "make", *source, *counts, "--out", out, *given)
    assert made.exit_code == 0, made.output
    with out.open() as lines:
        header, *rows = csv.reader(lines)
    assert header == ["category", "parent"]
    if "categories" not in source:
        assert {f"v{i}" for i in range(8)} <= {category for category, _ in rows}
    checked = shoal("taxonomy", "check", out, "--venues", tmp_path / "venues.csv")
    assert checked.exit_code == 0, checked.output
    assert "nothing is wrong" in checked.stdout
    assert depth is None or f"depth {depth}" in checked.stdout
    text = shoal("taxonomy", "draw", out).stdout
    assert len(text.splitlines()) == len(rows)
    assert shoal("taxonomy", "draw", out, "--out", picture).exit_code == 0
    drawn = ElementTree.fromstring(picture.read_text())  # noqa: S314 - our own file
    assert sum(node.tag.endswith("text") for node in drawn.iter()) == len(rows) + 1
    used = (f"--set=privacy.taxonomy={out}", "--set=privacy.model=sd-seqanon", "--set=privacy.k=3", "--json")
    replayed = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / "out", *given, *used)
    assert replayed.exit_code == 0, replayed.output
    counts_of = json.loads(replayed.stdout)
    assert counts_of["windows_released"] == counts_of["windows"] > 0


def test_faults_are_told_and_end_with_1(given: list[str], tmp_path: Path, shoal: SHOAL) -> None:
    """
    All of them, each on a line; such a file is not drawn.
    """
    tree = tmp_path / "tree.csv"
    tree.write_text("category,parent\nBakery,Food\nFood,Bakery\nPark,Outdoors\n")
    result = shoal("taxonomy", "check", tree, "--venues", tmp_path / "venues.csv")
    assert result.exit_code == 1
    assert "2 categories are their own ancestors" in result.stdout
    assert "1 parent has no row of its own: 'Outdoors'" in result.stdout
    assert "1 name has no row: 'Shop > Books'" in result.stdout
    drawn = shoal("taxonomy", "draw", tree)
    assert drawn.exit_code == 2
    assert "shoal taxonomy check says why" in drawn.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--from", "counts"), "needs FILES"),
        (("--from", "h3", "--k", 3), "need --from counts"),
        (("--from", "categories", "--h3-resolutions", 9, 5), "needs --from h3"),
        (("--from", "h3", "--h3-resolutions", 5, 9), "the finest first"),
        (("--from", "h3", "--set=location.kind=grid"), "set location.kind to venues"),
        (("--from", "categories", "--set=location.kind=h3"), "venues or pois"),
    ],
)
def test_options_that_do_not_fit_end_with_2(
    arguments: tuple[object, ...], says: str, given: list[str], tmp_path: Path, shoal: SHOAL
) -> None:
    """
    With one sentence, and without a file.
    """
    result = shoal("taxonomy", "make", "--out", tmp_path / "tree.csv", *given, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not (tmp_path / "tree.csv").exists()
