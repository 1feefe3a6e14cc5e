"""Feeds for the benchmarks of the service, a cheap way to send them, and what the processes that read them use."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from stream.kafka.topics import topic_specs
from tests.cluster.brokers import RunningBroker
from tests.cluster.workers import Place, children_of

__all__ = [
    "NESTED",
    "PARTITIONS",
    "SIZE_S",
    "STAMPED",
    "Message",
    "as_avro",
    "avro_settings",
    "by_partition",
    "checkins",
    "cpu_s",
    "create_topics",
    "delayed",
    "fill",
    "fragments",
    "memory_mb",
    "nested",
    "new_feeder",
    "pool_of",
]

START_S = 1_700_000_100
PEOPLE = 5_000
SIZE_S = 900
PARTITIONS = 4
BATCH_BYTES = 256 * 1024
STAMPED = {"message.timestamp.type": "LogAppendTime"}
"""Lets the broker stamp the messages of a topic when it appends them."""

Message = tuple[bytes, bytes]
"""Key and value."""


# ---------------------------------------------------------------- feeds


def checkins(n: int, *, n_windows: int, people: int = PEOPLE) -> Iterator[Message]:
    """Draw check-ins in the order of their times, over so many windows."""
    rng = np.random.default_rng(1)
    span_s = SIZE_S * n_windows
    for i, user, row, column in zip(
        range(n), *(rng.integers(0, high, n).tolist() for high in (people, 12, 12)), strict=True
    ):
        record = {
            "user": f"u{user}",
            "ts": _start() + i * span_s // n,
            "lat": 48.1 + row / 100,
            "lon": 16.2 + column / 100,
        }
        yield b"u%d" % user, json.dumps(record).encode()


NESTED = {
    "fields.user": "device.uniqueId",
    "fields.ts": "position.fixTime",
    "fields.lat": "position.latitude",
    "fields.lon": "position.longitude",
}
"""Settings that read :func:`nested` messages."""


def nested(message: Message) -> Message:
    """Write a check-in as a tracking server forwards it, inside objects and among other fields."""
    key, value = message
    record = json.loads(value)
    position = {
        "id": 1,
        "deviceId": 1,
        "protocol": "osmand",
        "fixTime": record["ts"],
        "valid": True,
        "latitude": record["lat"],
        "longitude": record["lon"],
        "speed": 0.0,
        "attributes": {},
    }
    return key, json.dumps({"position": position, "device": {"id": 1, "uniqueId": record["user"]}}).encode()


_FIELDS = {"user": "string", "ts": "long", "lat": "double", "lon": "double"}
_SCHEMA = {
    "type": "record",
    "name": "CheckIn",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}


_PARSED = fastavro.parse_schema(_SCHEMA)


def avro_settings(folder: Path) -> dict[str, str]:
    """Write the schema of :func:`as_avro` messages below a folder, and return the settings that read them."""
    file = folder / "checkin.avsc"
    file.write_text(json.dumps(_SCHEMA))
    return {"input.encoding": "avro", "input.schema_file": str(file)}


def as_avro(message: Message) -> Message:
    """Write a check-in in Avro, without the id of a schema."""
    key, value = message
    written = io.BytesIO()
    fastavro.schemaless_writer(written, _PARSED, json.loads(value))
    return key, written.getvalue()


def fragments(n: int, *, n_windows: int) -> Iterator[Message]:
    """Draw vehicles that report one point a message, every 30 seconds."""
    rng = np.random.default_rng(2)
    steps = SIZE_S * n_windows // 30
    people = max(n // steps, 20)
    at = rng.uniform(0, 0.1, (people, 2))
    heading = rng.normal(0, 0.0005, (people, 2))
    for step in range(steps):
        at += heading + rng.normal(0, 0.0002, at.shape)
        for user, (lat, lon) in enumerate(at.tolist()):
            record = {"user": f"u{user}", "points": [[_start() + step * 30, 48.1 + lat, 16.2 + lon]]}
            yield b"u%d" % user, json.dumps(record).encode()


def _start() -> int:
    return START_S - START_S % SIZE_S


def delayed(messages: Sequence[Message], most: int) -> list[Message]:
    """Delay each message until up to so many later ones have gone before it."""
    due = np.arange(len(messages)) + np.random.default_rng(3).uniform(0, most, len(messages))
    return [messages[i] for i in due.argsort().tolist()]


def by_partition(messages: Iterable[Message], shares: Sequence[int]) -> dict[int, list[Message]]:
    """Deal messages to partitions by their users ``b"u<number>"``, to each as many users as its share says."""
    owner = [partition for partition, share in enumerate(shares) for _ in range(share)]
    dealt: dict[int, list[Message]] = {partition: [] for partition in range(len(shares))}
    for message in messages:
        dealt[owner[int(message[0][1:]) % len(owner)]].append(message)
    return dealt


# ---------------------------------------------------------------- topics


async def create_topics(place: Place, more: Mapping[str, Mapping[str, str]]) -> None:
    """Create the topics of a place, some with further settings, by their names in ``topics``."""
    given = {place.topic(name): config for name, config in more.items()}
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await admin.start()
    try:
        for spec in topic_specs(place.settings):
            config = {**spec.config, **given.get(spec.name, {})}
            topic = NewTopic(spec.name, num_partitions=spec.partitions, replication_factor=1, topic_configs=config)
            codes = [error[1] for error in (await admin.create_topics([topic])).topic_errors]
            assert codes == [0], f"topic {spec.name} was not created: error {codes}"
    finally:
        await admin.close()


def new_feeder(servers: str) -> AIOKafkaProducer:
    """Make a producer that sends batches of :data:`BATCH_BYTES`; start and stop it yourself."""
    return AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", max_batch_size=BATCH_BYTES, max_request_size=8 * 1024**2
    )


async def fill(
    broker: RunningBroker, topic: str, messages: Mapping[int, Iterable[Message]], packed: asyncio.Event | None = None
) -> None:
    """Send messages to partitions, all acknowledged; in batches, since one by one they take a minute a million.

    Args:
        broker: Where to.
        topic: Where to.
        messages: Keys and values by partition.
        packed: Set once everything is packed and goes out at once.
    """
    producer = new_feeder(broker.bootstrap_servers)
    await producer.start()
    try:
        batches = {partition: list(_pack(producer, its)) for partition, its in messages.items()}
        if packed is not None:
            packed.set()

        async def send(partition: int) -> None:
            for batch in batches[partition]:
                await (await producer.send_batch(batch, topic, partition=partition))

        await asyncio.gather(*map(send, batches))
    finally:
        await producer.stop()


def _pack(producer: AIOKafkaProducer, messages: Iterable[Message]) -> Iterator[Any]:
    batch = producer.create_batch()
    for key, value in messages:
        if batch.append(key=key, value=value, timestamp=None) is None:
            yield batch
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=None)
    yield batch


# ---------------------------------------------------------------- processes


def cpu_s(pid: int) -> float:
    """CPU time of a process and of all that it started, seconds."""
    ticks = 0
    for one in (pid, *children_of(pid)):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pool_of(pid: int) -> set[int]:
    """Return the processes in which a worker anonymizes."""
    found = set()
    for child in children_of(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(child)
    return found


def memory_mb(pid: int, figure: str = "VmRSS") -> float:
    """Return ``VmRSS``, what a process holds in memory now, or ``VmHWM``, its most so far, MB; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(figure + ":")), 0.0)
