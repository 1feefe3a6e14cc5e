"""A worker as a child process, with topics of its own, and plain ways to fill topics and to read them whole."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from core.records.record import Kind
from stream.demo.broker import free_port
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.kafka.topic_ids import topic_ids
from stream.kafka.topics import create_topics
from stream.replay.replay import Replay
from stream.replay.summary import Summary
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.cluster.brokers import RunningBroker, unique
from tests.cluster.forked_workers import EXIT_CODE, ForkedWorkers
from tests.paths import ROOT

__all__ = [
    "SECRET",
    "Place",
    "Record",
    "Worker",
    "children_of",
    "configure",
    "forked_workers",
    "is_running",
    "produce",
    "read_topic",
    "recreate_topic",
    "releases",
    "replay",
    "topic_id",
    "wait_until",
]

SECRET = "a secret of the tests, long enough"  # noqa: S105 - of no worth anywhere
SHOAL_WORKER = ("stream.cli.main", "worker")
METRICS_PATHS = ("/healthz", "/readyz", "/metrics")
"""What is served at ``metrics.port``; everything else is at ``web.port``."""

READY_WITHIN_S = 90.0
"""A member that joins after another has died waits for nearly two session time-outs on the embedded broker."""

_QUICK = {
    "kafka.partitions": 2,
    "kafka.session_timeout": "6s",
    "kafka.startup_timeout": "30s",
    "window.idle_timeout": "5s",
    "logs.level": "debug",
    "worker.grace_period": "10s",
    "privacy.secret": SECRET,
    "release.withheld": "announced",
}


class Record(NamedTuple):
    """A message as it stands on a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int = 0


@dataclass(frozen=True)
class Place:
    """Topics and groups of one test on a broker, and the settings of the workers that use them.

    Args:
        broker: Where the topics are; a plain ``host:port`` where no broker runs yet.
        given: Dotted names of settings and their values; they win over quick ones for tests.
    """

    broker: RunningBroker | str
    given: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(init=False)
    """Names of the topics by their setting, and of the group."""

    def __post_init__(self) -> None:
        topics = ("checkins", "fragments", "shards", "seals", "anonymized", "windows", "dead_letters")
        names = {f"topics.{name}": unique(name.replace("_", "-")) for name in topics}
        object.__setattr__(self, "names", names | {"kafka.group": unique("group")})

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to."""
        return self.broker if isinstance(self.broker, str) else self.broker.bootstrap_servers

    def values(self) -> dict[str, Any]:
        """Return every setting that differs from the defaults, by dotted name."""
        return _QUICK | self.names | {"kafka.bootstrap_servers": self.bootstrap_servers} | self.given

    @property
    def settings(self) -> Settings:
        """The settings as an object."""
        return load_settings(given=self.values())

    def create_topics(self) -> None:
        """Create every topic."""
        asyncio.run(create_topics(self.settings))

    def topic(self, name: str) -> str:
        """Return the name of the topic of a setting."""
        return self.names[f"topics.{name}"] if f"topics.{name}" not in self.given else self.given[f"topics.{name}"]

    def produce(self, name: str, messages: Iterable[tuple[bytes | None, bytes | None]], **how: Any) -> None:
        """Send messages to the topic of a setting; for ``how`` see :func:`produce`."""
        produce(self.broker, self.topic(name), messages, **how)

    def read(self, name: str, *, committed: bool = False) -> list[Record]:
        """Read the topic of a setting, or only what transactions on it have committed."""
        return read_topic(self.broker, self.topic(name), committed=committed)

    def delete_records(self, name: str, before: int) -> None:
        """Delete the records of the topic of a setting, in its first partition, below an offset."""
        asyncio.run(self.delete_records_now(name, before))

    async def delete_records_now(self, name: str, before: int) -> None:
        """Do the same in a running event loop."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        await admin.start()
        try:
            await admin.delete_records({TopicPartition(self.topic(name), 0): RecordsToDelete(before)})
        finally:
            await admin.close()

    def commit(self, group: str, name: str, offset: int) -> None:
        """Commit an offset of the topic of a setting, in each partition, for one of the groups, without members."""
        self.rewind(f"{self.names['kafka.group']}-{group}", name, to=offset)

    def rewind(self, group: str, name: str, *, to: int = 0) -> None:
        """Let a group without members read the topic of a setting from its beginning, or from another offset."""

        async def commit() -> None:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self.bootstrap_servers, group_id=group, enable_auto_commit=False
            )
            await consumer.start()
            try:
                at = [TopicPartition(self.topic(name), n) for n in range(self.settings.kafka.partitions)]
                consumer.assign(at)
                await consumer.commit(dict.fromkeys(at, to))
            finally:
                await consumer.stop()

        asyncio.run(commit())

    def windows(self) -> list[dict[str, Any]]:
        """Return every message of the windows topic, repeated ones too."""
        return [json.loads(record.value) for record in self.read("windows") if record.value is not None]

    def outputs(self) -> dict[str, dict[bytes, set[bytes]]]:
        """Return for each output topic the contents seen under each key."""
        found: dict[str, dict[bytes, set[bytes]]] = {}
        for name in ("anonymized", "windows"):
            contents = found[name] = defaultdict(set)
            for record in self.read(name):
                assert record.key is not None
                assert record.value is not None
                contents[record.key].add(record.value)
        return found

    def released(self) -> dict[str, dict[bytes, bytes]]:
        """Return what each output topic says under each key; fails where a key has two contents."""
        outputs = self.outputs()
        conflicts = [key for contents in outputs.values() for key, values in contents.items() if len(values) > 1]
        assert not conflicts, f"two contents under {conflicts[:3]}"
        return {name: {key: values.copy().pop() for key, values in found.items()} for name, found in outputs.items()}

    def committed(self) -> dict[int, int]:
        """Return for each partition of the shards topic from where a successor reads, where that is told."""
        return asyncio.run(_committed(self.bootstrap_servers, f"{self.names['kafka.group']}-windows"))

    @contextlib.contextmanager
    def worker(
        self, more: dict[str, Any] | None = None, *, ready: bool = True, program: Sequence[str] = SHOAL_WORKER
    ) -> Iterator[Worker]:
        """Run a worker for as long as a ``with`` block; at its end it is killed if it still runs.

        Args:
            more: Settings of this worker alone.
            ready: Whether to wait until it is ready.
            program: Module and arguments of another program than ``shoal worker``.
        """
        worker = Worker(self.values() | (more or {}), program=program)
        try:
            if ready:
                worker.wait_until_ready()
            yield worker
        finally:
            worker.close()


