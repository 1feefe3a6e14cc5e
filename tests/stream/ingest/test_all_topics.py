"""A pattern matches topics that the client looks at, so it must go on to look at all."""

from __future__ import annotations

import asyncio

from aiokafka.client import AIOKafkaClient

from stream.ingest.ingest import _look_at_all_topics


async def test_a_topic_that_is_gone_does_not_become_the_only_one() -> None:
    """
    Asked about one topic, aiokafka's client looks at that one alone from then on; of a pattern it must not, and asks
    the cluster again instead.
    """
    narrow, wide = AIOKafkaClient(), AIOKafkaClient()
    _look_at_all_topics(wide)
    answers = [client.add_topic("gone") for client in (narrow, wide)]
    assert (narrow._topics, wide._topics) == ({"gone"}, set())  # an empty set stands for all topics
    assert all(isinstance(answer, asyncio.Future) for answer in answers)
    for client in (narrow, wide):
        await client.close()
