"""Fuzz: mutated files through a replay, mutated messages through ingest, and some of them through a worker.

``python -m tests.fuzz.run N [SEED] [DATA]`` takes ``N`` records and messages in all, from the real feeds in the folder
``DATA`` where they are there, else from the simulated city. Whatever comes in: no exception but the one that refuses a
file, no hang, and every record in exactly one count. Exit code 1 where something else was found; the input that did it
is named by its seed.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gzip
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry

from core.records.record import INPUT_KINDS, Kind
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.feeds.feed import build_feeds
from stream.feeds.record_files import open_files
from stream.formats.chunks import chunk_from_bytes
from stream.formats.files.record_file import FileFormatError
from stream.ingest.ingest import Ingest
from stream.ingest.positions import Batch
from stream.observe.metrics import Metrics
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError
from tests.cluster.workers import Place, wait_until
from tests.fuzz.mutate import mutated, spoiled_file

__all__ = ["Report", "run"]

SETTINGS: dict[str, Any] = {
    "privacy.secret": "a secret of the tests, long enough",
    "time.earliest": "1990-01-01T00:00:00Z",
    "window.size": "1d",
    "location.cell_m": "2000",
    "files.metres": "EPSG:2100",
    "limits.message_bytes": "64KiB",
    "ingest.chunk_bytes": "64KiB",
    "limits.points_per_fragment": "1000",
}
LINES_A_FILE = 400
MESSAGES_A_BATCH = 500
HANG_S = 120.0
TO_A_WORKER = 20_000
NOW_MS = 2**41


@dataclass(slots=True)
class Report:
    """What was tried, and what should not have happened."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        """Return the report for people."""
        yield f"seed      {self.seed}, {self.seconds:.0f} s"
        for name, n in sorted(self.counts.items()):
            yield f"  {n:>9,} {name}"
        yield f"faults    {len(self.faults)}" + "".join(f"\n  {one}" for one in self.faults[:20])


def run(n: int, seed: int = 1, data: Path | None = None, say: Callable[[str], None] = lambda _: None) -> Report:
    """Try so many records and messages.

    Args:
        n: How many; half of them in files, half as messages.
        seed: Decides all of them.
        data: A folder of real feeds; None for the simulated city.
        say: Called with what goes on.
    """
    begun, report, rng = time.monotonic(), Report(seed), random.Random(seed)
    sources = list(_sources(data))
    settings = load_settings(given=SETTINGS)
    while report.counts["records in files"] < n // 2 and len(report.faults) < 20:
        _try_file(settings, *rng.choice(sources), seed=rng.getrandbits(32), report=report)
        if report.counts["files"] % 200 == 0:
            say(f"{report.counts['records in files']:,} records in {report.counts['files']:,} files ...")
    asyncio.run(_try_batches(settings, n - n // 2, sources, rng, report, say))
    report.seconds = time.monotonic() - begun
    return report


# ---------------------------------------------------------------------- what is mutated


def _sources(data: Path | None) -> Iterator[tuple[str, Kind, list[bytes]]]:
    """Yield names whose ends say how a file is read, and lines; the first one of a CSV is its header."""
    city = City(CityOptions(seed=1, people=100))
    lines: dict[Kind, list[bytes]] = {kind: [] for kind in INPUT_KINDS}
    for message in city.messages(until_ms=CityOptions().start_ms + 24 * 3_600_000):
        lines[message.kind].append(message.value)
    for kind, values in lines.items():
        yield f"{kind}.ndjson", kind, values
        yield f"{kind}.json", kind, values
    for name, kind in REAL.items():
        if data is None or not (data / name).exists():
            continue
        with gzip.open(data / name, "rb") as content:
            found = content.read(4_000_000).splitlines()[:20_000]
        yield name.removesuffix(".gz"), kind, found
        if name.endswith(".csv.gz"):
            yield f"{name}.ndjson", kind, [_as_json(kind, found[0], line) for line in found[1:]]


REAL = {
    "gowalla_nyc.csv.gz": Kind.CHECKINS,
    "fsq_calgary.csv.gz": Kind.CHECKINS,
    "flickr_toro.csv.gz": Kind.CHECKINS,
    "cabs_sf_20080608.csv.gz": Kind.FRAGMENTS,
    "ais_us_20220103.csv.gz": Kind.FRAGMENTS,
    "athens_trucks_w4m.tsv.gz": Kind.FRAGMENTS,
}


def _as_json(kind: Kind, header: bytes, line: bytes) -> bytes:
    """Write a line of a CSV as a message."""
    row: dict[str, Any] = dict(zip(header.decode().split(","), line.decode().split(","), strict=False))
    with contextlib.suppress(KeyError, ValueError):
        row |= {"lat": float(row["lat"]), "lon": float(row["lon"])}
        if row["ts"].replace(".", "").isdecimal():
            row["ts"] = float(row["ts"])
        if kind is Kind.FRAGMENTS:
            row = {"user": row["user"], "points": [[row["ts"], row["lat"], row["lon"]]] * 3}
    return json.dumps(row).encode()


# ---------------------------------------------------------------------- files


def _try_file(settings: Settings, name: str, kind: Kind, lines: list[bytes], *, seed: int, report: Report) -> None:
    """Replay a file that is spoiled, and count what became of its records."""
    rng = random.Random(seed)
    first = rng.randrange(max(1, len(lines) - LINES_A_FILE))
    chosen = lines[first : first + LINES_A_FILE]
    if name.endswith((".csv", ".tsv")):
        chosen = [lines[0], *chosen]
    share = rng.choice([0.0, 0.02, 0.3, 1.0])
    content = spoiled_file(chosen, rng, share=share)
    if name.endswith(".json") and rng.random() < 0.7:
        content = b"[" + b",\n".join(mutated(line, rng) if rng.random() < share else line for line in chosen) + b"]"
    if rng.random() < 0.1:
        content = gzip.compress(content)
        content = content[: rng.randint(0, len(content))] if rng.random() < 0.3 else content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        report.counts["files"] += 1
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        try:
            n, what = _replayed(settings, kind, path, content)
        except FileFormatError:
            report.counts["files refused"] += 1
            report.counts["records in files"] += len(chosen)
        except Exception as fault:  # the very thing that is looked for
            report.faults.append(f"{name}, seed {seed}: {type(fault).__name__}: {fault}"[:500])
        else:
            report.counts["records in files"] += n
            if what:
                report.faults.append(f"{name}, seed {seed}: {what}")
        finally:
            faulthandler.cancel_dump_traceback_later()


def _replayed(settings: Settings, kind: Kind, path: Path, content: bytes) -> tuple[int, str]:
    """Return how many records a replay counted, and what is wrong with its counts."""
    feed = build_feeds(settings)[kind]
    files = open_files(settings, feed, [path])
    try:
        summary = Replay(feed, files, now_ms=NOW_MS, max_bytes=settings.limits.message_bytes).run(path.parent / "out")
    finally:
        for file in files:
            file.close()
    if summary.windows_refused:
        return summary.records, f"{summary.windows_refused} windows were refused"
    fates = summary.late + summary.duplicates + summary.withheld_records
    fates += summary.points_released + summary.points_suppressed
    if fates != summary.rows:
        return summary.records, f"{summary.rows} rows have {fates} fates"
    told = sum(one.records for one in summary.rejections.sorted())
    if told != summary.rejected:
        return summary.records, f"{summary.rejected} records are rejected, {told} of them with a place"
    if files[0].unit == "line":
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        # A byte order mark is no part of the first line.
        every = re.split(rb"\r\n|\r|\n", content.removeprefix(b"\xef\xbb\xbf"))
        filled = sum(map(_records_in, every)) - files[0].has_header
        if filled != summary.records:
            return summary.records, f"the lines have {filled} records, {summary.records} are counted"
    return summary.records, ""


def _records_in(line: bytes) -> int:
    """Return how many records a line holds: a list has its elements, any other line that is not blank has one."""
    if not line.strip().startswith(b"["):
        return bool(line.strip())
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return 1
    return len(found)


# ---------------------------------------------------------------------- messages


class _AnIngest:
    """Ingest of one kind of feed that keeps what it sends."""

    def __init__(self, settings: Settings, kind: Kind) -> None:
        self.kind, self.topic = kind, getattr(settings.topics, kind.value)
        self.metrics = Metrics(CollectorRegistry())
        self.forwarded: set[int] = set()
        self.letters: list[int] = []
        self.ingest = Ingest(
            settings,
            build_feeds(settings),
            self,
            self.metrics,
            n_partitions=1,
            now_ms=lambda: NOW_MS,
            on_trouble=lambda _: None,
        )

    async def send(self, topic: str, value: bytes) -> asyncio.Future[None]:
        """Take a dead letter."""
        self.letters.append(json.loads(value)["offset"])
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def send_and_wait(self, topic: str, value: bytes, **_: Any) -> None:
        """Take a chunk."""
        self.forwarded |= set(chunk_from_bytes(value).rows["offset"].tolist())


async def _try_batches(
    settings: Settings,
    n: int,
    sources: list[tuple[str, Kind, list[bytes]]],
    rng: random.Random,
    report: Report,
    say: Callable[[str], None],
) -> None:
    ingests = {kind: _AnIngest(settings, kind) for kind in INPUT_KINDS}
    of_messages = [(kind, lines) for name, kind, lines in sources if name.endswith(".ndjson")]
    while report.counts["messages"] < n and len(report.faults) < 20:
        kind, lines = rng.choice(of_messages)
        await _try_messages(ingests[kind], lines, seed=rng.getrandbits(32), report=report)
        if report.counts["batches"] % 200 == 0:
            say(f"{report.counts['messages']:,} messages ...")
    for one in ingests.values():
        await one.ingest.stop()


async def _try_messages(one: _AnIngest, lines: list[bytes], *, seed: int, report: Report) -> None:
    """Forward a batch of which some messages are spoiled: each is forwarded, turned away, or a tombstone."""
    rng = random.Random(seed)
    share = rng.choice([0.05, 0.5, 1.0])
    values: list[bytes | None] = []
    for _ in range(MESSAGES_A_BATCH):
        line = rng.choice(lines)
        values.append(None if rng.random() < 0.01 else mutated(line, rng) if rng.random() < share else line)
    messages = [SimpleNamespace(offset=i, value=value, timestamp=NOW_MS) for i, value in enumerate(values)]
    one.forwarded, one.letters = set(), []
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    try:
        await one.ingest._forward(Batch(TopicPartition(one.topic, 0), "", messages))
    except Exception as fault:  # the very thing that is looked for
        report.faults.append(f"messages of {one.kind}, seed {seed}: {type(fault).__name__}: {fault}"[:500])
    finally:
        faulthandler.cancel_dump_traceback_later()
    tombstones = {i for i, value in enumerate(values) if value is None}
    report.counts["batches"] += 1
    report.counts["messages"] += len(messages)
    report.counts["messages forwarded"] += len(one.forwarded)
    report.counts["messages turned away"] += len(one.letters)
    report.counts["tombstones"] += len(tombstones)
    if sorted([*one.forwarded, *one.letters, *tombstones]) != list(range(len(values))):
        report.faults.append(f"messages of {one.kind}, seed {seed}: not each is in one count")


# ---------------------------------------------------------------------- a worker


def through_a_worker(n: int, report: Report, data: Path | None, say: Callable[[str], None]) -> None:
    """Send spoiled messages to a worker on a real Kafka: it lives, and counts each once."""
    rng = random.Random(report.seed)
    with contextlib.ExitStack() as stack:
        try:
            kafka = stack.enter_context(ApacheKafka())
        except KafkaUnavailableError as fault:
            say(f"no worker was tried: {fault}")
            return
        place = Place(kafka, SETTINGS | {"kafka.partitions": "1"})
        place.create_topics()
        sources = [one for one in _sources(data) if one[0].endswith(".ndjson")]
        with place.worker() as worker:
            for kind in INPUT_KINDS:
                lines = [line for _, of, found in sources if of is kind for line in found]
                values = [
                    mutated(rng.choice(lines), rng) if rng.random() < 0.5 else rng.choice(lines) for _ in range(n // 2)
                ]
                place.produce(kind.value, [(b"", value[:60_000]) for value in values])

            def counted(kind: Kind) -> tuple[float, float]:
                counts = worker.metrics()
                fates = ("forwarded", "rejected", "tombstone")
                parts = [counts.get(("shoal_records_total", kind.value, fate), 0.0) for fate in ("read", *fates)]
                return parts[0], sum(parts[1:])

            wait_until(
                lambda: all(counted(kind) == (n // 2, n // 2) for kind in INPUT_KINDS),
                within_s=180,
                what=lambda: (
                    f"every message in one count; {[counted(kind) for kind in INPUT_KINDS]}; {worker.log[-2000:]}"
                ),
                every_s=1.0,
            )
            report.counts["messages through a worker"] += 2 * (n // 2)
            if "Traceback" in worker.log:
                report.faults.append("the worker's log holds a traceback")
            if (code := worker.stop()) != 0:
                report.faults.append(f"the worker ended with {code}")


def main() -> None:
    """Run and print."""

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    n, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    data = Path(sys.argv[3]) if len(sys.argv) > 3 and Path(sys.argv[3]).is_dir() else None
    report = run(n, seed, data, say)
    through_a_worker(min(n, TO_A_WORKER), report, data, say)
    for line in report.lines():
        say(line)
    sys.exit(bool(report.faults))


if __name__ == "__main__":
    main()
