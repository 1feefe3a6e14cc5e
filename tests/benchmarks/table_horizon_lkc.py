"""Print what the horizon of ``lkc`` costs and prevents on weekly windows of Gowalla, and costs where values change.

Run it as ``python -m tests.benchmarks.table_horizon_lkc DATA_DIR``.

Gowalla has no sensitive values: some people are drawn, and one of four values for each of them. ``a tenth`` draws
anybody; ``a tenth, by place`` draws four tenths of the people whose first check-in was in a drawn tenth of the cells,
and three percent of the others; ``four fifths`` draws anybody, so that "none" is as rare as each value.
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
from fractions import Fraction
from itertools import chain, product
from pathlib import Path

import numpy as np

from core.models.common.family import Contents
from core.models.common.plan import Plan
from core.models.lkc.plan import LKCPlan
from core.models.registry import family_of
from core.records.record import Rows
from core.windows.seal import Seal
from tests.benchmarks.horizon_attacks import Inferences, ReleasedWindow, attack_over_windows
from tests.benchmarks.replays import contents_of, release_in_turn
from tests.benchmarks.table_models import SENSITIVE_VALUES
from tests.benchmarks.table_real_feeds import FEEDS

__all__ = ["GIVEN", "HORIZONS", "VALUES", "WHERE", "Releases", "main", "release_feed", "table", "with_values"]

HORIZONS = (1, 2, 4, 8)

WHERE = ("a tenth", "a tenth, by place", "four fifths")
"""How values are drawn."""

VALUES = ("asthma", "diabetes", "flu", "measles")

GIVEN: dict[str, object] = {
    **FEEDS["gowalla_nyc"],
    "privacy.model": "lkc",
    "privacy.k": 5,
    "privacy.m": 2,
    "privacy.time_slot": "6h",
    "privacy.slots_of": "day",
    "privacy.sensitive_field": "diagnosis",
    "privacy.sensitive_values": VALUES,
    "privacy.max_confidence": 0.5,
}


def with_values(feed: Path, file: Path, where: str) -> Path:
    """Write a feed with a value for some of its people, who keep it."""
    with gzip.open(feed, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    rng = np.random.default_rng(1)
    first: dict[str, tuple[int, int]] = {}
    for row in rows:
        first.setdefault(row["user"], (int(float(row["lat"]) * 50), int(float(row["lon"]) * 50)))
    cells = sorted(set(first.values()))
    dangerous = {cell for cell, drawn in zip(cells, rng.random(len(cells)).tolist(), strict=True) if drawn < 0.1}
    values = {}
    for user in sorted(first):
        share = {WHERE[0]: 0.1, WHERE[1]: 0.4 if first[user] in dangerous else 0.03, WHERE[2]: 0.8}[where]
        drawn, which = rng.random(), int(rng.integers(len(VALUES)))
        values[user] = VALUES[which] if drawn < share else None
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            record = {"user": row["user"], "ts": float(row["ts"]), "lat": float(row["lat"]), "lon": float(row["lon"])}
            out.write(json.dumps(record | {"diagnosis": values[row["user"]]}) + "\n")
    return file


@dataclass(slots=True)
class Releases:
    """The releases of a feed."""

    windows: list[ReleasedWindow]
    visits: int = 0
    visits_kept: int = 0
    people: int = 0
    """Counted in each window."""

    people_kept: int = 0
    left_out: int = 0
    """People left out for their signature, counted in each window."""

    refused: int = 0
    cpu_s: float = 0.0


def release_feed(file: Path, given: dict[str, object]) -> Releases:
    """Release all windows of a file as a replay does, and keep whose the trajectories are."""
    found = Releases([])

    def release(seal: Seal, rows: Rows, plan: Plan) -> Contents | None:
        assert isinstance(plan, LKCPlan)
        return _release(seal, rows, plan, found)

    release_in_turn(file, given, release)
    return found


def _release(seal: Seal, rows: Rows, plan: LKCPlan, found: Releases) -> Contents | None:
    """Release a window, and count what is left of it."""
    family, begun = family_of("lkc"), time.process_time()
    window = family.assemble(seal, rows, plan)
    found.visits += len(rows) - window.duplicates
    found.people += window.n_users
    if window.n_users < plan.guarantee.k:
        return None
    result = family.anonymize(seal, window, plan)
    assert result is not None  # pairs can always be suppressed
    candidate = family.candidate(window, result, plan)
    found.left_out += result.left_out
    if candidate is None:
        return None
    contents = contents_of(seal, window, result, candidate, plan)
    if contents is None:
        found.refused += 1
        return None
    found.cpu_s += time.process_time() - begun
    found.visits_kept += contents.rows_released
    found.people_kept += len(candidate.users)
    number = seal.key.start_ms // (seal.key.end_ms - seal.key.start_ms)
    users = window.hashes[candidate.users].tolist()
    found.windows.append(ReleasedWindow(number=number, users=users, candidate=candidate))
    return contents


def _of_release(found: Releases) -> tuple[str, str, str]:
    return (
        f"{100 * found.visits_kept / found.visits:.1f} %",
        f"{100 * found.people_kept / found.people:.1f} %",
        f"{100 * found.left_out / found.people:.1f} %",
    )


def _found(found: Inferences) -> str:
    return f"{100 * len(found.found) / max(len(found.carriers), 1):.1f} %"


def _right(found: Inferences) -> str:
    return f"{found.right:,} of {found.made:,}" if found.made else "none"


def table(data: Path) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield (
        "| people with a value | horizon | visits kept | people kept | left out for signatures | CPU, s "
        "| windows multiplied | carriers found | by values: right | by places: right | highest confidence |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory() as folder:
        for where in WHERE:
            file = with_values(data / "gowalla_nyc.csv.gz", Path(folder) / "feed.ndjson", where)
            for horizon in HORIZONS:
                found = release_feed(file, {**GIVEN, "privacy.horizon": horizon})
                assert not found.refused
                of_release = (*_of_release(found), f"{found.cpu_s:.1f}")
                for runs_of in HORIZONS if horizon == 1 else (horizon,):
                    rules = attack_over_windows(found.windows, runs_of=runs_of, known=2, c=Fraction(1, 2))
                    exact = rules["signatures"]
                    places = "-" if horizon == 1 else _right(rules["places"])
                    attacks = (str(runs_of), _found(exact), _right(rules["values"]), places, f"{exact.highest:.3f}")
                    yield f"| {' | '.join((where, str(horizon), *of_release, *attacks))} |"


def table_of_changes(data: Path) -> Iterator[str]:
    """Make the rows of the table of feeds whose values change: the categories of the venues that people visit."""
    yield "| feed | horizon | visits kept | people kept | left out for signatures |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for (name, values), horizon in product(SENSITIVE_VALUES.items(), HORIZONS):
        given: dict[str, object] = {
            **{setting: value for setting, value in GIVEN.items() if setting.startswith("privacy.")},
            **FEEDS[name],
            "privacy.time_slot": FEEDS[name]["window.size"],
            "privacy.slots_of": "window",
            "fields.category": "unused",
            "privacy.sensitive_field": "category",
            "privacy.sensitive_values": values,
            "privacy.horizon": horizon,
        }
        found = release_feed(data / f"{name}.csv.gz", given)
        yield f"| {' | '.join((name, str(horizon), *_of_release(found)))} |"


def main() -> None:
    """Print the tables, row by row."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.benchmarks.table_horizon_lkc DATA_DIR")
    data = Path(sys.argv[1])
    for line in chain(table_of_changes(data), [""], table(data)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
