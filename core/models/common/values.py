"""Values of settings as people write them: durations, and a ``none`` that removes a default."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

__all__ = [
    "DURATION_MS",
    "Duration",
    "PositiveDuration",
    "largest_unit",
    "none_by_name",
    "not_too_long",
    "positive",
    "show_duration",
]

DURATION_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
"""Units of durations, the smallest first."""

_LONGEST_MS = 36_500 * DURATION_MS["d"]
"""Far longer than any use needs, far below the largest 64-bit number of milliseconds."""


def _duration_ms(value: object) -> object:
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*(ms|s|m|h|d|w)", value.strip())):
        return int(match[1]) * DURATION_MS[match[2]]
    if value in (0, "0") and not isinstance(value, bool):
        return 0
    raise ValueError("it must be a duration such as 500ms, 30s, 15m, 1h, 7d or 1w")


def not_too_long(value: int) -> int:
    """Reject durations above the longest one allowed."""
    if value > _LONGEST_MS:
        raise ValueError("it must be at most 36500d")
    return value


def positive(value: int) -> int:
    """Reject a duration of zero."""
    if value <= 0:
        raise ValueError("it must be longer than zero")
    return value


def none_by_name(value: object) -> object:
    """Read ``none`` as YAML reads ``null``, so that a variable or the command line can remove a default."""
    return None if value == "none" else value


def largest_unit(value: int, units: dict[str, int]) -> str:
    """Write a number in the largest of these units that divides it."""
    unit = max((u for u, size in units.items() if value % size == 0), key=lambda u: units[u])
    return f"{value // units[unit]}{unit}"


def show_duration(value: int) -> str:
    """Write milliseconds in the largest unit that fits."""
    return largest_unit(value, DURATION_MS) if value else "0s"


Duration = Annotated[
    int,
    BeforeValidator(_duration_ms),
    AfterValidator(not_too_long),
    PlainSerializer(show_duration, when_used="json"),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"^\s*(\d+\s*(ms|s|m|h|d|w)|0)\s*$", "maximum": 0}),
]

PositiveDuration = Annotated[Duration, AfterValidator(positive)]