class _Process(Protocol):
    """What is used of a process; see :class:`subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


def _start(program: Sequence[str], environment: dict[str, str], folder: Path, log: Path) -> _Process:
    if _starters and program == SHOAL_WORKER:  # others change what they import, before or while they import it
        return _Forked(_starters[-1].start(program, environment, folder, log), folder / EXIT_CODE)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *program],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


class _Forked:
    """A process that another one has started for us, and collects."""

    def __init__(self, pid: int, exit_code: Path) -> None:
        self.pid = pid
        self._exit_code = exit_code
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None and self._exit_code.exists():
            self._code = int(self._exit_code.read_text())
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (timeout or 60.0)
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 60.0)
            time.sleep(0.02)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


_starters: list[ForkedWorkers] = []


@contextlib.contextmanager
def forked_workers(*, forked: bool = True) -> Iterator[None]:
    """Start workers by forks of one process within a ``with`` block, or not, within such a block."""
    before = [*_starters]
    with ForkedWorkers() as starter:
        _starters[:] = [starter] if forked else []
        try:
            yield
        finally:
            _starters[:] = before


class Worker:
    """One ``shoal worker`` in a session of its own: a new process, or a fork (:func:`forked_workers`).

    Args:
        values: Settings by dotted name.
        program: Module and arguments of another program that takes the same settings.
    """

    def __init__(self, values: dict[str, Any], *, program: Sequence[str] = SHOAL_WORKER) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="shoal-worker-")
        ports = {name: int(values.get(name) or free_port()) for name in ("web.port", "metrics.port")}
        self.web_url, self.metrics_url = (f"http://127.0.0.1:{port}" for port in ports.values())
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        for name, value in (values | ports).items():
            section, _, setting = name.partition(".")
            environment[f"SHOAL_{section}__{setting}".upper().replace(".", "__")] = str(value)
        environment["PYTHONPATH"] = str(ROOT)
        self.folder = Path(self._folder.name)
        self._log = self.folder / "worker.log"
        self._log.touch()
        self._process = _start(program, environment, self.folder, self._log)
        self.pid = self._process.pid

    @property
    def log(self) -> str:
        """All that it has written."""
        return self._log.read_text(errors="replace")

    @property
    def returncode(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll()

    def get(self, path: str) -> tuple[int, str]:
        """Ask it, at the port where this is served; status 0 where it does not answer."""
        url = self.metrics_url if path in METRICS_PATHS else self.web_url
        try:
            with urllib.request.urlopen(f"{url}{path}", timeout=5) as answer:  # noqa: S310 - our worker
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()
        except OSError:
            return 0, ""

    def get_as(self, accept: str) -> str:
        """Return its metrics in another format."""
        asked = urllib.request.Request(f"{self.metrics_url}/metrics", headers={"Accept": accept})  # noqa: S310
        with urllib.request.urlopen(asked, timeout=5) as answer:  # noqa: S310 - our worker
            return str(answer.read().decode())

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return its samples by name and values of labels, these in the order of the labels' names."""
        from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - few tests need it

        return {
            _sample(sample.name, sample.labels): float(sample.value)
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
        }

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a sample, 0 where there is none."""
        return self.metrics().get(_sample(name, labels), 0.0)

    def wait_until_ready(self, within_s: float = READY_WITHIN_S) -> None:
        """Wait for ``/readyz``."""

        def ready() -> bool:
            assert self.returncode is None, f"the worker ended with {self.returncode}:\n{self.log[-3000:]}"
            return self.get("/readyz")[0] == 200

        wait_until(ready, within_s=within_s, what=lambda: f"ready; {self.get('/readyz')}; its log:\n{self.log[-3000:]}")

    def wait(self, within_s: float) -> int:
        """Wait for its end and return its exit code."""
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker still runs after {within_s} s; its log:\n{self.log[-4000:]}") from None

    def send(self, signal_: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(signal_)

    def stop(self, within_s: float = 30.0) -> int:
        """Ask it to end, as Kubernetes does, and return its exit code; unless it is 0, its log is printed."""
        self.send(signal.SIGTERM)
        code = self.wait(within_s)
        if code:
            print(f"the worker ended with {code}; its log:\n{self.log[-6000:]}")  # noqa: T201 - pytest shows it
        return code

    def kill(self) -> None:
        """End it at once, as for want of memory; its children are left to find out for themselves."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it if it runs, with all that it started."""
        if self.returncode is None:
            # Its session is its own, so nobody else is in the group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self._folder.cleanup()


