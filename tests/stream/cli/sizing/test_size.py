"""``shoal size``: what it prints for people, for programs and for the chart, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from core.models.registry import FAMILIES
from deploy.chart.presets import PRESETS, printed
from stream.cli.main import main
from stream.cli.sizing.figures import Figures

FEED = ("--records-per-second", "1000", "--people", "20000")
MODELS = [model for family in FAMILIES for model in family.models]


def size(*more: str, feed: tuple[str, ...] = FEED) -> Result:
    return CliRunner().invoke(main, ["size", *feed, *more])


def sized(*more: str) -> dict[str, Any]:
    result = size(*more, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_it_prints_the_result_and_where_it_comes_from() -> None:
    """
    The lines have every part of the result, the load behind it, and the day, machine and command of the figures.
    """
    result = size()
    assert result.exit_code == 0, result.output
    for word in ("workers", "cores", "memory", "partitions", "shards", "buffer", "input", "seals", "dead_letters"):
        assert word in result.stdout
    origin = Figures.packaged().origin
    assert f"`{origin.command}` on {origin.date}, {origin.machine}" in result.stdout
    assert "900,000 records of 20,000 people" in result.stdout


@pytest.mark.parametrize("model", MODELS)
def test_every_model_can_be_sized(model: str) -> None:
    """
    Each model has figures, its kind of feed follows from it, and what is printed for the chart are its settings.
    """
    found = sized("--model", model)
    kind = next(family.kind.value for family in FAMILIES if model in family.models)
    assert (found["model"], found["kind"]) == (model, kind)
    values = yaml.safe_load(size("--model", model, "--values").stdout)
    assert values["config"][kind]["privacy"] == {"model": model}
    assert values["replicas"] == found["fleet"]["workers"]


def test_what_is_not_given_comes_from_the_settings(tmp_path: Path) -> None:
    """
    Window, lateness, model, shards and processes are those of the file; an option overrides it.
    """
    file = tmp_path / "shoal.yaml"
    file.write_text(
        "window: {size: 1h, allowed_lateness: 5m}\n"
        "shard: {kind: user, cohorts: 24}\n"
        "privacy: {model: lkc}\n"
        "worker: {processes: 3}\n"
    )
    found = sized("--config", str(file))
    assert found["model"] == "lkc"
    assert found["load"]["window_s"] == 3600
    assert found["load"]["lateness_s"] == 300
    assert found["load"]["processes"] == 3
    assert found["fleet"]["shards"] == 24
    other = sized("--config", str(file), "--window", "15m", "--model", "p2ka", "--shards", "2")
    assert (other["model"], other["load"]["window_s"], other["fleet"]["shards"]) == ("p2ka", 900, 2)


def test_shards_are_chosen_only_if_the_settings_name_none() -> None:
    """
    A feed that one shard cannot carry gets several; if the settings say that there is one, it stays, with a warning.
    """
    large = ("--records-per-second", "200000", "--people", "5000000")
    chosen = json.loads(size("--json", feed=large).stdout)
    assert chosen["fleet"]["shards"] > 1
    assert chosen["shard_kind"] == "user"
    assert chosen["warnings"] == []
    single = json.loads(size("--json", "--set", "shard.kind=single", feed=large).stdout)
    assert (single["fleet"]["shards"], single["shard_kind"]) == (1, "single")
    assert any("late" in line for line in single["warnings"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--model", "w4m", "--kind", "checkins"), "--model w4m is for fragments"),
        (("--set", "shard.kind=region"), "give --shards"),
        (("--json", "--values"), "choose one"),
        (("--set", "window.size=0"), "window.size"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(more: tuple[str, ...], said: str) -> None:
    """
    Options that contradict each other or the settings end with exit code 2 and a sentence.
    """
    result = size(*more)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("feed", [("--records-per-second", "0"), ("--records-per-second", "nan"), ("--people", "0")])
def test_a_feed_without_records_or_people_is_refused(feed: tuple[str, ...]) -> None:
    """
    There is nothing to size.
    """
    assert size(*feed).exit_code == 2


@pytest.mark.parametrize("preset", PRESETS, ids=lambda file: file.stem)
def test_a_preset_is_what_its_command_prints(preset: Path) -> None:
    """
    The first line of a preset of the chart is the command, and `make chart` writes what it prints.
    """
    assert preset.read_text(encoding="utf-8") == printed(preset), "run `make chart`"


def test_presets_are_there() -> None:
    """
    Their names are in the documentation.
    """
    assert {file.stem for file in PRESETS} == {"small", "city", "country"}
