"""Serves a JSON interface and the live page: released data only, no user id and no raw location."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from aiohttp.web import Application, Request, Response

from stream.observe.health import Health
from stream.worker.api import Refusal, WindowFigures, WindowList, WorkerStatus
from stream.worker.shapes import Shapes

__all__ = ["PAGE_IS_OFF", "ShownWindows", "add_pages"]

PAGE_IS_OFF = "the live page is off: set web.page=true (SHOAL_WEB__PAGE=true) to turn it on"

_PAGE = Path(__file__).parent / "page"
_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}


class ShownWindows(Protocol):
    """The windows that the pages show: of a worker, or of a folder."""

    @property
    def page(self) -> bool:
        """Whether the page and the geometry of releases are served."""
        ...

    @property
    def tile_url(self) -> str | None:
        """Background map tiles."""
        ...

    def windows(self) -> list[WindowFigures]:
        """Return the figures of the windows, the newest first."""
        ...

    def shapes(self, release: str) -> Shapes | None:
        """Return the geometry of one release, or None."""
        ...

    def status(self, failing: list[str]) -> WorkerStatus:
        """Return the state."""
        ...


def add_pages(app: Application, health: Health, recent: ShownWindows) -> None:
    """Add ``/api/status``, ``/api/windows`` and the page, which may be turned on and off while they are served."""

    def answer(content: Any, *, status: int = 200) -> Response:
        body = msgspec.json.encode(content)
        return Response(body=body, status=status, content_type="application/json", headers=_headers(recent.tile_url))

    async def status(_: Request) -> Response:
        return answer(recent.status(health.failing()))

    async def windows(request: Request) -> Response:
        release = request.query.get("release")
        if release is None:
            return answer(WindowList(windows=recent.windows()))
        if not recent.page:
            return answer(Refusal(error=PAGE_IS_OFF), status=403)
        shapes = recent.shapes(release)
        if shapes is None:
            why = "this release is not kept for the map: only the last releases are"
            return answer(Refusal(error=why), status=404)
        return answer(shapes)

    app.router.add_get("/api/status", status)
    app.router.add_get("/api/windows", windows)
    for file in sorted(_PAGE.iterdir()):
        path = "/" if file.name == "index.html" else f"/page/{file.name}"
        app.router.add_get(path, _file(file, recent))


def _file(file: Path, recent: ShownWindows) -> Callable[[Request], Any]:
    body, content_type = file.read_bytes(), _TYPES[file.suffix]

    async def serve(request: Request) -> Response:
        headers = _headers(recent.tile_url)
        if recent.page:
            return Response(body=body, content_type=content_type, charset="utf-8", headers=headers)
        return Response(text=f"{PAGE_IS_OFF}\n", status=200 if request.path == "/" else 404, headers=headers)

    return serve


def _headers(tile_url: str | None) -> dict[str, str]:
    """Return headers that keep the page from contacting any other server, except for map tiles."""
    tiles = urlsplit(tile_url) if tile_url is not None else None
    images = f"'self' data: {tiles.scheme}://{tiles.netloc}" if tiles is not None else "'self' data:"
    policy = {
        "default-src": "'self'",
        "img-src": images,
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
