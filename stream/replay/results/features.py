"""Results as collections of features: GeoJSON and MF-JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from stream.formats.release.encoding import Content, ReleaseEncoding
from stream.formats.release.geojson import GEOJSON, window_collection
from stream.formats.release.mf_json import CRS, MF_JSON, TRS
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import Results, WindowMessages

__all__ = ["TrajectoryFeatures", "WindowFeatures"]


class _Collection:
    """A FeatureCollection with one feature on each line."""

    def __init__(self, file: BinaryIO, members: Content) -> None:
        self._file, self._separator = file, b"\n"
        head = {"type": "FeatureCollection"} | members
        file.write(msgspec.json.encode(head)[:-1] + b',"features":[')

    def add(self, feature: bytes) -> None:
        """Write one feature."""
        self._file.write(self._separator + feature)
        self._separator = b",\n"

    def finish(self) -> None:
        """End the collection."""
        self._file.write(b"\n]}\n")


class TrajectoryFeatures(Results):
    """The trajectories of a replay as the features of one file.

    Args:
        files: Where to write.
        name: Name of the file.
        encoding: How a trajectory is a feature.
        members: What the collection states beside its features.
    """

    def __init__(self, files: PartFiles, name: str, encoding: ReleaseEncoding, members: Content) -> None:
        self._encoding, self._collection = encoding, _Collection(files.open(name), members)

    @classmethod
    def geojson(cls, files: PartFiles) -> TrajectoryFeatures:
        """Return ``anonymized.geojson``."""
        return cls(files, "anonymized.geojson", GEOJSON, {})

    @classmethod
    def mf_json(cls, files: PartFiles) -> TrajectoryFeatures:
        """Return ``anonymized.mfjson``."""
        return cls(files, "anonymized.mfjson", MF_JSON, {"crs": CRS, "trs": TRS})

    def add(self, window: WindowMessages) -> None:
        """See :meth:`Results.add`."""
        for content in window.trajectories:
            self._collection.add(self._encoding.trajectory(content, window.positions))

    def finish(self) -> None:
        """See :meth:`Results.finish`."""
        self._collection.finish()


class WindowFeatures(Results):
    """``windows.geojson``: for each window a feature without geometry, and one for each of its generalized locations.

    Args:
        files: Where to write.
    """

    def __init__(self, files: PartFiles) -> None:
        self._collection = _Collection(files.open("windows.geojson"), {})

    def add(self, window: WindowMessages) -> None:
        """See :meth:`Results.add`."""
        for feature in _window_features(window.window):
            self._collection.add(msgspec.json.encode(feature))

    def finish(self) -> None:
        """See :meth:`Results.finish`."""
        self._collection.finish()


def _window_features(content: Content) -> Iterator[Content]:
    collection = window_collection(content)
    places = collection.pop("features")
    del collection["type"]
    yield {"type": "Feature", "geometry": None, "properties": collection}
    named = {name: content[name] for name in ("release", "window", "shard")}
    for place in places:
        yield place | {"properties": named | place["properties"]}
