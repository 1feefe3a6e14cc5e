"""Before the first record: topics that are missing or wrong, a cluster that is away, and one that wants a password."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.protocol.admin import CreateAclsRequest

from stream.demo.broker import free_port
from stream.kafka.client import client_options
from stream.kafka.topics import ClusterError, create_topics, describe_topics
from stream.settings.errors import SettingsError
from stream.settings.kafka import KafkaSettings
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.worker.faust_app import faust_options
from tests.cluster.brokers import ApacheKafka, KafkaUnavailableError, RunningBroker, unique
from tests.cluster.workers import Place, Worker, wait_until

WITHIN_S = 150.0
USER, PASSWORD = "shoal", "a password of the tests"
START_S = 1_700_000_100


def end_of(worker: Worker) -> tuple[int, str]:
    """Wait for the end of a worker that cannot start and return its exit code and what it said to people."""
    code = worker.wait(WITHIN_S)
    return code, "\n".join(line for line in worker.log.splitlines() if line.startswith("shoal: "))


def shoal(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a place's settings."""
    given = [part for name, value in place.values().items() for part in ("--set", f"{name}={value}")]
    return subprocess.run(
        [sys.executable, "-m", "stream.cli.main", *arguments, *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.broker
class TestTopics:
    def test_a_topic_that_does_not_exist(self, broker: RunningBroker) -> None:
        """
        A worker whose topic is missing ends with code 1 and one sentence that names it and says how to make it.
        """
        place = Place(broker)
        place.create_topics()
        with place.worker({"topics.anonymized": "nobody-made-this"}, ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert "nobody-made-this" in said
        assert "shoal topics create" in said
        assert "Traceback" not in said

    def test_seals_lie_beside_their_shards(self, broker: RunningBroker) -> None:
        """
        A worker whose seals topic has another number of partitions than its shards topic ends with code 1 and says so.
        """
        place, other = Place(broker), Place(broker, {"kafka.partitions": "3"})
        place.create_topics()
        other.create_topics()
        seals = other.topic("seals")
        with place.worker({"topics.seals": seals}, ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert f"{place.topic('shards')} has 2 partitions and {seals} has 3" in said
        assert "delete both and run `shoal topics create`; otherwise set new names" in said

    def test_a_topic_that_would_lose_what_it_is_for(self, broker: RunningBroker) -> None:
        """
        A seals topic that forgets, a shards topic that keeps only the last record of a shard, or one that keeps records
        for a shorter time than a window is open: the worker ends with code 1 and says which setting of the topic to
        change. One that is longer or unlimited is fine.
        """
        place = Place(broker, {"window.size": "7d"})
        place.create_topics()
        for name, config, said_of_it in [
            (
                "seals",
                {"cleanup.policy": "delete"},
                "cleanup.policy=delete: seals would be lost, and windows released twice",
            ),
            ("seals", {"cleanup.policy": "compact,delete"}, "cleanup.policy=compact,delete"),
            ("shards", {"cleanup.policy": "compact"}, "cleanup.policy=compact: records would be lost"),
            ("shards", {"retention.bytes": "1000000", "cleanup.policy": "delete"}, "retention.bytes=1000000"),
            ("shards", {"retention.ms": "86400000", "cleanup.policy": "delete"}, "retention.ms=86400000"),
            ("anonymized", {"max.message.bytes": "1000"}, "max.message.bytes=1000: set it to at least 1048576"),
        ]:
            topic = unique(f"odd-{name}")
            asyncio.run(create_topic(place, topic, config))
            with place.worker({f"topics.{name}": topic}, ready=False) as worker:
                code, said = end_of(worker)
            assert code == 1
            assert f"topic {topic} has {said_of_it}" in said
        generous = unique("generous")
        asyncio.run(create_topic(place, generous, {"retention.ms": "-1", "cleanup.policy": "delete"}))
        with place.worker({"topics.shards": generous}) as worker:
            assert worker.stop() == 0

    def test_topics_are_created_for_the_messages_that_the_settings_allow(self, broker: RunningBroker) -> None:
        """
        limits.message_bytes above what brokers take by default: the output topics are made for it, and a worker starts.
        """
        place = Place(broker, {"limits.message_bytes": "3MiB"})
        place.create_topics()
        configs = asyncio.run(configs_of(place, [place.topic("anonymized"), place.topic("windows")]))
        assert {int(config["max.message.bytes"]) for config in configs.values()} == {3 * 1024**2}
        with place.worker() as worker:
            assert worker.stop() == 0

    def test_creating_topics_twice_is_the_same_as_once(self, broker: RunningBroker) -> None:
        """
        `shoal topics create` makes what is missing and leaves the rest; seals are compacted, shards are kept for a
        time, and `shoal topics describe` shows every topic.
        """
        place = Place(broker)
        first, second = shoal(place, "topics", "create"), shoal(place, "topics", "create")
        names = [name for setting, name in place.names.items() if setting.startswith("topics.")]
        assert (first.returncode, second.returncode) == (0, 0)
        assert sorted(first.stdout.splitlines()) == sorted(f"{name}: created" for name in names)
        assert sorted(second.stdout.splitlines()) == sorted(f"{name}: exists already" for name in names)

        described = shoal(place, "topics", "describe")
        assert described.returncode == 0
        assert all(name in described.stdout for name in names)
        assert asyncio.run(describe_topics(place.settings)).topics[place.topic("seals")].partitions == 2

        configs = asyncio.run(configs_of(place, [place.topic("seals"), place.topic("shards")]))
        assert configs[place.topic("seals")]["cleanup.policy"] == "compact"
        assert configs[place.topic("shards")]["cleanup.policy"] == "delete"
        assert int(configs[place.topic("shards")]["retention.ms"]) > 7 * 86_400_000

    def test_more_partitions_than_there_are(self, broker: RunningBroker) -> None:
        """
        Where shards and seals exist, a larger number of partitions is refused before any topic is made, with what to
        do; a smaller one changes nothing.
        """
        place = Place(broker)
        place.create_topics()
        missing = unique("not-made")

        def settings(partitions: int) -> Settings:
            return load_settings(given=place.values() | {"kafka.partitions": partitions, "topics.windows": missing})

        refused = r"has 2 partitions and kafka.partitions is 9: .* Set kafka.partitions to 2"
        with pytest.raises(ClusterError, match=refused):
            asyncio.run(create_topics(settings(9)))
        assert asyncio.run(describe_topics(settings(9))).topics[missing].partitions == 0
        assert asyncio.run(create_topics(settings(1)))[missing] is True


@pytest.mark.broker
def test_told_to_end_amid_the_start(broker: RunningBroker) -> None:
    """A worker that has started half of its parts is not ready, and ends at once and in good order."""
    place = Place(broker)
    place.create_topics()
    with place.worker(ready=False, program=("tests.cluster.slow_starting_worker", "worker")) as worker:
        wait_until(lambda: "standing_still" in worker.log, within_s=WITHIN_S, what=lambda: f"its log:\n{worker.log}")
        status, said = worker.get("/readyz")
        assert status == 503
        assert "the start" in said
        assert worker.stop(within_s=5) == 0


@pytest.mark.broker
class TestSeals:
    def test_a_message_that_is_no_seal(self, broker: RunningBroker) -> None:
        """
        A worker that finds something else in its seals topic does not start: it says where it is and what to do. Once
        the message is removed in that way, it starts.
        """
        place = Place(broker)
        place.create_topics()
        produce_to(place, "seals", 1, b"a stranger", b"not a seal")
        with place.worker(ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert f"topic {place.topic('seals')}, partition 1, offset 0: it is not a seal" in said
        assert "send its key with an empty value" in said
        produce_to(place, "seals", 1, b"a stranger", None)
        with place.worker() as worker:
            assert worker.stop() == 0

    def test_fewer_partitions_than_before(self, broker: RunningBroker) -> None:
        """
        Where the shards topic comes back with fewer partitions, windows that were open are gone and shards would move
        away from their seals: the worker does not start and says so.
        """
        place, fewer = Place(broker, {"kafka.partitions": "3"}), Place(broker)
        place.create_topics()
        fewer.create_topics()
        with place.worker() as worker:
            assert worker.stop() == 0
        for record in place.read("seals"):
            produce_to(fewer, "seals", record.partition, record.key, record.value)
        with fewer.worker(ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert f"topic {fewer.topic('shards')} has 2 partitions, but had 3" in said

    @pytest.mark.kafka
    def test_more_partitions_than_before(self, apache_kafka: ApacheKafka) -> None:
        """
        Partitions that are added later are not used, or a shard would go on where nobody knows its seals: shards stay
        where they were, a record of a window that has left is late there too, and the worker says how many it uses.
        """
        place = Place(apache_kafka, {"topics.fragments": "", "shard.kind": "user", "shard.cohorts": "6"})
        place.create_topics()
        many = range(60)
        with place.worker() as worker:
            place.produce("checkins", [(None, one) for one in check_ins(many)])
            wait_until(lambda: len(place.windows()) >= 6, within_s=WITHIN_S, what=lambda: worker.log[-3000:], every_s=1)
            assert worker.stop() == 0
        asyncio.run(add_partitions(place, ["shards", "seals"], 5))
        with place.worker() as worker:
            assert (
                f"topic {place.topic('shards')} has 5 partitions; only the 2 of the first start are used" in worker.log
            )
            place.produce("checkins", [(None, one) for one in check_ins(many)])
            wait_until(
                lambda: worker.metric("shoal_records_total", kind="checkins", outcome="late") == len(many),
                within_s=WITHIN_S,
                what=lambda: worker.log[-3000:],
            )
        assert len(place.windows()) == 6
        assert {record.partition for record in place.read("shards")} <= {0, 1}


def check_ins(users: Iterable[int]) -> list[bytes]:
    return [json.dumps({"user": f"u{i}", "ts": START_S + i, "lat": 48.2, "lon": 16.3}).encode() for i in users]


def produce_to(place: Place, name: str, partition: int, key: bytes | None, value: bytes | None) -> None:
    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=place.bootstrap_servers) as producer:
            await producer.send_and_wait(place.topic(name), value, key=key, partition=partition)

    asyncio.run(send())


async def create_topic(place: Place, topic: str, config: dict[str, str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1, topic_configs=config)])
    finally:
        await admin.close()


async def add_partitions(place: Place, names: list[str], n: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_partitions({place.topic(name): NewPartitions(total_count=n) for name in names})
    finally:
        await admin.close()


async def deny(place: Place, topic: str, operation: str) -> None:
    """Take a right on a topic away from the user."""
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await admin.start()
    try:
        # Numbers of the protocol: 2 is a topic, 3 "by this name"; operation 2 is every one; 3 is allowed, 2 denied.
        for code, allowed in ((2, 3), ({"read": 3, "write": 4}[operation], 2)):
            request = CreateAclsRequest(2, topic, 3, f"User:{USER}", "*", code, allowed)
            answer = await admin._send_request(request)
            assert [one[0] for one in answer.creation_responses] == [0]
    finally:
        await admin.close()


async def configs_of(place: Place, topics: list[str]) -> dict[str, dict[str, str]]:
    admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap_servers)
    await admin.start()
    try:
        wanted, found = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics], []
        for _ in range(100):
            answers = await admin.describe_configs(wanted)
            found = [resource for answer in answers for resource in answer.resources]
            if all(resource[4] for resource in found):
                break
            await asyncio.sleep(0.1)  # a broker can be asked before it has heard of a topic that it has just made
        return {resource[3]: {entry[0]: entry[1] for entry in resource[4]} for resource in found}
    finally:
        await admin.close()


@pytest.mark.deep
class TestACluster:
    def test_that_is_away(self) -> None:
        """
        A worker that finds no broker within kafka.startup_timeout ends with code 1 and a sentence.
        """
        address = f"127.0.0.1:{free_port()}"
        with Place(address, {"kafka.startup_timeout": "3s"}).worker(ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert f"no Kafka broker answers at {address}" in said
        assert "kafka.bootstrap_servers" in said

    def test_told_to_end_while_it_waits(self) -> None:
        """
        SIGTERM ends a worker that still waits for its cluster, with code 0: without a handler of its own, process 1 of
        a container would not notice.
        """
        with Place(f"127.0.0.1:{free_port()}").worker(ready=False) as worker:
            wait_until(lambda: "waiting for a Kafka broker" in worker.log, within_s=WITHIN_S, what=lambda: worker.log)
            assert worker.stop(within_s=10) == 0
            assert "Traceback" not in worker.log

    @pytest.mark.broker
    @pytest.mark.kafka
    def test_that_comes_while_the_worker_waits(self, disposable_kafka: ApacheKafka) -> None:
        """
        A worker that is started before its cluster waits for it, and says so.
        """
        place = Place(disposable_kafka)
        place.create_topics()
        disposable_kafka.kill()
        with place.worker(ready=False) as worker:
            wait_until(
                lambda: f"waiting for a Kafka broker at {place.bootstrap_servers}" in worker.log,
                within_s=WITHIN_S,
                what=lambda: f"it says that it waits; its log:\n{worker.log}",
            )
            disposable_kafka.start()
            worker.wait_until_ready()
            assert worker.stop() == 0


class TestPorts:
    def test_health_is_told_while_the_cluster_is_waited_for(self) -> None:
        """
        Health and metrics answer from the beginning, at a port of their own, where nothing of the page is; the page's
        comes later.
        """
        with Place(f"127.0.0.1:{free_port()}").worker(ready=False) as worker:
            wait_until(lambda: worker.get("/healthz") == (200, "ok\n"), within_s=WITHIN_S, what=lambda: worker.log)
            assert worker.get("/readyz") == (503, "waiting for: the start, the Kafka cluster, the kernels\n")
            assert "shoal_build_info" in worker.get("/metrics")[1]
            for path, code in (("/", 404), ("/api/status", 404), ("/api/windows", 404)):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(f"{worker.metrics_url}{path}", timeout=5)  # noqa: S310 - our worker
                assert refused.value.code == code
            assert worker.get("/api/status")[0] == 0
            assert worker.returncode is None

    @pytest.mark.parametrize("section", ["web", "metrics"])
    def test_a_port_that_is_taken(self, section: str) -> None:
        """
        The worker ends with code 1 and a sentence that names the setting, before it asks the cluster for anything.
        """
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            place = Place(f"127.0.0.1:{free_port()}", {f"{section}.port": port})
            with place.worker(ready=False) as worker:
                code, said = end_of(worker)
                log = worker.log
        assert code == 1
        assert f"{section}.host is 127.0.0.1 and {section}.port {port}: another program listens there already" in said
        assert said == log.strip()

    def test_an_address_of_another_machine(self) -> None:
        """
        The sentence names the host.
        """
        place = Place(f"127.0.0.1:{free_port()}", {"metrics.host": "192.0.2.1"})
        with place.worker(ready=False) as worker:
            code, said = end_of(worker)
        assert (code, "this machine has no such address; set metrics.host" in said) == (1, True)


# ---------------------------------------------------------------------- certificates and passwords


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for the loopback address that vouches for itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return certificate, key


class TestOptions:
    def test_certificates_are_passed_on(self, certificate: tuple[Path, Path]) -> None:
        """
        The trusted certificates and the client's own go into one context, for our clients and for Faust's.
        """
        trusted, key = certificate
        kafka = KafkaSettings(
            security_protocol="SSL",
            ssl_cafile=trusted,
            ssl_certfile=trusted,
            ssl_keyfile=key,
            bootstrap_servers="a:1, b:2",
        )
        ours, fausts = client_options(kafka), faust_options(kafka)
        assert isinstance(ours["ssl_context"], ssl.SSLContext)
        assert ours["security_protocol"] == "SSL"
        assert len(ours["ssl_context"].get_ca_certs()) == 1
        assert ours["ssl_context"].verify_mode is ssl.CERT_REQUIRED
        assert isinstance(fausts["broker_credentials"].context, ssl.SSLContext)
        assert [str(url) for url in fausts["broker"]] == ["kafka://a:1", "kafka://b:2"]

    def test_passwords_are_passed_on(self) -> None:
        """
        User, password and mechanism reach our clients and Faust's.
        """
        kafka = KafkaSettings.model_validate(
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": USER,
                "sasl_password": PASSWORD,
            }
        )
        ours, fausts = client_options(kafka), faust_options(kafka)["broker_credentials"]
        assert ours["ssl_context"] is None
        assert (ours["sasl_mechanism"], ours["sasl_plain_username"]) == ("PLAIN", USER)
        assert ours["sasl_plain_password"] == PASSWORD
        assert (fausts.mechanism.value, fausts.username, fausts.password) == ("PLAIN", USER, PASSWORD)
        assert fausts.protocol.value == "SASL_PLAINTEXT"

    @pytest.mark.parametrize(
        ("given", "names"),
        [
            ({"security_protocol": "SASL_SSL"}, "kafka.sasl_username"),
            ({"security_protocol": "SSL", "ssl_cafile": "/nowhere/ca.pem"}, "kafka.ssl_cafile"),
        ],
    )
    def test_what_is_missing_is_named(self, given: dict[str, Any], names: str) -> None:
        """
        Credentials that are missing, or a file that cannot be read, give a sentence that names the setting.
        """
        with pytest.raises(SettingsError, match=names):
            faust_options(KafkaSettings.model_validate(given))


@pytest.fixture(scope="module")
def secured_kafka(certificate: tuple[Path, Path]) -> Iterator[tuple[ApacheKafka, dict[str, int]]]:
    """A Kafka that wants a password, with and without TLS, and the ports where it does."""
    trusted, key = certificate
    both = key.with_name("keystore.pem")
    both.write_text(key.read_text() + trusted.read_text())
    ports = {"SASL_PLAINTEXT": free_port(), "SASL_SSL": free_port()}
    secured = ",".join(f"{name}://{{host}}:{port}" for name, port in ports.items())
    properties = {
        "listeners": f"PLAINTEXT://{{host}}:{{port}},{secured},CONTROLLER://{{host}}:{{controller_port}}",
        "advertised.listeners": f"PLAINTEXT://{{host}}:{{port}},{secured}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.ssl.keystore.type": "PEM",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
        "listener.name.sasl_ssl.ssl.keystore.location": str(both),
    }
    for name in ports:
        properties[f"listener.name.{name.lower()}.plain.sasl.jaas.config"] = (
            f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        )
    try:
        with ApacheKafka(properties=properties) as kafka:
            yield kafka, ports
    except KafkaUnavailableError as missing:
        pytest.skip(str(missing))


@pytest.mark.broker
@pytest.mark.kafka
@pytest.mark.deep
class TestAClusterThatWantsAPassword:
    @pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
    def test_everything_of_a_worker_gives_it(
        self, secured_kafka: tuple[ApacheKafka, dict[str, int]], certificate: tuple[Path, Path], protocol: str
    ) -> None:
        """
        With a password, over TLS or not, topics are made, records are read, and windows are sealed and leave.
        """
        kafka, ports = secured_kafka
        place = Place(kafka)
        credentials = {
            "kafka.bootstrap_servers": f"127.0.0.1:{ports[protocol]}",
            "kafka.security_protocol": protocol,
            "kafka.sasl_mechanism": "PLAIN",
            "kafka.sasl_username": USER,
            "kafka.sasl_password": PASSWORD,
        }
        if protocol == "SASL_SSL":
            credentials["kafka.ssl_cafile"] = str(certificate[0])
        place.given.update(credentials)
        asyncio.run(create_topics(place.settings))
        with place.worker() as worker:
            place.produce("checkins", [(None, value) for value in check_ins(range(20))])
            wait_until(lambda: len(place.windows()) == 1, within_s=WITHIN_S, what=lambda: worker.log[-3000:], every_s=1)
            assert PASSWORD not in worker.log
            assert worker.stop() == 0
        (window,) = place.windows()
        assert (window["outcome"], window["people"]) == ("released", 20)

    @pytest.mark.parametrize("operation", ["read", "write"])
    def test_seals_that_the_worker_may_not_use(
        self, secured_kafka: tuple[ApacheKafka, dict[str, int]], operation: str
    ) -> None:
        """
        A worker that may not read or not write its seals does not start, and says which right it lacks.
        """
        kafka, ports = secured_kafka
        place = Place(kafka)
        place.create_topics()
        asyncio.run(deny(place, place.topic("seals"), operation))
        given = {
            "kafka.bootstrap_servers": f"127.0.0.1:{ports['SASL_PLAINTEXT']}",
            "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "PLAIN",
            "kafka.sasl_username": USER,
            "kafka.sasl_password": PASSWORD,
            "kafka.startup_timeout": "15s",
        }
        with place.worker(given, ready=False) as worker:
            code, said = end_of(worker)
        assert code == 1
        assert f"topic {place.topic('seals')} cannot be" in said
        assert "allow the worker's user to read and write it" in said.lower()

    def test_a_wrong_password(self, secured_kafka: tuple[ApacheKafka, dict[str, int]]) -> None:
        """
        A worker that is turned away ends with code 1 and says what to look at, never the password.
        """
        kafka, ports = secured_kafka
        given = {
            "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "PLAIN",
            "kafka.sasl_username": USER,
            "kafka.sasl_password": "mistaken-word",
            "kafka.startup_timeout": "3s",
            "kafka.bootstrap_servers": f"127.0.0.1:{ports['SASL_PLAINTEXT']}",
        }
        with Place(kafka, given).worker(ready=False) as worker:
            code, said = end_of(worker)
            assert "mistaken-word" not in worker.log
        assert code == 1
        assert "does not accept our credentials: check kafka.sasl_username, kafka.sasl_password" in said
