"""Disassociation against its definition, its pseudo-code, and windows made to break it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import core.models.disassociation.anonymize.growing
from core.models.disassociation.anonymize.disassociate import Disassociation, DisassociationOptions, disassociate
from core.models.disassociation.anonymize.growing import alike, grow_chunks
from core.models.disassociation.anonymize.horizontal import horizontal_partition
from core.models.disassociation.anonymize.refinement import refine
from core.models.disassociation.anonymize.vertical import Leaf, enough_subrecords, vertical_partition
from core.models.disassociation.disassociated import Disassociated
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.verify import revealed, verify_disassociated, verify_origin
from core.trajectories.location_sets import location_sets
from core.trajectories.trajectory import Sequences
from tests.budgets import examples
from tests.oracles import disassociation as oracles
from tests.oracles.disassociation import Window, chunk, cluster, release_form, sequences, windows
from tests.oracles.km import Crowd, as_sequences, crowds

KS = st.integers(2, 3)
MS = st.integers(1, 3)


def run(
    window: Window, k: int, m: int, *, largest: int | None = None, rare: bool = True, seed: int = 0
) -> Disassociation:
    options = DisassociationOptions(largest_cluster=largest, rare_locations=rare)
    return disassociate(sequences(window), DisassociatedKm(k=k, m=m), np.random.default_rng(seed), options)


def behind(made: Disassociation, window: Window) -> list[list[tuple[int, set[int]]]]:
    """The people of each cluster, with what of theirs is not suppressed."""
    left = set(sequences(window).locations[made.kept].tolist())
    return [[(user, set(window[user]) & left) for user in its] for its in made.users]


def leaf_of(window: Window, k: int, m: int) -> Leaf:
    """The vertical partition of a whole window as one cluster."""
    visitors: dict[int, int] = {}
    for bit, record in enumerate(window):
        for t in record:
            visitors[t] = visitors.get(t, 0) | 1 << bit
    return vertical_partition(visitors, len(window), DisassociatedKm(k=k, m=m))


# ---------------------------------------------------------------------- the whole


@settings(max_examples=examples(300))
@given(window=windows(max_users=14), k=KS, m=MS, spare=st.integers(0, 3), rare=st.booleans())
def test_every_release_is_verified_and_true(window: Window, k: int, m: int, spare: int, rare: bool) -> None:
    """
    Guarantee 1's conditions hold, and these people can be behind the release: nothing invented, nothing lost.
    """
    made = run(window, k, m, largest=2 * k - 1 + spare, rare=rare)
    assert verify_disassociated(made.release, DisassociatedKm(k=k, m=m)).violations == {}
    origin = verify_origin(made.release, behind(made, window))
    assert origin.violations == {}
    assert rare or origin.fewest_visitors is None or origin.fewest_visitors >= k


@settings(max_examples=examples(200))
@given(window=windows(n_locations=5, max_users=7, max_length=3), k=KS, m=MS)
def test_guarantee_1_holds_in_all_possible_windows(window: Window, k: int, m: int) -> None:
    """
    Whatever up to m locations somebody can have visited by the release, k people have in some window it may be of.
    """
    release = run(window, k, m, largest=2 * k - 1).release
    assume(oracles.n_windows(release) <= 5000)
    assert oracles.keeps_guarantee_1(release, k, m)


def literally(window: Window, k: int, m: int, largest: int) -> object:
    """What the pseudo-code says of a window, or None where its clusters are not of k people or it does not end."""
    parts = oracles.literal_horpart(window, largest)
    if parts is None or any(len(part) < k for part in parts):
        return None
    clusters = [oracles.literal_verpart(part, k, m) for part in parts]
    return oracles.as_form(oracles.literal_refine(clusters, k, m), clusters)


@settings(max_examples=examples(300))
@given(
    window=windows(n_locations=8, max_users=30, max_length=5).map(lambda found: [r for r in found if r]),
    m=MS,
    spare=st.integers(0, 4),
)
def test_it_is_the_published_algorithm_wherever_that_has_clusters_of_k(window: Window, m: int, spare: int) -> None:
    """
    Clusters, record chunks, term chunks, joint clusters and shared chunks are those of the pseudo-code.
    """
    literal = literally(window, 2, m, 3 + spare)
    assume(literal is not None and len(window) >= 2)
    assert release_form(run(window, 2, m, largest=3 + spare).release) == literal


@pytest.mark.deep
def test_the_comparison_with_the_pseudo_code_meets_all_there_is() -> None:
    """
    Among random windows that can be compared there are joint clusters, nested ones, and shared chunks with a location
    of a record chunk.
    """
    rng = random.Random(1)
    seen: set[str] = set()
    for _ in range(400):
        window = [frozenset(rng.choices(range(9), k=rng.randint(1, 6))) for _ in range(rng.randint(20, 60))]
        literal = literally(window, 3, 2, 6)
        if literal is None:
            continue
        release = run(window, 3, 2, largest=6).release
        assert release_form(release) == literal
        seen |= kinds(release)
    assert seen == {"joint", "nested", "crossing"}


def kinds(release: Disassociated) -> set[str]:
    found = {"joint"} if release.joint_clusters else set()
    for joint in release.joint_clusters:
        inside = release.clusters[joint.first : joint.end]
        below = {t for its in inside for part in its.record_chunks for t in part.locations}
        if any(below & set(part.locations) for part in joint.shared_chunks):
            found.add("crossing")
        if joint.end - joint.first > 2:
            found.add("nested")
    return found


@settings(max_examples=examples(100))
@given(crowd=crowds(max_users=9, max_pieces=3), k=KS, seed=st.integers(0, 2**16))
def test_neither_order_nor_pieces_nor_numbers_matter(crowd: Crowd, k: int, seed: int) -> None:
    """
    The release is the same for sets of visits however they are ordered, repeated, cut into trajectories, and numbered.
    """
    sets = oracles.records(location_sets(as_sequences(crowd)))
    options = DisassociationOptions(largest_cluster=2 * k - 1, rare_locations=True)
    guarantee = DisassociatedKm(k=k, m=2)
    made = disassociate(as_sequences(crowd), guarantee, np.random.default_rng(7), options)
    shuffled = random.Random(seed).sample(sets, len(sets))
    again = disassociate(sequences(shuffled), guarantee, np.random.default_rng(8), options)
    assert release_form(made.release) == release_form(again.release)


def test_a_user_with_many_trajectories_is_one_person() -> None:
    """
    Support counts people: three trajectories of one user at a location are one visit of one person.
    """
    crowd: Crowd = [(0, (1,)), (0, (1, 1)), (0, (1,)), (1, (2,)), (2, (2,)), (3, (2, 1))]
    made = disassociate(as_sequences(crowd), DisassociatedKm(k=3, m=1), np.random.default_rng(0))
    assert made.kept.tolist() == [False] * 4 + [True, True, True, False]
    assert made.users == ((1, 2, 3),)
    assert made.release.clusters == (cluster(3, chunk([2], [2], [2])),)


@settings(max_examples=examples(50))
@given(window=windows(), seeds=st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_chance_draws_orders_and_nothing_else(window: Window, seeds: tuple[int, int]) -> None:
    """
    The same generator gives the same release; another one the same bags and sets, of the same people.
    """
    one, again, other = (run(window, 2, 2, largest=3, seed=seed) for seed in (seeds[0], seeds[0], seeds[1]))
    assert one.release == again.release
    assert one.users == again.users
    assert release_form(one.release) == release_form(other.release)
    assert sorted(one.users) == sorted(other.users)


def test_the_orders_of_two_chunks_of_a_cluster_do_not_tell_who_is_who() -> None:
    """
    Where the n-th subrecord of a chunk belongs to the n-th person, that is chance: over many draws each of the orders
    of two kinds of subrecords comes about as often.
    """
    window = [frozenset(r) for r in ([0, 2], [0, 2], [1, 2], [1, 3], [1, 3], [0, 3])]
    seen: dict[tuple[tuple[int, ...], ...], int] = {}
    for seed in range(600):
        (its,) = run(window, 2, 2, largest=6, seed=seed).release.clusters
        (first, *_) = its.record_chunks
        seen[first.subrecords] = seen.get(first.subrecords, 0) + 1
    assert len(seen) == oracles._ways(chunk(*first.subrecords), len(first.subrecords))
    assert max(seen.values()) < 3 * 600 / len(seen)


def test_the_order_of_clusters_is_chance() -> None:
    """
    Clusters are made in an order that depends on supports which the release hides: none of it is left.
    """
    window = [frozenset([t, 9]) for t in range(4) for _ in range(3)]
    firsts = {run(window, 3, 1, largest=5, seed=seed).release.clusters[0] for seed in range(60)}
    assert len(firsts) == len(set(run(window, 3, 1, largest=5).release.clusters)) > 1


# ---------------------------------------------------------------------- edges


@pytest.mark.parametrize("window", [[], [frozenset()] * 9, [frozenset([1])] * 2])
def test_fewer_than_k_people_with_a_visit_are_suppressed(window: Window) -> None:
    """
    Without k people who visited anything the release is empty, and every visit suppressed.
    """
    made = run(window, 3, 2)
    assert made.release == Disassociated(clusters=(), joint_clusters=())
    assert made.users == ()
    assert not made.kept.any()


def test_rare_locations_are_suppressed_unless_asked_for() -> None:
    """
    A location of k - 1 people is not released by default, and whoever visited nothing else is not in the release; as in
    the paper it goes to a term chunk. One of k people is released.
    """
    window = [frozenset([0])] * 3 + [frozenset([0, 1])] * 2 + [frozenset([2])]
    made = run(window, 3, 2, rare=False)
    assert made.release.clusters == (cluster(5, chunk(*[[0]] * 5)),)
    assert made.users == ((0, 1, 2, 3, 4),)
    assert made.kept.tolist() == [True, True, True, True, False, True, False, False]
    assert run(window, 3, 2).release.clusters == (cluster(6, chunk(*[[0]] * 5), terms=[1, 2]),)
    assert run(window, 2, 2, rare=False).release.locations == (0, 1)


def test_a_cluster_must_have_room_for_two_of_k() -> None:
    """
    Clusters of at most 2 k - 2 people cannot divide 2 k - 1 people: refused. The default is 10 k.
    """
    with pytest.raises(ValueError, match="largest_cluster is 4: with k=3 it must be at least 5"):
        run([frozenset([1])] * 9, 3, 2, largest=4)
    assert [its.size for its in run([frozenset([1])] * 30, 3, 2).release.clusters] == [30]
    assert sorted(its.size for its in run([frozenset([1])] * 31, 3, 2).release.clusters) == [15, 16]


@pytest.mark.parametrize(("k", "m"), [(1, 1), (2, 0)])
def test_the_guarantee_has_its_ranges(k: int, m: int) -> None:
    """
    k is at least 2 and m at least 1.
    """
    with pytest.raises(ValueError, match="must be at least"):
        DisassociatedKm(k=k, m=m)


# ---------------------------------------------------------------------- horizontal partitioning


@settings(max_examples=examples(200))
@given(window=windows(max_users=25), k=st.integers(2, 4), spare=st.integers(0, 5))
def test_clusters_divide_the_people_and_have_k_to_largest(window: Window, k: int, spare: int) -> None:
    """
    Each person is in one cluster, and no cluster is smaller than k or larger than asked for.
    """
    largest = 2 * k - 1 + spare
    parts = horizontal_partition(sequences(window), k=k, largest=largest)
    everybody = sorted(person for part in parts for person in part.tolist())
    assert everybody == (list(range(len(window))) if len(window) >= k else [])
    assert all(k <= len(part) <= largest for part in parts)


def test_a_location_of_nearly_everybody_does_not_divide() -> None:
    """
    All but one visited 0, which would leave one person alone: the next location divides.
    """
    window = [frozenset([0, 1])] * 3 + [frozenset([0, 2])] * 2 + [frozenset([2])]
    parts = horizontal_partition(sequences(window), k=2, largest=3)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5]]


def test_people_whom_nothing_divides_are_cut_by_likeness() -> None:
    """
    Everybody alone at a place, in pairs that differ in the rest: cut into equal parts, the alike together.
    """
    window = [frozenset([9, user % 4]) for user in range(8)]
    parts = horizontal_partition(sequences(window), k=3, largest=5)
    assert [part.tolist() for part in parts] == [[0, 1, 4, 5], [2, 3, 6, 7]]


# ---------------------------------------------------------------------- vertical partitioning


@settings(max_examples=examples(200))
@given(window=windows(max_users=9, max_length=5), k=KS, m=MS)
def test_a_cluster_is_divided_as_published(window: Window, k: int, m: int) -> None:
    """
    The chunks of Algorithm VerPart with Lemma 2's check, of every cluster of k people who visited something.
    """
    window = [record for record in window if record]
    assume(len(window) >= k)
    literal = oracles.literal_verpart(window, k, m)
    leaf = leaf_of(window, k, m)
    assert [set(its) for its in leaf.chunks] == literal.domains
    assert leaf.terms == literal.terms
    assert enough_subrecords(leaf, DisassociatedKm(k=k, m=m)) == oracles.lemma_2(literal, k, m)


def test_a_chunk_that_is_full_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The bound on combinations kept in mind ends a chunk; what is left goes to the next, and all stay k^m-anonymous.
    """
    window = [frozenset(range(6)) - {i} for i in range(6)] * 3
    whole = leaf_of(window, 3, 3)
    assert [len(its) for its in whole.chunks] == [6]
    monkeypatch.setattr(core.models.disassociation.anonymize.growing, "MOST_COMBINATIONS", 4)
    bounded = leaf_of(window, 3, 3)
    assert sorted(t for its in bounded.chunks for t in its) == list(range(6))
    assert len(bounded.chunks) > 1
    assert all(oracles.is_km(oracles.projected(window, its).elements(), 3, 3) for its in bounded.chunks)


