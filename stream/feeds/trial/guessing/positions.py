"""Where in some records the position is: two fields by their names, a list, or one text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stream.feeds.trial.guessing.names import LATITUDES, LONGITUDES, PAIRS, normal, rank
from stream.feeds.trial.guessing.shape import ShapeLeaf
from stream.feeds.trial.guessing.values import degrees_unit, most, numbers_of
from stream.formats.input.paths import NOWHERE, path_from

__all__ = [
    "IN_METRES_TOO",
    "columns_of",
    "named_pair",
    "positive_west_or_south",
    "signs_beside",
    "standard_pair",
    "text_pair",
    "unordered_pair",
]

IN_METRES_TOO = frozenset({"x", "y", "xcoord", "ycoord"})
"""Names of positions that may be metres of a plan as well as degrees."""

_OF_LATITUDE, _OF_LONGITUDE = frozenset({"n", "s", "north", "south"}), frozenset({"e", "w", "east", "west"})
_NAME_OF_SIGN = re.compile("lat|lon|lng|hemi|^ns$|^ew$|northsouth|eastwest")
_BINARY = re.compile(r"(?:\\X|0X)?0[01][0-9A-F]{40,80}|A[A-Z0-9+/]{27,54}={0,2}")
"""Well-known binary, as hexadecimal digits or Base64, in upper case."""

_LAST_WORD = re.compile(r"[^\W_]*?([A-Z]?[a-z]+|[A-Z]+)$")


def named_pair(leaves: Sequence[ShapeLeaf], decimal: str) -> tuple[ShapeLeaf, ShapeLeaf] | None:
    """Return latitude and longitude by their names: beside each other, and with numbers that can be them."""
    pairs: list[tuple[bool, int, int, ShapeLeaf, ShapeLeaf]] = []
    for lat, lon in _beside(leaves):
        ranks = rank(lat.parts, LATITUDES), rank(lon.parts, LONGITUDES)
        if None not in ranks and degrees_unit(*columns_of([lat, lon], decimal)) is not None:
            is_other = _without_word(lat) != _without_word(lon)
            pairs.append((is_other, len(lat.parts), sum(one or 0 for one in ranks), lat, lon))
    best = min(pairs, key=lambda pair: pair[:3], default=None)
    return None if best is None else best[3:]


def _without_word(leaf: ShapeLeaf) -> str:
    """Return what is left of a name without the word for latitude or longitude: the same for both of a pair."""
    return re.sub("latitude|longitude|long|lat|lon|lng|x|y", "", normal(leaf.parts[-1]), count=1)


def _beside(leaves: Sequence[ShapeLeaf]) -> Iterator[tuple[ShapeLeaf, ShapeLeaf]]:
    named = [leaf for leaf in leaves if leaf.index is None]
    lats = [leaf for leaf in named if rank(leaf.parts, LATITUDES) is not None]
    for lat in lats:
        for lon in named:
            if lat.parts[:-1] == lon.parts[:-1] and lat is not lon:
                yield lat, lon


def standard_pair(leaves: Sequence[ShapeLeaf]) -> tuple[ShapeLeaf, ShapeLeaf] | None:
    """Return latitude and longitude in a list whose order a standard (GeoJSON), or its name, says."""
    by_place = {(leaf.parts, leaf.index): leaf for leaf in leaves}
    for leaf in leaves:
        if leaf.index != 0:
            continue
        order = (1, 0) if leaf.parts[-1] == "coordinates" else PAIRS.get(normal(leaf.parts[-1]))
        if order is not None and all((leaf.parts, i) in by_place for i in order):
            lat, lon = (by_place[leaf.parts, i] for i in order)
            if degrees_unit(*columns_of([lat, lon], ".")) == 1.0:
                return lat, lon
    return None


def text_pair(leaves: Sequence[ShapeLeaf]) -> tuple[ShapeLeaf, ShapeLeaf] | None:
    """Return latitude and longitude in one text whose form, or name, says their order."""
    for leaf in leaves:
        texts = _texts(leaf)
        order = _order_in(leaf, texts[0].strip().upper()) if texts else None
        if order is not None:
            lat, lon = (_in_texts(leaf, texts, i) for i in order)
            if degrees_unit(*columns_of([lat, lon], ".")) == 1.0:
                return lat, lon
    return None


def unordered_pair(leaves: Sequence[ShapeLeaf]) -> ShapeLeaf | None:
    """Return a list or a text with two numbers that may be a position, in an order that nothing says."""
    for leaf in leaves:
        if leaf.index == 1 and degrees_unit(*columns_of([leaf, leaf], ".")) == 1.0:
            return leaf
        texts = _texts(leaf)
        both = [_in_texts(leaf, texts, i) for i in (0, 1)]
        numbers = columns_of(both, ".")
        if texts and degrees_unit(*numbers) == 1.0 and most(i < len(numbers[0]) for i in range(len(texts))):
            return leaf
    return None


def _texts(leaf: ShapeLeaf) -> list[str]:
    return [value for value in leaf.values if isinstance(value, str)] if leaf.index is None else []


def _in_texts(leaf: ShapeLeaf, texts: Sequence[str], index: int) -> ShapeLeaf:
    path = path_from(f"x[{index}]")
    return ShapeLeaf(leaf.parts, index, values=[path({"x": text}, NOWHERE) for text in texts])


def _order_in(leaf: ShapeLeaf, first: str) -> tuple[int, int] | None:
    """Return where latitude and longitude are in texts, by the first of them, or by their name."""
    if first.startswith("GEO:") or "°" in first:
        return 0, 1
    is_well_known = first.startswith(("POINT", "SRID=4326")) or _BINARY.fullmatch(first) is not None
    return (1, 0) if is_well_known else PAIRS.get(normal(leaf.parts[-1]))


def signs_beside(
    leaves: Sequence[ShapeLeaf], pair: tuple[ShapeLeaf, ShapeLeaf], decimal: str
) -> tuple[ShapeLeaf | None, ShapeLeaf | None]:
    """Return the fields with the hemispheres of a latitude and a longitude; None where the number has its own sign.

    A field with north and south alone may be the direction of somebody: it counts if it has a partner, or by its name.
    """
    lat, lon = (
        next((leaf for leaf in leaves if leaf.parts[:-1] == one.parts[:-1] and _are_all(leaf, words)), None)
        for one, words in zip(pair, (_OF_LATITUDE, _OF_LONGITUDE), strict=True)
    )
    is_sure = (lat is not None and lon is not None) or any(
        one is not None and _NAME_OF_SIGN.search(normal(one.parts[-1])) for one in (lat, lon)
    )
    found = [
        sign if is_sure and not any(number < 0 for number in numbers) else None
        for sign, numbers in zip((lat, lon), columns_of(pair, decimal), strict=True)
    ]
    return found[0], found[1]


def _are_all(leaf: ShapeLeaf, words: frozenset[str]) -> bool:
    return (
        leaf.index is None
        and bool(leaf.values)
        and all(isinstance(one, str) and one.strip().casefold() in words for one in leaf.values)
    )


def positive_west_or_south(leaf: ShapeLeaf, decimal: str) -> str | None:
    """Return ``W`` or ``S`` if the name of a field, such as ``longitude_W``, may say that its numbers count there."""
    is_latitude = rank(leaf.parts, LATITUDES) is not None
    last = _LAST_WORD.search(leaf.parts[-1])
    if leaf.index is not None or last is None or any(number < 0 for number in numbers_of(leaf.values, decimal)):
        return None
    return {("s", True): "S", ("south", True): "S", ("w", False): "W", ("west", False): "W"}.get(
        (last[1].casefold(), is_latitude)
    )


def columns_of(leaves: Sequence[ShapeLeaf], decimal: str) -> list[list[float]]:
    """Return the numbers among the values of some paths."""
    return [numbers_of(leaf.values, decimal) for leaf in leaves]
