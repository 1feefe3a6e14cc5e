"""Times that are written in two fields: a date, and a time of day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stream.feeds.trial.guessing.names import normal
from stream.feeds.trial.guessing.shape import ShapeLeaf
from stream.feeds.trial.guessing.values import are_times, most

__all__ = ["is_clock", "is_date", "split_time"]

_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm]|Z|[+-]\d{2}(:?\d{2})?)?")
_DIGITS = re.compile(r"\d{8}"), re.compile(r"\d{6}")
_NAMES = re.compile(r"date|datum|dato|fecha|day"), re.compile(r"time|clock|hour|zeit|uhr|tid|hora|heure|utc")
"""What the names of a date and of a time of day have in them, if they are digits alone."""


def split_time(leaves: Sequence[ShapeLeaf]) -> tuple[ShapeLeaf, ShapeLeaf] | None:
    """Return a date and the time of day beside it, which are a time if they are joined; None if there are none."""
    dates, clocks = (
        [
            (at, leaf)
            for at, leaf in enumerate(leaves)
            if leaf.index is None and (holds(leaf.values) or _is_digits(leaf, which))
        ]
        for which, holds in enumerate((is_date, is_clock))
    )
    pairs = [
        (abs(at_clock - at_date), date, clock)
        for at_date, date in dates
        for at_clock, clock in clocks
        if date.parts[:-1] == clock.parts[:-1]
        and are_times([f"{one} {other}" for one, other in zip(date.values, clock.values, strict=False)])
    ]
    best = min(pairs, key=lambda pair: pair[0], default=None)
    return None if best is None else best[1:]


def is_date(values: Sequence[Any]) -> bool:
    """Whether values are dates without a time, written as text."""
    return _are(_DATE, values)


def is_clock(values: Sequence[Any]) -> bool:
    """Whether values are times of day, written as text."""
    return _are(_CLOCK, values)


def _is_digits(leaf: ShapeLeaf, which: int) -> bool:
    return _NAMES[which].search(normal(leaf.parts[-1])) is not None and _are(_DIGITS[which], leaf.values)


def _are(form: re.Pattern[str], values: Sequence[Any]) -> bool:
    return most(isinstance(value, str) and form.fullmatch(value.strip()) is not None for value in values)
