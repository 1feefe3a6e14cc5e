"""The shards topic and the seals topic: whether they are still those that a deployment began with.

They hold what a window contains and whether it has left. Made anew under their names they are empty, and what was
released once could be released again. Only stopping is right then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from stream.kafka import client_options, new_producer
from stream.positions import mark_from_text
from stream.settings import Settings
from stream.settings.values import show_duration
from stream.topic_ids import topic_ids
from stream.topics import BEGIN_ANEW, ClusterError

__all__ = ["check_internal_topics", "recreated", "sentence"]

_AGAIN_S = 0.2


async def check_internal_topics(settings: Settings, progress: Callable[[str], None]) -> dict[str, str]:
    """Check that the internal topics are those that the input was read into before, and return their ids.

    Raises:
        ClusterError: One was deleted and created again, or the cluster does not answer.
    """
    limit_ms = settings.kafka.startup_timeout
    admin, producer = AIOKafkaAdminClient(**client_options(settings.kafka)), new_producer(settings)
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await admin.start()
            await producer.start()
            names = (settings.topics.shards, settings.topics.seals)
            ids = await topic_ids(producer.client, names)
            marks = await _marks(admin, settings.kafka.ingest_group)
    except (KafkaError, TimeoutError) as fault:
        raise ClusterError(
            f"the offsets of group {settings.kafka.ingest_group} cannot be read within "
            f"kafka.startup_timeout={show_duration(limit_ms)} ({type(fault).__name__}): may the worker's user read it?"
        ) from None
    finally:
        await asyncio.gather(admin.close(), producer.stop())
    if ids is None:
        progress("the cluster gives topics no ids: a topic that is deleted and created again is not noticed")
        return {}
    if changed := recreated(ids, marks):
        raise ClusterError(sentence(changed))
    return ids


async def _marks(admin: AIOKafkaAdminClient, group: str) -> list[dict[str, str]]:
    """Return the ids of internal topics that the commits of a group name."""
    while True:
        try:
            committed = await admin.list_consumer_group_offsets(group)
        except KafkaError as fault:
            if not fault.retriable:
                raise
            await asyncio.sleep(_AGAIN_S)  # a new cluster begins to make its topic of offsets when it is first asked
        else:
            return [mark_from_text(one.metadata).internal for one in committed.values()]


def recreated(ids: Mapping[str, str], before: Iterable[Mapping[str, str]]) -> str | None:
    """Return the name of a topic that has another id than before, None where there is none.

    >>> recreated({"seals": "2"}, [{"shards": "1"}, {"seals": "2"}]), recreated({"seals": "2"}, [{"seals": "1"}])
    (None, 'seals')
    """
    return next((name for known in before for name, one in known.items() if ids.get(name, one) != one), None)


def sentence(topic: str) -> str:
    """Say what is wrong where an internal topic was created again, and what to do."""
    return (
        f"topic {topic} was deleted and created again: what waited in it, or which windows have left, is gone, and a "
        f"window could be released twice. {BEGIN_ANEW}"
    )
