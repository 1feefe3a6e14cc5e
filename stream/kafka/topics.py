"""Topics: the topics that must exist, their configuration, and a check before a worker starts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    KafkaError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest

from core.records.record import Kind
from stream.formats.seals import LONGEST_SEAL_BYTES
from stream.kafka.client import client_options
from stream.kafka.compression import is_missing, unreadable
from stream.kafka.connection_faults import connection_fault
from stream.settings.input_topics import FeedTopics
from stream.settings.kafka import KafkaSettings
from stream.settings.model import Settings

__all__ = [
    "BEGIN_ANEW",
    "ClusterError",
    "Described",
    "DescribedTopic",
    "TopicSpec",
    "check_existence",
    "check_groups",
    "check_topics",
    "create_topics",
    "describe_topics",
    "no_rights",
    "topic_specs",
]

_DEFAULT_MESSAGE_BYTES = 1_048_588
"""Longest message that a Kafka broker accepts by default."""

BEGIN_ANEW = (
    "Restore it, with its id, from a backup of the brokers' disks, or start afresh: set other names for topics.shards "
    "and topics.seals, and set time.earliest to the end of the last released window"
)
"""What to do if one of Shoal's own topics has lost data."""

_SAY_EVERY_S = 10.0
"""How often a program says that it waits for the cluster."""

_TIME_STAMPS = {f"message.timestamp.{which}.max.ms": 60_000 for which in ("after", "before", "difference")}
"""Least deviation from the broker's time that a topic must accept: clocks differ, and messages may wait to be sent."""


