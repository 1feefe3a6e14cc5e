"""Why something in a feed cannot be read."""

from __future__ import annotations

from core.records.record import Reason

__all__ = ["UnreadableError"]


class UnreadableError(Exception):
    """A message, a record or a value cannot be read.

    Args:
        reason: Why.
        detail: A sentence for people, with nothing of the message's content.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail
