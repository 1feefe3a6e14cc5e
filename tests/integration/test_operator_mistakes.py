"""Mistakes of operators: each ends in one sentence that says what to do, above all without a traceback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from stream.demo.broker import free_port
from stream.kafka.acls import Acl, acls
from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError
from tests.cluster.secured_kafka import PRINCIPALS, SecuredKafka
from tests.cluster.workers import Place, Worker, wait_until
from tests.paths import ROOT

WITHIN_S = 150.0
HOUR_S = 3600
START_S = 1_700_000_000 - 1_700_000_000 % HOUR_S
REPAIRED = ("tests.cluster.repaired_worker", "worker")
PROGRESS = ("shoal: waiting for", "shoal: preparing kernels", "shoal: reading topic")
"""How lines begin that say what a worker waits for."""


def nowhere() -> str:
    return f"127.0.0.1:{free_port()}"


def only_sentence(worker: Worker, code: int) -> str:
    """Wait for the end of a worker that cannot start, and return the only line that is not about its progress."""
    assert worker.wait(WITHIN_S) == code, worker.log
    (sentence,) = [
        line for line in worker.log.splitlines() if not line.startswith(PROGRESS) and "pool_started" not in line
    ]
    assert sentence.startswith("shoal: ")
    return sentence.removeprefix("shoal: ")


def check_ins(people: int, *, hours: Iterable[int]) -> list[tuple[bytes, bytes]]:
    return [
        (
            b"u%d" % i,
            json.dumps({"user": f"u{i}", "ts": START_S + hour * HOUR_S + i, "lat": 48.2, "lon": 16.3}).encode(),
        )
        for hour in hours
        for i in range(people)
    ]


# ---------------------------------------------------------------------- before any broker is asked


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"privacy.secret": "short"}, 2, "privacy.secret has 5 characters: it must have at least 16 characters"),
        ({"window.size": "0s"}, 2, "window.size is '0s': it must be longer than zero"),
        ({"kafka.bootstrap_servers": "nobody.invalid:9092"}, 1, "(the name is not known): start it, or check"),
        ({"kafka.bootstrap_servers": "127.0.0.1:1"}, 1, "(nothing listens there): start it, or check"),
    ],
    ids=["a short secret", "a window of nothing", "a wrong name", "a wrong port"],
)
def test_a_setting_that_cannot_be_right(given: dict[str, Any], code: int, says: str) -> None:
    """
    The sentence names the setting or the address, what was found, and what to do.
    """
    place = Place(nowhere(), given | {"kafka.startup_timeout": "2s"})
    with place.worker(ready=False) as worker:
        assert says in only_sentence(worker, code)


def test_the_sentence_is_a_line_of_the_log_where_logs_are_json() -> None:
    """
    Collectors of logs read every line from the first one on, also if the settings are wrong or the cluster is away.
    """
    for given, code in (({"window.size": "0s"}, 2), ({"kafka.bootstrap_servers": "127.0.0.1:1"}, 1)):
        place = Place(nowhere(), given | {"kafka.startup_timeout": "1s", "logs.format": "json"})
        with place.worker(ready=False) as worker:
            assert worker.wait(WITHIN_S) == code
            *before, last = [json.loads(line) for line in worker.log.splitlines()]
        assert {line["event"] for line in before} <= {"starting"}
        assert (last["event"], last["level"], last["exit_code"]) == ("not_started", "critical", code)
        assert "window.size" in last["why"] or "check kafka.bootstrap_servers" in last["why"]
        assert last["timestamp"]


# ---------------------------------------------------------------------- a disk that is read-only


def test_a_disk_without_a_place_for_shared_memory(apache_kafka: ApacheKafka) -> None:
    """
    A container whose file system is read-only needs /dev/shm all the same: the sentence says so, and how.
    """
    unshare = shutil.which("unshare")
    mount = "mount --bind /dev/shm /dev/shm && mount -o remount,bind,ro /dev/shm"
    if (
        unshare is None
        or subprocess.run([unshare, "-m", "sh", "-c", mount], capture_output=True, check=False).returncode
    ):
        pytest.skip("no right to give a process a read-only /dev/shm")
    place = Place(apache_kafka)
    place.create_topics()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    ports = {"web.port": free_port(), "metrics.port": free_port()}
    for name, value in (place.values() | ports).items():
        environment[f"SHOAL_{name}".upper().replace(".", "__")] = str(value)
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", f'{mount} && exec "$0" -m stream.cli.main worker', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    (sentence,) = [line for line in done.stderr.splitlines() if not line.startswith(PROGRESS)]
    assert "processes cannot share memory" in sentence
    assert "mount a tmpfs there" in sentence


# ---------------------------------------------------------------------- topics, rights and certificates


def test_topics_that_nobody_created(apache_kafka: ApacheKafka) -> None:
    """
    The sentence lists them and says which command makes them.
    """
    place = Place(apache_kafka)
    with place.worker(ready=False) as worker:
        sentence = only_sentence(worker, 1)
    names = sorted(name for setting, name in place.names.items() if setting.startswith("topics."))
    assert sentence == (
        f"topics {', '.join(names)} do not exist: create them with `shoal topics create`, or name others in topics.*"
    )


def test_more_replicas_than_brokers(apache_kafka: ApacheKafka) -> None:
    """
    `shoal topics create` names the setting.
    """
    place = Place(apache_kafka, {"kafka.replication_factor": 3})
    with place.worker(ready=False, program=("stream.cli.main", "topics", "create")) as command:
        sentence = only_sentence(command, 1)
    assert "(InvalidReplicationFactorError): kafka.replication_factor is 3: set it to at most the number" in sentence


def place_of(secured: SecuredKafka) -> Place:
    place = Place(secured.kafka, {"topics.fragments": "", "window.idle_timeout": "1s", "kafka.startup_timeout": "15s"})
    place.create_topics()
    return place


def allow(secured: SecuredKafka, place: Place, way: str, *, but: Callable[[Acl], bool] = lambda _: False) -> None:
    """Give a worker its rights, but for some."""
    found = acls(place.settings, {"worker": PRINCIPALS[way]}, consumer_group="nobody")
    secured.allow(one for one in found if not but(one))


@pytest.mark.deep
class TestRights:
    def test_no_right_at_all(self, secured: SecuredKafka) -> None:
        """
        A topic that the user may not see is not called missing: creating it would be the wrong cure.
        """
        place = place_of(secured)
        with place.worker(secured.settings("PLAIN"), ready=False) as worker:
            sentence = only_sentence(worker, 1)
        topics = sorted(
            place.topic(name) for name in ("anonymized", "checkins", "dead_letters", "seals", "shards", "windows")
        )
        assert sentence == (
            f"this user has no right on topics {', '.join(topics)}: give it the rights that `shoal topics acls` "
            "prints, or name other topics in topics.*"
        )

    def test_one_topic_without_rights_and_one_that_is_missing(self, secured: SecuredKafka) -> None:
        """
        Only the topic without rights is named in the first sentence; given the right, the missing one in the second.
        """
        place = place_of(secured)
        allow(secured, place, "PLAIN", but=lambda acl: acl.name == place.topic("dead_letters"))
        with place.worker(secured.settings("PLAIN"), ready=False) as worker:
            assert f"no right on topic {place.topic('dead_letters')}: give" in only_sentence(worker, 1)
        allow(secured, place, "PLAIN")
        other = Place(secured.kafka, place.given)
        windows = {"topics.windows": other.topic("windows")}
        allow(secured, Place(secured.kafka, place.given | windows), "PLAIN")
        with place.worker(secured.settings("PLAIN") | windows, ready=False) as worker:
            assert f"topic {other.topic('windows')} does not exist: create it with" in only_sentence(worker, 1)

    def test_a_group_that_the_user_may_not_use(self, secured: SecuredKafka) -> None:
        """
        The sentence names the group.
        """
        place = place_of(secured)
        group = f"{place.names['kafka.group']}-windows"
        allow(secured, place, "PLAIN", but=lambda acl: acl.name == group)
        with place.worker(secured.settings("PLAIN"), ready=False) as worker:
            assert f"the worker's user may not use group {group}: allow it to read the group" in only_sentence(
                worker, 1
            )

    def test_a_right_that_is_needed_later(self, secured: SecuredKafka) -> None:
        """
        The worker ends as soon as it needs the right. The last line names the topic and what to do, and no code.
        """
        place = place_of(secured)
        shards = place.topic("shards")
        allow(secured, place, "PLAIN", but=lambda acl: (acl.name, acl.operation) == (shards, "Write"))
        with place.worker(secured.settings("PLAIN"), ready=False) as worker:
            place.produce("checkins", check_ins(6, hours=[0]))
            assert worker.wait(WITHIN_S) == 70
            log = worker.log
        assert "Traceback" not in log
        (last,) = [line for line in log.splitlines() if "worker_failed" in line]
        assert shards in last
        assert "give the worker's user the rights that `shoal topics acls` prints, then start the worker again" in last

    def test_creating_topics_without_the_right(self, secured: SecuredKafka) -> None:
        """
        All topics that could not be created are in one sentence, with who may create them.
        """
        place = Place(secured.kafka, {"topics.fragments": ""})
        with place.worker(
            secured.settings("PLAIN"), ready=False, program=("stream.cli.main", "topics", "create")
        ) as one:
            sentence = only_sentence(one, 1)
        assert "this user may not create topic" in sentence
        assert all(place.topic(name) in sentence for name in ("checkins", "shards", "seals", "windows"))
        assert "`shoal topics acls --for topics` prints, or let an administrator create the topics" in sentence

    def test_sending_records_without_the_right(self, secured: SecuredKafka) -> None:
        """
        `shoal generate` needs no right on Shoal's own topics; without Write on the input it says so.
        """
        place = place_of(secured)
        secured.allow(
            one
            for one in acls(place.settings, {"worker": PRINCIPALS["PLAIN"]}, consumer_group="nobody")
            if (one.name, one.operation) == (place.topic("checkins"), "Read")
        )
        program = ("stream.cli.main", "generate", "--to-topics", "--hours", "12", "--people", "50")
        with place.worker(secured.settings("PLAIN"), ready=False, program=program) as sender:
            assert sender.wait(WITHIN_S) == 1
            log = sender.log
        assert f"shoal: this user may not write to topic {place.topic('checkins')}: give it the right Write" in log
        assert "Traceback" not in log

    def test_a_wrong_authority(self, secured: SecuredKafka) -> None:
        """
        The sentence says which setting names the certificate to trust.
        """
        place = Place(secured.kafka)
        more = secured.settings("PLAIN", **{"kafka.ssl_cafile": secured.stranger.certificate})
        with place.worker(more, ready=False) as worker:
            sentence = only_sentence(worker, 1)
        assert "is not trusted" in sentence
        assert "set kafka.ssl_cafile to the certificate of its CA" in sentence


# ---------------------------------------------------------------------- while it runs


def line_of(worker: Worker, event: str) -> str:
    """Wait for a line of the log, and return the first one."""
    wait_until(lambda: event in worker.log, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
    return next(line for line in worker.log.splitlines() if event in line)


@pytest.mark.deep
def test_a_worker_with_other_settings_than_one_that_runs(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    """
    It does not start, and says what differs, but nothing of a secret; the one that runs does not notice.
    """
    place = Place(apache_kafka, {"topics.fragments": ""})
    place.create_topics()
    (tmp_path / "other").write_text("another secret of the tests, as long\n")
    by_file = {name: value for name, value in place.values().items() if name != "privacy.secret"}
    with place.worker() as running:
        with place.worker({"privacy.k": 7}, ready=False) as other:
            sentence = only_sentence(other, 1)
        assert (
            "other settings are in force, and workers run with them (privacy.k is 5 in force and 7 in the new settings)"
            in sentence
        )
        assert "give this worker the same settings; or, to replace them, run `shoal approve`" in sentence
        changed = Worker(by_file | {"privacy.secret_file": tmp_path / "other"})
        try:
            sentence = only_sentence(changed, 1)
        finally:
            changed.close()
        assert (
            "workers run with them (the secret or the content of a file that the settings name differs): give this "
            "worker" in sentence
        )
        assert running.returncode is None
        assert running.get("/readyz")[0] == 200
        assert running.stop() == 0


@pytest.mark.deep
def test_k_above_the_crowd(apache_kafka: ApacheKafka) -> None:
    """
    A feed of which nothing can be released looks like one that works: after three windows the log says why.
    """
    given = {"topics.fragments": "", "window.size": "1h", "window.allowed_lateness": "0s", "privacy.k": 50}
    place = Place(apache_kafka, given | {"kafka.partitions": 1, "window.idle_timeout": "2s"})
    place.create_topics()
    with place.worker() as worker:
        place.produce("checkins", check_ins(6, hours=range(6)))
        line = line_of(worker, "too_few_people  ")
        assert "k=50" in line
        assert "a smaller privacy.k" in line
        wait_until(lambda: len(place.windows()) == 6, within_s=WITHIN_S, what=lambda: worker.log[-3000:])
        assert worker.log.count("too_few_people  ") == 1
        assert worker.stop() == 0


@pytest.mark.deep
def test_a_clock_that_is_wrong(apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Log and readiness say by how much, and what to do.
    """
    monkeypatch.setenv("SHIFT_S", str(-3 * HOUR_S))
    place = Place(apache_kafka, {"topics.fragments": ""})
    place.create_topics()
    now = json.dumps({"user": "u", "ts": int(time.time()), "lat": 48.2, "lon": 16.3}).encode()
    with place.worker(program=REPAIRED) as worker:
        place.produce("checkins", [(None, now)] * 5)
        line = line_of(worker, "clock_wrong")
        assert "3 h 0 min behind the time stamps of the input" in line
        assert "Set this machine's clock by NTP" in line
        assert "Set this machine's clock by NTP" in worker.get("/readyz")[1]


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system in memory for as long as a ``with`` block."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no right to make a small disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


