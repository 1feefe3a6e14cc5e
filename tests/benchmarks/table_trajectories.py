"""Print the README's table of trajectories: what the (k,delta) models make of the real GPS feeds.

Run it as ``python -m tests.benchmarks.table_trajectories DATA_DIR``, with names of feeds for some of them only.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.records import Kind
from stream.files import RecordFile
from stream.replay import Replay, Summary
from stream.settings import load_settings
from stream.wiring import Feed, plane_of

__all__ = ["FEEDS", "RUNS", "Run", "demands_file", "main", "replayed", "table"]

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

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NOW_MS = 1_900_000_000_000
_MINUTES = {"m": 1, "h": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One replay of one feed."""

    summary: Summary
    metres: float
    """Mean translation in space of the windows messages, weighted by their trajectories; NaN without any."""

    seconds: float
    """The same in time."""

    cpu_s: float
    """CPU time of the whole replay, reading and writing included."""


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


def replayed(path: Path, given: dict[str, object]) -> Run:
    """Replay a feed of fragments by the service's own code."""
    settings = load_settings(given={"privacy.secret": SECRET, **given})
    max_bytes = settings.limits.message_bytes
    feed = Feed(settings, Kind.FRAGMENTS, secret=SECRET)
    file = RecordFile(path, Kind.FRAGMENTS, settings.fields.model_dump(), max_bytes=max_bytes, plane=plane_of(settings))
    try:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.process_time()
            summary = Replay(feed, [file], now_ms=NOW_MS, max_bytes=max_bytes).run(Path(folder))
            cpu_s = time.process_time() - begun
            lines = (Path(folder) / "windows.ndjson").read_bytes().splitlines()
    finally:
        file.close()
    released = [
        window
        for window in map(json.loads, lines)
        if window["outcome"] == "released" and window["information_loss"]["mean_space_translation_m"] is not None
    ]
    weights = [window["trajectories"] for window in released]
    metres, seconds = (
        float(np.average([window["information_loss"][name] for window in released], weights=weights))
        if released
        else float("nan")
        for name in ("mean_space_translation_m", "mean_time_translation_s")
    )
    return Run(summary=summary, metres=metres, seconds=seconds, cpu_s=cpu_s)


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
                run = replayed(data / file, {**own, **given_for(size, changes, demands)})
                summary = run.summary
                n_accepted = summary.rows - summary.duplicates - summary.late
                shares = (
                    f"{100 * count / n_accepted:.1f} %"
                    for count in (summary.points_released, summary.points_suppressed, summary.withheld_records)
                )
                windows = f"{summary.windows_released} of {summary.windows}, {summary.windows_refused}"
                cells = (
                    *(name, label, *shares, windows),
                    *(f"{run.metres:,.0f}", f"{run.seconds:.0f}", f"{run.cpu_s:.0f} s"),
                )
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
