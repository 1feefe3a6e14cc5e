"""Fetching schemas before a batch is decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from stream.formats.input.encodings.decoding import new_decoder
from stream.formats.input.errors import UnreadableError
from stream.formats.input.framing import frame_of
from stream.ingest.fetch_schemas import Schemas
from stream.kafka.client import Operation
from stream.kafka.schema_registry import SchemaRegistry
from stream.settings.registry import RegistrySettings
from tests.cluster.registries import RegistryStandIn

AVRO = {"schema": '"string"'}


@pytest.fixture
def registry() -> Iterator[RegistryStandIn]:
    with RegistryStandIn({7: AVRO}) as running:
        yield running


async def test_each_schema_of_a_batch_is_fetched_once(registry: RegistryStandIn) -> None:
    """
    Afterwards every message can be decoded, or is rejected for an id that the registry does not have.
    """
    ours = SchemaRegistry(RegistrySettings(url=registry.url))
    schemas = Schemas(ours, on_trouble=lambda _: None)
    decoder = new_decoder("avro", has_registry=True)
    values = [frame_of(7) + b"\x02u", None, frame_of(8), frame_of(7) + b"\x02v", b"{}"]
    for _ in range(2):
        await schemas.fetch(decoder, values)
        assert registry.asked == ["GET /schemas/ids/7", "GET /schemas/ids/8"]
        assert decoder.document(frame_of(7) + b"\x02u") == "u"
        with pytest.raises(UnreadableError, match="has no schema with the id 8"):
            decoder.document(frame_of(8))
    assert schemas.check() is True


async def test_an_unknown_id_is_learnt_anew(registry: RegistryStandIn) -> None:
    """
    A schema that is registered after its first message is found once the registry is asked again.
    """
    clock = [0.0]
    ours = SchemaRegistry(RegistrySettings(url=registry.url), passed_s=lambda: clock[0])
    schemas, decoder = Schemas(ours, on_trouble=lambda _: None), new_decoder("avro", has_registry=True)
    await schemas.fetch(decoder, [frame_of(8)])
    registry.schemas[8] = AVRO
    await schemas.fetch(decoder, [frame_of(8)])
    with pytest.raises(UnreadableError):
        decoder.document(frame_of(8) + b"\x02u")
    clock[0] = 60.0
    await schemas.fetch(decoder, [frame_of(8)])
    assert decoder.document(frame_of(8) + b"\x02u") == "u"


async def test_it_waits_while_the_registry_is_away(registry: RegistryStandIn) -> None:
    """
    Nothing is rejected meanwhile; the trouble is reported, and shown by the readiness check until there is an answer.
    """
    registry.answer = 503, b""
    troubles: list[Operation] = []
    schemas = Schemas(SchemaRegistry(RegistrySettings(url=registry.url)), on_trouble=troubles.append)
    decoder = new_decoder("avro", has_registry=True)
    fetching = asyncio.create_task(schemas.fetch(decoder, [frame_of(7)]))
    while len(troubles) < 2:  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.01)
    assert set(troubles) == {"fetch a schema"}
    assert "gives no answer now" in str(schemas.check())
    registry.answer = None
    await fetching
    assert schemas.check() is True
    assert decoder.missing([frame_of(7)]) == set()


async def test_without_a_registry_nothing_is_asked() -> None:
    """
    Messages of other encodings need no schema.
    """
    await Schemas(None, on_trouble=lambda _: None).fetch(new_decoder("json"), [frame_of(7)])
