"""Sets by Apriori, LRA, VPA, COAT and PCTA: anonymous for every window, and no worse than their rules allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.anonymize import apriori
from core.models.km_sets.anonymize.apriori import HierarchyCut
from core.models.km_sets.anonymize.constraints import coat, pcta
from core.models.km_sets.anonymize.lra import gray_rank, lra
from core.trajectories.recoding import Label
from tests.budgets import examples
from tests.oracles import km_sets as oracle

PATHS: list[tuple[str, ...]] = [("n", "a"), ("n", "a"), ("n", "b"), ("n", "b"), ("s",), ("s", "c"), ("s", "c", "d")]
"""Seven locations under a root: two pairs in the north, and in the south three at different depths."""

NODES = LocationNodes(PATHS)
XY_M = np.array([[0, 0], [10, 0], [1000, 0], [1010, 0], [0, 5000], [10, 5000], [20, 5000]], np.float64)
REGION = [path[0] for path in PATHS]

Constrained = Callable[..., dict[int, Label] | None]


def windows(n_locations: int = len(PATHS), *, least: int = 2) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Draw the locations of up to nine people."""
    one = st.sets(st.integers(0, n_locations - 1), min_size=1, max_size=5).map(lambda own: tuple(sorted(own)))
    return st.lists(one, min_size=least, max_size=9)


def test_nodes_with_one_branch_are_left_out() -> None:
    """A node above the same locations as its only branch is the same generalized location."""
    members = {tuple(found) for found in NODES.members}
    assert members == {*((x,) for x in range(7)), (0, 1), (2, 3), (0, 1, 2, 3), (5, 6), (4, 5, 6), tuple(range(7))}
    assert len(NODES.members) == len(members)
    assert [len(chain) for chain in NODES.above[:7]] == [4, 4, 4, 4, 3, 4, 4]
    assert [NODES.members[node] for node in NODES.branches] == [[0, 1, 2, 3], [4, 5, 6]]
    assert NODES.members[NODES.common([0, 1])] == [0, 1]
    assert NODES.members[NODES.common([0, 5])] == list(range(7))
    assert LocationNodes([("x", "y")]).above == [(0,)]


@settings(max_examples=examples(300))
@given(visited=windows(), k=st.integers(2, 3), m=st.integers(1, 3))
def test_apriori_is_anonymous_and_a_cut_of_the_hierarchy(visited: list[tuple[int, ...]], k: int, m: int) -> None:
    """Every node stands for all locations below it, and every set of up to m of them is that of k people."""
    if len(visited) < k:
        return
    cut = HierarchyCut(visited, NODES)
    cut.anonymize(k=k, m=m)
    labels = cut.labels()
    everything = list(oracle.cuts(NODES))
    assert labels in everything
    assert oracle.is_km(oracle.released(visited, labels), k=k, m=m)
    allowed = [one for one in everything if oracle.is_km(oracle.released(visited, one), k=k, m=m)]
    least = min(oracle.certainty_loss(visited, one) for one in allowed)
    assert least <= oracle.certainty_loss(visited, labels) <= oracle.certainty_loss(visited, allowed[0])


@settings(max_examples=examples(200))
@given(visited=windows(), k=st.integers(2, 3))
def test_a_single_rare_set_is_repaired_at_the_least_loss(visited: list[tuple[int, ...]], k: int) -> None:
    """Where a repair of the first rare set is enough, no cut that is anonymous loses less."""
    if len(visited) < k:
        return
    cut = HierarchyCut(visited, NODES)
    rare = {x for own in visited for x in own if sum(x in other for other in visited) < k}
    cut.anonymize(k=k, m=1)
    if len(rare) == 1:
        allowed = [one for one in oracle.cuts(NODES) if oracle.is_km(oracle.released(visited, one), k=k, m=1)]
        least = min(oracle.certainty_loss(visited, one) for one in allowed)
        assert oracle.certainty_loss(visited, cut.labels()) == least