def test_people_who_share_a_thousand_places_are_quick() -> None:
    """
    Combinations that the same people visited count once, so that a chunk of very many locations is no work, at any m.
    """
    visitors = dict.fromkeys(range(1000), 0b11111)
    (grown,) = grow_chunks(range(1000), visitors, k=5, m=6)
    assert len(grown.locations) == 1000


@given(window=windows(n_locations=5))
def test_the_alike_are_the_bag_of_projections(window: Window) -> None:
    """
    Distinct subrecords and who has each, whatever the order of the locations.
    """
    visitors = {t: sum(1 << i for i, record in enumerate(window) if t in record) for t in range(1, 5)}
    found = alike([3, 1, 4, 2], visitors)
    bag = oracles.projected(window, range(1, 5))
    assert {frozenset(subrecord): people.bit_count() for subrecord, people in found.items()} == dict(bag)


# ---------------------------------------------------------------------- refining


def leaves(*parts: list[list[int]], k: int = 3, m: int = 2) -> list[Leaf]:
    return [leaf_of([frozenset(record) for record in part], k, m) for part in parts]


def test_a_term_chunk_that_lemma_2_needs_is_not_emptied() -> None:
    """
    The paper's Refine would take 5 from the first cluster, whose 5 people then had 4 subrecords among them.
    """
    ours = leaves([[0], [0], [0], [0, 5], [5]], [[1], [1], [1, 5], [1, 5], [1]])
    assert not enough_subrecords(ours[0], DisassociatedKm(k=3, m=2))
    assert len(refine(ours, DisassociatedKm(k=3, m=2))) == 2
    # With one more location in the term chunk, 5 may go.
    more = leaves([[0], [0], [0], [0, 5], [5, 6]], [[1], [1], [1, 5], [1, 5], [1]])
    assert len(refine(more, DisassociatedKm(k=3, m=2))) == 1
    assert more[0].terms == {6}


