"""Health: a port of its own that answers from first to last, and ``shoal health``, which asks it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from click.testing import CliRunner, Result
from prometheus_client import CollectorRegistry, Counter

from core.records.record import Kind
from stream.cli.main import main
from stream.demo.broker import free_port
from stream.observe.health import Health, HealthServer, ListenError, check_port
from stream.observe.metrics import Metrics
from stream.settings.service import MetricsSettings, WebSettings

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested


async def get(port: int, path: str) -> tuple[int, str]:
    async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(("n", "shown"), [(0, 0), (9, 0), (10, 10), (37, 30)])
async def test_counts_are_served_rounded_down(n: int, shown: int) -> None:
    """
    Counters of records and windows are, but for refused ones, which an alert watches; the registry stays exact.
    """
    port, metrics = free_port(), Metrics(CollectorRegistry())
    metrics.records.labels(Kind.CHECKINS, "withheld").inc(n)
    metrics.windows.labels(Kind.CHECKINS, "withheld").inc(n)
    metrics.withheld.labels(Kind.CHECKINS, "too_few_people").inc(n)
    metrics.windows.labels(Kind.CHECKINS, "refused").inc(n)
    metrics.withheld.labels(Kind.CHECKINS, "verification_failed").inc(n)
    metrics.rebalances.inc(n)
    server = HealthServer(MetricsSettings(port=port, count_step=10), metrics.registry, Health())
    await server.start()
    served = (await get(port, "/metrics"))[1].splitlines()
    assert {
        f'shoal_records_total{{kind="checkins",outcome="withheld"}} {shown}.0',
        f'shoal_windows_total{{kind="checkins",outcome="withheld"}} {shown}.0',
        f'shoal_withheld_windows_total{{kind="checkins",reason="too_few_people"}} {shown}.0',
        f'shoal_windows_total{{kind="checkins",outcome="refused"}} {n}.0',
        f'shoal_withheld_windows_total{{kind="checkins",reason="verification_failed"}} {n}.0',
        f"shoal_rebalances_total {n}.0",
    } <= set(served)
    kept = metrics.registry.get_sample_value("shoal_records_total", {"kind": "checkins", "outcome": "withheld"})
    assert kept == n
    await server.stop()


async def test_liveness_readiness_and_metrics() -> None:
    """
    What fails is named; metrics are those of the registry; there is nothing else.
    """
    ready, registry, port = False, CollectorRegistry(), free_port()
    Counter("shoal_things", "Things.", registry=registry).inc()
    health = Health({"the Kafka cluster": lambda: ready, "the moon": lambda: True})
    server = HealthServer(MetricsSettings(port=port), registry, health)
    await server.start()
    assert await get(port, "/healthz") == (200, "ok\n")
    assert await get(port, "/readyz") == (503, "waiting for: the Kafka cluster\n")
    ready = True
    assert await get(port, "/readyz") == (200, "ready\n")
    assert "shoal_things_total 1.0" in (await get(port, "/metrics"))[1]
    assert (await get(port, "/"))[0] == 404
    await server.stop()
    await server.stop()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def taken() -> Iterator[int]:
    """A port where somebody listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


async def test_a_port_that_is_taken_is_named(taken: int) -> None:
    """
    In a sentence, before anything else begins; a port that was only looked at is free afterwards.
    """
    with pytest.raises(ListenError, match=f"metrics.port {taken}: another program listens there already"):
        await HealthServer(MetricsSettings(port=taken), CollectorRegistry(), Health()).start()
    for host in ("127.0.0.1", EVERYWHERE):
        with pytest.raises(ListenError, match=f"web.host is {host} and web.port {taken}: another program"):
            await check_port("web", WebSettings(host=host, port=taken))
    port = free_port()
    await check_port("web", WebSettings(port=port))
    await check_port("web", WebSettings(port=port))


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
async def test_an_address_that_is_not_ours(host: str) -> None:
    """
    The sentence names the host.
    """
    with pytest.raises(ListenError, match=f"web.host is {host} .*this machine has no such address"):
        await check_port("web", WebSettings(host=host, port=free_port()))


# shoal health


@pytest.fixture
def worker() -> Iterator[tuple[int, Health]]:
    """The health of a worker, in a thread of its own."""
    health, port = Health(), free_port()
    loop = asyncio.new_event_loop()
    server = HealthServer(MetricsSettings(port=port), CollectorRegistry(), health)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    run: Callable[[Any], Any] = lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(10)  # noqa: E731
    run(server.start())
    yield port, health
    run(server.stop())
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def shoal_health(*arguments: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(main, ["health", *arguments])


@pytest.mark.parametrize("host", ["127.0.0.1", EVERYWHERE])
def test_a_worker_that_is_ready(worker: tuple[int, Health], host: str, tmp_path: Path) -> None:
    """
    Exit code 0, wherever the settings or the address come from; who listens everywhere is asked at loopback.
    """
    port, _ = worker
    file = tmp_path / "shoal.yaml"
    file.write_text(f"metrics: {{host: {host}, port: {port}}}")
    for result in (
        shoal_health("--config", str(file)),
        shoal_health(SHOAL_CONFIG=str(file)),
        shoal_health(SHOAL_METRICS__PORT=str(port), SHOAL_METRICS__HOST=host),
        shoal_health("--url", f"http://127.0.0.1:{port}/"),
    ):
        assert (result.exit_code, result.output) == (0, "ready\n")


def test_a_worker_that_waits(worker: tuple[int, Health]) -> None:
    """
    Exit code 1, what it waits for, and what to do.
    """
    port, health = worker
    health.checks["the Kafka cluster"] = lambda: False
    result = shoal_health("--set", f"metrics.port={port}")
    assert (result.exit_code, result.stdout) == (1, "waiting for: the Kafka cluster\n")
    assert result.stderr == "shoal: the worker is not ready: try again, and read its log if this continues\n"


def test_nobody_answers() -> None:
    """
    Exit code 1, where it was asked, and what to look at.
    """
    port = free_port()
    result = shoal_health("--set", f"metrics.port={port}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"shoal: no answer from http://127.0.0.1:{port}/readyz")
    assert "metrics.port" in result.stderr


def test_an_address_that_is_none() -> None:
    """
    An example shows how it is written.
    """
    result = shoal_health("--url", "127.0.0.1:6067")
    assert result.exit_code == 1
    assert "as http://127.0.0.1:6067 does" in result.stderr


async def test_another_program_is_no_worker() -> None:
    """
    A web server of somebody else is not ready, whatever it says.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n<html>\x1b[2J")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    result = await asyncio.to_thread(shoal_health, "--url", f"http://127.0.0.1:{port}")
    server.close()
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not a Shoal worker" in result.stderr


def test_a_worker_is_not_asked_through_a_proxy(worker: tuple[int, Health]) -> None:
    """
    Proxies of the variables are for the world outside, and a health check is asked beside the worker.
    """
    nobody = f"http://127.0.0.1:{free_port()}"
    result = shoal_health("--url", f"http://127.0.0.1:{worker[0]}", http_proxy=nobody, HTTP_PROXY=nobody)
    assert (result.exit_code, result.stdout) == (0, "ready\n")
