"""Draw the frontier of every real feed: ``deploy/frontiers/FEED.svg``, and the table behind it as CSV.

Run it as ``python -m tests.benchmarks.frontiers DATA_DIR``, with names of feeds for some of them only.

Windows and vocabularies are those of the tables in docs/benchmarks.md. Models are given what they need as in the
table of models: people have drawn attributes, ``u-seqanon`` the coarsest constraints, ``lkc`` one slot a window. No
place is sensitive: with some, ``seqanon`` and others would not run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.models.common.values import show_duration
from core.records.record import Kind
from stream.feeds.record_files import metric_projection
from stream.formats.files.record_file import RecordFile
from stream.replay.comparison.axes import MODEL, RANGES, Axis, variants_of
from stream.replay.comparison.combinations import Combinations, Reading
from stream.replay.comparison.finished import Finished
from stream.replay.comparison.frontier_picture import frontier_svg
from stream.replay.comparison.run import run_comparison
from stream.replay.comparison.table import as_csv, comparison_rows
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.benchmarks.replays import NOW_MS, SECRET
from tests.benchmarks.table_models import Inputs
from tests.benchmarks.table_real_feeds import FEEDS as CHECKINS
from tests.benchmarks.table_trajectories import FEEDS as FRAGMENTS
from tests.builders.inputs import record_file
from tests.paths import ROOT

__all__ = ["FEEDS", "OUTPUT", "draw", "main"]

OUTPUT = ROOT / "deploy" / "frontiers"
FEEDS = (*CHECKINS, *FRAGMENTS)


def _given(name: str, data: Path, folder: Path) -> tuple[Kind, Path, dict[str, object]]:
    """Return what a feed is, its file, and the settings it is read by."""
    if name in FRAGMENTS:
        file, own = FRAGMENTS[name]
        return Kind.FRAGMENTS, data / file, {**own, "privacy.across": "none"}  # what one window costs
    own, inputs = CHECKINS[name], Inputs.make(name, data, folder)
    return (
        Kind.CHECKINS,
        inputs.with_people,
        {
            **own,
            "privacy.attributes": {"age": "18..90", "plan": str(inputs.plans)},
            "privacy.constraints": "level:1",
            "privacy.time_slot": own["window.size"],
            "privacy.horizon": 1,  # what one window costs
        },
    )


def draw(name: str, data: Path, output: Path, *, variants: Sequence[str] | None = None) -> None:
    """Write the picture and the table of one feed.

    Args:
        name: One of :data:`FEEDS`.
        data: Where the real feeds are.
        output: Where to write; made where it is missing.
        variants: Models to compare; all if not given.
    """
    with tempfile.TemporaryDirectory() as folder:
        kind, path, given = _given(name, data, Path(folder))

        def load(more: dict[str, Any]) -> Settings:
            return load_settings(given={"privacy.secret": SECRET, **given, **more})

        def opened(reading: Reading) -> list[RecordFile]:
            settings = reading.settings
            return [
                record_file(
                    path,
                    kind,
                    settings.fields.model_dump(),
                    max_bytes=settings.limits.message_bytes,
                    projection=metric_projection(settings),
                    attributes=reading.feed.attributes,
                )
            ]

        models = variants or [variant.name for variant in variants_of(kind)]
        axes = [Axis(MODEL, tuple(models)), Axis("privacy.k", RANGES["k"])]
        axes += [Axis("privacy.m", RANGES["m"])] if kind is Kind.CHECKINS else []
        combinations = Combinations(load, kind, [path], axes)
        _say(f"{name}: {len(combinations.all)} combinations ...")
        for line in combinations.left_out:
            _say(line)
        finished = Finished(Path(folder) / "finished")
        results = run_comparison(combinations, opened, finished, now_ms=NOW_MS, processes=1, alarm=_say)
    if results.ended_early:
        sys.exit(f"{name}: ended early, and left as it was")
    rows = comparison_rows(combinations.all, results)
    title = f"{name}, windows of {show_duration(combinations.readings[0].policy.size_ms)}"
    notice = "computed from raw records, which are public here; of your own feed it is not for publication"
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{name}.csv").write_bytes(as_csv(rows))
    (output / f"{name}.svg").write_bytes(frontier_svg(rows, title=title, notice=notice))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Draw them one after the other."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(FEEDS):
        sys.exit(f"usage: python -m tests.benchmarks.frontiers DATA_DIR [{'|'.join(FEEDS)} ...]")
    for name in sys.argv[2:] or FEEDS:
        draw(name, Path(sys.argv[1]), OUTPUT)


if __name__ == "__main__":
    main()
