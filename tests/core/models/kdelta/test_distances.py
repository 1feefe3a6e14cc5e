from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.kernels.fragments.matching import nearest_moment
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.models.kdelta.anonymize.distance.matching import mean_speed_m_s as mean_speed
from core.models.kdelta.anonymize.distance.matching import path_of
from core.trajectories.trajectory import PointTrajectories
from tests.core.models.kdelta.edit_scripts import edit_script
from tests.core.models.kdelta.tree_bounds import bounds_of, check_bounds
from tests.oracles.kdelta import (
    Point,
    data_sets,
    edr_table,
    is_match,
    mean_speed_m_s,
    nearest_candidates,
    points,
    points_of,
    position_at,
    trajectories_of,
)

TOLERANCES_S = st.sampled_from([0.0, 0.5, 5.0, 20.0, 1000.0])


def everyone(trajectories: PointTrajectories) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(len(trajectories.users))


def matched(
    trajectories: PointTrajectories, tolerance_s: float, point: Point, other: int
) -> tuple[float, float, float]:
    """Time, ms, and place, metres, at which LSTD finds a trajectory nearest to a point."""
    origin_ms, (origin_x, origin_y) = int(trajectories.t_ms.min()), trajectories.xy_m.mean(axis=0).tolist()
    begin, end = trajectories.starts[other : other + 2].tolist()
    t, x, y = point[0] - origin_ms, (point[1] - origin_x) * 1000, (point[2] - origin_y) * 1000
    at, at_x, at_y = nearest_moment(path_of(trajectories), begin, end, begin, t, x, y, 1000 * tolerance_s)
    return at + origin_ms, at_x / 1000 + origin_x, at_y / 1000 + origin_y


@given(data_sets(), TOLERANCES_S)
def test_a_point_is_matched_with_the_nearest_position_within_the_tolerance(
    trajectories: PointTrajectories, tolerance_s: float
) -> None:
    """
    LSTD matches with the nearest position in space, of equally near ones with the smallest shift in time, and a point
    outside the span with the nearest end; an exact search of every segment finds nothing better.
    """
    for other in range(len(trajectories.users)):
        its = points_of(trajectories, other)
        for point in points_of(trajectories, 0):
            t, *xy = matched(trajectories, tolerance_s, point, other)
            assert position_at(its, t) == pytest.approx(xy, abs=1e-6)
            squared_mm = float(np.square((np.array(xy) - point[1:]) * 1000).sum())
            shift_ms = abs(t - point[0])
            candidates = nearest_candidates(point, its, round(tolerance_s * 1000))
            assert shift_ms <= max(float(shift) for _, shift in candidates) + 1e-6
            for candidate_mm, candidate_shift in candidates:
                assert squared_mm <= float(candidate_mm) + 1.001
                doubtful = abs(float(candidate_mm) % 1 - 0.5) < 1e-3  # rounds either way
                if abs(squared_mm - float(candidate_mm)) < 1e-6 and not doubtful:
                    assert shift_ms <= float(candidate_shift) + 1e-6


def way_m(trajectories: PointTrajectories, tolerance_s: float, one: int, other: int) -> float:
    """Sum over a trajectory's points of the distance to the matched position and the priced shift in time, metres."""
    speed, way = mean_speed_m_s(trajectories), 0.0
    for point in points_of(trajectories, one):
        at_ms, x, y = matched(trajectories, tolerance_s, point, other)
        way += math.hypot(x - point[1], y - point[2]) + abs(at_ms - point[0]) / 1000 * speed
    return way


def lstd_m(trajectories: PointTrajectories, tolerance_s: float, one: int, other: int) -> float:
    """The ways there and back, over all points of both."""
    there, back = (way_m(trajectories, tolerance_s, *pair) for pair in ((one, other), (other, one)))
    return (there + back) / int(np.diff(trajectories.starts)[[one, other]].sum())


@given(data_sets(), TOLERANCES_S, st.data())
def test_the_distance_is_the_mean_of_the_distance_and_the_priced_shift(
    trajectories: PointTrajectories, tolerance_s: float, data: st.DataObject
) -> None:
    """
    LSTD is the mean over the points of both of the distance to the matched position plus the shift in time at the
    data set's mean speed, in whole millimetres; a trajectory is at distance 0 from itself.
    """
    pivot = data.draw(st.integers(0, len(trajectories.users) - 1))
    distances = Lstd(trajectories, tolerance_s=tolerance_s)
    expected_m = [lstd_m(trajectories, tolerance_s, pivot, int(other)) for other in everyone(trajectories)]
    measured_mm = distances.between(pivot, everyone(trajectories))
    np.testing.assert_allclose(measured_mm, np.array(expected_m) * 1000, atol=0.51)
    assert measured_mm[pivot] == 0


