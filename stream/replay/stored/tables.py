"""The tables of a release as a replay wrote them: CSV and Parquet, row by row."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from core.records.instants import rfc3339
from stream.formats.input.encodings.extras import needs_extra
from stream.formats.release.rows import ReleaseRow
from stream.formats.release.tables import column_types
from stream.formats.release.times import shortest

__all__ = ["TableRows", "csv_rows", "parquet_rows"]

TableRows = Callable[[Path], Iterator[ReleaseRow]]
"""Yields the rows of a file."""

_CELLS = 2**26
"""Characters of the longest cell, which is a list of the members of a generalized location."""

_OF_TEXT: dict[str, Callable[[str], Any]] = {
    "text": str,
    "whole": int,
    "number": float,
    "flag": lambda text: text == "true",
    "instant": shortest,
    "texts": lambda text: msgspec.json.decode(text, type=list[str | None]),
    "json": msgspec.json.decode,
}


def csv_rows(path: Path) -> Iterator[ReleaseRow]:
    """Yield the rows of a table that :class:`stream.replay.results.tables.CsvFiles` wrote.

    Raises:
        KeyError: No table has a column of this name.
        ValueError: A value does not have the type of its column.
    """
    csv.field_size_limit(_CELLS)
    with path.open(encoding="utf-8", newline="") as lines:
        read = csv.reader(lines)
        names = next(read, [])
        types = column_types(names)
        for cells in read:
            yield {
                name: _OF_TEXT[type_](text) if text else None
                for name, type_, text in zip(names, types, cells, strict=True)
            }


def parquet_rows(path: Path) -> Iterator[ReleaseRow]:
    """Yield the rows of a table that :class:`stream.replay.results.parquet.ParquetFiles` wrote.

    Raises:
        MissingExtraError: pyarrow is not installed.
        KeyError: No table has a column of this name.
        ValueError: The file is not Parquet.
    """
    with needs_extra("parquet", "pyarrow"):
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra, loaded where it is used

    file = pq.ParquetFile(path)
    names = [name for name in file.schema_arrow.names if name != "geometry"]
    types = dict(zip(names, column_types(names), strict=True))
    for batch in file.iter_batches(columns=names):
        for row in batch.to_pylist():
            yield {name: _of_arrow(value, types[name]) for name, value in row.items()}


def _of_arrow(value: Any, type_: str) -> Any:
    if isinstance(value, datetime):
        return rfc3339(round(value.timestamp() * 1000))
    return msgspec.json.decode(value) if type_ == "json" and value is not None else value
