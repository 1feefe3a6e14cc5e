"""ACLs: the access rights that workers, topic creation and consumers need, derived from the settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.records.record import Kind
from stream.kafka.topics import topic_specs
from stream.settings.input_topics import FeedTopics, InputTopics
from stream.settings.model import Settings

__all__ = ["ROLES", "Acl", "Role", "acls", "aligned", "kafka_acls_line"]

PatternType = Literal["literal", "prefixed"]

Role = Literal["worker", "topics", "consumer"]
"""``worker``: ``shoal worker``; ``topics``: ``shoal topics create`` and ``shoal approve``; ``consumer``: a program that
reads the releases."""

ROLES: tuple[Role, ...] = ("worker", "topics", "consumer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl:
    """Allows one principal one operation on one resource, or on all whose names begin alike, from every host."""

    role: Role
    principal: str
    """In Kafka's notation, ``User:NAME``."""

    operation: str
    """In Kafka's notation. ``Read`` and ``Write`` imply ``Describe``."""

    resource: Literal["topic", "group"]
    name: str
    """The name; ``*`` for every topic."""

    why: str
    pattern_type: PatternType = "literal"
    """In Kafka's notation: ``literal`` for exactly this name, ``prefixed`` for all names that begin with it."""


def acls(settings: Settings, principals: dict[Role, str], *, consumer_group: str) -> list[Acl]:
    """Return the fewest ACLs with which everything works.

    No ACL for the cluster is needed: our producers are not idempotent and use no transactions.

    Args:
        settings: The settings, with the names of topics and groups.
        principals: The principal of each role, in Kafka's notation; roles that are missing get no ACLs.
        consumer_group: The group of the consumer of the releases.
    """
    return [
        Acl(role=role, principal=principals[role], **right._asdict())
        for role in ROLES
        if role in principals
        for right in _of(role, settings, consumer_group)
    ]


class _Right(NamedTuple):
    operation: str
    resource: Literal["topic", "group"]
    name: str
    why: str
    pattern_type: PatternType = "literal"


def _of(role: Role, settings: Settings, consumer_group: str) -> Iterator[_Right]:
    if role == "worker":
        yield from _of_a_worker(settings)
    elif role == "topics":
        for spec in topic_specs(settings):
            yield _Right("Create", "topic", spec.name, "create it if it is missing")
        yield _Right("Describe", "topic", settings.topics.shards, "compare its partitions with kafka.partitions")
        yield _Right("Read", "topic", settings.topics.seals, "compare its partitions, and learn the settings in force")
        yield _Right("Write", "topic", settings.topics.seals, "approve settings")
    else:
        yield _Right("Read", "topic", settings.topics.anonymized, "read the trajectories")
        yield _Right("Read", "topic", settings.topics.windows, "learn which windows are complete")
        yield _Right("Read", "group", consumer_group, "commit its offsets")


def _of_a_worker(settings: Settings) -> Iterator[_Right]:
    topics, kafka = settings.topics, settings.kafka
    for kind, read in FeedTopics(topics).by_kind.items():
        if read.pattern is not None:
            yield _of_a_pattern(kind, read)
        for name in read.names:
            yield _Right("Read", "topic", name, f"input: {kind}")
    yield _Right("Read", "group", kafka.ingest_group, "workers share the input")
    yield _Right("Write", "topic", topics.shards, "store located records until their window closes")
    yield _Right("Read", "topic", topics.shards, "build windows from the stored records")
    yield _Right("Read", "group", kafka.windows_group, "workers share the windows")
    yield _Right("Write", "topic", topics.seals, "record the content of a window before its release")
    yield _Right("Read", "topic", topics.seals, "learn which windows are sealed, so that none is released twice")
    yield _Right("Write", "topic", topics.anonymized, "output: trajectories")
    yield _Right("Write", "topic", topics.windows, "output: one message for each release")
    yield _Right(
        "Read", "topic", topics.windows, "learn whether a window was released before a restart with other settings"
    )
    yield _Right("Write", "topic", topics.dead_letters, "output: why a record was rejected")
    for spec in topic_specs(settings):
        if spec.is_checked:
            yield _Right(
                "DescribeConfigs", "topic", spec.name, "check that the topic loses no messages and accepts all"
            )


def _of_a_pattern(kind: Kind, read: InputTopics) -> _Right:
    """Allow every topic that begins as all matches do: Kafka's ACLs know no regular expressions."""
    if prefix := read.literal_prefix:
        return _Right("Read", "topic", prefix, f"input: {kind}, the topics that match {read.pattern}", "prefixed")
    why = f"input: {kind}; no beginning is common to all topics that match {read.pattern}, so this is every topic"
    return _Right("Read", "topic", "*", why)


def kafka_acls_line(acl: Acl, bootstrap_servers: str, *, command_config: str | None = None) -> str:
    """Write an ACL as a line that a shell runs.

    Args:
        acl: The ACL.
        bootstrap_servers: Addresses of brokers.
        command_config: A client configuration file of Kafka with an administrator's credentials, if these are needed.
    """
    words = ["kafka-acls.sh", "--bootstrap-server", bootstrap_servers]
    if command_config is not None:
        words += ["--command-config", command_config]
    words += ["--add", "--allow-principal", acl.principal]
    if acl.pattern_type != "literal":
        words += ["--resource-pattern-type", acl.pattern_type]
    return shlex.join([*words, "--operation", acl.operation, f"--{acl.resource}", acl.name])


def aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Lay out rows in columns."""
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
