"""Opens files of records for a feed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stream.feeds.feed import Feed
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.files.record_file import RecordFile
from stream.settings.model import Settings

__all__ = ["metric_projection", "open_files"]


def open_files(settings: Settings, feed: Feed, paths: Sequence[Path]) -> list[RecordFile]:
    """Open files of records for a feed.

    Raises:
        FileFormatError: One of them cannot be read as records of this feed.
    """
    names, projection = settings.fields.model_dump(), metric_projection(settings)
    return [
        RecordFile(
            path,
            feed.kind,
            names,
            max_bytes=settings.limits.message_bytes,
            projection=projection,
            attributes=feed.attributes,
            needed=feed.needed,
        )
        for path in paths
    ]


def metric_projection(settings: Settings) -> MetricProjection | None:
    """Return the projection and the start of time of ``.tsv`` files; None where ``files.metres`` is not set."""
    if settings.files.metres is None:
        return None
    return MetricProjection(
        settings.files.metres, (settings.files.start or 0) / (1000 if settings.time.unit == "s" else 1)
    )
