"""Topic ids: the id and the number of partitions of the topic that has a name now.

A topic that is deleted and created again keeps its name and counts its offsets from 0 again; only its id differs
(KIP-516, Kafka 2.8 and later). aiokafka asks for metadata without ids, so version 10 of the request is declared here.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from io import BytesIO
from typing import Any, NamedTuple

from aiokafka.errors import IncompatibleBrokerVersion, RequestTimedOutError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

__all__ = ["FoundTopic", "find_topics", "topic_ids"]

_NO_ID = uuid.UUID(int=0)

_WITHIN_S = 3.0
"""How long to wait for a broker that does not answer; the next request goes to another broker."""


class _Uuid:
    """16 bytes."""

    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> uuid.UUID:
        return uuid.UUID(bytes=data.read(16))

    @classmethod
    def repr(cls, value: uuid.UUID) -> str:
        return str(value)


class _Response(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", CompactString("utf-8")),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class _RequestStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _Response
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(("topic_id", _Uuid), ("topic", CompactString("utf-8")), ("tags", TaggedFields)),
        ),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _Request(Request[_RequestStruct]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = list(topics)

    def build(self, request_struct_class: type[_RequestStruct]) -> _RequestStruct:
        return request_struct_class([(_NO_ID, name, {}) for name in self._topics], False, False, False, {})


class FoundTopic(NamedTuple):
    """A topic that exists."""

    topic_id: str
    """32 hexadecimal digits."""

    n_partitions: int


async def find_topics(client: Any, topics: Iterable[str]) -> dict[str, FoundTopic] | None:
    """Ask the cluster about topics.

    Args:
        client: A started aiokafka client (``AIOKafkaProducer.client``).
        topics: Names of topics.

    Returns:
        Id and partitions of each topic that exists and that this user may see; None if the cluster has no topic ids.

    Raises:
        KafkaError: The cluster does not answer.
    """
    try:
        async with asyncio.timeout(_WITHIN_S):
            response = await client.send(client.get_random_node(), _Request(topics))
    except TimeoutError:
        raise RequestTimedOutError from None
    except (IncompatibleBrokerVersion, NotImplementedError):
        return None
    found = {
        name: (topic_id, len(partitions)) for error, name, topic_id, _, partitions, *_ in response.topics if not error
    }
    if any(topic_id == _NO_ID for topic_id, _ in found.values()):
        return None
    return {name: FoundTopic(topic_id.hex, n) for name, (topic_id, n) in found.items()}


async def topic_ids(client: Any, topics: Iterable[str]) -> dict[str, str] | None:
    """Return the id of each topic that exists; None if the cluster has no topic ids. See :func:`find_topics`."""
    found = await find_topics(client, topics)
    return None if found is None else {name: topic.topic_id for name, topic in found.items()}
