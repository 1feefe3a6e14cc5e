"""What hierarchies are made from: the categories of a feed's places, their H3 cells, or the people of a past feed."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import h3

from core.places.category_names import CategoryNames
from core.places.hierarchy import Row, balanced_rows
from core.places.locate import Venues
from core.places.meaning import VenueTaxonomy
from core.places.taxonomy import Categories
from stream.feeds.csv_tables import read_table
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from stream.settings.errors import SettingsError
from stream.settings.model import Settings

__all__ = ["missing_names", "rows_of_categories", "rows_of_cells", "rows_of_counts"]

_ORDER = 15
"""Resolution of the H3 cells by whose order neighbours come next to one another."""


def rows_of_categories(feed: Feed) -> list[Row]:
    """Return the tree that is written in the categories of venues or places, such as ``Food > Bakery``.

    Raises:
        SettingsError: Locations have no categories.
    """
    tree = feed.taxonomy()
    if not isinstance(tree, VenueTaxonomy):
        raise SettingsError("set location.kind to venues or pois: their files have the categories of places")
    rows = [(category, parent or "") for category, parent in tree.categories.parent_of.items()]
    if not rows:
        raise SettingsError("the file of the places has no categories: fill its column category")
    return rows


def rows_of_cells(venues: Venues, *, finest: int, coarsest: int) -> list[Row]:
    """Return venues below the H3 cells around them, from the finest resolution up to the coarsest."""
    rows: dict[Row, None] = {}
    at = zip(venues.names, venues.lat_deg.tolist(), venues.lon_deg.tolist(), strict=True)
    for name, lat, lon in at:
        below, cell = name, h3.latlng_to_cell(lat, lon, finest)
        rows[below, cell] = None
        for resolution in range(finest - 1, coarsest - 1, -1):
            parent = h3.cell_to_parent(cell, resolution)
            rows[cell, parent] = None
            cell = parent
        rows[cell, ""] = None
    return list(rows)


def rows_of_counts(
    settings: Settings,
    feed: Feed,
    venues: Venues,
    paths: Sequence[Path],
    *,
    k: int,
    fan_out: int,
    progress: Callable[[int], None],
) -> tuple[list[Row], Summary]:
    """Return venues in balanced groups: each had at least k people in the files, neighbours together.

    Returns:
        The rows, and the counts of the records that were read.

    Raises:
        FileFormatError: A file cannot be read as records of this feed.
    """
    people: dict[int, set[int]] = defaultdict(set)
    summary = Summary()
    files = open_files(settings, feed, paths)
    try:
        windows = FileWindows(feed, files, now_ms=round(time.time() * 1000), summary=summary)
        for window in windows:
            rows = window.rows
            for user, location in zip(rows["user"].tolist(), rows["location"].tolist(), strict=True):
                people[location].add(user)
            progress(windows.position)
    finally:
        for file in files:
            file.close()
    cells = [
        h3.latlng_to_cell(lat, lon, _ORDER)
        for lat, lon in zip(venues.lat_deg.tolist(), venues.lon_deg.tolist(), strict=True)
    ]
    order = sorted(range(len(cells)), key=lambda venue: (cells[venue], venue))
    leaves, visitors = [venues.names[one] for one in order], [people.get(one, set()) for one in order]
    return balanced_rows(leaves, visitors, k=k, fan_out=fan_out), summary


def missing_names(venues_file: Path, rows: Sequence[Row]) -> list[str]:
    """Return the categories of a file of venues, or the venues without one, that a hierarchy lacks.

    A venue is in the hierarchy if its category is, in any spelling, or a row with its own name.

    Raises:
        SettingsError: The file cannot be read, or lacks a column.
    """
    names = CategoryNames(
        Categories.from_rows((category, "") for category in {category for category, _ in rows} if category)
    )
    missing: dict[str, None] = {}
    for _, (venue, category) in read_table(venues_file, "--venues", ("venue", "category")):
        if not any(names.find(one) for one in (category, venue) if one):
            missing[category or venue] = None
    return list(missing)
