"""Times of one trajectory in one form, for readers that take the form of the first for that of all."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["alike", "shortest"]

_NO_FRACTION = ".000Z"


def alike(times: Sequence[str]) -> Sequence[str]:
    """Return times with milliseconds if one of them has some.

    >>> alike(["1970-01-01T00:00:00Z", "1970-01-01T00:00:01.500Z"])
    ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.500Z']
    """
    if len(set(map(len, times))) < 2:
        return times
    return [time if "." in time else time.removesuffix("Z") + _NO_FRACTION for time in times]


def shortest(time: str) -> str:
    """Return a time as JSON messages have it, without milliseconds that are zero.

    >>> shortest("1970-01-01T00:00:00.000Z")
    '1970-01-01T00:00:00Z'
    """
    return time.removesuffix(_NO_FRACTION) + "Z" if time.endswith(_NO_FRACTION) else time
