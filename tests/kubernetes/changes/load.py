"""A live feed of check-ins at a steady rate, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator

import numpy as np
from aiokafka import AIOKafkaProducer

__all__ = ["LiveFeed"]

_BATCH_S = 0.1
_STREETS = 4
"""People are at the corners of so many streets by so many."""


class LiveFeed:
    """Check-ins of now, sent for as long as a ``with`` block.

    Args:
        bootstrap_servers: Where Kafka is.
        topic: The input topic.
        rate: Records a second.
        people: How many people they are of.
        seed: Decides who is where.
    """

    def __init__(self, bootstrap_servers: str, topic: str, *, rate: int, people: int, seed: int) -> None:
        self._servers, self._topic = bootstrap_servers, topic
        self._rate, self._people = rate, people
        self._rng = np.random.default_rng(seed)
        self._stop = threading.Event()
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="live feed")
        self.sent = 0
        """Records so far, all acknowledged at the end of the block."""

    def _run(self) -> None:
        try:
            asyncio.run(self._send())
        except Exception as fault:
            self._fault = fault

    async def _send(self) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self._servers, acks="all", linger_ms=20, compression_type="lz4")
        await producer.start()
        try:
            begun_s = time.monotonic()
            while not self._stop.is_set():
                due = round((time.monotonic() - begun_s) * self._rate) - self.sent
                for key, value in self._records(due):
                    await producer.send(self._topic, value, key=key)
                self.sent += due
                await asyncio.sleep(_BATCH_S)
            await producer.flush()
        finally:
            await producer.stop()

    def _records(self, n: int) -> Iterator[tuple[bytes, bytes]]:
        users = self._rng.integers(0, self._people, n).tolist()
        corners = self._rng.integers(0, _STREETS, (n, 2)).tolist()
        now_s = time.time()
        for user, (row, column) in zip(users, corners, strict=True):
            where = {"lat": 48.2 + row / 100, "lon": 16.3 + column / 100}
            yield b"u%d" % user, json.dumps({"user": f"u{user}", "ts": round(now_s, 3), **where}).encode()

    def __enter__(self) -> LiveFeed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._fault is not None:
            raise self._fault
