"""Print how the division of ``flows`` compares with simpler ways to divide a window into places, on real feeds.

Run it as ``python -m tests.benchmarks.table_flows DATA_DIR``.

All ways divide the same windows, and are judged by the same loss. *level* is one level of the hierarchy for all
locations, the best one (OIGH). *down* begins with one place and splits while that lowers the loss. *up* begins with the
locations and joins, at each step, the end of the smallest flow whose joining costs least, until all flows are large
enough (as ODkAnon, Armenante et al. 2025), and takes the best division on its way. *flows* is the model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from core.models.flows.anonymize.divide import divide
from core.models.flows.anonymize.division import Division, flow_people, price_m
from core.models.flows.plan import FlowPlan
from core.models.flows.tree import PlaceTree, errors_m
from core.models.flows.trips import FlowWindow, trips_of
from core.records.record import Kind
from core.trajectories.assemble import assemble_sequences
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from tests.benchmarks.replays import NOW_MS, opened

__all__ = ["WAYS", "main", "table"]

FEEDS, SIZES, KS = ("gowalla_nyc", "fsq_calgary"), ("1d", "1w"), (5, 10)
_SHARED = {"privacy.model": "flows", "location.kind": "h3", "location.h3_resolution": 9}

Way = Callable[[PlaceTree, FlowWindow, int], Division]


def _level(tree: PlaceTree, window: FlowWindow, k: int) -> Division:
    def at(level: int) -> Division:
        division = Division(tree, window.visits.vocabulary, window.trips, k)
        for number, place in enumerate(tree.places):  # a place comes before its children
            if number in division.cut and place.children and len(place.path) < level:
                division.apply(division.split(number))
        return division

    return min((at(level) for level in range(tree.n_levels + 1)), key=lambda division: division.loss_m)


def _down(tree: PlaceTree, window: FlowWindow, k: int) -> Division:
    division = Division(tree, window.visits.vocabulary, window.trips, k)
    for number, place in enumerate(tree.places):
        if number in division.cut and place.children and (change := division.split(number)).gain_m > 0:
            division.apply(change)
    return division


def _up(tree: PlaceTree, window: FlowWindow, k: int) -> Division:
    trips = window.trips
    parent = {child: number for number, place in enumerate(tree.places) for child in place.children}
    division = Division(tree, window.visits.vocabulary, trips, k)
    for number, place in enumerate(tree.places):
        if place.children:
            division.apply(division.split(number))
    best_loss_m, best = division.loss_m, division.cut.copy()
    while True:
        people = flow_people(trips, np.arange(len(trips)), division.place_of)
        small = np.flatnonzero(people < k)
        ends = (trips.origins, trips.destinations)
        trip = small[np.argmin(people[small])] if len(small) else 0
        places = {int(division.place_of[end[trip]]) for end in ends}
        above = sorted({parent[place] for place in places if place in parent})
        if not len(small) or not above:
            break
        changes = [division.join(number) for number in above]
        division.apply(max(changes, key=lambda change: change.gain_m))
        if division.loss_m < best_loss_m:
            best_loss_m, best = division.loss_m, division.cut.copy()
    for number in sorted(best):
        division.apply(division.join(number))
    return division


def _flows(tree: PlaceTree, window: FlowWindow, k: int) -> Division:
    return divide(tree, window.visits.vocabulary, window.trips, k=k, max_suppressed=len(window.trips))


WAYS: dict[str, Way] = {"level": _level, "down": _down, "up": _up, "flows": _flows}
"""Ways to divide a window, by name."""


def _windows(path: Path, given: dict[str, object], k: int) -> Iterator[tuple[PlaceTree, FlowWindow]]:
    """Yield the windows of a file in which at least k people make trips."""
    _, feed, file = opened(path, Kind.CHECKINS, given)
    plan = feed.plan
    assert isinstance(plan, FlowPlan)
    try:
        for sealed in FileWindows(feed, [file], now_ms=NOW_MS, summary=Summary()):
            window = trips_of(assemble_sequences(sealed.rows, plan.locator, plan.limits), plan.guarantee.trips)
            if len(np.unique(window.trips.users)) >= k:
                yield PlaceTree(window.visits.vocabulary, plan.taxonomy), window
    finally:
        file.close()


def _figures(tree: PlaceTree, window: FlowWindow, division: Division) -> tuple[float, ...]:
    """Return the loss as a share of the price of all trips, kept trips, trips, metres of their ends, and flows."""
    trips, kept, place_of = window.trips, division.kept, division.place_of
    error_m = np.zeros(len(place_of))
    for number in division.cut:
        place = tree.places[number]
        error_m[list(place.locations)] = errors_m(place, window.visits.vocabulary)
    metres = float((error_m[trips.origins[kept]] + error_m[trips.destinations[kept]]).sum()) / 2
    most = 2 * price_m(window.visits.vocabulary, trips) * len(trips)
    flows = np.unique(place_of[trips.origins[kept]] * len(tree.places) + place_of[trips.destinations[kept]])
    return division.loss_m / max(most, 1), float(kept.sum()), len(trips), metres, len(flows)


def table(data: Path) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield "| feed | window | k | way | loss | trips kept | metres | flows |"
    yield "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for name, size, k in product(FEEDS, SIZES, KS):
        sys.stderr.write(f"{name}, {size}, k={k} ...\n")
        windows = list(_windows(data / f"{name}.csv.gz", {**_SHARED, "window.size": size, "privacy.k": k}, k))
        for way, divided in WAYS.items():
            found = [_figures(tree, window, divided(tree, window, k)) for tree, window in windows]
            loss, kept, trips, metres, flows = np.array(found).sum(axis=0).tolist()
            cells = f"{loss / len(found):.3f} | {100 * kept / trips:.1f} % | {metres / max(kept, 1):,.0f}"
            yield f"| {name} | {size} | {k} | {way} | {cells} | {flows / len(found):.1f} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.benchmarks.table_flows DATA_DIR")
    for line in table(Path(sys.argv[1])):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
