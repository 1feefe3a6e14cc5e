"""Notices a feed of which nothing is released, because no window has as many people as the promise needs."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from core.records.record import Kind
from core.release.outcome import WithholdReason

__all__ = ["SmallCrowds"]

log = structlog.get_logger("shoal.windows")

_IN_A_ROW = 3
"""Number of windows in a row; a night or a quiet region alone may have one or two."""


class SmallCrowds:
    """Counts the windows of each feed that were withheld in a row for too few people.

    Args:
        required_k: The least number of people of each feed.
    """

    def __init__(self, required_k: Mapping[Kind, int]) -> None:
        self._required_k = dict(required_k)
        self._in_a_row = dict.fromkeys(required_k, 0)

    def note(self, kind: Kind, outcome: str, reason: str | None) -> None:
        """Note a window, and log a warning if no window of its feed is released.

        Args:
            kind: Its feed.
            outcome: ``released``, ``withheld`` or ``refused``.
            reason: Why it was withheld.
        """
        if reason == WithholdReason.TOO_FEW_PEOPLE:
            self._in_a_row[kind] += 1
        elif outcome == "released":
            self._in_a_row[kind] = 0
        if reason == WithholdReason.TOO_FEW_PEOPLE and self._in_a_row[kind] >= _IN_A_ROW:
            log.warning(
                "too_few_people",
                kind=kind.value,
                k=self._required_k[kind],
                windows_in_a_row=self._in_a_row[kind],
                action="no window has k people, so nothing is released: set a longer window.size, fewer and larger "
                "shards (shard.*), or a smaller privacy.k",
            )
