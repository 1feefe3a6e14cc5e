"""Decoding: the messages of a batch become records, or rejections that say where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from core.records.record import CheckIn, Fragment, Reason, Rejected, Source
from stream.formats.input.mapping import Entry, Skipped, Unreadable
from stream.formats.input.messages import MessageReader, origin_of

__all__ = ["Decoded", "decoded"]


@dataclass(slots=True)
class Decoded:
    """What the messages of a batch hold."""

    records: list[tuple[int, CheckIn | Fragment]] = field(default_factory=list)
    """Offset and record."""

    elements: list[int | None] = field(default_factory=list)
    """Number of each record in the list of its message, the first is 1; None if the message is one record."""

    rejected: list[Rejected] = field(default_factory=list)
    n_tombstones: int = 0
    n_filtered: int = 0

    def add(self, entry: Entry, element: int | None, source: Source, offset: int) -> None:
        """Add what was found in a message."""
        if isinstance(entry, Unreadable):
            self.rejected.append(
                Rejected(reason=entry.reason, detail=entry.detail, source=source, offset=offset, element=element)
            )
        elif entry is Skipped.TOMBSTONE:
            self.n_tombstones += 1
        elif isinstance(entry, Skipped):
            self.n_filtered += 1
        else:
            self.records.append((offset, entry))
            self.elements.append(element)

    @property
    def n_read(self) -> int:
        """Number of records found: a message that cannot be read, or is a tombstone, counts as one."""
        return len(self.records) + len(self.rejected) + self.n_tombstones + self.n_filtered


def decoded(messages: Sequence[Any], reader: MessageReader, source: Source, *, max_bytes: int) -> Decoded:
    """Decode messages.

    Args:
        messages: Messages of one partition, as the Kafka client returns them.
        reader: Reads the messages of the feed.
        source: The partition.
        max_bytes: A longer message is rejected.
    """
    is_short = [message.value is not None and len(message.value) <= max_bytes for message in messages]
    at_once = reader.records(
        [message.value if short else None for message, short in zip(messages, is_short, strict=True)]
    )
    if all(at_once):
        pairs = [(message.offset, record) for message, record in zip(messages, at_once, strict=True)]
        return Decoded(cast("list[tuple[int, CheckIn | Fragment]]", pairs), [None] * len(pairs))
    found = Decoded()
    for message, record in zip(messages, at_once, strict=True):
        if record is not None:
            found.records.append((message.offset, record))
            found.elements.append(None)
        elif message.value is None:
            found.n_tombstones += 1
        elif len(message.value) > max_bytes:
            fault = Unreadable(Reason.MESSAGE_TOO_LARGE, f"the message is larger than {max_bytes} bytes")
            found.add(fault, None, source, message.offset)
        else:
            origin = origin_of(message) if reader.needs_origin else None
            for element, entry in reader.read_any(message.value, origin):
                found.add(entry, element, source, message.offset)
    return found