def test_clusters_are_joined_only_if_that_tells_more() -> None:
    """
    Equation 1: a location of 3 among 6 people is told better than before (3 / 6 >= 2 / 6); a location of 3 of whom two
    small clusters know is not, where 40 more people would come in who have nothing of it (3 / 46 < 2 / 6).
    """
    guarantee = DisassociatedKm(k=3, m=2)
    (both,) = refine(leaves([[0], [0], [0, 5]], [[1], [1, 5], [1, 5]]), guarantee)
    assert both.shared == (((5,), (5,), (5,)),)
    big = [[2, 5]] * 2 + [[2]] * 38
    ours = leaves([[0, 5], [0, 6], [0, 6]], big, [[1, 6], [1], [1]])
    assert sorted(sorted(node.leaves) for node in refine(ours, guarantee)) == [[0, 1], [2]]


def shared_last(first: list[list[int]], second: list[list[int]], third: list[list[int]]) -> list[list[tuple[int, ...]]]:
    """The distinct subrecords of each chunk that the first two clusters, joined before, share with the third."""
    (node,) = refine(leaves(first, second, third), DisassociatedKm(k=3, m=2))
    assert [sorted(child.leaves) for child in node.children if child.children] == [[0, 1]]
    return [sorted(set(its)) for its in node.shared]


