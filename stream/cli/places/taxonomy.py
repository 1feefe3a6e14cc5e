"""``shoal taxonomy``: make, check and draw hierarchies of places."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from core.places.hierarchy import Row, faults_of, shape_of
from core.places.locate import Venues
from core.records.record import Kind
from stream.cli.console import print_line, progress_bar
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.options import FILE, load_given, with_settings
from stream.feeds.csv_tables import read_table
from stream.feeds.feed import Feed
from stream.feeds.vocabulary import build_locator
from stream.replay.places.hierarchy_picture import hierarchy_as_svg, hierarchy_lines
from stream.replay.places.hierarchy_source import missing_names, rows_of_categories, rows_of_cells, rows_of_counts
from stream.replay.results.part_files import PartFiles
from stream.settings.errors import SettingsError
from stream.settings.secret import new_secret

__all__ = ["taxonomy"]

_OUT = click.Path(path_type=Path, dir_okay=False)


@click.group()
def taxonomy() -> None:
    """Make, check and draw hierarchies of places, for privacy.taxonomy.

    A hierarchy is a CSV with the header category,parent; an empty parent is the root.
    """


@taxonomy.command()
@click.argument("files", nargs=-1, type=FILE)
@click.option(
    "--from",
    "source",
    type=click.Choice(["categories", "h3", "counts"]),
    required=True,
    help="categories: the tree that is written in the categories of the places, such as Food > Bakery. h3: venues in "
    "H3 cells. counts: venues in balanced groups, by the people of FILES.",
)
@click.option("--out", type=_OUT, required=True, help="CSV file to write.")
@click.option("--fan-out", type=click.IntRange(2, 1000), help="With counts: most groups of a group.  [default: 5]")
@click.option("--k", type=click.IntRange(2), help="With counts: fewest people of a group; by default privacy.k.")
@click.option(
    "--h3-resolutions",
    type=(click.IntRange(0, 15), click.IntRange(0, 15)),
    help="With h3: the finest and the coarsest cells.  [default: 9 5]",
)
@with_settings
def make(
    files: tuple[Path, ...],
    source: str,
    out: Path,
    fan_out: int | None,
    k: int | None,
    h3_resolutions: tuple[int, int] | None,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Write a hierarchy of the places that the settings name.

    Places are those of location.venues_file or, for categories, of location.pois_file. With counts, FILES are check-ins
    of a past feed, read as `shoal replay` reads them. Where the groups are cut depends on these people exactly: use a
    feed that you do not release.
    """
    if (source == "counts") != bool(files):
        raise click.UsageError("--from counts needs FILES with past check-ins, and nothing else reads FILES")
    if source != "counts" and (fan_out is not None or k is not None):
        raise click.UsageError("--fan-out and --k need --from counts")
    if source != "h3" and h3_resolutions is not None:
        raise click.UsageError("--h3-resolutions needs --from h3")
    finest, coarsest = h3_resolutions or (9, 5)
    if finest < coarsest:
        raise click.UsageError("--h3-resolutions takes the finest first, such as 9 5")
    # The hierarchy of the settings may not exist yet.
    more = {"privacy.taxonomy": "categories" if source == "categories" else "own"}
    settings = load_given(config, given, more)
    own = settings.for_kind(Kind.CHECKINS)
    if source == "categories":
        rows = rows_of_categories(Feed(settings, Kind.CHECKINS, secret=new_secret()))
    else:
        venues = build_locator(own.location, own.privacy)
        if not isinstance(venues, Venues) or own.location.kind != "venues":
            raise SettingsError("set location.kind to venues, and location.venues_file: their positions are grouped")
        if source == "h3":
            rows = rows_of_cells(venues, finest=finest, coarsest=coarsest)
        else:
            feed = Feed(settings, Kind.CHECKINS, secret=new_secret())
            collect_garbage_rarely()
            with progress_bar() as bar:
                task = bar.add_task("counting people", total=sum(path.stat().st_size for path in files))
                rows, summary = rows_of_counts(
                    settings,
                    feed,
                    venues,
                    files,
                    k=k or own.privacy.k,
                    fan_out=fan_out or 5,
                    progress=lambda done: bar.update(task, completed=done),
                )
            if summary.rejected:
                print_line(f"{summary.rejected:,} of {summary.records:,} records were rejected: shoal replay says why")
    with PartFiles(out.parent) as parts:
        parts.open(out.name).write(_as_csv(rows))
        parts.complete()
    click.echo(f"{out}: {_shape(rows)}")


@taxonomy.command()
@click.argument("file", type=FILE)
@click.option("--venues", type=FILE, help="CSV with venue,category: every venue must be in the hierarchy.")
@click.option("--max-depth", type=click.IntRange(1), help="Most categories of a path.")
@click.option("--max-fan-out", type=click.IntRange(1), help="Most children of a category.")
@click.option("--one-top", is_flag=True, help="Only one category may have no parent.")
def check(file: Path, venues: Path | None, max_depth: int | None, max_fan_out: int | None, one_top: bool) -> None:
    """Report every fault of the hierarchy in FILE, and its size.

    The exit code is 1 if anything is wrong.
    """
    rows = _read(file)
    missing = [] if venues is None else missing_names(venues, rows)
    faults = faults_of(rows, wanted=missing, max_depth=max_depth, max_fan_out=max_fan_out, one_top=one_top)
    if faults:
        for fault in faults:
            click.echo(f"{file}: {fault}")
        sys.exit(1)
    click.echo(f"{file}: {_shape(rows)}; nothing is wrong")


@taxonomy.command()
@click.argument("file", type=FILE)
@click.option("--out", type=_OUT, help="SVG file to write, instead of text.")
@click.option("--depth", type=click.IntRange(1), help="Most levels to show.")
@click.option("--children", type=click.IntRange(1), default=20, show_default=True, help="Most children to show of one.")
def draw(file: Path, out: Path | None, depth: int | None, children: int) -> None:
    """Draw the hierarchy in FILE as an indented tree, or as a picture."""
    rows = _read(file)
    if faults_of(rows):
        raise SettingsError(f"{file} is not a tree: shoal taxonomy check says why")
    lines = hierarchy_lines(rows, depth=depth, most=children)
    if out is None:
        for line in lines:
            click.echo("  " * line.depth + str(line))
        return
    with PartFiles(out.parent) as parts:
        parts.open(out.name).write(hierarchy_as_svg(lines, title=f"{file.name}: {_shape(rows)}"))
        parts.complete()
    click.echo(f"the picture is {out}")


def _read(file: Path) -> list[Row]:
    return [(row.values[0], row.values[1]) for row in read_table(file, "the hierarchy", ("category", "parent"))]


def _shape(rows: Sequence[Row]) -> str:
    shape = shape_of(rows)
    return (
        f"{shape.nodes:,} categories, {shape.leaves:,} of them leaves, {shape.tops:,} without a parent; "
        f"depth {shape.depth}, at most {shape.fan_out:,} children"
    )


def _as_csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("category", "parent"))
    writer.writerows(rows)
    return text.getvalue().encode()
