"""Places in a CSV: a line each, with name, latitude and longitude."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stream.feeds.csv_tables import read_named_table
from stream.feeds.poi_files.found_place import CATEGORY, ID, LAT, LON, NAME, FoundPlace, category_paths, degrees

__all__ = ["csv_places"]


def csv_places(file: Path, setting: str) -> Iterator[FoundPlace]:
    """Yield the places of a CSV.

    Raises:
        SettingsError: It cannot be read, is not CSV in UTF-8, or lacks a column.
    """
    columns = {"name": NAME, "lat": LAT, "lon": LON, "category": CATEGORY, "id": ID}
    for line, (name, lat, lon, category, own_id) in read_named_table(
        file, setting, columns, optional=("category", "id")
    ):
        yield FoundPlace(f"line {line}", own_id, name, degrees(lat), degrees(lon), category_paths([category]))
