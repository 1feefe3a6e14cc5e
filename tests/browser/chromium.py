"""A real Chromium without a window, driven by its own DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import aiohttp

__all__ = ["Chromium", "Page", "find_chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_START_S = 60.0
_ANSWER_S = 30.0


def find_chromium() -> str | None:
    """Return the program, of ``SHOAL_CHROMIUM`` or on the path; None where there is none."""
    named = os.environ.get("SHOAL_CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One browser for as long as a ``with`` block.

    Args:
        program: What to run.
    """

    def __init__(self, program: str) -> None:
        self._program = program

    def __enter__(self) -> Self:
        self._folder = tempfile.mkdtemp(prefix="shoal-chromium-")
        command = [self._program, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told, deadline = Path(self._folder) / "DevToolsActivePort", time.monotonic() + _START_S
        while not (told.exists() and told.read_text().count("\n")):
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.__exit__()
                raise RuntimeError(f"{self._program} did not start within {_START_S:g} s")
            time.sleep(0.05)
        self._port = int(told.read_text().splitlines()[0])
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def page(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> AsyncIterator[Page]:
        """Open an empty page.

        Args:
            width: Of the view, CSS pixels; below 600 it is a phone.
            height: Of the view, CSS pixels.
            dark: Whether the person prefers dark colours.
        """
        async with aiohttp.ClientSession() as session:
            base = f"http://127.0.0.1:{self._port}/json"
            async with session.put(f"{base}/new?about:blank") as answer:
                target = await answer.json()
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                reader = asyncio.create_task(page.listen())
                try:
                    for domain in ("Page", "Runtime", "Network", "Log"):
                        await page.send(f"{domain}.enable")
                    is_phone = width < 600
                    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
                    await page.send("Emulation.setDeviceMetricsOverride", **metrics)
                    await page.send("Emulation.setTouchEmulationEnabled", enabled=is_phone)
                    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
                    await page.send("Emulation.setEmulatedMedia", features=[scheme])
                    yield page
                finally:
                    reader.cancel()
                    await asyncio.gather(reader, return_exceptions=True)
            async with session.get(f"{base}/close/{target['id']}"):
                pass


class Page:
    """One page: what it asked for, what it complained of, and ways to use it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._sent = socket, 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.requests: list[str] = []
        """Addresses of everything it asked for."""

        self.complaints: list[str] = []
        """Errors and warnings on its console, exceptions, and violations of its policy."""

    async def listen(self) -> None:
        """Take in what the browser tells, until it is over."""
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told)
            else:
                self._note(told["method"], told["params"])

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(told["args"])[:500])
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._sent += 1
        number = self._sent
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        told = await asyncio.wait_for(answer, _ANSWER_S)
        assert "error" not in told, f"{method}: {told['error']}"
        result: dict[str, Any] = told["result"]
        return result

    async def go(self, url: str) -> None:
        """Open an address and wait until it is read."""
        await self.send("Page.navigate", url=url)
        await self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, promises too, and return its value."""
        told = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def wait_for(self, condition: str, *, within_s: float = 20.0) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + within_s
        while not await self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"not within {within_s:g} s: {condition}; {self.complaints}"
            await asyncio.sleep(0.1)

    async def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key such as ``Tab``, ``Enter`` or ``+``."""
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        event: dict[str, Any] = {"key": key, "modifiers": 8 if shift else 0}
        event["windowsVirtualKeyCode"] = codes.get(key, ord(key[0]))
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    async def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Drag with the left button."""
        at = {"button": "left", "buttons": 1, "clickCount": 1}
        await self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **at)
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=to_x, y=to_y, **at)
        await self.send("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, **at)

    async def screenshot(self) -> bytes:
        """Return what is in view as a PNG."""
        return base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"])
