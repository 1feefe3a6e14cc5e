"""Instants as text, and the units of instants that are numbers."""

from __future__ import annotations

import functools
from datetime import UTC, datetime

__all__ = ["UNIT_MS", "UNIT_NAMES", "rfc3339"]

UNIT_MS = {"s": 1000.0, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
"""Milliseconds in each unit of a Unix time."""

UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
"""The units in words."""


@functools.lru_cache(maxsize=1 << 14)  # the members of a set share their times
def rfc3339(ms: int) -> str:
    """Write an instant, Unix milliseconds, as RFC 3339 in UTC.

    >>> rfc3339(0), rfc3339(1500)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    moment = datetime.fromtimestamp(ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")
