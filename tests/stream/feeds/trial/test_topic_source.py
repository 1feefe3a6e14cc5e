"""Topics: messages decoded as the settings say, with schemas of a registry, and the same counts as for a worker."""

from __future__ import annotations

import io
import json
from typing import Any, ClassVar

import fastavro
import pytest

from core.records.record import Kind
from stream.feeds.trial import topic_source
from stream.feeds.trial.topic_source import TopicSource
from stream.feeds.trial.trial import Trial, try_source
from stream.formats.input.encodings.registered import RegisteredSchema
from stream.formats.input.framing import frame_of
from stream.kafka.schema_registry import RegistryError
from stream.settings.load import load_settings
from tests.builders.topic_messages import Message, topic_messages

SCHEMA = {
    "type": "record",
    "name": "Position",
    "fields": [
        {"name": "device", "type": "string"},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
REGISTRY = {"registry.url": "http://127.0.0.1:1", "checkins.input.encoding": "avro"}


class Registry:
    """Has one schema, or does not answer."""

    answers = True
    asked: ClassVar[list[int]] = []
    """The ids that were asked for, in all readings."""

    def __init__(self, _: Any) -> None:
        pass

    async def schema(self, schema_id: int) -> RegisteredSchema | None:
        self.asked.append(schema_id)
        if not self.answers:
            raise RegistryError("no answer")
        return RegisteredSchema("AVRO", json.dumps(SCHEMA)) if schema_id == 7 else None


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> type[Registry]:
    monkeypatch.setattr(topic_source, "SchemaRegistry", Registry)
    monkeypatch.setattr(Registry, "answers", True)
    monkeypatch.setattr(Registry, "asked", [])
    return Registry


def framed(user: str, schema_id: int = 7) -> bytes:
    payload = io.BytesIO()
    record = {"device": user, "lat": 48.2, "lon": 16.4, "at": 1_760_000_000_000}
    fastavro.schemaless_writer(payload, SCHEMA, record)
    return frame_of(schema_id) + payload.getvalue()


def tried(messages: list[Message], **given: Any) -> Trial:
    settings = load_settings(given={name.replace("__", "."): value for name, value in given.items()})
    return try_source(TopicSource("feed", messages), settings, Kind.CHECKINS, 100)


def test_avro_of_a_registry(registry: type[Registry]) -> None:
    """
    Messages are decoded with the registry's schema, and the names in it are looked at as those of JSON are. However
    often they are read, the registry is asked once for each id.
    """
    messages = topic_messages(
        [(None, framed("a")), (None, framed("b")), (None, framed("c", schema_id=8)), (None, None)]
    )
    found = tried(messages, **REGISTRY)
    assert found.in_force.counts()["tombstones"] == 1
    assert {one.reason.value for one in found.in_force.rejections} == {"missing_field", "unknown_schema"}
    assert found.proposal is not None
    assert found.proposal.settings == {"checkins.fields.user": "device", "checkins.fields.ts": "at"}
    assert found.proposal.findings is not None
    assert found.proposal.findings.counts()["understood"] == 2
    assert registry.asked == [7, 8]


def test_a_registry_that_does_not_answer(registry: type[Registry], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without the registry nothing can be read, and a sentence says why. It is not asked again for every reading.
    """
    monkeypatch.setattr(registry, "answers", False)
    found = tried(topic_messages([(None, framed("a"))]), **REGISTRY)
    assert found.in_force.refusal == "the schema is not known, because the registry could not be used: no answer"
    assert not found.has_result
    assert registry.asked == [7]


def test_lists_tombstones_and_long_messages() -> None:
    """
    Every element of a list counts, and a fault is placed by partition, offset and element.
    """
    good = {"user": "a", "ts": 1_760_000_000, "lat": 48.2, "lon": 16.4}
    found = tried(
        topic_messages(
            [
                (None, json.dumps([good, {"user": "b"}]).encode()),
                (None, None),
                (None, b" " * 2_000_000),
                (None, b"\x1f\x8b\x08abc"),
            ]
        )
    )
    assert found.in_force.counts() == {
        "read": 5,
        "understood": 1,
        "filtered": 0,
        "tombstones": 1,
        "rejected": 3,
        "people": 1,
        "points": 1,
    }
    places = {one.reason.value: one.place for one in found.in_force.rejections}
    assert places["missing_field"] == "partition 0, offset 0, record 2 of its list"
    assert places["message_too_large"] == "partition 0, offset 2"
    assert any(looks.startswith("gzip") for looks in found.looks)


@pytest.mark.parametrize(("timestamp", "understood"), [(1_760_000_000_000, 1), (-1, 0)])
def test_a_message_without_a_time_stamp_has_no_time(timestamp: int, understood: int) -> None:
    """
    The client returns -1 for it, as for a worker; it is no instant.
    """
    value = json.dumps({"user": "a", "lat": 48.2, "lon": 16.4}).encode()
    found = tried([Message(0, value, timestamp=timestamp)], checkins__fields__ts="kafka:timestamp")
    assert found.in_force.counts()["understood"] == understood
    missing = [] if understood else [("missing_field", "kafka:timestamp is needed")]
    assert [(one.reason.value, one.detail) for one in found.in_force.rejections] == missing
