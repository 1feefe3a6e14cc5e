"""What least-loss is made of, each part against a slow and obvious one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.km.anonymize.least_loss.counted import Counted
from core.models.km.anonymize.least_loss.hierarchy import MergeHierarchy, hierarchy
from core.models.km.anonymize.least_loss.repair import Allowed, Effort, Repaired, repair
from core.models.km.anonymize.least_loss.search import Search
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import IntArray
from core.trajectories.trajectory import Sequences
from core.utility.distance import location_distance
from tests.budgets import examples
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, Point, Trajectory, as_sequences, crowds, distance_mm, maps, positions, released

WITHOUT_BOUND = Allowed(suppression_m=1.0, split_m=1.0, suppressions=10**9, splits=10**9)


def counts(n: int = 6) -> st.SearchStrategy[list[int]]:
    """Draw how often each location is visited."""
    return st.lists(st.integers(1, 9), min_size=n, max_size=n)


# ---------------------------------------------------------------- the order of merges


def slow_merges(points: list[Point], visits: list[int]) -> list[tuple[int, int]]:
    """Merge the cheapest two until one is left, costs in whole millimetres, ties by ids."""

    def moved_mm(members: tuple[int, ...]) -> Fraction:
        sums = sum(visits[x] * distance_mm([points[x]], [points[y]]) for x in members for y in members)
        return Fraction(sums, len(members))

    def cost_mm(one: tuple[int, ...], other: tuple[int, ...]) -> int:
        added_mm = moved_mm(one + other) - moved_mm(one) - moved_mm(other)
        if any(n & (n - 1) for n in (len(one), len(other), len(one) + len(other))):
            assume(abs(added_mm % 1 - Fraction(1, 2)) > Fraction(1, 10**6))  # a float may be on either side of a half
        return round(added_mm)

    groups: list[tuple[int, ...]] = [(x,) for x in range(len(points))]
    merges = []
    while len(groups) > 1:
        _, into, absorbed = min((cost_mm(one, other), min(one), min(other)) for one, other in combinations(groups, 2))
        merges.append((into, absorbed))
        both = [group for group in groups if min(group) in {into, absorbed}]
        groups = sorted([group for group in groups if group not in both] + [both[0] + both[1]], key=min)
    return merges


@settings(max_examples=examples(60))
@given(points=maps(n_locations=7), visits=counts(7))
def test_merges_are_the_cheapest(points: list[Point], visits: list[int]) -> None:
    """
    Each is of the two that add least to what the visits are moved, the smallest ids of several alike.
    """
    found = hierarchy(positions(points), np.array(visits))
    assert list(zip(found.into.tolist(), found.absorbed.tolist(), strict=True)) == slow_merges(points, visits)


@settings(max_examples=examples(100))
@given(data=st.data(), n=st.integers(1, 12))
def test_what_visits_are_moved_is_known_at_every_level(data: st.DataObject, n: int) -> None:
    """
    As by the definition, but for the millimetres that are rounded; each level is a partition named by smallest ids.
    """
    points, visits = data.draw(maps(n_locations=n)), np.array(data.draw(counts(n)))
    found = hierarchy(positions(points), visits)
    assert len(found.moved_m) == n
    for level in range(n):
        group_of = found.group_of(level)
        moved_m = float((location_distance(positions(points), group_of) * visits).sum())
        assert found.moved_m[level] == pytest.approx(moved_m, abs=0.0005 * (visits.sum() + n))
        check_partition(group_of, n - level)


def check_partition(group_of: IntArray, n_groups: int) -> None:
    """Groups are named by their smallest members, and as many as they should be."""
    assert len(set(group_of.tolist())) == n_groups
    assert (group_of <= np.arange(len(group_of))).all()
    assert np.array_equal(group_of[group_of], group_of)


@settings(max_examples=examples(100))
@given(data=st.data(), n=st.integers(1, 30), most=st.integers(2, 6))
def test_parts_are_merged_one_by_one_and_then_together(data: st.DataObject, n: int, most: int) -> None:
    """
    More locations than are compared at once: still L - 1 merges from L locations to one, and no loss below nothing.
    """
    points, visits = data.draw(maps(n_locations=n)), np.array(data.draw(counts(n)))
    found = hierarchy(positions(points), visits, most_at_once=most)
    assert (len(found.into), len(found.absorbed), len(found.moved_m)) == (n - 1, n - 1, n)
    assert (found.moved_m >= 0).all()
    for level in range(n):
        check_partition(found.group_of(level), n - level)


def test_the_parts_of_far_places_are_joined_last() -> None:
    """
    Two towns of six houses each, four compared at once: no house is merged with another town's before its own is one.
    """
    points = [(10_000 * town + 10 * house, 0) for house in range(6) for town in range(2)]
    found = hierarchy(positions(points), np.ones(12, np.int64), most_at_once=4)
    assert sorted(set(found.group_of(10).tolist())) == [0, 1]
    assert found.group_of(10).tolist() == [0, 1] * 6


def test_a_chain_of_merges_is_followed_to_its_end() -> None:
    """
    Each merge takes the one before it into the next smaller id: a location is up to a thousand steps from its name.
    """
    n = 1_000
    chain = MergeHierarchy(into=np.arange(n - 1)[::-1], absorbed=np.arange(1, n)[::-1], moved_m=np.zeros(n))
    assert not chain.group_of(n - 1).any()
    assert chain.group_of(n // 2).tolist() == [min(x, n // 2 - 1) for x in range(n)]


# ---------------------------------------------------------------- counting


def slow_supporters(crowd: Crowd, m: int) -> dict[Trajectory, list[int]]:
    """Who supports each subtrajectory of at most m locations."""
    return {
        part: sorted({user for user, trajectory in crowd if oracles.is_subtrajectory(part, trajectory)})
        for size in range(1, m + 1)
        for part in oracles.all_subtrajectories(crowd, size)
    }


def parts_of(counted: Counted) -> list[Trajectory]:
    """The locations of each subtrajectory, by number."""
    parts: list[Trajectory] = []
    for prefix, last in zip(counted.prefixes.tolist(), counted.lasts.tolist(), strict=True):
        parts.append((*parts[prefix], last) if prefix >= 0 else (last,))
    return parts


def supporters_of(counted: Counted) -> dict[Trajectory, list[int]]:
    """Who supports each."""
    bounds = pairwise(counted.starts.tolist())
    return {
        part: counted.users[start:end].tolist() for part, (start, end) in zip(parts_of(counted), bounds, strict=True)
    }


@settings(max_examples=examples(200))
@given(crowd=crowds(), m=st.integers(1, 4), k=st.integers(2, 4))
def test_every_subtrajectory_is_counted(crowd: Crowd, m: int, k: int) -> None:
    """
    By the definition.
    """
    counted, slow = Counted.of(as_sequences(crowd), m), slow_supporters(crowd, m)
    assert supporters_of(counted) == slow
    assert counted.supports.tolist() == [len(slow[part]) for part in parts_of(counted)]
    assert counted.infrequent(k) == sum(len(users) for users in slow.values() if len(users) < k)


def test_ten_of_many_locations_are_counted() -> None:
    """
    A thousand locations and m = 10: more possible subtrajectories than 64 bits can number.
    """
    crowd: Crowd = [(user, tuple(range(989 + user, 1000))) for user in range(2)]
    assert supporters_of(Counted.of(as_sequences(crowd), 10)) == slow_supporters(crowd, 10)


def test_longer_subtrajectories_are_greater_numbers() -> None:
    """
    Repairs take the shortest first by that.
    """
    parts = parts_of(Counted.of(as_sequences([(0, (5, 0, 5, 5))]), 4))
    assert parts == sorted(parts, key=lambda part: (len(part), part))


# ---------------------------------------------------------------- splits


@settings(max_examples=examples(200))
@given(crowd=crowds(), data=st.data())
def test_trajectories_are_split_where_they_are_told(crowd: Crowd, data: st.DataObject) -> None:
    """
    Visits stay as they are and pieces stay their person's; where a trajectory begins or ends there is nothing to split.
    """
    window = as_sequences(crowd)
    n_visits = len(window.locations)
    before = data.draw(st.lists(st.integers(0, n_visits), max_size=8))
    found = window.split(np.array(before, np.int64))
    everything = Generalization(
        group_of=np.arange(6), kept=np.ones(n_visits, np.bool_), merges=0, splits=np.unique(np.array(before, np.int64))
    )
    assert pieces_of(found) == released(crowd, everything)
    again = found.split(np.array(before, np.int64))
    assert pieces_of(again) == pieces_of(found)
    assert found.n_users == window.n_users


def pieces_of(window: Sequences) -> Crowd:
    """The trajectories of a window."""
    starts = window.starts.tolist()
    pieces = [tuple(window.locations[start:end].tolist()) for start, end in pairwise(starts)]
    return list(zip(window.users.tolist(), pieces, strict=True))


# ---------------------------------------------------------------- repairs


def repaired(
    crowd: Crowd, k: int, m: int, allowed: Allowed = WITHOUT_BOUND, effort: Effort | None = None
) -> Repaired | None:
    """Repair a crowd as it is."""
    window = as_sequences(crowd)
    return repair(window, Counted.of(window, m), KmAnonymity(k=k, m=m), allowed, effort)


def left_of(crowd: Crowd, result: Repaired) -> Crowd:
    """What is released."""
    return released(crowd, Generalization(group_of=np.arange(6), kept=result.kept, merges=0, splits=result.splits))


@settings(max_examples=examples(200))
@given(
    crowd=crowds(),
    k=st.integers(2, 4),
    m=st.integers(1, 3),
    suppression_m=st.sampled_from([1e-9, 1.0, 50.0]),
    splits=st.sampled_from([0, 1, 100]),
)
def test_whoever_has_an_infrequent_subtrajectory_is_repaired(
    crowd: Crowd, k: int, m: int, suppression_m: float, splits: int
) -> None:
    """
    Afterwards nobody has one; where nobody had one, nothing is suppressed or split.
    """
    result = repaired(crowd, k, m, Allowed(suppression_m=suppression_m, split_m=1.0, suppressions=99, splits=splits))
    assert result is not None
    assert oracles.is_km_anonymous(left_of(crowd, result), k, m)
    assert len(result.splits) <= splits
    if oracles.is_km_anonymous(crowd, k, m):
        assert result.kept.all()
        assert not len(result.splits)


@settings(max_examples=examples(100))
@given(crowd=crowds(), k=st.integers(2, 4), m=st.integers(1, 3), at_once=st.integers(1, 3))
def test_repairing_a_few_subtrajectories_at_a_time_repairs_all(crowd: Crowd, k: int, m: int, at_once: int) -> None:
    """
    Who has many of them is repaired of the shortest first.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.models.km.anonymize.least_loss.repair._AT_ONCE", at_once)
        result = repaired(crowd, k, m)
    assert result is not None
    assert oracles.is_km_anonymous(left_of(crowd, result), k, m)


