from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.oracles.greedy import greedy_round, personal_round
from core.models.kdelta.anonymize.cluster.chunks import similar_chunks
from core.models.kdelta.anonymize.cluster.clustering import Clustering, greedy_clustering
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.budgets import examples
from tests.oracles.kdelta import Point, data_sets, trajectories_of

KS = st.integers(2, 4)
RADII_M = st.sampled_from([0.001, 5.0, 20.0, 60.0])


def cluster(
    trajectories: PointTrajectories, k: int, max_radius_m: float = 100.0, trash_share: float = 0.0
) -> Clustering:
    demands = Demands.alike(len(trajectories.users), k=k, delta_m=100.0)
    return clustered(trajectories, demands, max_radius_m=max_radius_m, trash_share=trash_share)


def clustered(
    trajectories: PointTrajectories,
    demands: Demands,
    *,
    max_radius_m: float,
    trash_share: float,
    refined: bool = False,
    chunk_size: int = 1000,
) -> Clustering:
    chunks = similar_chunks(trajectories, lambda some: Lstd(some, tolerance_s=10), largest=chunk_size)
    return greedy_clustering(
        chunks, demands, max_radius=round(max_radius_m * 1000), trash_share=trash_share, refined=refined
    )


def all_between(trajectories: PointTrajectories) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    distances, n = Lstd(trajectories, tolerance_s=10), len(trajectories.users)
    return np.array([distances.between(pivot, np.arange(n)) for pivot in range(n)])


def from_centre_mm(trajectories: PointTrajectories) -> list[int]:
    counts = np.diff(trajectories.starts)[:, None]
    means = np.add.reduceat(trajectories.xy_m, trajectories.starts[:-1], axis=0) / counts
    return [int(mm) for mm in np.rint(np.hypot(*(means - means.mean(axis=0)).T) * 1000)]


@given(data_sets(), KS, RADII_M, st.sampled_from([0.0, 0.2, 1.0]))
def test_every_cluster_keeps_its_rules(
    trajectories: PointTrajectories, k: int, max_radius_m: float, trash_share: float
) -> None:
    """
    A cluster has k distinct users at least, its own pivot in it, and nobody farther from that than the radius.
    """
    result = cluster(trajectories, k, max_radius_m, trash_share)
    d_mm = all_between(trajectories)
    assert set(result.cluster.tolist()) - {-1} == set(range(len(result.pivots)))
    for number, pivot in enumerate(result.pivots.tolist()):
        members = np.flatnonzero(result.cluster == number)
        assert pivot in members
        assert len(set(trajectories.users[members].tolist())) >= k
        assert d_mm[pivot, members].max() <= result.radius


@given(data_sets(), KS, RADII_M, st.sampled_from([0.0, 0.2]))
def test_trash_above_its_share_stays_only_where_no_radius_helps(
    trajectories: PointTrajectories, k: int, max_radius_m: float, trash_share: float
) -> None:
    """
    The radius grows until the trash is small enough; too much of it remains only when nobody could form a cluster.
    """
    result = cluster(trajectories, k, max_radius_m, trash_share)
    trash = int((result.cluster < 0).sum())
    if trash > trash_share * len(trajectories.users):
        assert trajectories.n_users < k
        assert len(result.pivots) == 0


@settings(max_examples=examples(200))
@given(data_sets(min_size=2, extent_m=60), KS, RADII_M)
def test_one_round_is_the_published_greedy_clustering(
    trajectories: PointTrajectories, k: int, max_radius_m: float
) -> None:
    """
    What is left unmeasured changes nothing: pivots and clusters are those of the algorithm run on all distances.
    """
    result = cluster(trajectories, k, max_radius_m, trash_share=1.0)
    expected = greedy_round(
        trajectories.users.tolist(),
        from_centre_mm(trajectories),
        all_between(trajectories),
        k,
        round(max_radius_m * 1000),
    )
    assert (result.cluster.tolist(), result.pivots.tolist()) == expected


def at(x_m: float, t_ms: int = 0) -> list[Point]:
    return [(t_ms, x_m, 0.0)]


