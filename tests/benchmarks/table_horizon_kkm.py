"""Print what the horizon of ``rum-bound`` and ``tum-bound`` costs and prevents on three real feeds.

Run it as ``python -m tests.benchmarks.table_horizon_kkm DATA_DIR``.

The feeds have no attributes of people. Each person has a drawn age, device and plan: most are around forty, have one of
few devices and the cheapest plan.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from core.models.common.family import Contents
from core.models.common.plan import Plan
from core.models.kkm.attributes import Schema
from core.models.kkm.plan import KKmPlan
from core.models.registry import family_of
from core.records.record import Rows
from core.windows.seal import Seal
from tests.benchmarks.attribute_attacks import ReleasedAttributes, intersect_over_windows
from tests.benchmarks.replays import contents_of, release_in_turn
from tests.benchmarks.table_real_feeds import FEEDS

__all__ = ["HORIZONS", "NAMES", "AttributeReleases", "K", "main", "release_feed", "table", "with_attributes"]

HORIZONS = (1, 2, 4, 8)
K, M = 5, 2
NAMES = ("gowalla_nyc", "fsq_calgary", "flickr_edin")
MODELS = ("rum-bound", "tum-bound")

PLANS = (("free", ""), ("basic", "paid"), ("pro", "paid"), ("paid", ""))
DEVICES = (
    *((f"d{i:02d}", f"brand{i // 4}") for i in range(24)),
    *((f"brand{i}", f"os{i // 3}") for i in range(6)),
    *((f"os{i}", "") for i in range(2)),
)


def with_attributes(name: str, data: Path, folder: Path) -> tuple[Path, dict[str, object]]:
    """Write a feed with attributes of its people, and return the file and the settings that name them."""
    with gzip.open(data / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    rng = np.random.default_rng(1)
    users = sorted({row["user"] for row in rows})
    ages = np.clip(rng.normal(38, 14, len(users)), 18, 90).astype(int).tolist()
    devices = np.minimum(rng.geometric(0.12, len(users)) - 1, 23).tolist()
    plans = rng.choice(["free", "basic", "pro"], len(users), p=[0.6, 0.3, 0.1]).tolist()
    people = dict(zip(users, zip(ages, devices, plans, strict=True), strict=True))
    file = folder / f"{name}.ndjson"
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            age, device, plan = people[row["user"]]
            record = {"user": row["user"], "ts": float(row["ts"]), "lat": float(row["lat"]), "lon": float(row["lon"])}
            out.write(json.dumps(record | {"age": age, "device": f"d{device:02d}", "plan": plan}) + "\n")
    attributes = {"age": "18..90"}
    for attribute, tree in (("device", DEVICES), ("plan", PLANS)):
        attributes[attribute] = str(folder / f"{attribute}.csv")
        with (folder / f"{attribute}.csv").open("w", newline="") as out:
            csv.writer(out).writerows((("category", "parent"), *tree))
    return file, {**FEEDS[name], "privacy.k": K, "privacy.m": M, "privacy.attributes": attributes}


@dataclass(slots=True)
class AttributeReleases:
    """The releases of a feed."""

    schema: Schema = ()
    windows: list[ReleasedAttributes] = field(default_factory=list)
    true: dict[int, Sequence[float | str]] = field(default_factory=dict)
    """Attributes of everybody in the feed, by keyed hash."""

    people: int = 0
    """Counted in each window."""

    people_kept: int = 0
    refused: int = 0
    ncp: float = 0.0
    """Sum over the released people, as the others."""

    ul: float = 0.0
    cpu_s: float = 0.0


def release_feed(file: Path, given: Mapping[str, object]) -> AttributeReleases:
    """Release all windows of a file as a replay does, and keep whose the records are."""
    found = AttributeReleases()

    def release(seal: Seal, rows: Rows, plan: Plan) -> Contents | None:
        assert isinstance(plan, KKmPlan)
        found.schema = plan.schema
        return _release(seal, rows, plan, found)

    release_in_turn(file, given, release)
    return found


def _release(seal: Seal, rows: Rows, plan: KKmPlan, found: AttributeReleases) -> Contents | None:
    """Release a window, and add what is left of it."""
    family, begun = family_of(plan.model), time.process_time()
    window = family.assemble(seal, rows, plan)
    hashes = window.visits.hashes.tolist()
    for user, hashed in enumerate(hashes):
        found.true[hashed] = [one if isinstance(one, str) else one.low for one in window.attributes.values(user)]
    found.people += window.n_users
    if window.n_users < plan.guarantee.k:
        return None
    result = family.anonymize(seal, window, plan)
    candidate = None if result is None else family.candidate(window, result, plan)
    if result is None or candidate is None:
        return None
    contents = contents_of(seal, window, result, candidate, plan)
    if contents is None:
        found.refused += 1
        return None
    found.cpu_s += time.process_time() - begun
    n = len(candidate.users)
    found.people_kept += n
    found.ncp += n * result.ncp
    found.ul += n * result.ul_bounded
    number = seal.key.start_ms // (seal.key.end_ms - seal.key.start_ms)
    values = {hashes[user]: its for user, its in zip(candidate.users, candidate.attributes, strict=True)}
    found.windows.append(ReleasedAttributes(number=number, values=values))
    return contents


def table(data: Path, names: Sequence[str] = NAMES) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield (
        "| feed | model | horizon | people released | NCP | UL | CPU, s | windows intersected "
        "| people of whom fewer than k fit | fewest who fit |"
    )
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            file, given = with_attributes(name, data, Path(folder))
            for model, horizon in product(MODELS, HORIZONS):
                found = release_feed(file, {**given, "privacy.model": model, "privacy.horizon": horizon})
                assert not found.refused
                kept = max(found.people_kept, 1)
                cost = (
                    f"{100 * found.people_kept / found.people:.1f} %",
                    f"{found.ncp / kept:.2f}",
                    f"{found.ul / kept:.2f}",
                    f"{found.cpu_s:.1f}",
                )
                for runs_of in HORIZONS[1:] if horizon == 1 else (horizon,):
                    attack = intersect_over_windows(found.windows, found.true, found.schema, runs_of=runs_of, k=K)
                    fit = (str(runs_of), f"{100 * attack.share:.1f} %", str(attack.fewest))
                    yield f"| {' | '.join((name, model, str(horizon), *cost, *fit))} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(NAMES):
        sys.exit(f"usage: python -m tests.benchmarks.table_horizon_kkm DATA_DIR [{'|'.join(NAMES)} ...]")
    for line in table(Path(sys.argv[1]), sys.argv[2:] or NAMES):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
