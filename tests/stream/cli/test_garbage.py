"""How often Python looks for reference cycles in a process that reads feeds."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from stream.cli.garbage import collect_garbage_rarely


@pytest.fixture
def _usual_thresholds() -> Iterator[None]:
    """Python's own thresholds, whatever a test of this process set before."""
    thresholds = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("_usual_thresholds")
def test_a_batch_of_records_is_read_without_a_search() -> None:
    """
    Nor is what was there before ever searched again.
    """
    collect_garbage_rarely()
    searched = [one["collections"] for one in gc.get_stats()]
    batch = [{"user": i, "position": (i, i)} for i in range(5_000)]
    assert [one["collections"] for one in gc.get_stats()] == searched
    assert len(batch) == 5_000
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] > 10 * 700
