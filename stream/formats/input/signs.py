"""Signs: which hemisphere a latitude or a longitude is of, where another field says it."""

from __future__ import annotations

from typing import Any

from core.records.record import Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.paths import FieldPath, Origin, path_from

__all__ = ["LATITUDE_SIGNS", "LONGITUDE_SIGNS", "signed"]

LATITUDE_SIGNS = {"n": 1, "north": 1, "+": 1, "s": -1, "south": -1, "-": -1}
LONGITUDE_SIGNS = {"e": 1, "east": 1, "+": 1, "w": -1, "west": -1, "-": -1}
"""The sign that each text means; upper and lower case do not matter."""


def signed(path: str, sign: str, signs: dict[str, int]) -> FieldPath:
    """Return the path to numbers whose sign is in a field of its own.

    Args:
        path: The path to the number, or to a list of numbers.
        sign: The path to the field with its sign; or to a list of them, one for each number.
        signs: What the texts there mean.

    >>> signed("lat", "N/S", LATITUDE_SIGNS)({"lat": "33.85", "N/S": "S"}, Origin())
    '-33.85'
    """
    find, find_sign = path_from(path), path_from(sign)

    def value(record: Any, origin: Origin) -> Any:
        number, found = find(record, origin), find_sign(record, origin)
        if isinstance(number, list):
            each = found if isinstance(found, list) else [found] * len(number)
            if len(each) != len(number):
                raise UnreadableError(Reason.WRONG_TYPE, f"{path} and {sign} must be lists of the same length")
            return [_signed(*pair) for pair in zip(number, each, strict=True)]
        return _signed(number, found)

    def _signed(number: Any, found: Any) -> Any:
        if number is None or isinstance(number, bool) or not isinstance(number, int | float | str):
            return number
        if found is None:
            raise UnreadableError(Reason.MISSING_FIELD, f"{sign} is needed")
        if not isinstance(found, str) or (meant := signs.get(found.strip().casefold())) is None:
            raise UnreadableError(Reason.WRONG_TYPE, f"{sign} must be one of {', '.join(_shown(signs))}")
        is_negative = number.strip()[:1] in ("-", "\N{MINUS SIGN}") if isinstance(number, str) else number < 0
        if is_negative:
            # It would be -33.85 S: one of the two signs is too much, and nobody knows whether the other is right.
            raise UnreadableError(Reason.WRONG_TYPE, f"{path} has a sign of its own beside {sign}")
        if meant > 0:
            return number
        return f"-{number.strip().removeprefix('+')}" if isinstance(number, str) else -number

    return value


def _shown(signs: dict[str, int]) -> list[str]:
    return [one.upper() for one in signs if len(one) == 1]
