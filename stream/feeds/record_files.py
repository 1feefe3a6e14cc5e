"""Opens files of records for a feed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.records.instants import UNIT_MS
from core.records.record import Kind
from stream.feeds.decoders import message_decoder
from stream.feeds.feed import Feed
from stream.feeds.inputs import csv_dialect, mapping_options
from stream.formats.files.metric_projection import MetricProjection
from stream.formats.files.record_file import RecordFile
from stream.formats.input.mapping import Observer
from stream.settings.model import Settings

__all__ = ["metric_projection", "open_files"]


def open_files(
    settings: Settings, feed: Feed, paths: Sequence[Path], observer: Observer | None = None
) -> list[RecordFile]:
    """Open files of records for a feed; see :func:`~stream.feeds.inputs.mapping_options`.

    Raises:
        FileFormatError: One of them cannot be read as records of this feed.
        SettingsError: The schema of ``input.schema_file`` cannot be used, or a library is not installed.
    """
    own, options = settings.for_kind(feed.kind), mapping_options(settings, feed, observer)
    projection = metric_projection(settings, feed.kind) if feed.kind.input_kind is Kind.FRAGMENTS else None
    is_encoded = own.input.encoding == "gtfs-realtime" or own.input.schema_file is not None
    decoder = message_decoder(settings, feed.kind) if is_encoded else None
    return [
        RecordFile(
            path,
            feed.kind.input_kind,
            options,
            max_bytes=settings.limits.message_bytes,
            dialect=csv_dialect(own),
            projection=projection,
            needed=feed.needed,
            decoder=decoder,
        )
        for path in paths
    ]


def metric_projection(settings: Settings, kind: Kind = Kind.FRAGMENTS) -> MetricProjection | None:
    """Return the projection and the start of time of ``.tsv`` files; None where ``files.metres`` is not set.

    Args:
        settings: All settings.
        kind: What the fragments in the files are released as, themselves or stops.
    """
    if settings.files.metres is None:
        return None
    unit_ms = UNIT_MS[settings.for_kind(kind).time.unit]
    return MetricProjection(settings.files.metres, (settings.files.start or 0) / unit_ms)
