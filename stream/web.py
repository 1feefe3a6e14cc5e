"""Web: liveness, readiness, metrics and a plain status page. Published figures only: no user, no place."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp.web import Application, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from stream.codec import rfc3339
from stream.partition_task import ReleasedWindow

__all__ = ["Health", "Status", "add_pages"]


@dataclass(slots=True)
class Health:
    """What makes a worker ready: everything is assigned, seals are read, the cluster answers."""

    checks: dict[str, Callable[[], bool]] = field(default_factory=dict)

    def failing(self) -> list[str]:
        """Return the names of the checks that fail."""
        return [name for name, check in self.checks.items() if not check()]


class Status:
    """The windows that were emitted last, for the status page."""

    def __init__(self, keep: int = 50) -> None:
        self.windows: deque[ReleasedWindow] = deque(maxlen=keep)
        self.counts: dict[str, int] = {"released": 0, "withheld": 0, "refused": 0}

    def add(self, window: ReleasedWindow) -> None:
        """Show a window."""
        self.windows.appendleft(window)
        self.counts[window.outcome] += 1


def add_pages(app: Application, registry: CollectorRegistry, health: Health, status: Status) -> None:
    """Add ``/``, ``/healthz``, ``/readyz`` and ``/metrics``."""

    async def healthz(_: Request) -> Response:
        # That this is answered shows that the event loop lives.
        return Response(text="ok\n")

    async def readyz(_: Request) -> Response:
        failing = health.failing()
        return (
            Response(text="ready\n")
            if not failing
            else Response(status=503, text=f"waiting for: {', '.join(failing)}\n")
        )

    async def metrics(_: Request) -> Response:
        return Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def page(_: Request) -> Response:
        return Response(text=_page(health, status), content_type="text/html")

    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/", page)


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b2a33; }
h1 { font-size: 1.4rem } .ok { color: #1a7f4b } .bad { color: #b3261e }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .8rem .3rem 0; }
th { border-bottom: 2px solid #1b2a33 } td { border-bottom: 1px solid #d5dde1; font-variant-numeric: tabular-nums }
"""

_COLUMNS = (
    "window",
    "feed",
    "shard",
    "outcome",
    "people",
    "trajectories",
    "points",
    "smallest support",
    "close to release",
)


def _page(health: Health, status: Status) -> str:
    failing = health.failing()
    state = (
        "<b class=ok>ready</b>" if not failing else f"<b class=bad>waiting for: {html.escape(', '.join(failing))}</b>"
    )
    counts = ", ".join(f"{n} {outcome}" for outcome, n in status.counts.items())
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "".join(_row(window) for window in status.windows)
    empty = "" if rows else "<p>No window has closed yet.</p>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>"
        f"<meta name=viewport content='width=device-width'><title>Shoal</title><style>{_STYLE}</style>"
        f"<h1>Shoal</h1><p>This worker is {state}. Windows since it started: {counts}. "
        "<a href=metrics>Metrics</a></p>"
        f"<table><tr>{head}</tr>{rows}</table>{empty}</html>"
    )


def _row(window: ReleasedWindow) -> str:
    facts = window.facts
    cells = (
        f"{rfc3339(window.key.start_ms)} – {rfc3339(window.key.end_ms)}",
        window.key.kind.value,
        window.key.shard,
        window.outcome if window.outcome == "released" else f"{window.outcome}: {facts.get('reason')}",
        facts.get("people", ""),
        facts.get("trajectories", ""),
        facts.get("points_released", ""),
        facts.get("smallest_support", ""),
        f"{window.close_to_release_s:.2f} s",
    )
    shown = ("" if cell is None else html.escape(str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>"
