"""Decoding: the messages of a batch become records, or rejections that say where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.records.record import CheckIn, Fragment, Reason, Rejected, Source
from stream.formats.input.mapping import Skipped, Unreadable
from stream.formats.input.messages import MessageReader
from stream.formats.input.paths import Origin

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
    found = Decoded()
    records, elements = found.records, found.elements
    at_once = None
    if reader.reads_many:
        fits = ((message.value, message.value is not None and len(message.value) <= max_bytes) for message in messages)
        at_once = reader.records([value if does else None for value, does in fits])
        if at_once is not None and None not in at_once:
            pairs = [(message.offset, record) for message, record in zip(messages, at_once, strict=True) if record]
            return Decoded(pairs, [None] * len(messages))
    for i, message in enumerate(messages):
        value, offset = message.value, message.offset
        if at_once is not None and (record := at_once[i]) is not None:
            records.append((offset, record))
            elements.append(None)
        elif value is None:
            found.n_tombstones += 1
        elif len(value) > max_bytes:
            detail = f"the message is larger than {max_bytes} bytes"
            found.rejected.append(
                Rejected(reason=Reason.MESSAGE_TOO_LARGE, detail=detail, source=source, offset=offset)
            )
        else:
            for element, entry in reader.read(value, _origin(message) if reader.needs_origin else None):
                if isinstance(entry, (CheckIn, Fragment)):
                    records.append((offset, entry))
                    elements.append(element)
                elif isinstance(entry, Unreadable):
                    found.rejected.append(
                        Rejected(
                            reason=entry.reason, detail=entry.detail, source=source, offset=offset, element=element
                        )
                    )
                elif entry is Skipped.TOMBSTONE:
                    found.n_tombstones += 1
                else:
                    found.n_filtered += 1
    return found


def _origin(message: Any) -> Origin:
    return Origin(
        key=message.key,
        headers=message.headers,
        timestamp_ms=message.timestamp if message.timestamp >= 0 else None,  # -1: unknown
        topic=message.topic,
    )
