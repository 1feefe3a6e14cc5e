"""SeqAnon against its definition, its pseudo-code, and windows made to break it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.models.km.anonymize.seqanon
from core.models.common.merge_cost import Spatial
from core.models.common.merging import GeneralizedLocations
from core.models.km.anonymize.seqanon import Generalization, seqanon, u_seqanon
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import FloatArray
from tests.budgets import examples
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, Point, as_sequences, crowds, maps, positions, released

KS = st.integers(2, 4)
MS = st.integers(1, 3)


def anonymize(crowd: Crowd, points: list[Point], k: int, m: int) -> Generalization:
    return seqanon(as_sequences(crowd), positions(points), KmAnonymity(k=k, m=m))


@settings(max_examples=examples(300))
@given(crowd=crowds(max_users=8, max_pieces=2), points=maps(), k=KS, m=MS)
def test_without_apriori_the_promise_is_the_same(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    SeqAnon_F begins with subtrajectories of m locations. What is released is k^m-anonymous, and nothing more is
    suppressed than with smaller sizes first; with m = 1 both are one algorithm.
    """
    sequences, guarantee = as_sequences(crowd), KmAnonymity(k=k, m=m)
    found = seqanon(sequences, positions(points), guarantee, apriori=False)
    assert oracles.is_km_anonymous(oracles.released(crowd, found), k, m)
    usual = anonymize(crowd, points, k, m)
    assert found.kept.tolist() == usual.kept.tolist()
    if m == 1:
        assert found.group_of.tolist() == usual.group_of.tolist()


def test_short_trajectories_are_protected_without_apriori() -> None:
    """
    Two people at one location each, and m = 2: there is no pair, and yet each location must have k people.
    """
    found = seqanon(as_sequences([(0, (0,)), (1, (1,)), (2, (2, 3)), (3, (2, 3))]), positions(line(4)),
                    KmAnonymity(k=2, m=2), apriori=False)  # fmt: skip
    assert found.group_of.tolist() == [0, 0, 2, 3]


def line(n: int) -> list[Point]:
    """Locations one metre apart."""
    return [(x, 0) for x in range(n)]


