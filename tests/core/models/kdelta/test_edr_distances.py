from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kdelta.anonymize.distance.edr import Edr
from core.records.arrays import IntArray
from core.trajectories.trajectory import PointTrajectories
from tests.budgets import examples
from tests.core.models.kdelta.edit_scripts import edit_script
from tests.core.models.kdelta.tree_bounds import bounds_of, check_bounds
from tests.oracles.kdelta import Point, data_sets, edr_table, points, points_of, trajectories_of

SPACES_M = st.sampled_from([0.0, 1.0, 3.0])
TIMES_S = st.sampled_from([0.0, 0.5, 2.0, 30.0])
LENGTHS = (1, 63, 64, 65)


def everyone(trajectories: PointTrajectories) -> IntArray:
    return np.arange(len(trajectories.users))


def edr_of(trajectories: PointTrajectories, space_m: float = 1.0, time_s: float = 5.0) -> Edr:
    return Edr(trajectories, space_tolerance_m=space_m, time_tolerance_s=time_s)


def matrix(distances: Edr, trajectories: PointTrajectories) -> IntArray:
    """Distances of all pairs, a row for each pivot."""
    return np.array([distances.between(pivot, everyone(trajectories)) for pivot in everyone(trajectories).tolist()])


def expected(trajectories: PointTrajectories, space_m: float, time_s: float) -> list[list[int]]:
    """The same from the table: edits over the longer length, millionths, rounded down."""
    all_points = [points_of(trajectories, i) for i in everyone(trajectories).tolist()]
    return [
        [
            edr_table(one, other, space_m, round(time_s * 1000)) * 1_000_000 // max(len(one), len(other))
            for other in all_points
        ]
        for one in all_points
    ]


@settings(max_examples=examples(60))
@given(data_sets(max_size=7, extent_m=6), SPACES_M, TIMES_S)
def test_the_distance_is_the_table_of_edr_over_the_longer_length(
    trajectories: PointTrajectories, space_m: float, time_s: float
) -> None:
    """
    All others at once are as far as the canonical table says for each alone, in millionths of an edit a point.
    """
    distances = edr_of(trajectories, space_m, time_s)
    assert matrix(distances, trajectories).tolist() == expected(trajectories, space_m, time_s)


@settings(max_examples=examples(60))
@given(data_sets(min_size=2, extent_m=6), SPACES_M, TIMES_S)
def test_it_is_symmetric_from_0_to_1_and_0_from_itself(
    trajectories: PointTrajectories, space_m: float, time_s: float
) -> None:
    """
    To the last millionth: whoever is the pivot, and never more than an edit a point.
    """
    measured = matrix(edr_of(trajectories, space_m, time_s), trajectories)
    np.testing.assert_array_equal(measured, measured.T)
    assert (np.diag(measured) == 0).all()
    assert 0 <= measured.min() <= measured.max() <= Edr.unit


@settings(max_examples=examples(60))
@given(data_sets(extent_m=6), SPACES_M, TIMES_S)
def test_bounds_are_never_above_the_distance(trajectories: PointTrajectories, space_m: float, time_s: float) -> None:
    """
    What clustering skips because of a bound is really farther away.
    """
    distances = edr_of(trajectories, space_m, time_s)
    for pivot in everyone(trajectories).tolist():
        check_bounds(distances, pivot)


