"""Windows: half-open, aligned to the epoch, and in the order of release."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import Kind
from core.windows.window import Window, WindowKey, window_starts


def windows_of(*ts_ms: int, size_ms: int) -> list[Window]:
    return [Window(start, start + size_ms) for start in window_starts(np.array(ts_ms), size_ms=size_ms).tolist()]


def test_a_record_on_the_edge_belongs_to_the_later_window() -> None:
    """
    Windows are half-open: end_ms is the first instant outside.
    """
    #      t=19 t=20
    # [10------)
    #          [20-------)
    assert windows_of(19, 20, size_ms=10) == [Window(10, 20), Window(20, 30)]


def test_windows_are_aligned_to_the_epoch_on_both_sides_of_it() -> None:
    """
    Before 1970 windows have the same edges: they do not shrink or double at zero.
    """
    #        t=-11 t=-10 t=-1  t=0
    # [-20-----)
    #            [-10-------)
    #                         [0------)
    assert windows_of(-11, -10, -1, 0, size_ms=10) == [
        Window(-20, -10),
        Window(-10, 0),
        Window(-10, 0),
        Window(0, 10),
    ]


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**10))
def test_every_instant_has_one_window(ts_ms: int, size_ms: int) -> None:
    """
    The window contains the instant, has its length, and begins at a multiple of it.
    """
    (window,) = windows_of(ts_ms, size_ms=size_ms)
    assert window.start_ms <= ts_ms < window.end_ms
    assert window.end_ms - window.start_ms == size_ms
    assert window.start_ms % size_ms == 0


def test_no_instants_have_no_windows() -> None:
    """
    An empty column stays empty, and integers.
    """
    starts = window_starts(np.empty(0, dtype=np.int64), size_ms=10)
    assert len(starts) == 0
    assert starts.dtype == np.int64


def test_windows_are_released_in_the_order_of_their_ends() -> None:
    """
    Keys sort by end first, so an earlier window of any shard comes before a later one of any other.
    """
    #  shard z  [0---10)
    #  shard a       [10---20)
    #  shard b       [10---20)
    keys = [
        WindowKey(20, Kind.CHECKINS, "b", 10),
        WindowKey(20, Kind.CHECKINS, "a", 10),
        WindowKey(10, Kind.FRAGMENTS, "z", 0),
    ]
    assert [key.shard for key in sorted(keys)] == ["z", "a", "b"]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_key_knows_its_span(kind: Kind) -> None:
    """
    A key is a window of one shard.
    """
    assert WindowKey(20, kind, "all", 10).window == Window(10, 20)
