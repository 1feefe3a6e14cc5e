"""Formats of times: what is allowed in ``time.format``, and the names of zones in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache

__all__ = ["UTC_NAMES", "format_fault", "says_zone", "with_names_of_utc"]

UTC_NAMES = ("UTC", "GMT", "Z")
"""What ``%Z`` reads. Other names of zones mean different offsets in different countries, such as IST and CST."""

_DIRECTIVES = frozenset("aAbBcdfGHIjmMpSuUVwWxXyYzZ%")
_TOKEN = re.compile(r"%([-_0^#:EO]?.?)", re.DOTALL)

_EXAMPLES = (datetime(2019, 11, 4, 8, 53, 20, tzinfo=UTC), datetime(2024, 2, 29, 17, 6, 59, tzinfo=UTC))
"""A morning and an afternoon, whose years, months, days and hours are all different numbers."""


def format_fault(form: str) -> str | None:
    """Return why a format cannot be that of a feed's times, None if it can: it must say year, month, day and hour.

    >>> format_fault("%d/%m/%Y %H:%M:%S"), format_fault("%Y-%m-%d %I:%M")
    (None, 'it has %I without %p: %H is the hour of 24')
    """
    directives = _directives(form)
    if unknown := [one for one in directives if one not in _DIRECTIVES]:
        allowed = " ".join(f"%{one}" for one in sorted(_DIRECTIVES, key=str.casefold))
        return f"it has %{unknown[0]}, which strptime does not read: allowed are {allowed}"
    if twice := [one for one in directives if one != "%" and directives.count(one) > 1]:
        return f"it has %{twice[0]} twice: each directive may occur once"
    if "I" in directives and "p" not in directives:
        return "it has %I without %p: %H is the hour of 24"
    if "p" in directives and "I" not in directives:
        return "it has %p without %I: without the hour of 12 it would have no effect"
    if all(_is_read_again(time, form) for time in _EXAMPLES):
        return None
    return "it does not say a whole date and an hour, such as %Y, %m, %d and %H do"


def says_zone(form: str) -> bool:
    """Whether times of a format have an offset or the name of a zone."""
    return not {"z", "Z"}.isdisjoint(_directives(form))


@cache
def with_names_of_utc(form: str) -> tuple[str, ...]:
    """Return a format with each of the names of UTC in the place of ``%Z``; none if it has no ``%Z``.

    Python's own ``%Z`` also reads the names of the machine's zone, and forgets them.

    >>> with_names_of_utc("%H:%M %Z"), with_names_of_utc("%H:%M %%Z")
    (('%H:%M UTC', '%H:%M GMT', '%H:%M Z'), ())
    """
    if "Z" not in _directives(form):
        return ()
    return tuple(
        _TOKEN.sub(lambda match, name=name: name if match[1] == "Z" else match[0], form)  # type: ignore[misc]
        for name in UTC_NAMES
    )


def _directives(form: str) -> list[str]:
    return _TOKEN.findall(form)


def _is_read_again(time: datetime, form: str) -> bool:
    """Whether a time that is written in a format is read as the same, but for its minutes and seconds."""
    try:
        found = datetime.strptime(time.strftime(form), form)  # noqa: DTZ007 - only whether it fits
    except (ValueError, re.error):
        return False
    return (found.year, found.month, found.day, found.hour) == (time.year, time.month, time.day, time.hour)
