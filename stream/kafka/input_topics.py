"""The input topics that exist: what the cluster has of the names and patterns in the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.records.record import Kind
from stream.settings.input_topics import FeedTopics

__all__ = ["FoundInputs", "find_inputs", "in_two_feeds", "inputs_of"]

_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInputs:
    """The input topics of all feeds at one moment."""

    topics: Mapping[Kind, Mapping[str, int]] = field(default_factory=dict)
    """Number of partitions by topic, for each feed."""

    in_two_feeds: Sequence[str] = ()
    """Topics that the patterns of both feeds match: they are not read."""

    @property
    def partitions(self) -> dict[str, int]:
        """Number of partitions of every topic that is read."""
        return {topic: n for topics in self.topics.values() for topic, n in topics.items()}


async def find_inputs(client: Any, feeds: FeedTopics) -> FoundInputs:
    """Ask the cluster for the input topics that exist, and that this user may see.

    It waits until the broker knows all topics that have names: a broker that has just restarted may not know them yet.

    Args:
        client: A started aiokafka client (``AIOKafkaProducer.client``).
        feeds: What each feed reads.

    Raises:
        KafkaError: The cluster does not answer.
    """
    while True:
        found = inputs_of(await client.fetch_all_metadata(), feeds)
        if {*feeds.names} <= found.partitions.keys():
            return found
        await asyncio.sleep(_LOOK_AGAIN_S)


def inputs_of(metadata: Any, feeds: FeedTopics) -> FoundInputs:
    """Return the input topics in aiokafka's metadata of a cluster."""
    existing = metadata.topics()
    return FoundInputs(
        topics={
            kind: {topic: len(metadata.partitions_for_topic(topic) or ()) for topic in topics}
            for kind, topics in feeds.of(existing).items()
        },
        in_two_feeds=feeds.in_two_feeds(existing),
    )


def in_two_feeds(topics: Sequence[str]) -> str:
    """Return the message for topics that two feeds could read, with what to do."""
    return (
        f"topic {', '.join(topics)} matches both topics.checkins and topics.fragments, and is read by neither feed: "
        "let only one pattern match it"
    )
