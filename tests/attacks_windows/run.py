"""Print what attacks over several windows find on the real feeds, beside what the settings promise.

Run it as ``python -m tests.attacks_windows.run DATA_DIR [RUN ...] [--set NAME=VALUE ...] [--windows N]``, with names of
runs for some of them only, and settings by dotted name for all of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from core.records.record import Kind
from stream.settings.errors import SettingsError
from tests.attacks_windows.checkins import known_in_each_window, linked_once, multiplied_shares
from tests.attacks_windows.fragments import appearances, followed_sets, known_twice
from tests.attacks_windows.released import ReleasedWindow, released_windows
from tests.attacks_windows.table import Line
from tests.attacks_windows.two_releases import checkins_and_fragments, trajectories_and_stops, two_deployments
from tests.benchmarks.table_models import PLANS
from tests.benchmarks.table_real_feeds import FEEDS as CHECKINS
from tests.benchmarks.table_trajectories import FEEDS as FRAGMENTS

__all__ = ["RUNS", "main"]

Given = dict[str, object]
Run = Callable[[Path, Given, int], Iterator[Line]]

_CARRIERS = 0.2
"""Share of people who get the drawn sensitive value."""

_C = 0.5


def _fragments(feed: str, size: str | None) -> Run:
    def run(data: Path, given: Given, most: int) -> Iterator[Line]:
        file, own = FRAGMENTS[feed]
        sized: Given = {} if size is None else {"window.size": size}
        windows = list(released_windows(data / file, Kind.FRAGMENTS, {**own, **sized, **given}, most=most))
        if len(windows) < 2:
            return
        yield from followed_sets(windows)
        yield from known_twice(windows)
        yield from appearances(windows)

    return run


def _checkins(feed: str, model: Given) -> Run:
    def run(data: Path, given: Given, most: int) -> Iterator[Line]:
        own = {**CHECKINS[feed], **model, **given}
        with tempfile.TemporaryDirectory() as folder:
            file = _with_people(data / f"{feed}.csv.gz", Path(folder))
            if "privacy.attributes" in model:
                own["privacy.attributes"] = {"age": "18..90", "plan": str(Path(folder) / "plans.csv")}
            windows = list(released_windows(file, Kind.CHECKINS, own, most=most))
        if len(windows) >= 2:
            yield from linked_once(windows)
            yield from known_in_each_window(windows)

    return run


def _shares(data: Path, given: Given, most: int) -> Iterator[Line]:
    """LKC-privacy of weeks of Gowalla, with a value that a drawn fifth of the people has."""
    own: Given = {
        **CHECKINS["gowalla_nyc"],
        **{"privacy.model": "lkc", "privacy.time_slot": "6h", "privacy.slots_of": "day", "privacy.max_confidence": _C},
        **{
            "privacy.sensitive_field": "category",
            "privacy.sensitive_values": ("carrier",),
            "fields.category": "unused",
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        file = _with_people(data / "gowalla_nyc.csv.gz", Path(folder))
        windows = list(released_windows(file, Kind.CHECKINS, {**own, **given}, most=most))
        hashes = _carrying(windows)
    if windows:
        yield from multiplied_shares(windows, hashes, _C)


def _carrying(windows: Sequence[ReleasedWindow]) -> frozenset[int]:
    """Return the keyed hashes of the carriers: those with the value in the rows of any window."""
    found: set[int] = set()
    for one in windows:
        of_user = one.window.values.of_users(one.window.n_users)
        found.update(int(one.window.hashes[user]) for user, codes in enumerate(of_user) if codes)
    return frozenset(found)


def _with_people(file: Path, folder: Path) -> Path:
    """Write check-ins with drawn attributes of their people, and a drawn sensitive value for a fifth of them."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    with (folder / "plans.csv").open("w", newline="") as out:
        csv.writer(out).writerows((("category", "parent"), *PLANS))
    leaves = [plan for plan, _ in PLANS if plan not in {parent for _, parent in PLANS}]
    rng, users = np.random.default_rng(1), sorted({row["user"] for row in rows})
    ages, plans = rng.integers(18, 91, len(users)).tolist(), rng.choice(leaves, len(users)).tolist()
    carries = (rng.random(len(users)) < _CARRIERS).tolist()
    people = dict(zip(users, zip(ages, plans, carries, strict=True), strict=True))
    written = folder / "people.ndjson"
    with written.open("w", encoding="utf-8") as records:
        for row in rows:
            age, plan, is_carrier = people[row["user"]]
            record = {"user": row["user"], "ts": float(row["ts"]), "lat": float(row["lat"]), "lon": float(row["lon"])}
            record |= {"age": age, "plan": plan, "category": "carrier" if is_carrier else "other"}
            records.write(json.dumps(record) + "\n")
    return written


