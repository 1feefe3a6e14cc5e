"""Begins to anonymize a window while its seal is written. Nothing of it leaves before it is known which seal counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Protocol

from core.records.record import Kind, Rows
from core.windows.draw import Draw
from core.windows.history import History
from core.windows.partition import ReleaseWindow, WriteSeal
from core.windows.seal import Seal
from stream.formats.release.result import WindowResult

__all__ = ["EarlyRelease"]


class _Pool(Protocol):
    async def run(
        self, kind: Kind, seal: Seal, rows: Rows, history: History, draw: Draw | None
    ) -> list[WindowResult]: ...


class EarlyRelease:
    """The window of a partition that is being sealed.

    Args:
        pool: Anonymizes windows.
    """

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._begun: tuple[Seal, asyncio.Task[list[WindowResult]]] | None = None

    def begin(self, action: WriteSeal) -> None:
        """Begin to anonymize the window; a window that was begun before is dropped."""
        self.drop()
        self._begun = action.seal, asyncio.create_task(self._run(action))

    async def results(self, action: ReleaseWindow) -> list[WindowResult]:
        """Return the results of the window, which is anonymized again if another seal than the one begun with counts.

        Raises:
            BrokenProcessPool: See :meth:`stream.windows.pool.ReleasePool.run`.
        """
        if self._begun is not None:
            seal, task = self._begun
            # With the same seal rows and history are the same too; what was drawn before must not be drawn again.
            if replace(seal, writer=action.seal.writer) == action.seal and action.draw is None:
                self._begun = None
                return await task
            self.drop()
        return await self._run(action)

    def drop(self) -> None:
        """Forget the window that was begun."""
        if self._begun is not None:
            _, task = self._begun
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for its fault
            task.cancel()
            self._begun = None

    async def _run(self, action: WriteSeal | ReleaseWindow) -> list[WindowResult]:
        draw = action.draw if isinstance(action, ReleaseWindow) else None
        return await self._pool.run(action.seal.kind, action.seal, action.rows, action.history, draw)
