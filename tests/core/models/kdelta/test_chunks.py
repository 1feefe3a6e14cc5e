from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.kdelta.anonymize.cluster.chunks import Block, chunk_of, similar_chunks
from core.models.kdelta.anonymize.cluster.clustering import greedy_clustering
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, data_sets, points_of, trajectories_of

LARGEST = st.integers(1, 6)
RADII_M = st.sampled_from([5.0, 20.0, 60.0])


def measure(some: PointTrajectories) -> Lstd:
    return Lstd(some, tolerance_s=10)


def members(chunks: Sequence[Block]) -> list[list[int]]:
    return [chunk.members.tolist() for chunk in chunks]


def at(x_m: float, y_m: float = 0.0) -> list[Point]:
    return [(0, x_m, y_m)]


# ---------------------------------------------------------------- one chunk


def check(whole: PointTrajectories, chunk: Block) -> None:
    """A chunk is what its members are in the data set: their points, and the same people beside one another."""
    its = chunk.trajectories
    n = len(chunk.members)
    assert len(its.users) == n
    assert its.starts[0] == 0
    for i, number in enumerate(chunk.members.tolist()):
        assert points_of(its, i) == points_of(whole, number)
    people = whole.users[chunk.members].tolist()
    ranks = {user: rank for rank, user in enumerate(sorted(set(people)))}
    assert its.users.tolist() == [ranks[user] for user in people]
    assert its.n_users == len(ranks)


@settings(max_examples=examples(50))
@given(data_sets(), st.data())
def test_a_chunk_is_what_its_members_are(whole: PointTrajectories, data: st.DataObject) -> None:
    """
    Points and times of each member in their order, users numbered densely: pieces of one user stay one user's.
    """
    chosen = data.draw(st.sets(st.sampled_from(range(len(whole.users)))))
    chunk = chunk_of(whole, np.array(sorted(chosen), dtype=np.int64), measure)
    assert chunk.members.tolist() == sorted(chosen)
    check(whole, chunk)


@settings(max_examples=examples(50))
@given(data_sets(), st.data())
def test_the_distances_of_a_chunk_are_those_of_its_members_alone(whole: PointTrajectories, data: st.DataObject) -> None:
    """
    They are measured in the chunk's own numbers, as in a data set of its own.
    """
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(whole.users))), min_size=1)))
    chunk = chunk_of(whole, np.array(chosen), measure)
    alone, n = measure(trajectories_of(*((0, points_of(whole, number)) for number in chosen))), len(chosen)
    for pivot in range(n):
        assert chunk.distances.between(pivot, np.arange(n)).tolist() == alone.between(pivot, np.arange(n)).tolist()


# ---------------------------------------------------------------- dividing


@settings(max_examples=examples(50))
@given(data_sets(), LARGEST)
def test_chunks_are_a_partition_into_parts_of_at_least_half_the_limit(whole: PointTrajectories, largest: int) -> None:
    """
    Each trajectory is in one chunk, none of which is larger than the limit; where there are several, none is smaller
    than half of it.
    """
    chunks = similar_chunks(whole, measure, largest=largest)
    assert sorted(number for its in members(chunks) for number in its) == list(range(len(whole.users)))
    for chunk in chunks:
        assert chunk.members.tolist() == sorted(chunk.members.tolist())
        assert len(chunk.members) <= largest
        assert len(chunks) == 1 or len(chunk.members) >= largest / 2
        check(whole, chunk)


@settings(max_examples=examples(50))
@given(data_sets(), st.integers(0, 3))
def test_a_data_set_no_larger_than_the_limit_is_one_chunk(whole: PointTrajectories, more: int) -> None:
    """
    What is small enough is not divided: its one chunk is the data set.
    """
    n = len(whole.users)
    (chunk,) = similar_chunks(whole, measure, largest=n + more)
    assert chunk.members.tolist() == list(range(n))
    for name in ("users", "starts", "t_ms", "xy_m"):
        np.testing.assert_array_equal(getattr(chunk.trajectories, name), getattr(whole, name))


def test_nobody_is_one_empty_chunk() -> None:
    """
    An empty data set has nothing to divide.
    """
    assert members(similar_chunks(trajectories_of(), measure, largest=3)) == [[]]


