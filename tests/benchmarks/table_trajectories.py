"""Print the table of trajectories in docs/benchmarks.md: what the (k,delta) models make of the real GPS feeds.

Run it as ``python -m tests.benchmarks.table_trajectories DATA_DIR``, with names of feeds for some of them only.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.records.record import Kind
from tests.benchmarks.replays import replay_file

__all__ = ["FEEDS", "RUNS", "demands_file", "main", "table"]

FEEDS: dict[str, tuple[str, dict[str, object]]] = {
    "cabs_sf": ("cabs_sf_20080608.csv.gz", {}),
    "ais_us": ("ais_us_20220103.csv.gz", {"privacy.max_radius_m": 50_000}),
    "athens_trucks": (
        "athens_trucks_w4m.tsv.gz",
        {
            "files.metres": "EPSG:2100",
            "files.start": "2010-01-04T00:00:00Z",
            "window.size": "2h",
            "window.allowed_lateness": "12h",  # the file goes by truck, not by time
        },
    ),
}
"""The feeds of fragments: file, and how it is read."""

_STRICTER = {"privacy.demands_file": ""}  # replaced by a file of the feed's users

RUNS: tuple[tuple[str, dict[str, object]], ...] = (
    ("w4m, k=2", {"privacy.k": 2}),
    ("w4m, k=5", {}),
    ("w4m, k=10", {"privacy.k": 10}),
    ("w4m, k=25", {"privacy.k": 25}),
    ("w4m, δ=100 m", {"privacy.delta_m": 100}),
    ("w4m, δ=2000 m", {"privacy.delta_m": 2000}),
    ("w4m, windows a third as long", {"window.size": "/3"}),
    ("w4m, windows twice as long", {"window.size": "*2"}),
    ("w4m, published translation", {"privacy.translation": "minimal"}),
    ("w4m, published clustering", {"privacy.refinement": False}),
    ("w4m, both as published", {"privacy.refinement": False, "privacy.translation": "minimal"}),
    ("w4m by EDR", {"privacy.distance": "edr"}),
    ("nwa", {"privacy.model": "nwa"}),
    ("w4m, a tenth demand more", {**_STRICTER}),
    ("pw4m, a tenth demand more", {"privacy.model": "pw4m", **_STRICTER}),
    ("pw4m-tr, a tenth demand more", {"privacy.model": "pw4m-tr", **_STRICTER}),
    ("bounded-pw4m, a tenth demand more", {"privacy.model": "bounded-pw4m", **_STRICTER}),
)
"""What differs from the defaults (w4m by LSTD, k=5, δ=500 m)."""

_MINUTES = {"m": 1, "h": 60}


def demands_file(feed: Path, file: Path) -> Path:
    """Let a seeded tenth of a feed's users demand a k of 6 to 15 and a delta of 100 to 500 metres."""
    with gzip.open(feed, "rt", newline="") as lines:
        delimiter = "\t" if ".tsv" in feed.name else ","
        users = sorted({row[0] for row in csv.reader(lines, delimiter=delimiter)} - {"user"})
    rng = np.random.default_rng(1)
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("user", "k", "delta_m"))
        for user in users:
            demanding, k, delta_m = rng.random() < 0.1, rng.integers(6, 16), rng.uniform(100.0, 500.0)
            if demanding:
                writer.writerow((user, k, round(delta_m)))
    return file


def given_for(size: str, changes: dict[str, object], demands: Path) -> dict[str, object]:
    """Resolve a change that depends on the feed: the length of windows, the file of demands."""
    resolved = dict(changes)
    if "privacy.demands_file" in resolved:
        resolved["privacy.demands_file"] = str(demands)
    if "window.size" in resolved:
        minutes = int(size[:-1]) * _MINUTES[size[-1]]
        resolved["window.size"] = f"{minutes // 3 if resolved['window.size'] == '/3' else minutes * 2}m"
    return resolved


def table(data: Path, feeds: list[str]) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield "| feed | run | released | suppressed | withheld | windows released, refused | metres | seconds | CPU time |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in feeds:
        file, own = FEEDS[name]
        with tempfile.TemporaryDirectory() as folder:
            demands = demands_file(data / file, Path(folder) / "demands.csv")
            for label, changes in RUNS:
                size = str(own.get("window.size", "15m"))
                given = {**own, "privacy.across": "none", **given_for(size, changes, demands)}
                run = replay_file(data / file, Kind.FRAGMENTS, given)
                summary = run.summary
                n_accepted = summary.rows - summary.duplicates - summary.late
                shares = (
                    f"{100 * count / n_accepted:.1f} %"
                    for count in (summary.points_released, summary.points_suppressed, summary.withheld_records)
                )
                windows = f"{summary.windows_released} of {summary.windows}, {summary.windows_refused}"
                metres, seconds = (
                    run.mean_loss(f"mean_{which}") for which in ("space_translation_m", "time_translation_s")
                )
                means = ("-" if mean is None else f"{mean:,.0f}" for mean in (metres, seconds))
                cells = (name, label, *shares, windows, *means, f"{run.cpu_s:.0f} s")
                yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(FEEDS):
        sys.exit(f"usage: python -m tests.benchmarks.table_trajectories DATA_DIR [{'|'.join(FEEDS)} ...]")
    for line in table(Path(sys.argv[1]), sys.argv[2:] or list(FEEDS)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