@settings(max_examples=examples(100))
@given(visited=windows(), k=st.integers(2, 3), m=st.integers(1, 4))
def test_a_search_that_is_cut_short_is_anonymous(visited: list[tuple[int, ...]], k: int, m: int) -> None:
    """With three candidates at most, the highest nodes are taken: more is generalized, and the promise holds."""
    if len(visited) < k:
        return
    cut = HierarchyCut(visited, NODES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apriori, "MOST_TRIED", 3)
        for branch in NODES.branches:
            cut.anonymize(k=k, m=m, top=branch)
        cut.anonymize(k=k, m=m)
    assert oracle.is_km(oracle.released(visited, cut.labels()), k=k, m=m)


@settings(max_examples=examples(200))
@given(visited=windows(), k=st.integers(2, 3), m=st.integers(1, 3))
def test_vertical_parts_first_keep_below_their_branch(visited: list[tuple[int, ...]], k: int, m: int) -> None:
    """Below a branch nothing higher than the branch is used, and what can be repaired there is."""
    if len(visited) < k:
        return
    cut = HierarchyCut(visited, NODES)
    for branch in NODES.branches:
        cut.anonymize(k=k, m=m, top=branch)
    labels = cut.labels()
    for branch in NODES.branches:
        inside = NODES.members[branch]
        assert all(set(labels[x]) <= set(inside) for x in inside)
        own = [[x for x in one if x in inside] for one in visited]
        if sum(map(bool, own)) >= k:
            assert oracle.is_km(oracle.released(own, labels), k=k, m=m)
    cut.anonymize(k=k, m=m)
    assert oracle.is_km(oracle.released(visited, cut.labels()), k=k, m=m)


@settings(max_examples=examples(200))
@given(visited=windows(), k=st.integers(2, 3), m=st.integers(1, 2), more=st.integers(0, 2))
def test_each_part_of_lra_is_anonymous(visited: list[tuple[int, ...]], k: int, m: int, more: int) -> None:
    """Parts have k people at least, follow the Gray order, and each is a cut of its own."""
    if len(visited) < k:
        return
    found = lra(visited, NODES, k=k, m=m, people_per_part=k + more)
    everything = list(oracle.cuts(NODES))
    supports = {x: sum(x in own for own in visited) for own in visited for x in own}
    order = sorted(supports, key=lambda x: (-supports[x], x))
    rank = [gray_rank(int("".join("1" if x in own else "0" for x in order), 2)) for own in visited]
    highest = -1
    for part, labels in enumerate(found.labels):
        people = np.flatnonzero(found.part_of == part).tolist()
        assert len(people) >= min(k + more, len(visited))
        assert labels in everything
        assert oracle.is_km(oracle.released([visited[i] for i in people], labels), k=k, m=m)
        assert min(rank[i] for i in people) >= highest
        highest = max(rank[i] for i in people)


@pytest.mark.parametrize("n", [1, 5, 9])
def test_neighbours_in_gray_order_differ_in_one_bit(n: int) -> None:
    """The order of all numbers of n bits by their rank changes one bit at a time, and a rank is used once."""
    order = sorted(range(1 << n), key=gray_rank)
    assert [gray_rank(bits) for bits in order] == list(range(1 << n))
    assert all((a ^ b).bit_count() == 1 for a, b in pairwise(order))


