"""The locations that the settings call sensitive, by name or by category."""

from __future__ import annotations

from core.places.drawn_regions import DrawnRegions
from core.places.locate import Locator, Venues
from core.places.meaning import VenueTaxonomy
from core.records.identity import Names
from stream.feeds.csv_tables import listed_name
from stream.feeds.taxonomies import build_taxonomy
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["sensitive_locations"]


def sensitive_locations(settings: KindSettings, locator: Locator) -> frozenset[str]:
    """Return the names of the locations that ``privacy.sensitive_locations`` names.

    Raises:
        SettingsError: A category is not in the taxonomy, or a venue is not in the vocabulary.
    """
    setting, named = "privacy.sensitive_locations", settings.privacy.sensitive_locations
    categories_named = [name.removeprefix("category:") for name in named if name.startswith("category:")]
    found = {name for name in named if not name.startswith("category:")}
    if isinstance(locator, Venues | DrawnRegions):
        allowed = (
            "a venue of location.venues_file" if isinstance(locator, Venues) else "a region of location.regions_file"
        )
        found = {
            listed_name(name, venues, locator.names, f"{setting} names", allowed)
            for venues in [Names(locator.names)]
            for name in sorted(found)
        }
    if not categories_named:
        return frozenset(found)
    tree = build_taxonomy(settings, locator)
    if not isinstance(tree, VenueTaxonomy):
        raise SettingsError(f"{setting} names a category: it needs location.kind venues and a file in privacy.taxonomy")
    known = list(tree.categories.parent_of)
    names = Names(known)
    wanted = {
        listed_name(name, names, known, f"{setting} names the category", "one of privacy.taxonomy")
        for name in categories_named
    }
    return frozenset(
        found | {venue for venue, own in tree.category_of.items() if wanted.intersection(tree.categories.path(own))}
    )
