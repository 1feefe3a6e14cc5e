"""What locations mean: taxonomies and utility constraints from files, checked before anything starts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from core.anonymize.least_loss import LeastLossOptions, Prices
from core.generalize import (
    Auto,
    Constraints,
    Generalizer,
    LeastLoss,
    LevelConstraints,
    ListedConstraints,
    OwnTaxonomy,
    SDSeqAnon,
    SeqAnon,
    Taxonomy,
    USeqAnon,
    VenueTaxonomy,
)
from core.identity import Names, canonical
from core.locate import Locator, Venues
from core.taxonomy import Categories, TaxonomyError
from stream.settings import KindSettings, SettingsError
from stream.tables import find_name, read_table, wrong_line

__all__ = ["categories", "generalizer", "semantic_files", "sensitive_locations", "taxonomy"]


def generalizer(settings: KindSettings, locator: Locator) -> Generalizer:
    """Build the algorithm of check-ins, with what it has to know of the locations.

    Raises:
        SettingsError: A file cannot be read, is no taxonomy or no partition, or leaves a location out.
    """
    if settings.privacy.model == "sd-seqanon":
        return SDSeqAnon(taxonomy(settings, locator))
    if settings.privacy.model == "u-seqanon":
        return USeqAnon(_constraints(settings, locator), settings.privacy.suppression_percent)
    if settings.privacy.model in {"least-loss", "auto"}:
        return _least_loss(settings, locator)
    return SeqAnon()


def _least_loss(settings: KindSettings, locator: Locator) -> Generalizer:
    privacy = settings.privacy
    prices = Prices(suppression=privacy.suppression_price, split=privacy.split_price)
    model = LeastLoss(
        LeastLossOptions(
            prices=prices,
            max_suppressed_percent=privacy.max_suppressed,
            max_split_percent=privacy.max_split,
        )
    )
    if privacy.model == "least-loss":
        return model
    return Auto((model, SeqAnon(), SDSeqAnon(taxonomy(settings, locator))), prices, privacy.max_work)


def sensitive_locations(settings: KindSettings, locator: Locator) -> frozenset[str]:
    """Return the names of the locations that ``privacy.sensitive_locations`` names.

    Raises:
        SettingsError: A category is none of the taxonomy, or a venue none of the vocabulary.
    """
    setting, named = "privacy.sensitive_locations", settings.privacy.sensitive_locations
    categories_named = [name.removeprefix("category:") for name in named if name.startswith("category:")]
    found = {name for name in named if not name.startswith("category:")}
    if isinstance(locator, Venues):
        found = {
            _found(name, venues, locator.names, f"{setting} names", "a venue of location.venues_file")
            for venues in [Names(locator.names)]
            for name in sorted(found)
        }
    if not categories_named:
        return frozenset(found)
    tree = taxonomy(settings, locator)
    if not isinstance(tree, VenueTaxonomy):
        raise SettingsError(f"{setting} names a category: it needs location.kind venues and a file in privacy.taxonomy")
    known = list(tree.categories.parent_of)
    names = Names(known)
    wanted = {
        _found(name, names, known, f"{setting} names the category", "one of privacy.taxonomy")
        for name in categories_named
    }
    return frozenset(
        found | {venue for venue, own in tree.category_of.items() if wanted.intersection(tree.categories.path(own))}
    )


def _found(name: str, names: Names, known: Sequence[str], setting: str, allowed: str) -> str:
    """Return the name of a list that a setting means."""
    if (found := find_name(name, names, known)) is None:
        is_several = any(canonical(one) == canonical(name) for one in known)
        how = ", spelled as it is there, for several differ in their spelling alone" if is_several else ""
        raise SettingsError(f"{setting} {name.strip()!r}: it must be {allowed}{how}")
    return found


def semantic_files(settings: KindSettings) -> list[Path]:
    """Return the files that decide how locations are generalized; their content is part of a release's settings."""
    privacy = settings.privacy
    named = [privacy.taxonomy if privacy.taxonomy != "own" else None, privacy.constraints]
    return [Path(name) for name in named if name is not None and not _level(name)]


def taxonomy(settings: KindSettings, locator: Locator) -> Taxonomy:
    """Build the taxonomy of a feed's locations.

    Raises:
        SettingsError: A file cannot be read, is no taxonomy, or leaves a venue out.
    """
    name = settings.privacy.taxonomy
    if name == "own" or not isinstance(locator, Venues):
        return OwnTaxonomy(locator)
    file, setting = Path(name), "privacy.taxonomy"
    tree = categories(file, setting)
    known = list(tree.parent_of)
    names, default = Names(known), settings.privacy.default_category
    if default is not None:
        default = _found(default, names, known, "privacy.default_category is", f"a category of {setting} {file}")

    def category(name: str) -> str | None:
        return find_name(name, names, known) or default

    category_of = _categories_of_venues(settings, locator, category)
    return VenueTaxonomy(tree, category_of, _named(file))


def categories(file: Path, setting: str) -> Categories:
    """Read a tree of categories, a CSV with the header ``category,parent``.

    Args:
        file: The file.
        setting: The setting that names it.

    Raises:
        SettingsError: It cannot be read, or is no tree.
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


def _constraints(settings: KindSettings, locator: Locator) -> Constraints:
    privacy = settings.privacy
    name = privacy.constraints or ""
    if (level := _level(name)) is not None:
        return LevelConstraints(taxonomy(settings, locator), level)
    file, setting = Path(name), "privacy.constraints"
    known = locator.names if isinstance(locator, Venues) else []
    venues = Names(known)
    constraint_of: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for line, (location, constraint) in read_table(file, setting, ("location", "constraint")):
        if not constraint:
            raise wrong_line(setting, file, line, "the location has no constraint: every row needs one")
        name = find_name(location, venues, known) or location
        first = line_of.setdefault(name, line)
        if constraint_of.setdefault(name, constraint) != constraint:
            raise wrong_line(
                setting, file, line, f"the location has another constraint in line {first}: it must have one"
            )
    listed = sorted(set(constraint_of.values()))
    default = privacy.default_constraint
    if default is not None:
        default = find_name(default, Names(listed), listed) or default
    if default is None:
        left_out = (
            [venue for venue in locator.names if venue not in constraint_of] if isinstance(locator, Venues) else None
        )
        if left_out is None or left_out:
            how_many = (
                "locations that are not listed may occur"
                if left_out is None
                else f"{len(left_out)} venues are not listed"
            )
            raise SettingsError(f"{setting} {file}: {how_many}: set privacy.default_constraint")
    return ListedConstraints(constraint_of, default, _named(file))


def _level(name: str) -> int | None:
    match = re.fullmatch(r"level:([1-9]\d?)", name)
    return int(match[1]) if match else None


def _named(file: Path) -> str:
    """Name a file by what it is called and what it says: a release tells which it was made with."""
    return f"{file.stem}:{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}"
