"""The shards topic and the seals topic: checks that neither was deleted and created again.

They hold the content of each window and whether it was released. If they are created again under the same names, they
are empty, and a window could be released twice. The worker then has to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from core.models.common.values import show_duration
from stream.kafka.client import new_producer
from stream.kafka.input_topics import find_inputs
from stream.kafka.log_start import mark_from_text
from stream.kafka.reading import commits_of, new_reader
from stream.kafka.topic_ids import topic_ids
from stream.kafka.topics import BEGIN_ANEW, ClusterError
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings

__all__ = ["check_internal_topics", "recreated", "sentence"]


async def check_internal_topics(settings: Settings, progress: Callable[[str], None]) -> dict[str, str]:
    """Check that the internal topics are the same as when the input was last committed, and return their ids.

    Raises:
        ClusterError: One was deleted and created again, or the cluster does not answer.
    """
    limit_ms, topics = settings.kafka.startup_timeout, settings.topics
    reader, producer = new_reader(settings.kafka, group=settings.kafka.ingest_group), new_producer(settings)
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await reader.start()
            await producer.start()
            ids = await topic_ids(producer.client, (topics.shards, topics.seals))
            inputs = (await find_inputs(producer.client, FeedTopics(topics))).partitions
            partitions = [TopicPartition(name, number) for name, n in inputs.items() for number in range(n)]
            marks = [mark_from_text(one.metadata) for one in (await commits_of(reader, partitions)).values()]
    except (KafkaError, TimeoutError) as fault:
        raise ClusterError(
            f"the offsets of group {settings.kafka.ingest_group} cannot be read within "
            f"kafka.startup_timeout={show_duration(limit_ms)} ({type(fault).__name__}): check that "
            "the worker's user may read the group"
        ) from None
    finally:
        await asyncio.gather(reader.stop(), producer.stop())
    if ids is None:
        progress("the cluster has no topic ids: a topic that is deleted and created again is not detected")
        return {}
    if changed := recreated(ids, [mark.internal for mark in marks]):
        raise ClusterError(sentence(changed))
    return ids


def recreated(ids: Mapping[str, str], before: Iterable[Mapping[str, str]]) -> str | None:
    """Return the name of a topic whose id has changed, or None.

    >>> recreated({"seals": "2"}, [{"shards": "1"}, {"seals": "2"}]), recreated({"seals": "2"}, [{"seals": "1"}])
    (None, 'seals')
    """
    return next((name for known in before for name, one in known.items() if ids.get(name, one) != one), None)


def sentence(topic: str) -> str:
    """Return the message for an internal topic that was created again, with what to do."""
    return (
        f"topic {topic} was deleted and created again: its content is gone, and a window could be released twice. "
        f"{BEGIN_ANEW}"
    )
