"""Places in Parquet, as Overture Maps and Foursquare publish them, or with plain columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import shapely

from stream.feeds.poi_files.found_place import (
    CATEGORY,
    ID,
    LAT,
    LON,
    NAME,
    FoundPlace,
    PoiFileError,
    category_paths,
    degrees,
    value_of,
)
from stream.formats.files.columns import in_words
from stream.formats.files.form_error import FormError
from stream.formats.files.geoparquet import geometry_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["parquet_places"]

_BATCH = 20_000

_LEAST_CONFIDENCE = 0.5
"""Of Overture's ``confidence`` that a place exists; 0 is certain that it does not."""

_OTHERS = ("geometry", "bbox", "confidence")


def parquet_places(stream: IO[bytes]) -> Iterator[FoundPlace]:
    """Yield the rows that have a name and, if they say so, exist with a confidence of at least a half.

    Raises:
        PoiFileError: pyarrow is not installed, the file is damaged, or a column is missing.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, needed here alone
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise PoiFileError("is Parquet, which needs pyarrow: pip install 'shoal[parquet]'") from None
    try:
        file = pq.ParquetFile(stream)
        columns = _columns(file.schema_arrow)
        geometry_columns(file.schema_arrow)  # refuses metres
        number = 0
        for batch in file.iter_batches(_BATCH, columns=columns):
            points = _points(batch)
            for row, point in zip(batch.to_pylist(), points, strict=True):
                number += 1
                name = next(value_of(row, NAME), None)
                if name and (row.get("confidence") is None or row["confidence"] >= _LEAST_CONFIDENCE):
                    lat, lon = _position(row) if point is None else point
                    own_id = str(next(value_of(row, ID), ""))
                    yield FoundPlace(
                        f"row {number}", own_id, str(name), lat, lon, category_paths(value_of(row, CATEGORY))
                    )
    except FormError as fault:
        raise PoiFileError(str(fault)) from None
    except (pa.ArrowException, OSError):
        raise PoiFileError("is damaged, or no Parquet that pyarrow reads") from None


def _columns(schema: pa.Schema) -> list[str]:
    """Return the columns to read.

    Raises:
        PoiFileError: There is no column of names, or none of positions.
    """
    wanted = {name.partition(".")[0] for name in chain(ID, NAME, LAT, LON, CATEGORY, _OTHERS)}
    found = [name for name in schema.names if name.casefold() in wanted]
    folded = {name.casefold() for name in found}
    has_name = not folded.isdisjoint({*NAME, "names"})
    has_position = bool(folded & {"geometry", "bbox"} or (folded & {*LAT} and folded & {*LON}))
    if not has_name or not has_position:
        raise PoiFileError(
            f"must have a column name or names, and geometry, bbox, or lat and lon; it has {in_words(schema.names)}"
        )
    return found


def _points(batch: pa.RecordBatch) -> list[tuple[float, float] | None]:
    """Return latitude and longitude by the column ``geometry``; None for rows whose geometry is missing or wrong."""
    name = next((one for one in batch.schema.names if one.casefold() == "geometry"), None)
    if name is None:
        return [None] * len(batch)
    column = batch.column(name)
    values = getattr(column, "storage", column).to_pylist()
    shapes = shapely.from_wkb([one if isinstance(one, bytes) else None for one in values], on_invalid="ignore")
    points = shapely.point_on_surface(shapes)
    found = zip(shapely.get_y(points).tolist(), shapely.get_x(points).tolist(), strict=True)
    return [None if math.isnan(lat) else (lat, lon) for lat, lon in found]


def _position(row: dict[str, Any]) -> tuple[float, float]:
    """Return latitude and longitude by the columns of numbers, or the middle of ``bbox``."""
    lat, lon = (degrees(next(value_of(row, names), None)) for names in (LAT, LON))
    if isinstance(box := row.get("bbox"), dict):
        south, north, west, east = (degrees(box.get(edge)) for edge in ("ymin", "ymax", "xmin", "xmax"))
        return (south + north) / 2, (west + east) / 2
    return lat, lon
