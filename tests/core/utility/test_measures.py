"""Measures of utility against their definitions, by brute force on small data."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.places.taxonomy import LocationTree
from core.records.arrays import BoolArray
from core.trajectories.generalized import generalized
from core.utility.divergence import draw_subtrajectories, support_divergence
from core.utility.locations import location_statistics
from core.utility.patterns import frequent_patterns, pattern_shares, project
from core.utility.queries import average_relative_error, draw_queries, expected_count
from core.utility.semantics import semantic_penalty
from tests.budgets import examples
from tests.oracles.km import (
    Crowd,
    Point,
    Trajectory,
    all_subtrajectories,
    as_sequences,
    crowds,
    maps,
    positions,
    support,
)

L = 6
GROUPS = st.lists(st.integers(0, L - 1), min_size=L, max_size=L)
APART = np.arange(L)
PATHS = st.lists(st.lists(st.sampled_from("xy"), max_size=2).map(tuple), min_size=L, max_size=L)


def flags(data: st.DataObject, crowd: Crowd) -> BoolArray:
    """Draw which visits are kept."""
    n = sum(len(trajectory) for _, trajectory in crowd)
    return np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)


def released_crowd(crowd: Crowd, groups: list[int], kept: BoolArray) -> Crowd:
    """The generalized dataset, visit by visit."""
    left = iter(kept.tolist())
    return [(user, tuple([groups[x] for x in trajectory if next(left)])) for user, trajectory in crowd]


def occurring(crowd: Crowd) -> list[Trajectory]:
    """Every subtrajectory of one or two locations."""
    return sorted(all_subtrajectories(crowd, 1) | all_subtrajectories(crowd, 2))


def named_by_member(groups: list[int]) -> list[int]:
    """Name each generalized location by its smallest member."""
    return [groups.index(group) for group in groups]


# COUNT queries


def count_over_all_instantiations(query: Trajectory, released: Crowd, groups: list[int]) -> Fraction:
    """Mean support over every way to put one member in the place of each visit."""
    members = {group: [x for x in range(L) if groups[x] == group] for group in groups}
    visits = [group for _, trajectory in released for group in trajectory]
    total, n = 0, 0
    for choice in product(*(members[group] for group in visits)):
        chosen = iter(choice)
        instance = [(user, tuple([next(chosen) for _ in trajectory])) for user, trajectory in released]
        total, n = total + support(query, instance), n + 1
    return Fraction(total, n)


@settings(deadline=None, max_examples=examples(60))
@given(crowd=crowds(max_users=3, max_pieces=2, max_length=4), groups=GROUPS, data=st.data())
def test_an_answer_is_the_mean_over_all_instantiations(crowd: Crowd, groups: list[int], data: st.DataObject) -> None:
    """
    Each visit is one of the members, each as likely; a person with several trajectories counts once.
    """
    assume(sum(len(trajectory) for _, trajectory in crowd) <= 5)
    kept = flags(data, crowd)
    query = tuple(data.draw(st.lists(st.integers(0, L - 1), min_size=1, max_size=3)))
    released = generalized(as_sequences(crowd), np.array(groups), kept)
    expected = count_over_all_instantiations(query, released_crowd(crowd, groups, kept), groups)
    assert expected_count(query, released, np.array(groups)) == pytest.approx(float(expected))


def test_the_error_of_a_workload_worked_out() -> None:
    """
    Three people behind {a, b}: 1.5 expected at either, where 2 and 1 were; c is answered rightly.
    """
    a, b, c = 0, 1, 2
    window = as_sequences([(0, (a,)), (1, (a,)), (2, (b,)), (3, (c,))])
    group_of = np.array([a, a, c])
    released = generalized(window, group_of, np.ones(4, np.bool_))
    error = average_relative_error(window, released, group_of, [(a,), (b,), (c,)])
    assert error == pytest.approx((0.25 + 0.5 + 0.0) / 3)


def test_a_repeated_visit_is_likelier_to_be_the_one_asked_for() -> None:
    """
    Two visits to {a, b}: a with 3/4, then a and b in this order with 1/4.
    """
    released = as_sequences([(0, (0, 0))])
    group_of = np.array([0, 0])
    assert expected_count((0,), released, group_of) == 0.75
    assert expected_count((0, 1), released, group_of) == 0.25


def test_what_is_suppressed_is_missed() -> None:
    """
    Nothing is left of a: the answer is 0, and the error 1.
    """
    window = as_sequences([(0, (0,)), (1, (0, 1))])
    group_of = np.array([0, 1])
    released = generalized(window, group_of, np.array([False, False, True]))
    assert average_relative_error(window, released, group_of, [(0,)]) == 1.0
    assert math.isnan(average_relative_error(window, released, group_of, []))


@given(crowd=crowds(), seed=st.integers(0, 99))
def test_queries_occur_and_a_seed_repeats_them(crowd: Crowd, seed: int) -> None:
    """
    A workload has the number asked for, of subtrajectories with one or two locations; the seed decides alone.
    """
    window = as_sequences(crowd)
    queries = draw_queries(window, np.random.default_rng(seed), n=20)
    assert len(queries) == (20 if occurring(crowd) else 0)
    assert set(queries) <= set(occurring(crowd))
    assert queries == draw_queries(window, np.random.default_rng(seed), n=20)


def test_every_size_is_as_likely() -> None:
    """
    One location or two: about half of the queries each, though there are many more pairs.
    """
    window = as_sequences([(0, tuple(range(L)))])
    drawn = draw_queries(window, np.random.default_rng(5), n=400)
    assert 160 <= sum(len(query) == 1 for query in drawn) <= 240
    assert set(drawn) == set(occurring([(0, tuple(range(L)))]))


# Divergence


@settings(deadline=None)
@given(crowd=crowds(), groups=GROUPS, data=st.data())
def test_divergence_is_that_of_the_definition(crowd: Crowd, groups: list[int], data: st.DataObject) -> None:
    """
    Supports over their sums, before and after, of those that are left; what is lost is a share of those before.
    """
    chosen = data.draw(st.lists(st.sampled_from(occurring(crowd)), unique=True)) if occurring(crowd) else []
    kept = flags(data, crowd)
    after = released_crowd(crowd, groups, kept)
    supports = {s: (support(s, crowd), support([groups[x] for x in s], after)) for s in chosen}
    left = [both for both in supports.values() if both[1]]
    window, group_of = as_sequences(crowd), np.array(groups)
    found = support_divergence(window, generalized(window, group_of, kept), group_of, chosen)
    if left:
        sums = [sum(column) for column in zip(*left, strict=True)]
        pairs = [(before / sums[0], now / sums[1]) for before, now in left]
        assert found.nats == pytest.approx(sum(p * math.log(p / q) for p, q in pairs), abs=1e-12)
        assert found.nats >= 0
        lost = sum(before for before, now in supports.values() if not now)
        assert found.lost_share == pytest.approx(lost / sum(before for before, _ in supports.values()))
    else:
        assert math.isnan(found.nats)
        assert found.lost_share == (1.0 if chosen else pytest.approx(math.nan, nan_ok=True))


def test_divergence_worked_out() -> None:
    """
    Supports 2, 1, 1 become 3, 3, 1 where a and b are one location (footnote 2: a counterpart's support).
    """
    window = as_sequences([(0, (0,)), (1, (0,)), (2, (1,)), (3, (2,))])
    group_of = np.array([0, 0, 2])
    released = generalized(window, group_of, np.ones(4, np.bool_))
    found = support_divergence(window, released, group_of, [(0,), (1,), (2,)])
    expected = 1 / 2 * math.log(7 / 6) + 1 / 4 * math.log(7 / 12) + 1 / 4 * math.log(7 / 4)
    assert found.nats == pytest.approx(expected)
    assert found.lost_share == 0.0


@given(crowd=crowds(), size=st.integers(1, 2), n=st.integers(0, 8), seed=st.integers(0, 99))
def test_what_is_compared_is_drawn_without_repetition(crowd: Crowd, size: int, n: int, seed: int) -> None:
    """
    As many distinct ones as asked for, or all there are; the seed decides alone.
    """
    window, every = as_sequences(crowd), all_subtrajectories(crowd, size)
    drawn = draw_subtrajectories(window, np.random.default_rng(seed), size=size, n=n)
    assert len(set(drawn)) == len(drawn) == min(n, len(every))
    assert set(drawn) <= every
    assert drawn == draw_subtrajectories(window, np.random.default_rng(seed), size=size, n=n)


# Patterns


@settings(deadline=None)
@given(crowd=crowds(), min_support=st.integers(1, 4), longest=st.integers(1, 3))
def test_patterns_are_the_subtrajectories_with_the_support(crowd: Crowd, min_support: int, longest: int) -> None:
    """
    PrefixSpan finds what trying every subtrajectory finds; several trajectories of one person are one.
    """
    expected = {
        part
        for size in range(1, longest + 1)
        for part in all_subtrajectories(crowd, size)
        if support(part, crowd) >= min_support
    }
    assert frequent_patterns(as_sequences(crowd), min_support=min_support, longest=longest) == expected


@given(crowd=crowds(), groups=GROUPS, seed=st.integers(0, 99))
def test_a_projection_is_one_of_the_datasets_that_a_release_may_stand_for(
    crowd: Crowd, groups: list[int], seed: int
) -> None:
    """
    Every visit becomes a member of its generalized location; people and order stay.
    """
    released = generalized(as_sequences(crowd), np.array(groups), np.ones(sum(len(t) for _, t in crowd), np.bool_))
    projected = project(released, np.array(groups), np.random.default_rng(seed))
    assert np.array_equal(np.array(groups, np.int64)[projected.locations], released.locations)
    assert np.array_equal(projected.starts, released.starts)
    assert np.array_equal(projected.users, released.users)


def test_members_are_drawn_alike_and_visit_by_visit() -> None:
    """
    Of 3,000 visits to {0, 2, 5} each member gets about a third.
    """
    released = as_sequences([(0, (0,) * 3000)])
    projected = project(released, np.array([0, 1, 0, 3, 4, 0]), np.random.default_rng(3))
    counts = np.bincount(projected.locations, minlength=L)
    assert counts[[1, 3, 4]].sum() == 0
    assert (abs(counts[[0, 2, 5]] - 1000) < 100).all()


@settings(deadline=None, max_examples=examples(50))
@given(crowd=crowds(), groups=GROUPS, seed=st.integers(0, 99), data=st.data())
def test_shares_of_patterns_are_means_over_projections(
    crowd: Crowd, groups: list[int], seed: int, data: st.DataObject
) -> None:
    """
    Kept: of the original's patterns. Invented: of the projection's, where it has any.
    """
    kept = flags(data, crowd)
    window, group_of = as_sequences(crowd), np.array(groups)
    released = generalized(window, group_of, kept)
    found = pattern_shares(
        window, released, group_of, np.random.default_rng(seed), projections=3, min_support=2, longest=2
    )

    def mined(these: Crowd) -> set[Trajectory]:
        return {part for part in occurring(these) if support(part, these) >= 2}

    original, rng = mined(crowd), np.random.default_rng(seed)
    projections = []
    for _ in range(3):
        drawn = iter(project(released, group_of, rng).locations.tolist())
        after = released_crowd(crowd, groups, kept)
        projections.append(mined([(user, tuple([next(drawn) for _ in t])) for user, t in after]))
    shares = [len(one & original) / len(original) for one in projections] if original else [math.nan]
    invented = [len(one - original) / len(one) for one in projections if one]
    assert found.frequent == len(original)
    assert found.kept == pytest.approx(fmean(shares), nan_ok=True)
    assert found.invented == pytest.approx(fmean(invented) if invented else math.nan, nan_ok=True)


# Meaning


@settings(deadline=None)
@given(crowd=crowds(), groups=GROUPS, paths=PATHS, data=st.data())
def test_penalty_is_the_mean_of_means_of_dissimilarity(
    crowd: Crowd, groups: list[int], paths: list[tuple[str, ...]], data: st.DataObject
) -> None:
    """
    P: SD over the visits of a trajectory, then over the trajectories with any, intact locations included.
    """
    kept = flags(data, crowd)
    leaves = [(*path, f"leaf {x}") for x, path in enumerate(paths)]

    def dissimilarity(group: int) -> float:
        members = [leaves[x] for x in range(L) if groups[x] == group]
        shared = 0
        while all(len(path) > shared and path[shared] == members[0][shared] for path in members):
            shared += 1
        return sum(path[:shared] == members[0][:shared] for path in leaves) / L

    after = [t for _, t in released_crowd(crowd, groups, kept) if t]
    expected = fmean(fmean(dissimilarity(group) for group in t) for t in after) if after else math.nan
    values = LocationTree(paths).dissimilarity(np.array(named_by_member(groups)))
    assert semantic_penalty(as_sequences(crowd), values, kept) == pytest.approx(expected, nan_ok=True)


@settings(deadline=None)
@given(crowd=crowds(), groups=GROUPS, paths=PATHS, pair=st.tuples(st.integers(0, L - 1), st.integers(0, L - 1)))
def test_more_generalization_never_lowers_the_penalty(
    crowd: Crowd, groups: list[int], paths: list[tuple[str, ...]], pair: tuple[int, int]
) -> None:
    """
    Two generalized locations made one have a common ancestor no lower than either had.
    """
    assume(any(trajectory for _, trajectory in crowd))
    first, second = groups[pair[0]], groups[pair[1]]
    merged = [first if group == second else group for group in groups]
    window, kept = as_sequences(crowd), np.ones(sum(len(t) for _, t in crowd), np.bool_)
    before, after = (
        semantic_penalty(window, LocationTree(paths).dissimilarity(np.array(named_by_member(these))), kept)
        for these in (groups, merged)
    )
    assert 1 / L - 1e-12 <= before <= after + 1e-12
    assert after <= 1 + 1e-12


# Generalized locations


@given(points=maps(), groups=GROUPS)
def test_statistics_of_generalized_locations_are_means_over_them(points: list[Point], groups: list[int]) -> None:
    """
    Sizes, and distances between different members over the largest of all; intact locations have neither.
    """
    sets = [[x for x in range(L) if groups[x] == group] for group in sorted(set(groups))]
    several = [members for members in sets if len(members) > 1]
    found = location_statistics(positions(points), np.array(groups))
    assert (found.original, found.generalized) == (len(sets) - len(several), len(several))
    if not several:
        assert math.isnan(found.mean_size)
        assert math.isnan(found.mean_distance_share)
        return
    between = [fmean(math.dist(points[a], points[b]) for a, b in combinations(own, 2)) for own in several]
    widest = max(math.dist(a, b) for a, b in combinations(points, 2))
    assert found.mean_size == pytest.approx(fmean(map(len, several)))
    assert found.mean_distance_share == pytest.approx(fmean(between) / widest if widest else 0.0)


# Nothing lost


@settings(deadline=None)
@given(crowd=crowds(), paths=PATHS, seed=st.integers(0, 99))
def test_without_generalization_nothing_is_lost(crowd: Crowd, paths: list[tuple[str, ...]], seed: int) -> None:
    """
    ARE and KL are exactly 0, P is 1 / |H|, every frequent pattern is kept and none is invented.
    """
    assume(any(trajectory for _, trajectory in crowd))
    window, kept, rng = (
        as_sequences(crowd),
        np.ones(sum(len(t) for _, t in crowd), np.bool_),
        np.random.default_rng(seed),
    )
    assert average_relative_error(window, window, APART, draw_queries(window, rng, n=10)) == 0.0
    assert support_divergence(window, window, APART, occurring(crowd)) == (0.0, 0.0)
    values = LocationTree(paths).dissimilarity(APART)
    assert semantic_penalty(window, values, kept) == pytest.approx(1 / L)
    shares = pattern_shares(window, window, APART, rng, projections=2, min_support=1, longest=2)
    assert shares == (len(occurring(crowd)), 1.0, 0.0)