def _sample(name: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    return (name, *(labels[label] for label in sorted(labels)))


# ---------------------------------------------------------------------- topics


def _servers(broker: RunningBroker | str) -> str:
    return broker if isinstance(broker, str) else broker.bootstrap_servers


def produce(
    broker: RunningBroker | str,
    topic: str,
    messages: Iterable[tuple[bytes | None, bytes | None]],
    *,
    partition: int | None = None,
    compression: str | None = None,
    transaction: bool | None = None,
    headers: Sequence[tuple[str, bytes]] = (),
) -> None:
    """Send keys and values to a topic or one of its partitions, all acknowledged.

    Args:
        broker: Where the topic is.
        topic: Its name.
        messages: Keys and values.
        partition: One partition; that of each key where it is not given.
        compression: Codec of the batches.
        transaction: Whether to commit the transaction that they are sent in, or to abort it; None for none.
        headers: Headers of every message.
    """

    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=_servers(broker),
            acks="all",
            max_request_size=8 * 1024**2,
            compression_type=compression,
            transactional_id=None if transaction is None else topic,
        )
        await producer.start()
        try:
            if transaction is not None:
                await producer.begin_transaction()
            how = {"partition": partition, "headers": list(headers)}
            sent = [await producer.send(topic, value, key=key, **how) for key, value in messages]
            await asyncio.gather(*sent)
            if transaction is not None:
                await (producer.commit_transaction() if transaction else producer.abort_transaction())
        finally:
            await producer.stop()

    asyncio.run(send())


def configure(broker: RunningBroker | str, topic: str, config: dict[str, str]) -> None:
    """Change the configuration of a topic."""

    async def alter() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=_servers(broker))
        await admin.start()
        try:
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, config)])
        finally:
            await admin.close()

    asyncio.run(alter())


