"""Rosters of earlier windows: parts of a message's size, cells, and a digest that tells every difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import RUN, Kind, Rows
from core.windows import history as module
from core.windows.history import NO_HISTORY, History, Roster
from core.windows.window import WindowKey, WindowPolicy
from stream.formats.errors import DecodeError
from stream.formats.seals import LONGEST_SEAL_BYTES, seal_from_bytes, seal_key, seal_to_bytes

KEY = WindowKey(20, Kind.FRAGMENTS, "a", 10)
ENTRIES = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**31)), max_size=12)
LABELS = st.lists(st.text(max_size=5), max_size=3)


def roster(entries: list[tuple[int, int]], labels: list[str] | None = None, key: WindowKey = KEY) -> Roster:
    users, groups = [user for user, _ in sorted(entries)], [group for _, group in sorted(entries)]
    return Roster(
        key=key,
        users=np.array(users, dtype=np.uint64),
        groups=np.array(groups, dtype=np.int64),
        labels=tuple(labels or ()),
    )


def plain(one: Roster) -> tuple[object, ...]:
    return one.key, one.users.tolist(), one.groups.tolist(), one.labels, one.carried.tolist()


def runs(*users: int) -> Rows:
    """Runs of people that have gone on since another time each."""
    found = np.zeros(len(users), RUN)
    found["user"], found["first_ms"], found["lat"] = users, np.arange(len(users)), np.linspace(-90, 90, len(users))
    return found


def test_what_is_carried_comes_from_the_newest_window_before() -> None:
    """
    However long ago it was; rosters within the horizon alone are part of the promise.
    """
    keys = [WindowKey(end_ms, Kind.STOPS, "a", end_ms - 10) for end_ms in (20, 40, 100)]
    rosters = [replace(Roster.of_nobody(key), carried=runs(i)) for i, key in enumerate(keys)]
    found = History.of(WindowKey(90, Kind.STOPS, "a", 80), rosters, horizon=2)
    assert (found.rosters, found.carried["user"].tolist()) == ((), [1])
    assert History.of(keys[0], rosters, horizon=2).digest == NO_HISTORY.digest


@given(ENTRIES, LABELS, st.integers(0, 9), st.integers(1, 5), st.integers(1, 12))
def test_parts_make_a_whole(
    entries: list[tuple[int, int]], labels: list[str], n_runs: int, size: int, characters: int
) -> None:
    """
    A roster is written in parts, each a message of its own, and read in any order.
    """
    one = replace(roster(entries, labels), carried=runs(*range(n_runs)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PEOPLE_OF_A_PART", size)
        patch.setattr(module, "_RUNS_OF_A_PART", size)
        patch.setattr(module, "_LABELS_OF_A_PART", characters)
        parts = list(one.parts())
    fewest, of_runs = max(1, -(-len(entries) // size)), -(-n_runs // size)
    assert fewest + of_runs <= len(parts) <= max(fewest, len(labels)) + of_runs
    assert all(len(part.users) <= size for part in parts)
    assert all(len(part.carried) <= size for part in parts)
    assert all(len("".join(part.labels)) <= characters or len(part.labels) == 1 for part in parts)
    assert len({seal_key(part) for part in parts}) == len(parts)
    read = [seal_from_bytes(seal_to_bytes(part)) for part in reversed(parts)]
    assert plain(Roster.whole([part for part in read if isinstance(part, Roster)])) == plain(one)


def test_the_bytes_of_a_roster_keep_the_name_that_topics_know() -> None:
    """
    Topics hold messages of an earlier word: with another one a window would be released without its history.
    """
    one = roster([(7, 1)], ["x"])
    assert seal_key(one) == b"trace|fragments|a|10|20|0"
    assert seal_to_bytes(one) == (
        b'{"type":"trace","kind":"fragments","shard":"a","start_ms":10,"end_ms":20,"part":0,"n_parts":1,'
        b'"users":"BwAAAAAAAAA=","groups":"AQAAAA==","labels":["x"]}'
    )


def test_the_longest_part_is_as_short_as_a_topic_must_accept() -> None:
    """
    Of a crowd in which everybody has a label of quotation marks, which JSON writes as two characters each.
    """
    entries = [(2**64 - 1 - user, 2**31) for user in range(20_000)]
    parts = list(roster(entries, ['"' * 30] * 20_000).parts())
    assert len(parts) > 2
    assert max(len(seal_to_bytes(part)) for part in parts) < LONGEST_SEAL_BYTES


@given(st.lists(ENTRIES, max_size=4))
def test_cells_are_one_window(cells: list[list[tuple[int, int]]]) -> None:
    """
    Two people share a group of the window if they share a group of one cell, and not otherwise.
    """
    joined = Roster.of_cells(KEY, [roster(entries) for entries in cells])
    found = sorted(zip(joined.users.tolist(), joined.groups.tolist(), strict=True))
    assert list(zip(joined.users.tolist(), joined.groups.tolist(), strict=True)) == found
    expected = sorted((user, (number, group)) for number, one in enumerate(cells) for user, group in one)
    name = {group: numbered for numbered, group in enumerate(sorted({group for _, group in expected}))}
    numbers = {group: numbered for numbered, group in enumerate(sorted({group for _, group in found}))}
    assert sorted((user, name[group]) for user, group in expected) == sorted((u, numbers[g]) for u, g in found)


def test_labels_of_cells_stay_with_their_groups() -> None:
    joined = Roster.of_cells(KEY, [roster([(7, 0), (9, 1)], ["x", "y"]), roster([(8, 0)], ["z"])])
    labels = {user: joined.labels[group] for user, group in zip(joined.users.tolist(), joined.groups, strict=True)}
    assert labels == {7: "x", 9: "y", 8: "z"}


@given(st.integers(1, 4), st.integers(1, 5), st.integers(-30, 30), st.integers(1, 9))
def test_no_window_after_the_last_dependent_one_depends_on_a_roster(
    horizon: int, size: int, end: int, own: int
) -> None:
    """
    The last one does depend on it, if the roster is of a window of the same size; windows had another size before a
    change of settings.
    """
    policy = WindowPolicy(size_ms=size, allowed_lateness_ms=0, idle_timeout_ms=0, max_open=1, horizon=horizon)
    one = roster([(7, 0)], key=WindowKey(end, Kind.FRAGMENTS, "a", end - own))
    last = policy.last_dependent_window(one.key)
    later = [WindowKey(start + size, Kind.FRAGMENTS, "a", start) for start in range(-40 * size, 80 * size, size)]
    dependent = [key for key in later if History.of(key, [one], horizon=horizon).rosters]
    assert all(key <= last for key in dependent)
    assert last in later
    if end % size == 0 and horizon > 1:
        assert dependent[-1] == last


def test_the_digest_tells_every_difference() -> None:
    one = roster([(7, 0), (9, 1)], ["x", "y"])
    others = [
        roster([(7, 0), (8, 1)], ["x", "y"]),
        roster([(7, 1), (9, 1)], ["x", "y"]),
        roster([(7, 0), (9, 1)], ["x", "z"]),
        roster([(7, 0)], ["x", "y"]),
        replace(one, key=WindowKey(30, Kind.FRAGMENTS, "a", 20)),
        replace(one, key=WindowKey(20, Kind.FRAGMENTS, "b", 10)),
    ]
    histories = [
        NO_HISTORY,
        History(carried=runs(3)),
        History(carried=runs(3, 4)),
        *(History(rosters=(each,)) for each in (one, *others)),
        History(rosters=(one, others[0])),
    ]
    assert len({each.digest for each in histories}) == len(histories)
    assert History(rosters=(roster([(9, 1), (7, 0)], ["x", "y"]),)).digest == History(rosters=(one,)).digest


def test_nothing_of_a_person_is_shown() -> None:
    """
    A roster and a history can be in a traceback or a log; a keyed hash must not be.
    """
    one = roster([(123_456_789, 4_242)], ["secret"])
    for text in (repr(one), str(one), repr(History(rosters=(one,)))):
        assert "123456789" not in text
        assert "4242" not in text
        assert "secret" not in text


@pytest.mark.parametrize("n", [1, 7, 9])
def test_a_damaged_roster_is_refused(n: int) -> None:
    whole = seal_to_bytes(replace(roster([(7, 0)]), carried=runs(7)))
    runs_in_it = whole.partition(b'"carried":"')[2].partition(b'"')[0]
    for column in (b"BwAAAAAAAAA=", runs_in_it):
        assert column in whole
        with pytest.raises(DecodeError):
            seal_from_bytes(whole.replace(column, b"AAAA" * n))


def test_columns_are_equally_long() -> None:
    with pytest.raises(ValueError, match="1 users for 2 groups"):
        Roster(key=KEY, users=np.zeros(1, np.uint64), groups=np.zeros(2, np.int64))
