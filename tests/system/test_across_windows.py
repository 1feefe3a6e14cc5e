"""Promises over 2, 4 and 8 windows on the real feeds: the verifier refuses nothing, and little is lost."""

from __future__ import annotations

from typing import Any

import pytest

from core.records.record import Kind
from tests.benchmarks.replays import replay_file
from tests.benchmarks.table_trajectories import FEEDS
from tests.paths import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason=f"the real feeds are not at hand: {DATA}"),
]


@pytest.mark.parametrize("horizon", [2, 4, 8])
@pytest.mark.parametrize("across", ["mixing", "persistent"])
@pytest.mark.parametrize("feed", ["cabs_sf", "ais_us", "athens_trucks"])
def test_no_window_of_a_real_feed_is_refused(feed: str, across: str, horizon: int) -> None:
    """
    Every record is in one count, whatever is promised, and the set named next has at most half of a set under mixing.
    """
    file, own = FEEDS[feed]
    given: dict[str, Any] = {**own, "privacy.across": across, "privacy.horizon": horizon}
    if feed == "ais_us":
        given["window.size"] = "5m"  # four windows
    summary = replay_file(DATA / file, Kind.FRAGMENTS, given).summary
    assert summary.windows_refused == 0
    assert summary.windows_released >= 2
    assert summary.rows == (
        summary.duplicates
        + summary.late
        + summary.withheld_records
        + summary.points_released
        + summary.points_suppressed
    )
    if across == "mixing":
        assert summary.highest_linkage is not None
        assert summary.highest_linkage <= 0.5
