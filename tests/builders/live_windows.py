"""Windows as they leave, and a web server with the pages of a worker that shows them, without Kafka."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from core.records.record import Kind
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld, WithholdReason
from core.windows.window import WindowKey
from stream.demo.broker import free_port
from stream.feeds.feed import build_feeds
from stream.formats.release.messages import OutMessage, outcome_messages
from stream.observe.health import Health
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.values import instant_ms
from stream.windows.report import EmittedWindow
from stream.worker.recent_windows import RecentWindows
from stream.worker.web import add_pages
from tests.builders.windows import START_MS, WINDOW_MS, point_plan, points, released, seal_of, sequence_plan, visits

__all__ = [
    "SECRET",
    "PageServer",
    "live",
    "many",
    "of_folder",
    "of_messages",
    "sequences",
    "settings_of",
    "told",
    "tracks",
    "withheld",
]

SECRET = "a secret of the tests, long enough"  # noqa: S105 - of no worth anywhere


def settings_of(values: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a worker with the page on, and what a test changes."""
    return load_settings(
        given={"privacy.secret": SECRET, "privacy.k": 3, "web.page": True, "release.withheld": "announced"}
        | dict(values or {})
    )


def live(values: Mapping[str, Any] | None = None, *, started_ms: int = START_MS) -> RecentWindows:
    """What such a worker remembers, before anything has left."""
    settings = settings_of(values)
    return RecentWindows(settings, build_feeds(settings), started_ms=started_ms)


def sequences() -> Release:
    """A released window of check-ins: nine people at six venues."""
    rows = visits(*((user, 60 * i + user, (user % 3) + 2 * i % 6) for user in range(9) for i in range(2)))
    return released(rows, sequence_plan())


def tracks(*, people: int = 12) -> Release:
    """A released window of fragments: people on one road."""
    rows = [
        (user, 30 * i, 52.5 + i / 2000, 13.4 + i / 1000 + user / 50_000) for user in range(people) for i in range(12)
    ]
    return released(points(*rows), point_plan())


def withheld(reason: WithholdReason = WithholdReason.TOO_FEW_PEOPLE, *, shard: str = "all") -> Withheld:
    """A window of which nothing leaves."""
    plan = sequence_plan()
    seal = seal_of(visits((1, 0, 0)), plan, shard=shard)
    if reason is WithholdReason.VERIFICATION_FAILED:
        return plan.refuse(seal, "2 subtrajectories have support below k=3", withheld=1, duplicates=0)
    return plan.withhold(seal, reason, withheld=1)


def told(outcome: Outcome, *, seconds: float = 0.25) -> EmittedWindow:
    """An outcome as the worker tells of it once it has left."""
    name = "released" if isinstance(outcome, Release) else "withheld"
    name = "refused" if isinstance(outcome, ReleaseRefused) else name
    return of_messages(outcome.key, name, tuple(outcome_messages(outcome)), seconds=seconds)


def of_messages(
    key: WindowKey,
    outcome: str,
    messages: tuple[OutMessage, ...],
    *,
    seconds: float = 0.25,
) -> EmittedWindow:
    """A window as the worker tells of it, of messages."""
    return EmittedWindow(
        key=key,
        outcome=outcome,
        close_to_release_s=seconds,
        emitted_at_s=key.end_ms / 1000 + 60,
        messages=messages,
    )


def many(release: Release, n: int, *, first: int = 0) -> list[EmittedWindow]:
    """A release again and again, each of a later window."""
    windows = []
    for i in range(first, first + n):
        start = release.key.start_ms + i * WINDOW_MS
        key = release.key._replace(start_ms=start, end_ms=start + WINDOW_MS)
        name = f"{release.release_id[:8]}{i:08x}"
        windows.append(told(replace(release, key=key, release_id=name)))
    return windows


def of_folder(folder: Path) -> list[EmittedWindow]:
    """The windows that a replay wrote to a folder, in its order."""
    trajectories: dict[str, list[OutMessage]] = {}
    for line in (folder / "anonymized.ndjson").read_bytes().splitlines():
        release = json.loads(line)["release"]
        own = trajectories.setdefault(release, [])
        own.append(OutMessage("anonymized", f"{release}:{len(own)}".encode(), line, 0))
    windows = []
    for line in (folder / "windows.ndjson").read_bytes().splitlines():
        content = json.loads(line)
        start_ms, end_ms = map(instant_ms, content["window"])
        key = WindowKey(end_ms, Kind(content["kind"]), content["shard"], start_ms)
        committed = OutMessage("windows", content["release"].encode(), line, end_ms)
        messages = (*trajectories.get(content["release"], []), committed)
        windows.append(of_messages(key, content["outcome"], messages))
    return windows


class PageServer:
    """The web server of a worker, in a thread of its own, for as long as a ``with`` block.

    Args:
        shown: What the worker remembers.
        port: Where to listen; a free port where it is not given.
    """

    def __init__(self, shown: RecentWindows, *, port: int | None = None) -> None:
        self.live, self.port = shown, port or free_port()
        self.health = Health()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, windows: Iterable[EmittedWindow]) -> None:
        """Let windows leave."""
        for window in windows:
            self._loop.call_soon_threadsafe(self.live.add, window)

    def _run(self, make: Callable[[], Any]) -> None:
        asyncio.run_coroutine_threadsafe(make(), self._loop).result(10)

    def __enter__(self) -> Self:
        self._thread.start()

        async def start() -> None:
            app = web.Application()
            add_pages(app, self.health, self.live)
            self._runner = web.AppRunner(app, shutdown_timeout=0.5)
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

        self._run(start)
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._runner.cleanup)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