class ClusterError(Exception):
    """The cluster cannot be used as it is; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One topic that must exist."""

    name: str
    purpose: str
    partitions: int
    config: dict[str, str]
    """The configuration it is created with."""

    least: dict[str, int]
    """Least values of its configuration; -1 in the topic means no limit."""

    is_read: bool = False
    """Whether workers read it, so that they must be able to decompress its messages."""

    @property
    def is_checked(self) -> bool:
        """Whether its configuration is checked; otherwise a worker needs no right to read the configuration."""
        return bool(self.config or self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopic:
    """One topic as it is on the cluster."""

    partitions: int
    """0 if it does not exist."""

    config: dict[str, str]
    """Its configuration; empty if the cluster does not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The topics as they are on the cluster."""

    topics: dict[str, DescribedTopic]
    """The topics with names in the settings, as ``topic_specs`` lists them."""

    matching: dict[Kind, dict[str, DescribedTopic]]
    """The topics that the pattern of a feed matches, for each feed with a pattern."""

    in_two_feeds: list[str]
    """Topics that the patterns of both feeds match: they are not read."""

    no_rights: frozenset[str] = frozenset()
    """Topics with names in the settings on which this user has no right; whether they exist is not known."""


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Return the topics of these settings, as ``shoal topics create`` creates them; none for a pattern.

    Raises:
        SettingsError: The settings name no input topic.
    """
    settings.check_feeds()
    topics, partitions = settings.topics, settings.kafka.partitions
    spans = [settings.for_kind(kind).window for kind in settings.kinds]
    # The shards topic is the only copy of records in open windows: it must keep them longer than any window is open.
    open_ms = max(w.size + w.allowed_lateness + w.idle_timeout for w in spans)
    keep = {"cleanup.policy": "delete", "retention.ms": str(2 * open_ms + 7 * 86_400_000), "retention.bytes": "-1"}
    # The first seal of a window counts. A client may repeat a write under the same key; compaction keeps only the last
    # message of a key, so it must wait until no more repetitions are possible.
    # Only closed segments are compacted.
    compacted = {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(86_400_000),
        "segment.ms": str(3_600_000),
        "segment.bytes": str(64 * 2**20),
    }
    chunks = {"max.message.bytes": settings.ingest.chunk_bytes, "retention.ms": open_ms}
    rosters = {"max.message.bytes": LONGEST_SEAL_BYTES}
    releases = {"max.message.bytes": settings.limits.message_bytes}

    def spec(
        name: str, purpose: str, n: int, config: dict[str, str], least: dict[str, int], *, is_read: bool = False
    ) -> TopicSpec:
        longest = least.get("max.message.bytes", 0)
        sized = {"max.message.bytes": str(longest)} if longest > _DEFAULT_MESSAGE_BYTES else {}
        return TopicSpec(name=name, purpose=purpose, partitions=n, config=config | sized, least=least, is_read=is_read)

    return [
        *(
            spec(name, f"input: {kind}", partitions, {}, {})
            for kind, read in FeedTopics(topics).by_kind.items()
            for name in read.names
        ),
        spec(topics.shards, "internal: records of open windows", partitions, keep, chunks, is_read=True),
        spec(topics.seals, "internal: seals", partitions, compacted, rosters, is_read=True),
        spec(topics.anonymized, "output: trajectories", partitions, {}, releases),
        spec(topics.windows, "output: one message for each release", 1, {}, releases, is_read=True),
        spec(topics.dead_letters, "output: why a record was rejected", 1, {}, {}),
    ]


async def _connected(settings: Settings, progress: Callable[[str], None]) -> AIOKafkaAdminClient:
    """Connect, waiting for up to ``kafka.startup_timeout``."""
    servers = settings.kafka.bootstrap_servers
    deadline, say_s = time.monotonic() + settings.kafka.startup_timeout / 1000, -math.inf
    while True:
        options = client_options(settings.kafka)
        fault = await connection_fault(settings.kafka, options)
        if fault is not None and not fault.may_pass:
            raise ClusterError(fault.why)
        why = "no answer" if fault is None else fault.why
        admin = AIOKafkaAdminClient(**options, request_timeout_ms=10_000)
        try:
            await admin.start()
        except (KafkaError, OSError):
            await admin.close()
            now_s = time.monotonic()
            if now_s > deadline:
                raise ClusterError(
                    f"no Kafka broker answers at {servers} ({why}): start it, or check kafka.bootstrap_servers and "
                    "kafka.security_protocol"
                ) from None
            if now_s >= say_s:
                progress(f"waiting for a Kafka broker at {servers} ({why})")
                say_s = now_s + _SAY_EVERY_S
            await asyncio.sleep(1.0)
        else:
            return admin


def _failed(what: str, fault: KafkaError) -> ClusterError:
    return ClusterError(
        f"{what} failed ({type(fault).__name__}): a broker answers, but one that it names does not; check that the "
        "addresses in advertised.listeners of all brokers can be reached from here"
    )


async def create_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict[str, bool]:
    """Create the topics that are missing.

    Returns:
        For each topic, whether it was created; otherwise it existed before.

    Raises:
        ClusterError: The cluster cannot be reached or refuses, or there are shards or seals with fewer partitions than
            the settings ask for. Then no topic is created.
    """
    admin = await _connected(settings, progress)
    created: dict[str, bool] = {}
    refused: list[str] = []
    try:
        seen = await _enough_partitions(admin, settings)
        for spec in topic_specs(settings):
            topic = NewTopic(
                spec.name,
                num_partitions=spec.partitions,
                replication_factor=settings.kafka.replication_factor,
                topic_configs=spec.config,
            )
            try:
                response = await admin.create_topics([topic])
                codes = [error[1] for error in response.topic_errors]
            except TopicAlreadyExistsError:
                codes = [TopicAlreadyExistsError.errno]
            if codes[0] == TopicAuthorizationFailedError.errno:
                refused.append(spec.name)
            elif codes[0] not in (0, TopicAlreadyExistsError.errno):
                raise ClusterError(_not_created(spec.name, for_code(codes[0]), settings.kafka))
            created[spec.name] = codes == [0]
    except KafkaError as fault:
        raise _failed("creating topics", fault) from None
    finally:
        await admin.close()
    if refused:
        raise ClusterError(
            f"this user may not create {_list('topic', refused)}: give it the rights that `shoal topics acls --for "
            "topics` prints, or let an administrator create the topics"
        )
    for name in (settings.topics.shards, settings.topics.seals):
        if not created[name] and name not in seen:
            progress(f"this user may not describe topic {name}: its partitions are not compared with kafka.partitions")
    return created


async def _enough_partitions(admin: AIOKafkaAdminClient, settings: Settings) -> set[str]:
    """Compare the partitions of shards and seals with the settings, and return those of the topics that exist.

    Raises:
        ClusterError: The settings ask for more partitions than a topic has.
    """
    wanted = settings.kafka.partitions
    seen = {settings.topics.shards, settings.topics.seals} & set(await admin.list_topics())
    for topic in await admin.describe_topics(sorted(seen)) if seen else []:
        if 0 < (n := len(topic["partitions"])) < wanted:  # a topic of this moment may seem to have none
            raise ClusterError(
                f"topic {topic['topic']} has {n} partitions and kafka.partitions is {wanted}: partitions cannot be "
                "added, because a shard that moved would not find its seals, and more workers than partitions would "
                f"be idle. Set kafka.partitions to {n}; or drain, and set new names for topics.shards and "
                "topics.seals, as the documentation describes in Scaling, 'More partitions than you have'"
            )
    return seen


def _not_created(name: str, error: type[Exception], kafka: KafkaSettings) -> str:
    """Return the message for a topic that the cluster does not create."""
    action = {
        InvalidReplicationFactorError: f"kafka.replication_factor is {kafka.replication_factor}: set it to at most the "
        "number of brokers",
        InvalidPartitionsError: f"kafka.partitions is {kafka.partitions}: set it to a number that the cluster allows",
        PolicyViolationError: "the cluster has rules for topics: ask its administrator to create this one",
    }.get(error, "create it by Kafka's own tools, with the configuration that `shoal topics describe` lists")
    return f"the broker did not create topic {name} ({error.__name__}): {action}"


async def describe_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> Described:
    """Return each topic of the settings as it is on the cluster.

    Raises:
        ClusterError: The cluster cannot be reached.
    """
    admin = await _connected(settings, progress)
    feeds = FeedTopics(settings.topics)
    try:
        specs = topic_specs(settings)
        names = [spec.name for spec in specs]
        existing = set(await admin.list_topics())
        no_rights = await _without_rights(admin, sorted(set(names) - existing))
        found = feeds.of(existing)
        matching = {kind: found[kind] for kind, read in feeds.by_kind.items() if read.pattern is not None}
        wanted = {*names, *(name for topics in matching.values() for name in topics)}
        described = await admin.describe_topics(sorted(wanted & existing))
        checked = [spec.name for spec in specs if spec.is_checked and spec.name in existing]
        configs = await _configs(admin, checked, progress)
    except KafkaError as fault:
        raise _failed("describing topics", fault) from None
    finally:
        await admin.close()
    partitions = {topic["topic"]: len(topic["partitions"]) for topic in described}

    def as_it_is(name: str) -> DescribedTopic:
        return DescribedTopic(partitions=partitions.get(name, 0), config=configs.get(name, {}))

    return Described(
        topics={name: as_it_is(name) for name in names},
        matching={kind: {name: as_it_is(name) for name in topics} for kind, topics in matching.items()},
        in_two_feeds=feeds.in_two_feeds(existing),
        no_rights=no_rights,
    )


async def _without_rights(admin: AIOKafkaAdminClient, names: list[str]) -> frozenset[str]:
    """Return those of the topics that are not listed because this user has no right on them."""
    if not names:
        return frozenset()
    # The public method asks the broker to create the topics, if it does that by itself.
    answer = await admin._send_request(MetadataRequest(names, allow_auto_topic_creation=False))
    return frozenset(
        topic["topic"]
        for topic in answer.to_object()["topics"]
        if topic["error_code"] == TopicAuthorizationFailedError.errno
    )


async def _configs(
    admin: AIOKafkaAdminClient, names: list[str], progress: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """Return the configuration of topics, except for topics that this user may not see."""
    try:
        answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    except KafkaError as fault:
        progress(f"the configuration of the topics cannot be read ({type(fault).__name__}): it is not checked")
        return {}
    resources = [resource for answer in answers for resource in answer.resources]
    for error, _, _, name, _ in resources:
        if error:
            why = for_code(error).__name__
            progress(f"the configuration of topic {name} cannot be read ({why}): it is not checked")
    return {name: {entry[0]: entry[1] for entry in entries} for error, _, _, name, entries in resources if not error}


async def check_topics(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> int:
    """Check that every topic exists and fits, and return the number of partitions of the shards topic.

    Raises:
        ClusterError: A topic is missing or does not fit, or the cluster cannot be reached.
    """
    described = await describe_topics(settings, progress)
    found = described.topics
    for kind, matching in described.matching.items():
        if not matching:
            progress(
                f"no topic matches topics.{kind} yet, {getattr(settings.topics, kind)!r}: waiting for the first one"
            )
    check_existence(described, found)
    shards, seals = settings.topics.shards, settings.topics.seals
    if found[shards].partitions != found[seals].partitions:
        raise ClusterError(
            f"topic {shards} has {found[shards].partitions} partitions and {seals} has {found[seals].partitions}: both "
            "need the same number, because a seal is in the partition of its window; if no worker ever ran on them, "
            "delete both and run `shoal topics create`; otherwise set new names for topics.shards and topics.seals, "
            "run it as well, and set time.earliest to the end of the last released window"
        )
    if wrong := [problem for spec in topic_specs(settings) for problem in _problems(spec, found[spec.name].config)]:
        raise ClusterError("; ".join(wrong))
    return found[shards].partitions


def check_existence(described: Described, names: Collection[str]) -> None:
    """Check that topics exist, and that this user may see them.

    Raises:
        ClusterError: One does not exist, or this user has no right on it.
    """
    if refused := described.no_rights & {*names}:
        raise ClusterError(no_rights(refused))
    if missing := sorted(name for name in names if not described.topics[name].partitions):
        do, them = ("do", "them") if len(missing) > 1 else ("does", "it")
        raise ClusterError(
            f"{_list('topic', missing)} {do} not exist: create {them} with `shoal topics create`, or name others in "
            "topics.*"
        )


def no_rights(topics: Iterable[str]) -> str:
    """Return the message for topics on which this user has no right."""
    return (
        f"this user has no right on {_list('topic', topics)}: give it the rights that `shoal topics acls` prints, or "
        "name other topics in topics.*"
    )


def _list(noun: str, names: Iterable[str]) -> str:
    """Return names in order after the noun, in its singular or plural."""
    listed = sorted(names)
    return f"{noun}{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


async def check_groups(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> None:
    """Check that this user may use the groups: without the right, a worker would never be assigned partitions.

    Raises:
        ClusterError: The user may not use a group, or the cluster cannot be reached.
    """
    admin = await _connected(settings, progress)
    refused = []
    try:
        for group in (settings.kafka.ingest_group, settings.kafka.windows_group):
            try:
                await admin.find_coordinator(group)
            except GroupAuthorizationFailedError:
                refused.append(group)
            except KafkaError:  # a new cluster may have no coordinator yet; joining the group waits for it
                pass
    finally:
        await admin.close()
    if refused:
        raise ClusterError(
            f"the worker's user may not use {_list('group', refused)}: allow it to read the group, as "
            "`shoal topics acls` prints, or name another prefix in kafka.group"
        )


def _problems(spec: TopicSpec, config: dict[str, str]) -> Iterator[str]:
    """Yield a message for each value of a topic's configuration that does not fit."""
    wanted, policy = spec.config.get("cleanup.policy"), config.get("cleanup.policy")
    if wanted is not None and policy and policy != wanted:
        lost = "seals would be lost, and windows released twice" if wanted == "compact" else "records would be lost"
        yield f"topic {spec.name} has cleanup.policy={policy}: {lost}; set it to {wanted}"
    if spec.config.get("retention.bytes") == "-1" and (_number(config, "retention.bytes") or 0) > 0:
        size = config["retention.bytes"]
        yield f"topic {spec.name} has retention.bytes={size}: records of open windows would be lost; set it to -1"
    if spec.is_read and is_missing(compression := config.get("compression.type")):
        yield unreadable(spec.name, str(compression))
    for name, least in (spec.least | _TIME_STAMPS).items():
        value = _number(config, name)
        if value is not None and 0 <= value < least:
            yield f"topic {spec.name} has {name}={value}: set it to at least {least}, which these settings need"


def _number(config: dict[str, str], name: str) -> int | None:
    """Return a number of a configuration, or None if the cluster does not show it."""
    try:
        return int(config[name])
    except (KeyError, TypeError, ValueError):
        return None