def halved(places_mm: list[list[int]], part: list[int], largest: int) -> list[list[int]]:
    """Halve a set of trajectories as described, until no part is too large."""
    if len(part) <= largest:
        return [sorted(part)]
    spreads = [max(its) - min(its) for its in zip(*(places_mm[i] for i in part), strict=True)]
    widest = spreads.index(max(spreads))
    order = sorted(part, key=lambda i: places_mm[i][widest])
    half = len(order) // 2
    return halved(places_mm, order[:half], largest) + halved(places_mm, order[half:], largest)


@settings(max_examples=examples(50))
@given(data_sets(), LARGEST)
def test_a_set_that_is_too_large_is_halved_where_it_is_widest(whole: PointTrajectories, largest: int) -> None:
    """
    At the median of whichever spreads most: x or y of where trajectories begin, are on average or end, whole
    millimetres.
    """
    places_mm = []
    for i in range(len(whole.users)):
        its = points_of(whole, i)
        mean = [sum(p[axis] for p in its) / len(its) for axis in (1, 2)]
        places_mm.append([round(1000 * m) for m in (*its[0][1:], *mean, *its[-1][1:])])
    chunks = similar_chunks(whole, measure, largest=largest)
    assert members(chunks) == halved(places_mm, list(range(len(whole.users))), largest)


