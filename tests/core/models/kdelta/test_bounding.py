"""Bounding: the most demanding are given less, never less than everybody, and only where that lowers the distortion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kdelta.anonymize.bounding import (
    Bounded,
    BoundedOptions,
    bounded,
    demandingness,
    most_demanding,
    relaxed,
)
from core.models.kdelta.anonymize.sets import AnonymitySets, Distortion
from core.models.kdelta.anonymize.voting import VOTE
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands
from tests.budgets import examples

NEAR = 1e-9
"""Relative difference that floats may make."""


@dataclass(frozen=True)
class Crowd:
    """What trajectories demand, how many neighbours they have, and what everybody is given."""

    k: list[int]
    delta_m: list[float]
    votes: list[int]
    least_k: int = 2
    least_m: float = 300.0

    @property
    def n(self) -> int:
        return len(self.k)

    @property
    def demands(self) -> Demands:
        return Demands(k=np.array(self.k, dtype=np.int64), delta_m=np.array(self.delta_m, dtype=np.float64))

    @property
    def representativeness(self) -> IntArray:
        return np.array(self.votes, dtype=np.int64)

    @property
    def least(self) -> Demands:
        return Demands.alike(self.n, k=self.least_k, delta_m=self.least_m)

    @property
    def r(self) -> list[Fraction]:
        return [Fraction(max(votes, 1), VOTE) for votes in self.votes]

    @property
    def scores(self) -> list[Fraction]:
        return [Fraction(k) / r / Fraction(m) for k, r, m in zip(self.k, self.r, self.delta_m, strict=True)]

    @property
    def demanding(self) -> list[int]:
        """Who demands more than the least, the most demanding first, of equal ones the first."""
        more = [i for i in range(self.n) if self.k[i] > self.least_k or self.delta_m[i] < self.least_m]
        return sorted(more, key=lambda i: (-self.scores[i], i))

    def relaxed(self, n_edited: int) -> tuple[list[int], list[float], list[float]]:
        """What the module gives: k, delta and edit cost of each, NaN for none."""
        ranked = most_demanding(self.demands, self.representativeness, self.least)
        given_, cost = relaxed(self.demands, self.representativeness, self.least, ranked, n_edited)
        return given_.k.tolist(), given_.delta_m.tolist(), cost.tolist()

    def algorithm_7(self, n_edited: int) -> tuple[list[int], list[float], list[float]]:
        """Lines 7 to 20, literally and exactly; mended as the module says, and with the floor.

        Costs of who is not edited are 0.
        """
        k, delta_m = list(self.k), [Fraction(m) for m in self.delta_m]
        cost = [0.0] * self.n
        max_score = max(self.scores)
        if self.demanding:
            max_score = self.scores[self.demanding[0]]
            score_thres = self.scores[self.demanding[n_edited]]
        edit_count = 0
        while edit_count < n_edited:
            i = self.demanding[edit_count]
            score, r = self.scores[i], self.r[i]
            if max_score > score_thres:
                cost[i] = float((score - score_thres) / (max_score - score_thres))
            if k[i] > r:
                k[i] = max(self.least_k, math.ceil(r), math.ceil(score_thres * r * delta_m[i]))
            delta_m[i] = min(Fraction(k[i]) / r / score_thres, Fraction(self.least_m))
            edit_count += 1
        return k, [float(m) for m in delta_m], cost


VOTES = st.sampled_from([0, 0, VOTE // 2, VOTE, 3 * VOTE // 2, 3 * VOTE, 7 * VOTE]) | st.integers(0, 20 * VOTE)
METRES = st.sampled_from([10.0, 20.0, 50.0, 150.0, 250.0, 300.0]) | st.floats(1.5, 300.0, width=32)


@st.composite
def crowds(draw: st.DrawFn, *, most: int = 8, demanding: int = 0) -> Crowd:
    """Draw a crowd; some demand no more than everybody is given, and at least so many do."""
    least_k = draw(st.sampled_from([2, 2, 4]))
    demand = st.tuples(st.sampled_from([2, 4, 5, 8, 20]).map(lambda k: max(k, least_k)), METRES, VOTES)
    more = demand.filter(lambda one: one[0] > least_k or one[1] < 300.0)
    drawn = [
        *draw(st.lists(more, min_size=demanding, max_size=most)),
        *draw(st.lists(demand, min_size=1, max_size=4)),
    ]
    ks, deltas_m, votes = zip(*draw(st.permutations(drawn)), strict=True)
    return Crowd(list(ks), list(deltas_m), list(votes), least_k=least_k)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Crowd, int]:
    """Draw a crowd and how many of it are edited."""
    crowd = draw(crowds(demanding=1))
    return crowd, draw(st.integers(0, len(crowd.demanding) - 1))


# ---------------------------------------------------------------- demandingness


@given(crowds())
def test_demandingness_is_that_of_the_definition(crowd: Crowd) -> None:
    """
    k for each neighbour, over delta (Definition 7); who has no neighbour counts as having a millionth of one.
    """
    scores = demandingness(crowd.demands, crowd.representativeness)
    assert list(map(float, scores)) == pytest.approx([float(score) for score in crowd.scores], rel=NEAR)


def test_demandingness_by_hand() -> None:
    """
    Six people within 10 m where three are around is as demanding as two within 10 m where one is, or four within 20 m.
    """
    demands = Demands(k=np.array([6, 2, 4, 2]), delta_m=np.array([10.0, 10, 20, 10]))
    scores = demandingness(demands, np.array([3, 1, 1, 0]) * VOTE)
    assert list(map(float, scores)) == pytest.approx([0.2, 0.2, 0.2, 200_000.0])


# ---------------------------------------------------------------- relaxing


@settings(max_examples=examples(250))
@given(edits())
def test_demands_are_relaxed_as_the_thesis_has_it(case: tuple[Crowd, int]) -> None:
    """
    Against Algorithm 7, lines 7 to 20, run literally on exact numbers, its three slips mended and with the floor: the
    same k, delta and edit cost for each.
    """
    crowd, n_edited = case
    k, delta_m, cost = crowd.relaxed(n_edited)
    expected_k, expected_m, expected_cost = crowd.algorithm_7(n_edited)
    assert k == expected_k
    assert delta_m == pytest.approx(expected_m, rel=NEAR)
    assert np.nan_to_num(cost).tolist() == pytest.approx(expected_cost, rel=NEAR, abs=NEAR)


@given(edits())
def test_nobody_is_given_less_than_the_least_or_more_than_demanded(case: tuple[Crowd, int]) -> None:
    """
    k falls, to the smallest that everybody is given at most, and delta grows, to the largest at most.
    """
    crowd, n_edited = case
    k, delta_m, _ = crowd.relaxed(n_edited)
    for i in range(crowd.n):
        assert crowd.least_k <= k[i] <= crowd.k[i]
        assert crowd.delta_m[i] <= delta_m[i] <= crowd.least_m


@given(edits())
def test_who_is_edited_becomes_as_demanding_as_the_threshold(case: tuple[Crowd, int]) -> None:
    """
    Never less demanding than the threshold trajectory; more so only where delta is the largest that there is: k stops
    at the neighbours or at the least, and then delta goes on.
    """
    crowd, n_edited = case
    k, delta_m, _ = crowd.relaxed(n_edited)
    threshold = crowd.scores[crowd.demanding[n_edited]]
    for i in crowd.demanding[:n_edited]:
        score = float(k[i] / crowd.r[i]) / delta_m[i]
        assert score >= float(threshold) * (1 - NEAR)
        assert score <= float(crowd.scores[i]) * (1 + NEAR)
        if delta_m[i] < crowd.least_m:
            assert score == pytest.approx(float(threshold), rel=NEAR)


@given(edits())
def test_k_is_lowered_no_farther_than_it_has_to_be(case: tuple[Crowd, int]) -> None:
    """
    Where the neighbours satisfy it, k stays. Elsewhere it is the smallest that is no smaller than the least k, than the
    neighbours, and than what would be less demanding than the threshold.
    """
    crowd, n_edited = case
    k, _, _ = crowd.relaxed(n_edited)
    threshold = crowd.scores[crowd.demanding[n_edited]]
    for i in crowd.demanding[:n_edited]:
        r, delta_m = crowd.r[i], Fraction(crowd.delta_m[i])
        if crowd.k[i] <= r:
            assert k[i] == crowd.k[i]
            continue

        def enough(k: int, r: Fraction = r, delta_m: Fraction = delta_m) -> bool:
            return k >= crowd.least_k and k >= r and k / r / delta_m >= threshold

        assert enough(k[i])
        assert not enough(k[i] - 1)


@given(edits())
def test_only_the_most_demanding_are_edited(case: tuple[Crowd, int]) -> None:
    """
    All others keep what they demand and cost nothing, first of all who demands no more than the least, however few
    neighbours they have.
    """
    crowd, n_edited = case
    k, delta_m, cost = crowd.relaxed(n_edited)
    assert [i for i in range(crowd.n) if not math.isnan(cost[i])] == sorted(crowd.demanding[:n_edited])
    others = set(range(crowd.n)) - set(crowd.demanding[:n_edited])
    assert all((k[i], delta_m[i]) == (crowd.k[i], crowd.delta_m[i]) for i in others)


@given(edits())
def test_edit_costs_are_shares_of_the_largest(case: tuple[Crowd, int]) -> None:
    """
    From 0 to 1 (Definition 8): 1 for the most demanding, unless it is as demanding as the threshold; then 0.
    """
    crowd, n_edited = case
    _, _, cost = crowd.relaxed(n_edited)
    edited = crowd.demanding[:n_edited]
    assert all(0 <= cost[i] <= 1 for i in edited)
    if edited:
        assert cost[edited[0]] == (crowd.scores[edited[0]] > crowd.scores[crowd.demanding[n_edited]])


@settings(max_examples=examples(200))
@given(crowds(demanding=1), st.integers(1, 4))
def test_who_is_as_demanding_as_the_threshold_is_given_what_they_demand(crowd: Crowd, copies: int) -> None:
    """
    Where all demand the same, and have as many neighbours, there is nothing to relax: no k and no delta changes, not by
    the last digit either, or people would be counted as relaxed who are not.
    """
    i = crowd.demanding[0]
    alike = Crowd(
        [crowd.k[i]] * (copies + 1), [crowd.delta_m[i]] * (copies + 1), [crowd.votes[i]] * (copies + 1), crowd.least_k
    )
    k, delta_m, cost = alike.relaxed(copies)
    assert (k, delta_m) == (alike.k, alike.delta_m)
    assert np.nan_to_num(cost).tolist() == [0.0] * alike.n


@pytest.mark.parametrize(
    "crowd",
    [
        Crowd([17, 17], [30.0, 30.0], [0, 0]),
        Crowd([4, 4], [60.0, 60.0], [3 * VOTE // 4] * 2),
        Crowd([20, 8], [250.0, 100.0], [3 * VOTE] * 2),
    ],
)
def test_two_who_are_as_demanding_are_not_relaxed_by_a_last_digit(crowd: Crowd) -> None:
    """
    17 people within 30 m, twice, or 20 within 250 m and 8 within 100 m: 30 m stay 30, and not 30.000000000000004.
    """
    k, delta_m, _ = crowd.relaxed(1)
    assert (k, delta_m) == (crowd.k, crowd.delta_m)


def test_k_is_lowered_to_a_whole_number_that_floats_miss() -> None:
    """
    The threshold is 20 / 0.5 / 200 = 0.2, so that with 3 neighbours within 10 m k = 0.2 * 3 * 10 = 6 is enough: and not
    7, with 11.67 m instead of 10.
    """
    crowd = Crowd([8, 20, 4], [10.0, 200.0, 20.0], [3 * VOTE, VOTE // 2, 0])
    assert [one[0] for one in crowd.relaxed(2)[:2]] == [6, 10.0]


def test_relaxing_by_hand() -> None:
    """
    One neighbour each. The threshold is 4 / 20 = 0.2: of 12 people within 20 m four are enough, of 9 within 5 m one,
    which the neighbours allow and the least k of two does not, so that delta grows to 2 / 0.2 = 10 m.
    """
    crowd = Crowd([12, 9, 4, 2], [20.0, 5.0, 20.0, 300.0], [VOTE] * 4)
    k, delta_m, cost = crowd.relaxed(2)
    assert k == [4, 2, 4, 2]
    assert delta_m == pytest.approx([20.0, 10.0, 20.0, 300.0])
    # Scores 0.6 and 1.8 of at most 1.8: a quarter of what the most demanding is edited.
    assert cost[:2] == pytest.approx([0.25, 1.0])
    assert np.isnan(cost[2:]).all()


def test_a_k_that_the_neighbours_satisfy_is_kept() -> None:
    """
    Twelve people where twenty are around: their delta alone grows, from 1.5 m to 12 / 20 / 0.2 = 3 m.
    """
    crowd = Crowd([12, 4], [1.5, 20.0], [20 * VOTE, VOTE])
    assert crowd.relaxed(1)[0] == [12, 4]
    assert crowd.relaxed(1)[1] == pytest.approx([3.0, 20.0])


def test_who_is_alone_is_given_the_least_there_is() -> None:
    """
    Without a neighbour nobody gets down to a threshold: k and delta end at what everybody is given.
    """
    crowd = Crowd([12, 4], [20.0, 20.0], [0, VOTE], least_k=3)
    assert crowd.relaxed(1)[:2] == ([3, 4], [300.0, 20.0])


# ---------------------------------------------------------------- bounding


def sets_of(
    crowd: Crowd, points: Sequence[int], *, translation_mm: int, largest_mm: int = 0, trash: Sequence[int] = ()
) -> AnonymitySets:
    """Sets of which only the distortion matters."""
    sources = np.array([i for i in range(crowd.n) if i not in trash], dtype=np.int64)
    return AnonymitySets(
        sources=sources,
        sets=np.zeros(len(sources), dtype=np.int64),
        starts=np.zeros(len(sources) + 1, dtype=np.int64),
        t_ms=np.zeros(0, dtype=np.int64),
        xy_m=np.zeros((0, 2)),
        kept=np.ones(sum(points), dtype=np.bool_),
        trash=np.array(sorted(trash), dtype=np.int64),
        radius=1.0,
        created=np.zeros(len(sources), dtype=np.int64),
        distortion=Distortion(
            points_deleted=0,
            points_trashed=sum(points[i] for i in trash),
            points_translated=0,
            space_translation_m=0.0,
            time_translation_s=0.0,
            translation_mm=translation_mm,
            largest_translation_mm=largest_mm,
            discernibility=0,
        ),
    )


class Planted:
    """An anonymizer that makes what a test says, try by try."""

    def __init__(self, *results: AnonymitySets) -> None:
        self.results = results
        self.asked: list[Demands] = []

    def __call__(self, demands: Demands) -> AnonymitySets:
        self.asked.append(demands)
        return self.results[len(self.asked) - 1]


def run(crowd: Crowd, anonymize: Planted, points: Sequence[int] | None = None, **options: Any) -> Bounded:
    return bounded(
        anonymize,
        crowd.demands,
        crowd.representativeness,
        np.array(points or [1] * crowd.n, dtype=np.int64),
        least=crowd.least,
        options=BoundedOptions(**options),
    )


def by_translation(crowd: Crowd, *translations_mm: int) -> Planted:
    """Tries without trash, whose edits cost nothing, as nothing moves farthest."""
    return Planted(*(sets_of(crowd, [1] * crowd.n, translation_mm=mm) for mm in translations_mm))


def shares(n_demanding: int, step_percent: int) -> list[tuple[int, int]]:
    """Percents that are tried after the first, and how many are edited in each."""
    tried = [(0, 0)]
    for percent in range(step_percent, 100, step_percent):
        n_edited = math.floor(Fraction(n_demanding * percent, 100))
        if n_edited > tried[-1][1]:
            tried.append((percent, n_edited))
    return tried[1:]


TEN = Crowd([3] * 10, [10.0 * i for i in range(1, 11)], [VOTE] * 10)
"""Ten people, all of whom demand more than the least: the first is the most demanding."""


@given(crowds(most=30), st.integers(1, 99))
def test_every_share_that_edits_somebody_more_is_tried(crowd: Crowd, step_percent: int) -> None:
    """
    From nobody on, step by step and below all of those who demand more than the least; a share that edits as many as
    the one before is left out. Each try is asked for what Algorithm 7 gives.
    """
    tried = shares(len(crowd.demanding), step_percent)
    anonymize = by_translation(crowd, *[1000] * (len(tried) + 1))
    result = run(crowd, anonymize, step_percent=step_percent)
    assert result.tries == tuple((percent, 1.0) for percent in (0, *(percent for percent, _ in tried)))
    assert len(anonymize.asked) == len(result.tries)
    assert (anonymize.asked[0].k.tolist(), anonymize.asked[0].delta_m.tolist()) == (crowd.k, crowd.delta_m)
    for asked, (_, n_edited) in zip(anonymize.asked[1:], tried, strict=True):
        assert (asked.k.tolist(), asked.delta_m.tolist()) == crowd.relaxed(n_edited)[:2]


def test_shares_by_hand() -> None:
    """
    A quarter, a half and three quarters of ten people are 2, 5 and 7; of three they are 0, 1 and 2.
    """
    assert shares(10, 25) == [(25, 2), (50, 5), (75, 7)]
    assert shares(3, 25) == [(50, 1), (75, 2)]
    assert shares(1, 1) == shares(0, 1) == []


def test_the_first_try_that_is_good_enough_stands() -> None:
    """
    A tenth less than 1000 mm is wanted: 901 is not enough, exactly 900 is, and 1 is not looked for any more.
    """
    anonymize = by_translation(TEN, 1000, 901, 900, 1)
    result = run(TEN, anonymize, improvement=0.1, step_percent=10)
    assert result.tries == ((0, 1.0), (10, 0.901), (20, 0.9))
    assert result.sets is anonymize.results[2]
    assert result.demands is anonymize.asked[2]
    assert result.edited.tolist() == [True] * 2 + [False] * 8


def test_where_no_try_is_good_enough_the_best_stands() -> None:
    """
    Half is wanted and never reached: the least distortion stands, of two equal ones the first.
    """
    anonymize = by_translation(TEN, 1000, 950, 700, 990, 700, 2000, 800, 900, 900, 900)
    result = run(TEN, anonymize, improvement=0.5, step_percent=10)
    assert len(result.tries) == 10
    assert result.sets is anonymize.results[2]
    assert result.edited.tolist() == [True] * 2 + [False] * 8


@pytest.mark.parametrize("others", [(1000, 1000, 1000), (1001, 5000, 1000)])
def test_where_nothing_is_better_nobody_is_edited(others: tuple[int, ...]) -> None:
    """
    A relaxation that does not pay is not made: everybody is given what they demand.
    """
    anonymize = by_translation(TEN, 1000, *others)
    result = run(TEN, anonymize, step_percent=25)
    assert result.sets is anonymize.results[0]
    assert (result.demands.k.tolist(), result.demands.delta_m.tolist()) == (TEN.k, TEN.delta_m)
    assert not result.edited.any()


def test_without_distortion_nobody_is_edited() -> None:
    """
    Nothing is lower than nothing.
    """
    anonymize = by_translation(TEN, 0, 0, 0, 0)
    result = run(TEN, anonymize, step_percent=25)
    assert result.sets is anonymize.results[0]
    assert not result.edited.any()


@pytest.mark.parametrize("crowd", [Crowd([2, 2], [300.0, 300.0], [0, VOTE]), Crowd([9, 2], [300.0, 300.0], [0, VOTE])])
def test_where_nobody_can_be_a_threshold_there_is_one_try(crowd: Crowd) -> None:
    """
    Who demands no more than the least is neither edited nor a threshold for the only one who does.
    """
    result = run(crowd, by_translation(crowd, 1000), step_percent=1)
    assert result.tries == ((0, 1.0),)
    assert not result.edited.any()


@st.composite
def tries(draw: st.DrawFn) -> tuple[Crowd, list[int], list[AnonymitySets]]:
    """Draw a crowd, the points of each, and what 25, 50 and 75 percent edited would make of it, trash included."""
    crowd = draw(crowds(demanding=1))
    points = draw(st.lists(st.integers(1, 30), min_size=crowd.n, max_size=crowd.n))
    made = [
        sets_of(
            crowd,
            points,
            translation_mm=draw(st.integers(0, 2000)),
            largest_mm=draw(st.integers(0, 100)),
            trash=draw(st.lists(st.integers(0, crowd.n - 1), unique=True, max_size=3)),
        )
        for _ in range(4)
    ]
    return crowd, points, made


@settings(max_examples=examples(150))
@given(tries(), st.sampled_from([0.0, 0.25, 1.0, 3.0]), st.sampled_from([0.1, 0.6]))
def test_the_distortion_is_that_of_the_definition(
    case: tuple[Crowd, list[int], list[AnonymitySets]], edit_factor: float, improvement: float
) -> None:
    """
    All translation, the largest of it for each point in the trash, and for each point of an edited trajectory that is
    not in the trash the largest times the edit cost and the factor (Definition 9, lines 22 to 31). What comes out is
    what these figures choose.
    """
    crowd, points, made = case
    tried = [(0, 0), *shares(len(crowd.demanding), 25)]
    expected_m = []
    for (percent, n_edited), sets in zip(tried, made, strict=False):
        costs = crowd.relaxed(n_edited)[2] if percent else [math.nan] * crowd.n
        dist = sets.distortion.translation_mm
        for i in sets.trash.tolist():
            dist += points[i] * sets.distortion.largest_translation_mm
        edits = sum(
            points[i] * sets.distortion.largest_translation_mm * costs[i] * edit_factor
            for i in range(crowd.n)
            if not math.isnan(costs[i]) and i not in sets.trash
        )
        expected_m.append((dist + edits) / 1000)
        if expected_m[-1] <= (1 - improvement) * expected_m[0] - 0.001 and len(expected_m) > 1:
            break
    # A try that is good enough within rounding may be the last; one that clearly is must be.
    within_rounding_m = (1 - improvement) * expected_m[0] + 0.001
    fewest = next((n for n, metres in enumerate(expected_m[1:], 2) if metres <= within_rounding_m), len(expected_m))
    result = run(crowd, Planted(*made), points, edit_factor=edit_factor, improvement=improvement, step_percent=25)
    found = [metres for _, metres in result.tries]
    assert found == pytest.approx(expected_m[: len(found)], abs=0.001)
    assert fewest <= len(found) <= len(expected_m)
    best = found.index(min(found))
    assert result.sets is made[best]


@given(tries())
def test_edited_are_those_who_are_given_less(case: tuple[Crowd, list[int], list[AnonymitySets]]) -> None:
    """
    Whoever's k or delta is another than demanded, and nobody else.
    """
    crowd, points, made = case
    result = run(crowd, Planted(*made), points, step_percent=25)
    given_ = zip(result.demands.k.tolist(), result.demands.delta_m.tolist(), strict=True)
    differ = [one != demanded for one, demanded in zip(given_, zip(crowd.k, crowd.delta_m, strict=True), strict=True)]
    assert result.edited.tolist() == differ
    assert set(np.flatnonzero(result.edited).tolist()) <= set(crowd.demanding)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("improvement", value) for value in (0.0, 1.0, -0.5, math.nan)),
        *(("edit_factor", value) for value in (-0.1, math.inf, math.nan)),
        *(("step_percent", value) for value in (0, 100)),
    ],
)
def test_an_option_out_of_its_range_is_named(option: str, value: float) -> None:
    """
    The sentence says which option it is, what it is, and what it must be.
    """
    with pytest.raises(ValueError, match=f"{option} is {value}: it must be"):
        BoundedOptions(**{option: value})  # type: ignore[arg-type]
