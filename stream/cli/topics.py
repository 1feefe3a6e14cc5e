"""``shoal topics``: the topics that a worker needs, and their ACLs."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import click

from stream.cli.options import load_given, with_settings
from stream.kafka.acls import Acl, Role, acls, aligned, kafka_acls_line
from stream.kafka.input_topics import in_two_feeds
from stream.kafka.topics import create_topics, describe_topics, no_rights, topic_specs
from stream.settings.input_topics import FeedTopics

__all__ = ["topics"]


@click.group()
def topics() -> None:
    """Create or describe a worker's topics, or print their ACLs."""


@topics.command()
@with_settings
def create(config: Path | None, given: tuple[str, ...]) -> None:
    """Create the topics that are missing; do not change existing ones.

    For a pattern of input topics nothing is created.
    """
    settings = load_given(config, given)
    created = asyncio.run(create_topics(settings, lambda line: click.echo(f"shoal: {line}", err=True)))
    for name, new in created.items():
        click.echo(f"{name}: {'created' if new else 'exists already'}")
    for kind, read in FeedTopics(settings.topics).by_kind.items():
        if read.pattern is not None:
            click.echo(f"{read.pattern}: a pattern (input: {kind}), nothing is created for it")


@topics.command()
@with_settings
def describe(config: Path | None, given: tuple[str, ...]) -> None:
    """Show the purpose, partitions and configuration of each topic."""
    settings = load_given(config, given)
    found = asyncio.run(describe_topics(settings, lambda line: click.echo(f"shoal: {line}", err=True)))
    for kind, matching in found.matching.items():
        pattern = getattr(settings.topics, kind)
        for name, topic in matching.items():
            click.echo(f"{name}: {topic.partitions} partitions (input: {kind}, matches {pattern})")
        if not matching:
            click.echo(f"{pattern}: no topic matches yet (input: {kind})")
    for spec in topic_specs(settings):
        topic = found.topics[spec.name]
        configured = {name: topic.config[name] for name in (*spec.config, *spec.least) if name in topic.config}
        shown = [spec.purpose, *(f"{name}={value}" for name, value in configured.items())]
        absent = "no right to see it" if spec.name in found.no_rights else "missing"
        partitions = f"{topic.partitions} partitions" if topic.partitions else absent
        click.echo(f"{spec.name}: {partitions} ({', '.join(shown)})")
    if found.in_two_feeds:
        click.echo(f"not read: {in_two_feeds(found.in_two_feeds)}", err=True)
    is_incomplete = not all(topic.partitions for topic in found.topics.values())
    if found.no_rights:
        click.echo(no_rights(found.no_rights), err=True)
    elif is_incomplete:
        click.echo("create the missing ones with `shoal topics create`", err=True)
    if is_incomplete or found.in_two_feeds:
        sys.exit(1)


@topics.command(name="acls")
@click.option(
    "--principal", default="User:shoal", show_default=True, help="Kafka principal of the worker, such as User:NAME."
)
@click.option(
    "--topics-principal", help="Principal of `shoal topics create`; by default the worker's with -topics added."
)
@click.option(
    "--consumer-principal", help="Principal of consumers of the releases; by default the worker's with -consumer added."
)
@click.option(
    "--consumer-group", help="Group of consumers of the releases; by default kafka.group with -consumer added."
)
@click.option(
    "--for", "role", type=click.Choice(["worker", "topics", "consumer"]), help="Print the ACLs of one principal only."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "kafka-acls", "json"]),
    default="table",
    show_default=True,
    help="A table, kafka-acls commands to run, or JSON.",
)
@click.option(
    "--command-config",
    metavar="FILE",
    help="Kafka client configuration with your credentials, for --format kafka-acls.",
)
@with_settings
def show_acls(
    principal: str,
    topics_principal: str | None,
    consumer_principal: str | None,
    consumer_group: str | None,
    role: Role | None,
    form: str,
    command_config: str | None,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Print the Kafka ACLs that Shoal needs, and no others.

    These are the ACLs of the worker, of `shoal topics create`, and of consumers of the releases. Each of them is
    necessary. Does not connect to the cluster.
    """
    settings = load_given(config, given)
    principals: dict[Role, str] = {
        "worker": principal,
        "topics": topics_principal or f"{principal}-topics",
        "consumer": consumer_principal or f"{principal}-consumer",
    }
    if wrong := [name for name in principals.values() if not re.fullmatch(r"[^:\s]+:\S.*", name)]:
        raise click.UsageError(f"{wrong[0]!r} is not a principal: it must be written as User:NAME")
    chosen = principals if role is None else {role: principals[role]}
    found = acls(settings, chosen, consumer_group=consumer_group or f"{settings.kafka.group}-consumer")
    if form == "json":
        click.echo(json.dumps([asdict(acl) for acl in found], indent=2))
    elif form == "kafka-acls":
        for acl in found:
            click.echo(kafka_acls_line(acl, settings.kafka.bootstrap_servers, command_config=command_config))
    else:
        heads = ("FOR", "PRINCIPAL", "OPERATION", "RESOURCE", "NAME", "WHY")
        rows = [(acl.role, acl.principal, acl.operation, acl.resource, _shown(acl), acl.why) for acl in found]
        for line in aligned([heads, *rows]):
            click.echo(line)


def _shown(acl: Acl) -> str:
    return acl.name if acl.pattern_type == "literal" else f"{acl.name} (prefix)"
