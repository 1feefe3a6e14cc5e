"""The taxonomy of a feed's locations."""

from __future__ import annotations

from pathlib import Path

from core.places.locate import Locator, Venues
from core.places.meaning import OwnTaxonomy, Taxonomy, VenueTaxonomy
from core.places.pois import PointsOfInterest
from stream.feeds.csv_tables import read_table
from stream.feeds.digests import file_label
from stream.feeds.place_categories import CATEGORIES, place_categories, taxonomy_file
from stream.feeds.poi_files.found_place import category_paths
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["build_taxonomy", "category_taxonomy"]


def build_taxonomy(settings: KindSettings, locator: Locator) -> Taxonomy:
    """Build the taxonomy of a feed's locations.

    Raises:
        SettingsError: A file cannot be read, is not a taxonomy, or leaves a venue out.
    """
    if settings.privacy.taxonomy == "own" or (found := category_taxonomy(settings, locator)) is None:
        return OwnTaxonomy(locator)
    return found


def category_taxonomy(settings: KindSettings, locator: Locator) -> VenueTaxonomy | None:
    """Build the taxonomy by the categories of venues or places; None if locations are neither.

    Raises:
        SettingsError: A file cannot be read, is not a taxonomy, or leaves a venue out.
    """
    file = taxonomy_file(settings.privacy)
    if isinstance(locator, PointsOfInterest):
        return VenueTaxonomy(locator.tree, locator.category_of, _label(file), locator)
    if not isinstance(locator, Venues):
        return None
    source = f"location.venues_file {settings.location.venues_file}"
    if settings.location.venues_file is None:
        raise SettingsError("location.venues_file is not set: privacy.taxonomy needs the category of each venue")
    rows = [
        row.values for row in read_table(settings.location.venues_file, "location.venues_file", ("venue", "category"))
    ]
    # A tree of a file may have the venues themselves as leaves, as `shoal taxonomy make` writes them.
    named = [category_paths([given]) + (((venue,),) if file is not None else ()) for venue, given in rows]
    tree, categories = place_categories(named, source, settings.privacy)
    category_of = {venue: one for (venue, _), one in zip(rows, categories, strict=True) if one is not None}
    return VenueTaxonomy(tree, category_of, _label(file), locator)


def _label(file: Path | None) -> str:
    return CATEGORIES if file is None else file_label(file)
