"""How often Python looks for reference cycles in a process that reads feeds."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from stream.cli.garbage import collect_garbage_rarely


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    """The thresholds of this process, which are set back."""
    thresholds = gc.get_threshold()
    yield thresholds
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_a_batch_of_records_is_read_without_a_search(usual: tuple[int, int, int]) -> None:
    """
    Nor is what was there before ever searched again.
    """
    collect_garbage_rarely()
    searched = [one["collections"] for one in gc.get_stats()]
    batch = [{"user": i, "position": (i, i)} for i in range(5_000)]
    assert [one["collections"] for one in gc.get_stats()] == searched
    assert len(batch) == 5_000
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] > 10 * usual[0]
