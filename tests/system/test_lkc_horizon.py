"""LKC-privacy over a horizon on the weekly windows of a real feed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.benchmarks.horizon_attacks import attack_over_windows
from tests.benchmarks.table_horizon_lkc import GIVEN, WHERE, release_feed, with_values
from tests.paths import DATA

FEED = DATA / "gowalla_nyc.csv.gz"


@pytest.mark.slow
@pytest.mark.skipif(not FEED.exists(), reason=f"no real feeds at {DATA}")
def test_weeks_together_reveal_no_value_of_gowalla(tmp_path: Path) -> None:
    """
    Four of five people have a value: released alone, eight weeks reveal some; over a horizon, none, at next to no cost.
    """
    file = with_values(FEED, tmp_path / "feed.ndjson", WHERE[-1])
    alone = release_feed(file, {**GIVEN, "privacy.horizon": 1})
    found = attack_over_windows(alone.windows, runs_of=8, known=2, c=Fraction(1, 2))["signatures"]
    assert len(found.found) > 0.05 * len(found.carriers)
    assert found.highest > 0.9
    together = release_feed(file, {**GIVEN, "privacy.horizon": 8})
    attacks = attack_over_windows(together.windows, runs_of=8, known=2, c=Fraction(1, 2))
    assert together.refused == 0
    assert (attacks["signatures"].made, attacks["signatures"].highest) == (0, 0.5)
    assert attacks["values"].right < attacks["values"].made / 2
    assert together.visits_kept > 0.99 * alone.visits_kept
