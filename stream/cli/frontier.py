"""``shoal replay --frontier``: its options, and the comparison of models."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
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
from stream.replay.frontier import Frontier, checked_values, variants_of
from stream.replay.frontier_picture import as_svg
from stream.replay.frontier_table import FrontierRow, as_csv, frontier_rows
from stream.replay.summary import Summary
from stream.settings.model import Settings

__all__ = ["draw_frontier", "frontier_options"]

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


def frontier_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the frontier to a command; its parameters have their names."""
    for option in (
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
            "delta_m). Takes as long as one replay for each combination. Do not publish the results.",
        ),
    ):
        command = option(command)
    return command


def draw_frontier(
    load: Callable[[dict[str, Any]], Settings],
    kind: Kind,
    paths: Sequence[Path],
    output: Path,
    *,
    options: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Compare the models of a kind on files, and write the results.

    Args:
        load: Loads the settings; its argument overrides settings by their dotted names.
        kind: What the files hold.
        paths: The files.
        output: Folder for the results; created if it is missing.
        options: Values of the options that :func:`frontier_options` adds, by name.
        as_json: Whether to print JSON instead of a table.
    """
    ranges, variants = _ranges_and_variants(kind, options)
    frontier = Frontier(load, kind, ranges=ranges, variants=variants)
    if frontier.feed.plan.regions is not None:
        raise click.UsageError(
            "--frontier compares models on whole windows of a shard: add --set shard.finest_resolution=none"
        )
    for line in frontier.left_out:
        print_line(line)
    max_bytes = frontier.settings.limits.message_bytes
    files = open_files(frontier.settings, frontier.feed, paths)
    # Create the files first: hours of work must not be lost because the folder cannot be written.
    output.mkdir(parents=True, exist_ok=True)
    parts = {name: output / f"{name}.part" for name in ("frontier.csv", "frontier.svg")}
    try:
        for part in parts.values():
            part.touch()
        show_kernels_prepared(kind)
        read = _run(frontier, files, max_bytes)
        rows = frontier_rows(frontier.combinations, ended_early=frontier.ended_early)
        title = f"{', '.join(path.name for path in paths)}, windows of {show_duration(frontier.feed.policy.size_ms)}"
        parts["frontier.csv"].write_bytes(as_csv(rows))
        notes = [f"Left out because settings are missing: {', '.join(frontier.without)}"] if frontier.without else []
        parts["frontier.svg"].write_bytes(as_svg(rows, title=title, notes=notes))
        for name, part in parts.items():
            part.replace(output / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    if as_json:
        counts = {name: getattr(read, name) for name in ("records", "rejected", "late", "duplicates", "windows")}
        rejections = [one.as_dict() for one in read.rejections.sorted()]
        results = {"rejections": rejections, "left_out": frontier.left_out, "rows": [asdict(row) for row in rows]}
        click.echo(json.dumps(counts | results))
    else:
        Console().print(_table(rows, output))
    if (complaint := read.complaint) is not None:
        click.echo(f"shoal: {complaint}", err=True)
        sys.exit(1)
    if frontier.ended_early:
        print_line(f"ended early: the results are those of {rows[0].windows} windows")
        sys.exit(_INTERRUPTED)


def _run(frontier: Frontier, files: Sequence[RecordFile], max_bytes: int) -> Summary:
    size = sum(file.size for file in files)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    try:
        with Progress(*columns, console=stderr) as bar:
            task = bar.add_task("reading", total=size)
            summary = frontier.run(
                files,
                now_ms=round(time.time() * 1000),
                max_bytes=max_bytes,
                progress=lambda done, what: bar.update(task, completed=done, description=what),
                alarm=print_line,
            )
            if not frontier.ended_early:
                bar.update(task, completed=size, description=f"{summary.windows} windows")
            return summary
    finally:
        for file in files:
            file.close()


def _ranges_and_variants(kind: Kind, options: Mapping[str, Any]) -> tuple[dict[str, Sequence[float]], list[str] | None]:
    """Return the ranges and the names of variants that the options give."""
    foreign, needed = ("m", Kind.CHECKINS) if kind is Kind.FRAGMENTS else ("delta_m", Kind.FRAGMENTS)
    if options[f"frontier_{foreign}"] is not None:
        raise click.UsageError(f"--frontier-{foreign.replace('_', '-')} needs --kind {needed}")
    ranges = {name: options[f"frontier_{name}"] for name in ("k", "m", "delta_m") if options[f"frontier_{name}"]}
    if options["frontier_models"] is None:
        return ranges, None
    named = [name.strip() for name in options["frontier_models"].split(",")]
    known = [variant.name for variant in variants_of(kind)]
    if unknown := [name for name in named if name not in known]:
        raise click.UsageError(f"--frontier-models has {unknown[0]!r}: {kind} allow {', '.join(known)}")
    return ranges, named


def _table(rows: Sequence[FrontierRow], output: Path) -> Table:
    table = Table(title=f"frontier.csv and frontier.svg in {output}; not for publication", title_justify="left")
    for name in ("model", "promise", "k", "m" if rows[0].m is not None else "delta"):
        table.add_column(name)
    for name in ("loss, m", "not released, %", "people lost, %"):
        table.add_column(name, justify="right")
    table.add_column("frontier")
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        if before is not None and before.panel != row.panel:
            table.add_section()
        figures = (row.distance_m, ",.0f"), (row.unreleased_percent, ".1f"), (row.people_lost_percent, ".1f")
        shown = ["-" if value is None else format(value, form) for value, form in figures]
        on = "yes" if row.frontier else "of its promise" if row.frontier_of_promise else ""
        last = row.status if row.status == "failed" else on
        table.add_row(row.model, row.promise, str(row.k), f"{row.panel[1]:g}", *shown, last)
    return table
