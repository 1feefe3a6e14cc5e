"""A worker writes releases as Avro, with schemas at a real registry, and as GeoJSON: read by other people's readers."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from core.records.instants import rfc3339
from stream.formats.release.encoding import positions_of
from tests.builders.feeds import ONE_SHARD, WITHIN_S, crowd, expected, window
from tests.cluster.brokers import ApacheKafka
from tests.cluster.faulty_worker import faulty
from tests.cluster.registries import ApicurioRegistry, RegistryStandIn
from tests.cluster.workers import Place, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.kafka]

Released = dict[str, dict[bytes, bytes]]
SETTINGS = ONE_SHARD | {"ingest.max_records": "100"}


def released_after_a_death(place: Place, folder: Path) -> tuple[Released, Released]:
    """What a replay gives as JSON, and what stands on the topics after a worker died amid a release: it comes twice."""
    messages = crowd(0, 3, people=40, visits=4)
    wanted = expected(place, messages, folder)
    place.create_topics()
    place.produce("checkins", messages)
    with place.worker(ready=False, program=faulty("dies-amid-the-trajectories", 1)) as first:
        assert first.wait(WITHIN_S) == -signal.SIGKILL, first.log[-3000:]
    with place.worker() as successor:
        wait_until(
            lambda: place.outputs()["windows"].keys() >= wanted["windows"].keys(),
            within_s=WITHIN_S,
            what=lambda: successor.log[-3000:],
        )
        status, page = successor.get("/api/windows")
        assert status == 200
        assert {one["release"].encode() for one in json.loads(page)["windows"]} <= wanted["windows"].keys()
        assert successor.stop() == 0
    assert len(place.read("anonymized")) > len(wanted["anonymized"])  # some were sent twice
    return wanted, place.released()  # fails if a key has two contents


@pytest.mark.deep
def test_avro_with_a_registry(apache_kafka: ApacheKafka, apicurio_registry: ApicurioRegistry, tmp_path: Path) -> None:
    """
    Confluent's own deserializer reads every message with the schema that the worker registered, and finds what a replay
    writes as JSON. A release that is sent again has the same bytes.
    """
    place = Place(apache_kafka, SETTINGS | {"release.encoding": "avro", "registry.url": apicurio_registry.url})
    wanted, released = released_after_a_death(place, tmp_path)
    client = SchemaRegistryClient({"url": apicurio_registry.url})
    assert {f"{place.topic(topic)}-value" for topic in wanted} <= set(client.get_subjects())
    deserialize: Callable[..., Any] = AvroDeserializer(client)
    for topic, values in wanted.items():
        assert released[topic].keys() == values.keys()
        for key, value in values.items():
            record = deserialize(released[topic][key], SerializationContext(place.topic(topic), MessageField.VALUE))
            assert as_json(record) == {name: one for name, one in json.loads(value).items() if one is not None}


def as_json(record: dict[str, Any]) -> dict[str, Any]:
    """A record as its reader has it, in the form of the JSON message."""
    times: list[datetime] = [record.pop("window_start"), record.pop("window_end")]
    if (places := record.get("locations")) is not None and "kind" in record:
        record["locations"] = [{name: one[name] for name in ("members", "lat", "lon")} for one in places]
    return {"window": [rfc3339(round(one.timestamp() * 1000)) for one in times]} | {
        name: value for name, value in record.items() if value is not None
    }


@pytest.mark.deep
def test_geojson(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    Every message is a feature with the properties that the JSON message has, at the centroids of its locations; a
    release that is sent again has the same bytes.
    """
    place = Place(apache_kafka, SETTINGS | {"release.encoding": "geojson"})
    wanted, released = released_after_a_death(place, tmp_path)
    spans = {tuple(map(rfc3339, window(n))) for n in range(3)}
    for key, value in wanted["windows"].items():
        collection, plain = json.loads(released["windows"][key]), json.loads(value)
        assert tuple(collection["window"]) in spans
        assert collection["type"] == "FeatureCollection"
        assert {name: collection[name] for name in plain if name != "locations"} == {
            name: plain[name] for name in plain if name != "locations"
        }
        at = positions_of(plain)
        found = {tuple(one["properties"]["members"]): one["geometry"]["coordinates"] for one in collection["features"]}
        assert found == {members: [lon, lat] for members, (lat, lon) in at.items()}
        own = {one: content for one, content in wanted["anonymized"].items() if one.startswith(key + b":")}
        for one, content in own.items():
            feature = json.loads(released["anonymized"][one])
            assert feature["properties"] == json.loads(content)
            visited = [tuple(members) for members in feature["properties"]["locations"]]
            assert feature["geometry"]["coordinates"] == [found[members] for members in visited]
    assert released["anonymized"].keys() == wanted["anonymized"].keys()


def test_without_a_registry_that_accepts_the_schemas_no_worker_starts(apache_kafka: ApacheKafka) -> None:
    """
    One sentence says which registry refuses what, and the worker ends; nothing was read.
    """
    with RegistryStandIn() as registry:
        registry.answer = (422, b'{"error_code": 42201}')
        place = Place(apache_kafka, SETTINGS | {"release.encoding": "avro", "registry.url": registry.url})
        place.create_topics()
        with place.worker(ready=False) as worker:
            assert worker.wait(60) == 1
            assert "refuses the schema of subject" in worker.log
            assert "topics.anonymized" in worker.log
            assert "Traceback" not in worker.log
