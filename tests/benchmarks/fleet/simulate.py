"""64 workers and 256 partitions on one machine: ``python -m tests.benchmarks.fleet.simulate [WORKERS]``.

The broker is a real Apache Kafka, the workers are light ones (``light_worker.py``) that are forked from one process.
The tables say how partitions are spread, how long a rebalance takes, and what the seals topic carries. On two cores the
times are those of a machine that is full: read them beside the column of CPU. It stops by itself after at most fifteen
minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stream.demo.broker import free_port
from stream.kafka.topics import describe_topics
from tests.benchmarks.stream_inputs import cpu_s, memory_mb, new_feeder
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka
from tests.cluster.forked_workers import EXIT_CODE, ForkedWorkers
from tests.cluster.workers import Place, wait_until

PARTITIONS, COHORTS = 256, 1024
RECORDS_PER_S = 200
WINDOW_S = 30
JOIN = 8
MEASURE_S = 45.0
SETTLED_S = 4.0
"""A fleet is at rest when no assignment has changed for so long."""

WITHIN_S = 420.0
SETTINGS = {
    "kafka.partitions": PARTITIONS,
    "kafka.session_timeout": "45s",
    "kafka.startup_timeout": "2m",
    "topics.fragments": "",
    "shard.kind": "user",
    "shard.cohorts": COHORTS,
    "window.size": f"{WINDOW_S}s",
    "window.allowed_lateness": "5s",
    "window.idle_timeout": "20s",
    "logs.level": "warning",
}


@dataclass(slots=True)
class Member:
    """What a worker has written down."""

    partitions: frozenset[int] = frozenset()
    is_ready: bool = False
    counts: dict[str, float] = field(default_factory=dict)


class Fleet:
    """The workers, and what they have written down so far."""

    def __init__(self, broker: ApacheKafka, place: Place, starter: ForkedWorkers, folder: Path) -> None:
        self._broker, self._place, self._starter, self._folder = broker, place, starter, folder
        self._events = folder / "events.ndjson"
        self._events.touch()
        self._read = 0
        self._folders: dict[int, Path] = {}
        self.members: dict[int, Member] = {}
        self.gone: set[int] = set()
        self.gaps_s: list[float] = []
        """How long each partition was without an owner that had read its seals."""
        self.assignments = 0
        self.last_change_s = 0.0
        self.read_all: dict[str, float] = {}
        self._lost_s: dict[int, float] = {}

    def start(self, n: int, *, reads_all: bool = False) -> None:
        """Start workers."""
        for _ in range(n):
            folder = self._folder / f"worker-{len(self.members) + len(self.gone)}"
            folder.mkdir()
            values = self._place.values() | {"web.port": free_port(), "metrics.port": free_port()}
            environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
            for name, value in values.items():
                environment[f"SHOAL_{name}".upper().replace(".", "__")] = str(value)
            environment |= {"FLEET_EVENTS": str(self._events), "FLEET_READS_ALL": "1" if reads_all else "0"}
            program = ("tests.benchmarks.fleet.light_worker", "worker")
            pid = self._starter.start(program, environment, folder, folder / "log")
            self.members[pid], self._folders[pid] = Member(), folder

    def end(self, pid: int, how: signal.Signals) -> None:
        """End one worker."""
        os.kill(pid, how)
        self.gone.add(pid)
        for number in self.members.pop(pid).partitions:
            self._lost_s.setdefault(number, time.time())

    def close(self) -> None:
        """End all workers."""
        for pid in list(self.members):
            with contextlib.suppress(ProcessLookupError):
                self.end(pid, signal.SIGKILL)

    def look(self) -> None:
        """Read what has been written down since."""
        with self._events.open("rb") as lines:
            lines.seek(self._read)
            read = lines.read()
        read = read[: read.rfind(b"\n") + 1]
        self._read += len(read)
        for line in read.splitlines():
            event = json.loads(line)
            if event["pid"] not in self.gone:
                self._take(event, self.members[event["pid"]])

    def _take(self, event: dict[str, Any], member: Member) -> None:
        at_s = event["at_s"]
        match event["what"]:
            case "counts":
                member.counts = {name: value for name, value in event.items() if isinstance(value, int | float)}
                return
            case "read_all":
                self.read_all = event
                return
            case "revoked":
                for number in member.partitions:
                    self._lost_s.setdefault(number, at_s)
                member.partitions, member.is_ready = frozenset(), False
            case "assigned":
                self.assignments += 1
                member.partitions, member.is_ready = frozenset(event["partitions"]), False
            case "ready":
                member.is_ready = True
                for number in event["partitions"]:
                    if number in self._lost_s:
                        self.gaps_s.append(at_s - self._lost_s.pop(number))
        self.last_change_s = at_s

    @property
    def is_whole(self) -> bool:
        """Whether each partition has one owner, and every worker has read the seals of its partitions."""
        owned = Counter(number for member in self.members.values() for number in member.partitions)
        return (
            sorted(owned) == list(range(PARTITIONS))
            and set(owned.values()) == {1}
            and all(member.is_ready for member in self.members.values())
        )

    def wait(self, what: str) -> float:
        """Wait until the fleet is whole and at rest; return when the last change was."""
        deadline = time.monotonic() + WITHIN_S
        while not (self.is_whole and time.time() - self.last_change_s > SETTLED_S):
            if time.monotonic() > deadline:
                ready = sum(member.is_ready for member in self.members.values())
                raise TimeoutError(f"{what}: {ready} of {len(self.members)} workers are ready after {WITHIN_S:.0f} s")
            for pid, folder in self._folders.items():
                if pid not in self.gone and (folder / EXIT_CODE).exists():
                    raise RuntimeError(f"{what}: a worker has ended: {(folder / 'log').read_text()[-1000:]}")
            time.sleep(0.2)
            self.look()
        return self.last_change_s

    def total(self) -> Counter[str]:
        """Return the sums of what the workers have counted."""
        self.look()
        sums: Counter[str] = Counter()
        for member in self.members.values():
            sums.update(member.counts)
        return sums


def rebalance(fleet: Fleet, what: str, begun_s: float) -> str:
    """Wait for a fleet to be whole after a change, and return a row about it."""
    seconds = fleet.wait(what) - begun_s
    sizes = sorted(len(member.partitions) for member in fleet.members.values())
    gaps = np.array(fleet.gaps_s or [0.0])
    row = (
        f"| {what} | {len(fleet.members)} | {sizes[0]} to {sizes[-1]} | {seconds:.1f} | "
        f"{fleet.assignments / len(fleet.members):.1f} | {np.median(gaps):.1f} / {gaps.max():.1f} |"
    )
    fleet.gaps_s, fleet.assignments = [], 0
    return row


def traffic(fleet: Fleet, broker: ApacheKafka) -> str:
    """Count for a while, and return a row about the seals topic."""
    before, broker_s, begun = fleet.total(), cpu_s(broker.pid or 0), time.monotonic()
    time.sleep(MEASURE_S)
    after, seconds = fleet.total(), time.monotonic() - begun
    a_second = Counter({name: (after[name] - before[name]) / seconds for name in after})
    memory = np.median([memory_mb(pid) for pid in fleet.members])
    cells = (
        str(len(fleet.members)),
        *(f"{a_second[name]:,.0f}" for name in ("written", "read", "seals_fetches", "other_fetches")),
        f"{a_second['cpu_s'] / len(fleet.members) * 100:.1f} %",
        f"{(cpu_s(broker.pid or 0) - broker_s) / seconds:.2f}",
        f"{memory:.0f}",
    )
    return f"| {' | '.join(cells)} |"


@contextlib.contextmanager
def feeding(broker: ApacheKafka, topic: str) -> Iterator[None]:
    """Send check-ins of the present from a process of its own."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_feed(broker.bootstrap_servers, topic))
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


