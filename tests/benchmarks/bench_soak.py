"""One worker, many windows: ``python -m tests.benchmarks.bench_soak [MINUTES [RATE]]``.

A live feed on a real Kafka: RATE check-ins a second from a process of its own, a little out of order, a thousandth of
them dirty and a thousandth sent twice. Event time is the clock, and a window holds :data:`ROWS` check-ins. Printed are
memory, lag, and how long after the end of its window a release has left. Exit code 1 where a record is late or in no
count, or a window is missing, not released, or not what the verifier passed.

The broker stamps check-ins, seals and windows messages when it appends them. A window could close once the broker had
what moves the slowest partition past its end and the allowed lateness; from that append to the one of its windows
message is the delay of a release as consumers see it. Durations in headers are the worker's own, from its decision to
seal to when the release is about to be sent.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from core.records.record import Kind
from tests.benchmarks.stream_inputs import PARTITIONS, STAMPED, cpu_s, create_topics, memory_mb, new_feeder, pool_of
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Record, Worker

ROWS = 100_000
PEOPLE = 20_000
PAIRS = 1 << 16
"""People and the places that they visit: as many pairs are drawn once, records draw from these."""

TICK_S = 0.1
DELAY_MEAN_MS, DELAY_MOST_MS = 60, 700
LATENESS_MS = 1_000
"""More than a tick and the longest delay, so no record is late."""

IDLE_S = 20
DIRTY, AGAIN = 0.001, 0.001
NONSENSE = (
    b"not json",
    b'{"user":"u1","ts":1}',
    b'{"user":"u1","ts":"yesterday","lat":48.1,"lon":16.2}',
    b'{"user":"u1","ts":1700000000000,"lat":148.1,"lon":16.2}',
)
SAMPLE_S = 10.0
HEADINGS = ("minutes", "read", "unread", "windows", "open", "rows", "worker MB", "pool MB")
DELAYS = (
    "watermark could pass -> windows message (appends)",
    "  watermark could pass -> seal (appends)",
    "  seal -> windows message (appends)",
    "decision to seal -> before the windows message (close_to_release_s)",
    "anonymizing and verifying (anonymize_s)",
)
SHOWN_MINUTES = (2, 5, 10, 15, 20)

# Ten minutes of the feed; without a bound on what is kept an hour of it would take six gigabytes.
KEPT = {"retention.bytes": str(160 * 1024**2), "segment.bytes": str(32 * 1024**2)}
OFTEN = {"log.retention.check.interval.ms": "10000"}


# ---------------------------------------------------------------- the feed


class Fed(msgspec.Struct):
    """What the feeder tells when it is done."""

    sent: int = 0
    dirty: int = 0
    again: int = 0
    begun_ms: int = 0
    ended_ms: int = 0
    behind_s: float = 0.0
    """Most that it was behind its own schedule."""

    cpu_s: float = 0.0
    passed_ms: dict[int, int] = {}
    """For each end of a window when the broker appended what moved the last of the partitions past it."""


class _Passes:
    """Finds when the slowest partition had passed the end of each window."""

    def __init__(self, begun_ms: int, size_ms: int) -> None:
        self._size_ms = size_ms
        self._next = dict.fromkeys(range(PARTITIONS), begun_ms - begun_ms % size_ms + size_ms)
        self._appended: dict[int, list[int]] = {}

    def acknowledged(self, partition: int, newest_ms: int, appended_ms: int) -> None:
        """Take note of a batch; those of a partition come in their order."""
        while newest_ms >= self._next[partition] + LATENESS_MS:
            self._appended.setdefault(self._next[partition], []).append(appended_ms)
            self._next[partition] += self._size_ms

    def all(self) -> dict[int, int]:
        """Return the moments by ends of windows."""
        return {end: max(of) for end, of in self._appended.items() if len(of) == PARTITIONS}


async def _feed(servers: str, topic: str, rate: int, seconds: float) -> Fed:
    rng = np.random.default_rng(1)
    columns = (rng.integers(0, high, PAIRS).tolist() for high in (PEOPLE, 12, 12))
    pairs = [
        (user % PARTITIONS, b"u%d" % user, b'{"user":"u%d","lat":48.%02d,"lon":16.%02d,"ts":' % (user, 10 + r, 20 + c))
        for user, r, c in zip(*columns, strict=True)
    ]
    producer = new_feeder(servers)
    await producer.start()
    n = round(rate * TICK_S)
    fed = Fed(begun_ms=round(time.time() * 1000))
    passes = _Passes(fed.begun_ms, ROWS * 1000 // rate)
    begun_s = time.monotonic()
    sent: deque[tuple[int, int, asyncio.Future[Any]]] = deque()
    for tick in range(1, round(seconds / TICK_S) + 1):
        behind_s = time.monotonic() - begun_s - tick * TICK_S
        fed.behind_s = max(fed.behind_s, behind_s)
        await asyncio.sleep(max(0.0, -behind_s))
        now_ms = fed.begun_ms + tick * TICK_S * 1000
        delay_ms = np.minimum(rng.exponential(DELAY_MEAN_MS, n), DELAY_MOST_MS)
        ts = (now_ms - rng.uniform(0, TICK_S * 1000, n) - delay_ms).astype(np.int64).tolist()
        dirty = set(np.flatnonzero(rng.random(n) < DIRTY).tolist())
        again = set(np.flatnonzero(rng.random(n) < AGAIN).tolist())
        batches = [producer.create_batch() for _ in range(PARTITIONS)]
        newest = [0] * PARTITIONS
        for i, (pair, ts_ms) in enumerate(zip(rng.integers(0, PAIRS, n).tolist(), ts, strict=True)):
            partition, key, head = pairs[pair]
            value = NONSENSE[i % len(NONSENSE)] if i in dirty else head + b"%d}" % ts_ms
            if i not in dirty:
                newest[partition] = max(newest[partition], ts_ms)
            for _ in range(2 if i in again else 1):
                assert batches[partition].append(key=key, value=value, timestamp=ts_ms) is not None, "a tick too large"
        for partition, batch in enumerate(batches):
            future = await producer.send_batch(batch, topic, partition=partition)
            sent.append((partition, newest[partition], future))
        fed.sent += n + len(again)
        fed.dirty += len(dirty) + len(dirty & again)
        fed.again += len(again - dirty)
        while sent and sent[0][2].done():
            partition, newest_ms, future = sent.popleft()
            passes.acknowledged(partition, newest_ms, future.result().timestamp)
    for partition, newest_ms, future in sent:
        passes.acknowledged(partition, newest_ms, (await future).timestamp)
    await producer.stop()
    fed.ended_ms = round(time.time() * 1000)
    fed.passed_ms = passes.all()
    fed.cpu_s = time.process_time()
    return fed


# ---------------------------------------------------------------- what is watched


@dataclass(slots=True)
class _Watched:
    fed: Fed = field(default_factory=Fed)
    rss: list[tuple[float, float, float]] = field(default_factory=list)
    """Minutes since the start, MB of the worker and of its pool."""

    worker_cpu_s: float = 0.0
    broker_cpu_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)


class _Lag:
    """Records of the input that are not read yet, as the broker knows it: a worker that hangs cannot hide it."""

    def __init__(self, place: Place) -> None:
        topic = place.topic("checkins")
        self._group = f"{place.names['kafka.group']}-ingest"
        self._at = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        self._admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
        self._consumer = AIOKafkaConsumer(bootstrap_servers=place.bootstrap_servers, group_id=None)

    async def start(self) -> None:
        await self._admin.start()
        await self._consumer.start()
        self._consumer.assign(self._at)

    async def stop(self) -> None:
        await self._consumer.stop()
        await self._admin.close()

    async def records(self) -> int:
        committed = await self._admin.list_consumer_group_offsets(self._group)
        ends = await self._consumer.end_offsets(self._at)
        return sum(ends[at] - max(0, committed[at].offset if at in committed else 0) for at in self._at)


async def _watch(place: Place, broker: ApacheKafka, worker: Worker, rate: int, minutes: float) -> _Watched:
    watched = _Watched()
    feeder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.bench_soak", "feed"),
        *(broker.bootstrap_servers, place.topic("checkins"), str(rate), str(minutes * 60)),
        stdout=asyncio.subprocess.PIPE,
    )
    lag = _Lag(place)
    try:
        await lag.start()
        before = cpu_s(worker.pid), cpu_s(broker.pid or 0)
        begun_s = time.monotonic()
        telling = asyncio.create_task(feeder.communicate())
        say("{:>8}{:>12}{:>8}{:>8}{:>6}{:>9}{:>11}{:>9}".format(*HEADINGS))
        while not telling.done():
            await asyncio.wait([telling], timeout=SAMPLE_S)
            assert worker.returncode is None, f"the worker ended with {worker.returncode}:\n{worker.log[-3000:]}"
            metrics = await asyncio.to_thread(worker.metrics)
            now = (time.monotonic() - begun_s) / 60
            rss = memory_mb(worker.pid), sum(map(memory_mb, pool_of(worker.pid)))
            watched.rss.append((now, *rss))
            say(
                f"{now:>8.2f}{_counts(metrics)['read']:>12,}{await lag.records():>8,}"
                f"{sum(n for key, n in metrics.items() if key[0] == 'shoal_windows_total'):>8.0f}"
                f"{metrics.get(('shoal_open_windows',), 0):>6.0f}{metrics.get(('shoal_buffered_rows',), 0):>9,.0f}"
                f"{rss[0]:>11.1f}{rss[1]:>9.1f}"
            )
        watched.fed = msgspec.json.decode((await telling)[0], type=Fed)
        watched.worker_cpu_s = cpu_s(worker.pid) - before[0]
        watched.broker_cpu_s = cpu_s(broker.pid or 0) - before[1]
        say(f"the feed has ended; what is open leaves after {IDLE_S} s of silence")
        watched.counts = await _drained(worker, watched.fed.sent)
    finally:
        if feeder.returncode is None:
            feeder.kill()
            await feeder.wait()
        await lag.stop()
    return watched


async def _drained(worker: Worker, sent: int) -> Counter[str]:
    """Return the counts once all is read and nothing is open, or what there is after two minutes."""
    deadline = time.monotonic() + IDLE_S + 120
    while True:
        await asyncio.sleep(1.5)  # longer than gauges take to follow
        metrics = await asyncio.to_thread(worker.metrics)
        counts = _counts(metrics)
        settled = counts["read"] >= sent and not metrics.get(("shoal_open_windows",), 1)
        if settled or time.monotonic() > deadline:
            return counts


def _counts(metrics: dict[tuple[str, ...], float]) -> Counter[str]:
    kept = (key for key in metrics if key[:2] == ("shoal_records_total", Kind.CHECKINS.value))
    return Counter({key[2]: round(metrics[key]) for key in kept})


# ---------------------------------------------------------------- what is told


def _tell_memory(rss: list[tuple[float, float, float]]) -> None:
    say("\nresident, MB" + f"{'worker':>20}{'pool':>10}")
    last = rss[-1][0]
    for minute in (*(m for m in SHOWN_MINUTES if m < last - 0.1), last):
        _, worker_mb, pool_mb = min(rss, key=lambda sample: abs(sample[0] - minute))
        say(f"  at minute {minute:>5.1f}{worker_mb:>16.1f}{pool_mb:>10.1f}")
    half = np.array([sample for sample in rss if sample[0] >= last / 2])
    if len(half) >= 3:
        slopes = np.polyfit(half[:, 0], half[:, 1:], 1)[0] * 60
        say(f"  second half, MB an hour{slopes[0]:>9.1f}{slopes[1]:>10.1f}")


def _tell_delays(windows: list[Record], seals: list[Record], fed: Fed, size_ms: int) -> None:
    sealed_ms = {}
    for record in reversed(seals):  # the first seal of a window counts
        seal = json.loads(record.value or b"{}")
        if seal.get("type") == "seal":
            sealed_ms[seal["end_ms"]] = record.timestamp_ms
    delays: dict[str, list[float]] = {name: [] for name in DELAYS}
    for record in windows:
        end_ms = _end_ms(json.loads(record.value or b""))
        if end_ms - size_ms < fed.begun_ms or end_ms not in fed.passed_ms:
            continue
        durations = json.loads(dict(record.headers)["shoal-durations"])
        passed, sealed, left = fed.passed_ms[end_ms], sealed_ms[end_ms], record.timestamp_ms
        told = durations["close_to_release_s"], durations["anonymize_s"]
        figures = (left - passed) / 1000, (sealed - passed) / 1000, (left - sealed) / 1000, *told
        for of, value in zip(delays.values(), figures, strict=True):
            of.append(value)
    n = len(delays[DELAYS[0]])
    say(
        f"\n{f'seconds, over {n} whole windows':<54}"
        + "".join(f"{name:>9}" for name in ("median", "p95", "p99", "most"))
    )
    for name, values in delays.items():
        quantiles = np.quantile(values, (0.5, 0.95, 0.99, 1)) if values else ()
        say(f"{name:<54}" + "".join(f"{value:>9.3f}" for value in quantiles))


def _end_ms(window: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(window["window"][1]).timestamp() * 1000)


def _broken(watched: _Watched, windows: list[Record], size_ms: int) -> list[str]:
    """Return what was promised and is not so."""
    fed, counts = watched.fed, watched.counts
    fates = sum(counts[name] for name in ("released", "suppressed", "withheld", "duplicate", "rejected", "late"))
    told = [json.loads(record.value or b"") for record in windows]
    released = Counter(_end_ms(window) for window in told if window["outcome"] == "released")
    whole = [end for end in fed.passed_ms if end - size_ms >= fed.begun_ms]
    wrong = {
        f"{counts['late']} records were late": counts["late"] != 0,
        f"{fed.sent:,} records were sent, {counts['read']:,} read": fed.sent != counts["read"],
        f"{counts['read']:,} records were read, {fates:,} are in a count": counts["read"] != fates,
        f"{fed.dirty} records were dirty, {counts['rejected']} rejected": fed.dirty != counts["rejected"],
        f"{fed.again} records were sent twice, {counts['duplicate']} left out": fed.again > counts["duplicate"],
        "a window left twice": len({record.key for record in windows}) != len(windows),
        "a whole window was not released": any(released[end] != 1 for end in whole),
        "a window was refused": any(window.get("reason") == "verification_failed" for window in told),
    }
    return [what for what, holds in wrong.items() if holds]


def main() -> None:
    """Run the soak and print what came of it."""
    if sys.argv[1:2] == ["feed"]:
        fed = asyncio.run(_feed(sys.argv[2], sys.argv[3], rate=int(sys.argv[4]), seconds=float(sys.argv[5])))
        sys.stdout.write(msgspec.json.encode(fed).decode())
        return
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    rate = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    size_ms = ROWS * 1000 // rate
    with ApacheKafka(properties=OFTEN) as broker:
        place = Place(
            broker,
            {
                "kafka.partitions": str(PARTITIONS),
                "topics.fragments": "",
                "time.unit": "ms",
                "location.cell_m": "800",
                "window.size": f"{size_ms}ms",
                "window.allowed_lateness": f"{LATENESS_MS}ms",
                "window.idle_timeout": f"{IDLE_S}s",
                "logs.level": "info",
            },
        )
        topics = {"checkins": STAMPED | KEPT, "anonymized": KEPT, "seals": STAMPED, "windows": STAMPED}
        asyncio.run(create_topics(place, topics))
        say(f"{rate:,} check-ins a second for {minutes:g} minutes, windows of {size_ms / 1000:g} s, one worker, k^m")
        with place.worker() as worker:
            watched = asyncio.run(_watch(place, broker, worker, rate, minutes))
        windows, seals = place.read("windows"), place.read("seals")
    fed, counts = watched.fed, watched.counts
    say(f"\n{fed.sent:,} records, {len(windows)} windows; " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))
    cost_us = (watched.worker_cpu_s * 1e6 / fed.sent, watched.broker_cpu_s * 1e6 / fed.sent, fed.cpu_s * 1e6 / fed.sent)
    say("CPU us a record: worker {:.1f}, broker {:.1f}, feeder {:.1f}".format(*cost_us))
    say(f"the feeder was {fed.behind_s:.2f} s behind at most")
    _tell_memory(watched.rss)
    _tell_delays(windows, seals, fed, size_ms)
    broken = _broken(watched, windows, size_ms)
    say("\n" + ("\n".join(f"BROKEN: {what}" for what in broken) or "no record late, every one in a count"))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
