"""Print what a horizon of k^m-anonymity costs and prevents on three real feeds, and what longer windows cost instead.

Run it as ``python -m tests.benchmarks.table_horizon_km DATA_DIR``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from core.models.common.family import Contents
from core.models.common.plan import Plan
from core.models.km.plan import KmPlan
from core.models.registry import family_of
from core.records.record import Rows
from core.windows.seal import Seal
from tests.benchmarks.replays import contents_of, release_in_turn
from tests.benchmarks.table_real_feeds import FEEDS

__all__ = ["HORIZONS", "MODELS", "NAMES", "K", "SequenceReleases", "found_by_pairs", "main", "release_feed", "table"]

HORIZONS = (1, 2, 4, 8)
K, M = 5, 2
NAMES = ("gowalla_nyc", "fsq_calgary", "flickr_edin")
MODELS = ("seqanon", "least-loss")

Visited = Mapping[int, frozenset[int]]
"""Generalized locations with which each person is released in a window, by keyed hash."""


@dataclass(slots=True)
class SequenceReleases:
    """The releases of a feed."""

    windows: dict[int, Visited] = field(default_factory=dict)
    """By the number of the window."""

    visits: int = 0
    visits_kept: int = 0
    refused: int = 0
    people_kept: int = 0
    """Counted in each window."""

    moved_m: float = 0.0
    """D of each window, metres, summed over the released people."""

    cpu_s: float = 0.0

    @property
    def costs(self) -> tuple[str, str, str]:
        """Share of the visits that are released, mean D, and CPU time."""
        distance_m = self.moved_m / max(self.people_kept, 1)
        return f"{100 * self.visits_kept / self.visits:.1f} %", f"{distance_m:,.0f}", f"{self.cpu_s:.1f}"


def release_feed(file: Path, given: Mapping[str, object]) -> SequenceReleases:
    """Release all windows of a file as a replay does, and keep where people are released."""
    found = SequenceReleases()

    def release(seal: Seal, rows: Rows, plan: Plan) -> Contents | None:
        assert isinstance(plan, KmPlan)
        return _release(seal, rows, plan, found)

    release_in_turn(file, given, release)
    return found


def _release(seal: Seal, rows: Rows, plan: KmPlan, found: SequenceReleases) -> Contents | None:
    """Release a window, and add what is left of it."""
    family, begun = family_of(plan.model), time.process_time()
    window = family.assemble(seal, rows, plan)
    found.visits += len(rows) - window.duplicates
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
    loss = family.loss(window, result, plan)
    found.visits_kept += contents.rows_released
    found.people_kept += loss.people
    found.moved_m += loss.people * loss.distance_m
    visited: dict[int, set[int]] = {}
    released = result.released(window.sequences)
    for user, locations in zip(released.users.tolist(), released.lists(), strict=True):
        visited.setdefault(int(window.hashes[user]), set()).update(locations)
    number = seal.key.start_ms // (seal.key.end_ms - seal.key.start_ms)
    found.windows[number] = {user: frozenset(locations) for user, locations in visited.items() if locations}
    return contents


def found_by_pairs(windows: Mapping[int, Visited], *, runs_of: int, k: int) -> float:
    """Return the share of people of whom some two locations, in two windows of a run, fit fewer than k people.

    Args:
        windows: Where people are released in each window.
        runs_of: Windows of a run.
        k: Fewest people.

    Returns:
        Of the people who are released in at least two windows of some run.
    """
    people: set[int] = set()
    found: set[int] = set()
    for first in sorted(windows):
        run = [windows[number] for number in range(first, first + runs_of) if number in windows]
        users = sorted({user for visited in run for user in visited})
        of_user = {user: row for row, user in enumerate(users)}
        columns: list[tuple[int, int]] = sorted(
            {(at, one) for at, visited in enumerate(run) for some in visited.values() for one in some}
        )
        of_location = {location: column for column, location in enumerate(columns)}
        has = np.zeros((len(users), len(columns)), np.float32)
        for at, visited in enumerate(run):
            for user, some in visited.items():
                has[of_user[user], [of_location[at, one] for one in some]] = 1
        window = np.array([at for at, _ in columns])
        together = has.T @ has  # (c, c) people with both
        rare = ((together < k) & (window[:, None] != window[None, :])).astype(np.float32)
        n_windows = sum(np.array([user in visited for user in users]) for visited in run)
        people.update(user for user, n in zip(users, np.atleast_1d(n_windows).tolist(), strict=True) if n > 1)
        exposed = ((has @ rare) * has).any(axis=1)
        found.update(user for user, is_found in zip(users, exposed.tolist(), strict=True) if is_found)
    return len(found) / max(len(people), 1)


def table(data: Path, names: Sequence[str] = NAMES) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield (
        "| feed | model | window | horizon | visits released | D, m | CPU, s | found in 2, 4, 8 windows "
        "| windows as long as the horizon: visits released | D, m |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, model, horizon in product(names, MODELS, HORIZONS):
        file, size = data / f"{name}.csv.gz", str(FEEDS[name]["window.size"])
        given = {**FEEDS[name], "privacy.k": K, "privacy.m": M, "privacy.model": model}
        found = release_feed(file, {**given, "privacy.horizon": horizon})
        assert not found.refused
        runs = HORIZONS[1:] if horizon == 1 else (horizon,)
        shares = ", ".join(f"{100 * found_by_pairs(found.windows, runs_of=runs_of, k=K):.1f} %" for runs_of in runs)
        whole = found
        if horizon > 1:
            days = horizon * int(size.removesuffix("d"))
            whole = release_feed(file, {**given, "window.size": f"{days}d"})
        yield f"| {' | '.join((name, model, size, str(horizon), *found.costs, shares, *whole.costs[:2]))} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(NAMES):
        sys.exit(f"usage: python -m tests.benchmarks.table_horizon_km DATA_DIR [{'|'.join(NAMES)} ...]")
    for line in table(Path(sys.argv[1]), sys.argv[2:] or NAMES):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