@given(data_sets(min_size=2), TOLERANCES_S)
def test_lstd_is_symmetric(trajectories: PointTrajectories, tolerance_s: float) -> None:
    """
    From either end it is as far, to the rounding of a sum.
    """
    distances, all_of_them = Lstd(trajectories, tolerance_s=tolerance_s), everyone(trajectories)
    matrix = np.array([distances.between(pivot, all_of_them) for pivot in all_of_them.tolist()])
    assert np.abs(matrix - matrix.T).max() <= 1


def test_a_long_trajectory_does_not_fit_into_a_short_one_that_it_passes() -> None:
    """
    A short trajectory lies on the way of a long one: the long one's rest, that no pivot's point sees, counts.
    """
    long = [(1000 * i, 10.0 * i, 0.0) for i in range(60)]
    distances = Lstd(
        trajectories_of((0, long[:3]), (1, long), (2, [(t, x, 50.0) for t, x, _ in long[:3]])), tolerance_s=5
    )
    passing_mm, beside_mm = distances.between(0, np.array([1, 2])).tolist()
    assert beside_mm == 50_000
    assert passing_mm > 300_000


@pytest.mark.parametrize("n_points", [63, 64, 65, 127, 128, 200])
def test_a_finely_and_a_coarsely_sampled_trajectory_are_measured_by_all_their_points(n_points: int) -> None:
    """
    However finely somebody was sampled, every point counts, and bounds are still bounds.
    """
    rng = np.random.default_rng(n_points)
    fine = [(500 * i, float(rng.normal(0, 100)), float(rng.normal(0, 100))) for i in range(n_points)]
    coarse = [(5000 * i, float(rng.normal(0, 100)), float(rng.normal(0, 100))) for i in range(9)]
    trajectories = trajectories_of((0, fine), (1, coarse))
    distances = Lstd(trajectories, tolerance_s=20)
    for pivot, other in ((0, 1), (1, 0)):
        (measured_mm,) = distances.between(pivot, np.array([other])).tolist()
        assert measured_mm == pytest.approx(1000 * lstd_m(trajectories, 20, pivot, other), abs=0.51)
        assert bounds_of(distances, pivot)[other] <= measured_mm


@given(data_sets(extent_m=400), TOLERANCES_S, st.data())
def test_the_lower_bound_is_never_above_the_distance(
    trajectories: PointTrajectories, tolerance_s: float, data: st.DataObject
) -> None:
    """
    What clustering skips because of its bound is really farther away.
    """
    pivot = data.draw(st.integers(0, len(trajectories.users) - 1))
    distances = Lstd(trajectories, tolerance_s=tolerance_s)
    check_bounds(distances, pivot)


@pytest.mark.parametrize("tolerance_s", [0.0, 3.0, 10.0, 40.0])
def test_the_lower_bound_sees_all_that_the_tolerance_reaches(tolerance_s: float) -> None:
    """
    Densely sampled trajectories on the same way, one later than the other, are not thought farther than they are.
    """
    times = range(0, 200_000, 500)
    later_s = (-40, -10, -3, 0, 3, 10, 40)
    driving = [[(t, 0.03 * (t - 1000 * late), 0.0) for t in times] for late in later_s]
    standing = [[(0, 0.0, 0.0), (199_500, 0.0, 0.0)]] * 60  # these make a shift in time cheap
    distances = Lstd(trajectories_of(*enumerate(driving + standing)), tolerance_s=tolerance_s)
    for pivot in range(len(driving)):
        measured_mm = distances.between(pivot, np.arange(len(driving)))
        assert (bounds_of(distances, pivot)[: len(driving)] <= measured_mm).all()
    # The bound is of use: 80 s apart on the way is seen.
    assert bounds_of(distances, 0)[6] > 0.2 * distances.between(0, np.array([6]))[0]


@given(data_sets(min_size=2), TOLERANCES_S, st.data())
def test_measuring_some_gives_what_measuring_all_gives(
    trajectories: PointTrajectories, tolerance_s: float, data: st.DataObject
) -> None:
    """
    A distance does not depend on what else is measured with it.
    """
    distances = Lstd(trajectories, tolerance_s=tolerance_s)
    some = np.array(data.draw(st.lists(st.sampled_from(everyone(trajectories).tolist()), min_size=1)))
    whole = distances.between(0, everyone(trajectories))
    np.testing.assert_array_equal(distances.between(0, some), whole[some])