def test_a_shared_chunk_with_a_location_further_down_is_of_k_alike() -> None:
    """
    Property 1: {6, 8} three times and {6} once are 3^2-anonymous, which suffices if no record chunk inside has 6; if
    one has, 6 and 8 go to chunks of their own.
    """
    second, third = [[1, 2, 6, 8], [1, 2], [1, 6, 8]], [[3, 6, 8], [3, 6], [3]]
    assert shared_last([[4, 2], [4], [4]], second, third) == [[(6,), (6, 8)]]
    assert shared_last([[6, 2], [6], [6]], second, third) == [[(6,)], [(8,)]]


def test_a_shared_chunk_needs_room_to_exchange_its_subrecords() -> None:
    """
    Property 1 as printed lets {6} four times and {8} three times into one chunk. Only 6 people can have {6}: then of
    the third cluster, where 3 and 8 were visited together, at most 2 can have {8}. So 8 goes to a chunk of its own.
    """
    first, second, third = [[6, 2, 8], [6, 8], [6]], [[1, 2, 6], [1, 2, 6], [1]], [[3, 6], [3, 6], [3, 8]]
    assert shared_last(first, second, third) == [[(6,)], [(8,)]]


def test_visited_sets_are_sets() -> None:
    """
    Repeats and pieces of a user's trajectories count once; users without a visit have the empty set.
    """
    window = as_sequences([(0, (3, 1, 3)), (0, (2, 1)), (1, ()), (2, (0,))])
    assert oracles.records(location_sets(window)) == [{1, 2, 3}, frozenset(), {0}]
    nobody = Sequences(users=np.zeros(0, np.int64), starts=np.zeros(1, np.int64), locations=np.zeros(0, np.int64))
    assert oracles.records(location_sets(nobody)) == []


