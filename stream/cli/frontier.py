"""``shoal replay --frontier`` and ``--vary``: their options, and the comparison."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from core.models.common.values import show_duration
from core.records.record import Kind
from stream.cli.console import print_line, stderr
from stream.cli.kernels import show_kernels_prepared
from stream.feeds.record_files import open_files
from stream.formats.files.record_file import RecordFile
from stream.formats.input.encodings.extras import MissingExtraError
from stream.replay.comparison.axes import checked_values, frontier_axes, read_axes
from stream.replay.comparison.combinations import Combinations, Reading
from stream.replay.comparison.finished import Finished
from stream.replay.comparison.frontier_picture import frontier_svg
from stream.replay.comparison.report import check_libraries, report_html
from stream.replay.comparison.run import ComparisonResults, run_comparison
from stream.replay.comparison.table import ComparisonRow, as_csv, comparison_rows, plain_rows
from stream.replay.results.part_files import PartFiles
from stream.settings.model import Settings

__all__ = ["compare", "comparison_options"]

_INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended: 128 and the number of SIGINT."""


class _Numbers(click.ParamType):
    """Numbers separated by commas, each of which a setting allows."""

    name = "numbers"

    def __init__(self, setting: str, kind: type[int] | type[float], example: str) -> None:
        self._setting, self._kind, self._example = setting, kind, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """See :meth:`click.ParamType.convert`."""
        try:
            numbers = [self._kind(part) for part in str(value).split(",")]
        except ValueError:
            what = "whole numbers" if self._kind is int else "numbers"
            self.fail(f"{value}: it must be {what} separated by commas, such as {self._example}", param, ctx)
        try:
            return checked_values(self._setting, numbers)
        except ValueError as fault:
            self.fail(str(fault), param, ctx)


def comparison_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of comparisons to a command; its parameters have their names."""
    for option in (
        click.option(
            "--dated",
            type=click.DateTime(["%Y-%m-%d"]),
            metavar="DATE",
            help="Date of report.html, such as 2026-01-31; by default today.",
        ),
        click.option(
            "--processes",
            type=click.IntRange(min=1),
            metavar="NUMBER",
            help="How many combinations are evaluated at the same time; by default as many as there are processors. "
            "The results do not depend on it.",
        ),
        click.option(
            "--frontier-models",
            metavar="NAMES",
            help="Models to compare, separated by commas; by default all models of the kind that the settings allow.",
        ),
        click.option(
            "--frontier-delta-m",
            type=_Numbers("delta_m", float, "100,500"),
            metavar="METRES",
            help="Values of privacy.delta_m to compare, for fragments; by default only the setting's value.",
        ),
        click.option(
            "--frontier-m",
            type=_Numbers("m", int, "2,3"),
            metavar="NUMBERS",
            help="Values of privacy.m to compare, for check-ins; by default 2,3.",
        ),
        click.option(
            "--frontier-k",
            type=_Numbers("k", int, "3,5,10"),
            metavar="NUMBERS",
            help="Values of privacy.k to compare; by default 3,5,10.",
        ),
        click.option(
            "--frontier",
            is_flag=True,
            help="Compare models instead of writing releases: frontier.csv and frontier.svg show each model's "
            "information loss, and the share of records and people that it leaves out, for ranges of k and m (or "
            "delta_m); report.html explains them. Takes as long as one replay for each combination. Do not publish the "
            "results.",
        ),
        click.option(
            "--vary",
            multiple=True,
            metavar="KEY=VALUES",
            help="Compare values of one setting, separated by commas, instead of writing releases; for instance --vary "
            "privacy.k=2,5,10. May be repeated: all combinations run. comparison.csv has a row for each; report.html "
            "explains them. Settings that decide releases can vary: privacy.*, window.size, location.*, shard.*, "
            "stops.*, trajectories.*. Finished combinations are kept in the output folder: the same command goes on "
            "after Ctrl-C. Do not publish the results.",
        ),
    ):
        command = option(command)
    return command


def compare(
    load: Callable[[dict[str, Any]], Settings],
    kind: Kind,
    paths: Sequence[Path],
    output: Path,
    *,
    options: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Compare settings or models on files, and write the results.

    Args:
        load: Loads the settings; its argument overrides settings by their dotted names.
        kind: What is released.
        paths: The files.
        output: Folder for the results; created if it is missing.
        options: Values of the options that :func:`comparison_options` adds, by name.
        as_json: Whether to print JSON instead of a table.
    """
    of_frontier = options["frontier"]
    axes = read_axes(options["vary"], kind)
    if of_frontier:
        ranges = {name: options[f"frontier_{name}"] for name in ("k", "m", "delta_m")}
        axes = frontier_axes(axes, kind, options["frontier_models"], ranges)
    combinations = Combinations(load, kind, paths, axes, must_run=options["frontier_models"] is not None)
    if any(one.plan.shard_cells is not None for one in combinations.all):
        raise click.UsageError(
            f"--{'frontier' if of_frontier else 'vary'} compares models on whole windows of a shard: add --set "
            "shard.finest_resolution=none"
        )
    for line in combinations.left_out:
        print_line(line)
    table, *pictures = ("frontier.csv", "frontier.svg") if of_frontier else ("comparison.csv",)
    pictures = _if_possible([*pictures, "report.html"])

    def opened(reading: Reading) -> list[RecordFile]:
        return open_files(reading.settings, reading.feed, paths)

    for reading in combinations.readings:  # a file that cannot be read is found before anything is written
        for file in opened(reading):
            file.close()
    with PartFiles(output) as files:
        # Create the files first: hours of work must not be lost because the folder cannot be written.
        written = {name: files.open(name) for name in (table, *pictures)}
        show_kernels_prepared(kind)
        results = _run(combinations, opened, Finished(output / "finished"), options["processes"] or os.cpu_count() or 1)
        rows = comparison_rows(combinations.all, results)
        written[table].write(as_csv(rows))
        dated = (options["dated"] or datetime.now(tz=UTC)).date()
        if "frontier.svg" in written:
            written["frontier.svg"].write(_picture(rows, combinations, paths))
        if "report.html" in written:
            written["report.html"].write(report_html(rows, combinations, results, paths, dated=dated))
        files.complete()
    counts = next(iter(results.readings.values()), None)
    if as_json:
        read = {} if counts is None else {name: getattr(counts, name) for name in _COUNTS}
        click.echo(json.dumps({**read, "left_out": combinations.left_out, "rows": plain_rows(rows)}))
    else:
        Console().print(_table(rows, f"{', '.join(written)} in {output}; not for publication"))
    if counts is not None and counts.complaint is not None:
        click.echo(f"shoal: {counts.complaint}", err=True)
        sys.exit(1)
    if results.ended_early:
        n = sum(row.status != "unfinished" for row in rows)
        print_line(f"ended early: {n} of {len(rows)} combinations are finished; the same command runs the others")
        sys.exit(_INTERRUPTED)


