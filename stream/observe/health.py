"""Health: liveness, readiness and metrics, on a port that answers from a worker's start to its end."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp.web import Application, AppRunner, Request, Response, TCPSite
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from stream.observe.rounding import RoundedCounts
from stream.settings.service import ListenSettings, MetricsSettings

__all__ = ["Health", "HealthServer", "ListenError", "add_health", "check_port"]

_LAST_ANSWER_S = 1.0
"""How long an answer in progress may take when the server stops."""


class ListenError(Exception):
    """A worker cannot listen at the address in the settings; the message says what to do."""


@dataclass(slots=True)
class Health:
    """The checks that make a worker ready: partitions are assigned, seals are read, the cluster answers."""

    checks: dict[str, Callable[[], bool | str]] = field(default_factory=dict)
    """By name: a check that returns True, or False or a message if it fails."""

    def failing(self) -> list[str]:
        """Return the names of the checks that fail, with their messages."""
        results = {name: check() for name, check in self.checks.items()}
        return [
            f"{name} ({result})" if isinstance(result, str) else name
            for name, result in results.items()
            if result is not True
        ]


def add_health(app: Application, registry: Collector, health: Health) -> None:
    """Add ``/healthz``, ``/readyz`` and ``/metrics``."""

    async def healthz(_: Request) -> Response:
        # An answer shows that the event loop runs.
        return Response(text="ok\n")

    async def readyz(_: Request) -> Response:
        failing = health.failing()
        return (
            Response(text="ready\n")
            if not failing
            else Response(status=503, text=f"waiting for: {', '.join(failing)}\n")
        )

    async def metrics(request: Request) -> Response:
        # Only OpenMetrics has exemplars, which lead to traces; a client that does not ask for it gets Prometheus' text.
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return Response(body=encode(registry), headers={"Content-Type": content_type})

    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)


class HealthServer:
    """Serves health and metrics.

    It is not a Faust service: it must answer while a worker waits for its cluster, before Faust starts.

    Args:
        settings: Where to listen.
        registry: The metrics, exact ones.
        health: The readiness checks.
    """

    def __init__(self, settings: MetricsSettings, registry: CollectorRegistry, health: Health) -> None:
        self._settings = settings
        app = Application()
        add_health(app, RoundedCounts(registry, settings.count_step), health)
        self._runner = AppRunner(app, access_log=None, shutdown_timeout=_LAST_ANSWER_S)

    async def start(self) -> None:
        """Begin to answer.

        Raises:
            ListenError: The port is taken, or the host is not an address of this machine.
        """
        await self._runner.setup()
        try:
            await TCPSite(self._runner, self._settings.host, self._settings.port).start()
        except OSError as fault:
            await self._runner.cleanup()
            raise _refused("metrics", self._settings, fault) from None

    async def stop(self) -> None:
        """Stop answering; may be called twice."""
        await self._runner.cleanup()


async def check_port(section: str, settings: ListenSettings) -> None:
    """Check that the port on which Faust listens later is free: Faust would only report a crash.

    Raises:
        ListenError: The port is taken, or the host is not an address of this machine.
    """
    try:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, settings.host, settings.port)
    except OSError as fault:
        raise _refused(section, settings, fault) from None
    server.close()
    await server.wait_closed()


def _refused(section: str, settings: ListenSettings, fault: OSError) -> ListenError:
    where = f"{section}.host is {settings.host} and {section}.port {settings.port}"
    if fault.errno == errno.EADDRINUSE:
        return ListenError(f"{where}: another program listens there already; end it, or set {section}.port")
    if fault.errno == errno.EACCES:
        return ListenError(f"{where}: this user may not listen there; set {section}.port to 1024 or more")
    return ListenError(f"{where}: this machine has no such address; set {section}.host to one of its addresses")
