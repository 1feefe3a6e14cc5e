"""Windows drawn from a disassociated release, and what is certain of it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from core.models.disassociation.anonymize.disassociate import DisassociationOptions, disassociate
from core.models.disassociation.disassociated import Disassociated, JointCluster
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.reconstruct import certain_subrecords, reconstruct, support_bounds
from core.models.disassociation.verify import verify_disassociated, verify_origin
from tests.budgets import examples
from tests.oracles import disassociation as oracles
from tests.oracles.disassociation import Window, chunk, cluster, records, releases, windows


def drawn(release: Disassociated, seed: int = 0) -> list[Window]:
    """A reconstruction, cluster by cluster."""
    people = iter(records(reconstruct(release, np.random.default_rng(seed))))
    return [[next(people) for _ in range(its.size)] for its in release.clusters]


def release_of(window: Window, k: int, m: int) -> Disassociated:
    options = DisassociationOptions(largest_cluster=2 * k, rare_locations=True)
    return disassociate(oracles.sequences(window), DisassociatedKm(k=k, m=m), np.random.default_rng(0), options).release


def is_origin(window: list[Window], release: Disassociated) -> bool:
    people = [[((number, i), record) for i, record in enumerate(its)] for number, its in enumerate(window)]
    return verify_origin(release, people).holds


@settings(max_examples=examples(200))
@given(window=windows(max_users=14), k=st.integers(2, 3), m=st.integers(1, 3), seed=st.integers(0, 999))
def test_a_reconstruction_is_a_window_that_the_release_may_be_of(window: Window, k: int, m: int, seed: int) -> None:
    """
    Its people give the same chunks, term chunks and shared chunks, and nobody visited nothing.
    """
    release = release_of(window, k, m)
    assert is_origin(drawn(release, seed), release)


@settings(max_examples=examples(100))
@given(release=releases(), seed=st.integers(0, 99))
def test_every_verified_release_can_be_reconstructed(release: Disassociated, seed: int) -> None:
    """
    Also such that no anonymizer of ours makes.
    """
    assume(verify_disassociated(release, DisassociatedKm(k=2, m=2)).holds)
    assert is_origin(drawn(release, seed), release)


def test_any_possible_window_may_be_drawn() -> None:
    """
    Over many draws each of the windows of a small release comes about: two chunks of two for three people, the third of
    whom needs one of them.
    """
    release = Disassociated(clusters=(cluster(3, chunk([0], [0]), chunk([1], [1, 2])),), joint_clusters=())
    possible = {str(sorted(map(sorted, its[0]))) for its in oracles.possible_windows(release)}
    assert {str(sorted(map(sorted, drawn(release, seed)[0]))) for seed in range(200)} == possible
    assert len(possible) > 1


def test_a_reconstruction_is_drawn_by_the_generator_alone() -> None:
    """
    The same generator draws the same window, another one another.
    """
    release = release_of([frozenset([t % 2, 2 + t % 3]) for t in range(4)], 2, 2)
    assert drawn(release, 3) == drawn(release, 3)
    assert len({str(drawn(release, seed)) for seed in range(9)}) > 1


@pytest.mark.parametrize(
    "bad",
    [
        Disassociated(clusters=(cluster(3, chunk([0])),), joint_clusters=()),
        Disassociated(clusters=(cluster(1, chunk([0], [0])),), joint_clusters=()),
        Disassociated(
            clusters=(cluster(2, chunk([6], [6])), cluster(2, chunk([1], [1]))),
            joint_clusters=(JointCluster(first=0, end=2, shared_chunks=(chunk([6], [6], [6]),)),),
        ),
    ],
)
def test_a_release_of_no_window_is_refused(bad: Disassociated) -> None:
    """
    People without anything, more subrecords than people, a shared subrecord that nobody may have.
    """
    with pytest.raises(ValueError, match="verify the release"):
        reconstruct(bad, np.random.default_rng(0))


@settings(max_examples=examples(200))
@given(window=windows(max_users=14, max_length=5), k=st.integers(2, 3), m=st.integers(1, 3))
def test_the_true_support_is_within_the_bounds(window: Window, k: int, m: int) -> None:
    """
    Of every combination of up to three locations of the window, released or not.
    """
    release = release_of(window, k, m)
    if not release.people:
        return
    for size in (1, 2, 3):
        for part in combinations(range(6), size):
            at_least, at_most = support_bounds(release, part)
            assert at_least <= oracles.support(part, window) <= at_most


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.filter_too_much])
@given(release=releases())
def test_no_possible_window_is_outside_the_bounds(release: Disassociated) -> None:
    """
    Of every combination of up to three locations of the release.
    """
    assume(verify_disassociated(release, DisassociatedKm(k=2, m=2)).holds and oracles.n_windows(release) <= 200)
    largest = oracles.largest_supports(release, 3)
    for window in oracles.possible_windows(release):
        people = [record for its in window for record in its]
        for size in (1, 2, 3):
            for part in combinations(release.locations, size):
                assert support_bounds(release, part)[0] <= oracles.support(part, people)
    for size in (1, 2, 3):
        for part in combinations(release.locations, size):
            assert largest[part] <= support_bounds(release, part)[1]


PAIR = Disassociated(
    clusters=(
        cluster(5, chunk([0, 1], [0, 1], [0, 1], [0]), chunk([2], [2], [2]), terms=[3]),
        cluster(3, chunk([4], [4], [4])),
    ),
    joint_clusters=(JointCluster(first=0, end=2, shared_chunks=(chunk([5, 6], [5, 6], [5]),)),),
)


@pytest.mark.parametrize(
    ("locations", "bounds"),
    [
        ([0], (4, 4)),
        ([0, 1], (3, 3)),
        ([0, 2], (2, 3)),  # 4 and 3 of 5 people have 2 in common at least
        ([1, 2], (1, 3)),
        ([3], (1, 5)),
        ([0, 3], (0, 4)),
        ([5], (3, 3)),
        ([5, 6], (2, 2)),
        ([0, 5], (0, 3)),
        ([4, 5, 6], (0, 2)),
        ([0, 4], (0, 0)),
        ([9], (0, 0)),
        ([0, 0, 1], (3, 3)),
    ],
)
def test_bounds_are_as_tight_as_the_chunks_are(locations: list[int], bounds: tuple[int, int]) -> None:
    """
    Inside a chunk supports are exact; across chunks people are too few to keep parts apart, or parts are too few.
    """
    assert support_bounds(PAIR, locations) == bounds


def test_all_of_no_location_is_no_question() -> None:
    """
    The empty combination is refused.
    """
    with pytest.raises(ValueError, match="no location"):
        support_bounds(PAIR, [])


def test_certain_subrecords_are_those_of_the_chunks() -> None:
    """
    Each subrecord of a record or shared chunk, and nothing of term chunks.
    """
    found = sorted(map(sorted, records(certain_subrecords(PAIR))))
    assert found == sorted([[0, 1]] * 3 + [[0]] + [[2]] * 3 + [[4]] * 3 + [[5, 6]] * 2 + [[5]])