@settings(max_examples=examples(100))
@given(crowd=crowds(), k=st.integers(2, 4), m=st.integers(1, 3), budget=st.integers(0, 5), looks=st.integers(0, 60))
def test_a_repair_is_given_up_beyond_its_budgets(crowd: Crowd, k: int, m: int, budget: int, looks: int) -> None:
    """
    What is repaired was so within them; what needs nothing is repaired with none.
    """
    effort = Effort(left=looks)
    allowed = Allowed(suppression_m=1.0, split_m=1.0, suppressions=budget, splits=0)
    result = repaired(crowd, k, m, allowed, effort)
    if result is None:
        assert not oracles.is_km_anonymous(crowd, k, m)
    else:
        assert effort.left >= 0
        assert np.count_nonzero(~result.kept) <= budget
        assert oracles.is_km_anonymous(left_of(crowd, result), k, m)


def test_the_cheaper_way_is_taken() -> None:
    """
    One person goes the other way: a split where that costs less than a visit, a visit where splits are used up.
    """
    crowd: Crowd = [*((user, (0, 1)) for user in range(5)), (5, (1, 0))]
    for suppression_m, splits, suppressed in ((2.0, 1, 0), (0.5, 1, 1), (2.0, 0, 1)):
        allowed = Allowed(suppression_m=suppression_m, split_m=1.0, suppressions=9, splits=splits)
        result = repaired(crowd, 3, 2, allowed)
        assert result is not None
        assert np.count_nonzero(~result.kept) == suppressed
        assert result.splits.tolist() == ([] if suppressed else [11])


