"""A backlog of check-ins through workers, measured, and beside a replay of the same records."""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aiokafka import AIOKafkaConsumer

from core.records.record import Kind
from tests.benchmarks.stream_inputs import SIZE_S, STAMPED, Message, cpu_s, create_topics, fill, memory_mb, pool_of
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, replay

__all__ = ["COHORTS", "Run", "differences", "expected_windows", "new_place", "take_in"]

COHORTS = 16
"""What the crowd is split into, so that there is work on every partition: by their keys Kafka puts 8 and 8 of them on
two partitions, 3, 4, 4 and 5 on four."""

IDLE_S = 20
LATENESS = 0.2
"""More than the allowed lateness and any disorder here, in lengths of a window."""

_LOOK_EVERY_S = 0.1
_ASK_EVERY_S = 1.0
"""As often as a worker brings its gauges up to date."""

_LONGEST_S = 600.0


@dataclass(slots=True)
class Run:
    """What a run took, from the first record that was read to the last window."""

    begun_ms: float = 0.0
    windows: dict[bytes, bytes] = field(default_factory=dict)
    """Windows messages by their keys."""

    appended_ms: dict[bytes, int] = field(default_factory=dict)
    """When the broker had the first of each key."""

    repeated: int = 0
    late: float = 0.0
    """As workers count: what one has released is late to another that reads it again after a rebalance."""

    cpu_s: list[float] = field(default_factory=list)
    """Of each worker, since it was about to have its first record."""

    broker_cpu_s: float = 0.0
    peak_mb: list[float] = field(default_factory=list)
    pool_peak_mb: list[float] = field(default_factory=list)
    peak_rows: float = 0.0
    """Most rows that waited for their windows, in all workers."""

    def rates(self, feed: Mapping[int, Sequence[Message]], batch: int) -> tuple[float, float]:
        """Return the records a second of wall time from the first record, and from the first window, to the last.

        Windows count that were closed by later records; the others waited for silence. Which these are, the smallest
        source tells: of its last batch only the beginning is known to be complete.

        Args:
            feed: The records by partition; every window has about as many.
            batch: Most records that are read at once.
        """
        told = {key: json.loads(value) for key, value in self.windows.items()}
        ends = {key: datetime.fromisoformat(window["window"][1]).timestamp() for key, window in told.items()}
        n, n_ends = sum(map(len, feed.values())), len(set(ends.values()))
        n_waited = math.ceil(batch * n_ends / min(map(len, feed.values())) + LATENESS)
        assert n_waited < n_ends, "too few records: every window waits for silence"
        at = sorted(self.appended_ms[key] for key in ends if ends[key] <= max(ends.values()) - n_waited * SIZE_S)
        share = n * (n_ends - n_waited) / n_ends
        return share * 1000 / (at[-1] - self.begun_ms), share * (1 - 1 / len(at)) * 1000 / (at[-1] - at[0])


def new_place(broker: ApacheKafka, partitions: int) -> Place:
    """Make topics of which the broker stamps the windows messages."""
    place = Place(
        broker,
        {
            "kafka.partitions": str(partitions),
            "topics.fragments": "",
            "location.cell_m": "800",
            "shard.kind": "user",
            "shard.cohorts": str(COHORTS),
            "window.idle_timeout": f"{IDLE_S}s",
            "logs.level": "info",
        },
    )
    asyncio.run(create_topics(place, {"windows": STAMPED}))
    return place


