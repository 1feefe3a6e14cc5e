"""Changes under load: workers on a real Kafka are changed while records arrive, and what became of each is counted.

``python -m tests.kubernetes.changes.run [--rate 1000] [--only k secret]`` changes workers that are processes of this
machine, prints what each change cost as a table in Markdown, and ends with 1 if one cost more than it may.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from core.records.record import Kind
from stream.feeds.feed import Feed, build_feeds
from stream.settings.load import load_settings
from tests.chaos.audit import Audit, InputLog, Known, Topics, audit
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, Record, topic_id, wait_until
from tests.kubernetes.changes.changes import CHANGES, SETTINGS, WINDOW_S, Change
from tests.kubernetes.changes.fleet import Fleet, Processes, Wanted
from tests.kubernetes.changes.load import LiveFeed

__all__ = ["Row", "Run", "table"]

_BEFORE_S, _AFTER_S = 1.0 * WINDOW_S, 1.5 * WINDOW_S
"""How long records arrive before a change is made, and after it."""

_AT_REST_WITHIN_S = 240.0


@dataclass(frozen=True, slots=True)
class Row:
    """What one change cost."""

    change: Change
    seconds: float
    """How long the change took."""

    records: int
    windows: Counter[str]
    withheld: Counter[str]
    """Windows by reason."""

    begun: int
    """How many of them had begun to leave."""

    rejected: Counter[str]
    """Records by reason."""

    late: int
    lost: int
    counted_twice: int
    kept_and_rejected: int
    faults: list[str] = field(default_factory=list)
    """What may not be, whatever the change: breaches of the protocol, and workers that failed."""

    def too_much(self) -> list[str]:
        """Return what the change cost above what it may."""
        cost = self.change.cost
        withheld = {reason: n for reason, n in self.withheld.items() if n and reason not in cost.withheld}
        rejected = {reason: n for reason, n in self.rejected.items() if n and reason not in cost.rejected}
        found = [f"{n} windows are withheld: {reason}" for reason, n in withheld.items()]
        found += [f"{n} records are turned away: {reason}" for reason, n in rejected.items()]
        if self.late and not cost.is_late:
            found.append(f"{self.late} records are late")
        if self.kept_and_rejected and not cost.is_told_twice:
            found.append(f"{self.kept_and_rejected} records are in a window and turned away")
        if self.lost or self.counted_twice:
            found.append(f"{self.lost} records are lost, {self.counted_twice} are in two windows")
        return [*found, *self.faults]


class Run:
    """Changes, one after the other, of one fleet; at rest after each.

    Args:
        place: Topics and common settings.
        fleet: The workers.
        rate: Records a second.
        say: Called with what goes on.
    """

    def __init__(self, place: Place, fleet: Fleet, *, rate: int, say: Callable[[str], None]) -> None:
        self._place, self._fleet, self._rate, self._say = place, fleet, rate, say
        self._wanted = Wanted()
        self._feeds = [self._feeds_of(self._wanted)]
        self._known: Known = {}
        self._before = Audit()
        self._n_made = 0
        place.create_topics()
        fleet.become(self._wanted)

    def make(self, change: Change) -> Row:
        """Make a change while records arrive, wait until all of them have a fate, and return what it cost."""
        self._n_made += 1
        self._say(f"{change.title}: records arrive ...")
        # A new feed of the same people: about four visits of each in a window.
        people = max(200, self._rate * WINDOW_S // 4)
        topic = self._place.topic("checkins")
        with LiveFeed(self._place.bootstrap_servers, topic, rate=self._rate, people=people, seed=self._n_made) as live:
            time.sleep(_BEFORE_S)
            begun = time.monotonic()
            self._wanted = change.make(self._fleet, self._wanted)
            seconds = time.monotonic() - begun
            self._say(f"{change.title}: made in {seconds:.0f} s")
            self._feeds.append(self._feeds_of(self._wanted))
            time.sleep(_AFTER_S)
        self._say(f"{change.title}: {live.sent} records sent, waiting until they have a fate ...")
        faults = self._fleet.trouble()
        try:
            self._come_to_rest()
        except AssertionError as fault:
            faults.append(str(fault))
        row = self._row(change, seconds, faults)
        self._say(f"{change.title}: " + ("; ".join(row.too_much()) or "as it may"))
        return row

    def _row(self, change: Change, seconds: float, faults: list[str]) -> Row:
        found, before = audit(self._topics(), self._feeds, known=self._known), self._before
        self._before = found
        return Row(
            change,
            seconds,
            records=found.records - before.records,
            windows=found.windows - before.windows,
            withheld=found.withheld - before.withheld,
            begun=found.begun - before.begun,
            rejected=found.rejected - before.rejected,
            late=found.fates["late"] - before.fates["late"],
            lost=found.lost - before.lost,
            counted_twice=found.counted_twice - before.counted_twice,
            kept_and_rejected=found.kept_and_rejected - before.kept_and_rejected,
            faults=faults + [one for one in found.breaches if one not in before.breaches],
        )

    def _feeds_of(self, wanted: Wanted) -> Mapping[Kind, Feed]:
        return build_feeds(load_settings(given=self._place.values() | wanted.values()))

    def _topics(self) -> Topics:
        place = self._place
        topic = place.topic("checkins")
        ends, _ = asyncio.run(_ends_and_commits(place, topic, ""))
        # Without transactions and tombstones, every offset is a record.
        held = [Record(partition, offset, None, None) for partition, end in ends.items() for offset in range(end)]
        read = {name: place.read(name) for name in ("shards", "seals", "dead_letters", "anonymized", "windows")}
        return Topics(inputs=[InputLog(topic, topic_id(place.broker, topic), held, [], is_deleted=False)], **read)

    def _come_to_rest(self) -> None:
        """Wait until ingest has read all records, and no window is open."""
        place = self._place

        def groups() -> dict[str, tuple[dict[int, int], dict[int, int]]]:
            group = place.names["kafka.group"]
            pairs = {"checkins": f"{group}-ingest", "shards": f"{group}-windows"}
            return {
                name: asyncio.run(_ends_and_commits(place, place.topic(name), group)) for name, group in pairs.items()
            }

        def is_at_rest() -> bool:
            try:
                found = groups()
            except KafkaError:  # a busy broker does not know its groups' coordinator now and then
                return False
            return all(
                committed.get(partition, 0) >= end
                for ends, committed in found.values()
                for partition, end in ends.items()
            )

        wait_until(is_at_rest, within_s=_AT_REST_WITHIN_S, what=lambda: f"at rest: {groups()}", every_s=1.0)


async def _ends_and_commits(place: Place, topic: str, group: str) -> tuple[dict[int, int], dict[int, int]]:
    """Return the end of each partition of a topic, and the offset that a group has committed there."""
    consumer = AIOKafkaConsumer(bootstrap_servers=place.bootstrap_servers, group_id=None)
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await consumer.start()
    await admin.start()
    try:
        at = [TopicPartition(topic, number) for number in range(place.settings.kafka.partitions)]
        ends = {one.partition: end for one, end in (await consumer.end_offsets(at)).items()}
        told = await admin.list_consumer_group_offsets(group) if group else {}
        return ends, {one.partition: of.offset for one, of in told.items() if one.topic == topic}
    finally:
        await admin.close()
        await consumer.stop()


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| change | seconds | records | windows released | windows withheld | records turned away | late |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        cells = (
            row.change.title,
            f"{row.seconds:.0f}",
            f"{row.records:,}",
            f"{row.windows['released']:,}",
            _reasons(row.withheld) + (f", {row.begun:,} of them begun" if row.begun else ""),
            _reasons(row.rejected) + (f", {row.kept_and_rejected:,} of them released" if row.kept_and_rejected else ""),
            f"{row.late:,}",
        )
        yield f"| {' | '.join(cells)} |"


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} (`{reason}`)" for reason, n in sorted(counts.items()) if n) or "none"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Changes under load, of workers that are processes of this machine.")
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--only", nargs="*", choices=[one.name for one in CHANGES], help="changes to make")
    given = parser.parse_args()

    def say(line: str) -> None:
        sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
        sys.stdout.flush()

    rows = []
    # Seals are removed only by compaction, and the audit wants to see all of them.
    with ApacheKafka(properties={"log.cleaner.enable": "false"}) as kafka:
        place = Place(kafka, SETTINGS)
        fleet = Processes(place)
        try:
            run = Run(place, fleet, rate=given.rate, say=say)
            rows = [run.make(change) for change in CHANGES if not given.only or change.name in given.only]
        finally:
            fleet.close()
    for line in table(rows):
        sys.stdout.write(line + "\n")
    sys.exit(any(row.too_much() for row in rows))


if __name__ == "__main__":
    main()
