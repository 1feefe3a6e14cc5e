"""The command line: ``shoal``."""

from __future__ import annotations

import stream.process_1  # noqa: F401 - before what takes long to import

# isort: split
import asyncio
import contextlib
import errno
import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
import yaml
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from core.measure_sequences import MeasureOptions
from core.records import Kind
from stream.acls import Role, acls, aligned, kafka_acls_line
from stream.city import City, CityOptions
from stream.files import FileFormatError
from stream.frontier_command import draw_frontier, frontier_options
from stream.generate import send_messages, write_messages
from stream.kafka import new_producer
from stream.logs import set_up_logs
from stream.replay import Replay, Summary
from stream.settings import Settings, SettingsError, load_settings
from stream.settings.secret import new_secret
from stream.topics import ClusterError, create_topics, describe_topics, topic_specs
from stream.wiring import Feed, open_files, wire

__all__ = ["main"]

_KINDS = click.Choice([kind.value for kind in Kind])
_NO_FILE = "--config or SHOAL_CONFIG is empty: leave it out, or name a YAML file with settings"
_stderr = Console(stderr=True)


class _SettingsFile(click.Path):
    """A path that is not empty: an empty one would be the folder ``.``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.strip():
            raise SettingsError(_NO_FILE)
        return super().convert(value, param, ctx)


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--set",
        "given",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set one setting, for instance --set privacy.k=10. May be repeated; wins over everything else.",
    )(command)
    return click.option(
        "--config",
        envvar="SHOAL_CONFIG",
        show_envvar=True,
        type=_SettingsFile(path_type=Path, dir_okay=False),
        help="YAML file with settings. SHOAL_... variables of settings win over it.",
    )(command)


def _settings(config: Path | None, given: tuple[str, ...], more: dict[str, Any] | None = None) -> Settings:
    """Load the settings; ``more`` wins over what is given on the command line."""
    # Click takes an empty variable for one that is not set.
    if config is None and os.environ.get("SHOAL_CONFIG") is not None:
        raise SettingsError(_NO_FILE)
    named: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SettingsError("--set takes KEY=VALUE, for instance --set privacy.k=10")
        try:
            # YAML reads nothing as null, which unsets: nothing is nearly always a variable that is missing.
            named[name.strip()] = yaml.safe_load(value) if value.strip() else value
        except yaml.YAMLError:
            named[name.strip()] = value
    return load_settings(config, named | (more or {}))


class _Group(click.Group):
    """Turns our own errors into one sentence and an exit code: 2 for settings, 1 for everything else."""

    def invoke(self, ctx: click.Context) -> Any:
        from stream.broker import BrokerError
        from stream.demo import DemoError
        from stream.health import ListenError
        from stream.reconstruction import ReconstructionError
        from stream.status import StatusError

        try:
            return super().invoke(ctx)
        except SettingsError as fault:
            click.echo(f"shoal: {fault}", err=True)
            ctx.exit(2)
        except (
            *(ClusterError, FileFormatError, DemoError, BrokerError),
            *(ListenError, ReconstructionError, StatusError),
        ) as fault:
            click.echo(f"shoal: {fault}", err=True)
            ctx.exit(1)
        except OSError as fault:
            if fault.filename is None or fault.errno == errno.EPIPE:
                raise
            click.echo(f"shoal: {fault.filename}: {fault.strerror}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="shoal", prog_name="shoal")
def main() -> None:
    """Live location feeds, released so that nobody in them can be singled out.

    \b
    See it work:         shoal demo
    Try it on a file:    shoal replay checkins.csv --kind checkins --output out/
    Run the service:     shoal check-config, then shoal topics create, then shoal worker
    """


@main.command()
@_with_settings
def worker(config: Path | None, given: tuple[str, ...]) -> None:
    """Run the service beside a Kafka cluster, until SIGTERM or Ctrl-C.

    Needs SHOAL_KAFKA__BOOTSTRAP_SERVERS and SHOAL_PRIVACY__SECRET. Health and metrics are at /healthz, /readyz
    and /metrics of metrics.port, which `shoal health` asks. `shoal status` shows the last windows, and web.page=true
    serves a live page at / of web.port.
    """
    from stream.app import run_worker

    settings = _settings(config, given).checked()
    set_up_logs(settings.logs)
    run_worker(settings, lambda line: click.echo(f"shoal: {line}", err=True))


@main.command()
@click.option("--seconds", type=click.FloatRange(min=1), help="End after this long; until Ctrl-C if not given.")
@click.option("--people", type=click.IntRange(50, 20_000), default=1000, show_default=True, help="People in the city.")
def demo(seconds: float | None, people: int) -> None:
    """Start an embedded broker, a worker and a simulated city, and print each window as it leaves."""
    from stream.demo import run_demo

    run_demo(seconds=seconds, people=people, say=click.echo)


@main.command()
@click.option("--url", help="Where the worker's web server is reached; by default at web.host and web.port.")
@click.option("--watch", is_flag=True, help="Ask again every two seconds, until Ctrl-C.")
@click.option("--windows", type=click.IntRange(1, 60), default=12, show_default=True, help="Most windows to show.")
@_with_settings
def status(url: str | None, watch: bool, windows: int, config: Path | None, given: tuple[str, ...]) -> None:
    """Show how a worker is, its models, and the windows that left it last.

    Asks the worker's own web server, whether its live page is on or off, with the settings of the worker.
    """
    from stream import status as worker_status

    url = url or _settings(config, given).web.url
    console = Console()
    if not watch:
        console.print(worker_status.show(url, *worker_status.fetch(url), most=windows))
        return
    with contextlib.suppress(KeyboardInterrupt):
        worker_status.watch(url, console, most=windows)


@main.command()
@click.option("--url", help="Where the worker's health is served; by default at metrics.host and metrics.port.")
@_with_settings
def health(url: str | None, config: Path | None, given: tuple[str, ...]) -> None:
    """Ask a worker whether it is ready: exit code 0 if it is, 1 if not, and what it waits for.

    For health checks of containers and for scripts, with the settings of the worker.
    """
    from stream.status import ask_health

    is_ready, told = ask_health(url or _settings(config, given).metrics.url)
    click.echo(told)
    if not is_ready:
        click.echo("shoal: the worker is not ready: ask again, and read its log if that goes on", err=True)
        sys.exit(1)


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--kind", type=_KINDS, required=True, help="What the files hold.")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the two results."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option(
    "--measure",
    type=click.Choice(["all"]),
    help="Also compare each release with its raw window. Takes longer; the figures are for you, not for publication.",
)
@frontier_options
@_with_settings
def replay(
    files: tuple[Path, ...],
    kind: str,
    output: Path,
    as_json: bool,
    measure: str | None,
    config: Path | None,
    given: tuple[str, ...],
    **frontier: Any,
) -> None:
    """Run the service's code on FILES, without Kafka.

    Reads CSV with the header user,lat,lon,ts,venue,category and the fields of privacy.attributes, NDJSON of the topics'
    records, one JSON array of them, and, of fragments, .tsv with user, time, x and y in metres of the map projection
    files.metres; all in UTF-8, gzipped or not. Writes anonymized.ndjson and windows.ndjson, exactly as they would
    appear on the topics; with --frontier the losses of all models instead. Says what was wrong with rejected records,
    and where the first one stands; the exit code is 1 where every record was rejected.
    """
    if frontier["frontier"]:
        if measure is not None:
            raise click.UsageError(
                "--measure is of one replay: leave it out with --frontier, which measures of its own"
            )
        draw_frontier(partial(_settings, config, given), Kind(kind), files, output, options=frontier, as_json=as_json)
        return
    if lost := [name for name, value in frontier.items() if value]:
        raise click.UsageError(f"--{lost[0].replace('_', '-')} goes with --frontier")
    settings = _settings(config, given)
    own = settings.for_kind(Kind(kind)).privacy.secret
    if own is None:
        _stderr.print("privacy.secret is not set: pseudonyms and random choices differ in every run")
    feed = Feed(settings, Kind(kind), secret=own.get_secret_value() if own is not None else new_secret())
    max_bytes = settings.limits.message_bytes
    records = open_files(settings, feed, files)
    options = MeasureOptions() if measure is not None else None
    run = Replay(feed, records, now_ms=round(time.time() * 1000), max_bytes=max_bytes, measure=options)
    with _progress() as bar:
        task = bar.add_task(f"replaying {kind}", total=sum(file.size for file in records))
        summary = run.run(
            output,
            progress=lambda done: bar.update(task, completed=done),
            alarm=lambda line: _stderr.print(f"shoal: {line}", markup=False, highlight=False),
        )
    for file in records:
        file.close()
    if as_json:
        click.echo(json.dumps(summary.as_dict()))
    else:
        Console().print(_table(summary, output))
    if (complaint := summary.complaint) is not None:
        click.echo(f"shoal: {complaint}", err=True)
        sys.exit(1)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=_stderr
    )


def _table(summary: Summary, output: Path) -> Table:
    table = Table(title=f"results in {output}", title_justify="left", show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    counts = summary.as_dict()
    reasons, measures = counts.pop("reasons"), counts.pop("measures", None)
    del counts["rejections"]
    for name, value in counts.items():
        table.add_row(name.replace("_", " "), "-" if value is None else f"{value:,}")
    if isinstance(reasons, dict):
        for reason, n in reasons.items():
            table.add_row(f"  {reason.replace('_', ' ')}", f"{n:,}")
    if rejections := summary.rejections.sorted():
        table.add_section()
        table.add_row("what was wrong with rejected records, and where first", "records")
        for one in rejections:
            told = f"  {one.reason.replace('_', ' ')}: {one.detail} ({one.place})"
            table.add_row(escape(told), f"{one.records:,}")
    if isinstance(measures, dict):
        table.add_section()
        table.add_row("measures, not for publication", "mean")
        for name, value in measures.items():
            table.add_row(f"  {name.replace('_', ' ')}", "-" if value is None else f"{value:,.4g}")
    return table


@main.command(name="reconstruct")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="NDJSON file to write.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed, the same windows."
)
def reconstruct_windows(file: Path, output: Path, seed: int) -> None:
    """Draw windows that the disassociated releases in FILE may be of, for analysis.

    FILE holds messages of the anonymized topic (privacy.model disassociation), such as anonymized.ndjson of a replay.
    Writes one JSON object a person with the locations visited; work on several seeds, for no one of them is the truth.
    """
    from stream.reconstruction import reconstructed

    people = 0
    with file.open("rb") as lines, output.open("wb") as out:
        for line in reconstructed(lines, seed=seed):
            out.write(line + b"\n")
            people += 1
    click.echo(f"{people} people")


@main.group()
def topics() -> None:
    """Create or look at the topics that a worker needs, and who must be allowed what."""


@topics.command()
@_with_settings
def create(config: Path | None, given: tuple[str, ...]) -> None:
    """Create the topics that are missing; what exists is left as it is."""
    settings = _settings(config, given)
    created = asyncio.run(create_topics(settings, lambda line: click.echo(f"shoal: {line}", err=True)))
    for name, new in created.items():
        click.echo(f"{name}: {'created' if new else 'was there'}")


@topics.command()
@_with_settings
def describe(config: Path | None, given: tuple[str, ...]) -> None:
    """Show each topic, what it is for, its partitions, and what it is configured to."""
    settings = _settings(config, given)
    found = asyncio.run(describe_topics(settings, lambda line: click.echo(f"shoal: {line}", err=True)))
    for spec in topic_specs(settings):
        topic = found[spec.name]
        told = {name: topic.config[name] for name in (*spec.config, *spec.least) if name in topic.config}
        shown = [spec.purpose, *(f"{name}={value}" for name, value in told.items())]
        partitions = f"{topic.partitions} partitions" if topic.partitions else "missing"
        click.echo(f"{spec.name}: {partitions} ({', '.join(shown)})")
    if not all(topic.partitions for topic in found.values()):
        click.echo("create the missing ones with `shoal topics create`", err=True)
        sys.exit(1)


@topics.command(name="acls")
@click.option(
    "--principal", default="User:shoal", show_default=True, help="Whom the worker is to Kafka, such as User:NAME."
)
@click.option("--topics-principal", help="Who runs `shoal topics create`; the worker's with -topics where not given.")
@click.option("--consumer-principal", help="Who reads the releases; the worker's with -consumer where not given.")
@click.option("--consumer-group", help="The group of who reads them; kafka.group with -consumer where not given.")
@click.option("--for", "role", type=click.Choice(["worker", "topics", "consumer"]), help="Print those of one alone.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "kafka-acls", "json"]),
    default="table",
    show_default=True,
    help="A table, commands to run, or JSON.",
)
@click.option("--command-config", metavar="FILE", help="Kafka's file with your credentials, for --format kafka-acls.")
@_with_settings
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
    """Print the fewest Kafka ACLs that do: of a worker, of `shoal topics create`, and of who reads the releases.

    Asks no cluster. The worker needs nothing else, and with any of them missing something does not work.
    """
    settings = _settings(config, given)
    principals: dict[Role, str] = {
        "worker": principal,
        "topics": topics_principal or f"{principal}-topics",
        "consumer": consumer_principal or f"{principal}-consumer",
    }
    if wrong := [name for name in principals.values() if not re.fullmatch(r"[^:\s]+:\S.*", name)]:
        raise click.UsageError(f"{wrong[0]!r} is no principal: Kafka writes them as User:NAME")
    chosen = principals if role is None else {role: principals[role]}
    found = acls(settings, chosen, consumer_group=consumer_group or f"{settings.kafka.group}-consumer")
    if form == "json":
        click.echo(json.dumps([asdict(acl) for acl in found], indent=2))
    elif form == "kafka-acls":
        for acl in found:
            click.echo(kafka_acls_line(acl, settings.kafka.bootstrap_servers, command_config=command_config))
    else:
        heads = ("FOR", "PRINCIPAL", "OPERATION", "RESOURCE", "NAME", "WHY")
        rows = [(acl.role, acl.principal, acl.operation, acl.resource, acl.name, acl.why) for acl in found]
        for line in aligned([heads, *rows]):
            click.echo(line)


@main.command(name="check-config")
@_with_settings
def check_config(config: Path | None, given: tuple[str, ...]) -> None:
    """Check the settings as a worker would, and print them with secrets masked."""
    settings = _settings(config, given)
    click.echo(yaml.safe_dump(settings.masked(), sort_keys=False).rstrip())
    wire(settings.checked())
    click.echo("# all settings are valid", err=True)


@main.command(name="secret")
def print_secret() -> None:
    """Print a new random secret for privacy.secret.

    Every worker of a deployment needs the same: make it once, and keep it where you keep secrets.
    """
    click.echo(new_secret())


@main.command()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="NDJSON file to write.")
@click.option("--kind", type=_KINDS, help="What to write to the file.")
@click.option("--to-topics", is_flag=True, help="Send both kinds to the input topics instead.")
@click.option("--hours", type=click.FloatRange(min=0.01), default=24.0, show_default=True, help="Event time to cover.")
@click.option(
    "--speed", type=click.FloatRange(min=0.001), help="Times faster than the clock; unset: as fast as it goes."
)
@click.option("--start", type=click.DateTime(), help="First event time, UTC; a Monday if not given.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed, the same bytes.")
@click.option("--people", type=int, default=400, show_default=True, help="People who live in the city.")
@click.option("--dirty", type=float, default=0.01, show_default=True, help="Share of spoiled records.")
@click.option("--duplicates", type=float, default=0.01, show_default=True, help="Share of repeated records.")
@click.option("--out-of-order", type=float, default=0.02, show_default=True, help="Share of delayed records.")
@_with_settings
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
    """Make the feed of a simulated city: seeded roads, venues and people with habits."""
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
    with _progress() as bar:
        task = bar.add_task("generating", total=length_ms)

        def progress(arrival_ms: int) -> None:
            bar.update(task, completed=arrival_ms - options.start_ms)

        if output is not None and chosen is not None:
            n = write_messages(messages, chosen, output, progress)
        else:
            settings = _settings(config, given)
            n = asyncio.run(_send(settings, messages, speed, progress))
    click.echo(f"{n} records")


async def _send(settings: Settings, messages: Any, speed: float | None, progress: Callable[[int], None]) -> int:
    from stream.topics import check_topics

    await check_topics(settings)
    producer = new_producer(settings)
    await producer.start()
    try:
        names = {kind: getattr(settings.topics, kind.value) for kind in Kind}
        return await send_messages(messages, producer, names, speed=speed, progress=progress)
    finally:
        await producer.stop()


if __name__ == "__main__":
    main()
