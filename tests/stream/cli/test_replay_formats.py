"""``shoal replay --format``: the same release in the formats that people read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stream.cli.main import main

ROWS = "user,lat,lon,ts\n" + "".join(f"p{i % 7},52.5,13.4,{1_600_000_200 + 10 * i}\n" for i in range(100))


@pytest.fixture(autouse=True)
def _no_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


def replay(folder: Path, *arguments: str) -> Result:
    """Replay a small feed of check-ins into ``out``."""
    feed = folder / "feed.csv"
    feed.write_text(ROWS)
    out = str(folder / "out")
    return CliRunner().invoke(main, ["replay", str(feed), "--kind", "checkins", "--output", out, *arguments])


def test_by_default_the_results_are_lines_of_json(tmp_path: Path) -> None:
    """
    Nobody who names no format finds other files than before.
    """
    assert replay(tmp_path).exit_code == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["anonymized.ndjson", "windows.ndjson"]


def test_several_formats_hold_the_same_release(tmp_path: Path) -> None:
    """
    A format may be repeated or named with others; every file has the messages of the same release.
    """
    geopandas = pytest.importorskip("geopandas")
    named = [word for name in ("geojson", "parquet", "ndjson", "geojson") for word in ("--format", name)]
    assert replay(tmp_path, *named).exit_code == 0
    out = tmp_path / "out"
    lines = [json.loads(line) for line in (out / "anonymized.ndjson").read_bytes().splitlines()]
    features = json.loads((out / "anonymized.geojson").read_bytes())["features"]
    assert lines
    assert [feature["properties"] for feature in features] == lines
    frame = geopandas.read_parquet(out / "anonymized.parquet")
    assert frame["trajectory"].unique().tolist() == [line["pseudonym"] for line in lines]
    assert not list(out.glob("*.part"))


def test_moving_features_need_points(tmp_path: Path) -> None:
    """
    Releases of check-ins have no times of positions; the message names what is possible, and nothing is written.
    """
    result = replay(tmp_path, "--format", "mf-json")
    assert result.exit_code == 2
    assert "mf-json holds points that move" in result.stderr
    assert "json, avro or geojson" in result.stderr
    assert "w4m" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    """
    The message lists all of them.
    """
    result = replay(tmp_path, "--format", "shapefile")
    assert result.exit_code == 2
    assert all(f"'{name}'" in result.stderr for name in ("ndjson", "csv", "parquet", "geojson", "mf-json", "avro"))


@pytest.mark.parametrize(("name", "library"), [("parquet", "pyarrow"), ("avro", "fastavro")])
def test_a_missing_library_is_named_with_its_extra(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Without the library of a format one sentence says how to install it.
    """
    for module in [module for module in sys.modules if module.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    result = replay(tmp_path, "--format", name)
    assert result.exit_code == 1
    assert f"pip install 'shoal[{name}]'" in result.stderr
