"""Fetches the status and the last windows of any worker, and shows them in a terminal."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from stream.worker.api import FeedStatus, WindowFigures, WindowList, WithheldStatus, WorkerStatus

__all__ = ["StatusError", "ask_health", "fetch", "show", "watch"]

WATCH_EVERY_S = 2.0
_TIMEOUT_S = 5.0
_LONGEST_READINESS = 4096
_LONGEST_ANSWER = 16 * 1024**2
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Ignores proxies such as HTTP_PROXY: a proxy cannot reach a worker on this machine's loopback address."""


class StatusError(Exception):
    """A worker's status cannot be fetched; the message says what to do."""


_Answer = TypeVar("_Answer")


def fetch(url: str) -> tuple[WorkerStatus, list[WindowFigures]]:
    """Ask a worker for its status and its last windows.

    Args:
        url: Address of its web server.

    Raises:
        StatusError: No worker of this version answers there.
    """
    base = _base(url, "http://127.0.0.1:6066")
    status = _get(f"{base}/api/status", WorkerStatus)
    return status, _get(f"{base}/api/windows", WindowList).windows


def ask_health(url: str) -> tuple[bool, str]:
    """Ask a worker whether it is ready.

    Args:
        url: Address of its health and metrics.

    Returns:
        Whether it is ready, and the text of its answer.

    Raises:
        StatusError: No worker answers there.
    """
    asked = f"{_base(url, 'http://127.0.0.1:6067')}/readyz"
    try:
        with _DIRECTLY.open(asked, timeout=_TIMEOUT_S) as answer:  # http only, checked above
            code, body = answer.status, answer.read(_LONGEST_READINESS)
    except urllib.error.HTTPError as fault:
        with fault:
            code, body = fault.code, fault.read(_LONGEST_READINESS)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "reason", fault)
        raise StatusError(
            f"no answer from {asked} ({why}): check that the worker runs, and that metrics.host and metrics.port are "
            "the same there"
        ) from None
    answered = _plain(body.decode(errors="replace").strip())
    if (code, answered) != (200, "ready") and not (code == 503 and answered.startswith("waiting for: ")):
        raise StatusError(f"the program at {asked} is not a Shoal worker (it answers {code}): check metrics.port")
    return code == 200, answered


def _base(url: str, example: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise StatusError(f"--url is {url!r}: it must begin with http:// or https://, as {example} does")
    return url.rstrip("/")


def _get(url: str, kind: type[_Answer]) -> _Answer:
    try:
        with _DIRECTLY.open(url, timeout=_TIMEOUT_S) as answer:  # http only, checked above
            body = answer.read(_LONGEST_ANSWER)
    except urllib.error.HTTPError as fault:
        fault.close()
        raise StatusError(
            f"{url} answers {fault.code}: it is not a Shoal worker, or another version; set --url to the address of "
            "a worker's web server"
        ) from None
    except (OSError, ValueError) as fault:
        why = getattr(fault, "reason", fault)
        raise StatusError(
            f"no answer from {url} ({why}): check that the worker runs, and that web.host and web.port are the same "
            "there"
        ) from None
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StatusError(f"the answer of {url} is not a worker's status: set --url to a Shoal worker") from None


def show(url: str, status: WorkerStatus, windows: Sequence[WindowFigures], *, most: int) -> RenderableType:
    """Lay out tables of a worker's answers.

    Args:
        url: The worker's address.
        status: The worker's status.
        windows: Its last windows, the newest first.
        most: Number of windows to show.
    """
    parts: list[RenderableType] = [_headline(url, status), "", _feeds(status.feeds), ""]
    parts.append(_windows(windows[:most]) if windows else Text("No window has been emitted yet."))
    if status.withheld:
        parts += ["", _withheld(status.withheld)]
    return Group(*parts)


def watch(url: str, console: Console, *, most: int, is_over: Callable[[], bool] = lambda: False) -> None:
    """Show a worker's status every two seconds until Ctrl-C, even while the worker does not answer."""
    with Screen(console=console, auto_refresh=False) as screen:
        while not is_over():
            try:
                shown = show(url, *fetch(url), most=most)
            except StatusError as fault:
                shown = Text(f"{_plain(str(fault))}\nasking again every {WATCH_EVERY_S:g} s", style="red")
            screen.update(shown, refresh=True)
            time.sleep(WATCH_EVERY_S)


def _headline(url: str, status: WorkerStatus) -> Text:
    text = Text(f"{_plain(url)}: ")
    if status.ready:
        text.append("ready", style="bold green")
    else:
        text.append(f"waiting for: {_plain(', '.join(status.waiting_for))}", style="bold red")
    counts = ", ".join(f"{n:,} {_plain(outcome)}" for outcome, n in status.counts.items())
    return text.append(f". Windows since {_plain(status.started)}: {counts}.")


def _feeds(feeds: Sequence[FeedStatus]) -> Table:
    table = _table("models in force", "feed", "model", "parameters", "shard", "window", "promise")
    for feed in feeds:
        parameters = ", ".join(f"{name}={value}" for name, value in feed.parameters.items())
        _row(table, feed.kind, feed.model, parameters, feed.shard, feed.window, feed.promise)
    return table


def _windows(windows: Sequence[WindowFigures]) -> Table:
    is_all_released = all(one.outcome == "released" for one in windows)
    table = _table("last windows (UTC; support beside the promised k)", "window", "feed", "shard")
    for name in ("people", "released", "suppressed", "support", "loss", "took"):
        table.add_column(name, justify="right", overflow="fold")
    for column in table.columns:
        column.no_wrap = column.header not in ("people", "released", "suppressed")
    if not is_all_released:
        table.add_column("not released", overflow="fold", min_width=9)
    for one in windows:
        is_released = one.outcome == "released"
        start, end = one.window
        cells = [f"{start[5:16].replace('T', ' ')}-{end[11:16]}", one.kind, one.shard]
        if is_released:
            support = f"{_number(one.smallest_support)} of {one.parameters.get('k', '?')}"
            cells += [_number(one.people), _number(one.points_released), _number(one.points_suppressed), support]
        else:
            cells += [""] * 4
        cells.append("" if one.loss_m is None else f"{one.loss_m:,.0f} m")
        cells.append(f"{one.close_to_release_s:.2f} s")
        if not is_all_released:
            cells.append("" if is_released else f"{one.outcome}: {(one.reason or '').replace('_', ' ')}")
        _row(table, *cells)
    return table


def _withheld(withheld: Sequence[WithheldStatus]) -> Table:
    table = _table("withheld", "reason", "windows", "meaning")
    for one in withheld:
        _row(table, one.reason.replace("_", " "), f"{one.windows:,}", one.meaning)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="bold underline")
    for column in columns:
        table.add_column(column)
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(_plain(cell)) for cell in cells))


def _number(value: int | None) -> str:
    return "hidden" if value is None else f"{value:,}"


def _plain(text: str) -> str:
    """Remove control characters, which could steer the terminal: the answer comes from an untrusted address."""
    return "".join(c for c in text if c.isprintable())