@pytest.mark.parametrize("algorithm", [coat, pcta])
@settings(max_examples=examples(300))
@given(visited=windows(), k=st.integers(2, 3), m=st.integers(1, 3), percent=st.sampled_from([0, 30, 100]))
def test_utility_constraints_are_kept(
    algorithm: Constrained, visited: list[tuple[int, ...]], k: int, m: int, percent: float
) -> None:
    """The release is anonymous, no label straddles constraints, and few enough locations are suppressed; if there is
    no release, the algorithm could not be refused for nothing: some location of a constraint is rare in itself."""
    labels = algorithm(visited, XY_M, REGION, k=k, m=m, max_suppressed_percent=percent)
    there = {x for own in visited for x in own}
    if labels is None:
        assert percent < 100
        whole = {x: tuple(y for y in sorted(there) if REGION[y] == REGION[x]) for x in there}
        assert not oracle.is_km(oracle.released(visited, whole), k=k, m=m)
        return
    assert oracle.is_km(oracle.released(visited, labels), k=k, m=m)
    assert all(len({REGION[x] for x in label}) == 1 for label in labels.values())
    assert all(x in labels[x] and labels[y] == labels[x] for x in labels for y in labels[x])
    assert 100 * len(there - labels.keys()) <= percent * len(there)


def slow_coat(visited: Sequence[Sequence[int]], *, k: int, pcta: bool) -> dict[int, Label]:
    """COAT and PCTA for single locations, everything in one constraint, by their definitions."""
    groups: list[Label] = [(x,) for x in sorted({x for own in visited for x in own})]

    def support(group: Label) -> int:
        return sum(not set(own).isdisjoint(group) for own in visited)

    def loss(group: Label) -> int:
        apart = sum(int(((XY_M[a] - XY_M[b]) ** 2).sum()) for a in group for b in group)
        return int((2 ** len(group) - 1) * apart * support(group) // len(group) ** 2)

    while True:
        rare = [group for group in groups if support(group) < k]
        if not rare:
            return {x: group for group in groups for x in group}
        before = list(groups)
        for start in sorted(rare, key=lambda group: (-support(group), group[0])):
            group = next(one for one in groups if start[0] in one)
            while support(group) < k:
                partner = min((loss(group + other), other[0], other) for other in groups if other != group)[2]
                groups = [one for one in groups if one not in (group, partner)]
                group = tuple(sorted(group + partner))
                groups.append(group)
        assert groups != before


@settings(max_examples=examples(200))
@given(visited=windows(), k=st.integers(2, 3))
def test_merges_are_those_of_the_definitions(visited: list[tuple[int, ...]], k: int) -> None:
    """For single locations both algorithms merge a rare one where the merged one has the least UL."""
    if len(visited) < k:
        return
    for algorithm in (coat, pcta):
        found = algorithm(visited, XY_M, ["all"] * 7, k=k, m=1, max_suppressed_percent=0)
        assert found == slow_coat(visited, k=k, pcta=algorithm is pcta)


def test_pcta_takes_the_merge_that_costs_least_and_coat_the_rarest() -> None:
    """Locations 0 and 4 together are rare. 0 is the rarer one, and far from everything but 1; 4 has 5 close by."""
    visited = [(0, 4), (0,), (0,), (4,), (4,), (4,), (1, 4), (1, 4), (1,), (5,), (5,), (5,)]
    constraint = ["near" if x < 2 else "far" for x in range(7)]
    by_coat = coat(visited, XY_M, constraint, k=3, m=2, max_suppressed_percent=0)
    assert by_coat is not None
    assert by_coat[0] == (0, 1)
    assert by_coat[4] == (4,)
    far_apart = XY_M.copy()
    far_apart[1] = (90_000, 0)
    by_pcta = pcta(visited, far_apart, constraint, k=3, m=2, max_suppressed_percent=0)
    assert by_pcta is not None
    assert by_pcta[4] == (4, 5)


def test_more_suppressed_locations_than_allowed_are_no_release() -> None:
    """A rare location alone in its constraint: a seventh of the locations must go."""
    visited = [(0,), (0,), (0,), (1,), (1,), (2,)]
    constraint = list(range(7))
    assert coat(visited, XY_M, constraint, k=2, m=1, max_suppressed_percent=33) is None
    assert coat(visited, XY_M, constraint, k=2, m=1, max_suppressed_percent=34) == {0: (0,), 1: (1,)}
