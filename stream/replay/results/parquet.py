"""Results as Parquet: the flat rows with a geometry, which makes them GeoParquet 1.1."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from stream.formats.input.encodings.extras import needs_extra
from stream.formats.release.rows import ReleaseRow
from stream.formats.release.tables import TableColumn
from stream.replay.results.part_files import PartFiles
from stream.replay.results.tables import TableFiles

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetFiles"]

_ROWS_OF_A_GROUP = 50_000
_POINT = struct.Struct("<BIdd")
_GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    # Without a crs, coordinates are longitude and latitude in WGS 84 (OGC:CRS84).
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}


class ParquetFiles(TableFiles):
    """Tables as Parquet; those with positions have the column ``geometry``.

    Args:
        files: Where to write.
        model: The model of the releases.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """

    def __init__(self, files: PartFiles, model: str) -> None:
        with needs_extra("parquet", "pyarrow"):
            import pyarrow  # noqa: F401, PLC0415 - an extra, loaded where it is used
        self._files = files
        self._tables: dict[str, _Table] = {}
        super().__init__(model)

    def begin(self, table: str, columns: Sequence[TableColumn]) -> None:
        """See :meth:`TableFiles.begin`."""
        self._tables[table] = _Table(self._files, f"{table}.parquet", columns)

    def write(self, table: str, rows: Iterable[ReleaseRow]) -> None:
        """See :meth:`TableFiles.write`."""
        self._tables[table].write(rows)

    def end(self) -> None:
        """See :meth:`TableFiles.end`."""
        for table in self._tables.values():
            table.end()


class _Table:
    """One Parquet file, written in groups of rows."""

    def __init__(self, files: PartFiles, name: str, columns: Sequence[TableColumn]) -> None:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._columns = columns
        fields = [pa.field(column.name, _arrow_type(column)) for column in columns]
        self._is_geographic = any(column.name == "lat" for column in columns)
        metadata = None
        if self._is_geographic:
            fields.append(pa.field("geometry", pa.binary()))
            metadata = {"geo": json.dumps(_GEO)}
        self._schema = pa.schema(fields, metadata=metadata)
        self._writer = pq.ParquetWriter(files.part(name), self._schema, compression="zstd")
        self._rows: list[ReleaseRow] = []

    def write(self, rows: Iterable[ReleaseRow]) -> None:
        """Keep rows, and write them when they are enough."""
        self._rows.extend(rows)
        if len(self._rows) >= _ROWS_OF_A_GROUP:
            self._flush()

    def end(self) -> None:
        """Write the rest, and the end of the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        if not self._rows:
            return
        values = [[_value(row.get(column.name), column) for row in self._rows] for column in self._columns]
        if self._is_geographic:
            values.append([_point(row.get("lat"), row.get("lon")) for row in self._rows])
        arrays = [pa.array(column, field.type) for column, field in zip(values, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


def _arrow_type(column: TableColumn) -> pa.DataType:
    import pyarrow as pa  # noqa: PLC0415

    types = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
        "instant": pa.timestamp("ms", tz="UTC"),
        "texts": pa.list_(pa.string()),
        "json": pa.string(),
    }
    return types[column.type]


def _value(value: Any, column: TableColumn) -> Any:
    if value is None:
        return None
    if column.type == "instant":
        return datetime.fromisoformat(value)
    return msgspec.json.encode(value).decode() if column.type == "json" else value


def _point(lat: float | None, lon: float | None) -> bytes | None:
    """Return a position as well-known binary: little-endian, a point, x and y."""
    return None if lat is None or lon is None else _POINT.pack(1, 1, lon, lat)
