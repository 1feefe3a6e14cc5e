"""Demo: an embedded broker, the topics, one worker and a simulated city; prints each window as it is emitted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from core.records.record import Kind
from stream.demo.broker import EmbeddedBroker, free_port, lock_port
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.demo.generate import send_messages
from stream.kafka.topics import create_topics
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.secret import new_secret
from stream.worker.status import StatusError, ask_health

__all__ = ["DemoError", "run_demo"]

_SPEED = 120
"""Event time runs this many times faster than the clock, so that windows close while the user watches."""

_SETTINGS = {
    "kafka.partitions": 2,
    "kafka.session_timeout": "6s",
    "location.cell_m": 1500,
    "window.size": "10m",
    "checkins.window.size": "30m",
    # The city delays records by up to a minute, and a fragment spans up to four.
    "window.allowed_lateness": "5m",
    "window.idle_timeout": "5s",
    "privacy.k": 5,
    "privacy.m": 2,
    "privacy.delta_m": 500,
    "web.page": True,
    "release.withheld": "announced",  # nobody lives in the city
    # Phones in the city are silent where people stay, so a stop lasts from one way to the next.
    "stops.of_fragments": "beside",
    "stops.min_duration": "5m",
    "stops.window.size": "2h",
    "stops.privacy.model": "flows",
}


class DemoError(Exception):
    """The demo cannot continue; the message says what to do."""


def run_demo(*, seconds: float | None, people: int, given: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Run until Ctrl-C, or for some seconds; stops everything that it has started.

    Args:
        seconds: How long to show windows; None means until Ctrl-C.
        people: Number of people in the city.
        given: Settings by dotted name that differ from the demo's.
        say: Prints a line.

    Raises:
        DemoError: The worker ended, or no window was released in a minute or more.
        BrokerError: The broker does not start.
    """
    secret, chosen = new_secret(), {**_SETTINGS, **given}
    load_settings(given=chosen)  # a wrong setting is told before anything starts
    say("starting an embedded Kafka-compatible broker ...")
    with EmbeddedBroker() as broker, _ports(6066, 6067) as (web_port, metrics_port):
        settings = load_settings(
            given=chosen
            | {
                "kafka.bootstrap_servers": broker.bootstrap_servers,
                "privacy.secret": secret,
                "web.port": web_port,
                "metrics.port": metrics_port,
            }
        )
        say("creating the topics ...")
        asyncio.run(create_topics(settings))
        with _worker(settings, chosen, secret, say) as worker:
            counts: Counter[str] = Counter()
            # Ctrl-C ends the demo.
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(_show(settings, worker, seconds, people, counts, say))
            say("stopping the worker ...")
    total = counts["released"] + counts["withheld"]
    say(
        f"{counts['sent']} records sent; {total} windows: {counts['released']} released and verified, "
        f"{counts['withheld']} withheld; {counts['trajectories']} anonymized trajectories, "
        f"{counts['points']} points released"
    )
    if seconds is not None and seconds >= 60 and not counts["released"]:
        raise DemoError(
            "no window was released within a minute: the machine may be busy; try `shoal demo --seconds 120` (make "
            "demo SECONDS=120)"
        )


