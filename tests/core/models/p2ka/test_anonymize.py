"""BF-P2kA against its pseudo-code, its definition, and windows made to break it."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.guarantee import Guarantee
from core.models.p2ka.anonymize.closest_path import STEPS_OF_A_NODE
from core.models.p2ka.anonymize.p2ka import PatternRelease, p2ka
from core.models.p2ka.anonymize.prefix_tree import ROOT, prefix_tree
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.verify import verify_patterns
from tests.budgets import examples
from tests.oracles import km as oracles
from tests.oracles import p2ka as pattern_oracles
from tests.oracles.km import Crowd, Trajectory, as_sequences, crowds

KS = st.integers(2, 4)
MANY = crowds(n_locations=4, max_users=9, max_pieces=2, max_length=5)
ONE_EACH = crowds(n_locations=3, max_users=10, max_pieces=1, max_length=5)


def anonymize(crowd: Crowd, k: int, *, alike: bool = False, most_steps: int = 10**9) -> PatternRelease:
    return p2ka(as_sequences(crowd), PatternPreservingK(k=k, alike=alike), most_steps=most_steps)


def released(result: PatternRelease) -> Crowd:
    locations = result.sequences.locations.tolist()
    bounds = pairwise(result.sequences.starts.tolist())
    return [
        (user, tuple(locations[start:end]))
        for user, (start, end) in zip(result.sequences.users.tolist(), bounds, strict=True)
    ]


def test_k_is_at_least_2() -> None:
    """
    One person alone is nobody's crowd.
    """
    with pytest.raises(ValueError, match="k is 1: it must be at least 2"):
        PatternPreservingK(k=1)
    guarantee: Guarantee = PatternPreservingK(k=2)
    assert guarantee == PatternPreservingK(k=2, alike=False)


@settings(deadline=None)
@given(crowd=MANY)
def test_the_tree_counts_the_people_whose_trajectories_begin_alike(crowd: Crowd) -> None:
    """
    Nodes are the beginnings of trajectories, in order of length and ids; supports are people; ends are the wholes.
    """
    tree = prefix_tree(as_sequences(crowd))
    starts, locations = tree.paths(np.arange(len(tree.parents)))
    paths = [tuple(locations[start:end].tolist()) for start, end in pairwise(starts.tolist())]
    expected = pattern_oracles.beginnings(crowd)
    assert paths == sorted([(), *expected], key=lambda path: (len(path), path))
    assert dict(zip(paths, tree.supports.tolist(), strict=True)) == {**expected, (): len({user for user, _ in crowd})}
    assert [paths[end] for end in tree.ends.tolist()] == [trajectory for _, trajectory in crowd]
    assert tree.depths.tolist() == [len(path) for path in paths]
    assert [paths[parent] for parent in tree.parents.tolist()[1:]] == [path[:-1] for path in paths[1:]]
    assert tree.parents[ROOT] == -1


@settings(deadline=None, max_examples=examples(300))
@given(crowd=ONE_EACH, k=KS)
def test_it_is_the_published_algorithm(crowd: Crowd, k: int) -> None:
    """
    Where everybody has one trajectory, as in the paper, the released sequences are those of its pseudo-code.
    """
    _, expected = pattern_oracles.literal_p2ka([trajectory for _, trajectory in crowd], k)
    assert Counter(sequence for _, sequence in released(anonymize(crowd, k)) if sequence) == expected


@settings(deadline=None, max_examples=examples(300))
@given(crowd=MANY, k=KS, alike=st.booleans())
def test_each_trajectory_becomes_its_closest_path(crowd: Crowd, k: int, alike: bool) -> None:
    """
    Counting people, several trajectories of one or not: what k people begin with stays, all else becomes the path with
    the longest common subsequence, then the smallest Levenshtein distance, the largest support, the smallest ids.
    """
    result = anonymize(crowd, k, alike=alike)
    assert released(result) == pattern_oracles.released(crowd, k, alike=alike)
    assert result.searched_support is None


@settings(deadline=None, max_examples=examples(200))
@given(crowd=MANY, k=KS, alike=st.booleans(), most_steps=st.integers(0, 4 * STEPS_OF_A_NODE))
def test_what_is_released_is_supported_by_k_people(crowd: Crowd, k: int, alike: bool, most_steps: int) -> None:
    """
    Every released sequence has k supporters in the original, so that every k-frequent pattern of the release is one of
    the original; a person is behind as many sequences as trajectories at most. A bound on the search changes nothing.
    """
    after = released(anonymize(crowd, k, alike=alike, most_steps=most_steps))
    left = [(user, sequence) for user, sequence in after if sequence]
    assert all(oracles.support(sequence, crowd) >= k for _, sequence in left)
    for size in range(1, 6):
        patterns = {part for part in oracles.all_subtrajectories(left, size) if oracles.support(part, left) >= k}
        assert all(oracles.support(part, crowd) >= k for part in patterns)
    assert [user for user, _ in after] == [user for user, _ in crowd]
    report = verify_patterns(
        [user for user, _ in crowd], [t for _, t in crowd],
        [user for user, _ in left], [t for _, t in left],
        PatternPreservingK(k=k, alike=alike),
    )  # fmt: skip
    assert report.holds


@settings(deadline=None, max_examples=examples(200))
@given(crowd=MANY, k=KS)
def test_whatever_is_known_of_a_person_fits_nobody_or_k_people_if_alike(crowd: Crowd, k: int) -> None:
    """
    With ``alike`` every subtrajectory that occurs in the release is released of k people, of whatever length.
    """
    after = released(anonymize(crowd, k, alike=True))
    for size in range(1, 6):
        assert not oracles.infrequent(after, k, size)


def test_without_alike_a_sequence_may_be_released_of_one_person() -> None:
    """
    k = 2. Two of the three people who begin with (0, 1) are re-appended to paths that have more in common with
    theirs, and the third stays alone with it: the definition holds, and whoever knows of location 0 has found them.
    """
    crowd: Crowd = [(0, (0, 1)), (1, (0, 1, 2, 3, 4)), (2, (0, 1, 5, 6, 7))]
    crowd += [(user, (2, 3, 4)) for user in (3, 4)] + [(user, (5, 6, 7)) for user in (5, 6)]
    paper = released(anonymize(crowd, 2))
    assert paper[:3] == [(0, (0, 1)), (1, (2, 3, 4)), (2, (5, 6, 7))]
    assert oracles.support((0,), crowd) == 3
    assert oracles.support((0,), paper) == 1
    alike = released(anonymize(crowd, 2, alike=True))
    assert alike[:3] == [(0, ()), (1, (2, 3, 4)), (2, (5, 6, 7))]


def test_alike_cuts_back_no_further_than_it_must() -> None:
    """
    k = 2. Of (0, 1, 2) and (0, 1, 3), once each, (0, 1) is left and shared; (0, 4), which two have, stays.
    """
    crowd: Crowd = [(0, (0, 1, 2)), (1, (0, 1, 3)), (2, (0, 4)), (3, (0, 4))]
    # Two more people make both paths frequent and go elsewhere: they have more in common with (5, 6, 7, 8).
    for last in (2, 3):
        crowd += [(len(crowd), (0, 1, last, 5, 6, 7, 8))]
    crowd += [(user, (5, 6, 7, 8)) for user in (6, 7)]
    assert released(anonymize(crowd, 2))[:2] == [(0, (0, 1, 2)), (1, (0, 1, 3))]
    assert released(anonymize(crowd, 2, alike=True))[:4] == [(0, (0, 1)), (1, (0, 1)), (2, (0, 4)), (3, (0, 4))]


@settings(deadline=None)
@given(crowd=MANY, k=KS, alike=st.booleans())
def test_visits_are_accounted_for(crowd: Crowd, k: int, alike: bool) -> None:
    """
    Kept is the longest common subsequence of a trajectory and what becomes of it; the rest of the one is suppressed,
    the rest of the other is added.
    """
    result = anonymize(crowd, k, alike=alike)
    pairs = [(before, after) for (_, before), (_, after) in zip(crowd, released(result), strict=True)]
    kept = [pattern_oracles.common_length(before, after) for before, after in pairs]
    assert result.kept.tolist() == kept
    assert result.suppressed.tolist() == [len(before) - n for (before, _), n in zip(pairs, kept, strict=True)]
    assert result.added.tolist() == [len(after) - n for (_, after), n in zip(pairs, kept, strict=True)]


@settings(deadline=None)
@given(crowd=MANY, k=KS, alike=st.booleans(), seed=st.integers(0, 2**16))
def test_the_order_of_people_changes_nothing(crowd: Crowd, k: int, alike: bool, seed: int) -> None:
    """
    Renumbering the people and reordering their trajectories releases the same of each.
    """
    n_users = 1 + max((user for user, _ in crowd), default=-1)
    renumbered = random.Random(seed).sample(range(n_users), n_users)
    order = sorted(range(len(crowd)), key=lambda i: renumbered[crowd[i][0]])
    shuffled = [(renumbered[crowd[i][0]], crowd[i][1]) for i in order]
    before = [sequence for _, sequence in released(anonymize(crowd, k, alike=alike))]
    after = [sequence for _, sequence in released(anonymize(shuffled, k, alike=alike))]
    assert [before[i] for i in order] == after


@pytest.mark.parametrize("crowd", [[], [(0, ())], [(0, (0, 1)), (1, (0, 1)), (1, (0, 1))]])
def test_fewer_people_than_k_are_suppressed(crowd: Crowd) -> None:
    """
    Nothing is released of a window of fewer than k people, however alike, nor of an empty one.
    """
    result = anonymize(crowd, 3)
    assert not len(result.sequences.locations)
    assert result.suppressed.tolist() == [len(trajectory) for _, trajectory in crowd]
    assert not result.kept.any()
    assert not result.added.any()


def test_a_persons_trajectories_count_once() -> None:
    """
    Two trajectories of one person are one supporter of what they begin with, and two people's are two.
    """
    assert released(anonymize([(0, (0,)), (0, (0,)), (1, (1,))], 2)) == [(0, ()), (0, ()), (1, ())]
    assert released(anonymize([(0, (0,)), (0, (0,)), (1, (0,))], 2)) == [(0, (0,)), (0, (0,)), (1, (0,))]


def test_a_persons_trajectories_are_one_of_k_people_alike() -> None:
    """
    k = 2. What is released twice, of one person both times, is not shared.
    """
    crowd: Crowd = [(0, (0, 1)), (0, (0, 1)), (1, (0, 1, 2, 3)), (2, (0, 1, 3, 2))]
    crowd += [(user, (1, 2, 3)) for user in (3, 4)] + [(user, (1, 3, 2)) for user in (5, 6)]
    assert released(anonymize(crowd, 2))[:2] == [(0, (0, 1)), (0, (0, 1))]
    assert released(anonymize(crowd, 2, alike=True))[:2] == [(0, ()), (0, ())]


def test_what_has_nothing_in_common_with_any_path_is_suppressed() -> None:
    """
    A trajectory over locations that no path holds is not re-appended anywhere.
    """
    crowd: Crowd = [(0, (0, 1)), (1, (0, 1)), (2, (2, 3)), (3, (3, 1))]
    assert released(anonymize(crowd, 2))[2:] == [(2, ()), (3, (0, 1))]


@pytest.mark.parametrize(
    ("cut", "paths", "becomes"),
    [
        # More in common comes first, at whatever length.
        ((9, 1, 2, 3), {(1, 2): 3, (4, 5, 1, 6, 2, 3): 2}, (4, 5, 1, 6, 2, 3)),
        # The minimum prefix: what follows the common subsequence is left out.
        ((9, 1, 2), {(1, 4, 2, 5, 6): 2}, (1, 4, 2)),
        # As much in common: the shorter path, although more people begin with the other.
        ((9, 1, 2), {(1, 4, 2): 3, (1, 2): 2, (5, 1, 2): 4}, (1, 2)),
        # As short: the one with which more people begin, then the smaller ids.
        ((9, 1, 2), {(3, 1, 2): 2, (4, 1, 2): 3, (5, 1, 2): 3}, (4, 1, 2)),
    ],
)
def test_the_closest_path(cut: Trajectory, paths: dict[Trajectory, int], becomes: Trajectory) -> None:
    """
    Longest common subsequence, then Levenshtein distance, then support, then ids; and of the path the minimum prefix.
    """
    crowd: Crowd = [(0, cut)]
    for path, people in paths.items():
        crowd += [(len(crowd) + i, path) for i in range(people)]
    assert released(anonymize(crowd, 2))[0] == (0, becomes)


def test_a_long_trajectory_is_compared_whole() -> None:
    """
    Beyond 64 and 128 visits, where a row of the comparison is more than a word: 150 visits keep all but the first.
    """
    walk = tuple(range(1, 150))
    crowd: Crowd = [(0, (500, *walk)), (1, walk), (2, walk)]
    result = anonymize(crowd, 2)
    assert released(result)[0] == (0, walk)
    assert (result.kept[0], result.suppressed[0], result.added[0]) == (149, 1, 0)


def test_windows_of_one_walk_and_its_variations() -> None:
    """
    No part of a walk is released that fewer than k people have walked, in windows of some size.
    """
    rng = random.Random(5)
    crowd: Crowd = []
    for user in range(300):
        at, walk = rng.randrange(5), []
        for _ in range(rng.randrange(1, 9)):
            walk.append(at)
            at = (at + rng.choice([1, 1, 1, 2])) % 7
        crowd.append((user - user % 7 % 2, tuple(walk)))
    crowd.sort()
    users = np.unique([user for user, _ in crowd], return_inverse=True)[1].tolist()
    crowd = [(user, walk) for user, (_, walk) in zip(users, crowd, strict=True)]
    for k in (3, 5):
        after = released(anonymize(crowd, k))
        assert all(oracles.support(sequence, crowd) >= k for _, sequence in set(after) if sequence)
        parts = {part for _, sequence in set(after) for size in (1, 2) for part in combinations(sequence, size)}
        assert parts
        assert all(oracles.support(part, crowd) >= k for part in parts)


# The bound


def steps(crowd: Crowd, k: int, least: int) -> int:
    """What comparing the paths of at least this support costs, by the definition; nothing is longer than a word."""
    supports = pattern_oracles.beginnings(crowd)
    left = {path for path, people in supports.items() if people >= k}
    cut = {trajectory for _, trajectory in crowd if trajectory and trajectory not in left}
    searched = [path for path in left if supports[path] >= least] if cut else []
    return sum(STEPS_OF_A_NODE + sum(path[-1] in sequence for sequence in cut) for path in searched)


@settings(deadline=None, max_examples=examples(300))
@given(crowd=MANY, k=st.integers(2, 3), data=st.data())
def test_the_bound_leaves_out_the_least_supported_paths(crowd: Crowd, k: int, data: st.DataObject) -> None:
    """
    As many paths are compared as the steps allow, those of one support together; a trajectory's own beginning always.
    """
    most_steps = data.draw(st.integers(0, steps(crowd, k, k) + 1))
    result = anonymize(crowd, k, most_steps=most_steps)
    found = sorted({people for people in pattern_oracles.beginnings(crowd).values() if people >= k}, reverse=True)
    affordable = [people for people in found if steps(crowd, k, people) <= most_steps]
    if affordable == found:
        assert result.searched_support is None
        least = 0
    else:
        least = affordable[-1] if affordable else found[0] + 1
        assert result.searched_support == least
    assert released(result) == pattern_oracles.released(crowd, k, alike=False, least=least)


def test_at_the_bound_nothing_is_left_out_and_one_step_below_something_is() -> None:
    """
    Two nodes and one sequence that holds both their locations are 2 * STEPS_OF_A_NODE + 2 steps.
    """
    crowd: Crowd = [(0, (2, 0, 1)), (1, (0, 1)), (2, (0, 1)), (3, (0,))]
    most_steps = 2 * STEPS_OF_A_NODE + 2
    assert anonymize(crowd, 2, most_steps=most_steps).searched_support is None
    fewer = anonymize(crowd, 2, most_steps=most_steps - 1)
    assert fewer.searched_support == 3
    assert released(fewer)[0] == (0, (0,))
    none = anonymize(crowd, 2, most_steps=0)
    assert none.searched_support == 4
    assert released(none)[0] == (0, ())


@pytest.mark.parametrize(("visits", "words"), [(64, 1), (65, 2), (129, 3)])
def test_a_longer_sequence_takes_more_steps(visits: int, words: int) -> None:
    """
    Each 64 visits are a step, or what is left of them.
    """
    crowd: Crowd = [(0, (*range(2, visits), 0, 1)), (1, (0, 1)), (2, (0, 1))]
    most_steps = 2 * STEPS_OF_A_NODE + 2 * words
    assert anonymize(crowd, 2, most_steps=most_steps).searched_support is None
    assert anonymize(crowd, 2, most_steps=most_steps - 1).searched_support == 3


def test_a_bound_is_not_negative() -> None:
    """
    It is refused at the door.
    """
    with pytest.raises(ValueError, match="most_steps is -1"):
        anonymize([], 2, most_steps=-1)