def test_neighbours_stay_together() -> None:
    """
    Two places a kilometre apart are two chunks, however their people are numbered.
    """
    whole = trajectories_of(*((user, at(user, 1000.0 * (user % 2))) for user in range(8)))
    assert members(similar_chunks(whole, measure, largest=4)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_opposite_directions_on_one_road_are_different_chunks() -> None:
    """
    On average all are in the middle of the road: where they begin and end tells them apart.
    """
    there, back = [(0, 0.0, 0.0), (1000, 100.0, 0.0)], [(0, 100.0, 0.0), (1000, 0.0, 0.0)]
    whole = trajectories_of(*((user, back if user in (1, 2) else there) for user in range(4)))
    assert members(similar_chunks(whole, measure, largest=2)) == [[0, 3], [1, 2]]


def test_identical_trajectories_are_divided_too() -> None:
    """
    Without any spread the order decides, and it ends.
    """
    whole = trajectories_of(*((user, at(0.0)) for user in range(7)))
    assert members(similar_chunks(whole, measure, largest=2)) == [[0], [1, 2], [3, 4], [5, 6]]


# ---------------------------------------------------------------- clustering by chunks


def distances_of(whole: PointTrajectories, chunk: Block, pivot: int) -> dict[int, int]:
    """Distances of a chunk's members from one of them, all in numbers of the data set."""
    its = measure(trajectories_of(*((0, points_of(whole, number)) for number in chunk.members.tolist())))
    at_pivot = chunk.members.tolist().index(pivot)
    return dict(zip(chunk.members.tolist(), its.between(at_pivot, np.arange(len(chunk.members))).tolist(), strict=True))


@settings(max_examples=examples(60))
@given(data_sets(min_size=2), st.integers(2, 6), RADII_M, st.sampled_from([0.0, 0.3, 1.0]), st.booleans(), st.data())
def test_no_cluster_crosses_chunks_and_each_keeps_its_rules(
    whole: PointTrajectories,
    largest: int,
    max_radius_m: float,
    trash_share: float,
    refined: bool,
    data: st.DataObject,
) -> None:
    """
    A cluster lies in one chunk, its own pivot in it, nobody farther from that than the radius of all, and has the
    distinct users that its members demand.
    """
    n = len(whole.users)
    ks = data.draw(st.lists(st.sampled_from([2, 2, 2, 3, 4]), min_size=n, max_size=n))
    demands = Demands(k=np.array(ks), delta_m=np.full(n, 9.0))
    chunks = similar_chunks(whole, measure, largest=largest)
    result = greedy_clustering(
        chunks, demands, max_radius=round(max_radius_m * 1000), trash_share=trash_share, refined=refined
    )
    chunk_with = {number: chunk for chunk in chunks for number in chunk.members.tolist()}
    assert result.cluster.shape == (n,)
    assert set(result.cluster.tolist()) - {-1} == set(range(len(result.pivots)))
    for number, pivot in enumerate(result.pivots.tolist()):
        its = np.flatnonzero(result.cluster == number).tolist()
        chunk = chunk_with[pivot]
        assert pivot in its
        assert set(its) <= set(chunk.members.tolist())
        assert len(set(whole.users[its].tolist())) >= max(ks[i] for i in its)
        away = distances_of(whole, chunk, pivot)
        assert max(away[i] for i in its) <= result.radius


@settings(max_examples=examples(50))
@given(data_sets(min_size=2), st.integers(2, 6), RADII_M, st.booleans(), st.integers(2, 3))
def test_each_chunk_is_clustered_as_a_data_set_of_its_own(
    whole: PointTrajectories, largest: int, max_radius_m: float, refined: bool, k: int
) -> None:
    """
    With the same radius a chunk's clusters are those it has alone, numbered on from the chunk before.
    """
    radius, n = round(max_radius_m * 1000), len(whole.users)
    chunks = similar_chunks(whole, measure, largest=largest)
    demands = Demands.alike(n, k=k, delta_m=9.0)
    result = greedy_clustering(chunks, demands, max_radius=radius, trash_share=1.0, refined=refined)
    cluster: IntArray = np.full(n, -1, dtype=np.int64)
    pivots: list[int] = []
    for its in members(chunks):
        alone = trajectories_of(*((int(whole.users[i]), points_of(whole, i)) for i in its))
        (only,) = similar_chunks(alone, measure, largest=len(its))
        one = greedy_clustering(
            [only],
            Demands.alike(len(its), k=k, delta_m=9.0),
            max_radius=radius,
            trash_share=1.0,
            refined=refined,
        )
        cluster[its] = np.where(one.cluster < 0, -1, one.cluster + len(pivots))
        pivots += [its[pivot] for pivot in one.pivots.tolist()]
    assert result.cluster.tolist() == cluster.tolist()
    assert result.pivots.tolist() == pivots


@settings(max_examples=examples(50))
@given(data_sets(min_size=2), st.integers(2, 6), RADII_M, st.sampled_from([0.0, 0.2]), st.integers(2, 3))
def test_one_radius_grows_for_all_chunks_until_their_trash_is_small_enough(
    whole: PointTrajectories, largest: int, max_radius_m: float, trash_share: float, k: int
) -> None:
    """
    What is left of all chunks together is compared with the share; only a chunk of fewer than k people, whom no radius
    helps, does not count.
    """
    chunks = similar_chunks(whole, measure, largest=largest)
    result = greedy_clustering(
        chunks,
        Demands.alike(len(whole.users), k=k, delta_m=9.0),
        max_radius=round(max_radius_m * 1000),
        trash_share=trash_share,
        refined=False,
    )
    trash = 0
    for its in members(chunks):
        left = sum(result.cluster[i] < 0 for i in its)
        if len(set(whole.users[its].tolist())) < k:
            assert left == len(its)
        else:
            trash += left
    assert trash <= trash_share * len(whole.users)


def test_who_demands_more_than_its_chunk_has_is_left_out() -> None:
    """
    There are six people, but three in each chunk: who demands four gets none, and its neighbours are two.
    """
    whole = trajectories_of(*((user, at(user, 1000.0 * (user > 2))) for user in range(6)))
    chunks = similar_chunks(whole, measure, largest=3)
    demands = Demands(k=np.array([4, 2, 2, 3, 2, 2]), delta_m=np.full(6, 9.0))
    result = greedy_clustering(chunks, demands, max_radius=10_000, trash_share=0.0, refined=False)
    assert members(chunks) == [[0, 1, 2], [3, 4, 5]]
    assert result.cluster.tolist() == [-1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("largest", [2, 4, 8])
def test_distances_are_made_for_each_chunk_alone(largest: int) -> None:
    """
    What is measured is made of a chunk's trajectories, never of more: that is what chunks are for.
    """
    sizes = []

    def spy(some: PointTrajectories) -> Lstd:
        sizes.append(len(some.users))
        return measure(some)

    similar_chunks(trajectories_of(*((user, at(user)) for user in range(8))), spy, largest=largest)
    assert sizes == [largest] * (8 // largest)
