"""Joined trajectories by themselves: what is counted, what is suppressed, and what is merged next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.km.anonymize import joined as counting
from core.models.km.anonymize.earlier import Earlier
from core.models.km.anonymize.group_merges import GroupMerges
from core.models.km.anonymize.joined import JoinedWindow
from core.models.km.anonymize.suppression import suppress_infrequent
from core.records.arrays import BoolArray
from core.trajectories.trajectory import Sequences
from core.windows.history import History
from tests.budgets import examples
from tests.core.models.km.test_verify_horizon import roster_of
from tests.oracles.km_horizon import ReleasedPieces, infrequent_in, joined_subtrajectories

PIECE = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)
PIECES = st.dictionaries(st.integers(0, 5), st.lists(PIECE, min_size=1, max_size=2))
WINDOWS = st.tuples(st.lists(PIECES, max_size=2), PIECES.filter(bool))


def joined_of(before: Sequence[ReleasedPieces], last: ReleasedPieces, m: int) -> tuple[Sequences, JoinedWindow]:
    """The last window, and the same joined with those before."""
    people = sorted(last)
    pieces = [(number, piece) for number, user in enumerate(people) for piece in last[user]]
    sequences = Sequences(
        users=np.array([number for number, _ in pieces]),
        starts=np.cumsum([0, *(len(piece) for _, piece in pieces)]),
        locations=np.array([location for _, piece in pieces for location in piece], np.int64),
    )
    history = History(rosters=tuple(roster_of(window, number) for number, window in enumerate(before)))
    earlier = Earlier.of(history, np.array(people, np.uint64), m=m)
    assert not earlier.unread.any()
    return sequences, JoinedWindow.of(sequences, earlier)


@settings(deadline=None, max_examples=examples(300, least=40))
@given(windows=WINDOWS, m=st.integers(1, 3), at_once=st.sampled_from([1, 500_000]))
def test_every_joined_subtrajectory_is_counted_once(
    windows: tuple[list[ReleasedPieces], ReleasedPieces], m: int, at_once: int
) -> None:
    """
    The supports are those of the definition, of everything with a location of the last window.
    """
    before, last = windows
    sequences, joined = joined_of(before, last, m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_AT_ONCE", at_once)
        blocks = list(joined.blocks(sequences.locations, m, np.ones(len(sequences.locations), np.bool_)))
    having: dict[object, set[int]] = {}
    for user in last:
        for part in joined_subtrajectories([*before, last], user, m):
            if any(window == len(before) for window, _ in part):
                having.setdefault(part, set()).add(user)
    counted = sorted(support for block in blocks for support in block.supports.tolist())
    assert counted == sorted(len(users) for users in having.values())


@settings(deadline=None, max_examples=examples(300, least=40))
@given(windows=WINDOWS, k=st.integers(2, 3), m=st.integers(1, 3), budget=st.integers(0, 12))
def test_what_is_left_is_frequent(
    windows: tuple[list[ReleasedPieces], ReleasedPieces], k: int, m: int, budget: int
) -> None:
    """
    Nothing infrequent has a location of the last window; nothing is suppressed in vain, or beyond the budget.
    """
    before, last = windows
    sequences, joined = joined_of(before, last, m)
    everything = np.ones(len(sequences.locations), np.bool_)

    def broken(kept: BoolArray) -> bool:
        left: dict[int, list[tuple[int, ...]]] = {}
        for user, piece in zip(sequences.users.tolist(), sequences.where(kept).lists(), strict=True):
            left.setdefault(sorted(last)[user], []).append(tuple(piece))
        parts = infrequent_in([*before, left], k, m)
        return any(window == len(before) for part in parts for window, _ in part)

    kept = suppress_infrequent(sequences, joined, everything, k=k, m=m, most=len(everything))
    assert kept is not None
    assert not broken(kept)
    assert kept.all() or broken(everything)
    within = suppress_infrequent(sequences, joined, everything, k=k, m=m, most=budget)
    assert (within is None) == (int((~kept).sum()) > budget)
    assert within is None or np.array_equal(within, kept)


def test_what_moves_visits_least_is_merged_next() -> None:
    """
    0 and 2 m are near, but 2 and 3 are visited less; nothing is merged across constraints.
    """
    xy_m = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0], [13.0, 0.0]])
    visited = np.array([0] * 9 + [1] * 9 + [2, 3])
    merges = GroupMerges.of(xy_m, np.arange(4), visited)
    assert [merges.until(n).tolist() for n in (3, 2, 1)] == [[0, 1, 2, 2], [0, 0, 2, 2], [0, 0, 0, 0]]
    apart = GroupMerges.of(xy_m, np.arange(4), visited, np.array([0, 1, 1, 0]))
    assert apart.n_coarsest == 2
    assert apart.until(2).tolist() == [0, 1, 1, 0]
