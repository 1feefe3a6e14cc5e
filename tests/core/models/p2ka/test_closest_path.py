"""The closest path of the tree: common lengths of many sequences at once, of one word and of several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.p2ka.anonymize.closest_path import closest_paths, common_length
from core.models.p2ka.anonymize.prefix_tree import prefix_tree
from tests.budgets import examples
from tests.oracles import p2ka as pattern_oracles
from tests.oracles.km import Crowd, Trajectory, as_sequences

commons = pattern_oracles.common_lengths
WALKS = st.lists(st.integers(0, 3), max_size=90).map(tuple)


@given(one=WALKS, other=WALKS)
def test_a_common_length_is_that_of_the_usual_table(one: Trajectory, other: Trajectory) -> None:
    """
    Bits or a table, the longest common subsequence is as long, whichever comes first.
    """
    expected = pattern_oracles.common_length(one, other)
    assert common_length(one, other) == common_length(other, one) == expected


@settings(deadline=None, max_examples=examples(25))
@given(seed=st.integers(0, 2**32), n_locations=st.integers(1, 6), longest=st.sampled_from([5, 63, 64, 65, 130]))
def test_sequences_of_many_words_find_what_they_have_most_in_common_with(
    seed: int, n_locations: int, longest: int
) -> None:
    """
    The node found has the longest common subsequence of all nodes, and no shorter path has one as long.
    """
    rng = np.random.default_rng(seed)
    paths = [tuple(rng.integers(0, n_locations, rng.integers(1, longest + 1)).tolist()) for _ in range(3)]
    crowd: Crowd = [(user, path) for user in range(2) for path in paths]
    lengths = rng.integers(1, longest + 1, 4)
    crowd += [(2, (n_locations, *rng.integers(0, n_locations, length).tolist())) for length in lengths]
    tree = prefix_tree(as_sequences(crowd))
    frequent = tree.frequent(2)
    cut = np.unique(tree.ends[~frequent[tree.ends]])
    found = closest_paths(tree, frequent, cut, most_steps=10**9)

    def of(node: int) -> Trajectory:
        return tuple(tree.paths(np.array([node]))[1].tolist())

    for sequence, node in zip(map(of, cut.tolist()), found.nodes.tolist(), strict=True):
        best = max((common, -depth) for path in paths for depth, common in enumerate(commons(sequence, path)))
        assert (pattern_oracles.common_length(sequence, of(node)), -len(of(node))) == best


@pytest.mark.parametrize("n", [64, 65, 128, 129, 300])
def test_a_carry_goes_from_word_to_word(n: int) -> None:
    """
    A sequence of one location n times has min(n, d) in common with a path of d: every addition carries through.
    """
    crowd: Crowd = [(0, (0,) * n), (1, (0,) * n), (2, (1, *(0,) * n)), (2, (1, *(0,) * (n // 2)))]
    tree = prefix_tree(as_sequences(crowd))
    frequent = tree.frequent(2)
    cut = np.unique(tree.ends[~frequent[tree.ends]])
    found = closest_paths(tree, frequent, cut, most_steps=10**9)
    assert tree.depths[found.nodes].tolist() == [n // 2, n]


@pytest.mark.parametrize(("first", "second"), [(0, 63), (0, 64), (3, 130), (60, 130), (63, 200), (3, 260)])
@pytest.mark.parametrize("in_order", [True, False])
def test_order_counts_however_many_words_are_between(first: int, second: int, in_order: bool) -> None:
    """
    Of two locations of a path a sequence has both in common, if it visits them in the path's order, and else one.
    """
    a, b = (1000, 1001) if in_order else (1001, 1000)
    sequence = [*range(300)]
    sequence[first], sequence[second] = a, b
    crowd: Crowd = [(0, (1000, 1001)), (1, (1000, 1001)), (2, tuple(sequence))]
    tree = prefix_tree(as_sequences(crowd))
    found = closest_paths(tree, tree.frequent(2), tree.ends[2:], most_steps=10**9)
    assert tree.depths[found.nodes].tolist() == [2 if in_order else 1]
