"""Supports against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.support.table
from core.support.index import SupportIndex
from core.support.table import _next_visits, subtrajectories, support, visitors
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, as_sequences, crowds

SIZES = st.integers(1, 4)


@settings(deadline=None)
@given(crowd=crowds(n_locations=4), part=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_support_counts_the_people_who_contain_a_subtrajectory(crowd: Crowd, part: list[int]) -> None:
    """
    Order kept, gaps allowed, people counted once, a location that nobody visits included.
    """
    assert support(part, as_sequences(crowd)) == oracles.support(part, crowd)


def test_support_counts_a_person_once() -> None:
    """
    Neither several embeddings nor several trajectories of one person raise a support.
    """
    assert support((0, 1), as_sequences([(0, (0, 1, 0, 1)), (0, (0, 1)), (1, (1, 0))])) == 1


def test_a_subtrajectory_never_spans_two_trajectories() -> None:
    """
    What ends one trajectory and what begins the next are not in order, whoever made them.
    """
    window = as_sequences([(0, (0,)), (0, (1,)), (1, (2,))])
    assert support((0, 1), window) == support((1, 2), window) == 0
    assert len(subtrajectories(window, 2).locations) == 0


@settings(deadline=None)
@given(crowd=crowds(n_locations=4), size=SIZES)
def test_the_table_lists_each_subtrajectory_once_with_its_people(crowd: Crowd, size: int) -> None:
    """
    Rows are all distinct subtrajectories in lexicographic order, each with the people who support it.
    """
    table = subtrajectories(as_sequences(crowd), size)
    rows = [tuple(row) for row in table.locations.tolist()]
    assert rows == sorted(oracles.all_subtrajectories(crowd, size))
    for row, start, end in zip(rows, table.starts, table.starts[1:], strict=False):
        people = {user for user, trajectory in crowd if oracles.is_subtrajectory(row, trajectory)}
        assert table.users[start:end].tolist() == sorted(people)
    assert table.supports.tolist() == [oracles.support(row, crowd) for row in rows]


@settings(deadline=None)
@given(crowd=crowds(n_locations=4))
def test_visitors_are_the_people_with_a_visit(crowd: Crowd) -> None:
    """
    A location that nobody visits is not among them.
    """
    wanted: dict[int, set[int]] = {}
    for user, trajectory in crowd:
        for location in trajectory:
            wanted.setdefault(location, set()).add(user)
    assert visitors(as_sequences(crowd)) == wanted


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_working_in_steps_changes_nothing(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """
    The table is the same however few candidates are looked at together.
    """
    window = as_sequences([(0, (0, 1, 2, 1, 0, 3)), (0, ()), (1, (2, 2)), (2, (3,)), (3, (1, 0, 3, 3, 1))])
    whole = subtrajectories(window, 3)
    monkeypatch.setattr(core.support.table, "_CANDIDATES_AT_ONCE", at_once)
    in_steps = subtrajectories(window, 3)
    assert in_steps.locations.tolist() == whole.locations.tolist()
    assert in_steps.users.tolist() == whole.users.tolist()


def test_a_long_trajectory_over_few_locations_has_few_subtrajectories() -> None:
    """
    A thousand visits to two locations hold 64 subtrajectories of size 6. Their 10^15 embeddings are not
    enumerated: each prefix goes on to one visit of each location.
    """
    table = subtrajectories(as_sequences([(0, (0, 1) * 500)]), 6)
    assert len(table.locations) == 64
    ends, previous = np.full(6, 6), np.array([-1, -1, 0, 1, 2, 3])  # (0, 1) three times
    rows, reached = _next_visits(np.array([0, 1]), ends, previous)
    assert list(zip(rows.tolist(), reached.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (1, 3)]


def test_ids_may_be_large() -> None:
    """
    Ids near a million do not overflow the enumeration of longer subtrajectories.
    """
    far = 999_983
    table = subtrajectories(as_sequences([(0, (far, 0, far, 0, far, 0))]), 6)
    assert table.locations.tolist() == [[far, 0, far, 0, far, 0]]


@settings(deadline=None)
@given(crowd=crowds(n_locations=4), size=SIZES, k=st.integers(2, 4))
def test_infrequent_subtrajectories_come_by_support_then_ids(crowd: Crowd, size: int, k: int) -> None:
    """
    They are those below k, in the order in which SeqAnon takes them.
    """
    index = SupportIndex.of(as_sequences(crowd), size=size, k=k)
    assert index.infrequent() == oracles.infrequent(crowd, k, size)


@settings(deadline=None)
@given(
    crowd=crowds(n_locations=5),
    size=SIZES,
    k=st.integers(2, 4),
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6),
)
def test_the_index_follows_merges(crowd: Crowd, size: int, k: int, pairs: list[tuple[int, int]]) -> None:
    """
    After any merges the index says what counting again from the generalized trajectories says.
    """
    index = SupportIndex.of(as_sequences(crowd), size=size, k=k)
    for kept, absorbed in pairs:
        if kept == absorbed:
            continue
        index.merge(kept, absorbed)
        crowd = [(user, tuple(kept if x == absorbed else x for x in t)) for user, t in crowd]
        assert index.infrequent() == oracles.infrequent(crowd, k, size)
        for part in oracles.all_subtrajectories(crowd, size):
            assert index.is_infrequent(part) == (oracles.support(part, crowd) < k)


@settings(deadline=None)
@given(crowd=crowds(n_locations=4), size=SIZES, kept=st.integers(0, 3), absorbed=st.integers(0, 3))
def test_merging_never_lowers_a_support(crowd: Crowd, size: int, kept: int, absorbed: int) -> None:
    """
    Whoever supports a subtrajectory supports what it becomes. The index forgets people on that ground.
    """
    before = as_sequences(crowd)
    merge = np.arange(5)
    merge[absorbed] = kept
    merged = as_sequences([(user, tuple(merge[list(t)].tolist())) for user, t in crowd])
    for part in oracles.all_subtrajectories(crowd, size):
        assert support(merge[list(part)].tolist(), merged) >= support(part, before)


def test_a_subtrajectory_that_does_not_occur_is_not_infrequent() -> None:
    """
    Nobody supports it, so nothing of it is released: it needs no k people.
    """
    index = SupportIndex.of(as_sequences([(0, (0, 1))]), size=2, k=2)
    assert (index.is_infrequent((0, 1)), index.is_infrequent((1, 0))) == (True, False)


@settings(deadline=None)
@given(
    crowd=crowds(n_locations=5),
    size=SIZES,
    k=st.integers(2, 4),
    actions=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6),
)
def test_the_index_follows_suppressions(crowd: Crowd, size: int, k: int, actions: list[tuple[int, int]]) -> None:
    """
    After any merges and suppressions (drawn as pairs of one location) the index says what counting again says.
    """
    index = SupportIndex.of(as_sequences(crowd), size=size, k=k)
    for kept, absorbed in actions:
        if kept == absorbed:
            index.suppress(kept)
            crowd = [(user, tuple(x for x in t if x != kept)) for user, t in crowd]
        else:
            index.merge(kept, absorbed)
            crowd = [(user, tuple(kept if x == absorbed else x for x in t)) for user, t in crowd]
        assert index.infrequent() == oracles.infrequent(crowd, k, size)


def test_sizes_start_at_one() -> None:
    """
    The empty subtrajectory has no support worth counting: asking for it is a mistake.
    """
    window = as_sequences([(0, (0,))])
    with pytest.raises(ValueError, match="empty"):
        support((), window)
    with pytest.raises(ValueError, match="size is 0"):
        subtrajectories(window, 0)
