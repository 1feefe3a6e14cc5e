"""Print what is kept of visits to cells, regions and places: of check-ins, and of stops that are found in fragments.

Run it as ``python -m tests.benchmarks.table_places DATA_DIR``, with names of feeds for some of them only.

Regions are those that `shoal regions` finds in the same feed. Places of check-ins are the venues of the feed, each at
the middle of its records. Fragments name no venues: their places are the middles of the cells in which most people
stopped.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.models.common.plan import Plan
from core.models.flows.plan import FlowPlan
from core.models.flows.trips import trips_of
from core.models.measures import measure_loss, measure_window
from core.records.record import Kind, Rows
from core.trajectories.assemble import assemble_sequences
from core.utility.window_measures import MeasureInputs, MeasureOptions
from core.windows.history import Roster
from core.windows.window import WindowKey
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.replay.file_windows import FileWindows
from stream.replay.places.file_positions import FilePositions
from stream.replay.places.region_features import regions_as_geojson
from stream.replay.places.region_search import RegionSearch
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.windows.releasing import release_parts
from tests.benchmarks.feed_places import FeedPlace, venues_of, write_places
from tests.benchmarks.replays import NOW_MS, SECRET
from tests.benchmarks.table_real_feeds import FEEDS as CHECKINS
from tests.benchmarks.table_trajectories import FEEDS as FRAGMENTS

__all__ = ["FEEDS", "Kept", "PlacesFeed", "Visits", "found_visits", "kept", "main", "table"]

Given = dict[str, object]

K, M, N_REGIONS, N_PLACES = 5, 2, 20, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesFeed:
    """A feed, and how large its cells are."""

    file: str
    kind: Kind
    sizes: tuple[str, ...]
    """Lengths of windows."""

    given: Given
    cells: Given
    """The vocabulary of cells."""

    region_cell_m: float
    """Side of the cells of which regions are made, metres."""

    place_cell_m: float
    """Side of the cells whose middles are places of stops, and of cells for visits that no place fits, metres."""


FEEDS = {
    "cabs_sf": PlacesFeed(
        file=FRAGMENTS["cabs_sf"][0],
        kind=Kind.STOPS,
        sizes=("1h", "1d"),
        given={},
        cells={"location.cell_m": 1000},
        region_cell_m=500.0,
        place_cell_m=500.0,
    ),
    "athens_trucks": PlacesFeed(
        file=FRAGMENTS["athens_trucks"][0],
        kind=Kind.STOPS,
        sizes=("1d",),
        given=FRAGMENTS["athens_trucks"][1],
        cells={"location.cell_m": 2000},
        region_cell_m=1000.0,
        place_cell_m=1000.0,
    ),
    "ais_us": PlacesFeed(
        file=FRAGMENTS["ais_us"][0],
        kind=Kind.STOPS,
        sizes=("1d",),
        given={},
        cells={"location.cell_m": 20_000},
        region_cell_m=10_000.0,
        place_cell_m=5000.0,
    ),
    "gowalla_nyc": PlacesFeed(
        file="gowalla_nyc.csv.gz",
        kind=Kind.CHECKINS,
        sizes=("7d",),
        given={},
        cells=CHECKINS["gowalla_nyc"],
        region_cell_m=500.0,
        place_cell_m=1000.0,
    ),
    "fsq_calgary": PlacesFeed(
        file="fsq_calgary.csv.gz",
        kind=Kind.CHECKINS,
        sizes=("30d",),
        given={},
        cells=CHECKINS["fsq_calgary"],
        region_cell_m=500.0,
        place_cell_m=1000.0,
    ),
}
"""The feeds: ships are in cells of 20 km, because they are spread over all coasts."""


def _models(size: str) -> dict[str, Given]:
    return {
        "seqanon": {},
        "lkc": {"privacy.model": "lkc", "privacy.time_slot": size, "privacy.horizon": 1},
        "p2ka": {"privacy.model": "p2ka"},
        "flows": {"privacy.model": "flows"},
        "flows with noise": {
            "privacy.model": "flows",
            "privacy.noise": "laplace",
            "privacy.epsilon": 1.0,
            "privacy.epsilon_per_day": 24.0 if size == "1h" else 1.0,
        },
    }


class Kept(NamedTuple):
    """What is kept of the visits of all windows of a run."""

    found: int
    """Visits that have a location."""

    released: int
    people_found: int
    """Distinct people of a window, summed over the windows."""

    people: int
    trips_found: int
    """Trips from a location to another one; 0 where the model releases none."""

    trips: float
    metres: float
    """Distances of released visits, or of the ends of released trips, from where they are released, summed."""

    refused: int
    """Windows that the verifier refused."""


_INPUTS = MeasureInputs(options=MeasureOptions(queries=1, projections=1))  # no figure of the table needs more


class Visits(NamedTuple):
    """The visits of one window: check-ins, or the stops that ended in it."""

    key: WindowKey
    rows: Rows


def found_visits(path: Path, kind: Kind, given: Given) -> Iterator[Visits]:
    """Yield the visits of the windows of a file."""
    settings, feed = _feed(kind, given)
    files = open_files(settings, feed, [path])
    try:
        windows = FileWindows(feed, files, now_ms=NOW_MS, summary=Summary())
        for window in windows:
            key, rows, plan = window.seal.key, window.rows, feed.plan.after(window.history)
            if plan.stop_rule is not None:
                found = plan.find_stops(window.seal, rows)
                windows.remember(key, [replace(Roster.of_nobody(key), carried=found.runs)])
                rows = found.visits
            if len(rows):
                yield Visits(key, rows)
    finally:
        for file in files:
            file.close()


def kept(windows: Iterable[Visits], kind: Kind, given: Given) -> Kept:
    """Release the visits of each window, which stand alone in these models, and measure what is kept of them."""
    _, feed = _feed(kind, given)
    plan = replace(feed.plan, stop_rule=None)  # stops are found already, and released as check-ins are
    return Kept(*map(sum, zip(*(_of_window(window, plan) for window in windows), strict=True)))


def _of_window(window: Visits, plan: Plan) -> Kept:
    visits, seal = window.rows, plan.seal(window.key, 0, len(window.rows), "table")
    ((_, result),) = release_parts(seal, visits, plan, max_bytes=2**24)
    plan, account = replace(plan, noisy=result.noisy), result.account
    found, n_people = account.released + account.suppressed + account.withheld, len(np.unique(visits["user"]))
    n_trips = 0
    if isinstance(plan, FlowPlan) and plan.locator is not None:
        n_trips = len(trips_of(assemble_sequences(visits, plan.locator, plan.limits), plan.guarantee.trips).trips)
    if result.outcome != "released":
        return Kept(found, 0, n_people, 0, n_trips, 0.0, 0.0, result.outcome == "refused")
    loss = measure_loss(seal, visits, plan)
    measures = measure_window(seal, visits, plan, _INPUTS) if n_trips else None
    trips = 0.0 if measures is None else measures.as_dict()["trips_kept_share"] * n_trips
    metres = loss.distance_m * (trips if n_trips else account.released) if loss.people else 0.0
    return Kept(found, account.released, n_people, loss.people, n_trips, trips, metres, 0)


def _feed(kind: Kind, given: Given) -> tuple[Settings, Feed]:
    settings = load_settings(given={"privacy.secret": SECRET, "privacy.k": K, "privacy.m": M, **given})
    return settings, Feed(settings, kind, secret=SECRET)


def _regions(path: Path, feed: PlacesFeed, folder: Path) -> tuple[str, Given]:
    """Write the regions of a feed, as `shoal regions` does; return a name with their number, and the settings."""
    kind = Kind.CHECKINS if feed.kind is Kind.CHECKINS else Kind.FRAGMENTS
    settings, read = _feed(kind, feed.given)
    search = RegionSearch(k=K, n_regions=N_REGIONS, density=None, cell_m=feed.region_cell_m, h3_resolution=0)
    found = search.run(FilePositions(settings=settings, feed=read, paths=[path]))
    file = folder / "regions.geojson"
    file.write_bytes(regions_as_geojson(found.regions))
    return f"{len(found.regions)} regions", {"location.kind": "regions", "location.regions_file": str(file)}


def _venues(path: Path) -> list[FeedPlace]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return venues_of(csv.DictReader(lines))


def _stopped_at(path: Path, feed: PlacesFeed) -> list[FeedPlace]:
    """Return the middles of the cells in which most people stopped."""
    given = {**feed.given, "location.cell_m": feed.place_cell_m, "window.size": "1d"}
    visits = np.concatenate([window.rows for window in found_visits(path, Kind.STOPS, given)])
    stopped = np.unique(visits[["location", "user"]])
    cells, n_people = np.unique(stopped["location"], return_counts=True)
    most = np.sort(cells[np.lexsort((cells, -n_people))[:N_PLACES]])
    locator = _feed(Kind.STOPS, given)[1].plan.locator
    assert locator is not None
    names, lat, lon = locator.describe(most)
    near = [f"near {name}" for name in names]
    return [FeedPlace(*row) for row in zip(near, near, lat.tolist(), lon.tolist(), strict=True)]


def _places(path: Path, feed: PlacesFeed, folder: Path) -> Given:
    file, cell_m = folder / "places.csv", feed.place_cell_m
    is_checkins = feed.kind is Kind.CHECKINS
    write_places(file, _venues(path) if is_checkins else _stopped_at(path, feed))
    # Half the diagonal of a cell: every stop of the cell is near its middle.
    near_m = 100.0 if is_checkins else round(0.71 * cell_m)
    return {
        "location.kind": "pois",
        "location.pois_file": str(file),
        "location.poi_distance_m": near_m,
        "location.cell_m": cell_m,
    }


def _vocabularies(path: Path, feed: PlacesFeed, folder: Path) -> dict[str, Given]:
    (label, regions), places = _regions(path, feed, folder), _places(path, feed, folder)
    if feed.kind is Kind.CHECKINS:
        return {"cells": feed.cells, label: regions, "places": places}
    return {
        "cells": feed.cells,
        f"{label}, 5m": {**regions, "stops.min_duration": "5m"},
        f"{label}, 0s": {**regions, "stops.min_duration": "0s"},
        "places": places,
    }


def _cell(name: str, one: Kept) -> str:
    """Write what a model keeps: visits, people and metres, or trips and metres."""
    if name.startswith("flows"):
        metres = f"{one.metres / one.trips:,.0f} m" if one.trips else "-"
        return f"{_percent(one.trips, one.trips_found)}, {metres}"
    shares = f"{_percent(one.released, one.found)}, {_percent(one.people, one.people_found)}"
    if name != "seqanon":  # nothing is generalized
        return shares
    return f"{shares}, {one.metres / one.released:,.0f} m" if one.released else f"{shares}, -"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def table(data: Path, feeds: list[str]) -> Iterator[str]:
    """Make the rows of the table, in Markdown."""
    yield f"| feed | window | places | visits | {' | '.join(_models('1d'))} |"
    yield f"| --- | --- | --- | ---: |{' --- |' * len(_models('1d'))}"
    for name in feeds:
        feed = FEEDS[name]
        path = data / feed.file
        with tempfile.TemporaryDirectory() as folder:
            sys.stderr.write(f"{name}: making regions and places ...\n")
            vocabularies = _vocabularies(path, feed, Path(folder))
            for size, (label, vocabulary) in product(feed.sizes, vocabularies.items()):
                sys.stderr.write(f"{name}, {size}, {label} ...\n")
                given = {**feed.given, **vocabulary, "window.size": size}
                windows = list(found_visits(path, feed.kind, given))
                runs = {model: kept(windows, feed.kind, {**given, **own}) for model, own in _models(size).items()}
                assert not any(run.refused for run in runs.values()), "the verifier refused a window"
                cells = (name, size, label, f"{runs['seqanon'].found:,}", *(_cell(*run) for run in runs.items()))
                yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(FEEDS):
        sys.exit(f"usage: python -m tests.benchmarks.table_places DATA_DIR [{'|'.join(FEEDS)} ...]")
    for line in table(Path(sys.argv[1]), sys.argv[2:] or list(FEEDS)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
