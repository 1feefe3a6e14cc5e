"""Range queries against exact geometry, and the distortion of their answers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kdelta import ranges
from core.models.kdelta.ranges import (
    RangeQueries,
    RangeQueryOptions,
    count_inside,
    draw_range_queries,
    range_query_distortion,
)
from core.trajectories.trajectory import PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, data_sets, people_inside, points_of, trajectories_of

Query = tuple[float, float, float, int, int]
"""Centre and radius in metres, first and last time in milliseconds."""

UNCERTAINTIES_M = st.integers(0, 24).map(lambda quarters: quarters / 4)


def queries_of(*rows: Query) -> RangeQueries:
    """Build queries from rows."""
    return RangeQueries(
        xy_m=np.array([row[:2] for row in rows], dtype=np.float64).reshape(-1, 2),
        radius_m=np.array([row[2] for row in rows], dtype=np.float64),
        from_ms=np.array([row[3] for row in rows], dtype=np.int64),
        to_ms=np.array([row[4] for row in rows], dtype=np.int64),
    )


def counts(trajectories: PointTrajectories, *rows: Query, uncertainty_m: float = 0.0) -> list[tuple[int, int]]:
    """Answers to PSI and DAI of each query."""
    psi, dai = count_inside(trajectories, queries_of(*rows), uncertainty_m=uncertainty_m)
    return list(zip(psi.tolist(), dai.tolist(), strict=True))


def exact_counts(
    trajectories: PointTrajectories, row: Query, uncertainty_m: float, slack_m: float = 0.0
) -> tuple[int, int]:
    """Answers by the oracle to one query whose disc is larger by a slack."""
    x, y, radius_m, from_ms, to_ms = row
    radius, uncertainty = Fraction(radius_m) + Fraction(slack_m), Fraction(uncertainty_m)
    possibly, definitely = people_inside(
        trajectories,
        (x, y),
        (from_ms, to_ms),
        possible_m=max(radius + uncertainty, Fraction(0)),
        certain_m=radius - uncertainty,
    )
    return len(possibly), len(definitely)


def queries(*, extent_m: int = 40, step_ms: int = 250, latest_ms: int = 60_000) -> st.SearchStrategy[list[Query]]:
    """Draw queries in and around the area and time of the data, many of an instant or of a disc without area."""
    coordinate = st.integers(-extent_m // 4, extent_m + extent_m // 4).map(float)
    time = st.integers(-latest_ms // step_ms // 4, latest_ms // step_ms + latest_ms // step_ms // 4)
    interval = st.tuples(time, st.just(0) | st.integers(0, latest_ms // step_ms))
    radius = st.integers(0, 2 * extent_m).map(lambda halves: halves / 2)
    row = st.tuples(coordinate, coordinate, radius, interval)
    return st.lists(
        row.map(lambda drawn: (*drawn[:3], step_ms * drawn[3][0], step_ms * sum(drawn[3]))), min_size=1, max_size=6
    )


def dyadic_data_sets() -> st.SearchStrategy[PointTrajectories]:
    """Draw data sets on a small grid whose every position at a multiple of 16 ms is exact in floating point."""
    step = st.tuples(st.sampled_from([64, 512]), st.integers(0, 12).map(float), st.integers(0, 12).map(float))

    def build(drawn: list[tuple[int, int, list[tuple[int, float, float]]]]) -> PointTrajectories:
        rows: list[tuple[int, list[Point]]] = []
        for user, start, steps in sorted(drawn):
            times = np.cumsum([16 * start, *(ms for ms, _, _ in steps[1:])]).tolist()
            rows.append((user, [(t, x, y) for t, (_, x, y) in zip(times, steps, strict=True)]))
        return trajectories_of(*rows)

    its = st.tuples(st.integers(0, 5), st.integers(0, 64), st.lists(step, min_size=1, max_size=6))
    return st.lists(its, max_size=6).map(build)


# Answers


@settings(max_examples=examples(300))
@given(dyadic_data_sets(), queries(extent_m=12, step_ms=16, latest_ms=2048), UNCERTAINTIES_M)
def test_answers_are_those_of_exact_geometry_borders_included(
    trajectories: PointTrajectories, rows: list[Query], uncertainty_m: float
) -> None:
    """
    Where floating point is exact, so are the answers: disc, interval, uncertainty and span include their borders.
    """
    expected = [exact_counts(trajectories, row, uncertainty_m) for row in rows]
    assert counts(trajectories, *rows, uncertainty_m=uncertainty_m) == expected


@settings(max_examples=examples(200))
@given(data_sets(), queries(), UNCERTAINTIES_M)
def test_answers_differ_from_exact_geometry_by_no_more_than_rounding(
    trajectories: PointTrajectories, rows: list[Query], uncertainty_m: float
) -> None:
    """
    At times at which positions have to be rounded, the answers lie between those for discs a hair smaller and larger.
    """
    for row, found in zip(rows, counts(trajectories, *rows, uncertainty_m=uncertainty_m), strict=True):
        least = exact_counts(trajectories, row, uncertainty_m, -1e-9)
        most = exact_counts(trajectories, row, uncertainty_m, 1e-9)
        assert all(low <= count <= high for low, count, high in zip(least, found, most, strict=True))


def test_a_walk_past_a_disc_by_hand() -> None:
    """
    Somebody walks 100 m east in 100 s, 3 m north of the centre of a disc of 5 m that lies half way: inside from the
    46th to the 54th second.
    """
    walk = trajectories_of((0, [(0, -50.0, 3.0), (100_000, 50.0, 3.0)]))
    during = [(0, 45_999), (0, 46_000), (46_000, 54_000), (45_999, 54_000), (54_000, 90_000), (54_001, 90_000)]
    answers = counts(walk, *((0.0, 0.0, 5.0, *interval) for interval in during))
    assert answers == [(0, 0), (1, 0), (1, 1), (1, 0), (1, 0), (0, 0)]
    # Within 5 + 8.1 m of the centre from second 37.2481 on, and within 5 - 1 m from 47.3542 to 52.6458.
    wide = [(0, 37_248), (0, 37_249), (47_355, 52_645), (47_354, 52_645)]
    assert counts(walk, *((0.0, 0.0, 5.0, *interval) for interval in wide[:2]), uncertainty_m=8.1) == [(0, 0), (1, 0)]
    assert counts(walk, *((0.0, 0.0, 5.0, *interval) for interval in wide[2:]), uncertainty_m=1.0) == [(1, 1), (1, 0)]


def test_whoever_touches_the_border_is_inside() -> None:
    """
    A tangent, a standstill on the border and a way that ends on it are inside, and nothing farther out is.
    """
    tangent = trajectories_of((0, [(0, -1.0, 7.0), (10, 7.0, 1.0)]))  # 3 x + 4 y = 25, five from the origin
    assert counts(tangent, (0.0, 0.0, 5.0, 0, 10), (0.0, 0.0, math.nextafter(5.0, 0), 0, 10)) == [(1, 0), (0, 0)]
    still = trajectories_of((0, [(0, 3.0, 4.0), (7, 3.0, 4.0)]))
    assert counts(still, (0.0, 0.0, 5.0, 1, 3), (0.0, 0.0, math.nextafter(5.0, 0), 1, 3)) == [(1, 1), (0, 0)]
    arrival = trajectories_of((0, [(0, 1.0, 1.0), (7, -3.0, 4.0)]))
    assert counts(arrival, (0.0, 0.0, 5.0, 0, 7), (0.0, 0.0, 5.0, 7, 7), (0.0, 0.0, 5.0, 7, 8)) == [
        (1, 1),
        (1, 1),
        (1, 0),
    ]


def test_a_single_point_is_a_span_of_one_instant() -> None:
    """
    A trajectory of one point covers the interval that is its instant and no other, and meets all that contain it.
    """
    point = trajectories_of((0, [(10, 3.0, 4.0)]))
    intervals = [(10, 10), (10, 11), (9, 10), (0, 20), (0, 9), (11, 20)]
    answers = counts(point, *((0.0, 0.0, 5.0, *interval) for interval in intervals))
    assert answers == [(1, 1), (1, 0), (1, 0), (1, 0), (0, 0), (0, 0)]


def test_nobody_is_definitely_inside_a_disc_smaller_than_the_uncertainty() -> None:
    """
    Who stands on the centre may be as far away as the uncertainty.
    """
    still = trajectories_of((0, [(0, 0.0, 0.0), (100, 0.0, 0.0)]))
    disc = (0.0, 0.0, 5.0, 10, 20)
    assert [counts(still, disc, uncertainty_m=u) for u in (5.0, math.nextafter(5.0, 6), 50.0)] == [
        [(1, 1)],
        [(1, 0)],
        [(1, 0)],
    ]


def test_a_person_of_several_trajectories_counts_once() -> None:
    """
    Answers count people: two pieces inside are one person, and one of two pieces is enough.
    """
    inside, outside = [(0, 0.0, 0.0), (100, 1.0, 0.0)], [(0, 90.0, 0.0), (100, 91.0, 0.0)]
    pieces = trajectories_of((3, inside), (3, inside), (3, outside), (8, inside), (9, outside))
    assert counts(pieces, (0.0, 0.0, 5.0, 0, 100)) == [(2, 2)]


def test_two_pieces_do_not_cover_an_interval_together() -> None:
    """
    Only a trajectory that covers the whole interval is always inside: nothing is known between two of one person.
    """
    pieces = trajectories_of((0, [(0, 0.0, 0.0), (50, 0.0, 0.0)]), (0, [(51, 0.0, 0.0), (100, 0.0, 0.0)]))
    assert counts(pieces, (0.0, 0.0, 5.0, 0, 100), (0.0, 0.0, 5.0, 0, 50), (0.0, 0.0, 5.0, 50, 51)) == [
        (1, 0),
        (1, 1),
        (1, 0),
    ]


@settings(max_examples=examples(40))
@given(data_sets(), queries(), UNCERTAINTIES_M, st.integers(0, 2**32))
def test_numbers_and_order_of_users_do_not_matter(
    trajectories: PointTrajectories, rows: list[Query], uncertainty_m: float, seed: int
) -> None:
    """
    A release skips the numbers of suppressed users, and orders trajectories by sets.
    """
    order = np.random.default_rng(seed).permutation(len(trajectories.users)).tolist()
    other = trajectories_of(*((int(trajectories.users[i]) * 1000 + 7, points_of(trajectories, i)) for i in order))
    answers = counts(trajectories, *rows, uncertainty_m=uncertainty_m)
    assert counts(other, *rows, uncertainty_m=uncertainty_m) == answers


@given(data_sets(), queries(), UNCERTAINTIES_M, UNCERTAINTIES_M)
def test_more_uncertainty_makes_more_possible_and_less_certain(
    trajectories: PointTrajectories, rows: list[Query], one_m: float, other_m: float
) -> None:
    """
    PSI grows with the uncertainty and DAI falls; whoever is always inside for certain may be so sometime.
    """
    certain = counts(trajectories, *rows, uncertainty_m=min(one_m, other_m))
    doubtful = counts(trajectories, *rows, uncertainty_m=max(one_m, other_m))
    for (psi, dai), (more, less) in zip(certain, doubtful, strict=True):
        assert less <= dai <= psi <= more <= trajectories.n_users


@settings(max_examples=examples(40))
@given(data_sets(), queries(), UNCERTAINTIES_M)
def test_blocks_do_not_show(trajectories: PointTrajectories, rows: list[Query], uncertainty_m: float) -> None:
    """
    Answers are the same however few segments are looked at together, even where a trajectory is torn between blocks.
    """
    answers = counts(trajectories, *rows, uncertainty_m=uncertainty_m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "_SEGMENTS_AT_ONCE", 2)
        assert counts(trajectories, *rows, uncertainty_m=uncertainty_m) == answers


def test_there_is_nobody_in_an_empty_data_set() -> None:
    """
    Without trajectories, or without points in one, every answer is 0; without queries there is none.
    """
    disc = (0.0, 0.0, 5.0, 0, 100)
    assert counts(trajectories_of(), disc) == [(0, 0)]
    assert counts(trajectories_of((0, []), (1, [(0, 0.0, 0.0)]), (2, [])), disc) == [(1, 0)]
    assert counts(trajectories_of((0, [(0, 0.0, 0.0)]))) == []


@pytest.mark.parametrize("uncertainty_m", [-1.0, math.nan, math.inf])
def test_an_uncertainty_is_a_number_of_metres(uncertainty_m: float) -> None:
    """
    A negative or boundless uncertainty is an error that says so.
    """
    with pytest.raises(ValueError, match=f"uncertainty_m is {uncertainty_m}: it must be"):
        count_inside(trajectories_of(), queries_of(), uncertainty_m=uncertainty_m)


# Queries


@settings(max_examples=examples(40))
@given(data_sets(), st.integers(0, 2**32), st.integers(0, 20), UNCERTAINTIES_M)
def test_queries_ask_about_places_where_people_are(
    trajectories: PointTrajectories, seed: int, n: int, uncertainty_m: float
) -> None:
    """
    Each disc is centred on a raw point and each interval on its time; sizes keep to their ranges, and whatever the
    uncertainty somebody may be inside. The same seed gives the same queries.
    """
    options = RangeQueryOptions(n=n, smallest_radius_m=0.0, largest_radius_m=9.0, shortest_ms=0, longest_ms=4001)
    drawn = draw_range_queries(trajectories, np.random.default_rng(seed), options)
    assert len(drawn.radius_m) == n
    assert ((drawn.radius_m >= 0) & (drawn.radius_m <= 9)).all()
    durations = drawn.to_ms - drawn.from_ms
    assert ((durations >= 0) & (durations <= 4001)).all()
    middles = zip((drawn.from_ms + durations // 2).tolist(), drawn.xy_m.tolist(), strict=True)
    raw = {(t, *xy) for t, xy in zip(trajectories.t_ms.tolist(), trajectories.xy_m.tolist(), strict=True)}
    assert {(t, *xy) for t, xy in middles} <= raw
    assert (count_inside(trajectories, drawn, uncertainty_m=uncertainty_m)[0] >= 1).all()
    again = draw_range_queries(trajectories, np.random.default_rng(seed), options)
    for name in ("xy_m", "radius_m", "from_ms", "to_ms"):
        assert np.array_equal(getattr(drawn, name), getattr(again, name))


def test_radii_and_durations_use_the_whole_of_their_ranges() -> None:
    """
    Both are uniform, ends included; by default 500 to 750 m and one to five minutes, a hundred queries.
    """
    trajectories = trajectories_of((0, [(0, 0.0, 0.0), (1, 0.0, 0.0)]))
    drawn = draw_range_queries(trajectories, np.random.default_rng(1), RangeQueryOptions(n=4000))
    for values, low, high in (
        (drawn.radius_m, 500, 750),
        (drawn.to_ms - drawn.from_ms, 60_000, 300_000),
    ):
        shares = np.histogram(values, bins=10, range=(low, high))[0] / 4000
        assert low <= values.min() <= values.max() <= high
        assert np.abs(shares - 0.1).max() < 0.03
    few = RangeQueryOptions(n=500, shortest_ms=2, longest_ms=4)
    some = draw_range_queries(trajectories, np.random.default_rng(1), few)
    assert set((some.to_ms - some.from_ms).tolist()) == {2, 3, 4}
    assert len(draw_range_queries(trajectories, np.random.default_rng(1), RangeQueryOptions()).radius_m) == 100


def test_no_queries_are_drawn_where_nobody_is() -> None:
    """
    An empty data set has no place to ask about.
    """
    drawn = draw_range_queries(trajectories_of(), np.random.default_rng(1), RangeQueryOptions())
    assert drawn.xy_m.shape == (0, 2)
    assert len(drawn.from_ms) == len(drawn.to_ms) == len(drawn.radius_m) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": -1}, "n is -1"),
        ({"smallest_radius_m": -1.0}, "smallest_radius_m is -1.0"),
        ({"smallest_radius_m": 800.0}, "largest_radius_m 750.0"),
        ({"largest_radius_m": math.inf}, "largest_radius_m inf"),
        ({"smallest_radius_m": math.nan}, "smallest_radius_m is nan"),
        ({"shortest_ms": -1}, "shortest_ms is -1"),
        ({"longest_ms": 59_999}, "longest_ms 59999"),
    ],
)
def test_options_say_what_is_allowed(values: dict[str, float], message: str) -> None:
    """
    A number out of its range is an error that names it.
    """
    with pytest.raises(ValueError, match=message):
        RangeQueryOptions(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0.0, 0.0, -1.0, 0, 1), "radius_m must be"),
        ((0.0, 0.0, math.nan, 0, 1), "radius_m must be"),
        ((0.0, 0.0, 1.0, 1, 0), "to_ms is before from_ms"),
    ],
)
def test_a_query_has_a_radius_and_an_interval(row: Query, message: str) -> None:
    """
    A disc of negative radius and an interval that ends before it begins are errors.
    """
    with pytest.raises(ValueError, match=message):
        queries_of(row)


def test_the_columns_of_queries_are_equally_long() -> None:
    """
    A query that lacks a part is an error.
    """
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="one entry for each query"):
        RangeQueries(xy_m=np.zeros((2, 2)), radius_m=np.ones(1), from_ms=one, to_ms=one)


# Distortion


@settings(max_examples=examples(40))
@given(data_sets(), queries(), UNCERTAINTIES_M)
def test_a_data_set_does_not_distort_itself(
    trajectories: PointTrajectories, rows: list[Query], uncertainty_m: float
) -> None:
    """
    The distortion of D against itself is 0, and is not a number where all answers are 0.
    """
    found = range_query_distortion(trajectories, trajectories, queries_of(*rows), uncertainty_m=uncertainty_m)
    psi, dai = zip(*counts(trajectories, *rows, uncertainty_m=uncertainty_m), strict=True)
    for value, answers in ((found.psi, psi), (found.dai, dai)):
        assert value == 0.0 if any(answers) else math.isnan(value)


@settings(max_examples=examples(40))
@given(data_sets(), data_sets(), queries(), UNCERTAINTIES_M)
def test_distortion_is_the_mean_difference_over_the_larger_answer(
    raw: PointTrajectories, released: PointTrajectories, rows: list[Query], uncertainty_m: float
) -> None:
    """
    |Q(D) - Q(D*)| / max(Q(D), Q(D*)), averaged over the queries that not both answer with 0; it is symmetric.
    """
    found = range_query_distortion(raw, released, queries_of(*rows), uncertainty_m=uncertainty_m)
    back = range_query_distortion(released, raw, queries_of(*rows), uncertainty_m=uncertainty_m)
    before, after = (counts(data, *rows, uncertainty_m=uncertainty_m) for data in (raw, released))
    for kind, value, reverse in ((0, found.psi, back.psi), (1, found.dai, back.dai)):
        pairs = [(one[kind], other[kind]) for one, other in zip(before, after, strict=True)]
        terms = [Fraction(abs(one - other), max(one, other)) for one, other in pairs if max(one, other)]
        if terms:
            assert value == reverse == pytest.approx(float(sum(terms) / len(terms)))
            assert 0 <= value <= 1
        else:
            assert math.isnan(value)
            assert math.isnan(reverse)


def test_distortion_by_hand() -> None:
    """
    Of three people at a place one is suppressed and one moved away, to where nobody was: 2/3 here and 1 there, where
    nobody has been lost; the query about an empty place is left out.
    """
    here, there = [(0, 0.0, 0.0), (100, 0.0, 0.0)], [(0, 500.0, 0.0), (100, 500.0, 0.0)]
    raw = trajectories_of((0, here), (1, here), (2, here))
    released = trajectories_of((0, here), (2, there))
    asked = queries_of((0.0, 0.0, 50.0, 0, 90), (500.0, 0.0, 50.0, 0, 90), (0.0, 900.0, 50.0, 0, 90))
    found = range_query_distortion(raw, released, asked, uncertainty_m=20.0)
    assert found.psi == found.dai == pytest.approx((2 / 3 + 1) / 2)
    nobody = range_query_distortion(raw, released, asked, uncertainty_m=60.0)
    assert nobody.psi == pytest.approx((2 / 3 + 1) / 2)
    assert math.isnan(nobody.dai)


@settings(max_examples=examples(40))
@given(data_sets(), st.integers(0, 2**32))
def test_a_release_of_nobody_is_distorted_altogether(trajectories: PointTrajectories, seed: int) -> None:
    """
    Queries about places where people are have answers, of which an empty release gives none.
    """
    drawn = draw_range_queries(trajectories, np.random.default_rng(seed), RangeQueryOptions(n=5))
    assert range_query_distortion(trajectories, trajectories_of(), drawn, uncertainty_m=1.0).psi == 1.0
