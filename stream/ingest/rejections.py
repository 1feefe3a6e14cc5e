"""Sends dead letters: why records were rejected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer

from core.records.record import Kind, Rejected
from stream.formats.dead_letters import dead_letter
from stream.kafka.client import Trouble, until_it_works

__all__ = ["send_dead_letters"]


async def send_dead_letters(
    producer: AIOKafkaProducer,
    topic: str,
    kind: Kind,
    rejected: Sequence[Rejected],
    log_id: str,
    *,
    on_trouble: Trouble,
) -> None:
    """Send one dead letter for each rejected record; return when all are acknowledged.

    Args:
        producer: A started producer.
        topic: The topic of dead letters.
        kind: What the feed carries.
        rejected: Why, and where.
        log_id: Id of the log that their offsets belong to.
        on_trouble: Called whenever an operation on the cluster fails.
    """
    if not rejected:
        return

    async def attempt() -> None:
        letters = [dead_letter(kind, one, log_id) for one in rejected]
        await asyncio.gather(*[await producer.send(topic, letter) for letter in letters])

    await until_it_works("send dead letters", attempt, on_trouble=on_trouble)
