"""Parquet: the rows of a file of columns, one document for each, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from stream.formats.files.arrow_values import plain_values
from stream.formats.files.columns import Columns, in_words, top_levels
from stream.formats.files.form_error import FormError
from stream.formats.files.geoparquet import geometries, geometry_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetRows"]

_BATCH = 5_000
_BUFFER = 2**20
"""Bytes of a column that are read at a time, to bound the memory where a row group is large."""


class ParquetRows:
    """The rows of a Parquet file as documents: values by the names of their columns.

    A time stamp with a zone becomes an aware datetime, one without a zone a text without an offset. Dates and times of
    day become texts, decimals numbers, and UUIDs texts. Geometries of GeoParquet become GeoJSON geometries.

    Args:
        stream: The file; it must be seekable.

    Raises:
        FormError: pyarrow is not installed, the file is damaged, or its geometries are not in degrees.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        try:
            import pyarrow.parquet as pq  # noqa: PLC0415 - an extra, needed here alone
        except ImportError:
            raise FormError("is Parquet, which needs pyarrow: pip install 'shoal[parquet]'") from None
        with _Damage():
            self._file = pq.ParquetFile(stream, buffer_size=_BUFFER)
            self._schema: pa.Schema = self._file.schema_arrow
            self._geometries = geometry_columns(self._schema)
            self.n_rows: int = self._file.metadata.num_rows
        self.n_read = 0
        """Rows read so far."""
        self._chosen = self.columns

    @property
    def columns(self) -> list[str]:
        """Names of the columns; each may be a structure of further fields."""
        return list(self._schema.names)

    def choose(self, columns: Columns) -> None:
        """Read only the columns that a feed needs.

        Raises:
            FormError: The file lacks a column.
        """
        found = set(self.columns)
        if missing := [" or ".join(either) for either in columns.needed if found.isdisjoint(top_levels(either))]:
            raise FormError(f"has no column {', '.join(missing)} (fields.*); it has {in_words(self.columns)}")
        used = set(top_levels(columns.used))
        self._chosen = [name for name in self.columns if name in used]

    def read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row with its number; the first is 1.

        Raises:
            FormError: The file is damaged.
        """
        with _Damage():
            for batch in self._file.iter_batches(_BATCH, columns=self._chosen):
                names = batch.schema.names
                columns = [
                    geometries(batch.column(i)) if name in self._geometries else plain_values(batch.column(i))
                    for i, name in enumerate(names)
                ]
                rows = zip(*columns, strict=True) if columns else ((),) * len(batch)
                for row in rows:
                    self.n_read += 1
                    yield self.n_read, dict(zip(names, row, strict=True))


class _Damage:
    """Turns what pyarrow raises for damaged bytes into one error; pyarrow's own texts may repeat values."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: object) -> None:
        # All of Arrow's errors that are no ValueError are one of the others.
        if isinstance(
            fault,
            (ValueError, OSError, EOFError, MemoryError, NotImplementedError, LookupError, TypeError, ArithmeticError),
        ):
            raise FormError("is damaged, or is Parquet of a kind that pyarrow does not read") from None
