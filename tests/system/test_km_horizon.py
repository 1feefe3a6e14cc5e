"""k^m-anonymity over a horizon on the monthly windows of a real feed."""

from __future__ import annotations

import pytest

from tests.benchmarks.table_horizon_km import K, found_by_pairs, release_feed
from tests.benchmarks.table_real_feeds import FEEDS
from tests.paths import DATA

NAME = "fsq_calgary"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / f"{NAME}.csv.gz").exists(), reason=f"no real feeds at {DATA}")
def test_two_locations_in_two_months_fit_k_people_of_calgary() -> None:
    """
    Released alone, some two locations in four months fit fewer than k people for a quarter of the people; over a
    horizon, for nobody, and nearly all visits are released.
    """
    given = {**FEEDS[NAME], "privacy.model": "seqanon", "privacy.k": K, "privacy.m": 2}
    alone, together = (release_feed(DATA / f"{NAME}.csv.gz", {**given, "privacy.horizon": h}) for h in (1, 4))
    assert found_by_pairs(alone.windows, runs_of=4, k=K) > 0.2
    assert together.refused == 0
    assert found_by_pairs(together.windows, runs_of=4, k=K) == 0
    assert together.visits_kept > 0.95 * alone.visits_kept
