"""The formats of results, by the names that ``shoal replay --format`` takes."""

from __future__ import annotations

from collections.abc import Callable, Collection

from stream.replay.results.features import TrajectoryFeatures, WindowFeatures
from stream.replay.results.messages import AvroFiles, NdjsonFiles
from stream.replay.results.parquet import ParquetFiles
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import Results
from stream.replay.results.tables import CsvFiles

__all__ = ["FORMATS", "open_results"]

_OPENERS: dict[str, Callable[[PartFiles, str], Results]] = {
    "ndjson": lambda files, model: NdjsonFiles(files),
    "csv": CsvFiles,
    "parquet": ParquetFiles,
    "geojson": lambda files, model: TrajectoryFeatures.geojson(files),
    "mf-json": lambda files, model: TrajectoryFeatures.mf_json(files),
    "avro": lambda files, model: AvroFiles(files),
}
"""Open the files of a format for the releases of a model."""

FORMATS = tuple(_OPENERS)
"""Their names; the first is the default."""


def open_results(formats: Collection[str], files: PartFiles, model: str) -> list[Results]:
    """Open the files of some formats.

    Args:
        formats: Names of :data:`FORMATS`.
        files: Where to write.
        model: The model of the releases.

    Raises:
        MissingExtraError: The library of a format is not installed.
    """
    results = [_OPENERS[name](files, model) for name in dict.fromkeys(formats)]
    # Windows do not move: both formats of features have the same file of windows.
    return [*results, WindowFeatures(files)] if {"geojson", "mf-json"} & set(formats) else results