def test_bounds_see_points_that_match_nothing_and_points_that_one_has_more() -> None:
    """
    Somebody far away is an edit a point away, somebody with half the points half of them: without measuring.
    """
    near = [(1000 * i, 0.0, 0.0) for i in range(8)]
    distances = edr_of(trajectories_of((0, near), (1, [(t, 500.0, 0.0) for t, _, _ in near]), (2, near[:4])), 1.0, 5.0)
    assert bounds_of(distances, 0).tolist() == pytest.approx([0, Edr.unit, Edr.unit // 2], abs=3)


@settings(max_examples=examples(60))
@given(data_sets(extent_m=6), SPACES_M, TIMES_S, st.data())
def test_any_pairs_in_any_order_give_the_same_numbers(
    trajectories: PointTrajectories, space_m: float, time_s: float, data: st.DataObject
) -> None:
    """
    Who else is measured, before it, behind it or twice, changes no distance; one pivot for all is that pivot for each.
    """
    distances = edr_of(trajectories, space_m, time_s)
    whole = matrix(distances, trajectories)
    number = st.sampled_from(everyone(trajectories).tolist())
    pairs = np.array(data.draw(st.lists(st.tuples(number, number), min_size=1, max_size=20)), dtype=np.int64)
    ones, others = pairs.T
    np.testing.assert_array_equal(distances.between(ones, others), whole[ones, others])
    pivot = data.draw(number)
    np.testing.assert_array_equal(distances.between(pivot, others), whole[pivot, others])
    np.testing.assert_array_equal(distances.between(np.full(len(others), pivot), others), whole[pivot, others])


@settings(max_examples=examples(60))
@given(points(extent_m=6), points(extent_m=6), SPACES_M, TIMES_S)
def test_it_counts_the_edits_of_the_script(one: list[Point], other: list[Point], space_m: float, time_s: float) -> None:
    """
    What clustering measures is what the edit script of minimal translation then costs.
    """
    both = trajectories_of((0, one), (1, other))
    script = edit_script(one, other, space_m, time_s)
    (measured,) = edr_of(both, space_m, time_s).between(1, np.array([0])).tolist()
    assert measured == script.distance * 1_000_000 // max(len(one), len(other))


def test_a_hand_worked_example() -> None:
    """
    A tolerance is kept at its very value, in each coordinate and in time; one edit of three points is 333,333.
    """
    #            0 s       10 s      20 s
    #  pivot     (0,0)     (10,0)    (20,0)
    #  1         (1,-1)    (11,1)    (19,1)     all match at the corners of the square
    #  2         (0,0)     (10,0)    (21.5,0)   one is replaced
    #  3         (0,0) 5 s (10,0) 15 s          both 5 s later, one is missing
    #  4         (0,0)     (0,0) 5.001 s        a millisecond too late for the pivot's first and second
    pivot = [(0, 0.0, 0.0), (10_000, 10.0, 0.0), (20_000, 20.0, 0.0)]
    whole = trajectories_of(
        (0, pivot),
        (1, [(0, 1.0, -1.0), (10_000, 11.0, 1.0), (20_000, 19.0, 1.0)]),
        (2, [(0, 0.0, 0.0), (10_000, 10.0, 0.0), (20_000, 21.5, 0.0)]),
        (3, [(5_000, 0.0, 0.0), (15_000, 10.0, 0.0)]),
        (4, [(5_001, 0.0, 0.0)]),
    )
    distances = edr_of(whole, 1.0, 5.0)
    assert distances.between(0, everyone(whole)).tolist() == [0, 0, 333_333, 333_333, 1_000_000]


@pytest.mark.parametrize(("apart_ms", "edits"), [(0, 0), (499, 0), (500, 0), (501, 1)])
def test_a_tolerance_in_time_is_kept_to_the_millisecond(apart_ms: int, edits: int) -> None:
    """
    Half a second is 500 ms, earlier and later alike.
    """
    distances = edr_of(trajectories_of((0, [(0, 0.0, 0.0)]), (1, [(apart_ms, 0.0, 0.0)])), 1.0, 0.5)
    assert distances.between(np.array([0, 1]), np.array([1, 0])).tolist() == [edits * Edr.unit] * 2


def standing(n_points: int, x_m: float) -> list[Point]:
    return [(100 * i, x_m, 0.0) for i in range(n_points)]


@pytest.mark.parametrize("at_once", [*itertools.permutations(LENGTHS), LENGTHS * 3])
def test_long_runs_of_matches_side_by_side_do_not_run_into_one_another(at_once: tuple[int, ...]) -> None:
    """
    Where everything matches everything only the difference in length counts, where nothing does the longer length:
    whatever stands before or behind a lane, and whether a lane ends at, before or behind the end of a machine word.
    """
    rows = [standing(n, 0.0) for n in at_once]
    rows += [standing(n, 1000.0 * (i % 2)) for i, n in enumerate(at_once)]  # matching ones beside ones that do not
    whole = trajectories_of(*enumerate(rows))
    distances = edr_of(whole, 1.0, 1000.0)
    for pivot, its in enumerate(rows):
        here = [abs(len(its) - len(other)) if its[0][1] == other[0][1] else max(len(its), len(other)) for other in rows]
        wanted = [edits * 1_000_000 // max(len(its), len(other)) for edits, other in zip(here, rows, strict=True)]
        assert distances.between(pivot, everyone(whole)).tolist() == wanted
        assert distances.between(pivot, everyone(whole)[::-1]).tolist() == wanted[::-1]


RUNS = st.lists(st.tuples(st.sampled_from([1, 2, 31, 32, 63, 64]), st.sampled_from([0.0, 9.0])), min_size=1, max_size=3)


@settings(max_examples=examples(25))
@given(st.lists(RUNS, min_size=2, max_size=4), st.sampled_from([0.0, 1.5, 100.0]))
def test_lanes_of_long_runs_are_as_far_as_the_table_says(drawn: list[list[tuple[int, float]]], time_s: float) -> None:
    """
    Long runs of points that match, and of ones that do not, end inside a lane, at its end and in its neighbour: each
    is as far from each as it is alone.
    """
    rows = []
    for runs in drawn:
        xs = [x for length, x in runs for _ in range(length)][:65]
        rows.append([(100 * i, x, 0.0) for i, x in enumerate(xs)])
    whole = trajectories_of(*enumerate(rows))
    assert matrix(edr_of(whole, 1.0, time_s), whole).tolist() == expected(whole, 1.0, time_s)


def test_nobody_is_measured_to_nobody() -> None:
    """
    No pairs have no distances: one pivot or none, an empty data set too.
    """
    nobody: IntArray = np.zeros(0, dtype=np.int64)
    one = edr_of(trajectories_of((0, [(0, 0.0, 0.0)])))
    assert one.between(0, nobody).tolist() == one.between(nobody, nobody).tolist() == []
    assert edr_of(trajectories_of()).between(nobody, nobody).tolist() == []


@pytest.mark.parametrize("name", ["space_tolerance_m", "time_tolerance_s"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_an_error(name: str, value: float) -> None:
    """
    A tolerance that is negative or not finite is refused with its name.
    """
    tolerances = {"space_tolerance_m": 1.0, "time_tolerance_s": 1.0, name: value}
    with pytest.raises(ValueError, match=name):
        Edr(trajectories_of((0, [(0, 0.0, 0.0)])), **tolerances)


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_trajectory_without_points_is_an_error(empty: int) -> None:
    """
    No distance is made up for a trajectory without points, wherever it stands.
    """
    rows: list[tuple[int, list[Point]]] = [(user, [(0, 0.0, 0.0)] * (user != empty)) for user in range(3)]
    with pytest.raises(ValueError, match="without points"):
        edr_of(trajectories_of(*rows))
