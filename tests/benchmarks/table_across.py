"""Print the table of promises across windows in core/models/kdelta/README.md: what they cost, and what they stop.

Run it as ``python -m tests.benchmarks.table_across DATA_DIR``, with names of feeds for some of them only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from core.models.kdelta import release
from core.models.kdelta.plan import KDeltaPlan
from core.records.arrays import FloatArray, IntArray
from core.records.record import Kind
from core.trajectories.trajectory import PointTrajectories
from core.windows.history import Roster
from core.windows.partition import ReleaseWindow
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from tests.benchmarks.replays import NOW_MS, opened
from tests.benchmarks.table_trajectories import FEEDS as WHOLE_FEEDS

__all__ = ["FEEDS", "RUNS", "main", "table"]

_CABS, _SHIPS, _TRUCKS = (WHOLE_FEEDS[name] for name in ("cabs_sf", "ais_us", "athens_trucks"))

FEEDS: dict[str, tuple[str, dict[str, object]]] = {
    "cabs": _CABS,
    "ships": _SHIPS,
    "ships_5m": (_SHIPS[0], {**_SHIPS[1], "window.size": "5m"}),
    "trucks": _TRUCKS,
}
"""The feeds: file, and how it is read. Windows have 15 minutes if not said otherwise; those of trucks have 2 hours."""

RUNS: tuple[tuple[str, dict[str, object]], ...] = (
    ("none", {"privacy.across": "none"}),
    ("mixing, l = 2", {"privacy.across": "mixing"}),
    ("mixing, l = 3", {"privacy.across": "mixing", "privacy.mixing_l": 3}),
    ("persistent, 2 windows", {"privacy.across": "persistent", "privacy.horizon": 2}),
    ("persistent, 4 windows", {"privacy.across": "persistent", "privacy.horizon": 4}),
    (
        "persistent, 4 windows, trash_share 0.2",
        {"privacy.across": "persistent", "privacy.horizon": 4, "privacy.trash_share": 0.2},
    ),
    ("persistent, 8 windows", {"privacy.across": "persistent", "privacy.horizon": 8}),
    ("none, windows 4 times as long", {"privacy.across": "none", "window.size": "*4"}),
)
"""What differs from the defaults (w4m by LSTD, k=5, δ=500 m)."""


@dataclass(slots=True)
class Flows:
    """What goes from sets to sets of the next window, and where an attacker looks for it."""

    largest: list[float] = field(default_factory=list)
    """Of each set with people in the next window, the largest share of them in one set there."""

    followed: int = 0
    """People whose next set is the one that begins nearest to where their set ends."""

    people: int = 0
    """People who are in both windows."""

    def above(self, share: float) -> float:
        """Return the share of the sets of which more than a share of the people go to one set."""
        return float(np.mean([one > share for one in self.largest])) if self.largest else 0.0

    def add(self, before: Released, after: Released) -> None:
        """Count what goes from one window to the next."""
        next_sets: dict[int, set[int]] = {}
        for person, number in zip(after.people, after.sets, strict=True):
            next_sets.setdefault(person, set()).add(number)
        for number in sorted(set(before.sets)):
            members = {person for person, own in zip(before.people, before.sets, strict=True) if own == number}
            again = sorted(members & next_sets.keys())
            if not again:
                continue
            to = [one for person in again for one in next_sets[person]]
            self.largest.append(np.unique(to, return_counts=True)[1].max() / len(again))
            away_m = np.hypot(*(after.begins_m - before.ends_m[number]).T)
            nearest = int(away_m.argmin())
            self.followed += sum(nearest in next_sets[person] for person in again)
            self.people += len(again)


@dataclass(frozen=True, slots=True)
class Released:
    """What a window releases, and who is behind it."""

    start_ms: int
    people: list[int]
    sets: list[int]
    begins_m: FloatArray
    """Mean of the first published points of each set, metres, shape ``(c, 2)``."""

    ends_m: FloatArray
    """Mean of the last ones."""


@dataclass(slots=True)
class Costs:
    """Sums over all windows."""

    rows: int = 0
    kept: int = 0
    metres: float = 0.0
    trajectories: int = 0
    cpu_s: float = 0.0


def _released(window: ReleaseWindow, plan: KDeltaPlan, costs: Costs) -> tuple[Released, Roster] | None:
    """Release a window by the steps of its model, and count what that costs."""
    begun = time.process_time()
    points = release.assemble(window.seal, window.rows, plan)
    result = release.anonymize(window.seal, points, plan)
    costs.cpu_s += time.process_time() - begun
    candidate = release.candidate(points, result, plan)
    costs.rows += len(window.rows) - points.duplicates
    if candidate is None:
        return None
    assert release.verify(points, candidate, plan).finding is None
    sets = result.sets
    costs.kept += int(points.stands_for[sets.kept].sum())
    costs.metres += sets.mean_space_translation_m * len(sets.sources)
    costs.trajectories += len(sets.sources)
    # All windows in one projection: that of the feed's first place would bend far ones; degrees are metres enough.
    lat, lon = points.projection.to_degrees(sets.xy_m)
    xy_m = np.column_stack((lat * 111_000.0, lon * 111_000.0 * np.cos(np.radians(lat))))
    published = PointTrajectories(users=sets.sets, starts=sets.starts, t_ms=sets.t_ms, xy_m=xy_m)
    ends = [_means(published, at) for at in (published.starts[:-1], published.starts[1:] - 1)]
    people = points.hashes[candidate.users].tolist()
    own = Released(window.seal.key.start_ms, people, candidate.sets, *ends)
    return own, release.roster(window.seal, points, candidate)


def _means(published: PointTrajectories, at: IntArray) -> FloatArray:
    sizes = np.bincount(published.users)
    return np.column_stack([np.bincount(published.users, axis[at]) / sizes for axis in published.xy_m.T])


def run(file: Path, given: dict[str, object]) -> tuple[Costs, Flows]:
    """Release a feed, window by window."""
    costs, flows = Costs(), Flows()
    _, feed, records = opened(file, Kind.FRAGMENTS, given)
    before: Released | None = None
    windows = FileWindows(feed, [records], now_ms=NOW_MS, summary=Summary())
    try:
        for window in windows:
            plan = feed.plan.after(window.history)
            assert isinstance(plan, KDeltaPlan)
            made = _released(window, plan, costs)
            if made is None:
                continue
            after, roster = made
            if plan.horizon > 1:
                windows.remember(window.seal.key, [roster])
            if before is not None and after.start_ms - before.start_ms == feed.policy.size_ms:
                flows.add(before, after)
            before = after
    finally:
        records.close()
    return costs, flows


def _given(own: dict[str, object], changes: dict[str, object]) -> dict[str, object]:
    """Put the settings of a feed and of a run together."""
    given = {**own, **changes}
    if given.get("window.size") == "*4":
        size = str(own.get("window.size", "15m"))
        given["window.size"] = f"{4 * int(size[:-1])}{size[-1]}"
    return given


def table(data: Path, feeds: list[str]) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield "| feed | across | metres | suppressed | CPU time | sets above 1/2 | above 1/3 | followed |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in feeds:
        file, own = FEEDS[name]
        for label, changes in RUNS:
            costs, flows = run(data / file, _given(own, changes))
            cells = (
                name,
                label,
                f"{costs.metres / max(costs.trajectories, 1):,.0f}",
                f"{100 * (1 - costs.kept / max(costs.rows, 1)):.1f} %",
                f"{costs.cpu_s:.0f} s",
                f"{100 * flows.above(1 / 2):.0f} %",
                f"{100 * flows.above(1 / 3):.0f} %",
                f"{100 * flows.followed / max(flows.people, 1):.0f} %",
            )
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(FEEDS):
        sys.exit(f"usage: python -m tests.benchmarks.table_across DATA_DIR [{'|'.join(FEEDS)} ...]")
    for line in table(Path(sys.argv[1]), sys.argv[2:] or list(FEEDS)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