@pytest.mark.deep
def test_a_full_disk_at_the_broker(tmp_path: Path) -> None:
    """
    The broker stops. The worker waits, is not ready, and says once what is lost (nothing) and where to look; each
    operation that fails has one line, not one for each attempt.
    """
    with small_disk(tmp_path, "48m") as disk, contextlib.ExitStack() as stack:
        properties = {
            "log.dirs": str(disk / "data"),
            "log.segment.bytes": str(2**20),
            "log.index.size.max.bytes": "4096",
        }
        try:
            kafka = stack.enter_context(ApacheKafka(properties=properties))
        except KafkaUnavailableError as missing:
            pytest.skip(str(missing))
        place = Place(kafka, {"topics.fragments": ""})
        place.create_topics()
        with place.worker() as worker:
            fill(disk / "filler")
            with contextlib.suppress(KafkaError):  # the broker stops instead of answering
                produce_once(place, check_ins(6, hours=[0]))
            line = line_of(worker, "they have free disk space")
            assert "kafka_trouble" in line
            assert "nothing is lost, and the worker continues by itself" in line
            wait_until(lambda: worker.get("/readyz")[0] == 503, within_s=WITHIN_S, what="it is not ready")
            assert "the Kafka cluster" in worker.get("/readyz")[1]
            probes = {"operation": "probe"}
            wait_until(
                lambda: worker.metric("shoal_kafka_trouble_total", **probes) >= 3,
                within_s=WITHIN_S,
                what=lambda: worker.log[-3000:],
            )
            probing = [
                line for line in worker.log.splitlines() if "kafka_trouble" in line and "operation=probe" in line
            ]
            faults = {line.split("fault=")[1].split()[0] for line in probing}
            assert len([line for line in probing if "times=" not in line]) == len(faults), worker.log
            assert worker.returncode is None


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as out:
        while out.write(bytes(64 * 1024)):
            pass


def produce_once(place: Place, messages: list[tuple[bytes, bytes]]) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=place.bootstrap_servers, request_timeout_ms=5000)
        await producer.start()
        try:
            for key, value in messages:
                await producer.send_and_wait(place.topic("checkins"), value, key=key)
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(producer.stop(), 5)

    asyncio.run(send())
