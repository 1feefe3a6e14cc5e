"""Dead letters: why a record was rejected, and where it is."""

from __future__ import annotations

import msgspec

from core.records.record import Kind, Rejected
from core.release.outcome import SCHEMA

__all__ = ["dead_letter"]


class _DeadLetter(msgspec.Struct, omit_defaults=True):
    schema: int
    kind: str
    reason: str
    detail: str
    topic: str
    partition: int
    offset: int
    element: int | None = None
    log: str = ""


def dead_letter(kind: Kind, rejected: Rejected, log_id: str = "") -> bytes:
    """Encode why a record was rejected and where it is, without its content.

    Args:
        kind: What the feed carries.
        rejected: Why, and where.
        log_id: Id of the log that the offset belongs to: see :attr:`core.records.record.Chunk.log_id`.
    """
    source = rejected.source
    return msgspec.json.encode(
        _DeadLetter(
            schema=SCHEMA,
            kind=kind.value,
            reason=rejected.reason.value,
            detail=rejected.detail,
            topic=source.topic,
            partition=source.partition,
            offset=rejected.offset,
            element=rejected.element,
            log=log_id,
        )
    )
