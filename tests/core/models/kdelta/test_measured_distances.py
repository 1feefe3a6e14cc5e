from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.kdelta.anonymize.distance.distances import Distances, Euclidean, Measured
from core.models.kdelta.anonymize.distance.edr import Edr
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.records.arrays import IntArray
from core.trajectories.trajectory import PointTrajectories
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
    A distance does not depend on what else is measured with it; it is its own lower bound.
    """
    distances, number = Euclidean(trajectories), st.integers(0, len(trajectories.users) - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=8))
    ones, others = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    alone = [int(distances.between(one, np.array([other]))[0]) for one, other in pairs]
    assert distances.between(ones, others).tolist() == alone
    pivot = data.draw(number)
    assert (
        distances.lower_bounds(pivot).tolist() == distances.between(pivot, np.arange(len(trajectories.users))).tolist()
    )


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


# ---------------------------------------------------------------- Measured


class Spy:
    """Distances from a table, bounded by half of them, that remember what they were asked."""

    unit = 7
    in_metres = True

    def __init__(self, table: IntArray) -> None:
        self.table = table
        self.asked: list[tuple[int, int]] = []
        self.bounded: list[int] = []

    def between(self, ones: int | IntArray, others: IntArray) -> IntArray:
        ones = np.broadcast_to(np.asarray(ones, dtype=np.int64), others.shape)
        self.asked += zip(ones.tolist(), others.tolist(), strict=True)
        found: IntArray = self.table[ones, others]
        return found

    def lower_bounds(self, pivot: int) -> IntArray:
        self.bounded.append(pivot)
        half: IntArray = self.table[pivot] // 2
        return half


@st.composite
def tables(draw: st.DrawFn) -> IntArray:
    """Draw all distances of a data set: symmetric, 0 from itself."""
    n = draw(st.integers(1, 6))
    table: IntArray = np.zeros((n, n), dtype=np.int64)
    for one in range(n):
        for other in range(one):
            table[one, other] = table[other, one] = draw(st.integers(0, 99))
    return table


Pair = tuple[int, int]
Ask = Callable[[Measured, list[Pair]], IntArray]


def ask_pivot(measured: Measured, pairs: list[Pair]) -> IntArray:
    return measured.measure(pairs[0][0], np.array([other for _, other in pairs], dtype=np.int64))


def ask_pairs(measured: Measured, pairs: list[Pair]) -> IntArray:
    return measured.measure_pairs(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)


def ask_between(measured: Measured, pairs: list[Pair]) -> IntArray:
    return measured.between(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)


@st.composite
def questions(draw: st.DrawFn, n: int) -> list[tuple[Ask, list[Pair]]]:
    """Draw questions to one :class:`Measured`; pairs repeat, inside a question and among them."""
    number = st.integers(0, n - 1)
    drawn: list[tuple[Ask, list[Pair]]] = []
    for ask in draw(st.lists(st.sampled_from([ask_pivot, ask_pairs, ask_between]), max_size=8)):
        if ask is ask_pivot:
            pivot = draw(number)
            drawn.append((ask, [(pivot, other) for other in draw(st.lists(number, min_size=1, max_size=8))]))
        else:
            drawn.append((ask, draw(st.lists(st.tuples(number, number), max_size=12))))
    return drawn


@given(tables(), st.data())
def test_whatever_is_asked_in_whatever_order_the_answer_is_the_distance(table: IntArray, data: st.DataObject) -> None:
    """
    What is remembered is what would be measured, also where a pair stands in a question twice.
    """
    measured = Measured(Spy(table), len(table))
    for ask, pairs in data.draw(questions(len(table))):
        assert ask(measured, pairs).tolist() == [table[pair] for pair in pairs]


@given(tables(), st.data())
def test_what_is_known_is_never_asked_again(table: IntArray, data: st.DataObject) -> None:
    """
    A pair measured from a pivot is not measured from it again, one not asked for never is, and the bounds of a pivot
    are asked once; what is not to be remembered is measured each time.
    """
    spy = Spy(table)
    measured, known = Measured(spy, len(table)), set[Pair]()
    for ask, pairs in data.draw(questions(len(table))):
        spy.asked.clear()
        ask(measured, pairs)
        if ask is ask_between:
            assert spy.asked == pairs
        else:
            assert set(spy.asked) == set(pairs) - known
            known |= set(pairs)
    assert len(set(spy.bounded)) == len(spy.bounded)
    assert set(spy.bounded) >= {pivot for pivot, _ in known}


@given(tables(), st.data())
def test_a_row_bounds_from_below_and_is_exact_where_it_is_known(table: IntArray, data: st.DataObject) -> None:
    """
    At first a row is what the distance bounds, later the distance wherever it was measured; nothing else changes it.
    """
    measured, known = Measured(Spy(table), len(table)), np.zeros(table.shape, dtype=bool)
    for ask, pairs in data.draw(questions(len(table))):
        ask(measured, pairs)
        if ask is not ask_between:
            known[tuple(zip(*pairs, strict=True)) if pairs else ([], [])] = True
        for pivot in range(len(table)):
            row = measured.row(pivot)
            assert row.known.tolist() == known[pivot].tolist()
            assert row.at_least.tolist() == np.where(known[pivot], table[pivot], table[pivot] // 2).tolist()
            assert (row.at_least <= table[pivot]).all()


def test_only_what_is_in_metres_has_units_a_metre() -> None:
    """
    Millimetres of LSTD and of the mean distance are a thousand a metre; edits a point are no metres at all.
    """
    point = trajectories_of((0, [(0, 0.0, 0.0)]))
    assert [Measured(measure(point), 1).per_metre for measure in MEASURES] == [1000, 1000, None]
    assert Measured(Spy(np.zeros((1, 1), dtype=np.int64)), 1).per_metre == 7


def test_an_answer_is_the_askers_own() -> None:
    """
    Whoever writes into an answer does not change what is remembered.
    """
    table: IntArray = np.array([[0, 8], [8, 0]])
    measured = Measured(Spy(table), 2)
    for ask in (ask_pivot, ask_pairs, ask_pivot):
        answer = ask(measured, [(0, 1), (0, 0)])
        assert answer.tolist() == [8, 0]
        answer[:] = -1


MEASURES: list[Callable[[PointTrajectories], Distances]] = [
    Euclidean,
    lambda some: Lstd(some, tolerance_s=0.02),
    lambda some: Edr(some, space_tolerance_m=100.0, time_tolerance_s=0.02),
]


@pytest.mark.parametrize("measure", MEASURES, ids=["euclidean", "lstd", "edr"])
@given(trajectories=at_equal_times(), data=st.data())
def test_every_distance_is_remembered_as_it_is(
    measure: Callable[[PointTrajectories], Distances], trajectories: PointTrajectories, data: st.DataObject
) -> None:
    """
    With each of the distances in use the answer to any question is that distance, of one pair alone.
    """
    distances, n = measure(trajectories), len(trajectories.users)
    measured = Measured(distances, n)
    for ask, pairs in data.draw(questions(n)):
        alone = [int(distances.between(one, np.array([other]))[0]) for one, other in pairs]
        assert ask(measured, pairs).tolist() == alone