def recreate_topic(
    broker: RunningBroker | str, topic: str, *, n_partitions: int, config: dict[str, str] | None = None
) -> None:
    """Delete a topic and create it again under its name."""

    async def recreate() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=_servers(broker))
        await admin.start()
        try:
            await admin.delete_topics([topic])
            for _ in range(200):
                if topic not in await admin.list_topics():
                    break
                await asyncio.sleep(0.05)
            answer = await admin.create_topics([NewTopic(topic, n_partitions, 1, topic_configs=config or {})])
            assert not answer.topic_errors[0][1], answer
        finally:
            await admin.close()

    asyncio.run(recreate())


def topic_id(broker: RunningBroker | str, topic: str) -> str:
    """Return the id of a topic."""

    async def ask() -> str:
        producer = AIOKafkaProducer(bootstrap_servers=_servers(broker))
        await producer.start()
        try:
            return (await topic_ids(producer.client, [topic]) or {})[topic]
        finally:
            await producer.stop()

    return asyncio.run(ask())


async def _committed(bootstrap_servers: str, group: str) -> dict[int, int]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()
    try:
        return {at.partition: told.offset for at, told in (await admin.list_consumer_group_offsets(group)).items()}
    finally:
        await admin.close()


def read_topic(broker: RunningBroker | str, topic: str, *, committed: bool = False) -> list[Record]:
    """Return all that a topic holds now, partition by partition; or only what transactions have committed."""

    async def read() -> list[Record]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=_servers(broker),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=8 * 1024**2,
            isolation_level="read_committed" if committed else "read_uncommitted",
        )
        await consumer.start()
        try:
            await consumer._client.force_metadata_update()
            numbers = consumer.partitions_for_topic(topic) or set()
            if not numbers:
                await consumer.topics()
                numbers = consumer.partitions_for_topic(topic) or set()
            at = [TopicPartition(topic, number) for number in sorted(numbers)]
            consumer.assign(at)
            await consumer.seek_to_beginning(*at)
            ends = await consumer.end_offsets(at)
            found: list[Record] = []
            for partition in at:
                while await consumer.position(partition) < ends[partition]:
                    for message in (await consumer.getmany(partition, timeout_ms=500)).get(partition, []):
                        at_offset = (message.partition, message.offset)
                        what = (message.key, message.value, message.headers, message.timestamp)
                        found.append(Record(*at_offset, *what))
            return found
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(read(), 60))


# ---------------------------------------------------------------------- comparison and patience


def replay(
    place: Place, kind: Kind, files: Sequence[Path], output: Path
) -> tuple[Summary, dict[str, dict[bytes, bytes]]]:
    """Replay files under a place's settings and return its counts, and values by the keys they have on the topics."""
    settings = place.settings
    secret = settings.for_kind(kind).privacy.secret
    feed = Feed(settings, kind, secret=secret.get_secret_value() if secret is not None else SECRET)
    records = open_files(settings, feed, files)
    run = Replay(feed, records, now_ms=round(time.time() * 1000), max_bytes=settings.limits.message_bytes)
    summary = run.run(output)
    for file in records:
        file.close()
    return summary, releases(output)


def releases(output: Path) -> dict[str, dict[bytes, bytes]]:
    """Return what a replay wrote, by the keys that it has on the topics."""
    found: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}}
    for line in (output / "windows.ndjson").read_bytes().splitlines():
        found["windows"][json.loads(line)["release"].encode()] = line
    index: defaultdict[str, int] = defaultdict(int)
    for line in (output / "anonymized.ndjson").read_bytes().splitlines():
        release = json.loads(line)["release"]
        found["anonymized"][f"{release}:{index[release]}".encode()] = line
        index[release] += 1
    return found


def wait_until(
    condition: Callable[[], Any], *, within_s: float, what: str | Callable[[], str], every_s: float = 0.2
) -> None:
    """Wait for a condition; fails with what was waited for."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(every_s)


def is_running(pid: int) -> bool:
    """Whether a process exists and is not only waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid: int) -> set[int]:
    """Return the processes that a process started, and those that they started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found: set[int] = set()
    todo = [pid]
    while todo:
        parent = todo.pop()
        new = {child for child, its_parent in parents.items() if its_parent == parent} - found
        found |= new
        todo += new
    return found
