"""``shoal try TOPIC`` on a real broker: it reads the newest messages of every partition and leaves no trace."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from click.testing import CliRunner, Result

from stream.cli.main import main
from tests.cluster.brokers import ApacheKafka, unique
from tests.cluster.workers import Place

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

START_S = 1_760_000_000


def shoal_try(broker: ApacheKafka, topic: str, *more: str) -> Result:
    server = f"kafka.bootstrap_servers={broker.bootstrap_servers}"
    return CliRunner(env={"SHOAL_CONFIG": None}).invoke(main, ["try", topic, "--set", server, *more])


def groups(broker: ApacheKafka) -> set[str]:
    async def listed() -> set[str]:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        await admin.start()
        try:
            return {name for name, _ in await admin.list_consumer_groups()}
        finally:
            await admin.close()

    return asyncio.run(listed())


def test_the_newest_messages_of_every_partition(apache_kafka: ApacheKafka) -> None:
    """
    Old messages in another form are not looked at; the person is found in the key; no group is made.
    """
    place = Place(apache_kafka, {"kafka.partitions": "2"})
    place.create_topics()
    for partition in (0, 1):
        old: list[tuple[bytes | None, bytes]] = [(None, b"of another form")] * 20
        new: list[tuple[bytes | None, bytes]] = [
            (
                b"p%d" % i,
                json.dumps({"at": START_S + i, "pos": {"lat": 48.2, "lon": 16.4}, "time": START_S + i}).encode(),
            )
            for i in range(5)
        ]
        place.produce("checkins", old + new, partition=partition)
    before = groups(apache_kafka)
    result = shoal_try(apache_kafka, place.topic("checkins"), "--records", "5", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["proposal"]["settings"] == {
        "checkins.fields.lat": "pos.lat",
        "checkins.fields.lon": "pos.lon",
        "checkins.fields.ts": "time",
        "checkins.fields.user": "kafka:key",
    }
    assert found["proposal"]["records"]["understood"] == 10
    assert "rejected" in shoal_try(apache_kafka, place.topic("checkins"), "--records", "10").stdout
    # Other tests may begin groups of theirs meanwhile, each with a name of its own.
    assert {name for name in groups(apache_kafka) - before if not name.startswith("group-")} == set()
    assert not {place.settings.kafka.ingest_group, place.settings.kafka.windows_group} & groups(apache_kafka)


def test_an_empty_topic_and_none(apache_kafka: ApacheKafka) -> None:
    """
    A topic without messages has nothing to try; a topic that does not exist is not made, and a sentence says so.
    """
    place = Place(apache_kafka)
    place.create_topics()
    result = shoal_try(apache_kafka, place.topic("fragments"))
    assert result.exit_code == 1
    assert "no messages" in result.stdout
    name = unique("missing")
    for _ in range(2):
        result = shoal_try(apache_kafka, name)
        assert result.exit_code == 1
        assert f"{name} is neither a file here nor a topic of the cluster at" in result.stderr
        assert "; give the path of a file, or the name of a topic" in result.stderr
