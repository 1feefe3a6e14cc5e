"""Ingest without a cluster: what its chunks claim."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry

from core.records import Chunk
from stream.codec import chunk_from_bytes
from stream.ingest import Ingest
from stream.metrics import Metrics
from stream.settings import load_settings
from stream.wiring import wire

START_S = 1_700_000_000


class Message(NamedTuple):
    offset: int
    value: bytes


class Producer:
    """Keeps what is sent to the shards topic."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    async def send_and_wait(self, topic: str, value: bytes, **_: Any) -> None:
        self.chunks.append(chunk_from_bytes(value))


async def test_no_chunk_speaks_for_the_other_shards_of_its_batch() -> None:
    """
    A batch gives one chunk per shard, and windows may be sealed between them. So a chunk claims only that the source
    is complete up to the batch: up to its oldest record, or to the newest of the batches before.
    """
    settings = load_settings(
        given={
            "topics.fragments": "",
            "shard.kind": "user",
            "shard.cohorts": 3,
            "privacy.secret": "sixteen characters or more",
        }
    )
    producer = Producer()
    ingest = Ingest(
        settings,
        wire(settings),
        producer,
        Metrics(CollectorRegistry()),
        n_partitions=2,
        now_ms=lambda: START_S * 1000,
        on_trouble=lambda: None,
    )

    async def forward(*seconds: int) -> set[tuple[str, int | None]]:
        producer.chunks.clear()
        messages = [
            Message(i, json.dumps({"user": f"u{i}", "ts": START_S + second, "lat": 48.2, "lon": 16.3}).encode())
            for i, second in enumerate(seconds)
        ]
        await ingest._forward(TopicPartition(settings.topics.checkins, 0), messages)
        return {(chunk.shard, chunk.complete_ms) for chunk in producer.chunks}

    # 10 ... 40 | 35 ... 90 | 95 ... 99
    claims = [await forward(*range(10, 41)), await forward(*range(35, 91)), await forward(*range(95, 100))]
    assert all(len(claim) > 1 for claim in claims)
    assert [{ms for _, ms in claim} for claim in claims] == [{(START_S + second) * 1000} for second in (10, 40, 95)]
