"""The messages of a release in the files of a replay, whatever their format, or kept from the topics line by line."""

from __future__ import annotations

import csv
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stream.formats.files.form_error import FormError
from stream.formats.files.geojson import features
from stream.formats.files.record_file import FileFormatError
from stream.formats.input.encodings.extras import needs_extra
from stream.formats.release.avro import from_avro
from stream.formats.release.encoding import Content, ReleaseEncoding
from stream.formats.release.from_rows import trajectories_of_rows, window_of_rows
from stream.formats.release.geojson import GEOJSON, read_collection
from stream.formats.release.json import JSON
from stream.formats.release.mf_json import MF_JSON
from stream.formats.release.rows import ReleaseRow
from stream.replay.stored.tables import TableRows, csv_rows, parquet_rows

__all__ = ["StoredRelease"]

Messages = Iterator[Content]


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """The files of a release in one format."""

    anonymized: Path
    windows_file: Path
    _read: Callable[[Path], Messages]
    _read_windows: Callable[[Path], Messages]

    @classmethod
    def find(cls, path: Path) -> StoredRelease | None:
        """Find a release.

        Args:
            path: A folder, of whose formats the first of :data:`_FORMATS` is taken; or its file of trajectories.

        Returns:
            None if the path is neither.
        """
        folder = path if path.is_dir() else path.parent
        for name, windows, read, read_windows in _FORMATS:
            is_meant = path.is_dir() or path.name == name
            if is_meant and (folder / name).is_file() and (folder / windows).is_file():
                return cls(folder / name, folder / windows, read, read_windows)
        return None

    def windows(self) -> Messages:
        """Yield the messages of ``windows``; errors as for :meth:`trajectories`."""
        return _checked(self.windows_file, self._read_windows(self.windows_file))

    def trajectories(self) -> Messages:
        """Yield the messages of ``anonymized``, in their order.

        Raises:
            FileFormatError: What is there is no message of a release.
            MissingExtraError: The library of the format is not installed.
        """
        return _checked(self.anonymized, self._read(self.anonymized))


def _checked(path: Path, messages: Messages) -> Messages:
    number = 1
    try:
        for content in messages:
            if not isinstance(content["release"], str) or not isinstance(content["window"], list):
                raise TypeError
            yield content
            number += 1
    except (AttributeError, EOFError, LookupError, TypeError, ValueError, csv.Error, zlib.error, FormError):
        raise FileFormatError(f"{path}: message {number} is no message of a release") from None


def _lines(path: Path) -> Messages:
    return _each_line(path, lambda encoding, line: encoding.read_trajectory(line))


def _window_lines(path: Path) -> Messages:
    return _each_line(path, lambda encoding, line: encoding.read_window(line))


def _each_line(path: Path, read: Callable[[ReleaseEncoding, bytes], Content]) -> Messages:
    """Yield messages as they are on the topics, one on each line, whatever encoding of JSON they have."""
    encoding: ReleaseEncoding | None = None
    with path.open("rb") as lines:
        for line in lines:
            encoding = encoding or _encoding_of(line)
            yield read(encoding, line)


def _encoding_of(line: bytes) -> ReleaseEncoding:
    message = msgspec.json.decode(line)
    if "temporalGeometry" in message:
        return MF_JSON
    return GEOJSON if message.get("type") in ("Feature", "FeatureCollection") else JSON


def _container(path: Path) -> Messages:
    with needs_extra("avro", "fastavro"):
        import fastavro  # noqa: PLC0415 - an extra, loaded where it is used

    with path.open("rb") as file:
        yield from map(from_avro, fastavro.reader(file))


def _features(path: Path) -> Messages:
    for feature in features(path.read_bytes())[0]:
        yield _encoding_of(feature).read_trajectory(feature)


def _window_features(path: Path) -> Messages:
    """Yield windows: a feature without geometry has the figures of one, and those behind it are its locations."""
    collection: Content | None = None
    for feature in map(msgspec.json.decode, features(path.read_bytes())[0]):
        if feature["geometry"] is not None:
            if collection is None:
                raise ValueError
            collection["features"].append(_without_head(feature))
            continue
        if collection is not None:
            yield read_collection(collection)
        collection = feature["properties"] | {"features": []}
    if collection is not None:
        yield read_collection(collection)


def _without_head(place: Content) -> Content:
    properties = {name: value for name, value in place["properties"].items() if name not in _HEAD}
    return place | {"properties": properties}


def _table(rows: TableRows) -> Callable[[Path], Messages]:
    return lambda path: trajectories_of_rows(rows(path))


def _window_table(rows: TableRows) -> Callable[[Path], Messages]:
    """Read windows with their generalized locations, which are a table of their own if the model has any."""

    def read(path: Path) -> Messages:
        places: defaultdict[str, list[ReleaseRow]] = defaultdict(list)
        table = path.with_name(f"locations{path.suffix}")
        for row in rows(table) if table.is_file() else ():
            places[row["release"]].append(row)
        for row in rows(path):
            yield window_of_rows(row, places[row["release"]])

    return read


_HEAD = ("release", "window", "shard")

_FORMATS: tuple[tuple[str, str, Callable[[Path], Messages], Callable[[Path], Messages]], ...] = (
    ("anonymized.ndjson", "windows.ndjson", _lines, _window_lines),
    ("anonymized.avro", "windows.avro", _container, _container),
    ("anonymized.parquet", "windows.parquet", _table(parquet_rows), _window_table(parquet_rows)),
    ("anonymized.csv", "windows.csv", _table(csv_rows), _window_table(csv_rows)),
    ("anonymized.geojson", "windows.geojson", _features, _window_features),
    ("anonymized.mfjson", "windows.geojson", _features, _window_features),
)
"""The names of both files of a format, and how they are read; of several in one folder the first is taken."""