# ---------------------------------------------------------------------- sensitive locations


@settings(max_examples=examples(300))
@given(
    window=windows(max_users=16),
    k=KS,
    m=MS,
    l=st.integers(2, 5),
    hidden=st.sets(st.integers(0, 5), min_size=1, max_size=3),
    rare=st.booleans(),
)
def test_sensitive_locations_are_linked_to_clusters_alone(
    window: Window,
    k: int,
    m: int,
    l: int,  # noqa: E741 - the paper's name
    hidden: set[int],
    rare: bool,
) -> None:
    """
    An adversary who knows a person's cluster finds at most one in l of its people at a sensitive location; the rest of
    the release is that of a window without sensitive locations, and keeps Guarantee 1.
    """
    guarantee = DisassociatedKm(k=k, m=m, l=l)
    sensitive = np.isin(np.arange(6), sorted(hidden))
    options = DisassociationOptions(largest_cluster=2 * max(k, l) - 1, rare_locations=rare)
    made = disassociate(sequences(window), guarantee, np.random.default_rng(0), options, sensitive)
    assert verify_disassociated(made.release, guarantee, hidden).violations == {}
    kept = list(zip(sequences(window).owners[made.kept], sequences(window).locations[made.kept], strict=True))
    people = [[(user, {t for owner, t in kept if owner == user}) for user in its] for its in made.users]
    origin = verify_origin(made.release, people)
    assert origin.violations == {}
    assert rare or origin.fewest_visitors is None or origin.fewest_visitors >= k
    assert revealed(made.release, [[window[user] for user in its] for its in made.users], hidden, l) == 0
    for part, its in zip(made.release.clusters, made.users, strict=True):
        assert part.size >= max(k, l)
        assert hidden.isdisjoint(t for bag in part.record_chunks for t in bag.locations)
        for t in hidden.intersection(part.term_chunk):
            assert 1 <= sum(t in window[user] for user in its) <= part.size / l
    without = [frozenset(record - hidden) for record in window]
    plain = disassociate(
        sequences(without), DisassociatedKm(k=k, m=m, l=l), np.random.default_rng(0), options, np.zeros(6, np.bool_)
    )
    stripped = [set(part.term_chunk) - hidden for part in made.release.clusters]
    assert stripped == [set(part.term_chunk) for part in plain.release.clusters]
    assert [part.record_chunks for part in made.release.clusters] == [
        part.record_chunks for part in plain.release.clusters
    ]
    assert made.release.joint_clusters == plain.release.joint_clusters
    assert made.users == plain.users


def test_a_sensitive_location_of_too_many_is_suppressed_where_they_are() -> None:
    """
    Six people in a cluster, of whom two, or four, were at location 1: with l = 3 the second cluster does not name it.
    """
    window = [frozenset({0, 1})] * 2 + [frozenset({0})] * 4 + [frozenset({2, 1})] * 4 + [frozenset({2})] * 2
    guarantee = DisassociatedKm(k=2, m=2, l=3)
    options = DisassociationOptions(largest_cluster=6)
    made = disassociate(sequences(window), guarantee, np.random.default_rng(0), options, np.array([False, True, False]))
    named = {part.record_chunks[0].locations: part.term_chunk for part in made.release.clusters}
    assert named == {(0,): (1,), (2,): ()}
    assert made.kept.sum() == len(made.kept) - 4
    with pytest.raises(ValueError, match="it is not known which locations are sensitive"):
        disassociate(sequences(window), guarantee, np.random.default_rng(0), options)