def expected_windows(place: Place, messages: Mapping[int, Sequence[Message]]) -> dict[bytes, bytes]:
    """Return the windows messages that a replay of the records makes, by their keys; none of them is late there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"{partition}.ndjson" for partition in messages]
        for file, its in zip(files, messages.values(), strict=True):
            file.write_bytes(b"\n".join(value for _, value in its) + b"\n")
        summary, found = replay(place, Kind.CHECKINS, files, folder / "out")
    assert not summary.late, f"{summary.late} records are late in a replay: the feed is not what it should be"
    return found["windows"]


def differences(run: Run, expected: Mapping[bytes, bytes]) -> list[str]:
    """Say where the windows of a run are not those of the replay."""
    keys = Counter(
        "missing" if key not in run.windows else "not in the replay" if key not in expected else "with other content"
        for key in expected.keys() | run.windows.keys()
        if run.windows.get(key) != expected.get(key)
    )
    return [f"{n} windows {what}" for what, n in keys.items()]


async def take_in(
    place: Place,
    broker: ApacheKafka,
    workers: Sequence[Worker],
    n_windows: int,
    *,
    feed: Mapping[int, Sequence[Message]] | None = None,
    on_windows: Callable[[int], None] = lambda _: None,
) -> Run:
    """Let workers take in all there is, and measure them.

    Args:
        place: Their topics.
        broker: Their broker.
        workers: Who takes part; ``on_windows`` may add to them.
        n_windows: How many windows leave.
        feed: Sent to the input topic now; None where it is there.
        on_windows: Called with the windows that have left.
    """
    run, meters = Run(), dict[int, _Meter]()
    consumer = AIOKafkaConsumer(
        place.topic("windows"), bootstrap_servers=place.bootstrap_servers, auto_offset_reset="earliest"
    )
    await consumer.start()
    packed = asyncio.Event()
    feeding = asyncio.create_task(fill(broker, place.topic("checkins"), feed, packed)) if feed is not None else None
    broker_s = cpu_s(broker.pid or 0)
    deadline = time.monotonic() + _LONGEST_S
    try:
        if feeding is not None:
            await packed.wait()
        while len(run.windows) < n_windows:
            assert time.monotonic() < deadline, f"{len(run.windows)} of {n_windows} windows; {workers[0].log[-2000:]}"
            for worker in workers:
                assert worker.returncode is None, f"the worker ended with {worker.returncode}:\n{worker.log[-3000:]}"
                meter = meters.setdefault(worker.pid, _Meter(worker))
                await asyncio.to_thread(meter.look)
                if not run.begun_ms and meter.is_at_work:
                    run.begun_ms = meter.since_ms
            run.peak_rows = max(run.peak_rows, sum(meter.rows for meter in meters.values()))
            for messages in (await consumer.getmany(timeout_ms=round(_LOOK_EVERY_S * 1000))).values():
                for message in messages:
                    run.repeated += message.key in run.windows
                    run.windows[message.key] = message.value
                    run.appended_ms.setdefault(message.key, message.timestamp)
            on_windows(len(run.windows))
        if feeding is not None:
            await feeding
    finally:
        if feeding is not None:
            feeding.cancel()
        await consumer.stop()
    run.broker_cpu_s = cpu_s(broker.pid or 0) - broker_s
    for meter in meters.values():
        run.cpu_s.append(cpu_s(meter.worker.pid) - meter.cpu_s)
        meter.ask()
        run.late += meter.late
        run.peak_mb.append(memory_mb(meter.worker.pid, "VmHWM"))
        run.pool_peak_mb.append(sum(memory_mb(pid, "VmHWM") for pid in pool_of(meter.worker.pid)))
    return run


@dataclass(slots=True)
class _Meter:
    """Looks at one worker."""

    worker: Worker
    is_at_work: bool = False
    since_ms: float = 0.0
    """The last look before it had anything to do."""

    cpu_s: float = 0.0
    late: float = 0.0
    rows: float = 0.0
    """Rows that wait for their windows."""

    _asked_s: float = 0.0

    def look(self) -> None:
        """Take note of what it says; once it works, seldom: to answer costs it milliseconds."""
        if self.is_at_work and time.monotonic() < self._asked_s + _ASK_EVERY_S:
            return
        self._asked_s = time.monotonic()
        if not self.is_at_work:
            self.since_ms, self.cpu_s = time.time() * 1000, cpu_s(self.worker.pid)
        self.ask()

    def ask(self) -> None:
        """Take note of what it says now."""
        metrics = self.worker.metrics()
        counted = "shoal_records_total", Kind.CHECKINS.value
        self.late = metrics.get((*counted, "late"), self.late)
        self.rows = metrics.get(("shoal_buffered_rows",), self.rows)
        # Who joins late may find all of the input read, and windows of others to take over.
        self.is_at_work = self.is_at_work or self.rows > 0 or metrics.get((*counted, "read"), 0) > 0
