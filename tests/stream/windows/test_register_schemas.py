"""The encodings of a worker's releases: schemas are registered at the start, or the worker says why they cannot be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from core.records.record import INPUT_KINDS, Kind
from stream.formats.release.avro import AvroRelease
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from stream.formats.release.geojson import GEOJSON
from stream.formats.release.json import JSON
from stream.kafka.topics import ClusterError
from stream.settings.load import load_settings
from stream.windows.register_schemas import release_encodings


class Registry:
    """A registry that gives each new schema the next id, after it has answered with some statuses."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.schemas: list[tuple[str, Any]] = []

    async def register(self, request: web.Request) -> web.Response:
        """Answer as Confluent's registry does."""
        if self.statuses:
            return web.json_response({"error_code": 1}, status=self.statuses.pop(0))
        schema = request.match_info["subject"], json.loads((await request.json())["schema"])
        if schema not in self.schemas:
            self.schemas.append(schema)
        return web.json_response({"id": 100 + self.schemas.index(schema)})


@asynccontextmanager
async def running(registry: Registry) -> AsyncIterator[dict[str, Any]]:
    """The settings of a worker that registers its schemas there."""
    app = web.Application()
    app.router.add_post("/subjects/{subject}/versions", registry.register)
    async with TestServer(app) as server:
        yield {
            "release.encoding": "avro",
            "registry.url": f"http://127.0.0.1:{server.port}",
            "topics.anonymized": "out",
        }


async def test_without_avro_no_registry_is_asked() -> None:
    """
    Every feed has its own encoding.
    """
    settings = load_settings(given={"fragments.release.encoding": "geojson"})
    assert await release_encodings(settings, print) == {Kind.CHECKINS: JSON, Kind.FRAGMENTS: GEOJSON}


async def test_the_schemas_are_registered_under_the_names_of_the_topics() -> None:
    """
    One for each topic, and a second worker gets the same ids.
    """
    registry = Registry()
    async with running(registry) as given:
        first = await release_encodings(load_settings(given=given), print)
        assert await release_encodings(load_settings(given=given), print) == first
    assert registry.schemas == [("out-value", AVRO_SCHEMAS["anonymized"]), ("windows-value", AVRO_SCHEMAS["windows"])]
    assert first == dict.fromkeys(INPUT_KINDS, AvroRelease(anonymized_id=100, windows_id=101))


async def test_it_waits_for_a_registry_that_is_away() -> None:
    """
    What it waits for is said, and it goes on when the registry answers.
    """
    said: list[str] = []
    async with running(Registry(503)) as given:
        found = await release_encodings(load_settings(given=given), said.append)
    assert isinstance(found[Kind.CHECKINS], AvroRelease)
    assert [line.split(":")[0] for line in said] == ["waiting for the schema registry"]


@pytest.mark.parametrize("status", [409, 422])
async def test_a_schema_that_is_refused_ends_the_start(status: int) -> None:
    """
    A retry would not help; the sentence names the subject and what to do.
    """
    async with running(Registry(status)) as given:
        with pytest.raises(ClusterError, match=r"refuses the schema of subject out-value: .*topics\.anonymized"):
            await release_encodings(load_settings(given=given), print)


@pytest.mark.parametrize(("status", "words"), [(401, "refuses access"), (503, "gives no answer now")])
async def test_a_registry_that_gives_no_answer_ends_the_start_in_time(status: int, words: str) -> None:
    """
    After ``kafka.startup_timeout`` the worker says why.
    """
    async with running(Registry(*[status] * 9)) as given:
        with pytest.raises(ClusterError, match=rf"were not registered within kafka.startup_timeout=1ms: .*{words}"):
            await release_encodings(load_settings(given=given | {"kafka.startup_timeout": "1ms"}), lambda _: None)
