"""``shoal worker`` that anonymizes nothing, and writes down what becomes of its partitions and of the seals topic.

All else is the worker's own: both groups, the assignor, the seals, and the commits. Each window is withheld. Only the
worker with ``FLEET_READS_ALL=1`` reads the seals of all partitions when it starts, as every worker does: see
``docs/operate/scaling.md`` for how long that takes.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka.consumer.fetcher import Fetcher

from core.models.common.plan import Plan
from core.records.record import Kind, Rows
from core.release.outcome import WithholdReason
from core.windows.draw import Draw
from core.windows.history import NO_HISTORY, History
from core.windows.seal import Seal, SealRecord
from stream.cli.main import main
from stream.formats.release.messages import outcome_messages
from stream.formats.release.result import WindowResult
from stream.formats.seals import SealsMessage, seal_to_bytes
from stream.windows.pool import die_with
from stream.windows.seals_log import Agreed, SealsLog
from stream.windows.windows import Windows
from stream.worker import run

_COUNTS_EVERY_S = 2.0

Worker: Any = run._Worker
Reader: Any = SealsLog
Fetches: Any = Fetcher
Program: Any = run
counts: Counter[str] = Counter()
events = os.open(os.environ["FLEET_EVENTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
waiting: set[asyncio.Task[None]] = set()


def write(what: str, **more: Any) -> None:
    """Append one line for the simulation."""
    os.write(events, json.dumps({"at_s": time.time(), "pid": os.getpid(), "what": what, **more}).encode() + b"\n")


class LightPool:
    """Stands in for the processes that anonymize: withholds every window at once."""

    def __init__(self, plans: dict[Kind, Plan], encodings: dict[Kind, Any], **_: Any) -> None:
        self._plans, self.encodings = plans, encodings

    async def start(self, _: Any) -> None:
        """Start nothing."""

    async def run(
        self, kind: Kind, seal: Seal, rows: Rows, history: History = NO_HISTORY, draw: Draw | None = None
    ) -> list[WindowResult]:
        """Withhold a window."""
        outcome = self._plans[kind].withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=len(rows))
        messages = tuple(outcome_messages(outcome, self.encodings[kind]))
        return [WindowResult.of(seal, outcome, messages, seconds=0.0, alarm=None)]

    async def link(self, _: Kind, __: Seal, results: Sequence[WindowResult]) -> list[WindowResult]:
        """Attack nothing."""
        return list(results)

    def resident_bytes(self) -> int:
        """Return nothing: there are no processes."""
        return 0

    def close(self) -> None:
        """End nothing."""


# ------------------------------------------------------------- what becomes of partitions

on_revoked, on_assigned, on_start = Worker._on_revoked, Worker._on_assigned, Worker.on_start


async def revoked(self: Any, *given: Any, **named: Any) -> None:
    write("revoked")
    await on_revoked(self, *given, **named)


async def assigned(self: Any, *given: Any, **named: Any) -> None:
    await on_assigned(self, *given, **named)
    windows: Windows = self._windows
    numbers = sorted(windows._partitions)
    write("assigned", partitions=numbers)
    tasks = list(windows._partitions.values())

    async def tell() -> None:
        await asyncio.gather(*(task.seals_read.wait() for task in tasks))
        if not any(task.stopped for task in tasks):
            write("ready", partitions=numbers)

    task = asyncio.create_task(tell())
    waiting.add(task)
    task.add_done_callback(waiting.discard)


async def started(self: Any) -> None:
    await on_start(self)

    async def count() -> None:
        while True:
            write("counts", **counts, cpu_s=time.process_time())
            await asyncio.sleep(_COUNTS_EVERY_S)

    self._tasks.append(self._forever("counts", count))


# ------------------------------------------------------------- the seals topic

write_seal, read_seals, remove_seals = Reader.write, Reader.read, Reader.remove
fetch, agree = Fetches._proc_fetch_request, Program.agree_on_partitions


async def counted_write(self: Any, record: SealsMessage) -> None:
    counts["written"] += 1
    counts["written_bytes"] += len(seal_to_bytes(record))
    await write_seal(self, record)


async def counted_read(self: Any) -> list[SealRecord]:
    begin = await self._consumer.position(self._at)
    records: list[SealRecord] = await read_seals(self)
    counts["read"] += await self._consumer.position(self._at) - begin
    return records


async def counted_remove(self: Any, records: Iterable[SealRecord]) -> None:
    removed = list(records)
    counts["written"] += len(removed)
    await remove_seals(self, removed)


async def counted_fetch(self: Any, assignment: Any, node_id: Any, request: Any) -> Any:
    seals = os.environ["SHOAL_TOPICS__SEALS"]
    counts["seals_fetches" if any(topic == seals for topic, _ in request.topics) else "other_fetches"] += 1
    return await fetch(self, assignment, node_id, request)


async def timed_agreement(settings: Any, n_partitions: int, *given: Any, **named: Any) -> Agreed:
    if os.environ.get("FLEET_READS_ALL") != "1":
        return Agreed(n_partitions, frozenset({Kind.CHECKINS}))
    begun = time.monotonic()
    agreed: Agreed = await agree(settings, n_partitions, *given, **named)
    write("read_all", seconds=time.monotonic() - begun, read=counts["read"])
    return agreed


Worker._on_revoked, Worker._on_assigned, Worker.on_start = revoked, assigned, started
Reader.write, Reader.read, Reader.remove = counted_write, counted_read, counted_remove
Fetches._proc_fetch_request = counted_fetch
Program.agree_on_partitions, Program.ReleasePool = timed_agreement, LightPool

if __name__ == "__main__":
    # However the simulation ends, no worker outlives it.
    threading.Thread(target=die_with, args=(os.getppid(),), daemon=True).start()
    main()
