"""The vocabulary of locations: cells of a grid, venues or regions of a file, or places with cells around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.places.locate import Area, AreaGrid, H3Cells, Locator, MetricGrid, Venues
from core.places.pois import Places, PointsOfInterest
from stream.feeds.csv_tables import read_table, wrong_line
from stream.feeds.place_categories import place_categories
from stream.feeds.poi_files.read import public_names, read_places
from stream.feeds.regions_file import read_regions
from stream.formats.input.numbers import to_number
from stream.settings.errors import SettingsError
from stream.settings.feeds import LocationSettings
from stream.settings.privacy import PrivacySettings

__all__ = ["build_locator"]


def build_locator(location: LocationSettings, privacy: PrivacySettings | None = None) -> Locator:
    """Build the locator, which finds the location of a record.

    Args:
        location: Which locations there are.
        privacy: Says what their categories are; None where nothing will be located, only named.

    Raises:
        SettingsError: The area is invalid, or a file cannot be read or is wrong.
    """
    if location.kind == "h3":
        return H3Cells(location.h3_resolution)
    if location.kind == "venues" and location.venues_file is not None:
        return _venues(location.venues_file)
    if location.kind == "regions":
        return read_regions(location.regions_file)
    if location.kind == "pois" and location.pois_file is not None:
        return _pois(location.pois_file, location, privacy or PrivacySettings())
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


def _pois(file: Path, location: LocationSettings, privacy: PrivacySettings) -> PointsOfInterest:
    found = read_places(file)
    tree, categories = place_categories([place.categories for place in found], f"location.pois_file {file}", privacy)
    names = public_names(found)
    order = sorted(range(len(found)), key=names.__getitem__)
    places = Places(
        names=[names[i] for i in order],
        titles=[found[i].name for i in order],
        ids=[found[i].id for i in order],
        lat_deg=np.array([found[i].lat for i in order]),
        lon_deg=np.array([found[i].lon for i in order]),
        categories=[categories[i] for i in order],
    )
    cells = MetricGrid(location.cell_m)
    return PointsOfInterest(
        places, tree, cells=cells, distance_m=location.poi_distance_m, agreement=location.poi_agreement
    )


def _degrees(text: str, limit: int, where: str) -> float:
    try:
        value = to_number(text)
    except ValueError:
        value = np.nan
    if not abs(value) <= limit:
        raise SettingsError(f"{where} must be a number from -{limit} to {limit}, degrees")
    return value
