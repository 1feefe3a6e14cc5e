"""What every encoding of a release does: it writes the content of a message as bytes, and reads it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

__all__ = ["COUNTS", "Content", "PlacePositions", "ReleaseEncoding", "positions_of"]

Content = dict[str, Any]
"""What a message states, as plain data: the JSON message is this, written out (``stream/formats/schemas.py``)."""

COUNTS = ("population", "people", "trajectories", "points_released", "points_suppressed", "smallest_support")
"""The fields of a windows message that count; null where a count would reveal a few people."""

PlacePositions = Mapping[tuple[str, ...], tuple[float, float]]
"""Latitude and longitude, degrees, of each generalized location of a release, by the names of its members."""


class ReleaseEncoding(ABC):
    """One way to write the messages of a release.

    The bytes depend on the content alone: a release that is emitted again has the same bytes. Every encoding holds the
    same content, so :meth:`read_trajectory` and :meth:`read_window` give back what was written.
    """

    name: ClassVar[str]
    """The name in the settings."""

    @abstractmethod
    def trajectory(self, content: Content, positions: PlacePositions) -> bytes:
        """Encode a message of the topic ``anonymized``.

        Args:
            content: What the message states.
            positions: Where the generalized locations of its release are.
        """

    @abstractmethod
    def window(self, content: Content) -> bytes:
        """Encode a message of the topic ``windows``."""

    @abstractmethod
    def read_trajectory(self, value: bytes) -> Content:
        """Return the content of a message of the topic ``anonymized`` that this encoding wrote."""

    @abstractmethod
    def read_window(self, value: bytes) -> Content:
        """Return the content of a message of the topic ``windows`` that this encoding wrote."""

    def trajectory_as_json(self, value: bytes) -> bytes:
        """Return a message of the topic ``anonymized`` that this encoding wrote as JSON."""
        return msgspec.json.encode(self.read_trajectory(value))

    def window_as_json(self, value: bytes) -> bytes:
        """Return a message of the topic ``windows`` that this encoding wrote as JSON."""
        return msgspec.json.encode(self.read_window(value))


def positions_of(window: Content) -> PlacePositions:
    """Return where the generalized locations of a release are, from the content of its windows message."""
    return {tuple(place["members"]): (place["lat"], place["lon"]) for place in window.get("locations", ())}
