"""Refinement: clusters get nearer to their pivots, and lose nothing that clustering promised."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.refinement import RefinementOracle, after
from core.models.kdelta.anonymize.cluster import refinement
from core.models.kdelta.anonymize.cluster.chunks import similar_chunks
from core.models.kdelta.anonymize.cluster.clustering import Clustering, greedy_clustering
from core.models.kdelta.anonymize.cluster.pivot_clusters import PivotClusters
from core.models.kdelta.anonymize.cluster.refinement import refine
from core.models.kdelta.anonymize.distance.distances import Distances, Euclidean
from core.models.kdelta.anonymize.distance.edr import Edr
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, trajectories_of


@dataclass(frozen=True, eq=False)
class Case:
    """A data set, what each of its trajectories demands, and how it is clustered."""

    trajectories: PointTrajectories
    demands: Demands
    radius_m: float
    edr: bool = False
    trash_share: float = 1.0
    seed: int | None = None
    """Of the clusters to begin with; None for greedy ones."""

    def measure(self, some: PointTrajectories) -> Distances:
        return Edr(some, space_tolerance_m=8.0, time_tolerance_s=10.0) if self.edr else Lstd(some, tolerance_s=10)

    @cached_property
    def d(self) -> list[list[int]]:
        """All distances, whole units; row = pivot."""
        n = len(self.trajectories.users)
        distances = self.measure(self.trajectories)
        return [distances.between(pivot, np.arange(n)).tolist() for pivot in range(n)]

    @property
    def unit(self) -> int:
        return Edr.unit if self.edr else Lstd.unit

    def clustered(self, *, refined: bool, chunk_size: int = 1000) -> Clustering:
        radius = self.radius_m / 60 if self.edr else self.radius_m
        return greedy_clustering(
            similar_chunks(self.trajectories, self.measure, largest=chunk_size),
            self.demands,
            max_radius=round(radius * self.unit),
            trash_share=self.trash_share,
            refined=refined,
        )

    @cached_property
    def start(self) -> Clustering:
        """Clusters that keep what clustering promises: greedy ones, or any, which leave more to be done."""
        if self.seed is None:
            return self.clustered(refined=False)
        chance, n = Random(self.seed), len(self.trajectories.users)
        cluster, pivots = np.full(n, -1), list[int]()
        its: list[int] = []
        for i in chance.sample(range(n), n):
            its.append(i)
            if len(set(self.trajectories.users[its].tolist())) >= self.demands.k[its].max() and chance.random() < 0.7:
                cluster[its] = len(pivots)
                pivots.append(chance.choice(its))
                its = []
        far = max((self.d[pivots[number]][i] for i, number in enumerate(cluster.tolist()) if number >= 0), default=1)
        radius = chance.choice([far, max(map(max, self.d))])
        return Clustering(cluster=cluster, pivots=np.array(pivots, dtype=np.int64), radius=max(radius, 1))

    def refine(self, clustering: Clustering, *, measured_before: bool = False) -> Clustering:
        """Refine clusters, and place nobody else."""
        n = len(self.trajectories.users)
        distances = self.measure(self.trajectories)
        for pivot in range(n if measured_before else 0):
            distances.between(pivot, np.arange(n))
        found = refine(self.clusters(clustering, distances))
        return Clustering(
            cluster=found.cluster, pivots=np.array(found.pivots, dtype=np.int64), radius=clustering.radius
        )

    def clusters(self, clustering: Clustering, distances: Distances) -> PivotClusters:
        """Write down clusters as a local search takes them."""
        return PivotClusters(
            users=self.trajectories.users,
            demands=self.demands,
            distances=distances,
            cluster=clustering.cluster,
            pivots=clustering.pivots.tolist(),
            radius=clustering.radius,
        )

    def converged(self, clustering: Clustering) -> Clustering:
        """Refine until nothing changes any more."""
        while True:
            again = self.refine(clustering)
            if told(again) == told(clustering):
                return again
            clustering = again


def crowded(chance: Random) -> Case:
    """Choose short ways on a line or in a small square, so that there are many clusters close together."""
    extent_m, plane = chance.choice([6, 20, 80]), chance.random() < 0.5
    ks = chance.choice([[2], [2, 2, 2, 3, 4]])
    rows: list[tuple[int, list[Point]]] = []
    for _ in range(chance.randint(4, 24)):
        user = rows[-1][0] + (chance.random() < 0.7) if rows else 0
        first = chance.randrange(20)
        times = [500 * (first + 2 * i) for i in range(chance.choice([1, 1, 2, 4]))]
        place = [(float(chance.randint(0, extent_m)), float(plane * chance.randint(0, extent_m))) for _ in times]
        rows.append((user, [(t, x, y) for t, (x, y) in zip(times, place, strict=True)]))
    return Case(
        trajectories_of(*rows),
        Demands(
            k=np.array([chance.choice(ks) for _ in rows]),
            delta_m=np.array([chance.choice([5.0, 7.0, 9.0, 9.0]) for _ in rows]),
        ),
        radius_m=chance.choice([5.0, 20.0, 60.0]),
        edr=chance.random() < 0.3,
        trash_share=chance.choice([0.0, 0.2, 1.0]),
        seed=chance.choice([None, chance.randrange(1000)]),
    )


def cases() -> st.SearchStrategy[Case]:
    """Draw seeds alone: hypothesis prefers data sets about which nothing can be done."""
    return st.randoms(use_true_random=True).map(crowded)


def at(x_m: float) -> list[Point]:
    return [(0, x_m, 0.0)]


def told(clustering: Clustering) -> tuple[list[int], list[int]]:
    return clustering.cluster.tolist(), clustering.pivots.tolist()


def members_of(clustering: Clustering) -> list[list[int]]:
    return [np.flatnonzero(clustering.cluster == number).tolist() for number in range(len(clustering.pivots))]


def total(case: Case, clustering: Clustering, of: IntArray | None = None) -> int:
    """Sum of the distances from the pivots, of all that are in a cluster or of some."""
    placed = np.flatnonzero(clustering.cluster >= 0) if of is None else of
    d = case.d
    return sum(d[int(clustering.pivots[clustering.cluster[i]])][i] for i in placed.tolist())


# ---------------------------------------------------------------- what refinement keeps


@settings(max_examples=examples(80))
@given(cases())
def test_a_refined_cluster_keeps_what_every_cluster_promises(case: Case) -> None:
    """
    It has the distinct users that each of its members demands, its pivot among them, and nobody farther from the pivot
    than the radius.
    """
    for result in (case.refine(case.start), case.clustered(refined=True)):
        assert set(result.cluster.tolist()) - {-1} == set(range(len(result.pivots)))
        assert all(pivot in its for its, pivot in zip(members_of(result), result.pivots.tolist(), strict=True))
        assert allowed(case, result)


@settings(max_examples=examples(80))
@given(cases())
def test_refinement_forms_no_cluster_and_trashes_nobody(case: Case) -> None:
    """
    There are as many clusters as before or fewer, and who was in one still is. Where what is left is then placed near
    the new pivots, some leave the trash.
    """
    start, result = case.start, case.refine(case.start)
    assert bool(len(start.pivots)) <= len(result.pivots) <= len(start.pivots)
    assert ((result.cluster < 0) == (start.cluster < 0)).all()
    greedy, refined = (case.clustered(refined=refined) for refined in (False, True))
    assert bool(len(greedy.pivots)) <= len(refined.pivots) <= len(greedy.pivots)
    assert refined.radius == greedy.radius
    assert ((refined.cluster < 0) <= (greedy.cluster < 0)).all()


@settings(max_examples=examples(80))
@given(cases())
def test_a_smaller_delta_is_paid_for_in_metres(case: Case) -> None:
    """
    A cluster whose members have to make do with smaller discs costs each of them half of what their diameters lose, and
    all clusters together save more than that. Edits are no metres: then no cluster gets a smaller delta.
    """
    start, result = case.start, case.refine(case.start)
    if len(result.pivots) == len(start.pivots):  # none was dissolved, so they are the same ones
        delta_m = case.demands.delta_m
        lost_m = [
            float(max(0.0, delta_m[before].min() - delta_m[after].min()))
            for before, after in zip(members_of(start), members_of(result), strict=True)
        ]
        saved = total(case, start) - total(case, result)
        assert sum(lost_m) == 0.0 if case.edr else saved >= 1000 * sum(lost_m)  # of two people at least


@settings(max_examples=examples(80))
@given(cases())
def test_nobody_gets_farther_from_the_pivots_in_sum(case: Case) -> None:
    """
    The sum of the distances falls, or nothing at all has changed.
    """
    start, result = case.start, case.refine(case.start)
    before, after = total(case, start), total(case, result)
    assert after == before if told(result) == told(start) else after < before


@settings(max_examples=examples(50))
@given(cases(), st.integers(4, 9))
def test_chunks_are_refined_each_on_its_own(case: Case, chunk_size: int) -> None:
    """
    Members of a cluster are of one chunk, as before.
    """
    chunks = similar_chunks(case.trajectories, case.measure, largest=chunk_size)
    chunk_of = {int(i): number for number, chunk in enumerate(chunks) for i in chunk.members}
    for its in members_of(case.clustered(refined=True, chunk_size=chunk_size)):
        assert len({chunk_of[i] for i in its}) == 1


@settings(max_examples=examples(80))
@given(cases())
def test_what_was_measured_before_decides_nothing(case: Case) -> None:
    """
    Bounds only save measuring: with all distances known from the start, clusters and pivots are the same. And what
    came in is not written to.
    """
    before = told(case.start)
    assert told(case.refine(case.start)) == told(case.refine(case.start, measured_before=True))
    assert told(case.start) == before


# ---------------------------------------------------------------- how far it goes


def oracle_of(case: Case, radius: int) -> RefinementOracle:
    """Take the case as the oracle sees it."""
    return RefinementOracle(
        d=case.d,
        users=case.trajectories.users.tolist(),
        k=case.demands.k.tolist(),
        delta_m=case.demands.delta_m.tolist(),
        per_metre=0 if case.edr else case.unit,
        radius=radius,
    )


def allowed(case: Case, clustering: Clustering) -> bool:
    """Tell whether all clusters are satisfied and within the radius."""
    return oracle_of(case, clustering.radius).allowed(*told(clustering))


def moves_and_exchanges(cluster: Sequence[int], pivots: Sequence[int]) -> Iterator[dict[int, int]]:
    """Every member that could move, and every two that could change places."""
    movable = [i for i, number in enumerate(cluster) if number >= 0 and i not in pivots]
    for i, number in itertools.product(movable, range(len(pivots))):
        if number != cluster[i]:
            yield {i: number}
    for i, j in itertools.combinations(movable, 2):
        if cluster[i] != cluster[j]:
            yield {i: cluster[j], j: cluster[i]}


@settings(max_examples=examples(80))
@given(cases())
def test_in_the_end_no_single_step_would_save_anything(case: Case) -> None:
    """
    Where the rounds did not run out, no other pivot of a cluster, no move of a member, no exchange of two and no
    dissolved cluster is allowed and saves anything: all are tried.
    """
    result = case.converged(case.start)
    oracle, (cluster, pivots) = oracle_of(case, result.radius), told(result)
    for number in range(len(pivots)):
        for other in oracle.members(cluster, number):
            instead = [*pivots[:number], other, *pivots[number + 1 :]]
            assert oracle.total(cluster, instead) >= oracle.total(cluster, pivots) or not oracle.allowed(
                cluster, instead
            )
        places = oracle.dissolved(cluster, pivots, number)
        assert places is None or oracle.saving(cluster, pivots, places) <= 0
    for places in moves_and_exchanges(cluster, pivots):
        assert oracle.saving(cluster, pivots, places) <= 0 or not oracle.allowed(after(cluster, places), pivots)


@settings(max_examples=examples(80))
@given(cases(), st.sampled_from([1, 2, 10]))
def test_refinement_is_what_its_description_says(case: Case, rounds: int) -> None:
    """
    Medoids first; then each member in turn moves to the nearest pivot that takes it, or changes places where that
    saves most; where nothing of this helps clusters are dissolved. Of equal choices the smaller number wins. All that
    as often as something changes, ten times at most.
    """
    now = told(case.start)
    oracle = oracle_of(case, case.start.radius)
    for _ in range(rounds):
        before, now = now, oracle.round(*now)
        if now == before:
            break
    with pytest.MonkeyPatch.context() as patch:
        if rounds < 10:
            patch.setattr(refinement, "_MOST_ROUNDS", rounds)
        assert told(case.refine(case.start)) == now


# ---------------------------------------------------------------- by hand


Place = float | tuple[float, float]
"""Metres along a line, or in the plane."""


def refined_by_hand(
    places_m: Sequence[Place],
    cluster: Sequence[int],
    pivots: Sequence[int],
    *,
    radius_m: float = 100.0,
    ks: Sequence[int] | int = 2,
    deltas_m: Sequence[float] | float = 9.0,
    users: Sequence[int] | None = None,
) -> tuple[list[int], list[int]]:
    """Refine clusters of trajectories of one point each; return cluster of each, and pivots."""
    n = len(places_m)
    xy_m = [place if isinstance(place, tuple) else (place, 0.0) for place in places_m]
    rows = [(user, [(0, x, y)]) for user, (x, y) in zip(users or range(n), xy_m, strict=True)]
    trajectories = trajectories_of(*rows)
    demands = Demands(
        k=np.broadcast_to(ks, n).astype(np.int64), delta_m=np.broadcast_to(deltas_m, n).astype(np.float64)
    )
    refined = refine(
        PivotClusters(
            users=trajectories.users,
            demands=demands,
            distances=Euclidean(trajectories),
            cluster=np.array(cluster),
            pivots=list(pivots),
            radius=round(radius_m * 1000),
        )
    )
    return refined.cluster.tolist(), refined.pivots


def test_the_medoid_becomes_the_pivot() -> None:
    """
    From 0 the others are 6 m away in sum, from 1 or 2 it is 4 m: 1 has the smaller number. A pivot that is as good as
    the best stays.
    """
    assert refined_by_hand([0, 1, 2, 3], [0, 0, 0, 0], [0]) == ([0, 0, 0, 0], [1])
    assert refined_by_hand([0, 1, 2, 3], [0, 0, 0, 0], [2]) == ([0, 0, 0, 0], [2])
    assert refined_by_hand([3, 2, 1, 0], [0, 0, 0, 0], [3]) == ([0, 0, 0, 0], [1])


def test_a_medoid_that_somebody_is_too_far_from_is_no_pivot() -> None:
    """
    Of 0 0 0 6 10 the medoid is at 0, 10 m from the last; within a radius of 6 m only the one at 6 has all of them.
    """
    places_m = [0.0, 0, 0, 6, 10]
    assert refined_by_hand(places_m, [0] * 5, [3], radius_m=10) == ([0] * 5, [0])
    assert refined_by_hand(places_m, [0] * 5, [3], radius_m=6) == ([0] * 5, [3])


def test_a_member_moves_to_a_nearer_pivot() -> None:
    """
    The one at 7 is with 0, though 10 is nearer: it moves, because 0 and 1 are enough without it. Where three are
    demanded it stays, as nobody over there is nearer to 0 than it is.
    """
    #  x:  0 1  .....  7  ... 10 10 11
    places_m = [0.0, 1, 7, 10, 11, 10]
    cluster, pivots = [0, 0, 0, 1, 1, 1], [0, 3]
    assert refined_by_hand(places_m, cluster, pivots)[0] == [0, 0, 1, 1, 1, 1]
    assert refined_by_hand(places_m, cluster, pivots, ks=3)[0] == cluster


def test_a_member_moves_only_where_it_is_satisfied() -> None:
    """
    It moves where there are as many people as it demands, itself among them: else to the next nearest pivot, or
    nowhere.
    """
    #  x:  0 0 0 0   4: 20    23 23 (nearest)      30 30 30
    places_m = [0.0, 0, 0, 0, 20, 23, 23, 30, 30, 30]
    cluster, pivots = [0, 0, 0, 0, 0, 1, 1, 2, 2, 2], [0, 5, 7]

    def goes_to(k: int = 2, delta_m: float = 5.0, theirs_m: float = 5.0) -> int:
        ks, deltas_m = [2] * 10, [5.0] * 5 + [theirs_m] * 2 + [5.0] * 3
        ks[4], deltas_m[4] = k, delta_m
        return refined_by_hand(places_m, cluster, pivots, ks=ks, deltas_m=deltas_m)[0][4]

    assert [goes_to(k) for k in (2, 3, 4, 5)] == [1, 1, 2, 0]
    # It gets 5 m where it demands 9, which costs nobody anything.
    assert goes_to(delta_m=9.0) == 1
    # Two people get 5 m instead of 21, which costs them 16, or instead of 22, which costs 17: it is 17 m nearer.
    assert [goes_to(theirs_m=theirs_m) for theirs_m in (21.0, 22.0)] == [1, 2]


def test_pieces_of_one_user_are_one_person_to_the_cluster_they_leave() -> None:
    """
    A cluster has three trajectories of two people: of the one who has two of them one may go, the other person may
    not.
    """
    #  x:  0  1  ....  7  .. 10 10 10
    cluster, pivots, users = [0, 0, 0, 1, 1, 1], [0, 3], [0, 0, 1, 2, 3, 4]
    assert refined_by_hand([0.0, 1, 7, 10, 10, 10], cluster, pivots, users=users)[0] == cluster
    assert refined_by_hand([0.0, 7, 1, 10, 10, 10], cluster, pivots, users=users)[0] == [0, 1, 0, 1, 1, 1]


def test_two_members_change_places() -> None:
    """
    Nobody can be spared, but the one at 8 and the one at 2 are each in the wrong place: together they save 12 m.
    """
    #  x:  0  2  .....  8  10       around 0: 8, around 10: 2
    assert refined_by_hand([0.0, 8, 10, 2], [0, 0, 1, 1], [0, 2]) == ([0, 1, 1, 0], [0, 2])


def test_an_exchange_counts_what_both_save() -> None:
    """
    The one at 9 saves 6 m, for which the one at 7 goes 2 m farther. Nobody changes where that would save nothing, or
    lose something; of several the one is taken with whom the sum falls most.
    """
    #  x:  0  .......  7 .. 9 ... 12      around 0: 9, around 12: 7
    around = [0, 0, 1, 1], [0, 2]
    assert refined_by_hand([0.0, 9, 12, 7], *around) == ([0, 1, 1, 0], [0, 2])
    assert refined_by_hand([0.0, 9, 12, 9], *around) == ([0, 0, 1, 1], [0, 2])
    assert refined_by_hand([0.0, 9, 12, 10], *around) == ([0, 0, 1, 1], [0, 2])
    several = refined_by_hand([0.0, 9, 12, 8, 7, 8], [0, 0, 1, 1, 1, 1], [0, 2], ks=[2, 2, 4, 2, 2, 2])
    assert several[0] == [0, 1, 1, 1, 0, 1]


def test_no_exchange_takes_anybody_beyond_the_radius() -> None:
    """
    Changing places would save 2 m: 8 of the one at (10, 0), against 6 of the one at (12, 9), who would be 15 m from 0.
    """
    places_m: list[Place] = [0.0, 0.0, 10.0, 12.0, 12.0, (12.0, 9.0)]
    cluster, pivots = [0, 0, 0, 1, 1, 1], [0, 3]
    assert refined_by_hand(places_m, cluster, pivots, ks=3, radius_m=14.9)[0] == cluster
    assert refined_by_hand(places_m, cluster, pivots, ks=3, radius_m=15)[0] == [0, 0, 1, 1, 1, 0]


def test_an_exchange_pays_for_smaller_discs() -> None:
    """
    Who demands 5 m goes where 5 m are demanded already, for nothing; where 9 m are, two people lose 4 m across, so the
    exchange that is 12 m nearer in sum saves 8; where 20 m are, it would cost more than that.
    """
    #  x:  0  2  .....  8 (5 m)  10       around 0: 8, around 10: 2
    around = [0, 0, 1, 1], [0, 2]
    assert refined_by_hand([0.0, 8, 10, 2], *around, deltas_m=[9, 5, 5, 9])[0] == [0, 1, 1, 0]
    assert refined_by_hand([0.0, 8, 10, 2], *around, deltas_m=[9, 5, 9, 9])[0] == [0, 1, 1, 0]
    assert refined_by_hand([0.0, 8, 10, 2], *around, deltas_m=[20, 5, 20, 20])[0] == [0, 0, 1, 1]


def test_of_several_exchanges_the_one_is_taken_that_saves_most() -> None:
    """
    With the one at 5 both are 8 m nearer, which costs 4, because that one demands 5 m where there were 9; with the one
    at 6 they are 6 m nearer, for nothing.
    """
    #  x:  0  .....  5 6 ... 9 ... 12 12       around 0 (9 m): 9; around 12 (5 m, all four needed): 12, 5, 6
    places_m, deltas_m = [0.0, 9, 12, 12, 5, 6], [9.0, 9, 5, 9, 5, 9]
    found = refined_by_hand(places_m, [0, 0, 1, 1, 1, 1], [0, 2], ks=[2, 2, 4, 2, 2, 2], deltas_m=deltas_m)
    assert found[0] == [0, 1, 1, 1, 1, 0]


def test_a_cluster_whose_members_are_nearer_to_others_is_dissolved() -> None:
    """
    Of the two in the middle, 8 m apart, neither can go alone; together they go to where they are 5 m and 1 m away. Not
    so where that would save nothing, or where discs would lose as much.
    """
    #  x:  0 0  ....  5  ........  13  14 14
    clusters, pivots = [0, 0, 1, 1, 2, 2], [0, 2, 4]

    def with_(x_m: float = 13.0, delta_m: float = 9.0) -> tuple[list[int], list[int]]:
        return refined_by_hand([0.0, 0, 5, x_m, 14, 14], clusters, pivots, deltas_m=[9, 9, delta_m, 9, 9, 9])

    assert with_() == ([0, 0, 0, 1, 1, 1], [0, 4])
    assert with_(delta_m=8.0) == ([0, 0, 0, 1, 1, 1], [0, 4])
    assert with_(x_m=12.0)[0] == with_(delta_m=7.0)[0] == clusters


def test_no_cluster_is_dissolved_whose_members_nobody_takes() -> None:
    """
    The one at 13 demands three people, whom its cluster has and who are 16 m from it in sum. They would be 11 m from
    others, if these are three where it goes, and if 9 m is within the radius for the one at 5.
    """
    #  x:  -4 -4  ......  5  .....  13  14 14 (14)  ....  21  22 22
    places_m = [-4.0, -4, 5, 13, 21, 14, 14, 22, 22, 14]
    clusters, pivots, ks = [0, 0, 1, 1, 1, 2, 2, 3, 3, 2], [0, 3, 5, 7], [2, 2, 2, 3, 2, 2, 2, 2, 2, 2]
    assert refined_by_hand(places_m, clusters, pivots, ks=ks)[0] == [0, 0, 0, 1, 2, 1, 1, 2, 2, 1]
    assert refined_by_hand(places_m, clusters, pivots, ks=ks, radius_m=9)[0] == [0, 0, 0, 1, 2, 1, 1, 2, 2, 1]
    assert refined_by_hand(places_m, clusters, pivots, ks=ks, radius_m=8.9)[0] == clusters
    assert refined_by_hand(places_m[:-1], clusters[:-1], pivots, ks=ks[:-1])[0] == clusters[:-1]


@pytest.mark.parametrize("measured_before", [False, True])
def test_of_equally_near_clusters_the_one_with_the_smaller_number_takes_a_member(measured_before: bool) -> None:
    """
    Whatever was known of them first: half an edit a point away are a way of four points, two of which are its own, and
    one of two points, one of which is.
    """

    def way(*xs_m: float) -> list[Point]:
        return [(1000 * i, x_m, 0.0) for i, x_m in enumerate(xs_m)]

    longer, as_long, leaving, elsewhere = way(0, 0, 30, 30), way(0, 30), way(0, 0), way(90, 90)
    ways = [longer, longer, as_long, as_long, leaving, elsewhere, elsewhere, elsewhere]
    case = Case(trajectories_of(*enumerate(ways)), Demands.alike(8, k=2, delta_m=9.0), radius_m=60.0, edr=True)
    assert case.d[0][4] == case.d[2][4] == Edr.unit // 2
    before = Clustering(cluster=np.array([0, 0, 1, 1, 2, 2, 3, 3]), pivots=np.array([0, 2, 4, 6]), radius=Edr.unit)
    found = case.refine(before, measured_before=measured_before)
    assert told(found) == ([0, 0, 1, 1, 0, 2, 2, 2], [0, 2, 6])


@pytest.mark.parametrize("edr", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_where_all_is_trash_there_is_nothing_to_refine(n: int, edr: bool) -> None:
    """
    No cluster, or no trajectory at all, is no error.
    """
    case = Case(trajectories_of(*((user, at(0.0)) for user in range(n))), Demands.alike(n, k=4, delta_m=9.0), 5.0, edr)
    assert told(case.clustered(refined=True)) == ([-1] * n, [])


def test_what_is_left_is_placed_near_the_new_pivots() -> None:
    """
    The one at 13 is beyond the radius of the greedy pivot at 0, and within that of the medoid at 6.
    """
    #  x:  0 ... 6 7 ... 13        radius 10, k = 3
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 6, 7, 13])))
    case = Case(whole, Demands.alike(4, k=3, delta_m=9.0), radius_m=10.0)
    assert told(case.clustered(refined=False)) == ([0, 0, 0, -1], [0])
    assert told(case.clustered(refined=True)) == ([0, 0, 0, 0], [1])