def test_the_first_pivot_is_the_outermost_and_the_next_the_farthest_from_it() -> None:
    """
    Farthest first: from the centre, then from the pivots so far.
    """
    #  x:  0 1 2 ........ 50 51 ............. 120 121
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 1, 2, 50, 51, 120, 121])))
    result = cluster(whole, k=2, max_radius_m=10)
    assert result.pivots.tolist() == [6, 0, 4]
    assert result.cluster.tolist() == [1, 1, 1, 2, 2, 0, 0]


def test_a_pivot_that_fails_is_still_a_member() -> None:
    """
    Deactivated is not suppressed: user 0 is too far out to gather two others, but joins the cluster around user 1.
    """
    #  x:  0 ..... 10 ..... 20        radius 10, k=3: both ends are tried first, and fail
    whole = trajectories_of((0, at(0.0)), (1, at(10.0)), (2, at(20.0)))
    result = cluster(whole, k=3, max_radius_m=10)
    assert result.pivots.tolist() == [1]
    assert result.cluster.tolist() == [0, 0, 0]
    assert result.radius / 1000 == 10


def test_what_no_radius_reaches_goes_to_the_trash_and_growing_stops_at_the_share() -> None:
    """
    One far outlier of six is within a share of 0.2 and stays in the trash; with a share of 0.1 the radius grows to it.
    """
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 1, 2, 3, 4, 1000])))
    kept_out = cluster(whole, k=2, max_radius_m=10, trash_share=0.2)
    assert kept_out.cluster[5] == -1
    assert kept_out.radius / 1000 == 10
    taken_in = cluster(whole, k=2, max_radius_m=10, trash_share=0.1)
    assert (taken_in.cluster >= 0).all()
    assert taken_in.radius / 1000 >= 996


def test_pieces_of_one_user_are_one_person() -> None:
    """
    A hundred pieces of two users are no set for three people, and the search for one ends.
    """
    whole = trajectories_of(*((piece // 50, at(float(piece))) for piece in range(100)))
    assert (cluster(whole, k=3).cluster == -1).all()
    two = cluster(whole, k=2)
    assert (two.cluster >= 0).all()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_fewer_users_than_k_are_all_suppressed(n: int) -> None:
    """
    Without k people there is no set, whatever the radius.
    """
    whole = trajectories_of(*((user, at(0.0)) for user in range(n)))
    result = cluster(whole, k=5)
    assert result.cluster.tolist() == [-1] * n
    assert len(result.pivots) == 0


def test_identical_trajectories_are_taken_in_the_order_of_their_numbers() -> None:
    """
    Ties go to the smaller number, and zero distances form clusters like any other.
    """
    whole = trajectories_of(*((user, [(0, 7.0, 7.0), (1000, 7.0, 8.0)]) for user in range(7)))
    result = cluster(whole, k=3)
    assert result.pivots.tolist() == [0, 3]
    assert result.cluster.tolist() == [0, 0, 0, 1, 1, 1, 0]


def test_what_is_left_between_two_pivots_goes_to_the_one_with_the_smaller_number() -> None:
    """
    The order in which pivots were found does not decide ties.
    """
    #  x:  0 (users 0 1 2) ...... 10 (user 3) ...... 19 (5 6), 20 (4)     k=3
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 0, 0, 10, 20, 19, 19])))
    result = cluster(whole, k=3, max_radius_m=10)
    assert result.pivots.tolist() == [4, 0]
    assert result.cluster.tolist() == [1, 1, 1, 1, 0, 0, 0]


def test_everyone_far_from_everyone_ends_in_clusters_after_bounded_growth() -> None:
    """
    From a millimetre to half the Earth the radius needs few rounds, and they end.
    """
    whole = trajectories_of(*((user, at(4.0**user, t_ms=user * 10**9)) for user in range(12)))
    result = cluster(whole, k=12, max_radius_m=0.001)
    assert result.cluster.tolist() == [0] * 12


# ---------------------------------------------------------------- personal demands


def cluster_for(
    trajectories: PointTrajectories, demands: Demands, max_radius_m: float = 100.0, trash_share: float = 0.0
) -> Clustering:
    return clustered(trajectories, demands, max_radius_m=max_radius_m, trash_share=trash_share)


