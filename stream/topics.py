"""Topics: what has to exist, with which settings, and a check before a worker starts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from core.records import Kind
from stream.kafka import client_options
from stream.settings import Settings

__all__ = ["ClusterError", "TopicSpec", "check_topics", "create_topics", "describe_topics", "topic_specs"]


class ClusterError(Exception):
    """The cluster is not as it has to be; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One topic that has to exist."""

    name: str
    purpose: str
    partitions: int
    config: dict[str, str]


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Return the topics of these settings, as ``shoal topics create`` makes them."""
    topics, partitions = settings.topics, settings.kafka.partitions
    spans = [settings.for_kind(kind).window for kind in settings.kinds]
    # What waits for its window is only there, so it has to stay for longer than any window is open.
    keep_ms = 2 * max(w.size + w.allowed_lateness + w.idle_timeout for w in spans) + 7 * 86_400_000
    # The first seal counts. A client that repeats a write repeats its key, and until nobody can be doing so any more
    # compaction must keep both.
    compacted = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(86_400_000)}
    inputs = [(getattr(topics, kind.value), f"input: {kind.value}") for kind in Kind if kind in settings.kinds]
    return [
        *(TopicSpec(name=name, purpose=purpose, partitions=partitions, config={}) for name, purpose in inputs),
        TopicSpec(
            name=topics.shards,
            purpose="internal: records that wait for their window",
            partitions=partitions,
            config={"retention.ms": str(keep_ms), "cleanup.policy": "delete"},
        ),
        TopicSpec(name=topics.seals, purpose="internal: seals", partitions=partitions, config=compacted),
        TopicSpec(name=topics.anonymized, purpose="output: trajectories", partitions=partitions, config={}),
        TopicSpec(name=topics.windows, purpose="output: one message a window", partitions=1, config={}),
        TopicSpec(name=topics.dead_letters, purpose="output: why a record was rejected", partitions=1, config={}),
    ]


async def _connected(settings: Settings, progress: Callable[[str], None]) -> AIOKafkaAdminClient:
    """Connect, waiting for up to ``kafka.startup_timeout``."""
    deadline = time.monotonic() + settings.kafka.startup_timeout / 1000
    while True:
        admin = AIOKafkaAdminClient(**client_options(settings.kafka), request_timeout_ms=10_000)
        try:
            await admin.start()
        except (KafkaError, OSError) as fault:
            await admin.close()
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"no Kafka broker answers at {settings.kafka.bootstrap_servers} ({type(fault).__name__}): "
                    "start it, or set kafka.bootstrap_servers, kafka.security_protocol and the credentials"
                ) from None
            progress(f"waiting for a Kafka broker at {settings.kafka.bootstrap_servers}")
            await asyncio.sleep(1.0)
        else:
            return admin


async def create_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict[str, bool]:
    """Create what is missing.

    Returns:
        For each topic whether it was created (else it was there).

    Raises:
        ClusterError: The cluster cannot be reached or refuses.
    """
    admin = await _connected(settings, progress)
    created: dict[str, bool] = {}
    try:
        for spec in topic_specs(settings):
            topic = NewTopic(
                spec.name,
                num_partitions=spec.partitions,
                replication_factor=settings.kafka.replication_factor,
                topic_configs=spec.config,
            )
            try:
                response = await admin.create_topics([topic])
                codes = [error[1] for error in response.topic_errors]
                if any(code not in (0, TopicAlreadyExistsError.errno) for code in codes):
                    raise ClusterError(f"the broker did not create topic {spec.name} (error {codes[0]}): may we?")
                created[spec.name] = codes == [0]
            except TopicAlreadyExistsError:
                created[spec.name] = False
    except KafkaError as fault:
        raise ClusterError(f"creating topics failed ({type(fault).__name__})") from None
    finally:
        await admin.close()
    return created


async def describe_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict[str, int]:
    """Return the number of partitions of each topic of the settings; 0 where it does not exist.

    Raises:
        ClusterError: The cluster cannot be reached.
    """
    admin = await _connected(settings, progress)
    try:
        names = [spec.name for spec in topic_specs(settings)]
        existing = set(await admin.list_topics())
        described = await admin.describe_topics([name for name in names if name in existing])
    except KafkaError as fault:
        raise ClusterError(f"describing topics failed ({type(fault).__name__})") from None
    finally:
        await admin.close()
    found = {topic["topic"]: len(topic["partitions"]) for topic in described}
    return {name: found.get(name, 0) for name in names}


async def check_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> None:
    """Check that every topic exists and that seals lie beside their shards.

    Raises:
        ClusterError: One does not, or the cluster cannot be reached.
    """
    found = await describe_topics(settings, progress)
    if missing := sorted(name for name, partitions in found.items() if not partitions):
        raise ClusterError(
            f"topic {', '.join(missing)} does not exist: create it with `shoal topics create`, "
            "or name another in topics.*"
        )
    shards, seals = settings.topics.shards, settings.topics.seals
    if found[shards] != found[seals]:
        raise ClusterError(
            f"topic {shards} has {found[shards]} partitions and {seals} has {found[seals]}: both need the same number, "
            "for a seal has its window's partition"
        )
