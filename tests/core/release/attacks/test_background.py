"""Attacks with background knowledge: the published example of scikit-mobility, and slow versions by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.release.attacks.background import (
    CompanionsError,
    TooManyInstancesError,
    companions,
    distinct_visits,
    in_order_of_place,
    sequence_risks,
    uniqueness_risks,
)
from core.release.attacks.visit_frequency import VisitCounts, Weighing, home_work_risks, weighed_risks
from core.trajectories.trajectory import Sequences
from tests.budgets import examples

LIVORNO, PISA, FLORENCE, LUCCA = range(4)
"""Places of the example in the order of their positions, which decides between equally visited ones."""

TOY = (
    (LUCCA, LIVORNO, PISA, FLORENCE),
    (LUCCA, PISA, LUCCA, LIVORNO),
    (LIVORNO, PISA, LUCCA, FLORENCE),
    (PISA, LIVORNO, FLORENCE),
    (PISA, FLORENCE, LUCCA),
    (LUCCA, LIVORNO),
    (LUCCA, LUCCA, FLORENCE),
)
"""Visits of the seven people of scikit-mobility's example, in time order."""

DAYS = (
    (3, 3, 3, 4),
    (3, 3, 4, 4),
    (3, 3, 4, 4),
    (4, 4, 4),
    (4, 4, 5),
    (4, 4),
    (4, 4, 5),
)
"""The day of each visit, of February 2011."""

THIRD, QUARTER = 1 / 3, 1 / 4


def sequences(people: Sequence[Sequence[int]]) -> Sequences:
    return Sequences(
        users=np.arange(len(people)),
        starts=np.concatenate(([0], np.cumsum([len(one) for one in people]))).astype(np.int64),
        locations=np.array([place for one in people for place in one], np.int64),
    )


VISITS = sequences(TOY)
COUNTS = VisitCounts.of(VISITS)


@pytest.mark.parametrize(
    ("length", "risks"),
    [(2, [0.5, 0.5, 1, 0.5, 1, THIRD, 0.5]), (3, [1, 1, 1, 1, 1, THIRD, 1])],
)
def test_location_sequence_attack(length: int, risks: list[float]) -> None:
    """
    The figures in the documentation of LocationSequenceAttack.
    """
    assert sequence_risks(VISITS, length).tolist() == pytest.approx(risks)


@pytest.mark.parametrize(
    ("length", "risks"),
    [
        (2, [THIRD, 0.5, THIRD, THIRD, QUARTER, QUARTER, 0.5]),
        (3, [0.5, 1, 0.5, THIRD, THIRD, QUARTER, 1]),
    ],
)
def test_location_attack(length: int, risks: list[float]) -> None:
    """
    The figures in the documentation of LocationAttack.
    """
    assert sequence_risks(in_order_of_place(VISITS), length).tolist() == pytest.approx(risks)


def test_location_time_attack() -> None:
    """
    The figures in the documentation of LocationTimeAttack: its "hour" is the day and the month twice, and all visits
    are in one month.
    """
    by_day = sequences(
        [[100 * day + place for place, day in zip(*one, strict=True)] for one in zip(TOY, DAYS, strict=True)]
    )
    assert sequence_risks(in_order_of_place(by_day), 2).tolist() == [1, 1, 1, 1, 1, 0.5, 1]
    by_month = sequences([[200 + place for place in one] for one in TOY])
    expected = [THIRD, 0.5, THIRD, THIRD, QUARTER, QUARTER, 0.5]
    assert sequence_risks(in_order_of_place(by_month), 2).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("length", "risks"),
    [
        (2, [THIRD, QUARTER, THIRD, THIRD, QUARTER, QUARTER, QUARTER]),
        (3, [0.5, THIRD, 0.5, THIRD, THIRD, QUARTER, QUARTER]),
    ],
)
def test_unique_location_attack(length: int, risks: list[float]) -> None:
    """
    The figures in the documentation of UniqueLocationAttack.
    """
    assert sequence_risks(distinct_visits(VISITS), length).tolist() == pytest.approx(risks)


@pytest.mark.parametrize(
    ("weighing", "length", "tolerance", "risks"),
    [
        (Weighing.FREQUENCY, 2, 0.0, [THIRD, 1, THIRD, THIRD, THIRD, THIRD, 1]),
        (Weighing.FREQUENCY, 2, 0.5, [THIRD, 1, THIRD, THIRD, QUARTER, QUARTER, 1]),
        (Weighing.FREQUENCY, 3, 0.5, [0.5, 1, 0.5, THIRD, THIRD, QUARTER, 1]),
        (Weighing.PROBABILITY, 2, 0.0, [0.5, 1, 0.5, 1, 1, 1, 1]),
        (Weighing.PROBABILITY, 2, 0.5, [THIRD, 0.5, THIRD, THIRD, QUARTER, 1, 1]),
        (Weighing.PROBABILITY, 3, 0.5, [0.5, 1, 0.5, THIRD, THIRD, 1, 1]),
        (Weighing.PROPORTION, 2, 0.0, [THIRD, 1, THIRD, THIRD, THIRD, THIRD, 1]),
        (Weighing.PROPORTION, 2, 0.5, [THIRD, QUARTER, THIRD, THIRD, THIRD, THIRD, QUARTER]),
        (Weighing.PROPORTION, 3, 0.5, [0.5, THIRD, 0.5, THIRD, THIRD, THIRD, QUARTER]),
    ],
)
def test_attacks_by_how_often(weighing: Weighing, length: int, tolerance: float, risks: list[float]) -> None:
    """
    The figures in the documentation of LocationFrequencyAttack, LocationProbabilityAttack and LocationProportionAttack.
    """
    assert weighed_risks(COUNTS, length, weighing, tolerance=tolerance).tolist() == pytest.approx(risks)


