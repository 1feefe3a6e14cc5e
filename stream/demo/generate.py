"""Generate: writes the simulated city's feed to a file, or sends it to the input topics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from aiokafka import AIOKafkaProducer

from core.records.record import Kind
from stream.demo.city.delivery import Message

__all__ = ["send_messages", "write_messages"]

_MOST_AHEAD = 5_000


def write_messages(
    messages: Iterable[Message], kind: Kind, path: Path, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Write the records of one kind as NDJSON and return how many there are."""
    n = 0
    with path.open("wb") as out:
        for message in messages:
            if message.kind is kind:
                out.write(message.value + b"\n")
                n += 1
                progress(message.arrival_ms)
    return n


async def send_messages(
    messages: Iterable[Message],
    producer: AIOKafkaProducer,
    topics: dict[Kind, str],
    *,
    speed: float | None,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Send records in the order of their arrival, keyed by user, and return how many there were.

    Args:
        messages: The messages to send.
        producer: A started producer.
        topics: The topic of each kind; an empty name leaves that kind out.
        speed: How many times faster than the clock; None sends as fast as the broker accepts.
        progress: Called with the arrival time of each sent message, Unix milliseconds.
    """
    begun_s = time.monotonic()
    first_ms: int | None = None
    unacknowledged: list[asyncio.Future[object]] = []
    n = 0
    for message in messages:
        if not topics[message.kind]:
            continue
        first_ms = message.arrival_ms if first_ms is None else first_ms
        if speed is not None:
            wait_s = (message.arrival_ms - first_ms) / 1000 / speed - (time.monotonic() - begun_s)
            if wait_s > 0:
                await asyncio.sleep(wait_s)
        unacknowledged.append(await producer.send(topics[message.kind], message.value, key=message.key))
        n += 1
        if len(unacknowledged) >= _MOST_AHEAD:
            await asyncio.gather(*unacknowledged)
            unacknowledged.clear()
        progress(message.arrival_ms)
    await asyncio.gather(*unacknowledged)
    return n
