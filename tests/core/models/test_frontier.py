"""The frontier: what no other beats in both, and sums over windows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.frontier import Tally, undominated
from core.release.outcome import Account
from core.utility.window_measures import WindowLoss

# Few values, so that many are equal.
LOSSES = st.lists(st.tuples(*[st.one_of(st.sampled_from([0.0, 1.0, 2.5]), st.floats(0, 1e6))] * 2), max_size=12)


def dominated(one: tuple[float, float], by: tuple[float, float]) -> bool:
    """As the definition says."""
    return by[0] <= one[0] and by[1] <= one[1] and by != one


@given(LOSSES)
def test_the_frontier_is_what_nothing_else_dominates(points: list[tuple[float, float]]) -> None:
    """
    A point is on it if and only if no other is as low in both and lower in one; equal points share their lot.
    """
    assert undominated(points) == [not any(dominated(one, by) for by in points) for one in points]


@given(LOSSES, st.randoms())
def test_the_order_of_points_decides_nothing(points: list[tuple[float, float]], chance: object) -> None:
    """
    Whatever order they come in, the same points are on the frontier, and with any point there is one.
    """
    before = {point for point, on in zip(points, undominated(points), strict=True) if on}
    chance.shuffle(points)  # type: ignore[attr-defined]
    after = {point for point, on in zip(points, undominated(points), strict=True) if on}
    assert before == after
    assert bool(before) == bool(points)


def test_windows_are_weighted_by_what_is_released_of_them() -> None:
    """
    10 visits 100 m away and 30 visits 200 m away are 175 m away on average; what is withheld has no distance.
    """
    tally = Tally()
    assert (tally.unreleased_percent, tally.people_lost_percent, tally.distance_m) == (None, None, None)
    tally.add(Account(released=10, suppressed=5), 4, WindowLoss(distance_m=100.0, time_s=1.0, people=3))
    tally.add(Account(released=30, duplicates=7), 3, WindowLoss(distance_m=200.0, time_s=5.0, people=3))
    tally.add(Account(withheld=5), 1, None)
    tally.add(Account(withheld=0), 0, None, failed=True)
    assert tally.points == 50
    assert tally.unreleased_percent == pytest.approx(20.0)
    assert tally.people_lost_percent == pytest.approx(25.0)
    assert tally.distance_m == pytest.approx(175.0)
    assert tally.time_s == pytest.approx(4.0)
    assert (tally.windows, tally.windows_released, tally.windows_failed) == (4, 2, 1)


def test_the_highest_risk_is_that_of_all_windows() -> None:
    """
    Windows without an attack say nothing; a risk of 0 is known.
    """
    tally = Tally()
    for risk, highest in ((None, None), (0.0, 0.0), (0.25, 0.25), (0.1, 0.25), (None, 0.25)):
        tally.add(Account(released=1), 1, None, risk=risk)
        assert tally.highest_risk == highest


def test_a_release_of_created_points_alone_has_no_distance_to_spoil_the_mean() -> None:
    """
    Where no point of the window is released, NaN stays out.
    """
    tally = Tally()
    tally.add(Account(suppressed=5), 4, WindowLoss(distance_m=math.nan, time_s=math.nan, people=0))
    tally.add(Account(released=5), 4, WindowLoss(distance_m=7.0, time_s=0.0, people=4))
    assert tally.distance_m == pytest.approx(7.0)
