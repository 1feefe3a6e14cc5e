"""The client of a schema registry, against a stand-in that answers as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from stream.formats.input.encodings.registered import RegisteredSchema
from stream.kafka.schema_registry import RegistryError, SchemaRefusedError, SchemaRegistry
from stream.settings.registry import RegistrySettings
from tests.cluster.certificates import Authority
from tests.cluster.registries import RegistryStandIn

AVRO = {"schema": '"string"'}
NOWHERE = "http://localhost:1"


@pytest.fixture
def registry() -> Iterator[RegistryStandIn]:
    with RegistryStandIn({7: AVRO}) as running:
        yield running


def client(url: str, **more: Any) -> SchemaRegistry:
    return SchemaRegistry(RegistrySettings(url=url, **more))


async def test_a_schema_is_fetched_once(registry: RegistryStandIn) -> None:
    """
    An id always stands for the same schema.
    """
    ours = client(registry.url)
    for _ in range(3):
        assert await ours.schema(7) == RegisteredSchema("AVRO", '"string"')
    assert registry.asked == ["GET /schemas/ids/7"]


async def test_an_unknown_id_is_asked_for_again_after_a_while(registry: RegistryStandIn) -> None:
    """
    A flood of messages with an unknown id is one question every 30 seconds; a schema registered since is then found.
    """
    clock = [0.0]
    ours = SchemaRegistry(RegistrySettings(url=registry.url), passed_s=lambda: clock[0])
    for clock[0] in (100.0, 101.0, 129.9):
        assert await ours.schema(8) is None
    assert registry.asked == ["GET /schemas/ids/8"]
    registry.schemas[8] = AVRO
    assert not ours.may_be_known(8)
    clock[0] = 130.0
    assert ours.may_be_known(8)
    assert await ours.schema(8) == RegisteredSchema("AVRO", '"string"')


async def test_references_come_before_what_refers_to_them() -> None:
    """
    Through several steps, each once, also where they refer to one another in a circle.
    """

    def version(text: str, *names: str) -> dict[str, Any]:
        references = [{"name": f"{name}.proto", "subject": f"s/{name}", "version": 1} for name in names]
        return {"schema": text, "schemaType": "PROTOBUF", "references": references}

    versions = {("s%2Fa", 1): version("A", "b", "c"), ("s%2Fb", 1): version("B", "c"), ("s%2Fc", 1): version("C", "a")}
    with RegistryStandIn({1: version("TOP", "a", "b", "gone")}, versions) as registry:
        found = await client(registry.url).schema(1)
    assert found == RegisteredSchema("PROTOBUF", "TOP", (("c.proto", "C"), ("b.proto", "B"), ("a.proto", "A")))


async def test_several_addresses_are_tried_in_turn(registry: RegistryStandIn) -> None:
    """
    One that is away, or does not know the id, does not end the search.
    """
    with RegistryStandIn() as empty, RegistryStandIn() as broken:
        broken.answer = 500, b""
        ours = client(f"{NOWHERE}, {broken.url}, {empty.url}, {registry.url}/")
        assert await ours.schema(7) is not None
        assert await client(f"{broken.url},{empty.url}").schema(7) is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, b""), "gives no answer now .it answers 500."),
        ((429, b""), "gives no answer now .it answers 429."),
        ((401, b"secret"), "refuses access .it answers 401.: check registry.username"),
        ((403, b"secret"), "refuses access"),
        ((404, b"<html>secret"), "no schema registry at the path"),
        ((404, b'{"error_code": 404}'), "no schema registry at the path"),
        ((302, b""), "no schema registry at the path"),
        ((200, b"<html>secret"), "not that of a schema registry"),
        ((200, b'{"id": 7}'), "not that of a schema registry"),
    ],
)
async def test_an_answer_that_cannot_be_used(registry: RegistryStandIn, answer: tuple[int, bytes], why: str) -> None:
    """
    It is an error that says what to check, and nothing of the answer; the next question is asked again.
    """
    registry.answer = answer
    ours = client(registry.url)
    with pytest.raises(RegistryError, match=why) as raised:
        await ours.schema(7)
    assert "secret" not in str(raised.value)
    registry.answer = None
    assert await ours.schema(7) is not None


async def test_a_registry_that_is_away() -> None:
    """
    The error says which, and what to check.
    """
    with pytest.raises(RegistryError, match="localhost:1 does not answer"):
        await client(NOWHERE).schema(7)


async def test_credentials(registry: RegistryStandIn, tmp_path: Path) -> None:
    """
    Basic authentication, a token, or a token in a file that is read again for every request.
    """
    file = tmp_path / "token"
    file.write_text("first\n")
    ours = client(registry.url, token_file=file)
    await ours.schema(1)
    file.write_text("second")
    await ours.schema(2)
    await client(registry.url, username="ann", password=SecretStr("pä:ss")).schema(1)
    await client(registry.url, token=SecretStr("word")).schema(1)
    assert registry.authorizations == ["Bearer first", "Bearer second", "ann:pä:ss", "Bearer word"]
    assert "word" not in repr(client(registry.url, token=SecretStr("word")))
    for text in ("", "two words"):
        file.write_text(text)
        with pytest.raises(RegistryError, match="holds no token"):
            await ours.schema(3)
    file.unlink()
    with pytest.raises(RegistryError, match="token_file cannot be read"):
        await ours.schema(3)


async def test_tls(tmp_path: Path) -> None:
    """
    A certificate is trusted by the authority that the settings name, and by no other.
    """
    ours, other = (Authority(tmp_path, name) for name in ("ours", "other"))
    with RegistryStandIn({7: AVRO}, certificate=ours.issue("localhost")) as registry:
        assert await client(registry.url, cafile=ours.certificate).schema(7) is not None
        for settings in ({}, {"cafile": other.certificate}):
            with pytest.raises(RegistryError, match="is not trusted, or does not trust us"):
                await client(registry.url, **settings).schema(7)


async def test_schemas_are_registered(registry: RegistryStandIn) -> None:
    """
    A schema keeps its id; a name of a subject may have any characters; a refusal is not tried again.
    """
    ours = client(registry.url)
    assert await ours.register("a/b c", json.dumps("long")) == 2
    assert await ours.register("a/b c", json.dumps("long")) == 2
    assert registry.asked[0] == "POST /subjects/a%2Fb%20c/versions"
    assert registry.schemas[2] == {"schema": '"long"'}
    await ours.register("p", 'syntax = "proto3";', kind="PROTOBUF")
    assert registry.schemas[3]["schemaType"] == "PROTOBUF"
    for status, why in ((409, "not compatible"), (422, "not valid")):
        registry.answer = status, b""
        with pytest.raises(SchemaRefusedError, match=why):
            await ours.register("s", "{")
    registry.answer = 503, b""
    with pytest.raises(RegistryError):
        await ours.register("s", "{")
