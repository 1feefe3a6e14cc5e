"""Traces of earlier windows: parts of a message's size, regions, and a digest that tells every difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import Kind
from core.windows import history as module
from core.windows.history import NO_HISTORY, History, Trace
from core.windows.window import WindowKey, WindowPolicy
from stream.formats.errors import DecodeError
from stream.formats.seals import seal_from_bytes, seal_key, seal_to_bytes

KEY = WindowKey(20, Kind.FRAGMENTS, "a", 10)
ENTRIES = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**31)), max_size=12)
LABELS = st.lists(st.text(max_size=5), max_size=3)


def trace(entries: list[tuple[int, int]], labels: list[str] | None = None, key: WindowKey = KEY) -> Trace:
    users, groups = [user for user, _ in sorted(entries)], [group for _, group in sorted(entries)]
    return Trace(
        key=key,
        users=np.array(users, dtype=np.uint64),
        groups=np.array(groups, dtype=np.int64),
        labels=tuple(labels or ()),
    )


def plain(one: Trace) -> tuple[object, ...]:
    return one.key, one.users.tolist(), one.groups.tolist(), one.labels


@given(ENTRIES, LABELS, st.integers(1, 5))
def test_parts_make_a_whole(entries: list[tuple[int, int]], labels: list[str], size: int) -> None:
    """
    A trace is written in parts, each a message of its own, and read in any order.
    """
    one = trace(entries, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PEOPLE_OF_A_PART", size)
        parts = list(one.parts())
    assert len(parts) == max(1, -(-len(entries) // size))
    assert len({seal_key(part) for part in parts}) == len(parts)
    read = [seal_from_bytes(seal_to_bytes(part)) for part in reversed(parts)]
    assert plain(Trace.whole([part for part in read if isinstance(part, Trace)])) == plain(one)


@given(st.lists(ENTRIES, max_size=4))
def test_regions_are_one_window(regions: list[list[tuple[int, int]]]) -> None:
    """
    Two people share a group of the window if they share a group of one region, and not otherwise.
    """
    joined = Trace.of_regions(KEY, [trace(entries) for entries in regions])
    found = sorted(zip(joined.users.tolist(), joined.groups.tolist(), strict=True))
    assert list(zip(joined.users.tolist(), joined.groups.tolist(), strict=True)) == found
    expected = sorted((user, (number, group)) for number, one in enumerate(regions) for user, group in one)
    name = {group: numbered for numbered, group in enumerate(sorted({group for _, group in expected}))}
    numbers = {group: numbered for numbered, group in enumerate(sorted({group for _, group in found}))}
    assert sorted((user, name[group]) for user, group in expected) == sorted((u, numbers[g]) for u, g in found)


def test_labels_of_regions_stay_with_their_groups() -> None:
    joined = Trace.of_regions(KEY, [trace([(7, 0), (9, 1)], ["x", "y"]), trace([(8, 0)], ["z"])])
    labels = {user: joined.labels[group] for user, group in zip(joined.users.tolist(), joined.groups, strict=True)}
    assert labels == {7: "x", 9: "y", 8: "z"}


@given(st.integers(1, 4), st.integers(1, 5), st.integers(-30, 30), st.integers(1, 9))
def test_no_window_after_the_last_to_know_depends_on_a_trace(horizon: int, size: int, end: int, own: int) -> None:
    """
    The last one does depend on it, if the trace is of a window of the same size; windows had another size before a
    change of settings.
    """
    policy = WindowPolicy(size_ms=size, allowed_lateness_ms=0, idle_timeout_ms=0, max_open=1, horizon=horizon)
    one = trace([(7, 0)], key=WindowKey(end, Kind.FRAGMENTS, "a", end - own))
    last = policy.last_to_know(one.key)
    later = [WindowKey(start + size, Kind.FRAGMENTS, "a", start) for start in range(-40 * size, 80 * size, size)]
    dependent = [key for key in later if History.of(key, [one], horizon=horizon).traces]
    assert all(key <= last for key in dependent)
    assert last in later
    if end % size == 0 and horizon > 1:
        assert dependent[-1] == last


def test_the_digest_tells_every_difference() -> None:
    one = trace([(7, 0), (9, 1)], ["x", "y"])
    others = [
        trace([(7, 0), (8, 1)], ["x", "y"]),
        trace([(7, 1), (9, 1)], ["x", "y"]),
        trace([(7, 0), (9, 1)], ["x", "z"]),
        trace([(7, 0)], ["x", "y"]),
        replace(one, key=WindowKey(30, Kind.FRAGMENTS, "a", 20)),
        replace(one, key=WindowKey(20, Kind.FRAGMENTS, "b", 10)),
    ]
    histories = [NO_HISTORY, *(History(traces=(each,)) for each in (one, *others)), History(traces=(one, others[0]))]
    assert len({each.digest for each in histories}) == len(histories)
    assert History(traces=(trace([(9, 1), (7, 0)], ["x", "y"]),)).digest == History(traces=(one,)).digest


def test_nothing_of_a_person_is_shown() -> None:
    """
    A trace and a history can be in a traceback or a log; a keyed hash must not be.
    """
    one = trace([(123_456_789, 4_242)], ["secret"])
    for text in (repr(one), str(one), repr(History(traces=(one,)))):
        assert "123456789" not in text
        assert "4242" not in text
        assert "secret" not in text


@pytest.mark.parametrize("n", [1, 7, 9])
def test_a_damaged_trace_is_refused(n: int) -> None:
    value = seal_to_bytes(trace([(7, 0)])).replace(b'"users":"BwAAAAAAAAA="', b'"users":"%s"' % (b"AAAA" * n))
    with pytest.raises(DecodeError):
        seal_from_bytes(value)


def test_columns_are_equally_long() -> None:
    with pytest.raises(ValueError, match="1 users for 2 groups"):
        Trace(key=KEY, users=np.zeros(1, np.uint64), groups=np.zeros(2, np.int64))
