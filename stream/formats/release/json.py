"""A release as JSON, the default."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from stream.formats.release.encoding import Content, PlacePositions, ReleaseEncoding

__all__ = ["JSON", "JsonRelease"]

_encoder = msgspec.json.Encoder()


class JsonRelease(ReleaseEncoding):
    """Every message is the object that ``stream/formats/schemas.py`` describes."""

    name: ClassVar[str] = "json"

    def trajectory(self, content: Content, positions: PlacePositions) -> bytes:
        """See :meth:`ReleaseEncoding.trajectory`."""
        return _encoder.encode(content)

    def window(self, content: Content) -> bytes:
        """See :meth:`ReleaseEncoding.window`."""
        return _encoder.encode(content)

    def read_trajectory(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_trajectory`."""
        content: Content = msgspec.json.decode(value)
        return content

    def read_window(self, value: bytes) -> Content:
        """See :meth:`ReleaseEncoding.read_window`."""
        return self.read_trajectory(value)

    def trajectory_as_json(self, value: bytes) -> bytes:
        """See :meth:`ReleaseEncoding.trajectory_as_json`."""
        return value

    def window_as_json(self, value: bytes) -> bytes:
        """See :meth:`ReleaseEncoding.window_as_json`."""
        return value


JSON = JsonRelease()