def test_a_split_with_nothing_left_on_one_side_is_not_told() -> None:
    """
    The visit to location 2 goes in any case, so that the order of it and another is nobody's to hide.
    """
    crowd: Crowd = [*((user, (0, 1)) for user in range(3)), (3, (2, 0)), (4, (1, 2)), (5, (2, 1, 2, 0, 2))]
    result = repaired(crowd, 3, 2, Allowed(suppression_m=1.0, split_m=0.01, suppressions=9, splits=9))
    assert result is not None
    left = [trajectory for user, trajectory in left_of(crowd, result) if user >= 3]
    assert len(result.splits) == sum(map(bool, left)) - 3


# ---------------------------------------------------------------- which levels to try


def search_over(moved_m: list[float], suppressions: int = 1_000) -> Search:
    """A search over a hierarchy that moves visits so far."""
    n = len(moved_m)
    merges = MergeHierarchy(into=np.zeros(n - 1, np.int64), absorbed=np.arange(1, n), moved_m=np.array(moved_m))
    return Search(merges, Allowed(suppression_m=1.0, split_m=1.0, suppressions=suppressions, splits=0))


@settings(max_examples=examples(200))
@given(
    moved=st.lists(st.floats(0, 1e6), min_size=1, max_size=40),
    levels=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 10**6)), min_size=1, max_size=6),
    failures=st.integers(0, 6),
    share=st.floats(0, 1),
)
def test_a_level_that_failed_is_not_promised_again(
    moved: list[float], levels: list[tuple[int, int]], failures: int, share: float
) -> None:
    """
    Nor one that is finer; there always is a level to try, the coarsest if no other.
    """
    search = search_over([0.0, *moved])
    assert 0 <= search.moving(share) <= search.coarsest
    failed = -1
    for turn, (level, pairs) in enumerate(levels):
        at = min(level, search.coarsest)
        search.learn(at, pairs)
        if turn < failures and pairs and at < search.coarsest:
            (search.over_budget if turn % 2 else search.failed)(at)
            failed = max(failed, at)
        for found in (search.best(), search.best_known(), search.halfway()):
            assert found is None or failed < found <= search.coarsest


def test_what_is_known_is_foretold_as_it_is() -> None:
    """
    Known levels promise what they were seen to have, those between them a power of the generalized locations.
    """
    search = search_over([float(level) for level in range(100)])
    search.learn(0, 10_000)
    search.learn(90, 10)
    assert search.foretold_m(0) == pytest.approx(10_000)
    assert search.foretold_m(90) == pytest.approx(90 + 10)
    assert search.foretold_m(100 - 31 - 1) == pytest.approx(68 + 10 * (32 / 10) ** 3, rel=0.1)
    search.repaired(90, suppressed=5, splits=0)
    assert search.foretold_m(90) == pytest.approx(90 + 5)


def test_what_lies_before_the_coarsest_level_is_found_by_halves() -> None:
    """
    Of sixteen generalized locations known four are halfway, then two, then none.
    """
    search = search_over([0.0] * 100)
    search.learn(84, 1)
    for level in (96, 98):
        assert search.halfway() == level
        search.learn(level, 1)
    assert search.halfway() is None
