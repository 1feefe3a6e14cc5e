"""GTFS-realtime: the positions of vehicles, as transit agencies publish them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream.formats.input.encodings.extras import needs_extra
from stream.formats.input.encodings.protobuf import protobuf_reader

__all__ = ["gtfs_realtime_reader"]


def gtfs_realtime_reader() -> Callable[[bytes], Any]:
    """Return a function that decodes a ``FeedMessage``, and raises ``UnreadableError``.

    Raises:
        MissingExtraError: The library is not installed.
    """
    with needs_extra("protobuf", "gtfs-realtime-bindings"):
        from google.transit.gtfs_realtime_pb2 import FeedMessage  # noqa: PLC0415 - an optional extra

    return protobuf_reader(FeedMessage.DESCRIPTOR, what="a FeedMessage of GTFS-realtime")
