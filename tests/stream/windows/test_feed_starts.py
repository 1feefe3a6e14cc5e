"""First offsets: where a feed begins that does not begin with the oldest records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from stream.windows.feed_starts import first_offsets

A, B, C = (TopicPartition("topic", number) for number in range(3))


class Consumer:
    """Three partitions with ends; A has a record at or after the instant, B has none, and C gets one in between."""

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {at: {A: 40, B: 9, C: 5}[at] for at in partitions}

    async def offsets_for_times(self, instants: Mapping[TopicPartition, int]) -> dict[TopicPartition, Any]:
        assert set(instants.values()) == {1000}
        found = {A: SimpleNamespace(offset=12), B: None, C: SimpleNamespace(offset=6)}
        return {at: found[at] for at in instants}


@pytest.mark.parametrize(("start", "offsets"), [("latest", {A: 40, B: 9, C: 5}), (1000, {A: 12, B: 9, C: 5})])
async def test_the_first_offset_is_never_beyond_the_end(start: str | int, offsets: dict[TopicPartition, int]) -> None:
    """
    An instant after the last record means the end; a record that comes while it is looked up is not passed over.
    """
    assert await first_offsets(Consumer(), [A, B, C], start) == offsets
    assert await first_offsets(Consumer(), [], start) == {}