@settings(deadline=None, max_examples=examples(200))
@given(crowd=crowds(), points=maps(), k=KS, m=MS)
def test_the_result_is_km_anonymous(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    Every subtrajectory of at most m locations that is left has k supporters, several trajectories a person or not.
    """
    assert oracles.is_km_anonymous(released(crowd, anonymize(crowd, points, k, m)), k, m)


@settings(deadline=None, max_examples=examples(200))
@given(crowd=crowds(max_users=8, max_pieces=2), points=maps(), k=KS, m=MS)
def test_it_is_the_published_algorithm_wherever_that_ends(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    Where the pseudo-code ends, the same locations are merged and nothing is suppressed; where it would never
    end, something is.
    """
    literal = oracles.literal_seqanon(crowd, points, k, m)
    result = anonymize(crowd, points, k, m)
    if literal is None:
        assert not result.kept.all()
    else:
        assert result.group_of.tolist() == literal
        assert result.kept.all()


@settings(deadline=None, max_examples=examples(100))
@given(crowd=crowds(max_users=4, max_pieces=2, max_length=3), points=maps(), k=KS, m=MS)
def test_no_smaller_suppression_could_do(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    As few occurrences are suppressed as in any k^m-anonymous release, whatever it merges.
    """
    n_suppressed = int(np.count_nonzero(~anonymize(crowd, points, k, m).kept))
    assert n_suppressed == oracles.fewest_suppressed(crowd, k, m)


@settings(deadline=None)
@given(crowd=crowds(), points=maps(), k=KS, m=MS)
def test_a_generalized_location_is_named_by_its_smallest_member(
    crowd: Crowd, points: list[Point], k: int, m: int
) -> None:
    """
    group_of is a partition named by smallest ids; each merge joins two; what no kept visit uses stands alone.
    """
    result = anonymize(crowd, points, k, m)
    group_of = result.group_of.tolist()
    for location, group in enumerate(group_of):
        assert group == min(other for other in range(len(points)) if group_of[other] == group)
        assert group <= location
    assert result.merges == len(points) - len(set(group_of))
    used = set(as_sequences(crowd).locations[result.kept].tolist())
    assert all(group_of.count(group_of[x]) == 1 for x in range(len(points)) if x not in used)


@settings(deadline=None)
@given(crowd=crowds(), points=maps(), k=KS, m=MS, seed=st.integers(0, 2**16))
def test_the_order_of_people_changes_nothing(crowd: Crowd, points: list[Point], k: int, m: int, seed: int) -> None:
    """
    Renumbering the people and reordering their trajectories merges and suppresses the same.
    """
    n_users = 1 + max((user for user, _ in crowd), default=-1)
    renumbered = random.Random(seed).sample(range(n_users), n_users)
    order = sorted(range(len(crowd)), key=lambda i: renumbered[crowd[i][0]])
    shuffled = [(renumbered[crowd[i][0]], crowd[i][1]) for i in order]

    before, after = anonymize(crowd, points, k, m), anonymize(shuffled, points, k, m)
    assert before.group_of.tolist() == after.group_of.tolist()
    trajectories = [trajectory for _, trajectory in released(crowd, before)]
    assert [trajectories[i] for i in order] == [trajectory for _, trajectory in released(shuffled, after)]


def test_an_empty_window_stays_empty() -> None:
    """
    Without visits there is nothing to merge or suppress.
    """
    result = anonymize([], [], 2, 2)
    assert (len(result.group_of), len(result.kept), result.merges) == (0, 0, 0)


def test_fewer_people_than_k_are_suppressed() -> None:
    """
    No release of two people is 3^m-anonymous except the empty one, however alike they are.
    """
    result = anonymize([(0, (0, 1)), (1, (0, 1)), (1, (0, 1))], line(2), 3, 1)
    assert not result.kept.any()


def test_people_alike_are_left_alone() -> None:
    """
    k equal trajectories are k^m-anonymous as they are, for any m, even one beyond their length.
    """
    crowd: Crowd = [(user, (3, 1, 2, 1)) for user in range(3)]
    for m in (1, 4, 10**6):
        result = anonymize(crowd, line(4), 3, m)
        assert result.merges == 0
        assert result.kept.all()


def test_all_distinct_locations_are_merged_until_they_are_shared() -> None:
    """
    Ten people at ten places on a line, k = 2: neighbours pair up, nobody is suppressed.
    """
    result = anonymize([(user, (user,)) for user in range(10)], line(10), 2, 1)
    assert result.group_of.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
    assert result.kept.all()


@pytest.mark.parametrize("n_locations", [1, 1000])
def test_one_person_with_a_thousand_visits_does_not_collapse_the_window(n_locations: int) -> None:
    """
    One person alone has two visits, so no merging can help a pair: that person keeps one visit, and the
    others' locations stay as they are.
    """
    crowd: Crowd = [(0, tuple(visit % n_locations for visit in range(1000)))]
    crowd += [(user, (user % 2 * (n_locations - 1),)) for user in range(1, 5)]
    for m in (2, 3):
        result = anonymize(crowd, line(n_locations), 2, m)
        assert np.count_nonzero(~result.kept) == 999
        assert result.merges == 0
        assert oracles.is_km_anonymous(released(crowd, result), 2, m)


def test_a_cut_keeps_visits_to_the_most_supported_locations() -> None:
    """
    A rare location that stayed would have to be merged. Of equally supported ones the earlier stays.
    """
    crowd: Crowd = [(0, (2, 0, 1, 0)), (1, (0,)), (2, (0,)), (3, (1,)), (4, (1,))]
    result = anonymize(crowd, line(3), 2, 2)
    assert result.kept.tolist() == [False, True, False, False, True, True, True, True]
    assert result.merges == 0


def test_a_persons_trajectories_count_once() -> None:
    """
    Two trajectories of one person at a location are support 1: k = 2 merges it with the next.
    """
    crowd: Crowd = [(0, (0,)), (0, (0,)), (1, (1,)), (2, (2,)), (3, (2,))]
    assert anonymize(crowd, line(3), 2, 1).group_of.tolist() == [0, 0, 2]


def test_an_adversary_does_not_join_two_trajectories_of_a_person() -> None:
    """
    A subtrajectory never spans two trajectories: no pair occurs here, and nothing has to change for m = 2.
    """
    crowd: Crowd = [(0, (0,)), (0, (1,)), (1, (0,)), (2, (1,))]
    result = anonymize(crowd, line(2), 2, 2)
    assert (result.merges, bool(result.kept.all())) == (0, True)


def test_infrequent_subtrajectories_are_taken_by_support_then_ids() -> None:
    """
    Location 2 has support 1 and comes before locations 0 and 1 with support 2.
    """
    # k = 3. Taking 2 first: 2 + 1 reach 3, then 0 joins them. Taking 0 first: 0 + 1 reach 4, then 2 + 3.
    crowd: Crowd = [(0, (0,)), (1, (0,)), (2, (1,)), (3, (1,)), (4, (2,)), (5, (3,)), (6, (3,)), (7, (3,))]
    points = [(0, 0), (3, 0), (5, 0), (8, 0)]
    assert anonymize(crowd, points, 3, 1).group_of.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize(("more_at_0", "group_of"), [(0, [0, 1, 0, 3]), (2, [0, 1, 0, 1])])
def test_the_location_to_generalize_is_the_least_supported_then_the_smallest(
    more_at_0: int, group_of: list[int]
) -> None:
    """
    Of the infrequent pair (1, 0), location 0 is merged where both have support 5, and 1 first where 0 has 7.
    """
    crowd: Crowd = [(0, (1, 0)), (1, (0, 1)), (2, (0, 1)), (3, (1, 2)), (4, (1, 2)), (5, (0,)), (6, (0,))]
    crowd += [(7, (3,)), (8, (3,))]
    crowd += [(9 + user, (0,)) for user in range(more_at_0)]
    # 0 and 2 are neighbours, and so are 1 and 3. Only 0 with 2 gives the pair a second supporter.
    assert anonymize(crowd, [(0, 0), (100, 0), (1, 0), (101, 0)], 2, 2).group_of.tolist() == group_of


def test_distances_that_differ_by_less_than_a_millimetre_tie() -> None:
    """
    The nearest location is the smaller id where whole millimetres agree, so that float noise decides nothing.
    """
    crowd: Crowd = [(0, (0,)), (1, (1,)), (2, (1,)), (3, (2,)), (4, (2,))]
    window, guarantee = as_sequences(crowd), KmAnonymity(k=2, m=1)
    for farther in [(1.0001, 0), (1, 0.02)]:  # by 0.1 mm and by 0.2 mm
        xy_m = np.array([(0, 0), farther, (-1, 0)])
        assert seqanon(window, xy_m, guarantee).group_of.tolist() == [0, 0, 2]
    a_millimetre_nearer = np.array([(0, 0), (1.001, 0), (-1, 0)])
    assert seqanon(window, a_millimetre_nearer, guarantee).group_of.tolist() == [0, 1, 0]


def test_a_location_without_visits_is_never_merged() -> None:
    """
    The nearest location is one that somebody visits.
    """
    assert anonymize([(0, (0,)), (1, (2,))], line(3), 2, 1).group_of.tolist() == [0, 1, 0]


def test_a_location_alone_has_nothing_to_be_merged_with() -> None:
    """
    The nearest other location of a window with one location is none, not the location itself.
    """
    assert GeneralizedLocations({1: {0}}, positions(line(2)), Spatial()).nearest(1) is None


def test_running_out_of_locations_is_an_error_not_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The cut makes this impossible; if it did happen, the run would stop, not merge a location with itself.
    """
    monkeypatch.setattr(
        core.models.km.anonymize.seqanon,
        "affordable_visits",
        lambda window, **_: np.ones(len(window.locations), np.bool_),
    )
    with pytest.raises(RuntimeError, match="one generalized location is left"):
        anonymize([(0, (0,)), (1, (0, 0))], line(1), 2, 2)


def test_a_suppressed_location_takes_no_other_with_it() -> None:
    """
    Location 2 is suppressed for the pair (2, 2); the triples that held it need nothing of locations 0 and 1 any more.
    """
    window = as_sequences([(0, (0, 1, 2)), (1, (0, 1, 2, 2))])
    apart = np.arange(3)
    result = u_seqanon(window, positions(line(3)), KmAnonymity(k=2, m=3), apart, max_suppressed_percent=50)
    assert result is not None
    assert result.kept.tolist() == [True, True, False, True, True, False, False]


@pytest.mark.parametrize("xy_m", [np.zeros((1, 2)), np.array([(0, 0), (np.nan, 0)])])
def test_every_location_needs_a_finite_position(xy_m: FloatArray) -> None:
    """
    A missing or undefined position is refused at the door.
    """
    with pytest.raises(ValueError, match="xy_m"):
        seqanon(as_sequences([(0, (0, 1))]), xy_m, KmAnonymity(k=2, m=1))
