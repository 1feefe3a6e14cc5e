"""Reports a window that was emitted, to the log and to the live page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import structlog

from core.windows.window import WindowKey
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.json import JSON
from stream.formats.release.messages import OutMessage
from stream.formats.release.result import WindowResult

__all__ = ["EmittedWindow", "report_window"]

log = structlog.get_logger("shoal.windows")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedWindow:
    """A window that was emitted, for the live page: the published messages, and the time."""

    key: WindowKey
    outcome: str
    close_to_release_s: float
    emitted_at_s: float
    reason: str | None = None
    """Why it was withheld; None if it was not."""

    messages: tuple[OutMessage, ...] = field(default=(), repr=False)
    """The messages sent: trajectories, then the windows message."""

    encoding: ReleaseEncoding = JSON
    """How they are written."""


def report_window(
    key: WindowKey, partition: int, result: WindowResult, seconds: float, encoding: ReleaseEncoding
) -> EmittedWindow:
    """Write the window's line in the log, and return what the live page shows.

    Args:
        key: The window.
        partition: Its partition of the shards topic.
        result: Its outcome.
        seconds: From the decision to seal it until all that is public of it is acknowledged.
        encoding: How its messages are written.
    """
    where = {"kind": key.kind.value, "shard": key.shard, "partition": partition}
    if result.alarm is not None:
        log.error("window_alarm", **where, alarm=result.alarm)
    log.info(
        f"window_{result.outcome}",
        **where,
        start_ms=key.start_ms,
        end_ms=key.end_ms,
        close_to_release_s=round(seconds, 3),
        **result.facts,
    )
    return EmittedWindow(
        key=key,
        outcome=result.outcome,
        reason=None if (reason := result.facts.get("reason")) is None else str(reason),
        close_to_release_s=round(seconds, 3),
        emitted_at_s=time.time(),
        messages=result.messages,
        encoding=encoding,
    )
