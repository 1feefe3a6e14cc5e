"""Workers on a real Kafka, measured: from the input topic to the release, and with a window that stays open."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from core.records.record import Kind
from stream.cli.sizing.figures import FamilyFigures, FeedFigures, MeasuredRun
from tests.benchmarks.sizing.inputs import Measurement, messages_of
from tests.benchmarks.stream_inputs import by_partition, cpu_s, fill, memory_mb, pool_of
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, wait_until

__all__ = ["RunSize", "end_to_end", "open_window"]

_IDLE_S = 3
_WITHIN_S = 240
_BAD_EVERY = 100
"""Every so many records one is rejected, where a window stays open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """A feed of equal windows."""

    records: int
    windows: int
    people: int
    """In each window."""


def end_to_end(broker: ApacheKafka, one: Measurement, size: RunSize) -> FamilyFigures:
    """Let one worker take a feed to its last window."""
    place = _place(broker, one, {"window.idle_timeout": f"{_IDLE_S}s"})
    messages = list(messages_of(one, size.records, n_windows=size.windows, people=size.people))
    with place.worker() as worker:
        pool = pool_of(worker.pid)
        process_mb = max(memory_mb(pid) for pid in pool)
        worker_s, pool_s, broker_s = _own_cpu_s(worker, pool), sum(map(cpu_s, pool)), cpu_s(broker.pid or 0)
        asyncio.run(fill(broker, place.topic(one.kind.value), by_partition(messages, (1,) * 4)))
        wait_until(
            lambda: len(place.windows()) >= size.windows,
            within_s=_WITHIN_S,
            what=lambda: f"{len(place.windows())} of {size.windows} windows; {worker.log[-2000:]}",
            every_s=1.0,
        )
        run = MeasuredRun(
            records=len(messages),
            people=size.people,
            windows=size.windows,
            worker_s=round(_own_cpu_s(worker, pool) - worker_s, 2),
            pool_s=round(sum(map(cpu_s, pool)) - pool_s, 2),
            broker_s=round(cpu_s(broker.pid or 0) - broker_s, 2),
        )
        if late := worker.metric("shoal_records_total", kind=one.kind.value, outcome="late"):
            raise RuntimeError(f"{one.model}: {late:.0f} records were late")
    outcomes = {window["outcome"] for window in place.windows()}
    if outcomes != {"released"}:
        raise RuntimeError(f"{one.model}: windows were {', '.join(sorted(outcomes))}")
    rosters = sum(
        len(record.key or b"") + len(record.value)
        for record in place.read("seals")
        if record.value is not None and json.loads(record.value)["type"] == "trace"
    )
    return FamilyFigures(
        kind=one.kind.value,
        run=run,
        worker_us=round(run.worker_s / run.records * 1e6, 1),
        process_mb=round(process_mb),
        release_bytes=round(_stored(broker, place, "anonymized") / run.records, 1),
        window_bytes=round(_stored(broker, place, "windows") / run.windows),
        seal_bytes=round((_stored(broker, place, "seals") - rosters) / run.windows),
        roster_bytes=round(rosters / run.windows / run.people, 1),
    )


def open_window(broker: ApacheKafka, one: Measurement, n: int, *, people: int) -> FeedFigures:
    """Let one worker read a feed that stays in one open window, in two parts, of which every hundredth is rejected."""
    place = _place(broker, one, {"window.size": "7d", "window.idle_timeout": "10m"})
    messages = list(messages_of(one, n, n_windows=1, people=people))
    n_bad = len(messages[::_BAD_EVERY])
    messages[::_BAD_EVERY] = [(key, _rejected(value, one.kind)) for key, value in messages[::_BAD_EVERY]]
    parts = messages[: len(messages) // 4], messages[len(messages) // 4 :]
    seen: list[tuple[float, float]] = []  # rows and MB
    with place.worker() as worker:
        n_read = 0
        for part in parts:
            asyncio.run(fill(broker, place.topic(one.kind.value), by_partition(part, (1,) * 4)))
            n_read += len(part)
            wait_until(
                lambda: _read(worker, one.kind) >= n_read,  # noqa: B023 - waits at once
                within_s=_WITHIN_S,
                what=lambda: f"{n_read} records; {worker.log[-2000:]}",  # noqa: B023
                every_s=0.5,
            )
            _wait_until_buffered(worker)
            seen.append((worker.metric("shoal_buffered_rows"), memory_mb(worker.pid, "VmHWM")))
    (rows, mb), (all_rows, all_mb) = seen
    row_bytes = (all_mb - mb) * 2**20 / (all_rows - rows)
    return FeedFigures(
        records=len(messages),
        worker_mb=round(mb - rows * row_bytes / 2**20),
        row_bytes=round(row_bytes, 1),
        input_bytes=round(_stored(broker, place, one.kind.value) / len(messages), 1),
        shard_bytes=round(_stored(broker, place, "shards") / all_rows, 1),
        dead_letter_bytes=round(_stored(broker, place, "dead_letters") / n_bad, 1),
    )


def _place(broker: ApacheKafka, one: Measurement, more: dict[str, str]) -> Place:
    other = {Kind.CHECKINS: "fragments", Kind.FRAGMENTS: "checkins"}[one.kind]
    given = {"kafka.partitions": "4", f"topics.{other}": "", "logs.level": "info", **one.given, **more}
    place = Place(broker, given)
    place.create_topics()
    return place


def _own_cpu_s(worker: Worker, pool: set[int]) -> float:
    return cpu_s(worker.pid) - sum(map(cpu_s, pool))


def _read(worker: Worker, kind: Kind) -> float:
    return worker.metric("shoal_records_total", kind=kind.value, outcome="read")


def _wait_until_buffered(worker: Worker) -> None:
    """Wait until the number of buffered rows stands still: the metric is brought up to date every second."""
    rows: list[float] = []

    def still() -> bool:
        rows.append(worker.metric("shoal_buffered_rows"))
        return len(rows) > 2 and rows[-1] > 0 and rows[-1] == rows[-2] == rows[-3]

    wait_until(still, within_s=_WITHIN_S, what=lambda: f"rows {rows[-3:]}", every_s=1.1)


def _rejected(value: bytes, kind: Kind) -> bytes:
    """Move a record out of the world."""
    record = json.loads(value)
    if kind is Kind.CHECKINS:
        record["lat"] = 200.0
    else:
        record["points"][0][1] = 200.0
    return json.dumps(record).encode()


def _stored(broker: ApacheKafka, place: Place, name: str) -> int:
    """Return the bytes of a topic in the broker's files, indexes apart."""
    folders = (broker.log.parent / "data").glob(f"{place.topic(name)}-*")
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*.log"))
