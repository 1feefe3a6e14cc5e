"""``shoal regions``: find where many people were, as the locations of a feed."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from core.records.record import Kind
from stream.cli.console import print_line, progress_bar
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.options import FILE, KIND, load_given, with_settings
from stream.feeds.feed import Feed
from stream.replay.places.file_positions import FilePositions
from stream.replay.places.region_features import regions_as_geojson
from stream.replay.places.region_search import RegionSearch, RegionsOfFiles
from stream.replay.places.regions_map import regions_as_svg
from stream.replay.results.part_files import PartFiles
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["regions"]

_CELL_M = 250.0


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--kind", type=KIND, required=True, help="Kind of records in FILES; stops: fragments, by the settings of stops."
)
@click.option(
    "--out",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="GeoJSON file to write; a map, an SVG file with the same name, is written beside it.",
)
@click.option(
    "--cell-m",
    type=click.FloatRange(1, 100_000),
    help=f"Side of a grid cell, metres: regions are rectangles of cells.  [default: {_CELL_M:g}]",
)
@click.option(
    "--h3-resolution",
    type=click.IntRange(0, 15),
    help="Resolution of H3 cells, instead of a grid: regions are connected sets of cells.",
)
@click.option(
    "--density",
    type=click.FloatRange(0, 1),
    help="Share of all people who were in a dense cell, such as 0.02. A high density gives few small regions.",
)
@click.option(
    "--regions",
    "n_regions",
    type=click.IntRange(1, 10_000),
    help="Wanted number of regions: the density is chosen so that there are about as many.  [default: 30]",
)
@click.option("--k", type=click.IntRange(2), help="Fewest people of a region; by default privacy.k.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@with_settings
def regions(
    files: tuple[Path, ...],
    kind: str,
    output: Path,
    cell_m: float | None,
    h3_resolution: int | None,
    density: float | None,
    n_regions: int | None,
    k: int | None,
    as_json: bool,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Find the regions of FILES where many people were.

    Writes GeoJSON for `location.kind: regions` and `location.regions_file`: one polygon for each region, with its name
    and the number of people, rounded down to a multiple of k. Rename or redraw the regions in any GIS editor. FILES
    are read as `shoal replay` reads them, with the same settings.

    Only cells with at least k people count; who was in other cells changes nothing. So the file may be published, as
    the names of locations are in releases.
    """
    if cell_m is not None and h3_resolution is not None:
        raise click.UsageError("--cell-m and --h3-resolution exclude each other: choose squares or hexagons")
    if density is not None and n_regions is not None:
        raise click.UsageError("--density and --regions exclude each other: a density makes its own number of regions")
    if (picture := output.with_suffix(".svg")) == output:
        raise click.UsageError("--out ends with .svg, as the map does: name a file such as regions.geojson")
    settings = _settings(config, given, Kind(kind))
    search = RegionSearch(
        k=k or settings.for_kind(Kind(kind)).privacy.k,
        n_regions=n_regions or 30,
        density=density,
        cell_m=None if h3_resolution is not None else cell_m or _CELL_M,
        h3_resolution=h3_resolution or 0,
    )
    # People are only counted here, so that nobody needs the secret of the releases.
    positions = FilePositions(settings=settings, feed=Feed(settings, Kind(kind), secret=new_secret()), paths=files)
    collect_garbage_rarely()
    with progress_bar() as bar:
        task = bar.add_task(f"reading {kind}", total=sum(path.stat().st_size for path in files))
        positions.progress = lambda done: bar.update(task, completed=done)
        found = search.run(positions, lambda step: bar.update(task, description=step))
    cells = f"{found.division}; a dense cell had {found.least:,} people or more"
    with PartFiles(output.parent) as parts:
        parts.open(output.name).write(regions_as_geojson(found.regions))
        title = f"{len(found.regions)} regions of {', '.join(path.name for path in files)}"
        parts.open(picture.name).write(regions_as_svg(found.regions, title=title, subtitle=cells))
        parts.complete()
    if positions.summary.rejected:
        summary = positions.summary
        print_line(f"{summary.rejected:,} of {summary.records:,} records were rejected: shoal replay says why")
    if found.passes > 1:
        print_line(f"the files were read {found.passes} times, because their people did not fit in memory at once")
    if as_json:
        click.echo(json.dumps(_as_dict(found)))
    else:
        print_line(f"{cells}. The map is {picture}")
        Console().print(_table(found, output))


def _settings(config: Path | None, given: tuple[str, ...], kind: Kind) -> Settings:
    """Load the settings. They may already name the file of regions, which may not exist yet."""
    settings = load_given(config, given)
    own = getattr(settings, kind.value).location
    chosen = own.kind if "kind" in own.model_fields_set else settings.location.kind
    return settings if chosen != "regions" else load_given(config, given, {f"{kind.value}.location.kind": "grid"})


def _table(found: RegionsOfFiles, output: Path) -> Table:
    table = Table(title=f"{len(found.regions)} regions in {output}", title_justify="left")
    table.add_column("name")
    for name in ("width", "height", "cells", "people", "of all people"):
        table.add_column(name, justify="right")
    for region in found.regions:
        wide_m, high_m = region.size_m
        share = f"{region.people / found.people:.1%}"
        row = f"{wide_m:,.0f} m", f"{high_m:,.0f} m", f"{region.n_cells:,}", f"{region.people:,}+", share
        table.add_row(region.name, *row)
    return table


def _as_dict(found: RegionsOfFiles) -> dict[str, object]:
    return {
        "cells": found.division,
        "least_people": found.least,
        "passes": found.passes,
        "regions": [
            {
                "name": region.name,
                "width_m": round(region.size_m[0]),
                "height_m": round(region.size_m[1]),
                "cells": region.n_cells,
                "people": region.people,
            }
            for region in found.regions
        ],
    }
