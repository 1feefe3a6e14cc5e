"""``shoal view``: the live page of a replay."""

from __future__ import annotations

from pathlib import Path

import click

from core.records.record import Kind
from stream.cli.console import print_line, progress_bar
from stream.cli.options import load_given, with_settings
from stream.feeds.vocabulary import build_locator
from stream.worker.replayed_windows import SHOWN_WINDOWS, ReplayedWindows
from stream.worker.view import serve_folder

__all__ = ["view"]


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; by default a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address; do not open a browser.")
@with_settings
def view(folder: Path, port: int, no_browser: bool, config: Path | None, given: tuple[str, ...]) -> None:
    """Show the releases of a replay in the browser.

    DIR is a folder that `shoal replay --output DIR` wrote, in the format ndjson. The page is the live page of a worker:
    a map of each release, charts and figures. It is served on 127.0.0.1, for this machine alone, until Ctrl-C.

    With the settings of the replay (--config, --set location...) the map draws the cells of generalized locations;
    without them, their centres, and cells of H3 or of the default grid.
    """
    settings = load_given(config, given)
    vocabularies = [settings.location_of(kind) for kind in (Kind.CHECKINS, Kind.STOPS)]
    with progress_bar() as bar:
        task = bar.add_task(f"reading {folder}", total=ReplayedWindows.size(folder))
        shown = ReplayedWindows(
            folder,
            locators=[build_locator(one) for one in vocabularies],
            tile_url=settings.web.tile_url,
            progress=lambda done: bar.update(task, completed=done),
        )
    if shown.n_windows > SHOWN_WINDOWS:
        print_line(f"the page shows the last {SHOWN_WINDOWS:,} of {shown.n_windows:,} windows")
    if shown.n_locations and shown.locator is None:
        print_line(
            "the map shows the centres of locations; to draw their cells give the replay's settings, such as "
            "--set location.cell_m=500"
        )

    def ready(url: str) -> None:
        click.echo(f"{url} shows {folder}; Ctrl-C ends it")

    serve_folder(shown, port=port, with_browser=not no_browser, ready=ready)
