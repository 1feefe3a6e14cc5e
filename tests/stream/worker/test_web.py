"""The web pages: what they show is what was released, bounded, and nothing reaches out to anybody else."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import stream.worker.web
from core.release.outcome import WithholdReason
from stream.formats.release.messages import outcome_messages
from stream.observe.health import Health
from stream.worker.recent_windows import (
    KEPT_WINDOWS,
    MAPPED_BYTES,
    MAPPED_TRAJECTORIES,
    MAPPED_WINDOWS,
    MEANINGS,
    RecentWindows,
)
from stream.worker.web import PAGE_IS_OFF, add_pages
from tests.builders.live_windows import live, many, of_messages, sequences, settings_of, told, tracks, withheld

PAGE = Path(stream.worker.web.__file__).parent / "page"
Client = TestClient[Any, Any]


@asynccontextmanager
async def client_of(shown: RecentWindows, health: Health | None = None) -> AsyncIterator[Client]:
    """A client of the pages."""
    app = web.Application()
    add_pages(app, health or Health(), shown)
    async with TestClient(TestServer(app)) as client:
        yield client


async def json_of(client: Client, path: str, status: int = 200) -> Any:
    answer = await client.get(path)
    assert answer.status == status
    assert answer.content_type == "application/json"
    return await answer.json()


# The page and its files


async def test_where_the_page_is_off_one_line_says_how_to_turn_it_on() -> None:
    """
    Nothing else is at ``/``, no file of the page is served, and no geometry is given or even kept.
    """
    shown = live({"web.page": False})
    shown.add(told(sequences()))
    async with client_of(shown) as client:
        answer = await client.get("/")
        assert await answer.text() == f"{PAGE_IS_OFF}\n"
        assert answer.content_type == "text/plain"
        assert (await client.get("/page/page.js")).status == 404
        (window,) = (await json_of(client, "/api/windows"))["windows"]
        assert window["on_map"] is False
        told_no = await json_of(client, f"/api/windows?release={window['release']}", 403)
        assert told_no == {"error": PAGE_IS_OFF}
    assert shown.shapes(window["release"]) is None


def test_the_page_is_off_unless_it_is_turned_on() -> None:
    """
    Whoever reaches the port of a worker sees released trajectories only where that is wanted.
    """
    assert settings_of({"web.page": False}).web == type(settings_of().web)()


async def test_every_file_of_the_page_is_served_with_strict_headers() -> None:
    """
    A browser loads from the worker alone and sends nothing to anybody.
    """
    async with client_of(live()) as client:
        for file in PAGE.iterdir():
            answer = await client.get("/" if file.name == "index.html" else f"/page/{file.name}")
            assert answer.status == 200
            assert await answer.read() == file.read_bytes()
            policy = answer.headers["Content-Security-Policy"].split("; ")
            assert {"default-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'"} <= set(policy)
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_only_the_tile_host_is_allowed_beside_the_worker() -> None:
    """
    Where tiles are set, images may come from their host, and nothing else may.
    """
    async with client_of(live({"web.tile_url": "https://tiles.example:8443/a/{z}/{x}/{y}.png"})) as client:
        policy = (await client.get("/")).headers["Content-Security-Policy"]
        assert "img-src 'self' data: https://tiles.example:8443;" in policy
        assert policy.count("https://") == 1
        assert (await json_of(client, "/api/status"))["tile_url"].startswith("https://tiles.example:8443/")


def test_the_page_has_nothing_inline_and_names_no_other_host() -> None:
    """
    Inline scripts and styles would need a weaker policy; the only other address is a name space.
    """
    for file in PAGE.iterdir():
        text = file.read_text()
        assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}, file.name
        assert "innerHTML" not in text
    page = (PAGE / "index.html").read_text()
    assert not re.search(r"\son\w+=|style=|<style|<script(?![^>]*\ssrc=)", page)


# Status


async def test_the_status_tells_readiness_and_the_models_in_force() -> None:
    """
    What is waited for, what each feed promises, and how it is divided.
    """
    ready = False
    health = Health({"the Kafka cluster": lambda: ready})
    async with client_of(live({"checkins.shard.kind": "region", "fragments.window.size": "30m"}), health) as client:
        status = await json_of(client, "/api/status")
        assert (status["ready"], status["waiting_for"]) == (False, ["the Kafka cluster"])
        ready = True
        status = await json_of(client, "/api/status")
        assert (status["ready"], status["waiting_for"]) == (True, [])
    checkins, fragments = status["feeds"]
    assert (checkins["model"], checkins["shard"], checkins["window"]) == ("seqanon", "region", "15m")
    assert (fragments["model"], fragments["shard"], fragments["window"]) == ("w4m", "single", "30m")
    assert "up to 2 places" in checkins["promise"]
    assert "at least 3 people" in checkins["promise"]
    assert "500 m" in fragments["promise"]
    assert checkins["parameters"]["k"] == fragments["parameters"]["k"] == 3


async def test_what_was_withheld_is_told_with_its_reason() -> None:
    """
    Every reason has a meaning in words; a window that the verifier refused is told from one with too few people.
    """
    shown = live()
    for i, reason in enumerate(WithholdReason):
        shown.add(told(replace(withheld(reason), release_id=f"{i:016x}")))
    shown.add(told(sequences()))
    async with client_of(shown) as client:
        status = await json_of(client, "/api/status")
        windows = (await json_of(client, "/api/windows"))["windows"]
    n = len(WithholdReason)
    assert status["counts"] == {"released": 1, "withheld": n - 1, "refused": 1}
    assert {one["reason"]: one["meaning"] for one in status["withheld"]} == MEANINGS
    assert [one["outcome"] for one in windows].count("refused") == 1
    for one in windows[1:]:
        assert [one[name] for name in ("people", "population", "trajectories", "points_released")] == [None] * 4


# Windows


async def test_figures_are_those_of_the_windows_message() -> None:
    """
    Nothing is told of a window beside what its windows message tells, but when it left: risks are the operator's.
    """
    release = tracks()
    shown = live()
    shown.add(told(release, seconds=0.125))
    async with client_of(shown) as client:
        (window,) = (await json_of(client, "/api/windows"))["windows"]
    message = json.loads([*outcome_messages(release)][-1].value)
    beside = {"close_to_release_s": 0.125, "on_map": True, "reason": None}
    assert window.pop("emitted").endswith("Z")
    assert {name: window.pop(name) for name in beside} == beside
    assert window == {name: message[name] for name in window}


@pytest.mark.deep
async def test_memory_is_bounded() -> None:
    """
    However many windows leave: figures of the last ones, geometry of fewer, and of each only some trajectories.
    """
    shown = live()
    people = MAPPED_TRAJECTORIES + 40
    windows = many(tracks(people=people), KEPT_WINDOWS + 25)
    for window in windows:
        shown.add(window)
    async with client_of(shown) as client:
        told_of = (await json_of(client, "/api/windows"))["windows"]
        assert len(told_of) == KEPT_WINDOWS
        assert [one["window"][0] for one in told_of] == sorted((one["window"][0] for one in told_of), reverse=True)
        mapped = [one["release"] for one in told_of if one["on_map"]]
        assert mapped == [one["release"] for one in told_of[:MAPPED_WINDOWS]]
        drawn = await json_of(client, f"/api/windows?release={mapped[-1]}")
        assert len(drawn["trajectories"]) == MAPPED_TRAJECTORIES
        assert drawn["n_trajectories"] == people
        gone = await json_of(client, f"/api/windows?release={told_of[-1]['release']}", 404)
        assert told_of[-1]["release"] not in json.dumps(gone)
        assert (await json_of(client, "/api/status"))["counts"]["released"] == len(windows)


@pytest.mark.parametrize(("padding", "is_kept"), [(MAPPED_BYTES, False), (MAPPED_BYTES // 2, True)])
def test_a_large_release_is_kept_in_part_or_not_at_all(padding: int, is_kept: bool) -> None:
    """
    Bytes are counted: a windows message that alone is too long is not kept, trajectories as far as there is room.
    """
    *trajectories, window = outcome_messages(tracks())
    long = window._replace(value=window.value[:-1] + b',"padding":"' + b"x" * padding + b'"}')
    wide = [one._replace(value=one.value[:-1] + b',"padding":"' + b"x" * 100_000 + b'"}') for one in trajectories]
    shown, key = live(), tracks().key
    shown.add(of_messages(key, "released", (*wide, long)))
    drawn = shown.shapes(window.key.decode())
    assert (drawn is not None) is is_kept
    if drawn is not None:
        assert len(drawn.trajectories) == (MAPPED_BYTES - padding) // 100_300


def test_a_window_that_is_emitted_again_is_shown_once() -> None:
    """
    After a crash the same bytes leave again: it is the same window.
    """
    shown = live()
    shown.add(told(sequences()))
    shown.add(told(sequences()))
    assert len(shown.windows()) == 1


def test_what_cannot_be_shown_does_not_stop_what_leaves() -> None:
    """
    A message of an unforeseen form is left out of the page; nothing is raised into the worker.
    """
    shown = live()
    window = told(sequences())
    shown.add(replace(window, messages=()))
    shown.add(replace(window, messages=(window.messages[-1]._replace(value=b"{}"),)))
    assert shown.windows() == []
