"""The formats of results, by the names that ``shoal replay --format`` takes."""

from __future__ import annotations

from collections.abc import Collection

from stream.replay.results.features import TrajectoryFeatures, WindowFeatures
from stream.replay.results.messages import AvroFiles, NdjsonFiles
from stream.replay.results.parquet import ParquetFiles
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import Results
from stream.replay.results.tables import CsvFiles

__all__ = ["FORMATS", "open_results"]

FORMATS = ("ndjson", "csv", "parquet", "geojson", "mf-json", "avro")
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
    results = [_opened(name, files, model) for name in dict.fromkeys(formats)]
    # Windows do not move: both formats of features have the same file of windows.
    return [*results, WindowFeatures(files)] if {"geojson", "mf-json"} & set(formats) else results


def _opened(name: str, files: PartFiles, model: str) -> Results:
    if name == "csv":
        return CsvFiles(files, model)
    if name == "parquet":
        return ParquetFiles(files, model)
    if name == "geojson":
        return TrajectoryFeatures.geojson(files)
    if name == "mf-json":
        return TrajectoryFeatures.mf_json(files)
    return AvroFiles(files) if name == "avro" else NdjsonFiles(files)
