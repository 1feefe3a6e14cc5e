"""A real Kafka that lets in only whom it knows, and lets them do only what they may."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from core.windows.agreement import SettingsStep, StepKind
from stream.feeds.feed import build_feeds
from stream.formats.seals import seal_key, seal_to_bytes
from stream.kafka.acls import Acl, Role, acls
from stream.kafka.client import client_options, new_producer
from stream.kafka.topics import ClusterError, check_groups, check_topics, create_topics
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.windows.emit import Emitter
from stream.windows.seals_log import agree_on_partitions
from stream.windows.settings_in_force import approve_settings
from tests.cluster.brokers import unique
from tests.cluster.identity_provider import unsecured_token
from tests.cluster.secured_kafka import CLIENT_SECRET, PASSWORD, PRINCIPALS, SecuredKafka
from tests.cluster.workers import Place, Worker, wait_until

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

WITHIN_S = 150.0
START_S = 1_700_000_100


def place_of(secured: SecuredKafka, given: dict[str, Any] | None = None) -> Place:
    """Topics that exist."""
    place = Place(secured.kafka, {"window.idle_timeout": "1s", "topics.fragments": ""} | (given or {}))
    place.create_topics()
    return place


def rights(place: Place, principals: dict[Role, str]) -> list[Acl]:
    return acls(place.settings, principals, consumer_group=f"{place.settings.kafka.group}-consumer")


def check_ins(window: int) -> list[tuple[None, bytes]]:
    """Twenty people in one window, and a record that is spoiled."""
    start_s = START_S + window * 900
    told = [{"user": f"u{i}", "ts": start_s + i, "lat": 48.2, "lon": 16.3} for i in range(20)]
    return [(None, json.dumps(one).encode()) for one in told] + [(None, b"spoiled")]


def has_left(place: Place, worker: Worker, n: int) -> None:
    wait_until(lambda: len(place.windows()) == n, within_s=WITHIN_S, what=lambda: worker.log[-3000:], every_s=0.5)


def test_workers_that_may_do_what_they_need_and_nothing_else(secured: SecuredKafka) -> None:
    """
    By whatever way they get in, with the ACLs of `shoal topics acls`, they release a window, turn a record away, and
    say no secret.
    """
    places, n_asked = {way: place_of(secured) for way in PRINCIPALS}, len(secured.provider.asked)
    with contextlib.ExitStack() as stack:
        workers = {}
        for way, place in places.items():
            secured.allow(rights(place, {"worker": PRINCIPALS[way]}))
            place.produce("checkins", check_ins(0))
            workers[way] = stack.enter_context(place.worker(secured.settings(way), ready=False))
        for way, place in places.items():
            has_left(place, workers[way], 1)
            workers[way].send(signal.SIGTERM)
        assert {way: worker.wait(WITHIN_S) for way, worker in workers.items()} == dict.fromkeys(PRINCIPALS, 0)
        logs = "".join(worker.log for worker in workers.values())
    # One token is for all connections of a worker; two loops may ask for it at once.
    assert len(secured.provider.asked) - n_asked in (1, 2)
    for secret in ("not checked", PASSWORD, CLIENT_SECRET, unsecured_token("x")[:20]):
        assert secret not in logs
    for way, place in places.items():
        (window,) = place.windows()
        assert (window["outcome"], window["people"]) == ("released", 20), way
        assert len(place.read("dead_letters")) == 1, way


def said_at_its_end(worker: Worker) -> str:
    """Wait for the end of a worker that is not let in, and return what it said to people."""
    assert worker.wait(WITHIN_S) == 1, worker.log[-3000:]
    return "\n".join(line for line in worker.log.splitlines() if line.startswith("shoal: "))


def test_who_is_not_let_in_is_told_why_at_once(secured: SecuredKafka) -> None:
    """
    A wrong password, a certificate that nobody vouches for, on either side, a token that is refused, by whom it comes
    from or by the broker, a mechanism that the broker does not have: a sentence, code 1, and no waiting.
    """
    stranger = secured.stranger.certificate
    certificate, key = secured.stranger.issue("by-certificate")
    wrong = "a mistaken word"
    cases = {
        "wrong password": (secured.settings("PLAIN", **{"kafka.sasl_password": wrong}), "sasl_password"),
        "wrong SCRAM": (secured.settings("SCRAM-SHA-512", **{"kafka.sasl_password": wrong}), "sasl_password"),
        "untrusted broker": (secured.settings("PLAIN", **{"kafka.ssl_cafile": stranger}), "kafka.ssl_cafile"),
        "untrusted client": (
            secured.settings("mtls", **{"kafka.ssl_certfile": certificate, "kafka.ssl_keyfile": key}),
            "kafka.ssl_certfile",
        ),
        "wrong secret": (secured.settings("token-url", **{"kafka.oauth_client_secret": wrong}), "invalid_client"),
        "untrusted provider": (secured.settings("token-url", **{"kafka.oauth_cafile": stranger}), "oauth_cafile"),
        "old token": (
            secured.settings("token-file", **{"kafka.oauth_token_file": secured.token_file("old", lives_s=-60)}),
            "kafka.oauth_token_file",
        ),
        "no such mechanism": (secured.settings("PLAIN", **{"kafka.sasl_mechanism": "SCRAM-SHA-256"}), "SCRAM-SHA-256"),
    }
    with contextlib.ExitStack() as stack:
        place = Place(secured.kafka)
        workers = {name: stack.enter_context(place.worker(given, ready=False)) for name, (given, _) in cases.items()}
        told = {name: said_at_its_end(worker) for name, worker in workers.items()}
        logs = "".join(worker.log for worker in workers.values())
    for name, (_, words) in cases.items():
        assert words in told[name], (name, told[name])
        assert re.fullmatch(r"shoal: (the|kafka\.)[^\n]+: [^\n]+", told[name]), (name, told[name])
    assert "waiting for" not in logs
    assert "Traceback" not in logs
    for secret in (wrong, PASSWORD, CLIENT_SECRET, unsecured_token("x")[:20]):
        assert secret not in logs


def test_with_exactly_its_acls_everything_of_a_worker_works(secured: SecuredKafka) -> None:
    """
    From the start to a released window, after a restart, and when a second worker comes; the topics were made, and what
    left is read, by others with theirs.
    """
    names: dict[Role, str] = {role: unique(role) for role in ("worker", "topics", "consumer")}
    given = secured.settings("token-file")
    place = Place(secured.kafka, {"window.idle_timeout": "1s", "topics.fragments": ""})
    secured.allow(rights(place, {role: f"User:{name}" for role, name in names.items()}))
    tokens = {role: {"kafka.oauth_token_file": secured.token_file(name)} for role, name in names.items()}

    asyncio.run(create_topics(load_settings(given=place.values() | given | tokens["topics"])))
    with place.worker(given | tokens["worker"]) as first:
        place.produce("checkins", check_ins(0))
        has_left(place, first, 1)
        assert first.stop() == 0
    with place.worker(given | tokens["worker"]) as again, place.worker(given | tokens["worker"]) as second:
        wait_until(lambda: again.metric("shoal_rebalances_total") > 1, within_s=WITHIN_S, what="a rebalance")
        again.wait_until_ready()
        for partition in range(2):
            place.produce("checkins", check_ins(1), partition=partition)
        has_left(place, again, 2)
        assert [again.returncode, second.returncode] == [None, None]
        assert "not checked" not in again.log + second.log
    settings = load_settings(given=place.values() | given | tokens["consumer"])
    windows, trajectories = asyncio.run(consume(settings, [settings.topics.windows, settings.topics.anonymized]))
    assert len(windows) == 2
    assert trajectories


async def consume(settings: Settings, topics: list[str]) -> list[list[Any]]:
    """Read topics as somebody who uses the releases does, in a group."""
    found = []
    for topic in topics:
        consumer = AIOKafkaConsumer(
            topic,
            **client_options(settings.kafka),
            group_id=f"{settings.kafka.group}-consumer",
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            messages = (await consumer.getmany(timeout_ms=20_000)).values()
            await consumer.commit()
        finally:
            await consumer.stop()
        found.append([message for some in messages for message in some])
    return found


# Each ACL is needed


async def said_at_the_start(settings: Settings) -> list[str]:
    """Check what a worker checks when it starts, and return what it says of it."""
    said: list[str] = []
    try:
        found = await check_topics(settings, said.append)
        await check_groups(settings, said.append)
        await agree_on_partitions(settings, found, said.append)
    except ClusterError as fault:
        said.append(str(fault))
    return said


def test_a_pattern_needs_the_right_to_its_prefix_alone(secured: SecuredKafka) -> None:
    """
    A worker that may read the topics of a prefix finds those that its pattern matches, also later ones, begins where
    the settings say, and learns nothing of others.
    """
    gps, name = unique("gps"), unique("worker")
    place = place_of(secured, {"topics.checkins": rf"^{gps}\.[ab]", "kafka.start": "latest"})
    old, new = (place_of(secured, {"topics.checkins": f"{gps}.{letter}"}) for letter in "ab")
    place_of(secured, {"topics.checkins": unique("hidden")})
    old.produce("checkins", check_ins(0))
    secured.allow(rights(place, {"worker": f"User:{name}"}))
    with place.worker(secured.settings("token-file") | {"kafka.oauth_token_file": secured.token_file(name)}) as worker:
        new.produce("checkins", check_ins(1))
        has_left(place, worker, 1)
        old.produce("checkins", check_ins(2))
        has_left(place, worker, 2)
        assert len(place.read("dead_letters")) == 2
        assert worker.stop() == 0


def test_without_any_one_of_its_acls_something_of_a_worker_does_not_work(secured: SecuredKafka) -> None:
    """
    It does not start, or starts without having checked a topic, and names the topic or the group; or it ends once there
    is something to do. One right is for the rare case alone: that settings change while a window is sealed.
    """
    at_work: list[tuple[Acl, Place, dict[str, Any]]] = []
    for n, _ in enumerate(rights(Place(secured.kafka, {"topics.fragments": ""}), {"worker": "User:anybody"})):
        place, name = place_of(secured), unique("limited")
        found = rights(place, {"worker": f"User:{name}"})
        missing = found.pop(n)
        secured.allow(found)
        given = secured.settings("token-file", **{"kafka.oauth_token_file": secured.token_file(name)})
        said = asyncio.run(said_at_the_start(load_settings(given=place.values() | given)))
        if said:
            assert missing.name in said[0], missing
        else:
            at_work.append((missing, place, given))
    assert sorted((acl.operation, acl.why) for acl, _, _ in at_work) == [
        ("Read", "build windows from the stored records"),
        ("Read", "learn whether a window was released before a restart with other settings"),
        ("Write", "output: one message for each release"),
        ("Write", "store located records until their window closes"),
    ]
    with contextlib.ExitStack() as stack:
        workers = []
        for acl, place, given in at_work:
            place.produce("checkins", check_ins(0))
            if acl.name == place.topic("windows") and acl.operation == "Read":
                assert asyncio.run(is_out(place, given)) is False
                assert asyncio.run(is_out(place, {})) is True
            else:
                workers.append(stack.enter_context(place.worker(given, ready=False)))
        for worker in workers:
            assert worker.wait(WITHIN_S) != 0
            assert "TopicAuthorizationFailedError" in worker.log


async def is_out(place: Place, given: dict[str, Any]) -> bool:
    """Write a windows message as nobody in particular, and ask as somebody else whether it is there."""
    writer, settings = new_producer(place.settings), load_settings(given=place.values() | given)
    asker = new_producer(settings)
    await asyncio.gather(writer.start(), asker.start())
    try:
        await writer.send_and_wait(place.topic("windows"), b"{}", key=b"release")
        emitter = Emitter(settings.kafka, asker, {"windows": place.topic("windows")}, on_trouble=lambda _: None)
        return await emitter.is_out("release")
    finally:
        await asyncio.gather(writer.stop(), asker.stop())


@pytest.mark.parametrize("role", ["topics", "consumer"])
def test_without_any_one_of_their_acls_others_do_not_get_on(secured: SecuredKafka, role: Role) -> None:
    """
    `shoal topics create` stops at the topic that it may not make, and says of which topic it cannot compare the
    partitions; `shoal approve` stops at the seals; who reads the releases is turned away.
    """
    there = place_of(secured)
    there.produce("anonymized", [(None, b"{}")])
    there.produce("windows", [(None, b"{}")])
    for n in range(len(rights(there, {role: "User:anybody"}))):
        place = Place(secured.kafka, there.given) if role == "topics" else there
        name = unique("limited")
        found = rights(place, {role: f"User:{name}"})
        missing = found.pop(n)
        secured.allow(found)
        given = secured.settings("token-file", **{"kafka.oauth_token_file": secured.token_file(name)})
        settings = load_settings(given=place.values() | given | {"kafka.startup_timeout": "5s"})
        if missing.operation == "Describe":
            place.create_topics()
            said: list[str] = []
            asyncio.run(create_topics(settings, said.append))
            assert [missing.name in line and "not compared" in line for line in said] == [True]
            continue
        with pytest.raises((ClusterError, KafkaError), match=re.escape(missing.name)):
            asyncio.run(use(place, settings, role))


async def use(place: Place, settings: Settings, role: Role) -> None:
    """Do what a role is for."""
    if role == "topics":
        await create_topics(settings)
        others = SettingsStep(step=StepKind.IN_FORCE, digest="of others", writer="another")
        await asyncio.to_thread(place.produce, "seals", [(seal_key(others), seal_to_bytes(others))], partition=0)
        await approve_settings(settings, build_feeds(settings))
    else:
        await consume(settings, [settings.topics.windows, settings.topics.anonymized])