async def _feed(servers: str, topic: str) -> None:
    logging.disable(logging.ERROR)  # partitions have no leader in their first seconds
    rng, parent = np.random.default_rng(1), os.getppid()
    async with new_feeder(servers) as producer:
        while os.getppid() == parent:
            for user, row, column in rng.integers(0, (50_000, 12, 12), (RECORDS_PER_S, 3)).tolist():
                record = {"user": f"u{user}", "ts": time.time(), "lat": 48.1 + row / 100, "lon": 16.2 + column / 100}
                await producer.send(topic, json.dumps(record).encode(), partition=user % PARTITIONS)
            await asyncio.sleep(1.0)


def _are_there(place: Place) -> bool:
    """Whether the broker knows every topic: it takes seconds to make hundreds of partitions."""
    return all(topic.partitions for topic in asyncio.run(describe_topics(place.settings)).topics.values())


def simulate(n_workers: int, folder: Path) -> tuple[list[str], list[str], dict[str, float]]:
    """Run the fleet; return rows about rebalances and about traffic, and how a worker read all seals."""
    rebalances, traffics = [], []
    with ApacheKafka(properties={"group.initial.rebalance.delay.ms": "3000"}) as broker, ForkedWorkers() as starter:
        place = Place(broker, SETTINGS)
        place.create_topics()
        wait_until(lambda: _are_there(place), within_s=60, what="the topics", every_s=1.0)
        fleet = Fleet(broker, place, starter, folder)
        with feeding(broker, place.topic("checkins")):
            try:
                for n in sorted({min(8, n_workers - JOIN), n_workers - JOIN}):
                    n_new, begun_s = n - len(fleet.members), time.time()
                    say(f"{n_new} workers start ...")
                    fleet.start(n_new)
                    rebalances.append(rebalance(fleet, f"{n_new} start at once", begun_s))
                    say(rebalances[-1])
                    traffics.append(traffic(fleet, broker))
                    say(traffics[-1])
                begun_s = time.time()
                fleet.start(JOIN)
                rebalances.append(rebalance(fleet, f"{JOIN} join at once", begun_s))
                say(rebalances[-1])
                traffics.append(traffic(fleet, broker))
                say(traffics[-1])
                for what, how in (
                    ("one leaves (SIGTERM)", signal.SIGTERM),
                    ("one is killed (SIGKILL)", signal.SIGKILL),
                ):
                    begun_s = time.time()
                    fleet.end(next(iter(fleet.members)), how)
                    rebalances.append(rebalance(fleet, what, begun_s))
                    say(rebalances[-1])
                begun_s = time.time()
                fleet.start(1, reads_all=True)
                rebalances.append(rebalance(fleet, "one joins, and reads all seals first", begun_s))
            finally:
                fleet.close()
    return rebalances, traffics, fleet.read_all


def report(rebalances: Sequence[str], traffics: Sequence[str], read_all: dict[str, float]) -> None:
    """Print the tables."""
    say(
        "\n| change | workers after it | partitions of a worker | s | assignments of a worker | a partition unread, s |"
    )
    say("| --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rebalances:
        say(row)
    say(
        "\n| workers | seals messages written/s | read/s | fetches of seals/s | other fetches/s | CPU of a worker "
        "| cores of the broker | MB of a worker |"
    )
    say("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in traffics:
        say(row)
    if read_all:
        what = f"{read_all['seconds']:.1f} s, {read_all['read']:,.0f} messages"
        say(f"\na worker that starts reads the seals of all {PARTITIONS} partitions: {what}")


def main() -> None:
    """Simulate, and print the tables."""
    n_workers = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    if n_workers < JOIN + 2:
        sys.exit(f"{n_workers} workers: give at least {JOIN + 2}")
    say(
        f"{n_workers} workers, {PARTITIONS} partitions, {COHORTS} shards, "
        f"windows of {WINDOW_S} s, {RECORDS_PER_S} records/s"
    )
    with tempfile.TemporaryDirectory() as name:
        report(*simulate(n_workers, Path(name)))


if __name__ == "__main__":
    main()
