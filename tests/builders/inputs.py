"""Readers of messages and files, from the names of fields alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.records.record import CheckIn, Fragment, Kind
from stream.formats.files.record_file import RecordFile
from stream.formats.input.errors import UnreadableError
from stream.formats.input.mapping import MappingOptions, Skipped, Unreadable
from stream.formats.input.messages import MessageReader
from stream.settings.input import FieldSettings

__all__ = ["NAMES", "decoder", "record_file"]

NAMES: dict[str, str] = FieldSettings().model_dump()


def decoder(
    kind: Kind, names: Mapping[str, str] = NAMES, attributes: Sequence[str] = ()
) -> Callable[[bytes], CheckIn | Fragment]:
    """Return a function from a message to its one record; it raises UnreadableError for a message without one."""
    reader = MessageReader(kind, MappingOptions(names=dict(NAMES) | dict(names), attributes=attributes))

    def decode(value: bytes) -> CheckIn | Fragment:
        ((_, entry),) = reader.read(value)
        if isinstance(entry, Unreadable):
            raise UnreadableError(entry.reason, entry.detail)
        assert not isinstance(entry, Skipped)
        return entry

    return decode


def record_file(
    path: Path, kind: Kind, names: Mapping[str, str] = NAMES, *, attributes: Sequence[str] = (), **given: Any
) -> RecordFile:
    """Open a file of records."""
    options = MappingOptions(names=dict(NAMES) | dict(names), attributes=attributes)
    return RecordFile(path, kind, options, **({"max_bytes": 10**6} | given))
