"""``shoal evaluate``: utility and risk of any release, beside its raw feed."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from core.records.record import Kind
from core.utility.window_measures import MeasureOptions
from stream.cli.console import print_line, stderr
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.options import DURATION, FILE, INPUT_KIND, load_given, with_settings
from stream.replay.evaluation.evaluate import EvaluateOptions, Evaluation
from stream.replay.evaluation.evaluate import evaluate as evaluated
from stream.replay.evaluation.figures import FIGURES, STATED
from stream.replay.evaluation.itemsets import ItemRows, read_hierarchy
from stream.replay.evaluation.piecewise import FileInPieces, open_in_pieces
from stream.replay.evaluation.sources import ComparedData, DataSource, read_source

__all__ = ["DataFiles", "evaluate", "number", "with_data_files"]

_WIDEST = 9
"""Characters of the widest number in a table."""


def with_data_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how files are read; :class:`DataFiles` takes them."""
    for option in (
        click.option("--ids", is_flag=True, help="The first item of each row is the id of its person."),
        click.option("--header", is_flag=True, help="The first line of rows of items is a header."),
        click.option("--separator", default="", help="Character between items; by default | ; tab or comma."),
        click.option(
            "--hierarchy",
            type=FILE,
            help="CSV with the header item,parent: a generalized item may be an inner node of it.",
        ),
        click.option(
            "--items",
            type=click.Choice(["sequences", "sets"]),
            help="The files have one row of items for each person, such as those of Amnesia and SECRETA.",
        ),
        click.option("--kind", type=INPUT_KIND, help="Read the raw feed with the settings of a feed of this kind."),
    ):
        command = option(command)
    return with_settings(command)


class DataFiles:
    """Reads files as the options of a command say, and shows what it is doing."""

    def __init__(self, config: Path | None, given: tuple[str, ...], options: dict[str, Any]) -> None:
        self._kind = Kind(options["kind"]) if options["kind"] else None
        form, separator = options["items"], options["separator"].replace("\\t", "\t")
        if form is None and (options["ids"] or options["header"] or separator or options["hierarchy"]):
            raise click.UsageError("--ids, --header, --separator and --hierarchy need --items")
        if self._kind is not None and form is not None:
            raise click.UsageError("--kind and --items exclude each other: records have times, rows of items have none")
        if (given or config) and self._kind is None:
            raise click.UsageError("--config and --set need --kind: checkins or fragments")
        if len(separator) > 1:
            raise click.UsageError("--separator takes one character, or \\t")
        self._settings = load_given(config, given) if self._kind is not None else None
        self._items = None
        if form is not None:
            self._items = ItemRows(
                form=cast("Literal['sequences', 'sets']", form),
                has_header=options["header"],
                has_ids=options["ids"],
                separator=separator,
                hierarchy=read_hierarchy(options["hierarchy"]) if options["hierarchy"] else {},
            )

    def read(self, path: Path, progress: Callable[[str], None], *, is_raw: bool) -> DataSource:
        """Read a file. The settings of the feed are those of its raw records alone."""
        kind, settings = (self._kind, self._settings) if is_raw else (None, None)
        source = read_source(path, items=self._items, kind=kind, settings=settings, progress=progress)
        _say_left_out(source)
        return source

    def open_in_pieces(
        self, path: Path, folder: Path, progress: Callable[[str], None], *, is_raw: bool
    ) -> FileInPieces:
        """Open a file that may be larger than memory; its pieces are in a folder."""
        if self._items is not None:
            raise click.UsageError("--piecewise and --items exclude each other: rows of items have no times")
        kind, settings = (self._kind, self._settings) if is_raw else (None, None)
        file = open_in_pieces(path, folder, kind=kind, settings=settings, progress=progress)
        if is_raw and file.window_ms is not None:
            raise click.UsageError("--piecewise: RAW is a raw feed, not a release of Shoal")
        return file


@click.command()
@click.argument("raw", type=click.Path(path_type=Path, exists=True))
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--window", type=DURATION, help="Cut both into windows, such as 1d; by default those of the release.")
@click.option("--k", type=click.IntRange(2), default=5, show_default=True, help="Fewest people of a frequent pattern.")
@click.option(
    "--cell-m", type=click.FloatRange(1), default=500.0, show_default=True, help="Side of the cells of maps, metres."
)
@click.option(
    "--delta-m",
    type=click.FloatRange(0),
    default=500.0,
    show_default=True,
    help="Uncertainty of positions, a diameter, metres: of range queries, and of what an adversary knows.",
)
@click.option("--known", type=click.IntRange(1, 5), default=2, show_default=True, help="Visits that the attack knows.")
@click.option("--queries", type=click.IntRange(1), default=100, show_default=True, help="Number of random queries.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed, same queries.")
@click.option(
    "--piecewise",
    is_flag=True,
    help="Cut files into pieces in the folder for temporary files, so that they may be larger than memory.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: release,figure,value,unit,better,meaning.")
