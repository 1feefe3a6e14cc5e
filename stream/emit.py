"""Emit: the messages of a release leave, the windows message last, all acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from aiokafka import AIOKafkaProducer

from stream.codec import OutMessage
from stream.kafka import until_it_works

__all__ = ["Emitter"]


class Emitter:
    """Sends releases.

    Args:
        producer: A started producer.
        topics: For ``anonymized`` and ``windows`` the topic's name.
        on_trouble: Called whenever the cluster does not do as asked.
    """

    def __init__(
        self, producer: AIOKafkaProducer, topics: Mapping[str, str], *, on_trouble: Callable[[], None]
    ) -> None:
        self._producer, self._topics, self._on_trouble = producer, topics, on_trouble

    async def emit(self, messages: Sequence[OutMessage], *, headers: Sequence[tuple[str, bytes]]) -> None:
        """Send a release and return when all of it is acknowledged.

        Repeating it sends the same bytes under the same keys. What differs from run to run, such as durations, goes
        into the headers of the windows message.

        Args:
            messages: Trajectories, then the windows message.
            headers: Headers of the windows message.
        """
        *trajectories, window = messages

        async def send_trajectories() -> None:
            await asyncio.gather(*[await self._send(message, ()) for message in trajectories])

        async def send_window() -> None:
            await (await self._send(window, headers))

        await until_it_works("emit trajectories", send_trajectories, on_trouble=self._on_trouble)
        await until_it_works("emit a windows message", send_window, on_trouble=self._on_trouble)

    async def _send(self, message: OutMessage, headers: Sequence[tuple[str, bytes]]) -> asyncio.Future[object]:
        sent: asyncio.Future[object] = await self._producer.send(
            self._topics[message.topic],
            message.value,
            key=message.key,
            timestamp_ms=message.timestamp_ms,
            headers=list(headers),
        )
        return sent
