"""How many check-ins are linked to their venue, and how fast.

Run it as ``python -m tests.benchmarks.bench_places DATA_DIR``. The venues of two real feeds are files of places; their
check-ins are at the venue's first position, 30 m off, and say of the place nothing, its category, its name, or both.
Then 100,000 drawn check-ins are linked to 100,000 drawn places.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from core.places.locate import Locator
from stream.feeds.vocabulary import build_locator
from stream.settings.load import load_settings

__all__ = ["main", "table"]

FEEDS = ("fsq_calgary", "gowalla_nyc")
OFF_M = 30.0
DRAWN = 100_000
_DEGREE_M = 111_195.0
_WORDS = "cafe bar roma central park city market old north royal golden green house station clinic school".split()  # noqa: SIM905 - readable

PlaceRow = tuple[str, str, float, float, str]
"""Id, name, latitude, longitude, and category."""


def table(data: Path) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield "| feed | places | check-ins | say | right, % | in cells, % | per second |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: |"
    random = np.random.default_rng(1)
    for name in (*FEEDS, "drawn"):
        sys.stderr.write(f"{name} ...\n")
        places, visited = _drawn(random) if name == "drawn" else _of_feed(data / f"{name}.csv.gz")
        locator = _locator(places)
        off_deg = random.normal(0, OFF_M / 2**0.5 / _DEGREE_M, (2, len(visited)))
        lat = np.array([places[i][2] for i in visited])
        lon = np.array([places[i][3] for i in visited]) + off_deg[1] / np.cos(np.radians(lat))
        names, categories = [places[i][1] for i in visited], [places[i][4] or None for i in visited]
        said: list[tuple[str, Sequence[str | None], Sequence[str | None] | None]] = [
            ("nothing", [None] * len(visited), None),
            ("the name", names, None),
        ]
        if any(categories):
            said += [("the category", [None] * len(visited), categories), ("both", names, categories)]
        for label, venues, stated in said:
            begin_s = time.perf_counter()
            ids, _ = locator.locate(lat + off_deg[0], lon, venues, stated)
            taken_s = time.perf_counter() - begin_s
            _, at_lat, at_lon = locator.describe(ids)
            own = np.array([places[i][2:4] for i in visited])
            right = (at_lat == own[:, 0]) & (at_lon == own[:, 1])
            in_cells = (ids < 1 << 62).mean()
            figures = f"{100 * right.mean():.1f} | {100 * in_cells:.1f} | {len(ids) / taken_s:,.0f}"
            yield f"| {name} | {len(places):,} | {len(ids):,} | {label} | {figures} |"


def _of_feed(file: Path) -> tuple[list[PlaceRow], list[int]]:
    """Return the venues of a feed, and the venue of each check-in."""
    number: dict[str, int] = {}
    places: list[PlaceRow] = []
    visited: list[int] = []
    with gzip.open(file, "rt", encoding="utf-8", errors="replace", newline="") as lines:
        for row in csv.DictReader(lines):
            venue = row["venue"]
            if venue not in number:
                number[venue] = len(places)
                places.append((venue, f"venue {venue}", float(row["lat"]), float(row["lon"]), row["category"]))
            visited.append(number[venue])
    return places, visited


def _drawn(random: np.random.Generator) -> tuple[list[PlaceRow], list[int]]:
    """Draw the places of a city some 20 km wide, with names of three words, and visits to them."""
    where = np.column_stack([random.normal(51.05, 0.05, DRAWN), random.normal(-114.07, 0.08, DRAWN)])
    words = random.integers(0, len(_WORDS), (DRAWN, 3)).tolist()
    places = [
        (f"p{i}", " ".join(_WORDS[word] for word in words[i]), lat, lon, f"kind {i % 10} > kind {i % 150}")
        for i, (lat, lon) in enumerate(where.tolist())
    ]
    return places, random.integers(0, DRAWN, DRAWN).tolist()


def _locator(places: Sequence[PlaceRow]) -> Locator:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "places.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["id", "name", "lat", "lon", "category"])
            writer.writerows(places)
        begin_s = time.perf_counter()
        given: dict[str, object] = {"location.kind": "pois", "location.pois_file": str(file)}
        locator = build_locator(load_settings(given=given).location)
        sys.stderr.write(f"{len(places):,} places read in {time.perf_counter() - begin_s:.1f} s\n")
        return locator


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.benchmarks.bench_places DATA_DIR")
    for line in table(Path(sys.argv[1])):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
