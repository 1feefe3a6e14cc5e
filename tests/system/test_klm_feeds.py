"""(k,l)^m-anonymity of real check-in feeds, each window checked as it would be published.

The feeds are not part of the project: without them these tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from core.models.klm.anonymize.cluster import ClusterSearch, sga, zga
from core.models.klm.anonymize.window import Clustered
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.verify import KLmReport, verify_klm
from core.records.arrays import BoolArray, FloatArray
from core.trajectories.trajectory import Sequences
from tests.paths import DATA

DAYS = {"gowalla_nyc": 7, "fsq_calgary": 30, "flickr_edin": 30}
SENSITIVE = ("Medical", "Nightlife", "Spiritual", "Entertainment", "Museum")
"""Words of categories that stand for what people may not want known."""

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real feeds are not here: {DATA}")

Window = tuple[Sequences, FloatArray, BoolArray]


def windows(name: str) -> Iterator[Window]:
    """Yield the windows of a feed: cells of some 2 km, sensitive venues as they are; in New York every tenth cell."""
    rows = defaultdict(list)
    with gzip.open(DATA / f"{name}.csv.gz", "rt", encoding="utf-8", errors="replace") as file:
        for row in csv.DictReader(file):
            ts_s, lat, lon = int(float(row["ts"])), float(row["lat"]), float(row["lon"])
            venue = name == "flickr_edin" or any(word in row["category"] for word in SENSITIVE)
            place = f"v{row['venue']}" if venue else f"c{round(lat * 50)},{round(lon * 35)}"
            sensitive = any(word in row["category"] for word in SENSITIVE)
            rows[ts_s // (86_400 * DAYS[name])].append((row["user"], ts_s, place, lat, lon, sensitive))
    for own in rows.values():
        names = sorted({row[2] for row in own})
        number = {place: i for i, place in enumerate(names)}
        xy_m, flags = np.zeros((len(names), 2)), np.zeros(len(names), np.bool_)
        for _, _, place, lat, lon, sensitive in own:
            xy_m[number[place]], flags[number[place]] = (lon * 80_000, lat * 111_000), sensitive
        if name == "gowalla_nyc":
            flags[::10] = True
        visits = defaultdict(list)
        for user, _, place, *_ in sorted(own):
            visits[user].append(number[place])
        pieces = [(u, its[i : i + 100]) for u, its in enumerate(visits.values()) for i in range(0, len(its), 100)]
        sequences = Sequences(
            users=np.array([user for user, _ in pieces]),
            starts=np.cumsum([0, *(len(piece) for _, piece in pieces)]),
            locations=np.array([location for _, piece in pieces for location in piece]),
        )
        yield sequences, xy_m, flags


def check(window: Window, result: Clustered, guarantee: KLmDiversity) -> KLmReport:
    sequences, _, flags = window
    names = [f"{i:06d}" for i in range(len(flags))]
    labels = result.recoding.named(names)
    left = result.recoding.apply(sequences)
    published = [[labels[i] for i in left.locations[start:end].tolist()] for start, end in pairwise(left.starts)]
    sensitive = [name for name, is_sensitive in zip(names, flags.tolist(), strict=True) if is_sensitive]
    return verify_klm(left.users.tolist(), published, sensitive, guarantee)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "flickr_edin" else pytest.mark.deep) for name in DAYS]
)
def test_every_window_of_a_real_feed_holds(name: str, k: int) -> None:
    """
    By ZGA and SGA, with a number of clusters given or searched; and most of the visits are released.
    """
    guarantee = KLmDiversity(k=k, l=3, m=2)
    kept = total = 0
    for i, window in enumerate(windows(name)):
        if name != "fsq_calgary" and i % 8:
            continue  # one window in eight, for time
        for model in (zga, sga):
            for number in (None, 3):
                result = model(*window, guarantee, ClusterSearch(number=number))
                assert check(window, result, guarantee).holds
                kept, total = kept + int(result.recoding.kept.sum()), total + len(result.recoding.kept)
    assert kept > 0.8 * total