def test_home_work_attack() -> None:
    """
    The figures in the documentation of HomeWorkAttack are those of the two rarest places of each person.
    """
    assert home_work_risks(COUNTS, rarest=True).tolist() == [0.25, 0.25, 0.25, 0.25, 1, 1, 1]


def test_home_and_work_are_the_most_visited() -> None:
    """
    Person 2 went to Lucca twice, and to Livorno before Pisa in the order of places: person 6 has the same two places.
    """
    assert home_work_risks(COUNTS)[[1, 5]].tolist() == [0.5, 0.5]


PEOPLE = st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=6)


def contains(visits: Sequence[int], known: Sequence[int]) -> bool:
    rest = iter(visits)
    return all(place in rest for place in known)


def slow_risks(people: list[list[int]], length: int, fits: object) -> list[float]:
    assert callable(fits)
    return [
        max(
            (1 / sum(fits(other, b) for other in people) for b in combinations(one, min(length, len(one))) if b),
            default=0,
        )
        for one in people
    ]


@settings(max_examples=examples(150))
@given(people=PEOPLE, length=st.integers(1, 4))
def test_risks_are_those_of_every_combination(people: list[list[int]], length: int) -> None:
    """
    Every combination of every person against everybody, one by one.
    """
    visits = sequences([*people, [9]])  # so that the last person has a visit
    everybody = [*people, [9]]
    assert sequence_risks(visits, length).tolist() == pytest.approx(slow_risks(everybody, length, contains))
    in_place = sequence_risks(in_order_of_place(visits), length).tolist()
    assert in_place == pytest.approx(slow_risks(everybody, length, lambda v, b: not Counter(b) - Counter(v)))
    sets = [sorted(set(one)) for one in everybody]
    assert sequence_risks(distinct_visits(visits), length).tolist() == pytest.approx(
        slow_risks(sets, length, lambda v, b: set(b) <= set(v))
    )
    counts = [sorted(Counter(one).items()) for one in everybody]
    assert weighed_risks(VisitCounts.of(visits), length, Weighing.FREQUENCY).tolist() == pytest.approx(
        slow_risks(counts, length, lambda v, b: set(b) <= set(v))  # type: ignore[arg-type]
    )


@settings(max_examples=examples(100))
@given(people=PEOPLE, points=st.integers(1, 3), seed=st.integers(0, 99))
def test_uniqueness_needs_no_luck_when_all_points_are_known(people: list[list[int]], points: int, seed: int) -> None:
    """
    With all distinct points every draw is the same, and gives the risk of the unique location attack; with fewer the
    mean is at most the highest.
    """
    visits = sequences([*people, [9]])
    all_points, unique = uniqueness_risks(visits, 9, np.random.default_rng(seed), draws=2)
    certain = sequence_risks(distinct_visits(visits), 9)
    assert all_points.tolist() == pytest.approx(certain.tolist())
    assert unique.tolist() == pytest.approx((certain == 1).astype(float).tolist())
    some, _ = uniqueness_risks(visits, points, np.random.default_rng(seed), draws=5)
    assert (some <= sequence_risks(distinct_visits(visits), points) + 1e-9).all()


@settings(max_examples=examples(100))
@given(people=PEOPLE)
def test_companions_were_at_one_place_at_one_time(people: list[list[int]]) -> None:
    """
    Everybody with a point in common, once, and never oneself.
    """
    met = companions(sequences([*people, [9]]))
    for user, one in enumerate(people):
        own = met.locations[met.starts[user] : met.starts[user + 1]].tolist()
        assert own == [i for i, other in enumerate(people) if i != user and set(one) & set(other)]


def test_known_companions_single_people_out() -> None:
    """
    1 met 0 and 2, who met nobody else: whoever met 0 and 2 is 1. Only one person met 0, so that knowing 0 is enough.
    """
    met = companions(sequences([[1], [1, 2], [2]]))
    assert sequence_risks(met, 2).tolist() == [0.5, 1, 0.5]


def test_too_much_work_is_refused() -> None:
    """
    The sentence says how much it would be, and what to do.
    """
    visits = sequences([list(range(6000)) * 2])
    with pytest.raises(TooManyInstancesError, match="cut the data into windows"):
        sequence_risks(visits, 2)
    with pytest.raises(TooManyInstancesError):
        weighed_risks(VisitCounts.of(visits), 2, Weighing.FREQUENCY)
    with pytest.raises(CompanionsError):
        companions(sequences([[1]] * 20), most_pairs=100)
    with pytest.raises(ValueError, match="tolerance is 2"):
        weighed_risks(COUNTS, 2, Weighing.FREQUENCY, tolerance=2)
    with pytest.raises(ValueError, match="several trajectories"):
        sequence_risks(Sequences(users=np.array([0, 0]), starts=np.array([0, 1, 2]), locations=np.array([1, 2])), 1)
