"""ACLs: what each of those who meet at the cluster has to be allowed, derived from what the code asks for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from stream.kafka.topics import topic_specs
from stream.settings.model import Settings

__all__ = ["ROLES", "Acl", "Role", "acls", "aligned", "kafka_acls_line"]

Role = Literal["worker", "topics", "consumer"]
"""Who it is: ``shoal worker``, ``shoal topics create``, or somebody who reads the releases."""

ROLES: tuple[Role, ...] = ("worker", "topics", "consumer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl:
    """One thing that somebody is allowed, from every host, for a resource of exactly this name."""

    role: Role
    principal: str
    """As Kafka writes it, ``User:NAME``."""

    operation: str
    """As Kafka writes it. ``Read`` and ``Write`` bring ``Describe`` with them."""

    resource: Literal["topic", "group"]
    name: str
    why: str


def acls(settings: Settings, principals: dict[Role, str], *, consumer_group: str) -> list[Acl]:
    """Return the fewest ACLs with which everything works.

    There is none for the cluster: our producers are not idempotent, and nothing is written in transactions.

    Args:
        settings: Names of the topics and groups, and which feeds there are.
        principals: Whom to allow it, as Kafka writes it; roles that are missing are left out.
        consumer_group: The group of whoever reads the releases.
    """
    return [
        Acl(role=role, principal=principals[role], operation=operation, resource=resource, name=name, why=why)
        for role in ROLES
        if role in principals
        for operation, resource, name, why in _of(role, settings, consumer_group)
    ]


_Right = tuple[str, Literal["topic", "group"], str, str]


def _of(role: Role, settings: Settings, consumer_group: str) -> Iterator[_Right]:
    if role == "worker":
        yield from _of_a_worker(settings)
    elif role == "topics":
        for spec in topic_specs(settings):
            yield "Create", "topic", spec.name, "it is made where it is missing"
    else:
        yield "Read", "topic", settings.topics.anonymized, "trajectories"
        yield "Read", "topic", settings.topics.windows, "which windows are whole"
        yield "Read", "group", consumer_group, "how far it has read"


def _of_a_worker(settings: Settings) -> Iterator[_Right]:
    topics, kafka = settings.topics, settings.kafka
    for kind in settings.kinds:
        yield "Read", "topic", getattr(topics, kind.value), f"input: {kind.value}"
    yield "Read", "group", kafka.ingest_group, "workers share the input"
    yield "Write", "topic", topics.shards, "located records wait here"
    yield "Read", "topic", topics.shards, "windows are made of them"
    yield "Read", "group", kafka.windows_group, "workers share the windows"
    yield "Write", "topic", topics.seals, "what a window contains is fixed before it leaves"
    yield "Read", "topic", topics.seals, "a window that has left is not released again"
    yield "Write", "topic", topics.anonymized, "output: trajectories"
    yield "Write", "topic", topics.windows, "output: one message a window"
    yield "Read", "topic", topics.windows, "whether a release was out before a restart with other settings"
    yield "Write", "topic", topics.dead_letters, "output: why a record was rejected"
    for spec in topic_specs(settings):
        if spec.is_checked:
            yield "DescribeConfigs", "topic", spec.name, "whether the topic would lose or refuse something"


def kafka_acls_line(acl: Acl, bootstrap_servers: str, *, command_config: str | None = None) -> str:
    """Write an ACL as a line that a shell runs.

    Args:
        acl: What to allow.
        bootstrap_servers: Brokers.
        command_config: Kafka's file with the credentials of whoever may allow it, where that takes one.
    """
    words = ["kafka-acls.sh", "--bootstrap-server", bootstrap_servers]
    if command_config is not None:
        words += ["--command-config", command_config]
    words += ["--add", "--allow-principal", acl.principal]
    return shlex.join([*words, "--operation", acl.operation, f"--{acl.resource}", acl.name])


def aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Lay out rows in columns."""
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
