"""Positions that are one text: as a phone's timeline writes them, as a geo URI, or as well-known text or binary."""

from __future__ import annotations

import binascii
import math
import re
from enum import Enum
from typing import Final, Literal

from stream.formats.input.positions.wkb import geometry_from

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

_HEX = re.compile(r"\s*(?:\\x|0x)?(0[01](?:[0-9a-f]{2}){20,40})\s*", re.IGNORECASE)
"""Well-known binary as PostGIS writes it. ``\\x`` is how PostgreSQL begins bytes."""

_BASE64 = re.compile(r"\s*(A[A-Za-z0-9+/]{27,54}={0,2})\s*")
"""Well-known binary as Debezium writes it in JSON."""

_LONGEST = 200


def position_in(text: str) -> list[float] | None:
    """Return the two numbers of a position that is one text, in their order; None if the text is none.

    What follows them may only be an altitude or parameters of a geo URI: anything else, as in ``48,20; 16,37``, could
    mean that the numbers are others.

    >>> position_in("48.2°, 16.4°"), position_in("geo:48.2,16.4,170;u=35"), position_in("SRID=4326;POINT(16.4 48.2)")
    ([48.2, 16.4], [48.2, 16.4], [16.4, 48.2])
    >>> position_in("0101000020e610000000000000000030400000000000004840")
    [16.0, 48.0]
    >>> position_in("48,20; 16,37"), position_in("SRID=31287;POINT(16 48)")
    (None, None)
    """
    if len(text) > _LONGEST:
        return None
    if (match := _GEO.fullmatch(text) or _POINT.fullmatch(text)) is not None:
        return [float(match[1]), float(match[2])]
    if (match := _PLAIN.fullmatch(text)) is None:
        return _in_binary(text)
    # Three whole numbers may be two with a decimal comma, one of which lost its zeros: 48,2, 16.
    return None if match[3] is not None and "." not in match[1] + match[2] else [float(match[1]), float(match[2])]


def _in_binary(text: str) -> list[float] | None:
    """Return longitude and latitude of a point in well-known binary; None if it is none, or in another system."""
    try:
        if (match := _HEX.fullmatch(text)) is not None:
            geometry = geometry_from(bytes.fromhex(match[1]))
        elif (match := _BASE64.fullmatch(text)) is not None:
            geometry = geometry_from(binascii.a2b_base64(match[1], strict_mode=True))
        else:
            return None
    except binascii.Error:
        return None
    if geometry is None or geometry["type"] != "Point" or "crs" in geometry:
        return None
    position: list[float] = geometry["coordinates"][:2]
    return position if len(position) == 2 and all(map(math.isfinite, position)) else None
