"""What drawn regions cost and what they are good for.

    python -m tests.benchmarks.bench_regions DATA_DIR

First, microseconds a record for locating check-ins in 200 regions and in the cells of a grid, alone and as a part of
ingest. Then what ``p2ka`` releases of check-ins in New York in regions and in cells. Two minutes.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import shapely

from core.ingest.intake import CheckInIntake
from core.ingest.shard import SingleShard
from core.ingest.validate import Rules
from core.places.drawn_regions import DrawnRegions
from core.places.locate import Locator, MetricGrid
from core.records.record import CheckIn, Kind, Source
from core.utility.window_measures import MeasureOptions
from stream.feeds.feed import Feed
from stream.replay.places.file_positions import FilePositions
from stream.replay.places.region_features import regions_as_geojson
from stream.replay.places.region_search import RegionSearch
from stream.settings.load import load_settings
from tests.benchmarks.replays import NOW_MS, SECRET, replay_file

__all__ = ["main"]

BATCH = 5_000
BATCHES = 60
MILLION = 1_000_000
RECORDS = 30_000


def main() -> None:
    """Measure and print."""
    for line in locating():
        print(line)  # noqa: T201 - what a benchmark is for
    for line in releasing(Path(sys.argv[1]) / "gowalla_nyc.csv.gz"):
        print(line)  # noqa: T201


def locating() -> Iterator[str]:
    """Time a grid, 200 rectangles without gaps, and the same with 200 corners each, on positions in them."""
    west, south = (one.ravel() for one in np.meshgrid(np.arange(20), np.arange(10)))
    boxes = shapely.box(west / 32 - 74, south / 16 + 40, (west + 1) / 32 - 74, (south + 1) / 16 + 40).tolist()
    drawn = [shapely.segmentize(box, 0.001) for box in boxes]
    names = [f"r{i:03d}" for i in range(200)]
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(40.0, 40.625, MILLION), rng.uniform(-74.0, -73.375, MILLION)
    records = [(i, CheckIn(user=f"u{i % 997}", ts=NOW_MS // 1000 - 60, lat=lat[i], lon=lon[i])) for i in range(BATCH)]
    rules = Rules(user_key=bytes(32), earliest_ms=0, latest_ms=2 * NOW_MS, max_ahead_ms=0)
    source = Source("checkins", 0)
    yield f"{'microseconds a record':24}{'intake':>10}{'locating':>10}{'a million at once':>20}"
    locators: list[tuple[str, Locator]] = [
        ("cells of 500 m", MetricGrid(500.0)),
        ("200 rectangles", DrawnRegions(names, boxes)),
        ("of 200 corners each", DrawnRegions(names, drawn)),
    ]
    for name, locator in locators:
        intake = CheckInIntake(rules, locator, SingleShard(), vocabulary="")
        whole = fastest(partial(intake.run, records, source=source, n_partitions=1, now_ms=NOW_MS), BATCHES) / BATCH
        alone = fastest(partial(locator.locate, lat[:BATCH], lon[:BATCH], [None] * BATCH), BATCHES) / BATCH
        at_once = fastest(partial(locator.locate, lat, lon, []), 3) / MILLION
        yield f"{name:24}{1e6 * whole:10.2f}{1e6 * alone:10.3f}{1e6 * at_once:20.3f}"


def releasing(feed: Path) -> Iterator[str]:
    """Compare what ``p2ka`` keeps of weeks of check-ins."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.csv"
        with gzip.open(feed, "rt") as lines:
            records.write_text("".join(islice(lines, RECORDS + 1)))
        yield f"\n{RECORDS} check-ins in New York, p2ka, k=5, windows of 7 days"
        yield f"{'locations':16}{'located':>10}{'released':>10}{'kept':>8}{'SIM1':>8}{'SIM2':>8}"
        for wanted in (10, 30, 100):
            file = Path(folder) / f"{wanted}.geojson"
            settings = load_settings(given={"privacy.secret": SECRET})
            files = FilePositions(settings=settings, feed=Feed(settings, Kind.CHECKINS, secret=SECRET), paths=[records])
            search = RegionSearch(k=5, n_regions=wanted, density=None, cell_m=250.0, h3_resolution=0)
            file.write_bytes(regions_as_geojson(search.run(files).regions))
            yield of_p2ka(
                records, f"{wanted} regions", {"location.kind": "regions", "location.regions_file": str(file)}
            )
        for cell_m in (500, 2000):
            yield of_p2ka(records, f"cells of {cell_m} m", {"location.cell_m": cell_m})


def of_p2ka(records: Path, name: str, given: dict[str, object]) -> str:
    """Release the check-ins, and describe the result in one line."""
    given = {"window.size": "7d", "privacy.model": "p2ka", "privacy.k": 5, **given}
    summary = replay_file(records, Kind.CHECKINS, given, measure=MeasureOptions()).summary
    located = summary.records - summary.rejected
    measures = {} if summary.measures is None else summary.measures.as_dict()
    kept, sim1, sim2 = (measures[one] or 0.0 for one in ("visits_kept_share", "sim1", "sim2"))
    released = summary.points_released / located
    return f"{name:16}{located / summary.records:10.0%}{released:10.1%}{kept:8.2f}{sim1:8.2f}{sim2:8.2f}"


def fastest(call: Callable[[], object], times: int) -> float:
    """Return the shortest time of several calls, seconds of processor time."""
    found = []
    for _ in range(times):
        begun = time.process_time()
        call()
        found.append(time.process_time() - begun)
    return min(found)


if __name__ == "__main__":
    main()
