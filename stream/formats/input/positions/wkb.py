"""Well-known binary: the geometries of columns, as GeoJSON."""

from __future__ import annotations

import math
import struct
from typing import Any

__all__ = ["geometry_from"]

_NAMES = {
    1: "Point",
    2: "LineString",
    3: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    7: "GeometryCollection",
}
_Z, _M, _SRID = 0x80000000, 0x40000000, 0x20000000
"""Flags of the extended form, which PostGIS and older programs write."""


def geometry_from(wkb: bytes) -> dict[str, Any] | None:
    """Decode a geometry, by ISO 13249-3 (5.1.68) or in PostGIS' extended form.

    Args:
        wkb: The bytes.

    Returns:
        A geometry of GeoJSON. Points and line strings have ``coordinates``, without measures; a point without a
        position has none. One in another system than EPSG:4326 says so in ``crs``, as GeoJSON did. Of all other
        geometries only ``type`` is read. None if the bytes are no geometry.

    >>> geometry_from(bytes.fromhex("0101000000" "0000000000003040" "0000000000004840"))
    {'type': 'Point', 'coordinates': [16.0, 48.0]}
    """
    try:
        order = {0: ">", 1: "<"}[wkb[0]]
        (code,) = struct.unpack_from(f"{order}I", wkb, 1)
        (srid,), at = (struct.unpack_from(f"{order}I", wkb, 5), 9) if code & _SRID else ((0,), 5)
        crs = {} if srid in {0, 4326} else {"crs": {"type": "name", "properties": {"name": f"EPSG:{srid}"}}}
        kind, extra = code & 0xFFFF, bool(code & _Z) + bool(code & _M)
        n_dimensions = 2 + (extra or (0, 1, 1, 2)[kind // 1000])
        has_z = bool(code & _Z) or kind // 1000 in {1, 3}
        name = _NAMES[kind % 1000]
        if name == "Point":
            values = struct.unpack_from(f"{order}{n_dimensions}d", wkb, at)
            return {"type": name, **crs, "coordinates": [] if math.isnan(values[0]) else list(values[: 2 + has_z])}
        if name == "LineString":
            n = min(struct.unpack_from(f"{order}I", wkb, at)[0], len(wkb))  # a damaged number must not cost memory
            values = struct.unpack_from(f"{order}{n * n_dimensions}d", wkb, at + 4)
            starts = range(0, len(values), n_dimensions)
            return {"type": name, **crs, "coordinates": [list(values[i : i + 2 + has_z]) for i in starts]}
    except (KeyError, IndexError, struct.error):
        return None
    return {"type": name}
