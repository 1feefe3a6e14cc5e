"""Messages in order: whatever Faust hands over, each message of the log is taken once, in ascending order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.windows.ordered_messages import OrderedMessages


class FakeLog:
    """A partition that holds messages at some offsets; it records what was read beside Faust."""

    def __init__(self, offsets: Sequence[int], *, begin: int = 0, batch: int = 3) -> None:
        self.offsets, self.first_wanted, self._batch = sorted(offsets), begin, batch
        self.read_ranges: list[tuple[int, int]] = []
        self.is_closed = True

    async def begin(self) -> int:
        return self.first_wanted

    async def read(self, first: int, end: int) -> AsyncGenerator[Sequence[tuple[int, bytes]]]:
        self.read_ranges.append((first, end))
        self.is_closed = False
        try:
            found = [offset for offset in self.offsets if first <= offset < end]
            for at in range(0, len(found), self._batch):
                await asyncio.sleep(0)
                yield [(offset, value(offset)) for offset in found[at : at + self._batch]]
            yield []
        finally:
            self.is_closed = True


class Taker:
    """Takes messages, each in its own time."""

    def __init__(self) -> None:
        self.offsets: list[int] = []

    async def __call__(self, offset: int, message: bytes) -> None:
        await asyncio.sleep(0)
        assert message == value(offset)
        self.offsets.append(offset)


def value(offset: int) -> bytes:
    return b"message %d" % offset


class Scene:
    def __init__(self, log: FakeLog) -> None:
        self.log, self.taker, self.passed_over = log, Taker(), 0
        self.messages = OrderedMessages(0, log, self.taker, on_passed_over=self._count)

    def _count(self, n: int) -> None:
        self.passed_over += n

    async def hand_over(self, *offsets: int) -> None:
        for offset in offsets:
            await self.messages.accept(offset, value(offset))


async def begun(log: FakeLog) -> Scene:
    scene = Scene(log)
    await scene.messages.begin()
    return scene


@pytest.mark.parametrize(
    ("begin", "held", "handed_over", "beside"),
    [
        pytest.param(0, range(6), [0, 1, 2, 3, 4, 5], 0, id="in order"),
        pytest.param(2, range(6), [2, 3, 4, 5], 0, id="from the committed offset"),
        pytest.param(0, range(6), [4, 5], 4, id="from the middle"),
        pytest.param(0, range(6), [4, 0, 1, 2, 3, 4, 5], 4, id="one from before the rebalance comes first"),
        pytest.param(0, range(6), [2, 3, 0, 1, 2, 3, 4, 5], 2, id="some from before the rebalance come first"),
        pytest.param(0, range(6), [5, 4, 3, 2, 1, 0], 5, id="backwards"),
        pytest.param(0, range(6), [0, 1, 2, 0, 1, 2, 3, 4, 5], 0, id="again from the beginning"),
        pytest.param(0, range(6), [0, 1, 4, 5], 2, id="a gap"),
        pytest.param(0, range(6), [0, 2, 4, 5], 2, id="gaps"),
        pytest.param(3, range(6), [0, 1, 2, 3, 4, 5], 0, id="from below the committed offset"),
        pytest.param(0, [0, 1, 4, 5], [0, 1, 4, 5], 0, id="the log itself has a gap"),
        pytest.param(0, [0, 1, 3, 5], [0, 5], 2, id="a gap about gaps of the log"),
        pytest.param(3, [3, 4, 5], [3, 4, 5], 0, id="a log of which the beginning is deleted"),
        pytest.param(0, [3, 4, 5], [4, 5], 1, id="the beginning is deleted between asking and reading"),
    ],
)
async def test_every_message_is_taken_once_and_in_order(
    begin: int, held: Sequence[int], handed_over: list[int], beside: int
) -> None:
    """
    Stale messages first, gaps, repeated ones, a log with gaps or without its beginning: what is taken is what the log
    holds from the first wanted offset on.
    """
    scene = await begun(FakeLog(held, begin=begin))
    await scene.hand_over(*handed_over)
    assert scene.taker.offsets == [offset for offset in held if offset >= begin]
    assert scene.messages.next_offset == 6
    assert scene.passed_over == beside


@given(
    held=st.sets(st.integers(0, 15), min_size=1),
    begin=st.integers(0, 15),
    deliveries=st.lists(st.integers(0, 15), max_size=30),
    catch_ups=st.sets(st.integers(0, 30)),
)
def test_whatever_is_handed_over(held: set[int], begin: int, deliveries: list[int], catch_ups: set[int]) -> None:
    """
    Any messages of a log in any order, with the log read to its end now and then: the messages that were taken are
    always the first that are wanted, none left out, and at the end all of them.
    """
    wanted = [offset for offset in sorted(held) if offset >= begin]

    async def run() -> None:
        scene = await begun(FakeLog(sorted(held), begin=begin))
        for i, offset in enumerate(deliveries):
            if offset in held:
                await scene.hand_over(offset)
            if i in catch_ups:
                await scene.messages.catch_up(max(held) + 1)
            assert scene.taker.offsets == wanted[: len(scene.taker.offsets)]
        await scene.messages.catch_up(max(held) + 1)
        assert scene.taker.offsets == wanted
        assert scene.log.is_closed

    asyncio.run(run())


async def test_the_end_is_caught_up_with_although_nothing_follows() -> None:
    """
    Messages at the end that were never handed over are read from the log; what comes of them later is dropped. An
    end without messages counts as read.
    """
    scene = await begun(FakeLog(range(4)))
    await scene.messages.catch_up(6)
    await scene.hand_over(2, 3)
    assert scene.taker.offsets == [0, 1, 2, 3]
    assert scene.messages.next_offset == 6


async def test_who_catches_up_and_who_hands_over_do_not_mix() -> None:
    """
    Messages that are handed over while the log is read wait, and are dropped where the log gave them.
    """
    scene = await begun(FakeLog(range(20)))
    await asyncio.gather(scene.messages.catch_up(20), scene.hand_over(*range(5, 20)), scene.hand_over(*range(20)))
    assert scene.taker.offsets == list(range(20))


async def test_nothing_is_taken_before_it_is_known_where_to_begin() -> None:
    """
    A message that comes too early is dropped: the log still has it.
    """
    scene = Scene(FakeLog(range(3)))
    await scene.hand_over(0, 1)
    await scene.messages.catch_up(3)
    assert scene.taker.offsets == []
    await scene.messages.begin()
    await scene.hand_over(2)
    assert scene.taker.offsets == [0, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 5])
async def test_whoever_is_stopped_takes_nothing_more(n: int) -> None:
    """
    A partition that is lost while its log is read: nothing is taken after that, and the reader is closed.
    """
    scene = Scene(FakeLog(range(20)))

    async def take(offset: int, message: bytes) -> None:
        await scene.taker(offset, message)
        if len(scene.taker.offsets) == n:
            scene.messages.stop()

    scene.messages = OrderedMessages(0, scene.log, take, on_passed_over=scene._count)
    await scene.messages.begin()
    if n == 0:
        scene.messages.stop()
    await scene.hand_over(15, 16)
    await scene.messages.catch_up(20)
    assert scene.taker.offsets == list(range(n))
    assert scene.log.is_closed


async def test_what_is_cancelled_is_taken_later() -> None:
    """
    A catching up that is cancelled while a message is taken has not taken it; the next one begins with it.
    """
    scene = await begun(FakeLog(range(6)))
    catching_up = asyncio.create_task(scene.messages.catch_up(6))
    while len(scene.taker.offsets) < 2:  # noqa: ASYNC110 - at any moment: there is no event
        await asyncio.sleep(0)
    catching_up.cancel()
    await asyncio.gather(catching_up, return_exceptions=True)
    assert scene.log.is_closed
    await scene.hand_over(5)
    assert scene.taker.offsets == list(range(6))
