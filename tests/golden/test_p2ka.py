"""The worked example of Pensa, Monreale, Pinelli, Pedreschi 2008: Figure 1 and Section 4.1."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from core.models.p2ka.anonymize.p2ka import p2ka
from core.models.p2ka.anonymize.prefix_tree import prefix_tree
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.verify import verify_patterns
from core.records.arrays import IntArray
from core.trajectories.trajectory import Sequences
from tests.paths import EXAMPLES


class Example:
    def __init__(self) -> None:
        path = EXAMPLES / "p2ka_example.json"
        case: dict[str, Any] = json.loads(path.read_text())
        self.k: int = case["k"]
        self.before: list[str] = case["sequences"]
        self.after: list[str] = case["anonymized"]
        self.cut: dict[str, int] = case["cut"]
        self.names = sorted({name for sequence in self.before for name in sequence})
        self.window = Sequences(
            users=np.arange(len(self.before)),
            starts=np.cumsum([0, *map(len, self.before)]),
            locations=np.array([self.names.index(name) for sequence in self.before for name in sequence]),
        )

    def spelled(self, starts: IntArray, locations: IntArray) -> list[str]:
        text = "".join(self.names[location] for location in locations.tolist())
        return [text[start:end] for start, end in pairwise(starts.tolist())]


def test_the_tree_is_cut_as_published() -> None:
    """
    Figure 2: with k = 2 the sequences BKS and DEJF are infrequent, once each; the path to F of ADEF is reached thrice.
    """
    example = Example()
    tree = prefix_tree(example.window)
    frequent = tree.frequent(example.k)
    cut = tree.ends[~frequent[tree.ends]]
    assert Counter(example.spelled(*tree.paths(cut))) == example.cut
    left = np.flatnonzero(frequent)
    supports = dict(zip(example.spelled(*tree.paths(left)), tree.supports[left].tolist(), strict=True))
    assert supports == {
        **{"": 10, "A": 6, "AB": 3, "ABC": 3, "ABCD": 3, "ABCDE": 3, "ABCDEF": 3},
        **{"AD": 3, "ADE": 3, "ADEF": 3, "B": 3, "BK": 3},
    }


@pytest.mark.parametrize("alike", [False, True])
def test_the_sequences_become_the_published_ones(alike: bool) -> None:
    """
    Figure 1b, in the order of the originals: DEJF becomes ADEF, not ABCDEF, and BKS becomes BK.
    """
    example = Example()
    guarantee = PatternPreservingK(k=example.k, alike=alike)
    result = p2ka(example.window, guarantee)
    after = example.spelled(result.sequences.starts, result.sequences.locations)
    assert after[:9] == [*example.before[:6], "BK", "BK", "BK"]
    assert after[9] == "ADEF"
    assert Counter(after) == Counter(example.after)
    assert result.searched_support is None
    assert (result.kept.tolist()[6:], result.suppressed.tolist()[6:], result.added.tolist()[6:]) == (
        [2, 2, 2, 3],  # BK of BKS, and DEF
        [1, 0, 0, 1],  # S, and J
        [0, 0, 0, 1],  # A
    )
    users = range(len(after))
    report = verify_patterns(users, example.before, users, after, guarantee)
    assert report.holds
    assert (report.smallest_support, report.smallest_crowd) == (3, 3)
