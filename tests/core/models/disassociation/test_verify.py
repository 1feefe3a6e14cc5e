"""The verifier of disassociated releases: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.verify import DisassociatedReport, verify_disassociated, verify_origin
from tests.budgets import examples
from tests.oracles import disassociation as oracles
from tests.oracles.disassociation import chunk, cluster, releases


def release(*clusters: Cluster, joint: tuple[JointCluster, ...] = ()) -> Disassociated:
    return Disassociated(clusters=clusters, joint_clusters=joint)


def joined(first: int, end: int, *chunks: RecordChunk) -> JointCluster:
    return JointCluster(first=first, end=end, shared_chunks=chunks)


def violations(candidate: Disassociated, k: int = 3, m: int = 2) -> dict[str, int]:
    return dict(verify_disassociated(candidate, DisassociatedKm(k=k, m=m)).violations)


@settings(max_examples=examples(600))
@given(candidate=releases(), m=st.integers(1, 3))
def test_what_the_verifier_lets_through_keeps_guarantee_1(candidate: Disassociated, m: int) -> None:
    """
    By enumerating every window that a release may be of: k people in one of them, or none in any, for all combinations.
    """
    assume(verify_disassociated(candidate, DisassociatedKm(k=2, m=m)).holds)
    assume(oracles.n_windows(candidate) <= 2000)
    assert oracles.keeps_guarantee_1(candidate, 2, m)


A, AB = chunk([0], [0], [0]), chunk([0, 1], [0, 1], [0, 1])
GOOD = release(cluster(3, AB, terms=[2]))


def test_a_good_release_passes() -> None:
    """
    A cluster of k people with k of everything, and an empty release, hold.
    """
    assert verify_disassociated(GOOD, DisassociatedKm(k=3, m=2)) == DisassociatedReport(
        smallest_cluster=3, smallest_support=3
    )
    nothing = verify_disassociated(release(), DisassociatedKm(k=3, m=2))
    assert nothing.holds
    assert (nothing.smallest_cluster, nothing.smallest_support) == (None, None)


def test_a_cluster_below_k_is_seen() -> None:
    """
    Two people with a term chunk alone cannot be three who visited it, though no chunk says anything.
    """
    small = release(cluster(2, terms=[2]), cluster(3, terms=[2]))
    assert violations(small) == {"too_few_people": 1}
    assert not oracles.keeps_guarantee_1(release(cluster(2, terms=[2])), 3, 2)


@pytest.mark.parametrize(
    ("m", "expected"), [(1, {}), (2, {"not_km": 1}), (3, {"not_km": 1})], ids=["m = 1", "m = 2", "m = 3"]
)
def test_every_combination_up_to_m_is_counted(m: int, expected: dict[str, int]) -> None:
    """
    0, 1 and 2 are visited by three people each, 0 and 1 together by two, all of them by two.
    """
    bag = chunk([0, 1, 2], [0, 1, 2], [0, 2], [1, 2])
    assert violations(release(cluster(4, bag, terms=[9])), m=m) == expected


def test_lemma_2_is_counted_without_a_term_chunk() -> None:
    """
    Two chunks of three for 3 people are 3 + 3 (2 - 1); for 4 people they are one too few, unless there is a term chunk,
    or m is 1. Of four chunks only m count.
    """
    two = (chunk([0], [0], [0]), chunk([1], [1], [1]))
    assert violations(release(cluster(3, *two))) == {}
    assert violations(release(cluster(4, *two))) == {"too_few_subrecords": 1}
    assert violations(release(cluster(4, *two, terms=[5]))) == {}
    assert violations(release(cluster(6, *two)), m=1) == {}
    assert violations(release(cluster(7, *two)), m=1) == {"too_few_subrecords": 1}
    four = (*two, chunk([2], [2], [2]), chunk([3], [3], [3]))
    assert violations(release(cluster(9, *four))) == {}
    assert violations(release(cluster(10, *four))) == {"too_few_subrecords": 1}


def test_a_cluster_of_which_nothing_is_told_is_refused() -> None:
    """
    Lemma 2 as printed asks for ``s + k (0 - 1) = 0`` subrecords of 3 people without a chunk: they visited nothing.
    """
    assert violations(release(cluster(3))) == {"too_few_subrecords": 1}


def test_lemma_2_counts_again_after_refining() -> None:
    """
    A cluster whose term chunk went to a shared chunk has lost what Lemma 2 let it do: Lemma 3 does not see it.
    """
    unsafe = release(
        cluster(5, chunk([0], [0], [0]), chunk([1, 2], [1, 2], [1, 2])),
        cluster(3, chunk([3], [3], [3])),
        joint=(joined(0, 2, chunk([5], [5], [5])),),
    )
    assert violations(unsafe) == {"too_few_subrecords": 1}
    # 5 may be with anybody, so that here it helps out; not where others must have it.
    assert oracles.keeps_guarantee_1(unsafe, 3, 2)
    worse = replace(unsafe, joint_clusters=(joined(0, 2, chunk([5, 3], [5, 3], [5, 3])),))
    assert violations(worse)["too_few_subrecords"] == 1


def crossing(*subrecords: list[int]) -> Disassociated:
    """Three clusters of three; 6 is in a record chunk of the first and in a shared chunk."""
    return release(
        cluster(3, chunk([6], [6], [6])),
        cluster(3, chunk([1], [1], [1])),
        cluster(3, chunk([3], [3], [3])),
        joint=(joined(0, 3, chunk(*subrecords)),),
    )


def test_property_1_asks_for_k_alike_where_a_location_is_further_down() -> None:
    """
    {6, 8} three times and {6} once are 3^2-anonymous, which does where 6 is nowhere else, and not 3-anonymous.
    """
    bag = ([6, 8], [6, 8], [6, 8], [6])
    assert violations(crossing(*bag)) == {"not_k": 1}
    free = replace(crossing(*bag), clusters=(cluster(3, chunk([7], [7], [7])), *crossing(*bag).clusters[1:]))
    assert violations(free) == {}


def test_figure_5a_is_refused() -> None:
    """
    A shared chunk that repeats a location of a record chunk so that x and o meet in one person only (Section 5).
    """
    unsafe = release(
        cluster(4, chunk([0, 9], [0, 9], [0, 9], [0]), terms=[]),
        cluster(3, chunk([1], [1], [1])),
        joint=(joined(0, 2, chunk([0, 8], [0, 8], [8])),),
    )
    assert violations(unsafe)["not_k"] == 2
    assert not oracles.keeps_guarantee_1(unsafe, 3, 2)


def test_room_to_exchange_is_asked_for_beyond_property_1() -> None:
    """
    Property 1 holds here, and yet of the people of 3 at most two can have 8: four subrecords {6} need the room. With
    one {6} less there is room enough.
    """
    unsafe = crossing(*[[6]] * 4, *[[8]] * 3)
    assert violations(unsafe) == {"no_room": 1}
    assert not oracles.keeps_guarantee_1(unsafe, 3, 2)
    assert oracles.largest_supports(unsafe, 2)[3, 8] == 2
    safe = crossing(*[[6]] * 3, *[[8]] * 3)
    assert violations(safe) == {}
    assert oracles.keeps_guarantee_1(safe, 3, 2)


def test_a_location_in_a_lower_shared_chunk_counts_as_further_down() -> None:
    """
    5 is shared by the first two and again by all three: the upper chunk must be of k alike, for the third alone.
    """
    clusters = [cluster(3, chunk([t], [t], [t])) for t in range(3)]
    lower = joined(0, 2, chunk(*[[5]] * 3))
    bag = [[5, 6], [5, 6], [5, 6]]
    assert violations(release(*clusters, joint=(joined(0, 3, chunk(*bag)), lower))) == {}
    bag = [*bag, [5]]
    nested = release(*clusters, joint=(joined(0, 3, chunk(*bag)), lower))
    assert violations(nested) == {"not_k": 1, "no_room": 2}


@pytest.mark.parametrize(
    "bad",
    [
        release(cluster(3, chunk(*[[0]] * 4))),
        release(cluster(3, A, AB)),
        release(cluster(3, A, terms=[0])),
        release(Cluster(size=3, record_chunks=(A,), term_chunk=(3, 2))),
        release(Cluster(size=3, record_chunks=(A,), term_chunk=(2, 2))),
        release(Cluster(size=3, record_chunks=(RecordChunk(((1, 0),) * 3),), term_chunk=())),
        release(Cluster(size=3, record_chunks=(RecordChunk(((0,), (0,), (0,), ())),), term_chunk=())),
        release(Cluster(size=3, record_chunks=(RecordChunk(()), A), term_chunk=(1,))),
        release(cluster(3, A), joint=(joined(0, 1, chunk(*[[5]] * 3)),)),
        release(cluster(3, A), cluster(3, A), joint=(joined(0, 3, chunk(*[[5]] * 3)),)),
        release(cluster(3, A), cluster(3, A), joint=(joined(-1, 2, chunk(*[[5]] * 3)),)),
        release(cluster(3, A), cluster(3, A), joint=(joined(0, 2),)),
        release(cluster(3, A), cluster(3, A), joint=(joined(0, 2, chunk(*[[5]] * 7)),)),
        release(cluster(3, A), cluster(3, A), joint=(joined(0, 2, chunk(*[[5]] * 3), chunk(*[[5]] * 3)),)),
        release(cluster(3, A), cluster(3, A, terms=[5]), joint=(joined(0, 2, chunk(*[[5]] * 3)),)),
        release(*[cluster(3, A)] * 3, joint=(joined(0, 2, chunk(*[[5]] * 3)), joined(1, 3, chunk(*[[6]] * 3)))),
        release(*[cluster(3, A)] * 3, joint=(joined(0, 2, chunk(*[[5]] * 3)), joined(0, 3, chunk(*[[6]] * 3)))),
        release(*[cluster(3, A)] * 3, joint=(joined(0, 2, chunk(*[[5]] * 3)), joined(0, 2, chunk(*[[6]] * 3)))),
    ],
)
def test_what_is_no_disassociated_release_is_seen(bad: Disassociated) -> None:
    """
    More subrecords than people, a location twice in a cluster, ids out of order, empty subrecords and chunks, joint
    clusters of one, beyond the clusters, crossing, out of order or alike: malformed.
    """
    assert violations(bad)["malformed"] >= 1


# ---------------------------------------------------------------------- where it is from

PEOPLE = [[(7, {0, 1, 2}), (8, {0, 1}), (9, {1, 0})]]


def test_the_people_behind_a_release_are_recognized() -> None:
    """
    Each cluster's chunks are its people's locations, and the fewest people of any location are told.
    """
    report = verify_origin(GOOD, PEOPLE)
    assert report.holds
    assert report.fewest_visitors == 1
    assert verify_origin(release(), []).fewest_visitors is None


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        ([[(7, {0, 1, 2}), (8, {0, 1}), (8, {0, 1})]], {"people": 1}),
        ([[(7, {0, 1, 2}), (8, {0, 1}), (9, {0, 1}), (10, {2})]], {"people": 1}),
        ([[(7, {0, 1, 2}), (8, {0, 1}), (9, {0, 1, 4})]], {"not_told": 1}),
        ([[(7, {0, 1, 2}), (8, {0, 1}), (9, {0})]], {"invented": 1}),
        ([[(7, {0, 1}), (8, {0, 1}), (9, {0, 1})]], {"invented": 1}),
        ([[(7, {0, 1, 2}), (8, {0, 1}), (9, set[int]())]], {"invented": 1, "not_told": 1}),
    ],
)
def test_other_people_are_not(people: list[list[tuple[int, set[int]]]], expected: dict[str, int]) -> None:
    """
    One person twice, too many, a location that is not told, one or a term chunk that is invented, one with nothing.
    """
    assert verify_origin(GOOD, people).violations == expected


def test_a_person_of_two_clusters_is_seen() -> None:
    """
    A user counts in one cluster only: both are wrong.
    """
    twice = release(cluster(3, A), cluster(3, A))
    people = [[(1, {0}), (2, {0}), (3, {0})], [(4, {0}), (5, {0}), (3, {0})]]
    assert verify_origin(twice, people).violations == {"people": 2}


def test_shared_subrecords_come_from_what_stands_nowhere_further_down() -> None:
    """
    What the first cluster's people have of 6 stands in its record chunk and not in the shared one.
    """
    candidate = crossing(*[[6]] * 3)
    people = [[(10 * i + j, {t}) for j in range(3)] for i, t in enumerate((6, 1, 3))]
    assert verify_origin(candidate, people).violations == {"invented": 1}
    for _, visited in people[1]:
        visited.add(6)
    assert verify_origin(candidate, people).holds
    people[2][0][1].add(6)
    assert verify_origin(candidate, people).violations == {"invented": 1}


def test_each_cluster_needs_people() -> None:
    """
    As many clusters of people as the release has, never cut to fit.
    """
    with pytest.raises(ValueError, match="0 clusters of people for 1"):
        verify_origin(GOOD, [])
