"""Positions that are one text: as a phone's timeline writes them, as a geo URI, or as well-known text."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, Literal

__all__ = ["NO_POSITION", "NoPosition", "position_in"]


class NoPosition(Enum):
    """The only value that says that a text is no position."""

    NO_POSITION = "a text that is no position"

    def __str__(self) -> str:
        """Return it in words."""
        return self.value


NO_POSITION: Final[Literal[NoPosition.NO_POSITION]] = NoPosition.NO_POSITION
"""What an index leads to in a text that is no position."""

_NUMBER = r"[-+]?[0-9]{1,3}(?:\.[0-9]{1,20})?"
_ALTITUDE = r"[-+]?[0-9]{1,6}(?:\.[0-9]{1,20})?"
_PAIR = rf"({_NUMBER})\s*°?\s*,\s*({_NUMBER})\s*°?(?:\s*,\s*({_ALTITUDE}))?"
_PARAMETER = r"crs=wgs84|(?!crs(?:[=;\s]|$))[a-z0-9-]+(?:=[^;,\s]*)?"

_PLAIN = re.compile(rf"\s*{_PAIR}\s*")
_GEO = re.compile(rf"\s*geo:\s*{_PAIR}\s*(?:;(?:{_PARAMETER}))*\s*", re.IGNORECASE)
"""RFC 5870. Of its parameters only ``crs`` says what the numbers are."""

_POINT = re.compile(
    rf"\s*(?:SRID=4326;)?\s*POINT\s*(?:Z|M|ZM)?\s*\(\s*({_NUMBER})\s+({_NUMBER})(?:\s+[-+.0-9]+){{0,2}}\s*\)\s*",
    re.IGNORECASE,
)

_LONGEST = 200


def position_in(text: str) -> list[float] | None:
    """Return the two numbers of a position that is one text, in their order; None if the text is none.

    What follows them may only be an altitude or parameters of a geo URI: anything else, as in ``48,20; 16,37``, could
    mean that the numbers are others.

    >>> position_in("48.2°, 16.4°"), position_in("geo:48.2,16.4,170;u=35"), position_in("SRID=4326;POINT(16.4 48.2)")
    ([48.2, 16.4], [48.2, 16.4], [16.4, 48.2])
    >>> position_in("48,20; 16,37"), position_in("SRID=31287;POINT(16 48)")
    (None, None)
    """
    if len(text) > _LONGEST:
        return None
    if (match := _GEO.fullmatch(text) or _POINT.fullmatch(text)) is not None:
        return [float(match[1]), float(match[2])]
    if (match := _PLAIN.fullmatch(text)) is None:
        return None
    # Three whole numbers may be two with a decimal comma, one of which lost its zeros: 48,2, 16.
    return None if match[3] is not None and "." not in match[1] + match[2] else [float(match[1]), float(match[2])]
