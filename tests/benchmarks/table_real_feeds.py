"""Print what k and m cost under SeqAnon on the real check-in feeds.

Run it as ``python -m tests.benchmarks.table_real_feeds DATA_DIR``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from stream.replay.summary import Summary
from tests.benchmarks.replays import measured_replay

__all__ = ["FEEDS", "KS", "MS", "Run", "main", "replayed", "table"]

FEEDS: dict[str, dict[str, object]] = {
    "gowalla_nyc": {"window.size": "7d", "location.area": "40.5,-74.3,41.0,-73.6", "location.cells": "20x20"},
    "flickr_edin": {"window.size": "30d", "location.kind": "h3", "location.h3_resolution": 9},
    "flickr_melb": {"window.size": "30d", "location.kind": "h3", "location.h3_resolution": 9},
    "flickr_toro": {"window.size": "30d", "location.kind": "h3", "location.h3_resolution": 9},
    "fsq_calgary": {"window.size": "30d", "location.cell_m": 1000},
}
"""The check-in feeds, each with its window and its vocabulary."""

KS, MS = (2, 5, 10, 25), (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One replay of one feed."""

    summary: Summary
    cpu_s: float
    """CPU time of the replay, without measuring."""

    mean_distance_m: float | None
    """D of Poulis et al. 2014, Definition 6, measured against the raw windows; None without a released window."""

    mean_expected_m: float | None
    """``distance_m`` of the windows messages, weighted by trajectories; None without a released window.

    It is the distance that a reader of the release expects if every member of a generalized location is as likely.
    """


def replayed(path: Path, given: dict[str, object]) -> Run:
    """Replay a feed of check-ins by the service's own code, once for its time and once for its measures."""
    plain, measures = measured_replay(path, given)
    return Run(
        summary=plain.summary,
        cpu_s=plain.cpu_s,
        mean_distance_m=measures.get("distance_m"),
        mean_expected_m=plain.mean_loss("distance_m"),
    )


def table(data: Path) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield "| feed | k | m | D, m | D expected, m | released | suppressed | withheld | windows released | CPU s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (name, given), k, m in product(FEEDS.items(), KS, MS):
        run = replayed(data / f"{name}.csv.gz", {**given, "privacy.k": k, "privacy.m": m})
        summary = run.summary
        n_accepted = summary.records - summary.rejected - summary.duplicates - summary.late
        distances = (
            "-" if distance is None else f"{distance:,.0f}" for distance in (run.mean_distance_m, run.mean_expected_m)
        )
        shares = (
            f"{100 * count / n_accepted:.1f} %"
            for count in (summary.points_released, summary.points_suppressed, summary.withheld_records)
        )
        windows = f"{summary.windows_released} of {summary.windows}"
        cells = (name, str(k), str(m), *distances, *shares, windows, f"{run.cpu_s:.1f}")
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.benchmarks.table_real_feeds DATA_DIR")
    for line in table(Path(sys.argv[1])):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
