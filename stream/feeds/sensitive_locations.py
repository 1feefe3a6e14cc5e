"""The locations that the settings call sensitive, by name or by category."""

from __future__ import annotations

from core.places.category_names import CategoryNames
from core.places.drawn_regions import DrawnRegions
from core.places.locate import Locator, Venues
from core.places.pois import PointsOfInterest, is_cell_name
from core.records.identity import Names
from stream.feeds.csv_tables import listed_name
from stream.feeds.place_categories import CATEGORIES, listed_category
from stream.feeds.taxonomies import category_taxonomy
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["sensitive_locations"]

_ALLOWED: dict[type, str] = {
    Venues: "a venue of location.venues_file",
    DrawnRegions: "a region of location.regions_file",
    PointsOfInterest: "a place of location.pois_file, or a cell",
}


def sensitive_locations(settings: KindSettings, locator: Locator) -> frozenset[str]:
    """Return the names of the locations that ``privacy.sensitive_locations`` names.

    Raises:
        SettingsError: A category is not in the taxonomy, or a venue is not in the vocabulary.
    """
    setting, named = "privacy.sensitive_locations", settings.privacy.sensitive_locations
    categories_named = [name.removeprefix("category:") for name in named if name.startswith("category:")]
    found = {name for name in named if not name.startswith("category:")}
    if isinstance(locator, Venues | DrawnRegions | PointsOfInterest):
        cells = set(filter(is_cell_name, found)) if isinstance(locator, PointsOfInterest) else set()
        names = Names(locator.names)
        found = cells | {
            listed_name(name, names, locator.names, f"{setting} names", _ALLOWED[type(locator)])
            for name in sorted(found - cells)
        }
    if not categories_named:
        return frozenset(found)
    tree = category_taxonomy(settings, locator)
    if tree is None:
        raise SettingsError(
            f"{setting} names a category: this needs location.kind pois or venues, whose files have categories, not "
            f"{settings.location.kind}"
        )
    category_names = CategoryNames(tree.categories)
    of = (
        f"a category of location.{settings.location.kind}_file"
        if tree.name == CATEGORIES
        else "one of privacy.taxonomy"
    )
    wanted = {listed_category(name, category_names, f"{setting} names the category", of) for name in categories_named}
    return frozenset(
        found | {venue for venue, own in tree.category_of.items() if wanted.intersection(tree.categories.path(own))}
    )
