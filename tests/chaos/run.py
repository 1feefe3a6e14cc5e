"""Chaos: workers on a real Kafka are killed, put to sleep, stopped and started, and its broker too.

Its topics are compressed, by producers and by the broker; the input holds tombstones and aborted transactions, and is
deleted and created again.

``python -m tests.chaos.run ROUNDS [SEED [HORIZON]]`` prints each round and, at the end, the audit; exit code 1 where it
finds a violation. The seed decides the feed and the faults, not how they meet. With a horizon above 1 every release
depends on what earlier windows released. With ``stops`` in place of the horizon the feed is one of fragments, and every
release depends on where people were stopping when the window before it ended.
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

from core.records.record import Kind
from stream.feeds.feed import build_feeds
from stream.kafka.topics import topic_specs
from tests.chaos.audit import Audit, InputLog, Topics, audit
from tests.chaos.feed import SIZE_S, START_S, feed
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Worker, children_of, configure, recreate_topic, topic_id, wait_until

__all__ = ["Report", "run"]

N_WORKERS = 3
WINDOWS_A_ROUND = 4
SESSION_S = 6.0
CODECS = (None, "gzip", "snappy", "lz4", "zstd")
"""How producers compress."""

COMPRESSED = {"shards": "zstd", "seals": "lz4", "anonymized": "snappy", "windows": "zstd"}
"""How the broker compresses topics."""

RECREATED_EVERY = 20
"""In how many rounds the input topic is deleted and created again once; in the middle of them."""

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

ACROSS_WINDOWS = {
    "shard.cohorts": "2",
    "location.cell_m": "2000",
    "privacy.model": "lkc",
    "privacy.k": "3",
    "privacy.m": "1",
    "privacy.sensitive_field": "ward",
    "privacy.sensitive_values": "surgery",
}
"""What differs with a horizon above 1."""


STOPS = {
    "topics.checkins": "",
    "topics.fragments": "fragments",
    "shard.cohorts": "2",
    "stops.of_fragments": "only",
    "stops.radius_m": "1500",
    "stops.min_duration": "1m",
    "location.cell_m": "2000",
    "privacy.k": "3",
    "release.withheld": "announced",
}
"""What differs where stops are released."""


@dataclass(slots=True)
class Report:
    """What was done and what came of it."""

    rounds: int
    faults: Counter[str] = field(default_factory=Counter)
    n_aborted: int = 0
    """Transactions on the input that were aborted."""

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
        yield f"never there {found.never_there}: tombstones, and records of {self.n_aborted} aborted transactions"
        yield f"unread      {found.unread}: deleted with their topic before anybody read them"
        yield f"windows     {sum(found.windows.values())}: " + ", ".join(
            f"{name} {n}" for name, n in sorted(found.windows.items())
        )
        yield f"messages    {found.messages}, of which {found.repeated} repeat one (the same bytes)"
        yield f"violations  {len(found.violations)}" + "".join(f"\n  {one}" for one in found.violations)


class _Chaos:
    def __init__(self, kafka: ApacheKafka, place: Place, rounds: int, seed: int) -> None:
        self._kafka, self._place, self._rounds = kafka, place, rounds
        (self._kind,) = place.settings.kinds
        self._input = self._kind.input_kind.value
        self._gone: list[InputLog] = []
        self.n_aborted = 0
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

    def produce(self, round_: int) -> None:
        """Send the windows of a round: compressed one way or another, with tombstones, some in transactions."""
        made = feed(round_ * WINDOWS_A_ROUND, WINDOWS_A_ROUND, in_fragments=self._kind is Kind.STOPS)
        messages: list[tuple[bytes, bytes | None]] = [*made]
        for at in self._rng.integers(0, len(messages), len(messages) // 40).tolist():
            messages.insert(at, (messages[at][0], None))
        codec = CODECS[round_ % len(CODECS)]
        half = len(messages) // 2
        in_transaction = bool(self._rng.random() < 0.5)
        self._place.produce(self._input, messages[:half], compression=codec)
        if in_transaction:
            ghosts = [(key, value and value.replace(b'"u', b'"never')) for key, value in messages[:half:7]]
            self._place.produce(self._input, ghosts, compression=codec, transaction=False)
            self.n_aborted += 1
        self._place.produce(self._input, messages[half:], compression=codec, transaction=in_transaction or None)

    def recreate_input(self) -> None:
        """Delete the input topic, read or not, and create it again."""
        self._gone.append(self.input_log(is_deleted=True))
        n_partitions = int(SETTINGS["kafka.partitions"])
        recreate_topic(self._kafka, self._place.topic(self._input), n_partitions=n_partitions)

    def input_log(self, *, is_deleted: bool) -> InputLog:
        """Return what the input topic holds."""
        topic = self._place.topic(self._input)
        committed = self._place.read(self._input, committed=True)
        there = {(one.partition, one.offset) for one in committed if one.value is not None}
        never_there = [one for one in self._place.read(self._input) if (one.partition, one.offset) not in there]
        records = [one for one in committed if one.value is not None]
        return InputLog(topic, topic_id(self._kafka, topic), records, never_there, is_deleted)

    def input_logs(self) -> list[InputLog]:
        """Return what the input topic has held, under each of its ids."""
        return [*self._gone, self.input_log(is_deleted=False)]

    def fault(self, round_: int) -> str:
        """Do one of the things that happen, at a moment of its own."""
        time.sleep(float(self._rng.uniform(0.5, 4.0)))
        if round_ % RECREATED_EVERY == min(self._rounds, RECREATED_EVERY) // 2:
            self.recreate_input()
            self.faults["recreate input"] += 1
            return "recreate input"
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
            n_shards = self._place.settings.for_kind(self._kind).shard.cohorts
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


def run(
    rounds: int,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
    *,
    horizon: int = 1,
    stops: bool = False,
) -> Report:
    """Let a feed through workers that are not left alone.

    Args:
        rounds: How many faults.
        seed: Decides feed and faults.
        say: Called with what goes on.
        horizon: Over how many windows the promise holds.
        stops: Whether the feed is one of fragments, of which stops are released.
    """
    begun = time.monotonic()
    report = Report(rounds)
    # Seals are removed only by compaction, and the audit wants to see all of them.
    with ApacheKafka(properties={"log.cleaner.enable": "false"}) as kafka:
        more = {} if horizon == 1 else ACROSS_WINDOWS | {"privacy.horizon": str(horizon)}
        place = Place(kafka, SETTINGS | more | (STOPS if stops else {}))
        place.create_topics()
        configs = {spec.name: spec.config for spec in topic_specs(place.settings)}
        for name, codec in COMPRESSED.items():
            configure(kafka, place.topic(name), configs[place.topic(name)] | {"compression.type": codec})
        chaos = _Chaos(kafka, place, rounds, seed)
        try:
            for number in range(rounds):
                chaos.fill()
                chaos.produce(number)
                name = chaos.fault(number)
                say(f"round {number + 1:3} of {rounds}: {name}")
            say("waiting until all windows are released ...")
            chaos.settle(rounds * WINDOWS_A_ROUND - 1, within_s=240.0)
        finally:
            chaos.close()
        report.faults, report.n_aborted = chaos.faults, chaos.n_aborted
        topics = Topics(
            inputs=chaos.input_logs(),
            shards=place.read("shards"),
            seals=place.read("seals"),
            dead_letters=place.read("dead_letters"),
            anonymized=place.read("anonymized"),
            windows=place.read("windows"),
        )
        report.again = partial(audit, feeds=[build_feeds(place.settings)])
        report.topics, report.audit = topics, report.again(topics)
    report.seconds = time.monotonic() - begun
    return report


def main() -> None:
    """Run and print."""

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    stops = "stops" in sys.argv
    rounds, seed, horizon = (*map(int, (one for one in sys.argv[1:] if one != "stops")), 1, 1)[:3]
    report = run(rounds, seed, say, horizon=horizon, stops=stops)
    for line in report.lines():
        say(line)
    sys.exit(bool(report.audit.violations))


if __name__ == "__main__":
    main()
