"""Information loss against its formulas."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.utility.distance
from core.utility.distance import (
    dataset_distance,
    diameter,
    expected_distance,
    location_distance,
    normalized_distance,
    trajectory_distance,
)
from tests.oracles.km import Crowd, Point, as_sequences, crowds, maps, positions

GROUPS = st.lists(st.integers(0, 5), min_size=6, max_size=6)


def obvious_location_distance(points: list[Point], groups: list[int], location: int) -> float:
    return fmean(
        math.dist(points[location], points[other]) for other in range(len(points)) if groups[other] == groups[location]
    )


@settings(deadline=None)
@given(points=maps(), groups=GROUPS)
def test_location_distance_is_the_mean_over_members(points: list[Point], groups: list[int]) -> None:
    """
    Definition 6: each location's mean distance to every member of its generalized location, itself included.
    """
    expected = [obvious_location_distance(points, groups, location) for location in range(6)]
    assert location_distance(positions(points), np.array(groups)) == pytest.approx(expected)


@settings(deadline=None)
@given(crowd=crowds(), points=maps(), groups=GROUPS, data=st.data())
def test_distances_are_means_of_means_over_what_is_released(
    crowd: Crowd, points: list[Point], groups: list[int], data: st.DataObject
) -> None:
    """
    A trajectory is the mean of its kept visits, a dataset the mean of its trajectories with any.
    """
    window = as_sequences(crowd)
    n_visits = len(window.locations)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_visits, max_size=n_visits)), np.bool_)
    flags = iter(kept.tolist())
    per_visit = [
        [obvious_location_distance(points, groups, x) for x in trajectory if next(flags)] for _, trajectory in crowd
    ]
    means = [fmean(visits) if visits else math.nan for visits in per_visit]
    expected = fmean(mean for mean in means if not math.isnan(mean)) if any(per_visit) else math.nan

    arguments = window, positions(points), np.array(groups), kept
    assert trajectory_distance(*arguments) == pytest.approx(means, nan_ok=True)
    assert dataset_distance(*arguments) == pytest.approx(expected, nan_ok=True)


@settings(deadline=None)
@given(crowd=crowds(), points=maps(), groups=GROUPS, data=st.data())
def test_expected_distance_takes_every_member_as_likely(
    crowd: Crowd, points: list[Point], groups: list[int], data: st.DataObject
) -> None:
    """
    The dataset distance with each visit's own distance replaced by the mean over the members of its location.
    """
    window = as_sequences(crowd)
    n_visits = len(window.locations)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_visits, max_size=n_visits)), np.bool_)
    flags = iter(kept.tolist())
    visits = [[x for x in trajectory if next(flags)] for _, trajectory in crowd]
    means = [
        fmean(
            fmean(obvious_location_distance(points, groups, other) for other in range(6) if groups[other] == groups[x])
            for x in own
        )
        for own in visits
        if own
    ]
    found = expected_distance(window, positions(points), np.array(groups), kept)
    assert found == pytest.approx(fmean(means) if means else math.nan, nan_ok=True)


def test_a_suppressed_visit_has_no_distance() -> None:
    """
    The distance is the mean over the other visits, and over the other trajectories where none is left.
    """
    window, xy_m = as_sequences([(0, (0, 1, 2)), (1, (2,))]), positions([(0, 0), (4, 0), (9, 9)])
    group_of, kept = np.array([0, 0, 2]), np.array([True, True, False, False])
    assert dataset_distance(window, xy_m, group_of, kept) == 2.0


def test_combined_distance_weighs_by_dissimilarity() -> None:
    """
    Definition 8: C is the mean of d times the generalized location's SD, for locations, trajectories and datasets.
    """
    window, xy_m = as_sequences([(0, (0, 2)), (1, (2,))]), positions([(0, 0), (6, 0), (9, 9), (9, 11)])
    group_of, kept = np.array([0, 0, 2, 2]), np.ones(3, np.bool_)
    share = np.array([0.5, 0.5, 1.0, 1.0])
    assert location_distance(xy_m, group_of, dissimilarity=share) == pytest.approx([1.5, 1.5, 1.0, 1.0])
    arguments = window, xy_m, group_of, kept
    assert trajectory_distance(*arguments, dissimilarity=share) == pytest.approx([1.25, 1.0])
    assert dataset_distance(*arguments, dissimilarity=share) == pytest.approx(1.125)


@pytest.mark.parametrize("share", [0.0, 1.1, math.nan])
def test_dissimilarity_is_a_share_above_zero(share: float) -> None:
    """
    Definition 8 takes SD in (0, 1]; anything else is a mistake.
    """
    with pytest.raises(ValueError, match="dissimilarity"):
        location_distance(positions([(0, 0)]), np.array([0]), dissimilarity=np.array([share]))


@settings(deadline=None)
@given(points=st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=12))
def test_the_diameter_is_the_largest_distance(points: list[Point]) -> None:
    """
    Leaving out locations near the centre never loses the farthest pair.
    """
    expected = max((math.dist(a, b) for a in points for b in points), default=0.0)
    assert diameter(positions(points)) == pytest.approx(expected)


def test_normalized_divides_by_the_diameter_of_the_vocabulary() -> None:
    """
    Half the largest distance is 0.5; where all locations coincide no distance can be lost.
    """
    assert normalized_distance(2.5, positions([(0, 0), (3, 4), (3, 0)])) == 0.5
    assert normalized_distance(0.0, positions([(1, 1), (1, 1)])) == 0.0


def test_working_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The distances are the same however few pairs are held at once.
    """
    xy_m = np.random.default_rng(1).random((20, 2))
    group_of = np.arange(20) % 3
    whole, widest_m = location_distance(xy_m, group_of), diameter(xy_m)
    monkeypatch.setattr(core.utility.distance, "_PAIRS_AT_ONCE", 5)
    assert location_distance(xy_m, group_of) == pytest.approx(whole)
    assert diameter(xy_m) == widest_m
