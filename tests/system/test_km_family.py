"""SeqAnon on every real feed of check-ins, over the grid of k and m of the README's table."""

from __future__ import annotations

import pytest

from core.records.record import Kind
from tests.benchmarks.replays import replay_file
from tests.benchmarks.table_real_feeds import FEEDS, KS, MS, replayed
from tests.paths import DATA

RECORDS = {
    "gowalla_nyc": 138_957,
    "flickr_edin": 7_853,
    "flickr_melb": 7_246,
    "flickr_toro": 7_607,
    "fsq_calgary": 9_317,
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason="the real feeds are not here: they belong into ../shared/data, beside the repository",
    ),
]


@pytest.mark.parametrize("m", MS)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", FEEDS)
def test_every_real_feed_is_released(name: str, k: int, m: int) -> None:
    """
    No window is refused, every row is in exactly one count, and most visits leave where the crowd is large enough.
    """
    run = replayed(DATA / f"{name}.csv.gz", {**FEEDS[name], "privacy.k": k, "privacy.m": m})
    summary = run.summary
    assert (summary.records, summary.windows_refused) == (RECORDS[name], 0)
    assert summary.windows_released + summary.windows_withheld == summary.windows > 0
    assert not {"anonymizer_failed", "verification_failed"} & summary.reasons.keys()
    places = (
        summary.rejected, summary.late, summary.duplicates, summary.withheld_records,
        summary.points_released, summary.points_suppressed,
    )  # fmt: skip
    assert sum(places) == summary.records
    assert (run.mean_distance_m is None) == (summary.windows_released == 0)
    if name in ("gowalla_nyc", "fsq_calgary"):
        assert summary.points_released > 0.9 * summary.records


@pytest.mark.parametrize("name", FEEDS)
def test_more_privacy_never_releases_more(name: str) -> None:
    """
    A larger k, and a larger m, release at most as many visits: fewer windows have the people, longer sequences are cut.
    """
    released = {
        (k, m): replay_file(
            DATA / f"{name}.csv.gz", Kind.CHECKINS, {**FEEDS[name], "privacy.k": k, "privacy.m": m}
        ).summary.points_released
        for k in (2, 25)
        for m in (1, 3)
    }
    assert released[2, 1] >= released[2, 3] >= released[25, 3]
    assert released[2, 1] >= released[25, 1] >= released[25, 3]
