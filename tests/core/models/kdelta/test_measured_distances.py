from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.fragments.distances import measure as measured
from core.models.kdelta.anonymize.distance.distances import Distances, Euclidean
from core.models.kdelta.anonymize.distance.edr import Edr
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.records.arrays import IntArray
from core.trajectories.trajectory import PointTrajectories
from tests.core.models.kdelta.tree_bounds import check_bounds
from tests.oracles.kdelta import Point, points_of, trajectories_of


@st.composite
def at_equal_times(draw: st.DrawFn) -> PointTrajectories:
    """Draw trajectories that share their time stamps."""
    n, t_ms = draw(st.integers(1, 6)), sorted(draw(st.sets(st.integers(-50, 50), min_size=1, max_size=6)))
    coordinate = st.floats(-500, 500)
    return trajectories_of(*((user, [(t, draw(coordinate), draw(coordinate)) for t in t_ms]) for user in range(n)))


def mean_mm(one: list[Point], other: list[Point]) -> float:
    away_m = [math.dist(p[1:], q[1:]) for p, q in zip(one, other, strict=True)]
    return 1000 * math.fsum(away_m) / len(away_m)


# ---------------------------------------------------------------- Euclidean


@given(at_equal_times())
def test_the_distance_is_the_mean_distance_at_equal_times(trajectories: PointTrajectories) -> None:
    """
    Whole millimetres, rounded; from either end alike, and 0 from itself.
    """
    n = len(trajectories.users)
    distances = Euclidean(trajectories)
    measured = np.array([distances.between(pivot, np.arange(n)) for pivot in range(n)])
    for one in range(n):
        for other in range(n):
            wanted_mm = mean_mm(points_of(trajectories, one), points_of(trajectories, other))
            assert abs(measured[one, other] - wanted_mm) <= 0.5 + 1e-6
    np.testing.assert_array_equal(measured, measured.T)
    assert (np.diag(measured) == 0).all()


@given(at_equal_times(), st.data())
def test_euclidean_pairs_are_measured_as_one_by_one(trajectories: PointTrajectories, data: st.DataObject) -> None:
    """
    A distance does not depend on what else is measured with it.
    """
    distances, number = Euclidean(trajectories), st.integers(0, len(trajectories.users) - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=8))
    ones, others = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    alone = [int(distances.between(one, np.array([other]))[0]) for one, other in pairs]
    assert distances.between(ones, others).tolist() == alone


def test_a_mean_of_three_distances_worked_by_hand() -> None:
    """
    0, 5 and 10 m are 5 m on average: neither the largest nor the end counts alone.
    """
    #  0 s: (0,0) - (0,0)      10 s: (0,0) - (3,4)      20 s: (0,0) - (6,8)
    still = [(t, 0.0, 0.0) for t in (0, 10_000, 20_000)]
    away = [(0, 0.0, 0.0), (10_000, 3.0, 4.0), (20_000, 6.0, 8.0)]
    assert Euclidean(trajectories_of((0, still), (1, away))).between(0, np.array([0, 1])).tolist() == [0, 5_000]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[0, 1], [0, 1, 2]], "equally many"),
        ([[0, 1], [0, 1], [0]], "equally many"),
        ([[0, 1, 2], [0], [0, 1]], "equally many"),  # two on average
        ([[0], []], "equally many"),
        ([[], []], "one at least"),
        ([[0, 1], [0, 2]], "time stamps"),
        ([[0, 1], [0, 1], [1, 2]], "time stamps"),
    ],
)
def test_unequal_time_stamps_are_refused(rows: list[list[int]], says: str) -> None:
    """
    Who has other time stamps, more of them, or none, is compared with nobody.
    """
    with pytest.raises(ValueError, match=says):
        Euclidean(trajectories_of(*((user, [(t, 0.0, 0.0) for t in t_ms]) for user, t_ms in enumerate(rows))))


@pytest.mark.parametrize("n", [0, 1])
def test_nobody_is_measured_to_nobody(n: int) -> None:
    """
    No pairs have no distances, in an empty data set as well: no warning either.
    """
    nobody: IntArray = np.zeros(0, dtype=np.int64)
    distances = Euclidean(trajectories_of(*((user, [(0, 0.0, 0.0)]) for user in range(n))))
    assert distances.between(nobody, nobody).tolist() == []


# ---------------------------------------------------------------- what is remembered


MEASURES: list[Callable[[PointTrajectories], Distances]] = [
    Euclidean,
    lambda some: Lstd(some, tolerance_s=0.02),
    lambda some: Edr(some, space_tolerance_m=100.0, time_tolerance_s=0.02),
]
each_distance = pytest.mark.parametrize("measure", MEASURES, ids=["euclidean", "lstd", "edr"])


def test_only_what_is_in_metres_has_units_a_metre() -> None:
    """
    Millimetres of LSTD and of the mean distance are a thousand a metre; edits a point are no metres at all.
    """
    point = trajectories_of((0, [(0, 0.0, 0.0)]))
    assert [measure(point).per_metre for measure in MEASURES] == [1000, 1000, None]


@each_distance
@given(trajectories=at_equal_times(), data=st.data())
def test_whatever_is_asked_in_whatever_order_the_answer_is_the_distance(
    measure: Callable[[PointTrajectories], Distances], trajectories: PointTrajectories, data: st.DataObject
) -> None:
    """
    Up to a limit a pair's distance is told as it is, beyond it a number between both; what is remembered of a pair, or
    was forgotten for another one, changes nothing.
    """
    distances, number = measure(trajectories), st.integers(0, len(trajectories.users) - 1)
    n_places = 1 << data.draw(st.integers(0, 2))
    forgetful = (*distances.data[:8], distances.data[8][:n_places].copy(), *distances.data[9:])
    for one, other in data.draw(st.lists(st.tuples(number, number), max_size=12)):
        alone = int(measure(trajectories).between(one, np.array([other]))[0])
        limit = data.draw(st.integers(max(alone - 2, 0), alone + 2) | st.integers(0, 1_000_000))
        found = measured(forgetful, one, other, limit)
        assert found == alone if alone <= limit else limit < found <= alone
        assert distances.between(one, np.array([other])).tolist() == [alone]


@each_distance
@given(trajectories=at_equal_times())
def test_bounds_are_never_above_a_distance(
    measure: Callable[[PointTrajectories], Distances], trajectories: PointTrajectories
) -> None:
    """
    What clustering skips because of a bound is really farther away: one trajectory, or all of a part of the tree.
    """
    for pivot in range(len(trajectories.users)):
        check_bounds(measure(trajectories), pivot)
