"""Places in an extract of OpenStreetMap: whatever has a name and a tag of an amenity, a shop and so on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import shapely

from stream.feeds.poi_files.found_place import CategoryPath, FoundPlace, PoiFileError

__all__ = ["KEYS", "is_osm", "osm_places"]

KEYS = (
    "amenity",
    "healthcare",
    "shop",
    "tourism",
    "leisure",
    "office",
    "craft",
    "historic",
    "public_transport",
    "railway",
    "aeroway",
)
"""Keys of the tags that make a place, in the order in which they give its category."""

_ONLY = {
    "public_transport": {"station"},
    "railway": {"station", "halt", "tram_stop", "subway_entrance"},
    "aeroway": {"aerodrome", "terminal", "heliport"},
}
"""Values of the keys that mostly describe parts of a network."""

_NOTHING = {"no", "vacant", "disused", "abandoned"}


def is_osm(file: Path) -> bool:
    """Whether a file is an extract by its name: ``.osm.pbf``, ``.pbf`` or ``.osm``, which may be compressed."""
    return file.name.endswith((".pbf", ".osm", ".osm.gz", ".osm.bz2"))


def osm_places(file: Path) -> Iterator[FoundPlace]:
    """Yield the nodes, closed ways and multipolygons that have a name and a tag of :data:`KEYS`.

    An area is where its representative point is, which lies inside it. Other ways and relations are no places.

    Raises:
        PoiFileError: osmium is not installed, or the file is damaged.
    """
    try:
        import osmium  # noqa: PLC0415 - an extra, needed here alone
    except ImportError:
        raise PoiFileError("is OpenStreetMap, which needs osmium: pip install 'shoal[osm]'") from None
    keys = osmium.filter.KeyFilter(*KEYS)
    outlines = osmium.geom.WKBFactory()
    try:
        for one in osmium.FileProcessor(str(file)).with_areas(keys).with_filter(keys):
            if not isinstance(one, osmium.osm.Node | osmium.osm.Area):
                continue
            tags = {tag.k: tag.v for tag in one.tags}
            name, path = tags.get("name", ""), osm_category(tags)
            if not name.strip() or path is None:
                continue
            if isinstance(one, osmium.osm.Node):
                at = one.location
                lat, lon = (at.lat, at.lon) if at.valid() else (math.nan, math.nan)
                yield FoundPlace(f"node {one.id}", f"n{one.id}", name, lat, lon, (path,))
            else:
                point = shapely.point_on_surface(shapely.from_wkb(outlines.create_multipolygon(one)))
                kind, number = "way" if one.from_way() else "relation", one.orig_id()
                yield FoundPlace(f"{kind} {number}", f"{kind[0]}{number}", name, point.y, point.x, (path,))
    except osmium.InvalidLocationError:
        raise PoiFileError("has a position that is no number of degrees") from None
    except RuntimeError as fault:  # of osmium; it names bytes and elements of XML, no position
        raise PoiFileError(f"is damaged, or no extract of OpenStreetMap ({fault})") from None


def osm_category(tags: Mapping[str, str]) -> CategoryPath | None:
    """Return the first tag of :data:`KEYS` below its key; None if there is none.

    >>> osm_category({"name": "Nord", "healthcare": "clinic", "amenity": "clinic;doctors"})
    ('amenity', 'amenity=clinic')
    """
    for key in KEYS:
        value = tags.get(key, "").partition(";")[0].strip()
        if value and value not in _NOTHING and value in _ONLY.get(key, {value}):
            return key, f"{key}={value}"
    return None
