"""Chaos: workers on a real Kafka are killed, put to sleep, stopped and started, and its broker too.

``python -m tests.chaos.run ROUNDS [SEED]`` prints each round and, at the end, the audit; exit code 1 where it finds a
violation. The seed decides the feed and the faults, not how they meet.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import numpy as np

from stream.wiring import wire
from tests.brokers import ApacheKafka
from tests.chaos.audit import Audit, Topics, audit
from tests.chaos.feed import SIZE_S, START_S, feed
from tests.workers import Place, Worker, children_of, wait_until

__all__ = ["Report", "run"]

N_WORKERS = 3
WINDOWS_A_ROUND = 4
SESSION_S = 6.0
SETTINGS = {
    "topics.fragments": "",
    "kafka.partitions": "3",
    "kafka.session_timeout": f"{SESSION_S:g}s",
    "window.size": f"{SIZE_S}s",
    "window.allowed_lateness": "30s",
    "window.idle_timeout": "15s",
    "shard.kind": "user",
    "shard.cohorts": "4",
    "location.cell_m": "800",
    "logs.level": "info",
}


@dataclass(slots=True)
class Report:
    """What was done and what came of it."""

    rounds: int
    faults: Counter[str] = field(default_factory=Counter)
    audit: Audit = field(default_factory=Audit)
    seconds: float = 0.0
    again: Callable[[Topics], Audit] | None = None
    """Audits topics, such as these after somebody has changed them."""

    topics: Topics | None = None

    def lines(self) -> Iterator[str]:
        """Return the report for people."""
        found = self.audit
        yield f"rounds      {self.rounds} in {self.seconds:.0f} s"
        yield "faults      " + ", ".join(f"{name} {n}" for name, n in sorted(self.faults.items()))
        yield f"records     {found.records}: " + ", ".join(f"{name} {n}" for name, n in sorted(found.fates.items()))
        yield f"windows     {sum(found.windows.values())}: " + ", ".join(
            f"{name} {n}" for name, n in sorted(found.windows.items())
        )
        yield f"messages    {found.messages}, of which {found.repeated} repeat one (the same bytes)"
        yield f"violations  {len(found.violations)}" + "".join(f"\n  {one}" for one in found.violations)


class _Chaos:
    def __init__(self, kafka: ApacheKafka, place: Place, seed: int) -> None:
        self._kafka, self._place = kafka, place
        self._rng = np.random.default_rng(seed)
        self._workers: list[Worker] = []
        self.faults: Counter[str] = Counter()

    def fill(self) -> None:
        """Start workers until there are enough; those that ended are let go."""
        for worker in [one for one in self._workers if one.returncode is not None]:
            worker.close()
            self._workers.remove(worker)
        while len(self._workers) < N_WORKERS:
            self._workers.append(Worker(self._place.values()))

    def fault(self) -> str:
        """Do one of the things that happen, at a moment of its own."""
        time.sleep(float(self._rng.uniform(0.5, 4.0)))
        faults: tuple[Callable[[], None], ...] = (self.kill, self.kill, self.sleep, self.stop, self.restart_broker)
        chosen = faults[int(self._rng.integers(len(faults)))]
        chosen()
        name = chosen.__name__.replace("_", " ")
        self.faults[name] += 1
        return name

    def _one(self) -> Worker:
        return self._workers[int(self._rng.integers(len(self._workers)))]

    def kill(self) -> None:
        """kill -9."""
        self._one().kill()

    def sleep(self) -> None:
        """SIGSTOP for longer than the session time-out, then SIGCONT: a successor has taken over meanwhile."""
        worker = self._one()
        its = (worker.pid, *children_of(worker.pid))
        for pid in its:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(SESSION_S * 1.5)
        for pid in its:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        """SIGTERM."""
        worker = self._one()
        if worker.returncode is None:
            worker.send(signal.SIGTERM)

    def restart_broker(self) -> None:
        """End the broker, at once or in order, and bring it back."""
        if self._rng.random() < 0.5:
            self._kafka.kill()
        else:
            self._kafka.stop()
        time.sleep(float(self._rng.uniform(0.0, 3.0)))
        self._kafka.start()

    def settle(self, last_window: int, within_s: float) -> None:
        """Wait until the last window of every shard is completed."""
        end_ms = (START_S + (last_window + 1) * SIZE_S) * 1000

        def done() -> bool:
            self.fill()
            windows = {(one["shard"], one["window"][1]) for one in self._place.windows()}
            newest = max((end for _, end in windows), default="")
            n_shards = int(SETTINGS["shard.cohorts"])
            return len({shard for shard, end in windows if end == newest}) == n_shards and _ms(newest) == end_ms

        wait_until(
            done, within_s=within_s, what=lambda: f"at rest; a log:\n{self._workers[0].log[-3000:]}", every_s=2.0
        )

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()


def _ms(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000) if moment else 0


def run(rounds: int, seed: int = 1, say: Callable[[str], None] = lambda _: None) -> Report:
    """Let a feed through workers that are not left alone.

    Args:
        rounds: How many faults.
        seed: Decides feed and faults.
        say: Called with what goes on.
    """
    begun = time.monotonic()
    report = Report(rounds)
    # Seals are removed only by compaction, and the audit wants to see all of them.
    with ApacheKafka(properties={"log.cleaner.enable": "false"}) as kafka:
        place = Place(kafka, SETTINGS)
        place.create_topics()
        chaos = _Chaos(kafka, place, seed)
        try:
            for number in range(rounds):
                chaos.fill()
                place.produce("checkins", feed(number * WINDOWS_A_ROUND, WINDOWS_A_ROUND))
                name = chaos.fault()
                say(f"round {number + 1:3} of {rounds}: {name}")
            say("waiting until all windows are released ...")
            chaos.settle(rounds * WINDOWS_A_ROUND - 1, within_s=240.0)
        finally:
            chaos.close()
        report.faults = chaos.faults
        topics = Topics(
            inputs={place.topic("checkins"): place.read("checkins")},
            shards=place.read("shards"),
            seals=place.read("seals"),
            dead_letters=place.read("dead_letters"),
            anonymized=place.read("anonymized"),
            windows=place.read("windows"),
        )
        feeds = wire(place.settings)
        report.again = partial(
            audit,
            plans={kind: one.plan for kind, one in feeds.items()},
            sizes_ms={kind: one.policy.size_ms for kind, one in feeds.items()},
        )
        report.topics, report.audit = topics, report.again(topics)
    report.seconds = time.monotonic() - begun
    return report


def main() -> None:
    """Run and print."""

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    report = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, say)
    for line in report.lines():
        say(line)
    sys.exit(bool(report.audit.violations))


if __name__ == "__main__":
    main()
