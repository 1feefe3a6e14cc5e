"""``shoal demo`` and ``shoal generate``: run the service on a simulated city, or write the city's feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from core.records.record import Kind
from stream.cli.console import progress_bar
from stream.cli.options import INPUT_KIND, given_values, load_given, with_settings
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.demo.demo import run_demo
from stream.demo.generate import send_messages, write_messages
from stream.kafka.client import new_producer
from stream.kafka.topics import ClusterError, check_existence, describe_topics
from stream.settings.errors import SettingsError
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings

__all__ = ["demo", "generate"]


@click.command()
@click.option("--seconds", type=click.FloatRange(min=1), help="Stop after this many seconds; by default at Ctrl-C.")
@click.option("--people", type=click.IntRange(50, 20_000), default=1000, show_default=True, help="Number of people.")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="Change one setting of the demo.")
def demo(seconds: float | None, people: int, given: tuple[str, ...]) -> None:
    """Run the service on a simulated city, and print each window.

    Starts an embedded broker and a worker, so no Kafka cluster is needed.
    """
    run_demo(seconds=seconds, people=people, given=given_values(given), say=click.echo)


@click.command()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="NDJSON file to write.")
@click.option("--kind", type=INPUT_KIND, help="Kind of records to write to the file.")
@click.option("--to-topics", is_flag=True, help="Send both kinds of records to the input topics.")
@click.option(
    "--hours", type=click.FloatRange(min=0.01), default=24.0, show_default=True, help="Hours of event time to generate."
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0.001),
    help="Send this many times faster than real time; by default as fast as possible.",
)
@click.option("--start", type=click.DateTime(), help="First event time, UTC; by default a Monday.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed gives the same bytes."
)
@click.option("--people", type=int, default=400, show_default=True, help="Number of people.")
@click.option("--dirty", type=float, default=0.01, show_default=True, help="Share of records made invalid.")
@click.option("--duplicates", type=float, default=0.01, show_default=True, help="Share of repeated records.")
@click.option("--out-of-order", type=float, default=0.02, show_default=True, help="Share of delayed records.")
@with_settings
def generate(
    output: Path | None,
    kind: str | None,
    to_topics: bool,
    hours: float,
    speed: float | None,
    start: datetime | None,
    seed: int,
    people: int,
    dirty: float,
    duplicates: float,
    out_of_order: float,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Generate the feed of a simulated city.

    Roads, venues, people and their habits are random. Write a file, or send the records to the input topics.
    """
    if to_topics == (output is not None):
        raise click.UsageError("give either --output FILE with --kind, or --to-topics")
    if output is not None and kind is None:
        raise click.UsageError("--output needs --kind checkins or --kind fragments")
    moment = {} if start is None else {"start_ms": round(start.replace(tzinfo=UTC).timestamp() * 1000)}
    try:
        options = CityOptions(
            seed=seed,
            people=people,
            dirty_share=dirty,
            duplicate_share=duplicates,
            out_of_order_share=out_of_order,
            **moment,
        )
    except ValueError as fault:
        raise click.UsageError(str(fault)) from None
    city = City(options)
    chosen = None if kind is None else Kind(kind)
    length_ms = round(hours * 3_600_000)
    messages = city.messages(until_ms=options.start_ms + length_ms)
    with progress_bar() as bar:
        task = bar.add_task("generating", total=length_ms)

        def progress(arrival_ms: int) -> None:
            bar.update(task, completed=arrival_ms - options.start_ms)

        if output is not None and chosen is not None:
            n = write_messages(messages, chosen, output, progress)
        else:
            settings = load_given(config, given)
            n = asyncio.run(_send(settings, messages, speed, progress))
    if n == 0:
        raise click.UsageError(_nobody_is_out(options, length_ms))
    click.echo(f"{n} records")


def _nobody_is_out(options: CityOptions, length_ms: int) -> str:
    ends = (options.start_ms, options.start_ms + length_ms)
    first, last = (datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") for ms in ends)
    return (
        f"no records: nobody in the city is out from {first} to {last} UTC. Begin in daytime, for instance with "
        f"--start {first[:10]}T08:00:00, or give more --hours"
    )


async def _send(settings: Settings, messages: Any, speed: float | None, progress: Callable[[int], None]) -> int:
    names = _first_topics(settings)
    # Only these: a program that sends records needs no right on Shoal's own topics.
    check_existence(await describe_topics(settings), [name for name in names.values() if name])
    producer = new_producer(settings)
    await producer.start()
    try:
        return await send_messages(messages, producer, names, speed=speed, progress=progress)
    except TopicAuthorizationFailedError:
        topics = ", ".join(sorted(filter(None, names.values())))
        raise ClusterError(
            f"this user may not write to topic {topics}: give it the right Write on each of them, which a worker does "
            "not need"
        ) from None
    except KafkaError as fault:
        raise ClusterError(
            f"sending records failed ({type(fault).__name__}): check that the brokers run; records that were sent "
            "before stay in the topics"
        ) from None
    finally:
        await producer.stop()


def _first_topics(settings: Settings) -> dict[Kind, str]:
    """Return the topic to write to for each feed: its only or first one; empty if the feed is not read."""
    found = dict.fromkeys(Kind, "")
    for kind, read in FeedTopics(settings.topics).by_kind.items():
        if read.pattern is not None:
            raise SettingsError(
                f"topics.{kind} is {read.pattern!r}, a pattern: shoal generate needs the name of one topic; give it "
                f"with --set topics.{kind}=NAME"
            )
        found[kind] = read.names[0]
    return found