_COUNTS = ("records", "rejected", "late", "duplicates", "windows", "rejections")


def _if_possible(pictures: Sequence[str]) -> list[str]:
    """Return the names of files with pictures; none, and say so, if a library is not installed."""
    try:
        check_libraries()
    except MissingExtraError as fault:
        print_line(f"{' and '.join(pictures)} will be missing: {fault}")
        return []
    return list(pictures)


def _run(
    combinations: Combinations,
    opened: Callable[[Reading], list[RecordFile]],
    finished: Finished,
    processes: int,
) -> ComparisonResults:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    # Ended by SIGTERM, too, the run keeps what is finished and removes the windows of raw records.
    with _sigterm_as_ctrl_c(), Progress(*columns, console=stderr) as bar:
        task = bar.add_task("reading", total=1.0)
        results = run_comparison(
            combinations,
            opened,
            finished,
            now_ms=round(time.time() * 1000),
            processes=processes,
            progress=lambda step, share: bar.update(task, completed=share, description=step),
            alarm=print_line,
        )
        if not results.ended_early:
            bar.update(task, completed=1.0, description=f"{len(combinations.all)} combinations")
        return results


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _picture(rows: Sequence[ComparisonRow], combinations: Combinations, paths: Sequence[Path]) -> bytes:
    sizes = dict.fromkeys(show_duration(reading.policy.size_ms) for reading in combinations.readings)
    title = f"{', '.join(path.name for path in paths)}, windows of {', '.join(sizes)}"
    without = combinations.without
    notes = [f"Left out because settings are missing: {', '.join(without)}"] if without else []
    return frontier_svg(rows, title=title, notes=notes)


def _table(rows: Sequence[ComparisonRow], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("model", "promise", "k", "m" if rows[0].m is not None else "delta"):
        table.add_column(name)
    for name in rows[0].varied:
        table.add_column(name)
    for name in ("loss, m", "not released, %", "people lost, %", "highest risk"):
        table.add_column(name, justify="right")
    table.add_column("frontier")
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        if before is not None and before.panel != row.panel:
            table.add_section()
        figures = (
            *((row.distance_m, ",.0f"), (row.unreleased_percent, ".1f"), (row.people_lost_percent, ".1f")),
            (row.highest_risk, ".3f"),
        )
        shown = ["-" if value is None else format(value, form) for value, form in figures]
        on = "yes" if row.frontier else "of its promise" if row.frontier_of_promise else ""
        last = on if row.status == "complete" else row.status
        table.add_row(row.model, row.promise, str(row.k), f"{row.panel[1]:g}", *row.varied.values(), *shown, last)
    return table
