"""Places for real feeds that name venues, but have no file of places."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["FeedPlace", "venues_of", "write_places"]


class FeedPlace(NamedTuple):
    """One place of a file of places."""

    id: str
    name: str
    lat: float
    lon: float
    category: str = ""


def venues_of(rows: Iterable[Mapping[str, str]]) -> list[FeedPlace]:
    """Return the venues of check-ins by id, each at the median of its records, with the category of the first."""
    of_venue: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        of_venue.setdefault(row["venue"], []).append(row)
    found = []
    for venue, records in sorted(of_venue.items()):
        lat, lon = (statistics.median(float(row[name]) for row in records) for name in ("lat", "lon"))
        found.append(FeedPlace(venue, f"venue {venue}", lat, lon, records[0].get("category", "")))
    return found


def write_places(file: Path, places: Sequence[FeedPlace], *, with_categories: bool = False) -> None:
    """Write a file of places for `location.pois_file`."""
    columns = FeedPlace._fields if with_categories else FeedPlace._fields[:-1]
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([columns, *(place[: len(columns)] for place in places)])