async def _show(
    settings: Settings,
    worker: subprocess.Popen[bytes],
    seconds: float | None,
    people: int,
    counts: Counter[str],
    say: Callable[[str], None],
) -> None:
    await asyncio.to_thread(_wait_until_ready, settings, worker, say)
    say(f"live page: {settings.web.url}/     (Ctrl-C ends the demo)")
    say(f"metrics:   {settings.metrics.url}/metrics")
    say("")
    say(_line(("window (UTC)", "shard", "model", "people", "released", "suppressed", "smallest", "loss", "close to")))
    say(_line(("", "", "", "", "points", "points", "support", "", "release")))
    tasks = [
        asyncio.create_task(_feed(settings, people, counts)),
        asyncio.create_task(_print_windows(settings, counts, say)),
        asyncio.create_task(_watch(worker)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        say("")


@contextlib.contextmanager
def _worker(
    settings: Settings, chosen: Mapping[str, Any], secret: str, say: Callable[[str], None]
) -> Iterator[subprocess.Popen[bytes]]:
    say("starting the worker ...")
    log = Path(tempfile.mkdtemp(prefix="shoal-demo-")) / "worker.log"
    say(f"its log: {log}")
    environment = {name: value for name, value in os.environ.items() if name != "SHOAL_CONFIG"}
    environment["SHOAL_PRIVACY__SECRET"] = secret
    arguments = [f"{name}={value}" for name, value in chosen.items()]
    arguments += [f"kafka.bootstrap_servers={settings.kafka.bootstrap_servers}"]
    arguments += [f"web.port={settings.web.port}", f"metrics.port={settings.metrics.port}"]
    command = [sys.executable, "-m", "stream.cli.main", "worker", *(part for a in arguments for part in ("--set", a))]
    with log.open("wb") as out:
        # A session of its own, so that Ctrl-C reaches only the demo, which then stops the worker.
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)  # noqa: S603
    try:
        yield process
    except DemoError as fault:
        tail = log.read_text(errors="replace").splitlines()[-15:]
        raise DemoError("\n".join([str(fault), *tail])) from None
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=settings.worker.grace_period / 1000 + 10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(settings: Settings, worker: subprocess.Popen[bytes], say: Callable[[str], None]) -> None:
    changed_s = told_s = time.monotonic()
    before: str | None = None
    while True:
        state = _readiness(settings)
        if state is None:
            return
        if worker.poll() is not None:
            raise DemoError(f"the worker ended with code {worker.returncode} before it was ready; its last lines:")
        now_s = time.monotonic()
        if state != before:  # kernels are compiled one by one
            before, changed_s = state, now_s
        if now_s - changed_s > 120:
            raise DemoError(f"the worker has waited for two minutes ({state}); its last lines:")
        if now_s - told_s > 2:
            say(f"  {state}")
            told_s = now_s
        time.sleep(0.2)


def _readiness(settings: Settings) -> str | None:
    """Return what the worker waits for, or None when it is ready."""
    try:
        is_ready, answer = ask_health(settings.metrics.url)
    except StatusError:
        return "waiting for the worker to answer"
    return None if is_ready else answer


async def _feed(settings: Settings, people: int, counts: Counter[str]) -> None:
    start = datetime.now(UTC).replace(hour=7, minute=30, second=0, microsecond=0) - timedelta(days=1)
    while start.weekday() > 4:  # a workday, with its morning traffic
        start -= timedelta(days=1)
    city = City(CityOptions(people=people, start_ms=round(start.timestamp() * 1000), checkins_per_person_day=8.0))
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka.bootstrap_servers, linger_ms=20)
    await producer.start()
    try:
        topics = {Kind.CHECKINS: settings.topics.checkins, Kind.FRAGMENTS: settings.topics.fragments}

        def count(_: int) -> None:
            counts["sent"] += 1

        await send_messages(city.messages(until_ms=None), producer, topics, speed=_SPEED, progress=count)
    finally:
        await producer.stop()


async def _print_windows(settings: Settings, counts: Counter[str], say: Callable[[str], None]) -> None:
    consumer = AIOKafkaConsumer(
        settings.topics.windows,
        bootstrap_servers=settings.kafka.bootstrap_servers,
        auto_offset_reset="earliest",
        group_id=None,
    )
    await consumer.start()
    try:
        async for message in consumer:
            window = json.loads(message.value)
            durations = json.loads(dict(message.headers).get("shoal-durations", b"{}"))
            counts[window["outcome"]] += 1
            counts["trajectories"] += window.get("trajectories", 0)
            counts["points"] += window.get("points_released", 0)
            say(_window_line(window, durations.get("close_to_release_s")))
    finally:
        await consumer.stop()


async def _watch(worker: subprocess.Popen[bytes]) -> None:
    # A thread that waits for the process could not be cancelled, and the demo would never end.
    while worker.poll() is None:  # noqa: ASYNC110 - a process has no event
        await asyncio.sleep(0.2)
    raise DemoError(f"the worker ended with code {worker.returncode}; its last lines:")


def _window_line(window: dict[str, Any], close_to_release_s: float | None) -> str:
    start, end = (moment[11:16] for moment in window["window"])
    time_taken = "" if close_to_release_s is None else f"{close_to_release_s:.2f} s"
    if window["outcome"] != "released":
        why = f"withheld: {window['reason'].replace('_', ' ')}"
        return _line((f"{start}-{end}", window["shard"], window["model"], why, "", "", "", "", time_taken))
    loss = window["information_loss"]
    metres = loss.get("distance_m", loss.get("mean_space_translation_m", loss.get("radius_m")))
    suppressed = window["points_suppressed"]
    return _line(
        (
            f"{start}-{end}",
            window["shard"],
            window["model"],
            "" if window["people"] is None else window["people"],
            window["points_released"],
            f"<{window['parameters']['k']}" if suppressed is None else suppressed,
            window["smallest_support"],
            "" if metres is None else f"{metres:.0f} m",
            time_taken,
        )
    )


def _line(cells: tuple[Any, ...]) -> str:
    widths = (13, 6, 9, 7, 9, 11, 9, 8, 9)
    return "  ".join(f"{cell!s:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


@contextlib.contextmanager
def _ports(*wanted: int) -> Iterator[tuple[int, ...]]:
    """Reserve free ports, the wanted ones if possible, for the duration of a ``with`` block.

    The worker listens only seconds later. Until then a lock keeps other demos from choosing the same ports.
    """
    with contextlib.ExitStack() as locks:
        yield tuple(_port(port, locks) for port in wanted)


def _port(wanted: int, locks: contextlib.ExitStack) -> int:
    port = wanted
    while not _is_ours(port, locks):
        port = free_port()
    return port


def _is_ours(port: int, locks: contextlib.ExitStack) -> bool:
    try:
        lock = lock_port(port, "demo")
    except OSError:  # another demo has the lock
        return False
    with lock as held, socket.socket() as probe:
        if not probe.connect_ex(("127.0.0.1", port)):
            return False
        locks.push(held.pop_all())
        return True
