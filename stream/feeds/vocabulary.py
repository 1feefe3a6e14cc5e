"""The vocabulary of locations: cells of a grid, or the venues or regions of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.places.locate import Area, AreaGrid, H3Cells, Locator, MetricGrid, Venues
from stream.feeds.csv_tables import read_table, wrong_line
from stream.feeds.regions_file import read_regions
from stream.formats.input.numbers import to_number
from stream.settings.errors import SettingsError
from stream.settings.feeds import LocationSettings

__all__ = ["build_locator"]


def build_locator(location: LocationSettings) -> Locator:
    """Build the locator, which finds the location of a record.

    Raises:
        SettingsError: The area is invalid, or the file of venues or regions cannot be read or is wrong.
    """
    if location.kind == "h3":
        return H3Cells(location.h3_resolution)
    if location.kind == "venues" and location.venues_file is not None:
        return _venues(location.venues_file)
    if location.kind == "regions":
        return read_regions(location.regions_file)
    if location.area is None:
        return MetricGrid(location.cell_m)
    south, west, north, east = location.area
    try:
        area = Area(south=south, west=west, north=north, east=east)
    except ValueError as fault:
        raise SettingsError(f"location.area is {south},{west},{north},{east}: {fault}") from None
    rows, columns = location.cells
    return AreaGrid(area, rows=rows, columns=columns)


def _venues(file: Path) -> Venues:
    setting = "location.venues_file"
    found: dict[str, tuple[int, float, float]] = {}
    for line, (name, *position) in read_table(file, setting, ("venue", "lat", "lon")):
        if not name:
            raise wrong_line(setting, file, line, "venue is empty: every venue needs a name")
        if name in found:
            raise wrong_line(setting, file, line, f"the venue is already in line {found[name][0]}: list it once")
        lat, lon = (
            _degrees(text, limit, f"{setting} {file}, line {line}: {column}")
            for text, column, limit in zip(position, ("lat", "lon"), (90, 180), strict=True)
        )
        found[name] = line, lat, lon
    if not found:
        raise SettingsError(f"{setting} {file}: needs at least one venue")
    names = sorted(found)
    return Venues(names, np.array([found[name][1] for name in names]), np.array([found[name][2] for name in names]))


def _degrees(text: str, limit: int, where: str) -> float:
    try:
        value = to_number(text)
    except ValueError:
        value = np.nan
    if not abs(value) <= limit:
        raise SettingsError(f"{where} must be a number from -{limit} to {limit}, degrees")
    return value