@settings(max_examples=examples(300))
@given(data_sets(min_size=2, extent_m=60), RADII_M, st.data())
def test_one_personal_round_is_the_published_algorithm(
    trajectories: PointTrajectories, max_radius_m: float, data: st.DataObject
) -> None:
    """
    Each with demands of its own, pivots and clusters are those of Algorithm 3 run literally on all distances.
    """
    n = len(trajectories.users)
    demanded = data.draw(
        st.lists(st.tuples(st.sampled_from([2, 2, 3, 4, 6, 99]), st.sampled_from([5.0, 9.0])), min_size=n, max_size=n)
    )
    ks, deltas_m = zip(*demanded, strict=True)
    demands = Demands(k=np.array(ks), delta_m=np.array(deltas_m))
    result = cluster_for(trajectories, demands, max_radius_m, trash_share=1.0)
    expected = personal_round(
        trajectories.users.tolist(),
        from_centre_mm(trajectories),
        all_between(trajectories),
        demanded,
        round(max_radius_m * 1000),
    )
    assert (result.cluster.tolist(), result.pivots.tolist()) == expected


def test_a_cluster_grows_while_its_members_demand_more() -> None:
    """
    The pivot asks for two people, its neighbour for four: four they become.
    """
    #  x:  0 (k=2)  1 (k=4)  2 (k=2)  3 (k=2)   4 (k=2) .... 50 (k=2)   51 (k=2)
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 1, 2, 3, 4, 50, 51])))
    demands = Demands(k=np.array([2, 4, 2, 2, 2, 2, 2]), delta_m=np.full(7, 9.0))
    result = cluster_for(whole, demands, max_radius_m=10)
    assert result.pivots.tolist() == [6, 0]
    assert result.cluster.tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_who_is_left_joins_only_where_it_is_satisfied() -> None:
    """
    The nearest pivot's delta is too large for trajectory 4 and its cluster too small for 5: one goes farther, one to
    the trash.
    """
    #  x:  0 1 (delta 9)  .....  4: 14 (delta 5)  .....  20 21 (delta 5)                  radius 15
    xs = [0.0, 1, 20, 21, 9]
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate(xs)))
    small = Demands(k=np.full(5, 2), delta_m=np.array([9.0, 9, 5, 5, 5]))
    result = cluster_for(whole, small, max_radius_m=15, trash_share=1.0)
    assert result.pivots.tolist() == [3, 0]
    assert result.cluster.tolist() == [1, 1, 0, 0, 0]
    alike = cluster_for(whole, Demands.alike(5, k=2, delta_m=5.0), max_radius_m=15, trash_share=1.0)
    assert alike.cluster.tolist() == [1, 1, 0, 0, 1]
    many = Demands(k=np.array([2, 2, 2, 2, 4]), delta_m=np.full(5, 9.0))
    assert cluster_for(whole, many, max_radius_m=15, trash_share=1.0).cluster.tolist() == [1, 1, 0, 0, -1]
    enough = Demands(k=np.array([2, 2, 2, 2, 3]), delta_m=np.full(5, 9.0))
    assert cluster_for(whole, enough, max_radius_m=15, trash_share=1.0).cluster.tolist() == [1, 1, 0, 0, 1]


def test_an_absurd_demand_harms_nobody_else() -> None:
    """
    Who asks for more people than there are is left out; the others' clusters and radius are as without them.
    """
    whole = trajectories_of(*((user, at(x)) for user, x in enumerate([0.0, 0.5, 1, 2, 3])))
    demands = Demands(k=np.array([2, 1_000_000, 2, 2, 5]), delta_m=np.full(5, 9.0))
    result = cluster_for(whole, demands, max_radius_m=10)
    assert result.cluster.tolist() == [0, -1, 0, 0, -1]
    assert result.radius / 1000 == 10


@pytest.mark.parametrize(
    ("k", "delta_m", "says"),
    [
        ([2, 1], [5.0, 5.0], "k is 1"),
        ([2], [0.0], "delta_m"),
        ([2], [float("nan")], "delta_m"),
        ([2, 2], [5.0], "each"),
    ],
)
def test_demands_that_are_none_are_errors(k: list[int], delta_m: list[float], says: str) -> None:
    """
    A set has two people at least, and every trajectory has one k and one delta.
    """
    with pytest.raises(ValueError, match=says):
        Demands(k=np.array(k), delta_m=np.array(delta_m))
