"""Simulated attacks on releases of real feeds: what the guarantee promises holds, and the published rule shows."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from core.pipeline import release_window
from core.records.record import CheckIn, Fragment, Kind, Point, Source
from core.release.attacks.risk import SAMPLE, Attack, Risk, worst
from core.release.outcome import Release
from core.windows.window import WindowKey, window_starts
from stream.feeds.feed import build_feeds
from stream.settings.load import load_settings
from tests.paths import DATA


def attacks(kind: Kind, name: str, n: int, **given: str) -> Iterator[Mapping[Attack, Risk]]:
    """Release the windows of the first records of a feed, and return what attacks on each came to."""
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{name} not in {DATA}")
    secret = {"privacy.secret": "a secret of the tests, long enough"}
    settings = load_settings(given=secret | {one.replace("__", "."): value for one, value in given.items()})
    feed = build_feeds(settings)[kind]
    records: list[tuple[int, CheckIn | Fragment]] = []
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        for i, row in enumerate(itertools.islice(csv.DictReader(lines), n)):
            ts, lat, lon = float(row["ts"]), float(row["lat"]), float(row["lon"])
            one = (
                CheckIn(user=row["user"], ts=ts, lat=lat, lon=lon)
                if kind is Kind.CHECKINS
                else Fragment(user=row["user"], points=[Point(ts, lat, lon)])
            )
            records.append((i, one))
    chunks, *_ = feed.intake.run(records, source=Source(name, 0), n_partitions=1, now_ms=2**41)
    rows = np.concatenate([chunk.rows for chunk in chunks])
    starts = window_starts(rows["ts_ms"], size_ms=feed.policy.size_ms)
    for start_ms in np.unique(starts).tolist():
        window = rows[starts == start_ms]
        key = WindowKey(start_ms + feed.policy.size_ms, kind, "all", start_ms)
        outcome = release_window(feed.plan.seal(key, 0, len(window), "test"), window, feed.plan)
        if isinstance(outcome, Release):
            yield outcome.risks


def test_nobody_who_checked_in_in_new_york_is_found_with_more_than_one_in_k() -> None:
    """
    Weeks of Gowalla, k=5, m=2: whoever knows two places of a person, in order, finds five people or nobody.
    """
    found = list(attacks(Kind.CHECKINS, "gowalla_nyc.csv.gz", 20_000, window__size="7d", location__cell_m="2000"))
    assert len(found) > 5
    assert max(one[Attack.PLACES].people for one in found) == SAMPLE
    assert 0.1 < max(worst(one) for one in found) <= 0.2


@pytest.mark.deep
def test_no_cab_is_found_with_more_than_one_in_k() -> None:
    """
    Quarters of an hour of cabs in San Francisco, k=5: whoever knows where one was, or also when, finds its whole set.
    """
    found = list(attacks(Kind.FRAGMENTS, "cabs_sf_20080608.csv.gz", 12_000))
    assert len(found) > 3
    assert 0.1 < max(worst(one) for one in found) <= 0.2


@pytest.mark.deep
def test_the_published_rule_gives_cabs_away() -> None:
    """
    Under minimal translation whoever is near the middle of a set is released as they were, and is found for certain.
    """
    published = {"privacy__translation": "minimal", "privacy__across": "none"}
    found = list(attacks(Kind.FRAGMENTS, "cabs_sf_20080608.csv.gz", 12_000, **published))
    assert max(one[Attack.TIMES].highest for one in found) == 1.0
