"""Read a file of places: find its form, check every place, and give each a public name of its own."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.places.pois import is_cell_name
from stream.feeds.csv_tables import written
from stream.feeds.poi_files.csv_places import csv_places
from stream.feeds.poi_files.found_place import FoundPlace, PoiFileError
from stream.feeds.poi_files.geojson_places import geojson_places
from stream.feeds.poi_files.osm_places import is_osm, osm_places
from stream.feeds.poi_files.parquet_places import parquet_places
from stream.formats.files.form_error import FormError
from stream.formats.files.opened_file import OpenedFile
from stream.formats.input.json_messages import BOM
from stream.settings.errors import SettingsError

__all__ = ["public_names", "read_places"]

_SETTING = "location.pois_file"

_COUNTED = 1_000
_LINE_EVERY_S = 2.0
"""After so many places the clock is read, and a line of progress written if the last is so long ago."""


def read_places(file: Path) -> list[FoundPlace]:
    """Read the places of a file, in its order.

    Raises:
        SettingsError: The file cannot be read, a place is wrong or listed twice, or there is none.
    """
    places: list[FoundPlace] = []
    seen: dict[str | tuple[str, str], str] = {}
    try:
        for found in _with_progress(_places(file), file):
            place = found._replace(name=written(found.name), id=written(found.id))
            _check(place)
            for key, what in ((place.id, "id"), ((place.name, _own(place)), "name and position")):
                if key and (first := seen.setdefault(key, place.where)) != place.where:
                    raise PoiFileError(f"has the {what} of {first}: list each place once", place.where)
            places.append(place)
    except PoiFileError as fault:
        where = f", {fault.where}" if fault.where else ""
        raise SettingsError(f"{_SETTING} {file}{where}: {fault}") from None
    if not places:
        raise SettingsError(f"{_SETTING} {file}: needs at least one place with a name")
    return places


def public_names(places: Sequence[FoundPlace]) -> list[str]:
    """Return a name for each place that no other place and no cell has, whatever the order of the file.

    Equal names are told apart by ids or, without ids, by positions.

    >>> a, b = (FoundPlace("line 2", one, "Bar", 48.2, 16.37, ()) for one in ("", "7"))
    >>> public_names([a, b])
    ['Bar (48.2 16.37)', 'Bar (7)']
    """
    names = [place.name for place in places]
    while True:
        n_of = Counter(names)
        shared = [i for i, name in enumerate(names) if n_of[name] > 1 or is_cell_name(name)]
        if not shared:
            return names
        for i in shared:
            names[i] += f" ({_own(places[i])})"


def _own(place: FoundPlace) -> str:
    return place.id or f"{place.lat} {place.lon}"


def _with_progress(places: Iterator[FoundPlace], file: Path) -> Iterator[FoundPlace]:
    """Yield places; if that takes long, say now and then on standard error how many they are."""
    told_s = time.monotonic()
    for n, place in enumerate(places):
        if n % _COUNTED == 0 and time.monotonic() - told_s >= _LINE_EVERY_S:
            sys.stderr.write(f"shoal: reading {file}: {n:,} places so far\n")
            told_s = time.monotonic()
        yield place


def _places(file: Path) -> Iterator[FoundPlace]:
    try:
        opened = OpenedFile(file)
    except FormError as fault:
        raise PoiFileError(str(fault)) from None
    try:
        if is_osm(file):
            yield from osm_places(file)
        elif opened.magic.startswith(b"PAR1"):
            yield from parquet_places(opened.seekable())
        elif opened.magic.removeprefix(BOM).lstrip().startswith((b"{", b"[", b"\x1e")):
            yield from geojson_places(opened.binary.read())
        else:
            yield from csv_places(file, _SETTING)
    finally:
        opened.close()


def _check(place: FoundPlace) -> None:
    if not place.name:
        raise PoiFileError("the name is empty: every place needs one", place.where)
    for value, name, limit in ((place.lat, "lat", 90), (place.lon, "lon", 180)):
        if not abs(value) <= limit:
            raise PoiFileError(f"{name} must be a number from -{limit} to {limit}, degrees", place.where)