@with_data_files
def evaluate(
    raw: Path,
    releases: tuple[Path, ...],
    window: int | None,
    k: int,
    cell_m: float,
    delta_m: float,
    known: int,
    queries: int,
    seed: int,
    piecewise: bool,
    as_json: bool,
    as_csv: bool,
    config: Path | None,
    given: tuple[str, ...],
    **options: Any,
) -> None:
    """Compare RELEASES of any tool with the RAW feed.

    A release is a folder of `shoal replay --output` in any format; lines of id, seconds, x and y in metres (Wait for
    Me); a table of points with columns such as user_id, timestamp, lat and lon (mdl-anonymizer, scikit-mobility); or
    with --items one row of items for each person (Amnesia, SECRETA). RAW has the same form, or is a feed of --kind,
    read with its settings.

    Prints every figure that both files have the data for, what it means, and which direction is better. The figures
    are computed from raw records: do not publish them.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    files = DataFiles(config, given, options)
    collect_garbage_rarely()
    how = EvaluateOptions(
        k=k, cell_m=cell_m, delta_m=delta_m, known=known, seed=seed, measures=MeasureOptions(queries=queries)
    )
    with stderr.status("reading") as status, ExitStack() as stack:
        show = status.update
        if piecewise:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="shoal-evaluate-")))
            original, *others = (
                files.open_in_pieces(path, folder / str(i), show, is_raw=i == 0)
                for i, path in enumerate((raw, *releases))
            )
            found = evaluated(original, others, how, window_ms=window, progress=show)
            for source in (original, *others):
                _say_left_out(source)
        else:
            in_memory = files.read(raw, show, is_raw=True)
            read = [files.read(path, show, is_raw=False) for path in releases]
            found = evaluated(in_memory, read, how, window_ms=window, progress=show)
    if as_json:
        click.echo(json.dumps(_as_dict(raw, found)))
    elif as_csv:
        _write_csv(found)
    else:
        Console().print(_table(raw, found))
        for one in found:
            for note in one.notes:
                print_line(f"{one.name}: {note}")


def _say_left_out(source: ComparedData) -> None:
    if source.left_out:
        print_line(f"{source.name}: {source.left_out:,} rows could not be read; shoal try says why")


def number(value: float | None) -> str:
    """Write a figure for a table."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 2 else f"{value:,.4g}"


def _shown(found: Sequence[Evaluation]) -> list[str]:
    return [name for name in FIGURES if any(name in one.figures for one in found)]


def _table(raw: Path, found: Sequence[Evaluation]) -> Table:
    table = Table(title=f"releases of {raw.name}, not for publication", title_justify="left", box=box.SIMPLE)
    table.add_column("figure", no_wrap=True)
    for one in found:
        table.add_column(escape(one.name), justify="right", min_width=_WIDEST, overflow="fold")
    table.add_column("better", no_wrap=True)
    table.add_column("meaning")
    for name in _shown(found):
        meaning = FIGURES[name]
        values = [number(one.figures.get(name)) for one in found]
        unit = f" ({meaning.unit})" if meaning.unit else ""
        table.add_row(name.replace("_", " "), *values, meaning.better, f"{meaning.meaning}{unit}")
    if stated := list(dict.fromkeys(name for one in found for name in one.stated)):
        table.add_section()
        for name in stated:
            values = [number(one.stated.get(name)) for one in found]
            table.add_row(f"stated: {name.replace('_', ' ')}", *values, STATED.better, STATED.meaning)
    return table


def _as_dict(raw: Path, found: Sequence[Evaluation]) -> dict[str, object]:
    return {
        "raw": raw.name,
        "releases": [
            {
                "name": one.name,
                "form": one.form,
                "figures": {name: round(value, 6) for name, value in one.figures.items()},
                "stated": {name: round(value, 6) for name, value in one.stated.items()},
                "notes": list(one.notes),
            }
            for one in found
        ],
        "meanings": {
            name: {"unit": FIGURES[name].unit, "better": FIGURES[name].better, "meaning": FIGURES[name].meaning}
            for name in _shown(found)
        },
    }


def _write_csv(found: Sequence[Evaluation]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["release", "figure", "value", "unit", "better", "meaning"])
    for one in found:
        for name, value in one.figures.items():
            meaning = FIGURES[name]
            writer.writerow([one.name, name, f"{value:.6g}", meaning.unit, meaning.better, meaning.meaning])
        for name, value in one.stated.items():
            writer.writerow([one.name, f"stated_{name}", f"{value:.6g}", "", STATED.better, STATED.meaning])
