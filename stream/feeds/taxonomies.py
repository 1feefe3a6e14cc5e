"""Trees of categories from files, and the taxonomy of a feed's locations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.places.locate import Locator, Venues
from core.places.meaning import OwnTaxonomy, Taxonomy, VenueTaxonomy
from core.places.taxonomy import Categories, TaxonomyError
from core.records.identity import Names
from stream.feeds.csv_tables import find_name, listed_name, read_table
from stream.feeds.digests import file_label
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["build_taxonomy", "read_categories"]


def build_taxonomy(settings: KindSettings, locator: Locator) -> Taxonomy:
    """Build the taxonomy of a feed's locations.

    Raises:
        SettingsError: A file cannot be read, is not a taxonomy, or leaves a venue out.
    """
    name = settings.privacy.taxonomy
    if name == "own" or not isinstance(locator, Venues):
        return OwnTaxonomy(locator)
    file, setting = Path(name), "privacy.taxonomy"
    tree = read_categories(file, setting)
    known = list(tree.parent_of)
    names, default = Names(known), settings.privacy.default_category
    if default is not None:
        default = listed_name(default, names, known, "privacy.default_category is", f"a category of {setting} {file}")

    def category(name: str) -> str | None:
        return find_name(name, names, known) or default

    category_of = _categories_of_venues(settings, locator, category)
    return VenueTaxonomy(tree, category_of, file_label(file), locator)


def read_categories(file: Path, setting: str) -> Categories:
    """Read a tree of categories, a CSV with the header ``category,parent``.

    Args:
        file: The file.
        setting: The setting that names it.

    Raises:
        SettingsError: The file cannot be read, or is not a tree.
    """
    rows = [row.values for row in read_table(file, setting, ("category", "parent"))]
    known = list(dict.fromkeys(category for category, _ in rows))
    names = Names(known)
    try:
        return Categories.from_rows(
            (category, find_name(parent, names, known) or parent if parent else "") for category, parent in rows
        )
    except TaxonomyError as fault:
        raise SettingsError(f"{setting} {file}: {fault}") from None


def _categories_of_venues(
    settings: KindSettings, locator: Venues, category: Callable[[str], str | None]
) -> dict[str, str]:
    file = settings.location.venues_file
    if file is None:
        raise SettingsError("location.venues_file is not set: privacy.taxonomy needs the category of each venue")
    category_of: dict[str, str] = {}
    uncovered = 0
    for _, (venue, given) in read_table(file, "location.venues_file", ("venue", "category")):
        # A path such as "Food > Bakery" stands for its last part.
        if (found := category(given.rpartition(">")[2])) is not None:
            category_of[venue] = found
        else:
            uncovered += 1
    if uncovered:
        raise SettingsError(
            f"location.venues_file {file}: {uncovered} of {len(locator.names)} venues have no category of "
            "privacy.taxonomy: give them one, or set privacy.default_category"
        )
    return category_of
