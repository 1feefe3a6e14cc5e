"""Writes ``helm/presets``: each file is what the command in its first line prints. Part of ``make chart``."""

from __future__ import annotations

import shlex
from pathlib import Path

from click.testing import CliRunner

from deploy.chart.generate import CHART
from stream.cli.main import main

__all__ = ["PRESETS", "printed"]

PRESETS = sorted((CHART / "presets").glob("*.yaml"))


def printed(preset: Path) -> str:
    """Return what the command in the first line of a preset prints.

    Raises:
        RuntimeError: The command fails.
    """
    command = preset.read_text(encoding="utf-8").partition("\n")[0]
    words = shlex.split(command.removeprefix("# "))
    result = CliRunner(env={"SHOAL_CONFIG": None}).invoke(main, words[1:])
    if result.exit_code or words[:2] != ["shoal", "size"]:
        raise RuntimeError(f"{preset}: the first line must be a comment with a command `shoal size`: {result.output}")
    return result.stdout


if __name__ == "__main__":
    for file in PRESETS:
        file.write_text(printed(file), encoding="utf-8")
