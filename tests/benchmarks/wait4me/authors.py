"""The authors' own program, Wait 4 Me v1.1 with LSTD, which is not part of this repository."""

from __future__ import annotations

import gzip
import re
import shlex
import tempfile
from pathlib import Path

from tests.benchmarks.wait4me.inputs import TRUCKS
from tests.benchmarks.wait4me.processes import Measured, run

__all__ = ["run_authors"]

_FIGURES = {
    "trash": "Trash_size",
    "discernibility": "Discernebility metric",
    "metres": "Mean spatial translation (per point)",
    "seconds": "Mean temporal translation(per point)",
    "created": "Number of created pts",
    "deleted": "Number of deleted pts",
}
"""What a row of the table shows, and how the authors' program calls it in its log (its own spelling)."""


def run_authors(command: str, data: Path) -> Measured:
    """Run the authors' program on the trucks: the file's name is appended to the command."""
    with tempfile.TemporaryDirectory() as folder:
        trucks = Path(folder) / "trucks.tsv"
        trucks.write_bytes(gzip.decompress((data / TRUCKS).read_bytes()))
        done = run([*shlex.split(command), str(trucks)], folder=Path(folder))
    figures: dict[str, float] = {}
    for figure, label in _FIGURES.items():
        match = re.search(rf"{re.escape(label)}\s*:\s*([0-9.]+)", done.output)
        if match is None:
            raise SystemExit(f"the log of the authors' program has no '{label}'")
        figures[figure] = float(match[1])
    return Measured(cpu_s=done.cpu_s, peak_mb=done.peak_mb, figures=figures)