def _two_deployments(data: Path, given: Given, most: int) -> Iterator[Line]:
    file = data / "gowalla_nyc.csv.gz"
    first, second = (
        list(
            released_windows(
                file, Kind.CHECKINS, {**CHECKINS["gowalla_nyc"], **given, "privacy.k": k}, most=most, secret=_SECRET
            )
        )
        for k in (5, 10)
    )
    yield from two_deployments(first, second)


_SECRET = "a secret of two deployments"  # noqa: S105 - the same for both, so that users have the same numbers


def _both_kinds(data: Path, given: Given, most: int) -> Iterator[Line]:
    file, _ = FRAGMENTS["cabs_sf"]
    fragments = list(released_windows(data / file, Kind.FRAGMENTS, dict(given), most=min(most, 16)))
    of_grid = {"location.cell_m": 1000, "window.size": "15m"}
    checkins = list(released_windows(data / file, Kind.CHECKINS, {**of_grid, **given}, most=min(most, 16)))
    if fragments and checkins:
        yield from checkins_and_fragments(fragments, checkins)


def _beside(feed: str, of_both: Given, of_stops: Given) -> Run:
    def run(data: Path, given: Given, most: int) -> Iterator[Line]:
        file, own = FRAGMENTS[feed]
        fragments, stops = (
            list(released_windows(data / file, kind, {**own, **of_both, **one, **given}, most=most))
            for kind, one in ((Kind.FRAGMENTS, {}), (Kind.STOPS, of_stops))
        )
        if fragments and stops:
            yield from trajectories_and_stops(fragments, stops)

    return run


_PLAIN: Given = {}
_ATTRIBUTES: Given = {"privacy.attributes": {}, "privacy.max_loss": 1, "privacy.m": 1}
_DAY: Given = {"privacy.model": "lkc", "privacy.time_slot": "6h", "privacy.slots_of": "day"}

RUNS: dict[str, Run] = {
    "cabs-15m": _fragments("cabs_sf", "15m"),
    "cabs-5m": _fragments("cabs_sf", "5m"),
    "ships-5m": _fragments("ais_us", "5m"),
    "trucks-2h": _fragments("athens_trucks", None),
    "gowalla-seqanon": _checkins("gowalla_nyc", _PLAIN),
    "gowalla-least-loss": _checkins("gowalla_nyc", {"privacy.model": "least-loss"}),
    "gowalla-zga": _checkins("gowalla_nyc", {"privacy.model": "zga", "privacy.sensitive_locations": ()}),
    "gowalla-lkc": _checkins("gowalla_nyc", _DAY),
    "gowalla-p2ka": _checkins("gowalla_nyc", {"privacy.model": "p2ka"}),
    "gowalla-tum-bound": _checkins("gowalla_nyc", {"privacy.model": "tum-bound", **_ATTRIBUTES}),
    "gowalla-disassociation": _checkins("gowalla_nyc", {"privacy.model": "disassociation"}),
    "calgary-least-loss": _checkins("fsq_calgary", {"privacy.model": "least-loss"}),
    "edinburgh-least-loss": _checkins("flickr_edin", {"privacy.model": "least-loss"}),
    "melbourne-least-loss": _checkins("flickr_melb", {"privacy.model": "least-loss"}),
    "toronto-least-loss": _checkins("flickr_toro", {"privacy.model": "least-loss"}),
    "gowalla-lkc-shares": _shares,
    "two-deployments": _two_deployments,
    "both-kinds": _both_kinds,
    "cabs-beside": _beside("cabs_sf", {"window.size": "1h"}, {"location.cell_m": 1000, "stops.min_duration": "3m"}),
    # Ships are heard of for 22 minutes, every few minutes.
    "ships-beside": _beside(
        "ais_us",
        {"window.size": "10m"},
        {"location.cell_m": 20_000, "stops.min_duration": "3m", "stops.max_gap": "4m"},
    ),
}
"""The runs: a feed under a model."""


def main() -> None:
    """Print the table, run by run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=", ".join(RUNS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="given")
    parser.add_argument("--windows", type=int, default=100, help="most released windows of a run")
    args = parser.parse_args()
    if unknown := set(args.runs) - set(RUNS):
        parser.error(f"no such run: {', '.join(sorted(unknown))}; the runs are {', '.join(RUNS)}")
    given: Given = dict(one.split("=", 1) for one in args.given)
    sys.stdout.write("| run | attack | promised | measured |\n| --- | --- | --- | --- |\n")
    names = args.runs or list(RUNS)
    for number, name in enumerate(names, 1):
        sys.stderr.write(f"{number} of {len(names)}: {name} ...\n")
        begun_s = time.monotonic()
        try:
            for line in RUNS[name](args.data, given, args.windows):
                sys.stdout.write(f"| {name} | {' | '.join(line)} |\n")
                sys.stdout.flush()
        except SettingsError as fault:
            sys.stdout.write(f"| {name} | the settings do not fit | - | {fault} |\n")
        sys.stderr.write(f"  {time.monotonic() - begun_s:.0f} s\n")


if __name__ == "__main__":
    main()
