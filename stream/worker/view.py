"""Serves the live page for a folder that a replay wrote, on this machine alone."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import webbrowser
from collections.abc import Callable

from aiohttp.web import Application, AppRunner, SockSite

from stream.observe.health import Health
from stream.worker.replayed_windows import ReplayedWindows, ViewError
from stream.worker.web import add_pages

__all__ = ["serve_folder"]

_HOST = "127.0.0.1"
_LAST_ANSWER_S = 0.5


def serve_folder(shown: ReplayedWindows, *, port: int, with_browser: bool, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        shown: What the page shows.
        port: Where to listen; 0 is any free port.
        with_browser: Whether to open the page.
        ready: Called with its address.

    Raises:
        ViewError: The port is taken.
    """
    try:
        listening = socket.create_server((_HOST, port))
    except OSError as fault:
        raise ViewError(
            f"cannot listen at port {port} of {_HOST} ({fault.strerror}): name another with --port, or leave it out"
        ) from None
    with listening, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(shown, listening, with_browser=with_browser, ready=ready))


async def _serve(
    shown: ReplayedWindows, listening: socket.socket, *, with_browser: bool, ready: Callable[[str], None]
) -> None:
    app = Application()
    add_pages(app, Health(), shown)
    runner = AppRunner(app, access_log=None, shutdown_timeout=_LAST_ANSWER_S)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await runner.setup()
    try:
        await SockSite(runner, listening).start()
        url = f"http://{_HOST}:{listening.getsockname()[1]}/"
        ready(url)
        if with_browser:
            # Some browsers return only when they are closed.
            opening = asyncio.get_running_loop().run_in_executor(None, webbrowser.open, url)
            opening.add_done_callback(lambda _: None)
        await ended.wait()
    finally:
        await runner.cleanup()
