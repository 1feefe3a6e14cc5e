"""What locations mean: taxonomies and utility constraints from files, checked before anything starts."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
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
from core.locate import Locator, Venues
from core.taxonomy import Categories, TaxonomyError
from stream.settings import KindSettings, SettingsError

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
    wanted = [name.removeprefix("category:").strip() for name in named if name.startswith("category:")]
    found = {name for name in named if not name.startswith("category:")}
    if isinstance(locator, Venues) and (unknown := sorted(found.difference(locator.names))):
        raise SettingsError(f"{setting} names {unknown[0]!r}: it must be a venue of location.venues_file")
    if not wanted:
        return frozenset(found)
    tree = taxonomy(settings, locator)
    if not isinstance(tree, VenueTaxonomy):
        raise SettingsError(f"{setting} names a category: it needs location.kind venues and a file in privacy.taxonomy")
    for category in wanted:
        if category not in tree.categories.parent_of:
            raise SettingsError(f"{setting} names the category {category!r}: it must be one of privacy.taxonomy")
    return frozenset(
        found | {venue for venue, own in tree.category_of.items() if set(tree.categories.path(own)) & set(wanted)}
    )


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
    default = settings.privacy.default_category
    if default is not None and default not in tree.parent_of:
        raise SettingsError(f"privacy.default_category is {default!r}: it must be a category of {setting} {file}")
    category_of = _categories_of_venues(settings, locator, tree.parent_of, default)
    return VenueTaxonomy(tree, category_of, _named(file))


def categories(file: Path, setting: str) -> Categories:
    """Read a tree of categories, a CSV with the header ``category,parent``.

    Args:
        file: The file.
        setting: The setting that names it.

    Raises:
        SettingsError: It cannot be read, or is no tree.
    """
    try:
        return Categories.from_rows(
            (row["category"].strip(), row["parent"].strip()) for row in _rows(file, setting, ("category", "parent"))
        )
    except TaxonomyError as fault:
        raise SettingsError(f"{setting} {file}: {fault}") from None


def _categories_of_venues(
    settings: KindSettings, locator: Venues, known: Mapping[str, object], default: str | None
) -> dict[str, str]:
    file = settings.location.venues_file
    if file is None:
        raise SettingsError("location.venues_file is not set: privacy.taxonomy needs the category of each venue")
    category_of: dict[str, str] = {}
    uncovered = 0
    for row in _rows(file, "location.venues_file", ("venue", "category")):
        # A path such as "Food > Bakery" stands for its last part.
        category = row["category"].rpartition(">")[2].strip()  # names of venues stay as they are, as in records
        if category in known:
            category_of[row["venue"]] = category
        elif default is not None:
            category_of[row["venue"]] = default
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
    constraint_of: dict[str, str] = {}
    for row in _rows(file, setting, ("location", "constraint")):
        constraint = row["constraint"].strip()
        if not constraint:
            raise SettingsError(f"{setting} {file}: a location has no constraint: every row needs one")
        if constraint_of.setdefault(row["location"], constraint) != constraint:
            raise SettingsError(f"{setting} {file}: a location has two constraints: constraints are a partition")
    default = privacy.default_constraint
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


def _rows(file: Path, setting: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            if missing := [name for name in columns if name not in (reader.fieldnames or [])]:
                raise SettingsError(
                    f"{setting} {file}: needs the columns {', '.join(columns)}; {missing[0]} is missing"
                )
            for row in reader:
                yield {name: row[name] or "" for name in columns}
    except OSError as fault:
        raise SettingsError(f"{setting} {file}: cannot be read ({fault.strerror})") from None
    except (csv.Error, UnicodeDecodeError) as fault:
        raise SettingsError(f"{setting} {file}: is no CSV in UTF-8 ({type(fault).__name__})") from None


def _named(file: Path) -> str:
    """Name a file by what it is called and what it says: a release tells which it was made with."""
    return f"{file.stem}:{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}"
