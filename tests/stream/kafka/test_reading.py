"""Reading partitions."""

from __future__ import annotations

import asyncio

import pytest

from stream.kafka.reading import of_each


async def test_partitions_are_read_together_and_answered_in_order() -> None:
    """However long each takes; but not all at once, because each has connections of its own."""
    at_once, most = 0, 0

    async def read(number: int) -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01 if number % 2 else 0)
        at_once -= 1
        return 10 * number

    assert await of_each(range(100), read) == [10 * number for number in range(100)]
    assert 1 < most < 100
    assert await of_each([], read) == []


async def test_a_fault_ends_the_others() -> None:
    """What failed is said as it is, and nobody goes on reading."""
    ended: list[int] = []

    async def read(number: int) -> None:
        if number == 3:
            raise LookupError("partition 3")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(number)

    with pytest.raises(LookupError, match="partition 3"):
        await of_each(range(6), read)
    assert sorted(ended) == [0, 1, 2, 4, 5]
