"""The buffer of a window: what it holds, beside a list of rows, and how little it needs for them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import POINT, VISIT, Chunk, Kind, Source
from core.windows.buffer import WindowBuffer
from core.windows.partition import Partition
from core.windows.seal import Seal
from core.windows.window import WindowPolicy


def visits(first: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    return np.array([(i, i % 7, i, i % 3, i % 5) for i in range(first, first + n)], dtype=VISIT)


@given(sizes=st.lists(st.integers(0, 40), max_size=30), cut=st.integers(-1, 70))
def test_it_holds_what_was_added_and_trims_by_offset(sizes: list[int], cut: int) -> None:
    """
    Rows stay in their order; trimming drops exactly those of later offsets, and what is added afterwards follows.
    """
    buffer, expected, n = WindowBuffer(Kind.CHECKINS), [], 0
    for i, size in enumerate(sizes):
        rows = visits(n, size)
        buffer.add(2 * i, rows)
        expected.append((2 * i, rows))
        n += size
    assert buffer.first_offset == (0 if sizes else None)
    assert len(buffer) == n
    assert np.array_equal(buffer.rows, np.concatenate([visits(0, 0), *(rows for _, rows in expected)]))

    kept = [visits(0, 0), *(rows for offset, rows in expected if offset <= cut)]
    assert buffer.trim(cut) == n - sum(map(len, kept))
    buffer.add(1_000, visits(n, 3))
    assert np.array_equal(buffer.rows, np.concatenate([*kept, visits(n, 3)]))


def test_rows_of_both_kinds() -> None:
    """
    Check-ins and points keep their own columns.
    """
    assert WindowBuffer(Kind.CHECKINS).rows.dtype == VISIT
    assert WindowBuffer(Kind.FRAGMENTS).rows.dtype == POINT


@pytest.mark.parametrize("rows_a_chunk", [pytest.param(1, marks=pytest.mark.deep), 20, 5_000])
def test_a_buffered_check_in_takes_less_than_100_bytes(rows_a_chunk: int) -> None:
    """
    All that a partition keeps for 60,000 check-ins, over three open windows and four sources, whatever the chunks'
    sizes: a lively feed brings thousands of rows a chunk, a sleepy one with many shards one.
    """
    n = 60_000
    policy = WindowPolicy(size_ms=25_000, allowed_lateness_ms=0, idle_timeout_ms=10_000, max_open=10)
    partition = Partition(
        {Kind.CHECKINS: policy},
        lambda key, last, rows, _: Seal(key=key, last_offset=last, n_rows=rows, release_id="", digest="", writer=""),
    )
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for offset, first in enumerate(range(0, n, rows_a_chunk)):
        chunk = Chunk(
            kind=Kind.CHECKINS,
            shard="all",
            source=Source("checkins", offset % 4),
            n_partitions=4,
            vocabulary="",
            rows=visits(first, rows_a_chunk),
        )
        partition.accept(chunk, offset, clock_ms=0)
    del chunk
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert partition.buffered_rows == n
    assert used / n < 100
