"""Names of topics on a real Kafka: we refuse what it refuses, before it is asked."""

from __future__ import annotations

import contextlib

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.cluster.brokers import ApacheKafka

pytestmark = pytest.mark.kafka

NAMES = ["t", "A.b_c-9", "...", "_", "__ours", "t" * 249, ".", "..", "t" * 250, "a b", "a/b", "a:b", "städte", "a\n"]


def is_ours(**topics: str) -> bool:
    """Return whether settings may name these topics."""
    try:
        load_settings(given={f"topics.{topic}": name for topic, name in topics.items()})
    except SettingsError:
        return False
    return True


async def is_created(broker: ApacheKafka, *names: str) -> bool:
    """Return whether a broker creates topics of these names, one after the other; none of them stays."""
    client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await client.start()
    try:
        for name in names:
            response = await client.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])
            if any(error[1] for error in response.topic_errors):
                return False
        return True
    except TopicAlreadyExistsError:
        raise
    except KafkaError:
        return False
    finally:
        with contextlib.suppress(KafkaError):
            await client.delete_topics(list(names))
        await client.close()


@pytest.mark.parametrize("name", NAMES)
async def test_a_topic_is_named_as_kafka_names_it(name: str, apache_kafka: ApacheKafka) -> None:
    """
    A name that settings take the broker creates, and one that they refuse it does not.
    """
    assert is_ours(seals=name) == await is_created(apache_kafka, name)


@pytest.mark.parametrize(("one", "other"), [("near.by", "near_by"), ("far.a_b", "far_a.b"), ("off.by", "off-by")])
async def test_two_topics_are_as_far_apart_as_kafka_wants(one: str, other: str, apache_kafka: ApacheKafka) -> None:
    """
    Names that differ only in dots and underscores are one to its metrics: it does not create the second.
    """
    assert is_ours(seals=one, windows=other) == await is_created(apache_kafka, one, other)
