"""``shoal replay`` and ``shoal reconstruct``: anonymize files, and draw possible original windows of releases."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from core.records.record import Kind
from core.utility.window_measures import MeasureOptions
from core.utility.workload import Workload
from stream.cli.console import print_line, progress_bar, stderr
from stream.cli.frontier import compare, comparison_options
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.kernels import show_kernels_prepared
from stream.cli.options import FILE, KIND, load_given, with_settings
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.release.encodings import needs_points
from stream.replay.query_file import workload_of
from stream.replay.reconstruction import reconstructed
from stream.replay.replay import Replay
from stream.replay.results.formats import FORMATS
from stream.replay.summary import OF_RECORDS, OF_STOPS, Summary
from stream.settings.secret import new_secret

__all__ = ["reconstruct_windows", "replay"]

_WORKLOAD = Workload()
"""The queries that are asked if --queries is not given."""


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--kind", type=KIND, required=True, help="Kind of records in FILES; stops: fragments, released as stops.")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the results."
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=FORMATS[:1],
    show_default=True,
    help="Format of the results. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option(
    "--measure",
    type=click.Choice(["all"]),
    help="Also measure how each release differs from its raw window. Takes longer. Do not publish the figures.",
)
@click.option(
    "--queries",
    metavar="FILE",
    help="With --measure: COUNT queries that are asked of each raw window and of its release: an NDJSON file, or "
    "drawn:N for N random ones of each window.  [default: drawn:100]",
)
@click.option(
    "--sanity-bound",
    "sanity_percent",
    type=click.FloatRange(0, 100),
    help="With --measure: errors of queries are relative to the raw answer, but at least to this share of the window's "
    f"people, percent, and to one person.  [default: {_WORKLOAD.sanity_percent:g}]",
)
@comparison_options
@with_settings
def replay(
    files: tuple[Path, ...],
    kind: str,
    output: Path,
    formats: tuple[str, ...],
    as_json: bool,
    measure: str | None,
    queries: str | None,
    sanity_percent: float | None,
    config: Path | None,
    given: tuple[str, ...],
    **comparison: Any,
) -> None:
    """Anonymize FILES as the service does, without Kafka.

    FILES are CSV with the header user,lat,lon,ts,venue,category and the fields of privacy.attributes; or NDJSON of the
    topics' records; or one JSON array of them. With settings (fields.*, input.*, such as input.preset) also CSV of any
    form, GeoJSON, GPX, MF-JSON, any JSON document with a list of records, Parquet, Avro, GTFS-realtime; or, for
    fragments, .tsv with user, time, x and y in metres of the map projection files.metres. All may be gzipped.

    Writes anonymized.ndjson and windows.ndjson, exactly as they would appear on the topics; or with --format the same
    as CSV or GeoParquet (flat rows), GeoJSON, MF-JSON (trajectories of points) or Avro. With --frontier it compares
    models instead, and with --vary any settings.

    Prints why records were rejected, and where the first of them is. The exit code is 1 if every record was rejected.
    """
    if measure is None and (queries is not None or sanity_percent is not None):
        raise click.UsageError("--queries and --sanity-bound need --measure all")
    if comparison["frontier"] or comparison["vary"]:
        _check_comparison(comparison, measure)
        compare(partial(load_given, config, given), Kind(kind), files, output, options=comparison, as_json=as_json)
        return
    if lost := [name for name, value in comparison.items() if value]:
        needed = "--frontier" if lost[0].startswith("frontier") else "--frontier or --vary"
        raise click.UsageError(f"--{lost[0].replace('_', '-')} needs {needed}")
    settings = load_given(config, given)
    own = settings.for_kind(Kind(kind)).privacy.secret
    if own is None:
        stderr.print("privacy.secret is not set: pseudonyms and random choices differ in every run")
    feed = Feed(settings, Kind(kind), secret=own.get_secret_value() if own is not None else new_secret())
    if feed.plan.noise is not None:
        stderr.print("privacy.noise is set: every replay draws anew and differs; publish the result of one alone")
    for name in formats:
        if (fault := needs_points(name, feed.plan.model)) is not None:
            raise click.UsageError(f"--format {fault}")
    workload = None if measure is None else _workload(queries, sanity_percent)
    max_bytes = settings.limits.message_bytes
    records = open_files(settings, feed, files)
    run = Replay(
        feed,
        records,
        now_ms=round(time.time() * 1000),
        max_bytes=max_bytes,
        measure=MeasureOptions() if measure is not None else None,
        workload=workload,
    )
    show_kernels_prepared(Kind(kind))
    collect_garbage_rarely()
    with progress_bar() as bar:
        task = bar.add_task(f"replaying {kind}", total=sum(file.size for file in records))
        summary = run.run(
            output,
            progress=lambda done: bar.update(task, completed=done),
            alarm=print_line,
            formats=formats,
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


def _workload(queries: str | None, sanity_percent: float | None) -> Workload:
    bound = _WORKLOAD.sanity_percent if sanity_percent is None else sanity_percent
    try:
        return workload_of(queries or f"drawn:{_WORKLOAD.n_drawn}", sanity_percent=bound)
    except ValueError as fault:
        raise click.UsageError(f"--queries {fault}") from None


def _check_comparison(comparison: Mapping[str, Any], measure: str | None) -> None:
    """Refuse options that a comparison cannot use."""
    if measure is not None:
        chosen = "--frontier" if comparison["frontier"] else "--vary"
        raise click.UsageError(f"--measure cannot be used with {chosen}, which makes its own measurements")
    needless = [name for name, value in comparison.items() if value and name.startswith("frontier_")]
    if needless and not comparison["frontier"]:
        raise click.UsageError(f"--{needless[0].replace('_', '-')} needs --frontier")


def _table(summary: Summary, output: Path) -> Table:
    table = Table(title=f"results in {output}", title_justify="left", show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    counts = summary.as_dict()
    reasons, measures = counts.pop("reasons"), counts.pop("measures", None)
    del counts["rejections"]
    # Of stops everything is counted apart; other replays have none of it, and a replay of stops has nothing else.
    left_out = OF_STOPS if not summary.points_condensed else OF_RECORDS
    for name, value in counts.items():
        if name not in left_out:
            table.add_row(name.replace("_", " "), "-" if value is None else f"{value:,}")
    if isinstance(reasons, dict):
        for reason, n in reasons.items():
            table.add_row(f"  {reason.replace('_', ' ')}", f"{n:,}")
    if rejections := summary.rejections.sorted():
        table.add_section()
        table.add_row("why records were rejected, and where first", "records")
        for one in rejections:
            fault = f"  {one.reason.replace('_', ' ')}: {one.detail} ({one.place})"
            table.add_row(escape(fault), f"{one.records:,}")
    if isinstance(measures, dict):
        table.add_section()
        table.add_row("measures, not for publication", "mean")
        for name, value in measures.items():
            table.add_row(f"  {name.replace('_', ' ')}", "-" if value is None else f"{value:,.4g}")
    return table


@click.command(name="reconstruct")
@click.argument("file", type=FILE)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="NDJSON file to write.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed gives the same windows."
)
def reconstruct_windows(file: Path, output: Path, seed: int) -> None:
    """Draw possible original windows of disassociated releases.

    FILE holds messages of the anonymized topic (privacy.model disassociation), such as anonymized.ndjson of a replay.
    Writes one JSON object for each person, with the locations visited. Analyse the windows of several seeds: each is
    one of many that the releases allow, and not the original.
    """
    people = 0
    with file.open("rb") as lines, output.open("wb") as out:
        for line in reconstructed(lines, seed=seed):
            out.write(line + b"\n")
            people += 1
    click.echo(f"{people} people")
