"""GeoParquet: which columns of a Parquet file are geometries, and their values as GeoJSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stream.formats.files.arrow_values import stored
from stream.formats.files.form_error import FormError
from stream.formats.input.positions.wkb import geometry_from

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["geometries", "geometry_columns"]


def geometries(column: pa.Array) -> list[dict[str, Any] | None]:
    """Return the geometries of a column, None for what is no geometry."""
    return [_geometry(value) for value in stored(column).to_pylist()]


def geometry_columns(schema: pa.Schema) -> frozenset[str]:
    """Return the columns that hold geometries, by the metadata of GeoParquet 1 or by the types of Parquet itself.

    Raises:
        FormError: A geometry has coordinates that are not degrees.
    """
    found = {
        field.name
        for field in schema
        if (field.metadata or {}).get(b"ARROW:extension:name", b"").startswith(b"geoarrow")
    }
    found |= {field.name for field in schema if str(getattr(field.type, "extension_name", "")).startswith("geoarrow")}
    try:
        columns = json.loads((schema.metadata or {}).get(b"geo", b"{}"))["columns"]
    except (ValueError, KeyError, TypeError):
        columns = {}
    if not isinstance(columns, dict):
        return frozenset(found)
    for name, column in columns.items():
        if isinstance(column, dict) and column.get("encoding", "WKB") in {"WKB", "point"}:
            _refuse_metres(name, column.get("crs"))
            found.add(name)
    return frozenset(found)


def _refuse_metres(name: str, crs: Any) -> None:
    """Refuse a projected reference system: its metres could pass for degrees near its origin."""
    if not isinstance(crs, dict):  # by the specification a missing one is longitude and latitude, null is unknown
        return
    source = crs.get("source_crs")  # of a reference system that is bound to another
    types = [str(one.get("type")) for one in (crs, source) if isinstance(one, dict)]
    if any("Projected" in one for one in types):
        raise FormError(
            f"the geometries of its column {name[:40]} are not in degrees: write the file in longitude and latitude "
            "(EPSG:4326)"
        )


def _geometry(value: Any) -> dict[str, Any] | None:
    if isinstance(value, bytes):
        return geometry_from(value)
    if isinstance(value, dict) and value.keys() >= {"x", "y"}:
        return {"type": "Point", "coordinates": [value["x"], value["y"]]}
    return None
