"""Moments: times in RFC 3339, leap seconds among them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import msgspec

from core.records.record import Moment

__all__ = ["leap_second", "moment"]

_SECOND_60 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}):60(?:\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})"
)


def moment(text: str) -> datetime:
    """Read a time in RFC 3339 with an offset; a leap second counts as the last millisecond before it.

    Raises:
        msgspec.ValidationError: The text is not such a time; the message repeats nothing of it.

    >>> moment("2016-12-31T23:59:60Z").isoformat()
    '2016-12-31T23:59:59.999000+00:00'
    """
    try:
        return msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        if (found := leap_second(text)) is None:
            raise
        return found


def leap_second(text: str) -> datetime | None:
    """Return the last millisecond before a leap second; None if the text is not one.

    Leap seconds end a month of UTC (ITU-R TF.460-6, 2.1): a second 60 anywhere else is a wrong time.
    """
    if (match := _SECOND_60.fullmatch(text)) is None:
        return None
    try:
        before = msgspec.convert(f"{match[1]}:59.999{match[2]}", Moment)
        after = before + timedelta(milliseconds=1)
        after -= after.utcoffset() or timedelta()
    except (msgspec.ValidationError, OverflowError):  # such as the last second of the year 9999
        return None
    is_end_of_month = (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)
    return before if is_end_of_month else None