def test_a_standing_vehicle_is_matched_without_a_shift() -> None:
    """
    Of equally near positions the one nearest in time counts: standing together costs nothing but the distance.
    """
    #  pivot   stands at x=0      10 ----- 60 ----- 110 s
    #  other   stands at x=3      10 - 20 ----- 70 - 110 s
    still = [(10_000, 3.0, 0.0), (20_000, 3.0, 0.0), (70_000, 3.0, 0.0), (110_000, 3.0, 0.0)]
    moving = [(0, 500.0, 0.0), (100_000, 1500.0, 0.0)]
    pivot = [(10_000, 0.0, 0.0), (60_000, 0.0, 0.0), (110_000, 0.0, 0.0)]
    whole = trajectories_of((0, pivot), (1, still), (2, moving))
    assert mean_speed(path_of(whole), whole.starts) == pytest.approx(1000 / 300)
    distances = Lstd(whole, tolerance_s=300)
    assert distances.between(0, np.array([1])).tolist() == [3000]


def test_a_point_outside_the_span_pays_the_whole_shift() -> None:
    """
    Outside the other's span the nearest end counts, its shift in full, whatever the tolerance is.
    """
    pivot = [(0, 0.0, 0.0), (100_000, 100.0, 0.0)]  # 1 m/s
    early = [(0, 0.0, 5.0), (10_000, 0.0, 5.0)]  # stands for 10 s
    distances = Lstd(trajectories_of((0, pivot), (1, early)), tolerance_s=1)
    speed = 100 / 110
    there_m, back_m = 5 + np.hypot(100, 5) + 90 * speed, 5 + np.hypot(9, 5) + 1 * speed
    expected_m = (there_m + back_m) / 4  # at 10 s the pivot was nearest within a second at 9 s, at x = 9
    assert distances.between(0, np.array([1])).tolist() == [round(expected_m * 1000)]


def test_empty_trajectories_and_bad_tolerances_are_errors() -> None:
    """
    No distance is made up for a trajectory without points or for a tolerance that is none.
    """
    whole = trajectories_of((0, [(0, 0.0, 0.0)]))
    for tolerance_s in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="tolerance_s"):
            Lstd(whole, tolerance_s=tolerance_s)
    with pytest.raises(ValueError, match="without points"):
        Lstd(trajectories_of((0, [(0, 0.0, 0.0)]), (1, [])), tolerance_s=1.0)


@given(
    points(max_size=12, extent_m=6),
    points(max_size=12, extent_m=6),
    st.sampled_from([0.0, 1.0, 3.0]),
    st.sampled_from([0.0, 2.0, 30.0]),
)
def test_the_edit_script_is_valid_and_as_cheap_as_the_table_says(
    one: list[Point], pivot: list[Point], space_m: float, time_s: float
) -> None:
    """
    The script names every point of both trajectories once, in order; its steps that are not matches are as many as the
    canonical table of EDR (first row and column 0, 1, 2, ...) allows at least.
    """
    script = edit_script(one, pivot, space_m, time_s)
    assert script.own[script.own >= 0].tolist() == list(range(len(one)))
    assert script.pivot[script.pivot >= 0].tolist() == list(range(len(pivot)))
    steps = list(zip(script.own.tolist(), script.pivot.tolist(), strict=True))
    assert (-1, -1) not in steps
    edits = sum(i < 0 or j < 0 or not is_match(one[i], pivot[j], space_m, round(time_s * 1000)) for i, j in steps)
    assert edits == script.distance == edr_table(one, pivot, space_m, round(time_s * 1000))


@given(points(extent_m=6), points(extent_m=6))
def test_edr_is_symmetric(one: list[Point], other: list[Point]) -> None:
    """
    Editing one way takes as many edits as the other way.
    """
    assert edit_script(one, other, 1.0, 5.0).distance == edit_script(other, one, 1.0, 5.0).distance


@given(points())
def test_an_empty_trajectory_is_as_far_as_the_other_is_long(one: list[Point]) -> None:
    """
    The first row and column of the table cost one edit a step.
    """
    assert edit_script([], one, 1.0, 1.0).distance == len(one)
    assert edit_script(one, [], 1.0, 1.0).distance == len(one)
    assert edit_script(one, [], 1.0, 1.0).pivot.tolist() == [-1] * len(one)


@given(points(max_size=10), st.integers(1, 4))
def test_points_that_cannot_match_are_paired_at_equal_times(one: list[Point], missing: int) -> None:
    """
    Of the optimal scripts one is taken that pairs nothing across time needlessly: far away in space but sampled alike,
    what the pivot lacks at its end is deleted and the rest is paired with its own time.
    """
    assume(len(one) > missing)
    pivot = [(t, x + 1e6, y) for t, x, y in one[:-missing]]
    script = edit_script(one, pivot, 1.0, 1.0)
    assert script.own.tolist() == list(range(len(one)))
    assert script.pivot.tolist() == [*range(len(pivot)), *[-1] * missing]
