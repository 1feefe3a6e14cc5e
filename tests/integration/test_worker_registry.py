"""Messages with the ids of a real schema registry, written by the clients of its makers, through a whole worker."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from stream.formats.input.encodings.protobuf_schemas import compiled
from stream.formats.input.framing import FRAME_BYTES, frame_of
from tests.builders.feeds import ONE_SHARD, Messages, assert_all_is_released_in_one_way, crowd, expected
from tests.cluster.brokers import ApacheKafka
from tests.cluster.registries import ApicurioRegistry, RegistryStandIn
from tests.cluster.workers import Place, wait_until
from tests.paths import CASES

# The registry and the workers take seconds to start.
pytestmark = [pytest.mark.broker, pytest.mark.kafka]

AVRO = {
    "type": "record",
    "name": "CheckIn",
    "namespace": "demo",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": ["null", "double"], "default": None},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
JSON_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "CheckIn",
    "type": "object",
    "properties": {"user": {"type": "string"}, "ts": {"type": "number"}},
}
PROTO = """
syntax = "proto3";
package demo;
import "google/protobuf/timestamp.proto";
message Unused { int32 n = 1; }
message CheckIn { string user = 1; double lat = 2; double lon = 3; google.protobuf.Timestamp ts = 4; }
"""

Record = dict[str, Any]
Serialize = Callable[[Record, str], bytes]


def moment(record: Record) -> datetime:
    return datetime.fromtimestamp(record["ts"], UTC)


def avro(client: SchemaRegistryClient, schema: Any = AVRO) -> Serialize:
    serializer = AvroSerializer(client, json.dumps(schema))
    return lambda record, topic: serializer(record | {"ts": moment(record)}, value_of(topic))


def json_schema(client: SchemaRegistryClient) -> Serialize:
    serializer = JSONSerializer(json.dumps(JSON_SCHEMA), client)
    return lambda record, topic: serializer(record, value_of(topic))


def protobuf(client: SchemaRegistryClient) -> Serialize:
    message: Any = GetMessageClass(compiled(PROTO, {}).named("CheckIn"))
    serializer = ProtobufSerializer(message, client, {"use.deprecated.format": False})

    def serialize(record: Record, topic: str) -> bytes:
        made = message(user=record["user"], lat=record["lat"], lon=record["lon"])
        made.ts.FromDatetime(moment(record))
        return bytes(serializer(made, value_of(topic)))

    return serialize


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def send(place: Place, messages: Messages, serialize: Serialize) -> None:
    """Send check-ins as another client serializes them."""
    producer, topic = Producer({"bootstrap.servers": place.bootstrap_servers}), place.topic("checkins")
    for key, value in messages:
        producer.produce(topic, key=key, value=serialize(json.loads(value), topic), partition=0)
    assert producer.flush(60) == 0


def rejected(place: Place) -> list[tuple[str, str]]:
    letters = [json.loads(one.value or b"") for one in place.read("dead_letters")]
    return [(one["reason"], one["detail"]) for one in letters]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("encoding", "serializer"),
    [("avro", avro), ("json", json_schema), ("protobuf", protobuf)],
    ids=["avro", "json-schema", "protobuf"],
)
def test_each_serializer(
    encoding: str,
    serializer: Callable[[SchemaRegistryClient], Serialize],
    apache_kafka: ApacheKafka,
    apicurio_registry: ApicurioRegistry,
    tmp_path: Path,
) -> None:
    """
    The release is that of the same records as plain JSON, whatever the unit of times is. A record with an id that the
    registry does not have is a dead letter with that reason, and so is one that is spoiled.
    """
    unit = {} if encoding == "json" else {"time.unit": "ns"}
    plain = Place(apache_kafka, ONE_SHARD)
    settings = ONE_SHARD | {"input.encoding": encoding, "registry.url": apicurio_registry.url} | unit
    place = Place(apache_kafka, settings)
    messages = crowd(0, 2, people=40, visits=4)
    wanted = expected(plain, messages, tmp_path)
    place.create_topics()
    serialize = serializer(SchemaRegistryClient({"url": apicurio_registry.url}))
    send(place, messages[:80], serialize)
    spoiled = serialize(json.loads(messages[0][1]), place.topic("checkins"))[:FRAME_BYTES] + b"\xff"
    place.produce("checkins", [(None, frame_of(4_000_000) + b"\x02u"), (None, spoiled)], partition=0)
    send(place, messages[80:], serialize)
    with place.worker() as worker:
        assert_all_is_released_in_one_way(place, [worker], wanted)
        found = rejected(place)
        if encoding == "json":  # messages of JSON Schema are read without their schema
            assert [reason for reason, _ in found] == ["not_json", "not_utf8"]
        else:
            assert [reason for reason, _ in found] == ["unknown_schema", f"not_{encoding}"]
            assert "has no schema with the id 4000000" in found[0][1]
            assert worker.metric("shoal_rejected_records_total", kind="checkins", reason="unknown_schema") == 1
        assert worker.stop() == 0


@pytest.mark.deep
def test_the_registry_goes_away_and_comes_back(
    apache_kafka: ApacheKafka, disposable_registry: ApicurioRegistry, tmp_path: Path
) -> None:
    """
    Records whose schema is known are read meanwhile. Those of a new schema wait: the worker says so and goes on
    running, and when the registry is back nothing is lost.
    """
    place = Place(apache_kafka, ONE_SHARD | {"input.encoding": "avro", "registry.url": disposable_registry.url})
    messages = crowd(0, 3, people=40, visits=4)
    wanted = expected(Place(apache_kafka, ONE_SHARD), messages, tmp_path)
    place.create_topics()
    client = SchemaRegistryClient({"url": disposable_registry.url})
    old, new = avro(client), avro(client, AVRO | {"fields": [*AVRO["fields"], {"name": "fix", "type": "null"}]})
    new(json.loads(messages[0][1]) | {"fix": None}, place.topic("checkins"))  # registers its schema
    send(place, messages[:160], old)
    with place.worker() as worker:
        wait_until(
            lambda: worker.metric("shoal_records_total", kind="checkins", outcome="read") >= 160,
            within_s=180,
            what="read",
        )
        disposable_registry.stop()
        send(place, messages[160:320], old)
        wait_until(
            lambda: worker.metric("shoal_records_total", kind="checkins", outcome="read") >= 320,
            within_s=180,
            what="read",
        )
        send(place, messages[320:], lambda record, topic: new(record | {"fix": None}, topic))
        wait_until(
            lambda: worker.metric("shoal_kafka_trouble_total", operation="fetch a schema") >= 2,
            within_s=180,
            what=lambda: worker.log[-3000:],
        )
        status, said = worker.get("/readyz")
        assert status != 200
        assert "schema registry" in said
        assert worker.metric("shoal_kafka_up") == 1
        disposable_registry.start()
        assert_all_is_released_in_one_way(place, [worker], wanted)
        assert rejected(place) == []
        worker.wait_until_ready()
        assert worker.stop() == 0


# ---------------------------------------------------------------------- cases of the public record

SIX_PEOPLE = {
    "topics.fragments": "",
    "window.size": "1h",
    "window.idle_timeout": "3s",
    "shard.kind": "single",
    "kafka.partitions": "1",
    "location.cell_m": "1000",
    "privacy.k": "5",
    "time.earliest": "2000-01-01T00:00:00Z",
}


def counts(place: Place) -> tuple[int, int]:
    """Return how many people and points the windows have."""
    windows = [one for one in place.windows() if one["outcome"] == "released"]
    return sum(one["people"] for one in windows), sum(one["points_released"] for one in windows)


@pytest.mark.parametrize("with_registry", [True, False], ids=["registry", "schema-file"])
def test_avro_with_an_id(with_registry: bool, apache_kafka: ApacheKafka) -> None:
    """
    The schema comes from the registry, or from a file where there is none; time.unit does not matter.
    """
    case = CASES / "avro-registry"
    if not case.is_dir():
        pytest.skip(f"{case} is not there")
    lines = [json.loads(line) for line in (case / "messages.ndjson").read_text().splitlines()]
    messages = [(None, base64.b64decode(one["value_base64"])) for one in lines]
    schema = case / "schema-7.avsc"
    with RegistryStandIn({7: {"schema": schema.read_text()}}) as registry:
        source = {"registry.url": registry.url} if with_registry else {"input.schema_file": str(schema)}
        place = Place(apache_kafka, SIX_PEOPLE | {"input.encoding": "avro", "time.unit": "ns"} | source)
        place.create_topics()
        place.produce("checkins", messages)
        with place.worker() as worker:
            wait_until(
                lambda: counts(place) == (6, 12), within_s=180, what=lambda: f"{place.windows()} {worker.log[-3000:]}"
            )
            assert rejected(place) == []


def test_avro_without_the_setting_is_named(apache_kafka: ApacheKafka) -> None:
    """
    Each message is a dead letter that says what its bytes look like.
    """
    place = Place(apache_kafka, SIX_PEOPLE)
    place.create_topics()
    place.produce("checkins", [(None, frame_of(7) + b"\x06p01" + bytes(24))])
    with place.worker():
        wait_until(lambda: rejected(place), within_s=180, what="a dead letter")
    assert [reason for reason, _ in rejected(place)] == ["not_json"]
    assert "begins as messages with a schema registry's id do" in rejected(place)[0][1]


def test_gtfs_realtime(apache_kafka: ApacheKafka) -> None:
    """
    Each entity of a FeedMessage is a check-in; a snapshot that repeats it changes nothing.
    """
    message = CASES / "gtfs-realtime-protobuf" / "vehicle_positions.pb"
    if not message.is_file():
        pytest.skip(f"{message} is not there")
    place = Place(apache_kafka, SIX_PEOPLE | {"input.preset": "gtfs-realtime"})
    place.create_topics()
    place.produce("checkins", [(b"feed", message.read_bytes())] * 2)
    with place.worker() as worker:
        wait_until(
            lambda: counts(place) == (6, 12), within_s=180, what=lambda: f"{place.windows()} {worker.log[-3000:]}"
        )
        assert rejected(place) == []
