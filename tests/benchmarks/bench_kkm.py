"""Rum-bound and Tum-bound: seconds of one core, groups and losses, on drawn windows and on real feeds.

    python -m tests.benchmarks.bench_kkm [DATA_DIR]

Neither has attributes of people, so these are drawn: an age, a device of three levels, and a plan.
"""

from __future__ import annotations

import csv
import gzip
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import BoundNotMet, RTOptions, RTResult, published
from core.models.kkm.attributes import Attributes, CategoricalAttribute, Hierarchy, NumericAttribute, Schema
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.verify import KKmReport, verify_kkm
from core.places.taxonomy import Categories
from core.records.arrays import FloatArray
from core.trajectories.trajectory import Sequences
from tests.benchmarks.inputs import grid_walks

__all__ = ["FEEDS", "check", "drawn_attributes", "main", "windows_of"]

Locate = Callable[[dict[str, str]], str]


def _cell(lat_step: float, lon_step: float) -> Locate:
    return lambda row: f"{int(float(row['lat']) // lat_step):06d}/{int(float(row['lon']) // lon_step):06d}"


FEEDS: dict[str, tuple[int, Locate]] = {
    "gowalla_nyc": (7, _cell(0.025, 0.035)),
    "fsq_calgary": (30, _cell(0.009, 0.0143)),
    "flickr_edin": (30, lambda row: row["venue"]),
}
"""Days of a window, and what a location is."""

_SCHEMA: Schema = (
    NumericAttribute(name="age", low=16, high=90),
    CategoricalAttribute(
        name="device",
        hierarchy=Hierarchy(
            Categories.from_rows(
                [
                    *((f"d{i:02d}", f"brand{i // 4}") for i in range(24)),
                    *((f"brand{i}", f"os{i // 3}") for i in range(6)),
                    *((f"os{i}", "") for i in range(2)),
                ]
            )
        ),
    ),
    CategoricalAttribute(
        name="plan", hierarchy=Hierarchy(Categories.from_rows((name, "") for name in ("free", "basic", "pro", "team")))
    ),
)


def drawn_attributes(n: int, seed: int = 0) -> Attributes:
    """Draw the attributes of people: most are around forty, of few devices, and do not pay."""
    rng = np.random.default_rng(seed)
    ages = np.clip(rng.normal(38, 14, n), 16, 90).astype(int).tolist()
    devices = np.minimum(rng.geometric(0.12, n) - 1, 23).tolist()
    plans = rng.choice(["free", "basic", "pro", "team"], n, p=[0.6, 0.25, 0.1, 0.05]).tolist()
    return Attributes.of(_SCHEMA, [(a, f"d{d:02d}", p) for a, d, p in zip(ages, devices, plans, strict=True)])


def windows_of(path: Path, days: int, locate: Locate) -> Iterator[tuple[Sequences, FloatArray]]:
    """Read a feed window by window: everybody's visits, and the positions of their locations, metres."""
    windows: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    positions: dict[str, tuple[float, float]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = locate(row)
            positions.setdefault(place, (float(row["lat"]) * 111_000, float(row["lon"]) * 70_000))
            windows[int(float(row["ts"])) // (86_400 * days)][row["user"]].append(place)
    for _, people in sorted(windows.items()):
        names = sorted({place for visits in people.values() for place in visits})
        number = {name: i for i, name in enumerate(names)}
        visits = [[number[place] for place in its] for _, its in sorted(people.items())]
        sequences = Sequences(
            users=np.arange(len(visits)),
            starts=np.cumsum([0, *map(len, visits)]),
            locations=np.array([x for its in visits for x in its]),
        )
        yield sequences, np.array([positions[name] for name in names])


def check(result: RTResult, n_locations: int, guarantee: KKmAnonymity) -> KKmReport:
    """Verify a result as it would be published."""
    records = published(result, [f"{i:06d}" for i in range(n_locations)])
    sensitive = None if guarantee.l is None else records.sensitive
    return verify_kkm(records.users, records.attributes, records.locations, guarantee, sensitive=sensitive)


def _run(windows: list[tuple[Sequences, FloatArray]], guarantee: KKmAnonymity, options: RTOptions) -> str:
    not_met = people = groups = 0
    seconds = ncp = ul = 0.0
    for sequences, xy_m in windows:
        attributes = drawn_attributes(sequences.n_users)
        start = time.process_time()
        result = anonymize_rt(sequences, attributes, xy_m, guarantee, options)
        seconds += time.process_time() - start
        if isinstance(result, BoundNotMet):
            not_met += 1
            continue
        if not check(result, len(xy_m), guarantee).holds:
            raise AssertionError("a result does not hold the guarantee")
        its = sum(len(group.users) for group in result.groups)
        people, groups = people + its, groups + len(result.groups)
        ncp, ul = ncp + its * result.ncp, ul + its * result.ul
    shares = f"{ncp / max(people, 1):.3f} | {ul / max(people, 1):.3f}"
    return f"{len(windows)} | {not_met} | {people} | {groups} | {shares} | {seconds:.1f}"


def main(arguments: list[str]) -> None:
    """Print the table."""
    walks = grid_walks()
    inputs = {walks.name: [(walks.sequences, walks.xy_m)]}
    for name, (days, locate) in FEEDS.items() if arguments else ():
        inputs[name] = list(windows_of(Path(arguments[0]) / f"{name}.csv.gz", days, locate))
    columns = (
        "input | k | m | bound | merge | distance | windows | bound not met | people | groups | NCP | UL | seconds"
    )
    sys.stdout.write(f"| {columns} |\n")
    for name, windows in inputs.items():
        for k, m in ((3, 2), (5, 2), (5, 3)):
            for options in (
                RTOptions(bound="ncp", delta=0.4, merge="r"),
                RTOptions(bound="ncp", delta=0.4, merge="t"),
                RTOptions(bound="ncp", delta=0.4, merge="rt"),
                RTOptions(bound="ul", delta=0.6, merge="rt"),
                RTOptions(bound="ul", delta=0.6, merge="rt", distance="ul"),
            ):
                row = _run(windows, KKmAnonymity(k=k, m=m), options)
                bound = f"{options.bound} <= {options.delta}"
                given = f"{name} | {k} | {m} | {bound} | {options.merge} | {options.distance}"
                sys.stdout.write(f"| {given} | {row} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
