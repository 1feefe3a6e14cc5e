"""The categories of venues and places: of a file in ``privacy.taxonomy``, or as they are written beside the places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.places.category_names import CategoryNames
from core.places.taxonomy import Categories, TaxonomyError
from core.records.identity import Names, canonical
from stream.feeds.csv_tables import find_name, read_table
from stream.feeds.poi_files.found_place import CategoryPath
from stream.settings.errors import SettingsError
from stream.settings.privacy import PrivacySettings

__all__ = ["CATEGORIES", "listed_category", "place_categories", "read_categories", "taxonomy_file"]

CATEGORIES = "categories"
"""Value of ``privacy.taxonomy``, and name of the taxonomy, for the categories as they are written beside the places."""

_SETTING = "privacy.taxonomy"


def taxonomy_file(privacy: PrivacySettings) -> Path | None:
    """Return the file that ``privacy.taxonomy`` names; None if it names none."""
    return None if privacy.taxonomy in {"own", CATEGORIES} else Path(privacy.taxonomy)


def place_categories(
    given: Sequence[Sequence[CategoryPath]], source: str, privacy: PrivacySettings
) -> tuple[Categories, list[str | None]]:
    """Return the tree of categories, and the category of each of ``n`` places.

    Args:
        given: What the file of the places says of the category of each, the preferred first.
        source: The setting and the file of the places, for errors.
        privacy: Names the file of the tree, and the default.

    Returns:
        The tree, and categories of it; None for places without one, which only a tree from the places themselves
        allows.

    Raises:
        SettingsError: The file of the tree does not fit, or leaves a place out.
    """
    file, default = taxonomy_file(privacy), privacy.default_category
    if file is None:
        tree = Categories.from_paths(paths[0] for paths in given if paths)
    else:
        tree = read_categories(file, _SETTING)
    names = CategoryNames(tree)
    if default is not None:
        where = "the places" if file is None else f"{_SETTING} {file}"
        default = listed_category(default, names, "privacy.default_category is", f"a category of {where}")
    found = [next(filter(None, (names.find(">".join(path)) for path in paths)), default) for paths in given]
    left_out = found.count(None)
    if left_out and file is not None:
        raise SettingsError(
            f"{source}: {left_out} of {len(found)} places have no category of {_SETTING}: give them one, or set "
            "privacy.default_category"
        )
    return tree, found


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


def listed_category(name: str, names: CategoryNames, setting: str, allowed: str) -> str:
    """Find the category that a setting refers to.

    Args:
        name: The category, in any spelling.
        names: The categories.
        setting: Start of the error message: the setting and a verb.
        allowed: What the category must be.

    Raises:
        SettingsError: The name matches no category, or several; the message offers those that are spelled alike.
    """
    if (found := names.find(name)) is not None:
        return found
    if any(canonical(one) == canonical(name) for one in names.known):
        more = ", spelled exactly like it, because several differ in their spelling alone"
    else:
        from rapidfuzz import fuzz  # noqa: PLC0415 - loaded for this message alone
        from rapidfuzz.process import extract  # noqa: PLC0415

        alike = extract(name, names.known, scorer=fuzz.WRatio, processor=canonical, limit=3, score_cutoff=60)
        more = f"; did you mean {' or '.join(repr(one) for one, _, _ in alike)}?" if alike else ""
    raise SettingsError(f"{setting} {name.strip()!r}: it must be {allowed}{more}")
