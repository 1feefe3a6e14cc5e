"""(k,k^m)-anonymity over a horizon on the monthly windows of a real feed, with drawn attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.attribute_attacks import intersect_over_windows
from tests.benchmarks.table_horizon_kkm import K, release_feed, with_attributes
from tests.paths import DATA

NAME = "fsq_calgary"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / f"{NAME}.csv.gz").exists(), reason=f"no real feeds at {DATA}")
def test_months_together_fit_k_people_of_calgary(tmp_path: Path) -> None:
    """
    Released alone, eight months fit fewer than k people for a tenth of the people; over a horizon, for nobody.
    """
    file, given = with_attributes(NAME, DATA, tmp_path)
    given |= {"privacy.model": "tum-bound"}
    alone, together = (release_feed(file, {**given, "privacy.horizon": horizon}) for horizon in (1, 8))
    found, none = (
        intersect_over_windows(one.windows, one.true, one.schema, runs_of=8, k=K) for one in (alone, together)
    )
    assert found.share > 0.1
    assert found.fewest == 1
    assert together.refused == 0
    assert none.found == set()
    assert none.fewest is not None
    assert none.fewest >= K
    assert together.people_kept > 0.95 * alone.people_kept
