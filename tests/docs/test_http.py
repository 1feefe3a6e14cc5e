"""The page of the HTTP API: every address with its status codes, and fields as a worker sends them."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import CollectorRegistry

from docs.extensions.http import ANSWER_SCHEMAS, ANSWERS, answer_markdown, answer_schema, example
from stream.observe.health import Health, add_health
from stream.worker.recent_windows import KEPT_WINDOWS, MAPPED_TRAJECTORIES, MAPPED_WINDOWS
from stream.worker.replayed_windows import SHOWN_WINDOWS
from stream.worker.shapes import Shapes
from stream.worker.web import add_pages
from tests.builders.json_schemas import complaints
from tests.builders.live_windows import live, sequences, told, tracks, withheld
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
PORTS = {"6067": ("/healthz", "/readyz", "/metrics")}


def client_of(*, page: bool, is_ready: bool = True) -> TestClient[Any, Any]:
    """A client of a worker with both ports, which has released and withheld windows."""
    health = Health({"the start": lambda: is_ready})
    recent = live({"web.page": page, "web.tile_url": "https://tiles.example/{z}/{x}/{y}.png"})
    for outcome in (sequences(), tracks(), withheld(shard="cohort-2")):
        recent.add(told(outcome))
    app = web.Application()
    add_health(app, CollectorRegistry(), health)
    add_pages(app, health, recent)
    return TestClient(TestServer(app))


def complaints_of(name: str, answer: Any) -> list[str]:
    """Return what is wrong with an answer; a field that the schema lacks is wrong too."""

    def closed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [closed(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        made = {key: closed(value) for key, value in schema.items()}
        return made | {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else made

    return complaints(closed(answer_schema(name)), answer)


def fields_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every field of a schema, those of objects inside it too."""
    found: list[dict[str, Any]] = []
    for field in schema.get("properties", {}).values():
        found += [field, *fields_of(field.get("items", field))]
    return found


@pytest.mark.parametrize("name", ANSWERS)
def test_every_field_has_a_meaning(name: str) -> None:
    """
    The schema is valid, describes every field, and contains no markup of docstrings.
    """
    schema = ANSWER_SCHEMAS[f"api-{name}"]()
    jsonschema.Draft202012Validator.check_schema(schema)
    fields = fields_of(schema)
    assert len(fields) >= len(schema["properties"]) > 0
    assert [field for field in fields if not field["description"].endswith(".")] == []
    assert [field for field in fields if ":data:" in field["description"]] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_described_with_an_example(name: str) -> None:
    """
    The example fits its schema, and the text has the fields, the example and the schema.
    """
    assert complaints_of(name, example(name)) == []
    text = answer_markdown(name)
    assert "| field | type | meaning |" in text
    assert "{dropdown} JSON Schema" in text
    assert text.count("```json\n") == 2


@pytest.mark.parametrize("page", [True, False])
async def test_answers_of_a_worker_fit_the_schemas(page: bool) -> None:
    """
    With the live page and without it, of released and withheld windows of both feeds, and where one is refused.
    """
    async with client_of(page=page) as client:
        status = await (await client.get("/api/status")).json()
        windows = await (await client.get("/api/windows")).json()
        assert (complaints_of("status", status), complaints_of("windows", windows)) == ([], [])
        assert len(status["withheld"]) == 1
        assert len(windows["windows"]) == 3
        for one in windows["windows"]:
            answer = await client.get("/api/windows", params={"release": one["release"]})
            name = "geometry" if answer.status == 200 else "refusal"
            assert complaints_of(name, await answer.json()) == []
            assert (answer.status == 200) == one["on_map"] == (page and one["outcome"] == "released")


def test_a_geometry_without_locations_fits_its_schema() -> None:
    """
    What a trajectory leaves out is optional; nothing is null.
    """
    empty = msgspec.to_builtins(Shapes(release="0" * 16, regions=[], n_regions=0, trajectories=[], n_trajectories=0))
    assert complaints_of("geometry", empty | {"trajectories": [{"points": [[52.5, 13.4]]}]}) == []
    assert complaints_of("geometry", empty | {"trajectories": [{"points": None}]})


async def test_the_page_has_every_address_with_its_status_codes() -> None:
    """
    Those that a worker answers with, ready or not, with the live page and without it, and no other.
    """
    found: set[tuple[str, str]] = set()
    for page, is_ready in ((True, True), (False, False)):
        async with client_of(page=page, is_ready=is_ready) as client:
            server: Any = client.server
            paths = {route.resource.canonical for route in server.app.router.routes()}
            windows = await (await client.get("/api/windows")).json()
            paths |= {f"/api/windows?release={one['release']}" for one in windows["windows"]}
            paths |= {"/page/no-such-file"}
            for path in paths:
                shown = re.sub(r"(?<=release=)\w+", "ID", re.sub(r"(?<=/page/).+", "FILE", path))
                port = "6067" if path in PORTS["6067"] else "6066"
                found.add((f":{port}{shown}", str((await client.get(path)).status)))
    assert set(re.findall(r"^\| `(:\d+\S*)` \| (\d+) \|", PAGE, re.MULTILINE)) == found


def test_the_page_names_the_checks_of_readiness() -> None:
    """
    Those that a worker has, in the order in which it names them.
    """
    source = (ROOT / "stream" / "worker" / "run.py").read_text(encoding="utf-8")
    checks = re.findall(r'^ +"(the [\w ]+)": ', source, re.MULTILINE)
    assert len(checks) == 7
    assert re.findall(r"^\| `(the [\w ]+)` \|", PAGE, re.MULTILINE) == checks


def test_numbers_of_the_page_are_those_of_the_code() -> None:
    """
    How many windows, releases and trajectories are kept.
    """
    assert f"[the last {KEPT_WINDOWS} windows]" in PAGE
    assert f"of the last {MAPPED_WINDOWS} releases" in PAGE
    assert f"{MAPPED_TRAJECTORIES} trajectories, within 1 MiB of messages" in PAGE
    assert f"up to {SHOWN_WINDOWS:,} windows" in PAGE
