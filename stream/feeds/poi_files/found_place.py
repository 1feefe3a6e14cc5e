"""A place as a file of any form describes it, and the names under which files hold its parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stream.formats.input.numbers import to_number

__all__ = [
    "CATEGORY",
    "ID",
    "LAT",
    "LON",
    "NAME",
    "CategoryPath",
    "FoundPlace",
    "PoiFileError",
    "category_paths",
    "degrees",
    "value_of",
]

CategoryPath = tuple[str, ...]
"""A category and those above it, the coarsest first."""

ID = ("id", "@id", "place_id", "poi_id", "fsq_place_id", "fsq_id", "osm_id")
NAME = ("name", "names.primary", "title", "venue", "venue_name", "place", "poi")
LAT = ("lat", "latitude", "y")
LON = ("lon", "lng", "long", "longitude", "x")
CATEGORY = ("category", "taxonomy.hierarchy", "categories.primary", "categories", "fsq_category_labels", "type")
"""Names of columns and properties, in order of preference; case does not count. A point stands between a structure of
Overture's and its member."""


class PoiFileError(Exception):
    """A file of places is wrong.

    Args:
        rule: What is wrong and what is allowed, without the setting and the file.
        where: The place of the file that is wrong, such as ``line 3``; empty if it is the file as a whole.
    """

    def __init__(self, rule: str, where: str = "") -> None:
        super().__init__(rule)
        self.where = where


class FoundPlace(NamedTuple):
    """A place of a file."""

    where: str
    """Where it is in the file, such as ``line 3``."""

    id: str
    """Empty if the file gives none."""

    name: str
    lat: float
    lon: float
    """Degrees, in range or not."""

    categories: tuple[CategoryPath, ...]
    """Its category by each column that has one, the preferred first."""

    def __repr__(self) -> str:
        """Show where it is in the file."""
        return f"FoundPlace({self.where})"


def category_paths(values: Iterable[Any]) -> tuple[CategoryPath, ...]:
    """Return the paths of the values that are categories: texts such as ``Food > Bakery``, or lists.

    A list is one path, unless its first element is: then it lists several categories, of which the first counts.

    >>> category_paths([None, "Food>Bakery", ["food", "bakery"], ["Food > Bakery", "Shop"]])
    (('Food', 'Bakery'), ('food', 'bakery'), ('Food', 'Bakery'))
    """
    found = []
    for value in values:
        texts = [str(one) for one in value if one is not None] if isinstance(value, list) else [str(value or "")]
        if texts and ">" in texts[0]:
            texts = texts[0].split(">")
        if path := tuple(text for one in texts if (text := " ".join(one.split()))):
            found.append(path)
    return tuple(found)


def degrees(value: Any) -> float:
    """Return a coordinate that is a number or a text, perhaps with a decimal comma; NaN for what is neither.

    >>> degrees("48.2"), degrees("48,2"), degrees(None)
    (48.2, 48.2, nan)
    """
    try:
        return to_number(value, "," if "," in value else ".") if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return math.nan


def value_of(properties: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values of some names that properties have, in any case, also inside structures; None is none."""
    folded = {name.casefold(): value for name, value in properties.items()}
    for name in names:
        at: Any = folded.get(name)
        outer, _, inner = name.partition(".")
        if at is None and inner and isinstance(structure := folded.get(outer), dict):
            at = structure.get(inner)
        if at is not None and not isinstance(at, dict):
            yield at
