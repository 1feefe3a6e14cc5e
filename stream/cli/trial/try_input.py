"""``shoal try``: what a file or a topic would be read as, and the settings that would read it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from core.records.record import Kind
from stream.cli.console import progress_bar
from stream.cli.options import INPUT_KIND, load_given, with_settings
from stream.cli.trial.report import report
from stream.feeds.trial.file_source import FileSource
from stream.feeds.trial.sample import TrialError
from stream.feeds.trial.topic_source import TopicSource, newest_messages
from stream.feeds.trial.trial import Trial, try_source
from stream.kafka.topics import ClusterError
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings

__all__ = ["try_input"]

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")

_GIVE = "give the path of a file, or the name of a topic at kafka.bootstrap_servers"


@click.command(name="try")
@click.argument("source", metavar="FILE|TOPIC")
@click.option("--kind", type=INPUT_KIND, help="Kind of its records; by default the kind that fits more of them.")
@click.option(
    "--records",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Number of records to look at; of a topic, the newest of each partition.",
)
@click.option(
    "--within",
    type=click.FloatRange(1, 600),
    default=20,
    show_default=True,
    help="Seconds to wait for messages of a topic.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@with_settings
def try_input(
    source: str,
    kind: str | None,
    records: int,
    within: float,
    as_json: bool,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Show how the first records of FILE, or the newest of TOPIC, are read, and propose settings.

    Shows what is understood and what is rejected and why; where each field is found, and of which type. If not
    everything is understood, it proposes settings, for feeds of a known form or by names and types. It prints no value
    of a record. It commits no offset of a topic and joins no group.

    The exit code is 1 if nothing was understood and no settings can be proposed.
    """

    settings = load_given(config, given)
    chosen = None if kind is None else Kind(kind)
    path = Path(source)
    if path.is_file():
        trial = _of_file(path, settings, chosen, records)
    elif source and path.exists():
        raise TrialError(f"{source} is a folder: name one file in it")
    else:
        of_topic = chosen or FeedTopics(settings.topics).kind_of(source)
        trial = _of_topic(source, settings, of_topic, records, within)
    click.echo(json.dumps(trial.as_dict()) if as_json else report(trial))
    if not trial.has_result:
        sys.exit(1)


def _of_file(path: Path, settings: Settings, kind: Kind | None, records: int) -> Trial:
    source = FileSource(path, records)
    try:
        return try_source(source, settings, kind, records)
    finally:
        source.close()


@contextlib.contextmanager
def _quiet(library: str) -> Iterator[None]:
    """Let a library log nothing for a while."""
    logger = logging.getLogger(library)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _of_topic(
    name: str,
    settings: Settings,
    kind: Kind | None,
    records: int,
    within_s: float,
) -> Trial:
    if not _TOPIC.fullmatch(name):
        raise TrialError(f"{name} is not a file here, and cannot be the name of a topic; {_GIVE}")
    servers = settings.kafka.bootstrap_servers
    with _quiet("aiokafka"), progress_bar() as bar:  # what matters of it is in our own message
        task = bar.add_task(f"reading {name}", total=None)
        reading = newest_messages(
            settings, name, records, within_s=within_s, progress=lambda n: bar.update(task, completed=n)
        )
        try:
            messages = asyncio.run(reading)
        except ClusterError as fault:
            raise TrialError(f"{name} is not a file here, and no topic can be read: {fault}") from None
    if messages is None:
        raise TrialError(f"{name} is neither a file here nor a topic of the cluster at {servers}; {_GIVE}")
    # Messages may be lists of records; the newest of all partitions count, not those of the first ones.
    return try_source(TopicSource(name, messages), settings, kind, max(records, len(messages)))
