"""``shoal worker`` whose group rebalances as soon as it has read something, again and again, and takes its time.

What Faust waits for when a rebalance begins is woken by the next message, and then given the first ones of the next
assignment before anybody may take them. With ``PASS_OVER=1`` that happens every time, and without what we mended: where
nothing above 0 is committed, Faust goes on from the end of what there was.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from faust.transport.drivers.aiokafka import Consumer

from stream.cli.main import main
from stream.windows.windows import Windows
from stream.worker import faust_app, run

_N_REBALANCES = 5

Worker: Any = run._Worker
SeekingConsumer: Any = faust_app._SeekingConsumer
Taking: Any = Windows
on_revoked, on_assigned, accept = Worker._on_revoked, Worker._on_assigned, Taking.accept
to_come = _N_REBALANCES
running: list[Any] = []
"""The Faust app, while the next message makes its group rebalance."""


async def slowly_revoked(self: Any, *given: Any, **named: Any) -> None:
    await on_revoked(self, *given, **named)
    await asyncio.sleep(0.6)


async def slowly_assigned(self: Any, *given: Any, **named: Any) -> None:
    global to_come  # noqa: PLW0603 - one worker a process
    await on_assigned(self, *given, **named)
    await asyncio.sleep(0.1)
    if to_come:
        to_come -= 1
        running.append(self.app)


async def accept_and_rebalance(self: Windows, *given: Any) -> None:
    await accept(self, *given)
    while running:
        thread = running.pop().consumer._thread
        thread.thread_loop.call_soon_threadsafe(thread._consumer._coordinator.request_rejoin)


async def pass_over(self: Any) -> Mapping[Any, Any]:
    committed: Mapping[Any, Any] = await Consumer.seek_to_committed(self)
    if uncommitted := [at for at, offset in committed.items() if not offset]:
        await self._thread.call_thread(self._thread._ensure_consumer().seek_to_end, *uncommitted)
    return committed


Worker._on_revoked, Worker._on_assigned = slowly_revoked, slowly_assigned
Taking.accept = accept_and_rebalance
if os.environ.get("PASS_OVER") == "1":
    SeekingConsumer.seek_to_committed = pass_over

if __name__ == "__main__":  # its anonymizers import it, too
    main()
