"""How the messages and files of a feed are read, from its settings."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from core.records.instants import UNIT_MS
from core.records.record import VISIT
from stream.feeds.decoders import message_decoder
from stream.feeds.feed import Feed
from stream.formats.files.csv_files.dialect import Dialect, delimiter_of, text_encoding
from stream.formats.input.mapping import MappingOptions, Observer
from stream.formats.input.messages import MessageReader
from stream.formats.input.times.texts import TextTimes
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings

__all__ = ["csv_dialect", "mapping_options", "message_reader"]


def mapping_options(settings: Settings, feed: Feed, observer: Observer | None = None) -> MappingOptions:
    """Return where in the documents of a feed its records and fields are.

    Args:
        settings: All settings.
        feed: The feed.
        observer: Sees every record before it is read.
    """
    own = settings.for_kind(feed.kind)
    return MappingOptions(
        names=own.fields.model_dump(),
        attributes=feed.attributes,
        records=own.input.records,
        only=own.input.only,
        numbers_as_text=own.input.numbers_as_text,
        decimal=own.input.decimal,
        degrees_per_unit=own.input.degrees_per_unit,
        signs={
            name: path
            for name, path in (("lat", own.input.latitude_sign), ("lon", own.input.longitude_sign))
            if path is not None
        },
        times=TextTimes(
            zone=None if own.time.zone is None else ZoneInfo(own.time.zone),
            ambiguous=own.time.ambiguous,
            format=own.time.format,
        ),
        unit_ms=UNIT_MS[own.time.unit],
        # All records of one message are in one message of the shards topic.
        max_records=min(settings.limits.records_per_message, settings.ingest.chunk_bytes // VISIT.itemsize),
        max_points=settings.limits.points_per_fragment,
        observer=observer,
    )


def message_reader(settings: Settings, feed: Feed, observer: Observer | None = None) -> MessageReader:
    """Return the reader of a feed's messages; see :func:`mapping_options`.

    Raises:
        SettingsError: Its schema cannot be had, or a library is not installed.
    """
    return MessageReader(
        feed.kind.input_kind, mapping_options(settings, feed, observer), message_decoder(settings, feed.kind)
    )


def csv_dialect(own: KindSettings) -> Dialect:
    """Return how the CSV files of a feed are written."""
    return Dialect(
        delimiter=delimiter_of(own.input.delimiter) or "",
        decimal=own.input.decimal,
        columns=own.input.columns,
        encoding=text_encoding(own.input.text_encoding) or "utf-8",
    )
